//! The built-in program: the steps of a routing policy in order, and at most one loop.

mod execute;
mod judge;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_journal::{Control, LoopAction, LoopControl, Record, RecordIndex, Sealed};
use hence_state::{CompletionRule, LoopLimitRule, Outcome, Status, StepIndex, StepResult, StepStatus};

pub(crate) use judge::ReasonJudge;

use crate::blob::{self, BlobError, Blobs};
use crate::book::Book;
use crate::cursor::Cursor;
use crate::gate::{Blocked, BlockedAt, POLICIES_STEP, Role, VERDICTS_STEP, attempt, was_started};
use crate::plan::Plan;
use crate::program::{Program, RecordMismatch, RecordedStep};
use crate::run::{Driven, Finished, Pause, Run, RunError, Waiting};
use crate::sink::Sink;
use crate::step::{Step, Tally};

/// The outcome of a step and the other members of its result, such as metrics.
#[derive(Clone)]
pub struct RecordedResult {
    outcome: Outcome,
    others: Object,
}

impl RecordedResult {
    fn of(result: &StepResult) -> Self {
        Self { outcome: result.outcome().clone(), others: result.others().clone() }
    }

    fn alone(outcome: Outcome) -> Self {
        Self { outcome, others: Object::new() }
    }
}

/// The built-in program at one position of a run.
#[derive(Clone)]
pub struct Reason {
    plan: Plan,
    cursor: Cursor,
    tally: Tally,
    /// Results that are read instead of computed, by record.
    recorded: BTreeMap<RecordIndex, RecordedResult>,
    /// The result of the step that policies blocked last, after it was executed.
    blocked: Option<(RecordedResult, Blocked)>,
}

/// A position of the built-in program.
pub struct ReasonSnapshot {
    cursor: Cursor,
    tally: Tally,
}

/// One record that was appended.
#[derive(Clone, Debug)]
pub enum Event {
    /// A step was executed.
    Step {
        /// The record.
        index: RecordIndex,
        /// The step.
        step: Arc<str>,
        /// Its status.
        status: StepStatus,
    },
    /// A loop decided.
    Decision {
        /// The record.
        index: RecordIndex,
        /// The decision.
        action: LoopAction,
        /// The iteration just finished.
        iteration: u64,
    },
    /// Policies blocked a step, or the completion.
    Blocked(Blocked),
    /// The verdicts of the policies were recorded.
    Verdicts {
        /// The record.
        index: RecordIndex,
    },
    /// The run completed.
    Completed {
        /// The record; the compat profile writes none.
        index: Option<RecordIndex>,
    },
}

impl Reason {
    /// Makes the program of a plan, at the beginning of a run.
    pub fn new(plan: Plan) -> Self {
        let names = plan.steps.iter().map(|step| Arc::from(step.name())).collect();
        let cursor = Cursor::new(names, plan.profile);
        Self { plan, cursor, tally: Tally::default(), recorded: BTreeMap::new(), blocked: None }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    fn due_step(&self) -> Option<&Arc<dyn Step>> {
        self.cursor.next_step().and_then(|at| self.plan.steps.get(at))
    }

    /// Returns the block of the step that is due, if the step has acted.
    fn blocked_deed(&self) -> Option<&Blocked> {
        let (_, blocked) = self.blocked.as_ref()?;
        self.due_step().filter(|step| step.deed().is_some()).map(|_| blocked)
    }

    /// Returns the step that is due when it has this name.
    fn due_step_named(&self, name: &str) -> Result<Arc<dyn Step>, RecordMismatch> {
        let due = self.due_step().filter(|step| !self.decision_is_due() && step.name() == name);
        due.cloned().ok_or_else(|| RecordMismatch::flow("another step was due"))
    }

    fn has_next(&self, book: &Book<'_>) -> bool {
        self.decision_is_due() || self.cursor.next_step().is_some() || self.completion_is_due(book)
    }

    fn decision_is_due(&self) -> bool {
        let end_step = self.plan.loop_settings().map(|settings| &*settings.end_step);
        end_step.is_some() && self.cursor.just_executed() == end_step
    }

    /// Returns whether only completion is left. The strict profile records it; in compat only the state shows it.
    fn completion_is_due(&self, book: &Book<'_>) -> bool {
        self.cursor.all_steps_done() && book.state().status() == Status::Running
    }

    /// Returns what the loop decides now; `None` without a loop.
    fn decision(&self, book: &Book<'_>, blobs: &dyn Blobs) -> Result<Option<LoopAction>, BlobError> {
        let Some(settings) = self.plan.loop_settings() else { return Ok(None) };
        let found = value_at(&settings.stop_condition.path, book, blobs)?;
        Ok(Some(if settings.stop_condition.is_met(found.as_ref()) {
            LoopAction::Stop
        } else if self.cursor.iteration() < settings.max_iterations {
            LoopAction::Repeat
        } else {
            LoopAction::MaxIterationsReached
        }))
    }

    /// Applies a decision to state and cursor and returns its record.
    fn settle(&mut self, book: &mut Book<'_>, action: LoopAction) -> Result<LoopControl, RunError> {
        let fails_here = action == LoopAction::MaxIterationsReached
            && self.plan.profile.loop_limit == LoopLimitRule::InControl;
        let at = if fails_here { Some(book.next_time()?) } else { None };
        if let Some(at) = &at {
            book.fail_in_decision(at)?;
        }
        let iteration = self.cursor.iteration();
        let (start_step, end_step, stop_condition) = match self.plan.loop_settings() {
            Some(settings) => (
                settings.start_step.clone(),
                settings.end_step.clone(),
                Value::from(&settings.stop_condition),
            ),
            // Only a plan with a loop decides.
            None => Default::default(),
        };
        let _ = self.cursor.decision(action, iteration, &start_step, &end_step);
        let state_hash = book.state_hash;
        Ok(LoopControl {
            action,
            loop_iteration: iteration,
            start_step,
            end_step,
            stop_condition,
            state_hash,
            at,
        })
    }

    /// Applies a result to state, cursor and tally: the same way for a new result and for a recorded one.
    fn apply(
        &mut self,
        book: &mut Book<'_>,
        key: &str,
        result: &StepResult,
        blobs: &dyn Blobs,
    ) -> Result<StepIndex, RunError> {
        let step_index = book.apply(key, result)?;
        self.blocked = None;
        if let Some(output) = result.outcome().output() {
            self.tally.note(key, output, blobs)?;
        }
        // The plan's own order was followed, or the caller has compared the name with it.
        let _ = self.cursor.step(result.step(), result.outcome().status());
        if self.plan.profile.loop_limit == LoopLimitRule::InStep
            && self.decision_is_due()
            && self.decision(book, blobs)? == Some(LoopAction::MaxIterationsReached)
        {
            book.exhaust_loop(result.finished_at())?;
        }
        Ok(step_index)
    }

    fn decide(&mut self, book: &mut Book<'_>, sink: &mut dyn Sink) -> Result<Event, RunError> {
        let action = self.decision(book, sink.blobs())?.unwrap_or(LoopAction::Stop);
        let control = self.settle(book, action)?;
        let (action, iteration) = (control.action, control.loop_iteration);
        let index = book.append(&Record::Control(Control::Loop(control)), sink)?;
        Ok(Event::Decision { index, action, iteration })
    }

    fn complete(&mut self, book: &mut Book<'_>, sink: &mut dyn Sink) -> Result<Event, RunError> {
        if self.plan.profile.completion == CompletionRule::Unrecorded {
            book.complete_unrecorded()?;
            return Ok(Event::Completed { index: None });
        }
        if book.policy_state().needs_verdicts() {
            let index = book.next_index();
            return Ok(match book.final_verdict(sink)? {
                Some(blocked) => Event::Blocked(blocked),
                None => Event::Verdicts { index },
            });
        }
        let index = book.complete(sink)?;
        // The step list is exhausted, so completion is the one record the cursor still accepts.
        let _ = self.cursor.complete();
        Ok(Event::Completed { index: Some(index) })
    }
}

impl Program for Reason {
    type Snapshot = ReasonSnapshot;
    type Recorded = RecordedResult;

    fn open<'g>(&self) -> Result<(Book<'g>, Sealed), RunError> {
        Ok(self.plan.book()?)
    }

    fn apply_step(&mut self, book: &mut Book<'_>, step: &RecordedStep<'_>) -> Result<(), RecordMismatch> {
        let (record, name) = (step.record, step.record.result.step());
        let key: Arc<str> = match (&**name, step.role) {
            (_, Role::Own) => {
                let due = self.due_step_named(name)?;
                self.apply(book, due.artifact_key(), &record.result, step.blobs).map_err(mismatch)?;
                book.state_hash = record.state_after_hash;
                return Ok(());
            }
            (POLICIES_STEP, _) => {
                self.offer_again(step.index.next());
                name.clone()
            }
            (VERDICTS_STEP, _) if !self.cursor.all_steps_done() => {
                return Err(RecordMismatch::flow("steps are left to run"));
            }
            (VERDICTS_STEP, _) => {
                self.blocked = None;
                name.clone()
            }
            (blocked, _) => {
                let due = self.due_step_named(blocked)?;
                let result = &record.result;
                self.blocked = was_started(result).then(|| {
                    let errors = match result.outcome() {
                        Outcome::Failed(errors) => errors.clone(),
                        Outcome::Success(_) | Outcome::Skipped => Vec::new(),
                    };
                    let at = BlockedAt::of(result);
                    let blocked = Blocked { index: step.index, step: name.clone(), errors, at };
                    (RecordedResult::of(&attempt(result)), blocked)
                });
                due.artifact_key().into()
            }
        };
        Ok(book.replay_step(&key, record)?)
    }

    fn apply_control(
        &mut self,
        book: &mut Book<'_>,
        control: &Control,
        blobs: &dyn Blobs,
    ) -> Result<(), RecordMismatch> {
        match control {
            Control::Loop(control) => {
                let action = self.decision(book, blobs)?;
                if !self.decision_is_due() || action != Some(control.action) {
                    return Err(RecordMismatch::flow("the loop decides otherwise"));
                }
                self.settle(book, control.action).map_err(mismatch)?;
                book.state_hash = control.state_hash;
            }
            Control::Complete { .. } if !self.cursor.all_steps_done() => {
                return Err(RecordMismatch::flow("steps are left to run"));
            }
            Control::Complete { .. } => {
                let _ = self.cursor.complete();
            }
            Control::Checkpoint(_) | Control::Rollback(_) => {}
        }
        Ok(())
    }

    fn snapshot(&self) -> Self::Snapshot {
        ReasonSnapshot { cursor: self.cursor.clone(), tally: self.tally.clone() }
    }

    fn restore(&mut self, snapshot: &Self::Snapshot) {
        (self.cursor, self.tally) = (snapshot.cursor.clone(), snapshot.tally.clone());
        self.blocked = None;
    }

    fn has_ended(&self, book: &Book<'_>) -> bool {
        !self.has_next(book) && matches!(book.state().status(), Status::Failed | Status::Completed)
    }

    fn offer_again(&mut self, next: RecordIndex) {
        if let Some((blocked, _)) = self.blocked.take() {
            self.recorded.insert(next, blocked);
        }
    }

    fn recorded(&self, result: &StepResult, _: &dyn Blobs) -> Result<Option<Self::Recorded>, RecordMismatch> {
        let step = self.plan.find_step(result.step());
        let is_read = step.is_some_and(|step| !step.is_recomputed(&self.plan.problem));
        Ok(is_read.then(|| RecordedResult::of(result)))
    }

    fn believed(&self, _: &Self::Recorded) -> Vec<String> {
        vec!["results that come from outside".to_owned()]
    }

    fn replay<'g>(
        mut run: Run<'g, Self>,
        recorded: &BTreeMap<RecordIndex, Self::Recorded>,
        until: Option<RecordIndex>,
        sink: &mut dyn Sink,
    ) -> Result<Driven<'g, Self>, RunError> {
        while !run.has_ended() && until != Some(run.next_index()) {
            let next = run.next_index();
            if let Some(result) = recorded.get(&next) {
                // A blocked result that is offered again comes before what the journal says.
                run.parts().0.recorded.entry(next).or_insert_with(|| result.clone());
            }
            if let Event::Blocked(blocked) = run.step(sink)? {
                return Ok(Driven::Blocked(run, blocked));
            }
            if !run.program().has_next(run.book()) {
                break;
            }
        }
        Ok(Driven::Finished(run))
    }
}

impl<'g> Run<'g, Reason> {
    /// Appends the next record: executes a step, decides a loop, or completes the run.
    ///
    /// # Errors
    /// [`RunError`]; what was appended before stays.
    pub fn step(&mut self, sink: &mut dyn Sink) -> Result<Event, RunError> {
        let (program, book) = self.parts();
        if program.decision_is_due() {
            program.decide(book, sink)
        } else if let Some(step) = program.due_step().cloned() {
            program.execute(book, &*step, sink)
        } else {
            program.complete(book, sink)
        }
    }

    /// Offers a result of another run to the next step: a step that is not deterministic reads it instead of executing.
    pub fn offer_result(&mut self, result: &StepResult) {
        let next = self.next_index();
        self.parts().0.recorded.insert(next, RecordedResult::of(&attempt(result)));
    }

    /// Drives the run as far as it goes, and calls `observe` after each record.
    ///
    /// # Errors
    /// [`RunError`]; what was appended before stays.
    pub fn drive(
        mut self,
        sink: &mut dyn Sink,
        mut observe: impl FnMut(&Event),
    ) -> Result<Driven<'g, Reason>, RunError> {
        // What was executed is not executed again because a policy blocks it: only other policies can let it through.
        if let Some(blocked) = self.program().blocked_deed() {
            let blocked = blocked.clone();
            return Ok(Driven::Blocked(self, blocked));
        }
        loop {
            let event = match self.step(sink) {
                Ok(event) => event,
                Err(RunError::Waiting { step, message }) => {
                    let waiting = vec![Waiting { key: step, message: message.into() }];
                    return Ok(Driven::Paused(self, Pause::Waiting(waiting)));
                }
                Err(error) => return Err(error),
            };
            observe(&event);
            if let Event::Blocked(blocked) = event {
                return Ok(Driven::Blocked(self, blocked));
            }
            // A loop still decides after the last step, and completion still follows the last decision.
            if !self.program().has_next(self.book()) {
                return Ok(Driven::Finished(self));
            }
        }
    }

    /// Drives the run to its end, and calls `observe` after each record.
    ///
    /// # Errors
    /// [`RunError`], also when the run is blocked or waits; what was appended before stays.
    pub fn finish(self, sink: &mut dyn Sink, observe: impl FnMut(&Event)) -> Result<Finished, RunError> {
        Ok(self.drive(sink, observe)?.into_finished()?.into_finished())
    }
}

fn mismatch(error: RunError) -> RecordMismatch {
    match error {
        RunError::Book(error) => error.into(),
        RunError::Blob(error) => error.into(),
        other => RecordMismatch::flow(other),
    }
}

/// Returns the value at a dotted path such as `artifacts.verification.status`, newest values first.
///
/// Only objects are walked: a path through a list, a scalar or a missing member names nothing.
fn value_at(path: &str, book: &Book<'_>, blobs: &dyn Blobs) -> Result<Option<Value>, BlobError> {
    let mut tokens = path.split('.');
    if tokens.next() != Some("artifacts") {
        return Ok(None);
    }
    let newest = tokens.next().and_then(|key| book.state().artifacts().newest(key));
    let Some(newest) = newest else { return Ok(None) };
    let value = blob::resolve(newest, blobs)?;
    Ok(tokens.try_fold(value, |value, token| value.get(token).cloned()))
}
