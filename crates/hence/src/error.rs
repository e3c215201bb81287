//! Errors as a person meets them: code, what happened, the places, what to do next.

use std::path::Path;

use hence_canon::ParseError;
use hence_engine::{BlobError, ReplayError, ResumeError, RunError};
use hence_journal::ReadError;
use hence_skills::{RecordedOutcomeError, ResumeSkillError};
use hence_state::Findings;
use hence_store::{AppendError, DiskErrorKind, StoreError};

use crate::code::Code;
use crate::exit::Exit;
use crate::hint;

/// How much of a place in a document is shown.
const POINTER_CHARACTERS_MAX: usize = 120;

/// An error that ends a command.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// Single findings, each on a line of its own.
    pub(crate) findings: Vec<String>,
    /// What to do next.
    pub(crate) hint: String,
}

impl CliError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), findings: Vec::new(), hint: hint::for_code(code) }
    }

    /// Says what to do next in this very case.
    pub(crate) fn advise(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self.code {
            Code::NotAStore
            | Code::InUse
            | Code::Damaged
            | Code::Disk
            | Code::Blob
            | Code::Stopped
            | Code::Calls => Exit::Store,
            Code::Interrupted => Exit::Partial,
            Code::NoSuchRun
            | Code::Ambiguous
            | Code::NoSuchPlace
            | Code::File
            | Code::Line
            | Code::Policies
            | Code::SeveralTraces => Exit::Usage,
            Code::NotJson
            | Code::Refused
            | Code::Conflict
            | Code::BadRecord
            | Code::Diverged
            | Code::NotAsked
            | Code::Nested
            | Code::Fork
            | Code::Answered
            | Code::Answer
            | Code::Capabilities
            | Code::BoundStep
            | Code::OtherCapabilities
            | Code::SecretMissing
            | Code::Bundle
            | Code::Variables
            | Code::Document
            | Code::Checkpoint
            | Code::Driven
            | Code::NotATrace
            | Code::Blocked
            | Code::Gate
            | Code::ApprovalBlocked
            | Code::ReviewRefused
            | Code::ReviewBroken
            | Code::TraceUnchanged
            | Code::Scratch
            | Code::NotBound
            | Code::NotALog => Exit::No,
        }
    }

    /// Names a file a person gave.
    pub(crate) fn file(action: &str, path: &Path, error: &std::io::Error) -> Self {
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
        Self::new(Code::File, format!("cannot {action} {}: {reason}", path.display()))
    }

    pub(crate) fn not_json(name: &str, error: &ParseError) -> Self {
        // The place of a document that is nested too deeply is itself too long to read; line and column are enough.
        let place = error.pointer.to_string();
        let text = match place.char_indices().nth(POINTER_CHARACTERS_MAX) {
            None => error.to_string(),
            Some((end, _)) => {
                let start = place.get(..end).unwrap_or_default();
                format!("{} at {} (`{start}…`)", error.kind, error.position)
            }
        };
        Self::new(Code::NotJson, format!("{name}: {text}"))
    }

    pub(crate) fn refused(name: &str, findings: &Findings) -> Self {
        let count = findings.iter().len();
        let things = if count == 1 { "finding" } else { "findings" };
        let mut error = Self::new(Code::Refused, format!("{name} is refused: {count} {things}"));
        error.findings = findings.iter().map(ToString::to_string).collect();
        error
    }

    /// Names a record that cannot be read.
    pub(crate) fn bad_record(run: &str, error: &ReadError) -> Self {
        Self::new(Code::BadRecord, format!("run {run}: {error}")).advise(hint::verify(run))
    }

    /// An operation on variables that a rule forbids: the code and the id of the rule go with it.
    pub(crate) fn variables(refusal: &hence_variables::Refusal) -> Self {
        let mut error = Self::new(Code::Variables, refusal.to_string());
        error.findings = vec![format!("{} (rule {})", refusal.code(), refusal.rule())];
        error
    }

    pub(crate) fn resume(run: &str, error: ResumeError) -> Self {
        match error {
            ResumeError::Read(error) => Self::bad_record(run, &error),
            // A record that does not hold is none, whatever the problem says.
            ResumeError::Broken { .. } => {
                Self::new(Code::BadRecord, format!("run {run}: {error}")).advise(hint::verify(run))
            }
            ResumeError::Diverged { .. } => {
                Self::new(Code::Diverged, format!("run {run}: {error}")).advise(hint::verify(run))
            }
            ResumeError::Refused(findings) => Self::refused(&format!("the problem of run {run}"), &findings),
            ResumeError::Run(error) => Self::from(error),
        }
    }

    pub(crate) fn resume_skill(run: &str, error: ResumeSkillError) -> Self {
        match error {
            ResumeSkillError::Read(error) => Self::bad_record(run, &error),
            ResumeSkillError::Run(error) => Self::new(Code::Refused, format!("run {run}: {error}")),
            ResumeSkillError::Kept { source: RecordedOutcomeError::Blob(error), .. } => error.into(),
            other => Self::new(Code::Diverged, format!("run {run}: {other}")).advise(hint::verify(run)),
        }
    }

    pub(crate) fn replay(run: &str, error: ReplayError) -> Self {
        match error {
            ReplayError::Read(error) => Self::bad_record(run, &error),
            ReplayError::Refused(findings) => Self::refused(&format!("the problem of run {run}"), &findings),
            ReplayError::Run(error) => error.into(),
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NotAStore { .. } | StoreError::UnknownFormat { .. } => Code::NotAStore,
            StoreError::Disk(error) if error.kind == DiskErrorKind::NotAFolder => Code::NotAStore,
            StoreError::NoSuchRun { .. } | StoreError::PrefixNotFound { .. } => Code::NoSuchRun,
            StoreError::PrefixAmbiguous { .. } => Code::Ambiguous,
            StoreError::RunConflict { .. } | StoreError::AlreadyCreated { .. } => Code::Conflict,
            StoreError::Leased { .. } => Code::InUse,
            StoreError::Damaged { .. }
            | StoreError::NotARunFolder { .. }
            | StoreError::NoSuchAttachment { .. } => Code::Damaged,
            StoreError::NoSuchBlob { .. }
            | StoreError::BlobCorrupt { .. }
            | StoreError::BlobTooLarge { .. } => Code::Blob,
            _ => Code::Disk,
        };
        let made = Self::new(code, error.to_string());
        match hint::for_store(&error) {
            Some(hint) => made.advise(hint),
            None => made,
        }
    }
}

impl From<AppendError> for CliError {
    fn from(error: AppendError) -> Self {
        Self::new(Code::Disk, error.to_string())
    }
}

impl From<BlobError> for CliError {
    fn from(error: BlobError) -> Self {
        Self::new(Code::Blob, error.to_string())
    }
}

impl From<RunError> for CliError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Blob(error) => error.into(),
            RunError::Book(hence_engine::BookError::Gate(error)) => Self::new(Code::Gate, error.to_string()),
            RunError::Stopped { .. } | RunError::Waiting { .. } => {
                Self::new(Code::BoundStep, error.to_string())
            }
            other => Self::new(Code::Stopped, other.to_string()),
        }
    }
}
