//! Taking up a skill run where its journal ends. Nothing that has an outcome is executed again.

use std::sync::Arc;

use hence_canon::Canonical;
use hence_cognition::capability::Registry;
use hence_cognition::run::{Prepared, StepOutcome};
use hence_engine::{
    Blobs, Book, NotTakenUp, ReadBack, Role, VERDICTS_STEP, attempt, recorded_outcome_key, take_up,
    was_started,
};
use hence_journal::verify::Reason;
use hence_journal::{Chained, Control, ReadError, Record, RecordIndex};
use hence_state::{ProblemSpec, Timestamp};

use super::{OUTPUTS_STEP, SkillRun, SkillRunError};
use crate::kept::{self, RecordedOutcomeError};
use crate::variables::SkillVariables;

/// Why a journal cannot be taken up.
#[derive(Debug, thiserror::Error)]
pub enum ResumeSkillError {
    /// The chain does not hold, so nothing may be appended to it.
    #[error("record {line} does not hold: {}", .reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Broken {
        /// The line, from 0.
        line: u64,
        /// What does not hold.
        reasons: Vec<Reason>,
    },
    /// A line is no record.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record does not follow from the skill.
    #[error("record {index} does not follow from the skill: {reason}")]
    Diverged {
        /// The record.
        index: RecordIndex,
        /// How.
        reason: String,
    },
    /// A result keeps no outcome.
    #[error("record {index}: {source}")]
    Kept {
        /// The record.
        index: RecordIndex,
        /// Why.
        source: RecordedOutcomeError,
    },
    /// Problem, skill and state do not fit.
    #[error(transparent)]
    Run(#[from] SkillRunError),
}

impl From<NotTakenUp> for ResumeSkillError {
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

impl ReadBack for SkillRun<'_> {
    type Error = ResumeSkillError;

    fn take_back(&mut self, chained: &Chained, blobs: &dyn Blobs) -> Result<(), ResumeSkillError> {
        self.take_back_record(chained, blobs)
    }

    fn keep_position(&mut self, index: RecordIndex) {
        Self::keep_position(self, index);
    }

    fn book(&mut self) -> &mut Book {
        &mut self.book
    }
}

impl<'a> SkillRun<'a> {
    /// Reads a run back from its journal.
    ///
    /// # Errors
    /// [`ResumeSkillError`] with the first record that does not fit. The journal is only read.
    pub fn resume(
        problem: Arc<ProblemSpec>,
        prepared: &'a Prepared,
        source: &Canonical,
        registry: &dyn Registry,
        journal: &[u8],
        blobs: &dyn Blobs,
    ) -> Result<Self, ResumeSkillError> {
        Self::read_back(problem, prepared, source, registry, (journal, blobs), None)
    }

    fn read_back(
        problem: Arc<ProblemSpec>,
        prepared: &'a Prepared,
        source: &Canonical,
        registry: &dyn Registry,
        (journal, blobs): (&[u8], &dyn Blobs),
        variables: Option<SkillVariables>,
    ) -> Result<Self, ResumeSkillError> {
        let (mut run, header) = Self::start(problem, prepared, source, registry)?;
        run.variables = variables.or(run.variables);
        take_up(run, journal, &header, blobs)
    }

    /// Takes an outcome back into progress and variables.
    fn take_in(
        &mut self,
        outcome: StepOutcome,
        at: &Timestamp,
        index: RecordIndex,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let step = self.progress.due();
        let settled = self.progress.take_in(outcome)?.clone();
        if let (Some(variables), Some(step)) = (self.variables.take(), step) {
            let after = variables.after(step, &settled, &self.progress.state().memory, at, index)?;
            self.follow_variables(&variables, after);
        }
        Ok(())
    }

    /// Reads the variables of a run back from its journal, also where its skill declares none.
    ///
    /// # Errors
    /// [`ResumeSkillError`] with the first record that does not fit, or whose writes no variable can take.
    pub fn variables_of(
        problem: Arc<ProblemSpec>,
        prepared: &'a Prepared,
        source: &Canonical,
        registry: &dyn Registry,
        journal: &[u8],
        blobs: &dyn Blobs,
    ) -> Result<SkillVariables, ResumeSkillError> {
        let begun = SkillVariables::begin(&problem).map_err(SkillRunError::from)?;
        let run = Self::read_back(problem, prepared, source, registry, (journal, blobs), Some(begun))?;
        run.variables.ok_or_else(|| ResumeSkillError::Diverged {
            index: RecordIndex::HEADER,
            reason: "it has no variables".to_owned(),
        })
    }

    fn take_back_record(&mut self, chained: &Chained, blobs: &dyn Blobs) -> Result<(), ResumeSkillError> {
        let index = chained.index;
        let diverged = |reason: String| ResumeSkillError::Diverged { index, reason };
        match &chained.record {
            Record::Step(record) => {
                let name = record.result.step();
                let role = self.book.policy_state().clone().take(&record.result);
                match role.map_err(|untimely| diverged(untimely.to_string()))? {
                    Role::Own if &**name == OUTPUTS_STEP => {}
                    Role::Own => {
                        let outcome = kept::read(&record.result, blobs)
                            .map_err(|source| ResumeSkillError::Kept { index, source })?;
                        let at = record.result.finished_at();
                        self.take_in(outcome, at, index).map_err(|error| diverged(error.to_string()))?;
                    }
                    Role::Policies => self.judge_again(),
                    Role::Verdicts | Role::Blocked if &**name == VERDICTS_STEP => {
                        if self.progress.due().is_some() {
                            return Err(diverged("steps are left to run".to_owned()));
                        }
                    }
                    Role::Verdicts | Role::Blocked => {
                        if self.progress.due().is_none_or(|due| due.id != *name) {
                            return Err(diverged("another step was due".to_owned()));
                        }
                        self.blocked = match was_started(&record.result) {
                            false => None,
                            true => Some(
                                kept::read(&attempt(&record.result), blobs)
                                    .map_err(|source| ResumeSkillError::Kept { index, source })?,
                            ),
                        };
                    }
                }
                let key = recorded_outcome_key(record);
                self.book.replay_step(&key, record).map_err(SkillRunError::from)?;
            }
            Record::Control(Control::Complete { at, state_hash }) => {
                self.book.apply_recorded_completion(at, *state_hash).map_err(SkillRunError::from)?;
            }
            Record::Control(Control::Checkpoint(control)) => {
                self.book.apply_recorded_checkpoint(control).map_err(SkillRunError::from)?;
            }
            Record::Control(Control::Rollback(control)) => self.apply_recorded_rollback(control)?,
            Record::Control(Control::Loop(_)) | Record::Header(_) => {
                return Err(diverged("a skill run has steps and a completion only".to_owned()));
            }
        }
        self.book.move_head(index, chained.hash);
        Ok(())
    }
}
