//! Runs of variables: no plan, driven from outside. Each accepted operation on variables is one step of the journal.
//!
//! A problem pins such a run by `settings.skill`, so its header binds the program. A step is called `vars.<action>`;
//! its output is the event, which [`Workspace`] folds. `State::apply` applies the event under the artifact `vars`, as
//! for any other run. The journal is therefore enough to rebuild every variable at every moment.

mod event;
mod snapshot;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Lenient, Object, Value};
use hence_journal::{Control, Lines, RecordIndex, Sealed};
use hence_state::{Finding, Findings, ProblemSpec, StepResult, Timestamp};
use hence_variables::{
    Call, Decision, Event, Files, Refusal, Reply, SpillFile, StateId, Timestamp as Moment, Workspace, apply,
    decide,
};

pub(crate) use event::VariablesJudge;
pub use event::events;
use event::{NoEvent, event_of, input_of, step_name};
pub use snapshot::VariablesSnapshot;

use crate::Request;
use crate::blob::Blobs;
use crate::book::{Book, BookError};
use crate::plan::{self, Plan};
use crate::program::{Program, RecordMismatch, RecordedStep};
use crate::replay::request_of_journal;
use crate::run::{Driven, Pause, ResumeError, Run, RunError};
use crate::sink::{Sink, SinkError};

/// The skill that a problem pins for a run of variables.
pub const VARIABLES_SKILL: &str = "variables";
/// The only version of [`VARIABLES_SKILL`].
pub const VARIABLES_SKILL_VERSION: &str = "1.0.0";
/// The artifact of every event.
pub(crate) const ARTIFACT: &str = "vars";
/// The prefix of every step's name.
pub(crate) const STEP_PREFIX: &str = "vars.";

/// A run of variables. It has no policies, so it borrows no gate.
pub type VariablesRun = Run<'static, Variables>;

/// The files of variables: large values that a run stores, and files that others write.
pub trait VariableFiles: Files {
    /// Stores a large value durably. It is named by its digest, so storing it twice changes nothing.
    ///
    /// # Errors
    /// [`SinkError`]; the event that refers to the value is then never recorded.
    fn store(&mut self, spill: &SpillFile) -> Result<(), SinkError>;

    /// Publishes the changes of an event to the scopes that other runs share, durably, before this run records the
    /// event. After a crash between the two, the scopes have the change and this run reads it from them.
    ///
    /// # Errors
    /// [`SinkError`]; the event is then never recorded.
    fn publish(&mut self, workspace: &Workspace, event: &Event) -> Result<(), SinkError> {
        let _ = (workspace, event);
        Ok(())
    }
}

/// Makes the problem of a run of variables from its id, its time of creation and its prompt.
pub fn variables_problem(id: &str, created_at: &str, prompt: &str) -> Value {
    let object = |members: &[(&str, Value)]| -> Value {
        members.iter().map(|(key, value)| (*key, value.clone())).collect::<Object>().into()
    };
    let skill = object(&[("id", VARIABLES_SKILL.into()), ("version", VARIABLES_SKILL_VERSION.into())]);
    object(&[
        ("version", "1.0.0".into()),
        ("id", id.into()),
        ("created_at", created_at.into()),
        ("inputs", object(&[("prompt", prompt.into())])),
        ("settings", object(&[("skill", skill)])),
    ])
}

/// Checks that a problem pins the variables skill in the version this engine supports.
pub(crate) fn check_pin(problem: &ProblemSpec) -> Result<(), Finding> {
    let pin = problem.canonical().value().get("settings").and_then(|settings| settings.get("skill"));
    for (key, expected) in [("id", VARIABLES_SKILL), ("version", VARIABLES_SKILL_VERSION)] {
        let found = pin.and_then(|pin| pin.get(key));
        if found.and_then(Value::as_str) != Some(expected) {
            let found = found.map_or_else(|| "nothing".to_owned(), Value::to_string);
            let message = format!("expected {expected:?}, found {found}");
            return Err(plan::policy_finding(&["settings", "skill", key], message));
        }
    }
    Ok(())
}

/// The program of a run of variables at one position.
#[derive(Clone)]
pub struct Variables {
    plan: Plan,
    workspace: Workspace,
    /// The state of the first event: the default when a caller names none.
    first: Option<StateId>,
}

impl Variables {
    /// Makes the program of a request, at the beginning of a run.
    ///
    /// # Errors
    /// [`Findings`]: everything wrong with the request; in particular a problem that does not pin
    /// [`VARIABLES_SKILL`].
    pub fn new(request: &Request) -> Result<Self, Findings> {
        Ok(Self { plan: plan::plan_variables(request)?, workspace: Workspace::new(), first: None })
    }

    /// Makes the program of a journal, at the beginning of its run.
    ///
    /// # Errors
    /// [`ResumeError`] when the journal has no header or the problem is refused.
    pub fn of_journal(journal: &[u8], problem: &Lenient) -> Result<Self, ResumeError> {
        let request = Request { times: None, ..request_of_journal(journal, problem)? };
        Ok(Self::new(&request)?)
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Arc<ProblemSpec> {
        self.plan.problem()
    }

    fn apply(&mut self, event: &Event) -> Result<(), hence_variables::ApplyError> {
        apply(&mut self.workspace, event)?;
        self.first = self.first.or(Some(event.state));
        Ok(())
    }
}

impl Program for Variables {
    /// Variables have checkpoints of their own, which are steps.
    type Snapshot = ();
    type Recorded = Event;

    fn open<'g>(&self) -> Result<(Book<'g>, Sealed), RunError> {
        Ok(self.plan.book()?)
    }

    fn apply_step(&mut self, book: &mut Book<'_>, step: &RecordedStep<'_>) -> Result<(), RecordMismatch> {
        let event = event_of(&step.record.result, step.blobs).map_err(|error| match error {
            NoEvent::Blob(error) => RecordMismatch::Blob(error),
            NoEvent::Invalid(reason) => RecordMismatch::Flow(reason),
        })?;
        self.apply(&event).map_err(RecordMismatch::flow)?;
        Ok(book.replay_step(ARTIFACT, step.record)?)
    }

    fn apply_control(&mut self, _: &mut Book<'_>, _: &Control, _: &dyn Blobs) -> Result<(), RecordMismatch> {
        Err(RecordMismatch::flow("a run of variables has steps only"))
    }

    fn snapshot(&self) {}

    fn restore(&mut self, (): &()) {}

    fn has_checkpoints() -> bool {
        false
    }

    fn offer_again(&mut self, _: RecordIndex) {}

    fn recorded(&self, result: &StepResult, blobs: &dyn Blobs) -> Result<Option<Event>, RecordMismatch> {
        match event_of(result, blobs) {
            Ok(event) => Ok(Some(event)),
            Err(NoEvent::Blob(error)) => Err(error.into()),
            // A replay ends before a step that is not an event; the comparison of bytes then reports that step.
            Err(NoEvent::Invalid(_)) => Ok(None),
        }
    }

    fn replay<'g>(
        mut run: Run<'g, Self>,
        recorded: &BTreeMap<RecordIndex, Event>,
        until: Option<RecordIndex>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, Self>, RunError> {
        while let Some(event) = recorded.get(&run.next_index()).filter(|_| until != Some(run.next_index())) {
            let at = run.book().next_time()?;
            run.append(event, at, sink)?;
        }
        Ok(Driven::Paused(run, Pause::Stopped))
    }
}

impl<'g> Run<'g, Variables> {
    /// Reads a run of variables back from its journal.
    ///
    /// # Errors
    /// [`ResumeError`] with the first record that does not follow. The journal is only read.
    pub fn load(journal: &[u8], problem: &Lenient, blobs: &dyn Blobs) -> Result<Self, ResumeError> {
        Self::resume(Variables::of_journal(journal, problem)?, journal, blobs)
    }

    /// Reads a run of variables back up to the record `last`: its variables at that time.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn load_until(
        journal: &[u8],
        problem: &Lenient,
        blobs: &dyn Blobs,
        last: RecordIndex,
    ) -> Result<Self, ResumeError> {
        // Later records, valid or damaged, do not affect the variables at that time.
        let end = Lines::of(journal).offset(last.next()).unwrap_or(journal.len());
        Self::load(journal.get(..end).unwrap_or(journal), problem, blobs)
    }

    /// Returns the variables.
    pub fn workspace(&self) -> &Workspace {
        &self.program().workspace
    }

    /// Returns the state of the first event.
    pub fn first_state(&self) -> Option<StateId> {
        self.program().first
    }

    /// Returns the time of the run's clock: the moment of the last record.
    ///
    /// # Errors
    /// [`RunError`] when the time is outside the calendar.
    pub fn now(&self) -> Result<Moment, RunError> {
        self.moment(&self.book().last_time()?)
    }

    /// Performs a call. An accepted call is durable, large values first, before this returns; a refused one changes
    /// nothing, except that expired variables are removed.
    ///
    /// # Errors
    /// [`RunError`] when something could not be stored. The run is then dropped: its journal is valid, and loading it
    /// again shows whether the record was appended.
    pub fn call(
        mut self,
        call: &Call,
        files: &mut dyn VariableFiles,
        sink: &mut dyn Sink,
    ) -> Result<(Self, Result<Reply, Refusal>), RunError> {
        loop {
            let at = self.book().next_time()?;
            let readable: &dyn Files = files;
            match decide(self.workspace(), call, self.moment(&at)?, readable) {
                Err(refusal) => return Ok((self, Err(refusal))),
                Ok(Decision::ExpireFirst(event)) => self.append(&event, at, sink)?,
                Ok(Decision::Accept(accepted)) => {
                    for spill in &accepted.spills {
                        files.store(spill).map_err(|source| self.sink_error(source))?;
                    }
                    if let Some(event) = &accepted.event {
                        let published = files.publish(self.workspace(), event);
                        published.map_err(|source| self.sink_error(source))?;
                        self.append(event, at, sink)?;
                    }
                    return Ok((self, Ok(accepted.reply)));
                }
            }
        }
    }

    /// Appends an event that another run recorded at the same position.
    ///
    /// # Errors
    /// [`RunError`] when the event does not follow, or its time is not the time of this run's clock.
    pub fn carry(&mut self, event: &Event, sink: &mut dyn Sink) -> Result<(), RunError> {
        let at = self.book().next_time()?;
        let now = self.moment(&at)?;
        if now != event.at {
            let source = format!("the event is of {}, the clock shows {now}", event.at).into();
            return Err(RunError::Unfit { index: self.next_index(), source });
        }
        self.append(event, at, sink)
    }

    /// Applies an event to variables and state, and appends its record.
    fn append(&mut self, event: &Event, at: Timestamp, sink: &mut dyn Sink) -> Result<(), RunError> {
        let index = self.next_index();
        let (program, book) = self.parts();
        let started_at = book.state().metadata().updated_at.clone();
        let outcome = book.store(Canonical::of(&event.to_value()), sink)?;
        let result = StepResult::new(step_name(event.action), &input_of(event), started_at, at, outcome);
        program.apply(event).map_err(|source| RunError::Unfit { index, source: source.into() })?;
        book.record(ARTIFACT, result, sink)?;
        Ok(())
    }

    fn sink_error(&self, source: SinkError) -> RunError {
        BookError::Sink { index: self.next_index(), source }.into()
    }

    fn moment(&self, at: &Timestamp) -> Result<Moment, RunError> {
        let parsed = at.as_str().parse();
        parsed.map_err(|source: hence_variables::InvalidTimestamp| RunError::Unfit {
            index: self.next_index(),
            source: source.into(),
        })
    }
}
