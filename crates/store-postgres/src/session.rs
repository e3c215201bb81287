//! One connection to the server, with its prepared statements.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;

use hence_store::{DatabaseError, DatabaseErrorKind};
use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Row, Statement};

use crate::failure::Failure;
use crate::target::{Pooling, Target};
use crate::tls::MakeTls;

/// The oldest server that is supported.
pub(crate) const SERVER_VERSION_MIN: u32 = 15;

/// The time after which the server gives a statement up.
const STATEMENT_MS_MAX: u64 = 60_000;

/// The time after which an answer is no longer waited for and the connection counts as lost. It is longer than the time
/// that the server may take, so that a slow statement is reported by the server.
const ANSWER_MS_MAX: u64 = STATEMENT_MS_MAX + 15_000;

/// The values of a statement.
pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection to the server.
pub(crate) struct Session {
    client: Client,
    target: Rc<Target>,
    statements: RefCell<HashMap<&'static str, Statement>>,
    /// The types of the values of each statement, where statements cannot stay prepared.
    types: RefCell<HashMap<&'static str, Vec<Type>>>,
    /// Whether a transaction was begun and not ended, or an answer is missing: such a connection is not used again.
    is_unfinished: Cell<bool>,
    /// Whether the server has warned since the last look.
    has_warned: Rc<Cell<bool>>,
}

impl Session {
    /// Connects and checks the version of the server.
    pub(crate) async fn connect(target: &Rc<Target>, tls: &MakeTls) -> Result<Self, Failure> {
        Self::connect_hearing(target, tls, None).await
    }

    /// Connects and gives the payloads of notifications to `hears`, which is closed when the connection is lost.
    pub(crate) async fn connect_hearing(
        target: &Rc<Target>,
        tls: &MakeTls,
        hears: Option<UnboundedSender<String>>,
    ) -> Result<Self, Failure> {
        let location = &target.location;
        let limit = target.config.get_connect_timeout().copied().unwrap_or(Duration::from_secs(10)) * 3;
        let connecting = tokio::time::timeout(limit, target.config.connect(tls.clone())).await;
        let connected =
            connecting.map_err(|_| Failure::lost(location, "the server did not answer in time"))?;
        let (client, mut connection) = connected.map_err(|error| Failure::of(location, &error))?;
        check_version(location, connection.parameter("server_version").unwrap_or_default())?;
        let has_warned = Rc::new(Cell::new(false));
        let warned = has_warned.clone();
        tokio::task::spawn_local(async move {
            // The client learns of a lost connection from its next answer.
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                match message {
                    AsyncMessage::Notice(notice) if notice.severity() == "WARNING" => warned.set(true),
                    AsyncMessage::Notification(heard) => {
                        // Nobody listens any more if this fails.
                        let _ = hears.as_ref().map(|hears| hears.send(heard.payload().to_owned()));
                    }
                    _ => {}
                }
            }
        });
        let session = Self {
            client,
            target: target.clone(),
            statements: RefCell::default(),
            types: RefCell::default(),
            is_unfinished: Cell::new(false),
            has_warned,
        };
        if target.pooling == Pooling::Transaction {
            session.check_durability().await?;
            return Ok(session);
        }
        // `Synced` promises durability whatever the default of the server is; stronger settings are left alone.
        let durable = "select set_config('synchronous_commit', 'on', false) \
                       where current_setting('synchronous_commit') = 'off';";
        let settings = format!(
            "set statement_timeout = {STATEMENT_MS_MAX}; set lock_timeout = {STATEMENT_MS_MAX}; \
             set idle_in_transaction_session_timeout = {ANSWER_MS_MAX}; {durable}"
        );
        session.batch(&settings).await?;
        Ok(session)
    }

    /// Executes a statement, which is prepared the first time. `{schema}` stands for the schema.
    pub(crate) async fn query(&self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, Failure> {
        if self.target.pooling == Pooling::Transaction {
            return self.query_unprepared(sql, values).await;
        }
        let statement = self.prepared(sql).await?;
        self.answer(self.client.query(&statement, values)).await
    }

    /// Executes a statement that leaves nothing on the connection of the server.
    async fn query_unprepared(&self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, Failure> {
        let text = sql.replace("{schema}", &self.target.schema);
        let known = self.types.borrow().get(sql).cloned();
        let types = match known {
            Some(types) => types,
            None => {
                let types = self.find_types(&text).await?;
                self.types.borrow_mut().insert(sql, types.clone());
                types
            }
        };
        let typed: Vec<_> = values.iter().copied().zip(types).collect();
        self.answer(self.client.query_typed(&text, &typed)).await
    }

    /// Asks the server for the types of a statement's values. The statement is prepared and forgotten in one transaction, so
    /// that no other client of the pooler meets it.
    async fn find_types(&self, text: &str) -> Result<Vec<Type>, Failure> {
        let is_inside = self.is_unfinished.get();
        if !is_inside {
            self.begin().await?;
        }
        let statement = self.answer(self.client.prepare(text)).await?;
        let types = statement.params().to_vec();
        // Dropping it sends the message that closes it, before the end of the transaction.
        drop(statement);
        if !is_inside {
            self.roll_back().await?;
        }
        Ok(types)
    }

    /// Refuses a server whose commits do not wait for the disk: a setting of ours would not stay on the connection.
    async fn check_durability(&self) -> Result<(), Failure> {
        let row = self.query_opt("select current_setting('synchronous_commit')", &[]).await?;
        let setting: Option<String> = row.and_then(|row| row.try_get(0).ok());
        if setting.as_deref() != Some("off") {
            return Ok(());
        }
        let error = DatabaseError {
            location: self.target.location.clone(),
            kind: DatabaseErrorKind::Other,
            reason: "synchronous_commit is off, and behind a pooler of transactions it cannot be set for a connection; \
                     set it for the role: alter role NAME set synchronous_commit = on"
                .to_owned(),
        };
        Err(Failure { effect: crate::failure::Effect::Nothing, error })
    }

    /// Executes a statement that gives at most one row.
    pub(crate) async fn query_opt(
        &self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Option<Row>, Failure> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// Executes statements without values, such as those of a migration.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Failure> {
        self.answer(self.client.batch_execute(sql)).await
    }

    /// Begins a transaction.
    pub(crate) async fn begin(&self) -> Result<(), Failure> {
        self.is_unfinished.set(true);
        self.answer(self.client.batch_execute("begin")).await
    }

    /// Begins a transaction that sees one state of the database and changes nothing.
    pub(crate) async fn begin_snapshot(&self) -> Result<(), Failure> {
        self.is_unfinished.set(true);
        self.answer(self.client.batch_execute("begin isolation level repeatable read read only")).await
    }

    /// Commits the transaction.
    pub(crate) async fn commit(&self) -> Result<(), Failure> {
        self.answer(self.client.batch_execute("commit")).await?;
        self.is_unfinished.set(false);
        Ok(())
    }

    /// Rolls the transaction back.
    pub(crate) async fn roll_back(&self) -> Result<(), Failure> {
        self.answer(self.client.batch_execute("rollback")).await?;
        self.is_unfinished.set(false);
        Ok(())
    }

    /// Returns whether the connection can serve another statement.
    pub(crate) fn is_usable(&self) -> bool {
        !self.client.is_closed() && !self.is_unfinished.get()
    }

    /// Returns whether the server has warned since the last call.
    ///
    /// A server that gives up waiting for its standby confirms the commit all the same, with a warning.
    pub(crate) fn take_warning(&self) -> bool {
        self.has_warned.replace(false)
    }

    async fn prepared(&self, sql: &'static str) -> Result<Statement, Failure> {
        let known = self.statements.borrow().get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let text = sql.replace("{schema}", &self.target.schema);
        let statement = self.answer(self.client.prepare(&text)).await?;
        self.statements.borrow_mut().insert(sql, statement.clone());
        Ok(statement)
    }

    async fn answer<T>(
        &self,
        request: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        let location = &self.target.location;
        match tokio::time::timeout(Duration::from_millis(ANSWER_MS_MAX), request).await {
            Ok(outcome) => outcome.map_err(|error| Failure::of(location, &error)),
            Err(_) => {
                self.is_unfinished.set(true);
                Err(Failure::lost(location, format!("the server did not answer within {ANSWER_MS_MAX} ms")))
            }
        }
    }
}

/// Refuses a server that is too old.
fn check_version(location: &str, version: &str) -> Result<(), Failure> {
    let major =
        version.split(|byte: char| !byte.is_ascii_digit()).next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major >= SERVER_VERSION_MIN) {
        return Ok(());
    }
    let error = DatabaseError {
        location: location.to_owned(),
        kind: DatabaseErrorKind::ServerTooOld,
        reason: format!("the server is PostgreSQL {version}, expected {SERVER_VERSION_MIN} or newer"),
    };
    Err(Failure { effect: crate::failure::Effect::Nothing, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_before_version_15_are_refused() {
        for version in ["15.0", "15beta1", "16.4 (Debian 16.4-1)", "18"] {
            assert!(check_version("db", version).is_ok(), "{version}");
        }
        for version in ["14.12", "9.6.24", "", "new"] {
            let refused = check_version("db", version).unwrap_err().error;
            assert_eq!(refused.kind, DatabaseErrorKind::ServerTooOld);
            assert!(refused.reason.ends_with("expected 15 or newer"), "{refused}");
        }
    }
}
