//! Failures of statements: what they mean for the caller, and whether something may have been stored.

use hence_store::{DatabaseError, DatabaseErrorKind};
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The effect that a failed statement may have had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The server refused the statement, and nothing of it is stored.
    Nothing,
    /// The server gave the statement up in favour of another one. Nothing of it is stored; it may succeed now.
    NothingYet,
    /// The connection was lost. The statement may have been executed, and may even be executed later.
    Unknown,
}

/// A failed statement.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) effect: Effect,
    pub(crate) error: DatabaseError,
}

impl Failure {
    /// A connection that is lost or cannot be made.
    pub(crate) fn lost(location: &str, reason: impl Into<String>) -> Self {
        let error = DatabaseError {
            location: location.to_owned(),
            kind: DatabaseErrorKind::Unreachable,
            reason: reason.into(),
        };
        Self { effect: Effect::Unknown, error }
    }

    /// Rows that contradict each other, or an answer that no statement of this program gives.
    pub(crate) fn damaged(location: &str, reason: impl Into<String>) -> Self {
        Self { effect: Effect::Nothing, error: damaged(location, reason) }
    }

    /// Reads the error of a statement.
    pub(crate) fn of(location: &str, error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(answer) => Self::of_answer(location, answer),
            None => {
                let kind = kind_without_answer(error);
                let reason = with_causes(error);
                let error = DatabaseError { location: location.to_owned(), kind, reason };
                let is_lost = matches!(kind, DatabaseErrorKind::Unreachable);
                Self { effect: if is_lost { Effect::Unknown } else { Effect::Nothing }, error }
            }
        }
    }

    fn of_answer(location: &str, answer: &DbError) -> Self {
        let kind = kind_of_state(answer.code());
        // The end of a session says nothing about a commit that was under way.
        let is_end = matches!(answer.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
            || answer.severity() == "FATAL"
            || answer.severity() == "PANIC";
        let effect = match *answer.code() {
            _ if is_end => Effect::Unknown,
            SqlState::T_R_DEADLOCK_DETECTED | SqlState::T_R_SERIALIZATION_FAILURE => Effect::NothingYet,
            _ => Effect::Nothing,
        };
        let reason = format!("{}{}", introduction(kind), message(answer));
        Self { effect, error: DatabaseError { location: location.to_owned(), kind, reason } }
    }
}

/// Reports rows that contradict each other.
pub(crate) fn damaged(location: &str, reason: impl Into<String>) -> DatabaseError {
    DatabaseError { location: location.to_owned(), kind: DatabaseErrorKind::Damaged, reason: reason.into() }
}

/// Returns the kind of an error that the server reports by this code.
fn kind_of_state(state: &SqlState) -> DatabaseErrorKind {
    match *state {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            DatabaseErrorKind::AccessDenied
        }
        SqlState::INVALID_CATALOG_NAME => DatabaseErrorKind::InvalidAddress,
        SqlState::INSUFFICIENT_PRIVILEGE | SqlState::READ_ONLY_SQL_TRANSACTION => DatabaseErrorKind::ReadOnly,
        SqlState::DISK_FULL => DatabaseErrorKind::Full,
        SqlState::UNDEFINED_TABLE
        | SqlState::UNDEFINED_COLUMN
        | SqlState::UNDEFINED_FUNCTION
        | SqlState::INVALID_SCHEMA_NAME => DatabaseErrorKind::NotMigrated,
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::TOO_MANY_CONNECTIONS => DatabaseErrorKind::Unreachable,
        _ if state.code().starts_with("08") => DatabaseErrorKind::Unreachable,
        _ => DatabaseErrorKind::Other,
    }
}

fn kind_without_answer(error: &tokio_postgres::Error) -> DatabaseErrorKind {
    // The crate tells these apart only in its texts, which are fixed.
    let text = error.to_string();
    match &*text {
        "authentication error" | "invalid configuration" => DatabaseErrorKind::AccessDenied,
        "error performing TLS handshake"
        | "error communicating with the server"
        | "error connecting to server"
        | "connection closed"
        | "timeout waiting for server"
        | "unexpected message from server"
        | "error parsing response from server" => DatabaseErrorKind::Unreachable,
        _ => DatabaseErrorKind::Other,
    }
}

fn introduction(kind: DatabaseErrorKind) -> &'static str {
    match kind {
        DatabaseErrorKind::AccessDenied => "the server refused the login: ",
        DatabaseErrorKind::ReadOnly => "nothing can be written with this role or on this server: ",
        DatabaseErrorKind::Full => "the server has no space left: ",
        DatabaseErrorKind::NotMigrated => "the tables are not those of this version: ",
        DatabaseErrorKind::InvalidAddress => "the address names no database: ",
        DatabaseErrorKind::Unreachable => "the server does not serve this connection: ",
        _ => "",
    }
}

fn message(answer: &DbError) -> String {
    let detail = answer.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("{}{detail} [{}]", answer.message(), answer.code().code())
}

/// Joins an error with its causes: the crate's own texts name only the kind.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.ends_with(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
