//! The gate of a run with policies: it judges a result before it is appended.
//!
//! The engine knows no policies. A [`Gate`] is asked about every result before it becomes a record; a result that it blocks
//! is recorded as failed with the code `policy_violation`, and the same step stays due. Nothing is erased: the blocked
//! result stays in the journal, and a later attempt is a record of its own.

mod blocked;
mod policy_state;

use hence_canon::{Canonical, Value};
use hence_journal::{Control, Reader, Record, RecordIndex};
use hence_state::{StepError, StepResult};

pub use blocked::{Blocked, BlockedAt, attempt, was_started};
pub(crate) use blocked::{block, block_unstarted, remark};
pub use policy_state::{PolicyOrderError, PolicyState, Role};

use crate::{Blobs, blob};

/// The step whose output is the policies in force: the first step record of a run with policies, and every amendment.
pub const POLICIES_STEP: &str = "$policies";

/// The step whose output is the verdicts of the policies on the whole run, recorded before it completes.
pub const VERDICTS_STEP: &str = "$verdicts";

/// The step that reports outputs a skill declares and no step produced.
pub const OUTPUTS_STEP: &str = "$outputs";

/// Returns whether a step belongs to the program; the engine adds the other steps.
pub fn is_program_step(step: &str) -> bool {
    ![POLICIES_STEP, VERDICTS_STEP, OUTPUTS_STEP].contains(&step)
}

/// The member of a result that lists the policies it violates, each with an explanation.
pub const POLICY_MEMBER: &str = "policy";

/// The member of a blocked result that says how the step itself ended.
pub const BLOCKED_MEMBER: &str = "blocked";

/// The judgement of policies on a result.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// The violations that block the result; empty when it may be appended.
    pub blocks: Vec<StepError>,
    /// The remarks recorded with it: an object for each policy it violates, whether or not that blocks it.
    pub remarks: Vec<Value>,
}

/// A call that a step is about to make.
#[derive(Clone, Debug)]
pub struct ProposedCall {
    /// Which of several calls of the step it is, for a message: `item 2`, or nothing.
    pub position: String,
    /// The calls that the step has made and the gate has not been told of, each as the result of a step that makes no other
    /// call.
    pub before: Vec<StepResult>,
    /// A result that the step might give if this call were its only one.
    pub result: StepResult,
}

/// The judgement of policies on a run that is about to complete.
#[derive(Clone, Debug)]
pub struct FinalVerdict {
    /// The violations that block completion; empty when it may complete.
    pub blocks: Vec<StepError>,
    /// Every verdict: the output of the step `$verdicts`.
    pub verdicts: Value,
}

/// Judges the results of a run before they are appended.
///
/// The same records give the same judgements: a replay asks again and compares every byte.
pub trait Gate {
    /// Puts policies into force, as record `index` says: the ones a run begins with, or amended ones.
    ///
    /// # Errors
    /// [`GateError`] when they cannot be enforced; the policies before stay in force then.
    fn set_policies(&mut self, index: RecordIndex, policies: &Value) -> Result<(), GateError>;

    /// Judges a result before it becomes record `index`. Nothing changes.
    fn judge(&mut self, index: RecordIndex, result: &StepResult) -> Judgement;

    /// Notes a call that the step which is due has made, as the result of a step that makes no other call: further calls of
    /// the step are judged after it. The next record makes it forgotten.
    fn note_call(&mut self, _index: RecordIndex, _result: &StepResult) {}

    /// Forgets the calls that were noted.
    fn forget_calls(&mut self) {}

    /// Judges a step before it is executed, by a result it might give: its type, its input and everything it reads are
    /// known. Only violations that no result could avoid count here; the rest is judged when the result exists. Nothing
    /// changes.
    fn precheck(&mut self, _index: RecordIndex, _result: &StepResult) -> Judgement {
        Judgement::default()
    }

    /// Observes a record that was appended: a result that was not blocked, a loop's decision, or a rollback. A rollback
    /// undoes no action; the policies of that position are in force again.
    fn observe(&mut self, index: RecordIndex, record: &Record);

    /// Judges the run as it would be if it completed now. Nothing changes.
    fn final_verdict(&mut self) -> FinalVerdict;
}

/// Passes every record of a journal to a gate.
///
/// # Errors
/// [`GateError`] when the policies cannot be read or cannot be enforced.
pub fn observe_journal(gate: &mut dyn Gate, journal: &[u8], blobs: &dyn Blobs) -> Result<(), GateError> {
    let unread = |error: &dyn std::fmt::Display| GateError::Policies(error.to_string());
    let (_, reader) = Reader::open(journal).map_err(|error| unread(&error))?;
    for chained in reader {
        let chained = chained.map_err(|error| unread(&error))?;
        if let Some(output) = installed(&chained.record) {
            let policies = blob::resolve(output, blobs).map_err(|error| unread(&error))?;
            gate.set_policies(chained.index, &policies)?;
        } else if is_observed(&chained.record) {
            gate.observe(chained.index, &chained.record);
        }
    }
    Ok(())
}

/// Returns the policies a journal installs first: the ones its problem pins. A run that was rolled back to a record
/// before them installs them again.
///
/// # Errors
/// [`GateError`] when they cannot be read.
pub fn first_installed(journal: &[u8], blobs: &dyn Blobs) -> Result<Option<Value>, GateError> {
    let unread = |error: &dyn std::fmt::Display| GateError::Policies(error.to_string());
    let (_, reader) = Reader::open(journal).map_err(|error| unread(&error))?;
    for chained in reader {
        let chained = chained.map_err(|error| unread(&error))?;
        if let Some(output) = installed(&chained.record) {
            return blob::resolve(output, blobs).map(Some).map_err(|error| unread(&error));
        }
    }
    Ok(None)
}

/// Returns the policies a record installs.
fn installed(record: &Record) -> Option<&Canonical> {
    match record {
        Record::Step(step) if &**step.result.step() == POLICIES_STEP => step.result.outcome().output(),
        _ => None,
    }
}

/// Returns whether a gate observes a record: results of steps, loop decisions and rollbacks, but not blocked attempts,
/// policies and verdicts.
pub fn is_observed(record: &Record) -> bool {
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
    /// The policies cannot be read.
    #[error("the policies cannot be enforced: {0}")]
    Policies(String),
    /// The problem pins policies and there is no gate to enforce them.
    #[error("the problem pins policies, and nothing here enforces them")]
    Unguarded,
    /// The problem pins other policies.
    #[error("the problem pins the policies {pinned}, found {found}")]
    OtherPolicies {
        /// The digest that the problem pins.
        pinned: String,
        /// The digest of the policies that were given.
        found: String,
    },
    /// Policies at a position where none are allowed.
    #[error("{0}")]
    PolicyOrder(#[from] PolicyOrderError),
}
