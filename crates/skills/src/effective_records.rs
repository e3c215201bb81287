//! What of a journal led to where its run stands.
//!
//! A journal erases nothing: attempts that policies blocked stay in it, and so does what a rollback left behind. A fork
//! shares what is in effect, and whoever compares two runs compares that.

use hence_canon::Digest;
use hence_engine::{POLICIES_STEP, VERDICTS_STEP};
use hence_journal::{ActivePath, Chained, Control, ReadError, Reader, Record, RecordIndex};
use hence_state::StepResult;

use crate::run::OUTPUTS_STEP;

/// A record that is in effect.
#[derive(Clone, Debug)]
pub struct EffectiveRecord {
    /// Its place in the journal.
    pub index: RecordIndex,
    /// Its hash.
    pub hash: Digest,
    /// What it is to the run.
    pub kind: RecordKind,
    /// What it records.
    pub result: StepResult,
}

/// What a record is to its run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// The result of a step.
    Step,
    /// An attempt of a step that policies blocked.
    Blocked,
    /// The policies the run goes by from here on.
    Policies,
}

/// Returns the results that led to where a run stands, in order. What is said at its end, of outputs or verdicts, is not
/// among them.
///
/// # Errors
/// [`ReadError`] at the first line that is no record.
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

pub(crate) fn kind_of(result: &StepResult) -> Option<RecordKind> {
    match &**result.step() {
        OUTPUTS_STEP | VERDICTS_STEP => None,
        POLICIES_STEP => Some(RecordKind::Policies),
        _ if result.outcome().is_blocked() => Some(RecordKind::Blocked),
        _ => Some(RecordKind::Step),
    }
}
