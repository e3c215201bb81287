//! A run: one record after the other, each kept before the next is thought of.

mod condition;
mod decide;
mod execute;
mod mark;
mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;
use hence_journal::{Head, LoopAction, RecordIndex, Sealed};
use hence_state::{CompletionRule, ReasoningState, StepStatus};

pub use resume::{ResumeError, Resumed};

use crate::blob::BlobError;
use crate::book::{Book, BookError};
use crate::cursor::Cursor;
use crate::gate::{Blocked, Role};
use crate::history::Recorded;
use crate::plan::Plan;
use crate::sink::Sink;
use crate::step::Tally;

/// A run under way. Advancing consumes it, so that a run whose record could not be kept cannot go on.
pub struct Run {
    plan: Plan,
    book: Book,
    cursor: Cursor,
    tally: Tally,
    /// Outcomes a replay reads instead of asking the world again, by record.
    recorded: BTreeMap<RecordIndex, Recorded>,
    /// Where the run stood behind the records that something returns to.
    kept: BTreeMap<RecordIndex, (Cursor, Tally)>,
    /// What the step that policies blocked last gave.
    blocked: Option<Recorded>,
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
    /// Policies blocked a step, or the completion; the run stands.
    Blocked(Blocked),
    /// Policies, or what they say of the whole run, were recorded.
    Policies {
        /// The record.
        index: RecordIndex,
        /// What it holds.
        role: Role,
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
    /// Policies block what comes next. Advancing again tries again.
    Blocked(Box<Run>, Blocked),
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
    /// A record could not be made or kept.
    #[error(transparent)]
    Book(#[from] BookError),
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
    /// What a step calls is not there now.
    #[error("step {step} cannot be done now: {message}")]
    Stopped {
        /// The step.
        step: Arc<str>,
        /// Why.
        message: String,
    },
    /// A step waits for somebody to say something.
    #[error("step {step} waits: {message}")]
    Waiting {
        /// The step.
        step: Arc<str>,
        /// What for.
        message: String,
    },
    /// A large value could not be read back.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// What a replay wrote could not be read back.
    #[error("a replay wrote what cannot be read back: {0}")]
    Reopened(String),
    /// Policies block what comes next. Its record is kept.
    #[error(transparent)]
    Blocked(#[from] Blocked),
}

impl Run {
    /// Starts a run and returns its header, which the caller keeps before advancing.
    ///
    /// # Errors
    /// [`RunError::Book`] when the clock has not even a first time.
    pub fn start(plan: Plan) -> Result<(Self, Sealed), RunError> {
        let (book, header) = plan.book()?;
        let names = plan.steps.iter().map(|step| Arc::from(step.name())).collect();
        let cursor = Cursor::new(names, plan.profile);
        Ok((
            Self {
                plan,
                book,
                cursor,
                tally: Tally::default(),
                recorded: BTreeMap::new(),
                kept: BTreeMap::new(),
                blocked: None,
            },
            header,
        ))
    }

    /// Returns the state so far.
    pub fn state(&self) -> &ReasoningState {
        self.book.state()
    }

    /// Returns where the journal ends.
    pub fn head(&self) -> Head {
        self.book.head()
    }

    /// Returns the record that comes next.
    pub(crate) fn next_index(&self) -> RecordIndex {
        self.book.next_index()
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Records the policies the run goes by from here on: the pinned ones at its beginning, others where it is blocked.
    ///
    /// # Errors
    /// [`RunError::Book`] when they cannot be enforced or may not come here; nothing is kept then.
    pub fn install_policies(
        &mut self,
        policies: &Value,
        sink: &mut dyn Sink,
    ) -> Result<RecordIndex, RunError> {
        let index = self.book.install_policies(policies, sink)?;
        self.judge_again(index.next());
        Ok(index)
    }

    /// What the blocked step gave is judged again by the policies before record `index`; nothing is called twice for them.
    fn judge_again(&mut self, index: RecordIndex) {
        if let Some(blocked) = self.blocked.take() {
            self.recorded.insert(index, blocked);
        }
    }

    /// Returns where the run stands with its policies.
    pub fn policy_state(&self) -> &crate::PolicyState {
        self.book.policy_state()
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
        if let Event::Blocked(blocked) = event {
            return Ok(Advanced::Blocked(Box::new(self), blocked));
        }
        // A loop still decides after the last step, and completion still follows the last decision.
        if self.is_going() {
            return Ok(Advanced::Going(Box::new(self), event));
        }
        Ok(Advanced::Ended(self.into_finished(), event))
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
                Advanced::Blocked(_, blocked) => {
                    observe(&Event::Blocked(blocked.clone()));
                    return Err(blocked.into());
                }
                Advanced::Ended(finished, event) => {
                    observe(&event);
                    return Ok(finished);
                }
            }
        }
    }

    pub(crate) fn read_outcomes_from(&mut self, recorded: BTreeMap<RecordIndex, Recorded>) {
        self.recorded = recorded;
    }

    pub(crate) fn is_going(&self) -> bool {
        self.decision_is_due() || self.cursor.next_step().is_some() || self.completion_is_due()
    }

    fn decision_is_due(&self) -> bool {
        let end_step = self.plan.loop_settings().map(|settings| &*settings.end_step);
        end_step.is_some() && self.cursor.just_executed() == end_step
    }

    /// Completion is a record in the strict profile; in the compat profile it only shows in the returned state.
    fn completion_is_due(&self) -> bool {
        self.cursor.all_steps_done() && self.state().status() == hence_state::Status::Running
    }

    fn complete(&mut self, sink: &mut dyn Sink) -> Result<Event, RunError> {
        if self.plan.profile.completion == CompletionRule::Unrecorded {
            self.book.complete_unrecorded()?;
            return Ok(Event::Completed { index: None });
        }
        if self.book.policy_state().needs_verdicts() {
            let index = self.book.next_index();
            return Ok(match self.book.final_verdict(sink)? {
                Some(blocked) => Event::Blocked(blocked),
                None => Event::Policies { index, role: Role::Verdicts },
            });
        }
        let index = self.book.complete(sink)?;
        // The step list is exhausted, so completion is the one record the cursor still takes.
        let _ = self.cursor.complete();
        Ok(Event::Completed { index: Some(index) })
    }

    fn into_finished(self) -> Finished {
        let head = self.book.head();
        Finished { state: self.book.into_state(), head }
    }
}
