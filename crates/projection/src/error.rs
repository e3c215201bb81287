//! Errors of projecting a run.

use hence_canon::Digest;
use hence_cognition::capability::ContractBreach;
use hence_cognition::run::FoldError;
use hence_engine::{BlobError, GateError};
use hence_journal::{ReadError, RecordIndex, TailError};
use hence_review::model::DecodeError;
use hence_skills::{InvalidFrame, RecordedOutcomeError};
use hence_state::Findings;

/// An error of projecting a run into a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// A record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal does not end in a whole record.
    #[error("the journal does not end in a record: {0}")]
    Tail(#[from] TailError),
    /// The first record is not a header.
    #[error("the first record is no header")]
    NoHeader,
    /// The chain of the journal is broken: a trace of it would show records nobody wrote.
    #[error("the journal breaks at record {record}: {reasons}")]
    Broken {
        /// The first bad record.
        record: u64,
        /// The reasons.
        reasons: String,
    },
    /// The problem is not the one the journal names.
    #[error("the journal names the problem {expected}, found {found}")]
    OtherProblem {
        /// The digest in the header.
        expected: Digest,
        /// The digest of the problem given.
        found: Digest,
    },
    /// The problem breaks a rule of the run's profile.
    #[error("the problem is refused: {0}")]
    Problem(#[from] Findings),
    /// A blob is missing or damaged.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The skill is not the one the problem pins.
    #[error("the problem pins {pinned}, found the skill {found}")]
    OtherSkill {
        /// The skill the problem pins.
        pinned: String,
        /// The digest of the skill given.
        found: Digest,
    },
    /// The problem's inputs do not match the contract of the skill.
    #[error("the inputs do not fit the skill: {0}")]
    Inputs(#[from] ContractBreach),
    /// The problem's frame is invalid.
    #[error(transparent)]
    Frame(#[from] InvalidFrame),
    /// A record is not an outcome of a step of the skill.
    #[error("record {index}: {source}")]
    Outcome {
        /// The record.
        index: RecordIndex,
        /// The reason.
        source: RecordedOutcomeError,
    },
    /// An outcome does not follow from those before it.
    #[error("the record does not follow from the skill: {0}")]
    Diverged(#[from] FoldError),
    /// A record is not an operation on variables.
    #[error("record {index} is no operation on variables: {reason}")]
    Event {
        /// The record.
        index: RecordIndex,
        /// The reason.
        reason: String,
    },
    /// The recorded policies cannot be read.
    #[error(transparent)]
    Policies(#[from] GateError),
    /// A recorded policy does not fit the trace format.
    #[error(transparent)]
    PolicyForm(#[from] DecodeError),
}
