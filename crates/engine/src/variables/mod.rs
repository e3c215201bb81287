//! Runs of variables: no plan, driven from outside. Each accepted operation on variables is one step of the journal.
//!
//! A problem pins such a run by `settings.skill`, so its header binds the program. A step is called `vars.<action>`;
//! its output is the event, which [`Workspace`] folds. `State::apply` applies the event under the artifact `vars`, as
//! for any other run. The journal is therefore enough to rebuild every variable at every moment.
//!
//! A record has the run's logical time, as in every run. The event in it has the time of the caller, which is an input:
//! it is recorded, never goes back, and a replay reads it. When every task of the run has ended, the run ends, too: a
//! completion, or the step `vars.end` that failed.

mod end;
mod event;
mod snapshot;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Lenient, Object, Value};
use hence_journal::{Control, Lines, RecordIndex, Sealed};
use hence_state::{Finding, Findings, ProblemSpec, StepResult};
use hence_variables::{
    Call, Change, Decision, Event, Files, Init, Op, Refusal, Reply, SpillFile, StateId, Timestamp as Moment,
    Workspace, apply, decide,
};

pub use end::VARIABLES_END_STEP;
use end::{End, check_end};
pub(crate) use event::VariablesJudge;
pub use event::events;
use event::{NoEvent, OPERATIONS, event_of, input_of, step_name};
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
    reasons: Reasons,
}

/// The reasons why tasks failed or were cancelled, by state.
type Reasons = BTreeMap<StateId, Arc<str>>;

/// Applies an event, which is not earlier than the one before, in whichever state that was.
fn follow(workspace: &mut Workspace, reasons: &mut Reasons, event: &Event) -> Result<(), String> {
    if let Some(last) = workspace.last_moment().filter(|last| *last > event.at) {
        return Err(format!("time goes back from {last} to {}", event.at));
    }
    apply(workspace, event).map_err(|error| error.to_string())?;
    for change in &event.changes {
        if let Change::Status { reason: Some(reason), .. } = change {
            reasons.insert(event.state, reason.clone());
        }
    }
    Ok(())
}

impl Variables {
    /// Makes the program of a request, at the beginning of a run.
    ///
    /// # Errors
    /// [`Findings`]: everything wrong with the request; in particular a problem that does not pin
    /// [`VARIABLES_SKILL`].
    pub fn new(request: &Request) -> Result<Self, Findings> {
        let (plan, workspace) = (plan::plan_variables(request)?, Workspace::new());
        Ok(Self { plan, workspace, first: None, reasons: Reasons::new() })
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

    fn apply(&mut self, event: &Event) -> Result<(), String> {
        follow(&mut self.workspace, &mut self.reasons, event)?;
        self.first = self.first.or(Some(event.state));
        Ok(())
    }

    /// Returns how the run ends, once every task that lives in it has ended.
    fn end(&self) -> Option<End> {
        End::of(&self.workspace, &self.reasons)
    }

    /// Returns the call with the id of the state it makes: it follows from the run and the position in it, so that no two
    /// runs make the same one.
    fn named<'c>(&self, call: &'c Call) -> Cow<'c, Call> {
        match call {
            Call::Init(init) if init.state_id.is_none() => {
                let id = StateId::of_run(self.problem().id(), &self.workspace);
                Cow::Owned(Call::Init(Init { state_id: Some(id.to_string().into()), ..init.clone() }))
            }
            other => Cow::Borrowed(other),
        }
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
        if &**step.record.result.step() == VARIABLES_END_STEP {
            check_end(self.end().as_ref(), &step.record.result).map_err(RecordMismatch::flow)?;
            return Ok(book.replay_step(ARTIFACT, step.record)?);
        }
        let event = event_of(&step.record.result, step.blobs).map_err(|error| match error {
            NoEvent::Blob(error) => RecordMismatch::Blob(error),
            NoEvent::Invalid(reason) => RecordMismatch::Flow(reason),
        })?;
        self.apply(&event).map_err(RecordMismatch::flow)?;
        Ok(book.replay_step(ARTIFACT, step.record)?)
    }

    fn apply_control(
        &mut self,
        _: &mut Book<'_>,
        control: &Control,
        _: &dyn Blobs,
    ) -> Result<(), RecordMismatch> {
        match (control, self.end()) {
            (Control::Complete { .. }, Some(End::Completed)) => Ok(()),
            (Control::Complete { .. }, _) => Err(RecordMismatch::flow("a task has not completed")),
            _ => Err(RecordMismatch::flow("a run of variables has steps and a completion only")),
        }
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

    fn believed(&self, _: &Event) -> Vec<String> {
        vec![OPERATIONS.to_owned()]
    }

    fn replay<'g>(
        mut run: Run<'g, Self>,
        recorded: &BTreeMap<RecordIndex, Event>,
        until: Option<RecordIndex>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, Self>, RunError> {
        while let Some(event) = recorded.get(&run.next_index()).filter(|_| until != Some(run.next_index())) {
            run.append(event, sink)?;
        }
        if until == Some(run.next_index()) {
            return Ok(Driven::Paused(run, Pause::Stopped));
        }
        match run.append_end(sink)? {
            true => Ok(Driven::Finished(run)),
            false => Ok(Driven::Paused(run, Pause::Stopped)),
        }
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

    /// Returns the time of the last event; no later event may be earlier.
    pub fn last_moment(&self) -> Option<Moment> {
        self.workspace().last_moment()
    }

    /// Returns the logical time of the next record: the time for a caller that has no clock.
    ///
    /// # Errors
    /// [`RunError`] when the time is outside the calendar.
    pub fn next_moment(&self) -> Result<Moment, RunError> {
        let logical = self.book().next_time()?.as_str().parse();
        let logical = logical.map_err(|source: hence_variables::InvalidTimestamp| RunError::Unfit {
            index: self.next_index(),
            source: source.into(),
        })?;
        Ok(self.last_moment().map_or(logical, |last| last.max(logical)))
    }

    /// Performs a call at the caller's time, which is recorded. A time before the last event's counts as that time: time
    /// does not go back. An accepted call is durable, large values first, before this returns; a refused one changes
    /// nothing, except that expired variables are removed. A call that ends the last task also ends the run.
    ///
    /// # Errors
    /// [`RunError`] when something could not be stored. The run is then dropped: its journal is valid, and loading it
    /// again shows whether the record was appended.
    pub fn call(
        mut self,
        call: &Call,
        now: Moment,
        files: &mut dyn VariableFiles,
        sink: &mut dyn Sink,
    ) -> Result<(Self, Result<Reply, Refusal>), RunError> {
        // A process that died after the last event of a run left its end to the next one; a rollback may still come first.
        if !matches!(call, Call::On { op: Op::Rollback(_), .. }) {
            self.append_end(sink)?;
        }
        let now = self.last_moment().map_or(now, |last| last.max(now));
        let call = self.program().named(call);
        if self.has_ended() {
            let reply = self.call_after_end(&call, now, files);
            return Ok((self, reply));
        }
        loop {
            let readable: &dyn Files = files;
            match decide(self.workspace(), &call, now, readable) {
                Err(refusal) => return Ok((self, Err(refusal))),
                Ok(Decision::ExpireFirst(event)) => self.append(&event, sink)?,
                Ok(Decision::Accept(accepted)) => {
                    for spill in &accepted.spills {
                        files.store(spill).map_err(|source| self.sink_error(source))?;
                    }
                    if let Some(event) = &accepted.event {
                        let published = files.publish(self.workspace(), event);
                        published.map_err(|source| self.sink_error(source))?;
                        self.append(event, sink)?;
                        self.append_end(sink)?;
                    }
                    return Ok((self, Ok(accepted.reply)));
                }
            }
        }
    }

    /// Answers a call to a run that has ended. Reading is allowed and is not counted; nothing else happens any more.
    fn call_after_end(&self, call: &Call, now: Moment, files: &dyn Files) -> Result<Reply, Refusal> {
        let mut workspace = self.workspace().clone();
        loop {
            match decide(&workspace, call, now, files)? {
                Decision::ExpireFirst(event) => {
                    // An event that was decided on a workspace applies to that workspace.
                    let applied = apply(&mut workspace, &event);
                    debug_assert!(applied.is_ok(), "{applied:?}");
                    if applied.is_err() {
                        return Err(Refusal::RunEnded { status: self.ended_as() });
                    }
                }
                Decision::Accept(accepted) if accepted.event.as_ref().is_none_or(Event::is_read) => {
                    return Ok(accepted.reply);
                }
                Decision::Accept(_) => return Err(Refusal::RunEnded { status: self.ended_as() }),
            }
        }
    }

    fn ended_as(&self) -> &'static str {
        self.state().status().as_str()
    }

    /// Appends an event that another run recorded at the same position.
    ///
    /// # Errors
    /// [`RunError`] when the event does not follow.
    pub fn carry(&mut self, event: &Event, sink: &mut dyn Sink) -> Result<(), RunError> {
        self.append(event, sink)
    }

    /// Applies an event to variables and state, and appends its record.
    fn append(&mut self, event: &Event, sink: &mut dyn Sink) -> Result<(), RunError> {
        let index = self.next_index();
        let (program, book) = self.parts();
        let (started_at, at) = book.next_times()?;
        let outcome = book.store(Canonical::of(&event.to_value()), sink)?;
        let result = StepResult::new(step_name(event.action), &input_of(event), started_at, at, outcome);
        program.apply(event).map_err(|source| RunError::Unfit { index, source: source.into() })?;
        book.record(ARTIFACT, result, sink)?;
        Ok(())
    }

    /// Appends the end of the run if every task has ended. Returns whether the run has ended.
    fn append_end(&mut self, sink: &mut dyn Sink) -> Result<bool, RunError> {
        let (program, book) = self.parts();
        let end = program.end().filter(|_| !program.has_ended(book));
        match end {
            None => {}
            Some(End::Completed) => {
                book.complete(sink)?;
            }
            Some(End::Failed(errors)) => {
                book.record_failed_end(ARTIFACT, VARIABLES_END_STEP, errors, sink)?;
            }
        }
        Ok(self.has_ended())
    }

    fn sink_error(&self, source: SinkError) -> RunError {
        BookError::Sink { index: self.next_index(), source }.into()
    }
}
