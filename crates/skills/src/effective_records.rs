//! The records of a journal that are in effect.
//!
//! A journal erases nothing: attempts that policies blocked stay in it, and so do steps that were rolled back. A fork shares
//! the records in effect, and two runs are compared by them.

use hence_canon::Digest;
use hence_cognition::run::StepOutcome;
use hence_engine::{Blobs, OUTPUTS_STEP, POLICIES_STEP, VERDICTS_STEP};
use hence_journal::{ActivePath, Chained, Control, ReadError, Reader, Record, RecordIndex};
use hence_state::StepResult;

use crate::recorded_outcome;

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

/// Texts that occur in a journal with a failed step or part of a step; a blob may hide one.
const FAILURE_MARKS: [&str; 4] = ["\"status\":\"failed\"", "_errors\":", "\"failure\":", "\"$blob\""];

/// Returns the outcomes in effect of steps that failed, or that continued without a part that failed.
///
/// It may be given the journal of any kind of run: only runs of skills have outcomes. A line that is not a record ends the
/// search, and an outcome whose blob is missing is left out: verification reports both.
pub fn outcomes_with_failures(journal: &[u8], blobs: &dyn Blobs) -> Vec<StepOutcome> {
    // Most journals have none, and searching is far cheaper than decoding.
    let has_mark =
        str::from_utf8(journal).map_or(true, |text| FAILURE_MARKS.iter().any(|mark| text.contains(mark)));
    if !has_mark {
        return Vec::new();
    }
    let records = effective_records(journal).unwrap_or_default();
    let steps = records.iter().filter(|record| record.kind == RecordKind::Step);
    let outcomes = steps.filter_map(|record| recorded_outcome::read(&record.result, blobs).ok());
    outcomes.filter(StepOutcome::has_failures).collect()
}
