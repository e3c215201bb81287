//! Why a run cannot be shown as a trace.

use hence_canon::Digest;
use hence_engine::BlobError;
use hence_journal::{ReadError, TailError};
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
}
