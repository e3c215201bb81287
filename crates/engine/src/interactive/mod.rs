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

use hence_canon::{Canonical, Digest, Object, Value};
use hence_journal::{Fold, Head, Record, RecordIndex, Sealed, StepRecord};
use hence_state::{Findings, Outcome, ProblemSpec, ReasoningState, StepResult, Timestamp};
use hence_variables::{
    Action, Call, Decision, Event, Files, Refusal, Reply, SpillFile, StateId, Timestamp as Moment, Workspace,
    apply, decide,
};

pub use events::events;
pub(crate) use follow::InteractiveProgram;
pub use pin::{VARIABLES_SKILL, VARIABLES_SKILL_VERSION, variables_problem};
pub(crate) use pin::{driven, is_pinned, reads_like_one};
pub(crate) use replay::replayed;

use crate::blob::{self, INLINE_VALUE_BYTES_MAX};
use crate::plan::{self, Plan};
use crate::sink::{Sink, SinkError};
use crate::{Request, RunError};

/// The artifact that every event belongs to.
pub(crate) const ARTIFACT: &str = "vars";
/// What the name of every step begins with.
pub(crate) const STEP_PREFIX: &str = "vars.";

/// Where the files of variables are: large values that a run keeps, and files that others write.
pub trait Ground: Files {
    /// Keeps a large value durably. It is named by its digest, so keeping it twice is no change.
    ///
    /// # Errors
    /// Why it could not; the event that refers to it is then never recorded.
    fn keep(&mut self, spill: &SpillFile) -> Result<(), SinkError>;
}

/// An interactive run, read back as far as its journal goes.
pub struct Interactive {
    plan: Plan,
    fold: Fold,
    state_hash: Digest,
    head: Head,
    mutations: u64,
    workspace: Workspace,
    /// The state of the first event: the one meant when none is named.
    first: Option<StateId>,
}

impl Interactive {
    /// Starts a run and returns its header, which the caller keeps before calling anything.
    ///
    /// # Errors
    /// [`Findings`]: everything wrong with the request; in particular a problem that does not pin
    /// [`VARIABLES_SKILL`].
    pub fn start(request: &Request) -> Result<(Self, Sealed), Findings> {
        let plan = plan::plan_interactive(request)?;
        let mut header = plan.header().map_err(|error| plan::clock_findings(&error))?;
        let mut fold = Fold::new(&header, plan.problem.clone());
        header.initial_state_hash = fold.state_mut().digest();
        let state_hash = header.initial_state_hash;
        let sealed = Record::Header(header).seal(None);
        let head = sealed.head();
        Ok((
            Self { plan, fold, state_hash, head, mutations: 0, workspace: Workspace::new(), first: None },
            sealed,
        ))
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
        self.head
    }

    /// Returns the state, whose artifacts hold the events.
    pub fn state(&self) -> &ReasoningState {
        self.fold.state()
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Arc<ProblemSpec> {
        &self.plan.problem
    }

    /// Returns what the run's clock shows: the moment of the last record.
    ///
    /// # Errors
    /// [`RunError::Clock`] when that lies outside the calendar.
    pub fn now(&self) -> Result<Moment, RunError> {
        self.moment(&self.plan.clock.at(self.mutations)?)
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
        ground: &mut dyn Ground,
        sink: &mut dyn Sink,
    ) -> Result<(Self, Result<Reply, Refusal>), RunError> {
        loop {
            let at = self.plan.clock.at(self.mutations + 1)?;
            let files: &dyn Files = ground;
            match decide(&self.workspace, call, self.moment(&at)?, files) {
                Err(refusal) => return Ok((self, Err(refusal))),
                Ok(Decision::ExpireFirst(event)) => self.record(&event, at, sink)?,
                Ok(Decision::Accept(accepted)) => {
                    for spill in &accepted.spills {
                        ground.keep(spill).map_err(|source| self.sink_error(source))?;
                    }
                    if let Some(event) = &accepted.event {
                        self.record(event, at, sink)?;
                    }
                    return Ok((self, Ok(accepted.reply)));
                }
            }
        }
    }

    /// Takes an event into variables and state, seals its record and keeps it.
    fn record(&mut self, event: &Event, at: Timestamp, sink: &mut dyn Sink) -> Result<(), RunError> {
        let index = self.next_index();
        let started_at = self.fold.state().metadata().updated_at.clone();
        let output = Canonical::of(&event.to_value());
        let output = if output.bytes().len() > INLINE_VALUE_BYTES_MAX {
            sink.put_blob(&output).map_err(|source| self.sink_error(source))?;
            blob::reference(&output)
        } else {
            output
        };
        let name = step_name(event.action);
        let result = StepResult::new(name, &input_of(event), started_at, at, Outcome::Success(output));
        let (before, step_index) = (self.state_hash, self.fold.state().step_index());
        apply(&mut self.workspace, event).map_err(|source| RunError::Variables { index, source })?;
        self.fold.apply(ARTIFACT, &result).map_err(|source| RunError::Fold { index, source })?;
        self.state_hash = self.fold.state_mut().digest();
        self.mutations += 1;
        self.first = self.first.or(Some(event.state));
        let record = Record::Step(StepRecord {
            step_index,
            result,
            state_before_hash: before,
            state_after_hash: self.state_hash,
        });
        let sealed = record.seal(Some(self.head));
        sink.append(&sealed).map_err(|source| self.sink_error(source))?;
        self.head = sealed.head();
        Ok(())
    }

    fn next_index(&self) -> RecordIndex {
        self.head.records.next_index()
    }

    fn sink_error(&self, source: SinkError) -> RunError {
        RunError::Sink { index: self.next_index(), source }
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
