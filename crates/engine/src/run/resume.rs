//! Taking up a run where its journal ends. Nothing that is recorded is executed again.

use hence_journal::verify::Reason;
use hence_journal::{Chained, Control, ReadError, Record, RecordIndex, StepRecord};
use hence_state::Status;

use super::{Finished, Run, RunError};
use crate::blob::Blobs;
use crate::book::Book;
use crate::gate::{POLICIES_STEP, Role, VERDICTS_STEP};
use crate::history::Recorded;
use crate::plan::Plan;
use crate::taken_up::{NotTakenUp, ReadBack, take_up};

/// A run read back from its journal.
pub enum Resumed {
    /// More is to come.
    Going(Box<Run>),
    /// It had ended already.
    Ended(Finished),
}

/// Why a journal cannot be taken up.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// A line is no record.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The chain does not hold, so nothing may be appended to it.
    #[error("record {line} does not hold: {}", .reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Broken {
        /// The line, from 0.
        line: u64,
        /// What does not hold.
        reasons: Vec<Reason>,
    },
    /// A record does not fit the plan: another problem, another program, or an altered journal.
    #[error("record {index} does not follow from the plan: {reason}")]
    Diverged {
        /// The record.
        index: RecordIndex,
        /// How.
        reason: String,
    },
    /// The recorded problem is not one this engine would run.
    #[error("the recorded problem is refused: {0}")]
    Refused(#[from] hence_state::Findings),
    /// A record does not fit the state, or a large value is missing.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<NotTakenUp> for ResumeError {
    fn from(error: NotTakenUp) -> Self {
        match error {
            NotTakenUp::Broken { line, reasons } => Self::Broken { line, reasons },
            NotTakenUp::Read(error) => Self::Read(error),
            NotTakenUp::OtherHeader(reason) => {
                Self::Diverged { index: RecordIndex::HEADER, reason: reason.to_owned() }
            }
            NotTakenUp::OtherEnd { index, reason } => Self::Diverged { index, reason },
        }
    }
}

impl ReadBack for Run {
    type Error = ResumeError;

    fn take_back(&mut self, chained: &Chained, blobs: &dyn Blobs) -> Result<(), ResumeError> {
        self.take_back_record(chained, blobs)
    }

    fn keep_position(&mut self, index: RecordIndex) {
        Self::keep_position(self, index);
    }

    fn book(&mut self) -> &mut Book {
        &mut self.book
    }
}

impl Run {
    /// Reads a run back: every record is taken in as it was when it was written, and compared with what the plan
    /// would have written where that costs no execution.
    ///
    /// # Errors
    /// [`ResumeError`] with the first record that does not fit. The journal is only read.
    pub fn resume(plan: Plan, journal: &[u8], blobs: &dyn Blobs) -> Result<Resumed, ResumeError> {
        Ok(Self::reopen(plan, journal, blobs)?.into_resumed())
    }

    /// Reads a run back whether or not it has ended: one that has can still be [marked](Self::mark).
    ///
    /// # Errors
    /// As for [`resume`](Self::resume).
    pub fn reopen(plan: Plan, journal: &[u8], blobs: &dyn Blobs) -> Result<Self, ResumeError> {
        let (run, header) = Self::start(plan)?;
        take_up(run, journal, &header, blobs)
    }

    fn take_back_record(&mut self, chained: &Chained, blobs: &dyn Blobs) -> Result<(), ResumeError> {
        let diverged =
            |reason: &str| ResumeError::Diverged { index: chained.index, reason: reason.to_owned() };
        match &chained.record {
            Record::Header(_) => return Err(diverged("a header is the first record only")),
            Record::Step(record) if self.is_aside(record) => {
                self.take_back_aside(chained.index, record).map_err(|reason| diverged(&reason))?;
            }
            Record::Step(record) => {
                let due = self.cursor.next_step().and_then(|at| self.plan.steps.get(at)).cloned();
                let step =
                    due.filter(|step| !self.decision_is_due() && step.name() == &**record.result.step());
                let step = step.ok_or_else(|| diverged("another step was due"))?;
                self.take_in(step.artifact_key(), &record.result, blobs)?;
                self.book.state_hash = record.state_after_hash;
            }
            Record::Control(Control::Loop(control)) => {
                let action = self.decision(blobs).map_err(RunError::from)?;
                if !self.decision_is_due() || action != Some(control.action) {
                    return Err(diverged("the loop decides otherwise"));
                }
                self.settle(control.action)?;
                self.book.state_hash = control.state_hash;
            }
            Record::Control(Control::Complete { at, state_hash }) => {
                if !self.cursor.all_steps_done() {
                    return Err(diverged("steps are left to run"));
                }
                self.book.apply_recorded_completion(at, *state_hash).map_err(RunError::from)?;
                let _ = self.cursor.complete();
            }
            Record::Control(Control::Checkpoint(control)) => {
                self.book.apply_recorded_checkpoint(control).map_err(RunError::from)?;
            }
            Record::Control(Control::Rollback(control)) => self.apply_recorded_rollback(control)?,
        }
        self.book.move_head(chained.index, chained.hash);
        Ok(())
    }

    /// Returns whether a result is about policies, or was blocked by them: the cursor does not move.
    fn is_aside(&self, record: &StepRecord) -> bool {
        matches!(self.book.policy_state().clone().take(&record.result), Ok(role) if role != Role::Own)
    }

    fn take_back_aside(&mut self, index: RecordIndex, record: &StepRecord) -> Result<(), String> {
        let name = record.result.step();
        let due = self.cursor.next_step().and_then(|at| self.plan.steps.get(at)).cloned();
        let key = match &**name {
            POLICIES_STEP => name.clone(),
            VERDICTS_STEP if self.cursor.all_steps_done() => name.clone(),
            VERDICTS_STEP => return Err("steps are left to run".to_owned()),
            other => due
                .filter(|step| !self.decision_is_due() && step.name() == other)
                .map(|step| step.artifact_key().into())
                .ok_or("another step was due")?,
        };
        match &**name {
            POLICIES_STEP => self.judge_again(index.next()),
            VERDICTS_STEP => self.blocked = None,
            _ => self.blocked = Some(Recorded::of_attempt(&record.result)),
        }
        self.book.replay_step(&key, record).map_err(|error| error.to_string())
    }

    fn into_resumed(self) -> Resumed {
        let status = self.state().status();
        let ended = !self.decision_is_due()
            && self.cursor.next_step().is_none()
            && !self.completion_is_due()
            && matches!(status, Status::Failed | Status::Completed);
        if ended {
            return Resumed::Ended(self.into_finished());
        }
        Resumed::Going(Box::new(self))
    }
}
