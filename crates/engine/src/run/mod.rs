//! A run: one record after the other, each kept before the next is thought of.

mod condition;
mod decide;
mod execute;
mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Digest;
use hence_journal::{Control, Fold, FoldError, Head, LoopAction, Record, RecordIndex, Sealed};
use hence_state::{ClockError, CompletionRule, Outcome, ReasoningState, StepStatus, Timestamp};

pub use resume::{ResumeError, Resumed};

use crate::blob::BlobError;
use crate::cursor::Cursor;
use crate::plan::Plan;
use crate::sink::{Sink, SinkError};
use crate::step::Tally;

/// A run under way. Advancing consumes it, so that a run whose record could not be kept cannot go on.
pub struct Run {
    plan: Plan,
    fold: Fold,
    state_hash: Digest,
    cursor: Cursor,
    head: Head,
    mutations: u64,
    tally: Tally,
    /// Outcomes a replay reads instead of asking the world again, by record.
    recorded: BTreeMap<RecordIndex, Outcome>,
}

/// What one record told.
#[derive(Clone, Debug)]
pub enum Event {
    /// A step was executed.
    Step {
        /// The record.
        index: RecordIndex,
        /// The step.
        step: Arc<str>,
        /// How it ended.
        status: StepStatus,
    },
    /// A loop decided.
    Decision {
        /// The record.
        index: RecordIndex,
        /// What it decided.
        action: LoopAction,
        /// The iteration just finished.
        iteration: u64,
    },
    /// The run completed.
    Completed {
        /// The record; the compat profile writes none.
        index: Option<RecordIndex>,
    },
}

/// A run after one more record.
pub enum Advanced {
    /// More is to come.
    Going(Box<Run>, Event),
    /// Nothing is.
    Ended(Finished, Event),
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The last state.
    pub state: ReasoningState,
    /// Where its journal ends.
    pub head: Head,
}

/// Why a run could not go on. What is kept is whole; the run can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A record or a large value could not be kept.
    #[error("record {index} could not be kept: {source}")]
    Sink {
        /// The record.
        index: RecordIndex,
        /// Why.
        source: SinkError,
    },
    /// The clock has no time for a mutation.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// A rule of the state refuses the record.
    #[error("record {index}: {source}")]
    Fold {
        /// The record.
        index: RecordIndex,
        /// Why.
        source: FoldError,
    },
    /// An event does not follow from the variables before it.
    #[error("record {index}: {source}")]
    Variables {
        /// The record.
        index: RecordIndex,
        /// Why.
        source: hence_variables::Misfit,
    },
    /// The run's clock shows a time that variables cannot bear.
    #[error("record {index}: {source}")]
    Moment {
        /// The record.
        index: RecordIndex,
        /// Why.
        source: hence_variables::InvalidTimestamp,
    },
    /// A large value could not be read back.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

impl Run {
    /// Starts a run and returns its header, which the caller keeps before advancing.
    ///
    /// # Errors
    /// [`RunError::Clock`] when the clock has not even a first time.
    pub fn start(plan: Plan) -> Result<(Self, Sealed), RunError> {
        let mut header = plan.header()?;
        let mut fold = Fold::new(&header, plan.problem.clone());
        header.initial_state_hash = fold.state_mut().digest();
        let sealed = Record::Header(header.clone()).seal(None);
        let names = plan.steps.iter().map(|step| Arc::from(step.name())).collect();
        let run = Self {
            cursor: Cursor::new(names, plan.profile),
            plan,
            fold,
            state_hash: header.initial_state_hash,
            head: sealed.head(),
            mutations: 0,
            tally: Tally::default(),
            recorded: BTreeMap::new(),
        };
        Ok((run, sealed))
    }

    /// Returns the state so far.
    pub fn state(&self) -> &ReasoningState {
        self.fold.state()
    }

    /// Returns where the journal ends.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Executes the next step, or records the next decision.
    ///
    /// # Errors
    /// [`RunError`]; whatever was kept before stays kept.
    pub fn advance(mut self, sink: &mut dyn Sink) -> Result<Advanced, RunError> {
        let event = if self.decision_is_due() {
            self.decide(sink)?
        } else if let Some(step) = self.cursor.next_step().and_then(|at| self.plan.steps.get(at)).cloned() {
            self.execute(&*step, sink)?
        } else {
            self.complete(sink)?
        };
        // A loop still decides after the last step, and completion still follows the last decision.
        let going = self.decision_is_due() || self.cursor.next_step().is_some() || self.completion_is_due();
        if going {
            return Ok(Advanced::Going(Box::new(self), event));
        }
        Ok(Advanced::Ended(Finished { state: self.fold.into_state(), head: self.head }, event))
    }

    /// Advances to the end, telling `observe` of each record.
    ///
    /// # Errors
    /// [`RunError`]; whatever was kept before stays kept.
    pub fn finish(self, sink: &mut dyn Sink, mut observe: impl FnMut(&Event)) -> Result<Finished, RunError> {
        let mut run = self;
        loop {
            match run.advance(sink)? {
                Advanced::Going(going, event) => {
                    observe(&event);
                    run = *going;
                }
                Advanced::Ended(finished, event) => {
                    observe(&event);
                    return Ok(finished);
                }
            }
        }
    }

    pub(crate) fn read_outcomes_from(&mut self, recorded: BTreeMap<RecordIndex, Outcome>) {
        self.recorded = recorded;
    }

    fn decision_is_due(&self) -> bool {
        let end_step = self.plan.loop_settings().map(|settings| &*settings.end_step);
        end_step.is_some() && self.cursor.just_executed() == end_step
    }

    /// Completion is a record in the strict profile; in the compat profile it only shows in the returned state.
    fn completion_is_due(&self) -> bool {
        self.cursor.all_steps_done() && self.fold.state().status() == hence_state::Status::Running
    }

    fn complete(&mut self, sink: &mut dyn Sink) -> Result<Event, RunError> {
        let at = self.next_time()?;
        self.fold.complete(&at).map_err(|source| self.fold_error(source))?;
        if self.plan.profile.completion == CompletionRule::Unrecorded {
            return Ok(Event::Completed { index: None });
        }
        self.mutations += 1;
        self.state_hash = self.fold.state_mut().digest();
        let record = Record::Control(Control::Complete { state_hash: self.state_hash, at });
        let index = self.keep(&record, sink)?;
        // The step list is exhausted, so completion is the one record the cursor still takes.
        let _ = self.cursor.complete();
        Ok(Event::Completed { index: Some(index) })
    }

    /// Seals a record behind the head and keeps it.
    fn keep(&mut self, record: &Record, sink: &mut dyn Sink) -> Result<RecordIndex, RunError> {
        let sealed = record.seal(Some(self.head));
        let index = self.head.records.next_index();
        sink.append(&sealed).map_err(|source| RunError::Sink { index, source })?;
        self.head = sealed.head();
        Ok(index)
    }

    fn next_time(&self) -> Result<Timestamp, RunError> {
        Ok(self.plan.clock.at(self.mutations + 1)?)
    }

    fn fold_error(&self, source: FoldError) -> RunError {
        RunError::Fold { index: self.head.records.next_index(), source }
    }
}
