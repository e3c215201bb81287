//! Errors as they are printed: code, message, findings, causes and a hint.

use std::error::Error;
use std::fmt::{self, Display};
use std::path::Path;

use hence_canon::ParseError;
use hence_engine::{BlobError, ResumeError, RunError};
use hence_journal::ReadError;
use hence_state::Findings;
use hence_store::{AppendError, DiskErrorKind, StoreError};

use crate::code::Code;
use crate::hint::{self, Hint};

/// The length at which a JSON pointer in a message is cut.
const POINTER_CHARACTERS_MAX: usize = 120;

type Source = Box<dyn Error + Send + Sync>;

/// An error that ends a command.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// Single findings, each on a line of its own.
    pub(crate) findings: Vec<String>,
    pub(crate) hint: Hint,
    pub(crate) source: Option<Source>,
}

impl CliError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message, findings: Vec::new(), hint: hint::for_code(code), source: None }
    }

    /// Creates an error with the message of its source.
    pub(crate) fn from_error(code: Code, source: impl Into<Source>) -> Self {
        let source = source.into();
        Self::new(code, source.to_string()).with_source(source)
    }

    /// Creates an error with the message of its source, after the name of a place.
    pub(crate) fn at(code: Code, place: impl Display, source: impl Into<Source>) -> Self {
        let source = source.into();
        Self::new(code, format!("{place}: {source}")).with_source(source)
    }

    /// Creates an error with the message of its source, after the name of a run.
    pub(crate) fn of_run(code: Code, run: impl Display, source: impl Into<Source>) -> Self {
        Self::at(code, format_args!("run {run}"), source)
    }

    /// Keeps the error that caused this one.
    pub(crate) fn with_source(self, source: impl Into<Source>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Replaces the hint of the code by one that fits this case better, if there is one.
    pub(crate) fn with_hint(self, hint: impl Into<Option<Hint>>) -> Self {
        match hint.into() {
            Some(hint) => Self { hint, ..self },
            None => self,
        }
    }

    pub(crate) fn with_findings(self, findings: impl IntoIterator<Item = impl ToString>) -> Self {
        Self { findings: findings.into_iter().map(|finding| finding.to_string()).collect(), ..self }
    }

    /// Returns the causes that the message does not already contain, the nearest first.
    pub(crate) fn causes(&self) -> Vec<String> {
        let mut causes: Vec<String> = Vec::new();
        let mut next = self.source();
        while let Some(error) = next {
            let cause = error.to_string();
            // The message already names an error of the file system, in plainer words.
            let is_known = error.is::<std::io::Error>()
                || error.is::<std::sync::Arc<std::io::Error>>()
                || self.message.contains(&cause)
                || causes.iter().any(|known| known.contains(&cause));
            if !is_known {
                causes.push(cause);
            }
            next = error.source();
        }
        causes
    }

    /// Describes an error of a file.
    pub(crate) fn file(action: &str, path: &Path, error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        let reason = match error.kind() {
            ErrorKind::NotFound => "it does not exist".to_owned(),
            ErrorKind::PermissionDenied => "permission denied".to_owned(),
            ErrorKind::IsADirectory => "expected a file, found a folder".to_owned(),
            ErrorKind::NotADirectory => "expected a folder, found a file".to_owned(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "no space left".to_owned(),
            ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
            _ => error.to_string(),
        };
        Self::new(Code::File, format!("cannot {action} {}: {reason}", path.display())).with_source(error)
    }

    pub(crate) fn not_json(name: &str, error: ParseError) -> Self {
        // The pointer into a document that is nested too deeply is itself too long to read; line and column are enough.
        let place = error.pointer.to_string();
        match place.char_indices().nth(POINTER_CHARACTERS_MAX) {
            None => Self::at(Code::NotJson, name, error),
            Some((end, _)) => {
                let start = place.get(..end).unwrap_or_default();
                let message = format!("{name}: {} at {} (`{start}…`)", error.kind, error.position);
                Self::new(Code::NotJson, message)
            }
        }
    }

    pub(crate) fn refused(name: &str, findings: &Findings) -> Self {
        let count = findings.iter().len();
        let things = if count == 1 { "finding" } else { "findings" };
        let lines: Vec<String> = findings.lines().collect();
        // These two are no members of a problem: --now and --engine-version give them.
        let is_argument =
            |line: &String| ["now: ", "engine_version: "].iter().any(|name| line.starts_with(name));
        let (code, name) = match lines.iter().all(is_argument) {
            true => (Code::Argument, "the command line"),
            false => (Code::Refused, name),
        };
        Self::new(code, format!("{name} is refused: {count} {things}")).with_findings(lines)
    }

    /// Describes a record that cannot be read.
    pub(crate) fn bad_record(run: &str, error: ReadError) -> Self {
        Self::of_run(Code::BadRecord, run, error).with_hint(hint::verify(run))
    }

    /// Describes an operation on variables that a rule forbids, with the code and the id of the rule.
    pub(crate) fn variables(refusal: &hence_variables::Refusal) -> Self {
        let rule = format!("{} (rule {})", refusal.code(), refusal.rule());
        let error = Self::new(Code::Variables, refusal.to_string()).with_findings([rule]);
        match hint::variables(refusal) {
            Some(advice) => error.with_hint(advice),
            None => error,
        }
    }

    pub(crate) fn resume(run: &str, error: ResumeError) -> Self {
        match error {
            ResumeError::Read(error) => Self::bad_record(run, error),
            // A record whose hash does not hold is unreadable, whatever the problem says.
            ResumeError::Broken { .. } => {
                Self::of_run(Code::BadRecord, run, error).with_hint(hint::verify(run))
            }
            ResumeError::Diverged { .. } => {
                Self::of_run(Code::Diverged, run, error).with_hint(hint::verify(run))
            }
            ResumeError::Refused(findings) => Self::refused(&format!("the problem of run {run}"), &findings),
            ResumeError::Run(RunError::Mismatch(error)) => Self::of_run(Code::Refused, run, error),
            ResumeError::Run(error) => Self::from(error),
        }
    }
}

impl Display for CliError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl Error for CliError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NotAStore { .. } | StoreError::UnknownFormat { .. } => Code::NotAStore,
            StoreError::Disk(error) if error.kind == DiskErrorKind::NotAFolder => Code::NotAStore,
            StoreError::Disk(error)
                if matches!(error.kind, DiskErrorKind::NotPlain(_) | DiskErrorKind::Altered(_)) =>
            {
                Code::Damaged
            }
            StoreError::NoSuchRun { .. } | StoreError::PrefixNotFound { .. } => Code::NoSuchRun,
            StoreError::PrefixAmbiguous { .. } => Code::Ambiguous,
            StoreError::RunConflict { .. }
            | StoreError::AlreadyCreated { .. }
            | StoreError::RunRemoved { .. } => Code::Conflict,
            StoreError::Leased { .. } => Code::InUse,
            StoreError::Damaged { .. }
            | StoreError::NotARunFolder { .. }
            | StoreError::NoSuchAttachment { .. } => Code::Damaged,
            StoreError::Database(_) => Code::Database,
            StoreError::Fenced { .. } => Code::InUse,
            StoreError::NoSuchBlob { .. }
            | StoreError::BlobCorrupt { .. }
            | StoreError::BlobTooLarge { .. } => Code::Blob,
            _ => Code::Disk,
        };
        let hint = hint::for_store(&error);
        Self::from_error(code, error).with_hint(hint)
    }
}

impl From<AppendError> for CliError {
    fn from(error: AppendError) -> Self {
        let code = match &error {
            AppendError::Unconfirmed { .. } => Code::Database,
            AppendError::Fenced { .. } => Code::InUse,
            _ => Code::Disk,
        };
        Self::from_error(code, error)
    }
}

impl From<BlobError> for CliError {
    fn from(error: BlobError) -> Self {
        Self::from_error(Code::Blob, error)
    }
}

impl From<RunError> for CliError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Blob(error) => error.into(),
            RunError::Book(hence_engine::BookError::Gate(error)) => Self::from_error(Code::Gate, error),
            RunError::Stopped { ref step, .. } if step.starts_with(hence_engine::SOLVE_STEP_PREFIX) => {
                Self::from_error(Code::SolveStopped, error)
            }
            RunError::Stopped { .. } | RunError::Waiting { .. } => Self::from_error(Code::BoundStep, error),
            other => Self::from_error(Code::Stopped, other),
        }
    }
}
