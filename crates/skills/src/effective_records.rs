//! The records of a journal that are in effect.
//!
//! A journal erases nothing: attempts that policies blocked stay in it, and so do steps that were rolled back. A fork shares
//! the records in effect, and two runs are compared by them.

use hence_canon::Digest;
use hence_engine::{OUTPUTS_STEP, POLICIES_STEP, VERDICTS_STEP};
use hence_journal::{ActivePath, Chained, Control, ReadError, Reader, Record, RecordIndex};
use hence_state::StepResult;

/// A record that is in effect.
#[derive(Clone, Debug)]
pub struct EffectiveRecord {
    /// The index of the record in the journal.
    pub index: RecordIndex,
    /// The hash of the record.
    pub hash: Digest,
    /// The kind of the record.
    pub kind: RecordKind,
    /// The result in the record.
    pub result: StepResult,
}

/// The kind of a record in effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// The result of a step.
    Step,
    /// An attempt of a step that policies blocked.
    Blocked,
    /// The policies that are in force from here on.
    Policies,
}

/// Returns the records in effect, in order, without the reports at the end of the run (missing outputs, verdicts).
///
/// # Errors
/// [`ReadError`] at the first line that is not a record.
pub fn effective_records(journal: &[u8]) -> Result<Vec<EffectiveRecord>, ReadError> {
    let mut path = ActivePath::default();
    for chained in Reader::open(journal)?.1 {
        let Chained { index, hash, record, .. } = chained?;
        match record {
            Record::Step(step) => {
                if let Some(kind) = kind_of(&step.result) {
                    path.push(index, EffectiveRecord { index, hash, kind, result: step.result });
                }
            }
            Record::Control(Control::Rollback(control)) => path.rollback_to(index, control.to),
            Record::Control(_) | Record::Header(_) => {}
        }
    }
    Ok(path.to_vec().into_iter().cloned().collect())
}

/// Returns the kind of a record, or `None` for a report at the end of a run.
pub fn kind_of(result: &StepResult) -> Option<RecordKind> {
    match &**result.step() {
        OUTPUTS_STEP | VERDICTS_STEP => None,
        POLICIES_STEP => Some(RecordKind::Policies),
        _ if result.outcome().is_blocked() => Some(RecordKind::Blocked),
        _ => Some(RecordKind::Step),
    }
}
