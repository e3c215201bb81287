//! Policies while a run happens: who judges a result before it is kept, and what the record says of it.
//!
//! The engine knows no policies. A [`Gate`] is asked about every result before it becomes a record; what it blocks is
//! recorded as a failed result with the code `policy_violation`, and the run stands before the same step. Nothing is
//! erased: the blocked result stays in the journal, and a later attempt is a record of its own.

mod blocked;
mod custody;

use std::sync::Arc;

use hence_canon::Value;
use hence_journal::{Header, Record, RecordIndex};
use hence_state::{ProblemSpec, StepError, StepResult};

pub use blocked::{Blocked, attempt};
pub(crate) use blocked::{block, remark};
pub use custody::{Custody, Role, Untimely};

use crate::Blobs;

/// The step whose output is the policies a run goes by: its first record, and every amendment.
pub const POLICIES_STEP: &str = "$policies";

/// The step whose output is what the policies say of the whole run, recorded before it completes.
pub const VERDICTS_STEP: &str = "$verdicts";

/// The member of a result that says which policies it violates, and how.
pub const POLICY_MEMBER: &str = "policy";

/// The member of a blocked result that keeps how the step ended.
pub const BLOCKED_MEMBER: &str = "blocked";

/// What policies say of a result.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// Why the result may not be kept as it is; nothing when it may.
    pub blocks: Vec<StepError>,
    /// What is to be recorded beside it: an object for each policy it violates, whether or not it blocks.
    pub remarks: Vec<Value>,
}

/// What policies say of a run that is about to complete.
#[derive(Clone, Debug)]
pub struct FinalJudgement {
    /// Why it may not complete; nothing when it may.
    pub blocks: Vec<StepError>,
    /// Every verdict: what the step `$verdicts` gives.
    pub verdicts: Value,
}

/// Judges a run while it happens.
///
/// The same records give the same judgements: a replay asks again and compares every byte.
pub trait Gate: Send {
    /// Judges a result before it becomes record `index`. Nothing changes.
    fn judge(&mut self, index: RecordIndex, result: &StepResult, blobs: &dyn Blobs) -> Judgement;

    /// Takes in a record that was kept: a result that was not blocked, or a loop's decision.
    fn take_in(&mut self, index: RecordIndex, record: &Record, blobs: &dyn Blobs);

    /// Judges the run as it would be if it completed now. Nothing changes.
    fn judge_end(&mut self, blobs: &dyn Blobs) -> FinalJudgement;

    /// Goes on by other policies.
    ///
    /// # Errors
    /// [`GateError`] when they cannot be enforced; the old ones then stay.
    fn amend(&mut self, policies: &Value) -> Result<(), GateError>;
}

/// What a gate is told of a run before its first record.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The header of the run.
    pub header: &'a Header,
    /// Its problem.
    pub problem: &'a Arc<ProblemSpec>,
    /// The policies it goes by.
    pub policies: &'a Value,
}

/// Makes gates.
pub trait Gates: Send + Sync {
    /// Makes the gate of a run.
    ///
    /// # Errors
    /// [`GateError`] when the policies cannot be enforced: a run never goes on without them.
    fn open(&self, opening: Opening<'_>) -> Result<Box<dyn Gate>, GateError>;
}

/// Policies that cannot be enforced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// The policies are not at hand, or cannot be read.
    #[error("the policies cannot be enforced: {0}")]
    Policies(String),
    /// The problem pins policies and nobody was asked to enforce them.
    #[error("the problem pins policies, and nothing here enforces them")]
    Unguarded,
    /// The problem pins other policies.
    #[error("the problem pins the policies {pinned}, found {found}")]
    OtherPolicies {
        /// What the problem pins.
        pinned: String,
        /// What was given.
        found: String,
    },
    /// Policies where none may come.
    #[error("{0}")]
    Untimely(#[from] Untimely),
}
