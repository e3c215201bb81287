//! Why a run cannot be shown as a trace.

use hence_canon::Digest;
use hence_cognition::capability::ContractBreach;
use hence_cognition::run::FoldError;
use hence_engine::BlobError;
use hence_journal::{ReadError, RecordIndex, TailError};
use hence_skills::{InvalidFrame, RecordedOutcomeError};
use hence_state::Findings;

/// A run that cannot be shown as a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// A record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal has no end to name.
    #[error("the journal does not end in a record: {0}")]
    Tail(#[from] TailError),
    /// The first record is no header.
    #[error("the first record is no header")]
    NoHeader,
    /// The chain of the journal does not hold: a view of it would show what nobody recorded.
    #[error("the journal breaks at record {record}: {reasons}")]
    Broken {
        /// The first bad record.
        record: u64,
        /// What is wrong with it.
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
    /// A large value cannot be had.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The skill is not the one the problem pins.
    #[error("the problem pins {pinned}, found the skill {found}")]
    OtherSkill {
        /// What the problem pins.
        pinned: String,
        /// The digest of the skill given.
        found: Digest,
    },
    /// The problem gives the skill what it does not take.
    #[error("the inputs do not fit the skill: {0}")]
    Inputs(#[from] ContractBreach),
    /// The problem's frame is not one.
    #[error(transparent)]
    Frame(#[from] InvalidFrame),
    /// A record is no outcome of a step of the skill.
    #[error("record {index}: {source}")]
    Outcome {
        /// The record.
        index: RecordIndex,
        /// Why.
        source: RecordedOutcomeError,
    },
    /// An outcome does not follow from those before it.
    #[error("the record does not follow from the skill: {0}")]
    Diverged(#[from] FoldError),
    /// A record is no operation on variables.
    #[error("record {index} is no operation on variables: {reason}")]
    Event {
        /// The record.
        index: RecordIndex,
        /// Why.
        reason: String,
    },
}
