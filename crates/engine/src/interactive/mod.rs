//! Interactive runs: no plan, driven from outside. Each accepted operation on variables is one step of the journal.
//!
//! A problem pins such a run by `settings.skill`, so its header binds the program. A step is called `vars.<action>`;
//! its output is the event, which [`Workspace`] folds, and the same `State::apply` as for any other run takes it in under
//! the artifact `vars`. Whoever holds the journal can therefore rebuild every variable at every moment.

mod events;
mod follow;
mod load;
mod pin;
mod replay;

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_journal::{Head, RecordIndex, Sealed};
use hence_state::{Findings, ProblemSpec, ReasoningState, StepResult, Timestamp};
use hence_variables::{
    Action, Call, Decision, Event, Files, Name, Refusal, Reply, SpillFile, StateId, Timestamp as Moment,
    Workspace, apply, decide,
};

pub use events::events;
pub(crate) use follow::InteractiveProgram;
pub use pin::{VARIABLES_SKILL, VARIABLES_SKILL_VERSION, is_pinned, pins_document, variables_problem};
pub(crate) use pin::{driven, reads_like_one};
pub(crate) use replay::replayed;

use crate::book::{Book, BookError};
use crate::plan;
use crate::sink::{Sink, SinkError};
use crate::{Request, RunError};

/// The artifact that every event belongs to.
pub(crate) const ARTIFACT: &str = "vars";
/// What the name of every step begins with.
pub(crate) const STEP_PREFIX: &str = "vars.";

/// Where the files of variables are: large values that a run keeps, and files that others write.
pub trait VariableFiles: Files {
    /// Keeps a large value durably. It is named by its digest, so keeping it twice is no change.
    ///
    /// # Errors
    /// Why it could not; the event that refers to it is then never recorded.
    fn keep(&mut self, spill: &SpillFile) -> Result<(), SinkError>;

    /// Makes what an event changes in layers that other runs see known to them, durably. It is recorded here behind
    /// that: a crash between the two leaves the change with the others, and this run takes it in as theirs.
    ///
    /// # Errors
    /// Why it could not; the event is then never recorded.
    fn publish(&mut self, workspace: &Workspace, event: &Event) -> Result<(), SinkError> {
        let _ = (workspace, event);
        Ok(())
    }
}

/// An interactive run, read back as far as its journal goes.
pub struct Interactive {
    problem: Arc<ProblemSpec>,
    book: Book,
    workspace: Workspace,
    /// The state of the first event: the one meant when none is named.
    first: Option<StateId>,
    /// Who wants to know when a task completes. Each is asked once.
    handlers: Vec<Handler>,
}

/// Something to be done once, when a task completes.
type Handler = Box<dyn FnOnce(&Completed) + Send>;

/// A task that has just completed: its `Final` is durable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completed {
    /// The state.
    pub state: StateId,
    /// Its `Final`, or a reference to it when it is large.
    pub answer: Value,
    /// The record that says so.
    pub record: RecordIndex,
}

impl Interactive {
    /// Starts a run and returns its header, which the caller keeps before calling anything.
    ///
    /// # Errors
    /// [`Findings`]: everything wrong with the request; in particular a problem that does not pin
    /// [`VARIABLES_SKILL`].
    pub fn start(request: &Request) -> Result<(Self, Sealed), Findings> {
        let plan = plan::plan_interactive(request)?;
        let problem = plan.problem.clone();
        let (book, header) = plan.book().map_err(|error| plan::clock_findings(&error))?;
        Ok((Self { problem, book, workspace: Workspace::new(), first: None, handlers: Vec::new() }, header))
    }

    /// Returns the variables.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Returns the state that was there first.
    pub fn first_state(&self) -> Option<StateId> {
        self.first
    }

    /// Returns where the journal ends.
    pub fn head(&self) -> Head {
        self.book.head()
    }

    /// Returns the state, whose artifacts hold the events.
    pub fn state(&self) -> &ReasoningState {
        self.book.state()
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Arc<ProblemSpec> {
        &self.problem
    }

    /// Returns what the run's clock shows: the moment of the last record.
    ///
    /// # Errors
    /// [`RunError::Book`] when that lies outside the calendar.
    pub fn now(&self) -> Result<Moment, RunError> {
        self.moment(&self.book.last_time()?)
    }

    /// Asks for `handler` to be called when a task of this run next completes: once, by the call that completes it,
    /// after its record is durable. Reading a run back completes nothing anew.
    pub fn on_completion(&mut self, handler: impl FnOnce(&Completed) + Send + 'static) {
        self.handlers.push(Box::new(handler));
    }

    /// Performs a call. An accepted one is durable, large values first, before it is answered; a refused one changes
    /// nothing but the end of what was past its time.
    ///
    /// # Errors
    /// [`RunError`] when something could not be kept. The run is then given up: what is kept is whole, and loading it
    /// again tells whether the record is there.
    pub fn call(
        mut self,
        call: &Call,
        ground: &mut dyn VariableFiles,
        sink: &mut dyn Sink,
    ) -> Result<(Self, Result<Reply, Refusal>), RunError> {
        loop {
            let at = self.book.next_time()?;
            let files: &dyn Files = ground;
            match decide(&self.workspace, call, self.moment(&at)?, files) {
                Err(refusal) => return Ok((self, Err(refusal))),
                Ok(Decision::ExpireFirst(event)) => self.record(&event, at, sink)?,
                Ok(Decision::Accept(accepted)) => {
                    for spill in &accepted.spills {
                        ground.keep(spill).map_err(|source| self.sink_error(source))?;
                    }
                    if let Some(event) = &accepted.event {
                        let published = ground.publish(&self.workspace, event);
                        published.map_err(|source| self.sink_error(source))?;
                        self.record(event, at, sink)?;
                        self.tell(event);
                    }
                    return Ok((self, Ok(accepted.reply)));
                }
            }
        }
    }

    /// Tells whoever asked that a task has completed.
    fn tell(&mut self, event: &Event) {
        if !event.completes() || self.handlers.is_empty() {
            return;
        }
        let answer = self.workspace.sight(event.state).and_then(|sight| sight.find(&Name::final_answer()));
        let completed = Completed {
            state: event.state,
            answer: answer.map(|found| found.variable.stored.shown()).unwrap_or_default(),
            record: RecordIndex::new(self.head().records.get().saturating_sub(1)),
        };
        self.handlers.drain(..).for_each(|handler| handler(&completed));
    }

    /// Takes an event into variables and state, seals its record and keeps it.
    fn record(&mut self, event: &Event, at: Timestamp, sink: &mut dyn Sink) -> Result<(), RunError> {
        let index = self.next_index();
        let started_at = self.book.state().metadata().updated_at.clone();
        let outcome = self.book.store(Canonical::of(&event.to_value()), sink)?;
        let result = StepResult::new(step_name(event.action), &input_of(event), started_at, at, outcome);
        apply(&mut self.workspace, event).map_err(|source| RunError::Variables { index, source })?;
        self.book.record(ARTIFACT, result, sink)?;
        self.first = self.first.or(Some(event.state));
        Ok(())
    }

    fn next_index(&self) -> RecordIndex {
        self.book.next_index()
    }

    fn sink_error(&self, source: SinkError) -> RunError {
        BookError::Sink { index: self.next_index(), source }.into()
    }

    fn moment(&self, at: &Timestamp) -> Result<Moment, RunError> {
        at.as_str().parse().map_err(|source| RunError::Moment { index: self.next_index(), source })
    }
}

/// Returns the name of the step that performs an action.
fn step_name(action: Action) -> String {
    format!("{STEP_PREFIX}{}", action.as_str())
}

/// Returns what a step was given, as far as its event tells: who was asked for what, and when.
fn input_of(event: &Event) -> Value {
    let members: [(&str, Value); 3] =
        [("action", event.action.as_str().into()), ("at", event.at.into()), ("state", event.state.into())];
    members.into_iter().collect::<Object>().into()
}
