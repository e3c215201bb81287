//! Policies while a run happens: who judges a result before it is kept, and what the record says of it.
//!
//! The engine knows no policies. A [`Gate`] is asked about every result before it becomes a record; what it blocks is
//! recorded as a failed result with the code `policy_violation`, and the run stands before the same step. Nothing is
//! erased: the blocked result stays in the journal, and a later attempt is a record of its own.

mod blocked;
mod policy_state;

use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_journal::{Control, Header, Reader, Record, RecordIndex};
use hence_state::{ProblemSpec, StepError, StepResult};

pub use blocked::{Blocked, attempt, was_started};
pub(crate) use blocked::{block, block_unstarted, remark};
pub use policy_state::{PolicyOrderError, PolicyState, Role};

use crate::{Blobs, blob};

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
pub struct FinalVerdict {
    /// Why it may not complete; nothing when it may.
    pub blocks: Vec<StepError>,
    /// Every verdict: what the step `$verdicts` gives.
    pub verdicts: Value,
}

/// Judges a run while it happens.
///
/// The same records give the same judgements: a replay asks again and compares every byte.
pub trait Gate {
    /// Goes by these policies from here on, as record `index` says: the ones a run begins with, or amended ones.
    ///
    /// # Errors
    /// [`GateError`] when they cannot be enforced; the ones before, if there were any, then stay.
    fn set_policies(&mut self, index: RecordIndex, policies: &Value) -> Result<(), GateError>;

    /// Judges a result before it becomes record `index`. Nothing changes.
    fn judge(&mut self, index: RecordIndex, result: &StepResult) -> Judgement;

    /// Judges a step before it is executed, by a result it might give. Only what blocks the step whatever it gives may be
    /// said here; the rest is judged when the result is there. Nothing changes.
    fn precheck(&mut self, _index: RecordIndex, _result: &StepResult) -> Judgement {
        Judgement::default()
    }

    /// Takes in a record that was kept: a result that was not blocked, a loop's decision, or a return to an earlier
    /// position. What was done before a return was done; the policies are again those of that position.
    fn take_in(&mut self, index: RecordIndex, record: &Record);

    /// Judges the run as it would be if it completed now. Nothing changes.
    fn final_verdict(&mut self) -> FinalVerdict;
}

/// What a gate is told of a run before its first record.
#[derive(Clone, Copy)]
pub struct Opening<'a> {
    /// The header of the run.
    pub header: &'a Header,
    /// Its problem.
    pub problem: &'a Arc<ProblemSpec>,
    /// Where its large values are.
    pub blobs: &'a dyn Blobs,
}

/// Makes gates.
pub trait Gates: Send + Sync {
    /// Makes the gate of a run, which knows no policies yet.
    ///
    /// # Errors
    /// [`GateError`] when the run cannot be judged: it never goes on without a gate.
    fn open<'a>(&'a self, opening: Opening<'a>) -> Result<Box<dyn Gate + 'a>, GateError>;
}

/// Shows a gate everything a journal records, policies first.
///
/// # Errors
/// [`GateError`] when the policies are not at hand or cannot be enforced.
pub fn catch_up(gate: &mut dyn Gate, journal: &[u8], blobs: &dyn Blobs) -> Result<(), GateError> {
    let unread = |error: &dyn std::fmt::Display| GateError::Policies(error.to_string());
    let (_, reader) = Reader::open(journal).map_err(|error| unread(&error))?;
    for chained in reader {
        let chained = chained.map_err(|error| unread(&error))?;
        if let Some(output) = laid(&chained.record) {
            let policies = blob::resolve(output, blobs).map_err(|error| unread(&error))?;
            gate.set_policies(chained.index, &policies)?;
        } else if is_seen(&chained.record) {
            gate.take_in(chained.index, &chained.record);
        }
    }
    Ok(())
}

/// Returns the policies a journal lays down first: the ones its problem pins. A run that returned to before them lays
/// them down again.
///
/// # Errors
/// [`GateError`] when they are not at hand.
pub fn first_installed(journal: &[u8], blobs: &dyn Blobs) -> Result<Option<Value>, GateError> {
    let unread = |error: &dyn std::fmt::Display| GateError::Policies(error.to_string());
    let (_, reader) = Reader::open(journal).map_err(|error| unread(&error))?;
    for chained in reader {
        let chained = chained.map_err(|error| unread(&error))?;
        if let Some(output) = laid(&chained.record) {
            return blob::resolve(output, blobs).map(Some).map_err(|error| unread(&error));
        }
    }
    Ok(None)
}

/// Returns the policies a record lays down.
fn laid(record: &Record) -> Option<&Canonical> {
    match record {
        Record::Step(step) if &**step.result.step() == POLICIES_STEP => step.result.outcome().output(),
        _ => None,
    }
}

/// Returns whether a record is something policies speak of: what was done and where the run returned to, not what was
/// said about it or blocked.
pub fn is_seen(record: &Record) -> bool {
    match record {
        Record::Step(step) => {
            let is_aside = [POLICIES_STEP, VERDICTS_STEP].contains(&&**step.result.step());
            !is_aside && !step.result.outcome().is_blocked()
        }
        Record::Control(control) => matches!(control, Control::Loop(_) | Control::Rollback(_)),
        Record::Header(_) => false,
    }
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
    PolicyOrder(#[from] PolicyOrderError),
}
