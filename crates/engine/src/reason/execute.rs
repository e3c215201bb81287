//! Executes one step of the built-in program and appends its result.

use hence_canon::{Canonical, Object, Value};
use hence_state::{Outcome, POLICY_VIOLATION, StepError, StepResult};

use super::{Event, Reason, RecordedResult};
use crate::blob::Blobs;
use crate::book::Book;
use crate::gate::{Blocked, BlockedAt, ProposedCall, attempt};
use crate::measured::{Measured, Watched};
use crate::run::RunError;
use crate::sink::Sink;
use crate::step::{Attempt, CALL_MEMBER, Deed, METRICS_KEY, Step, Stopped, View, object};

impl Reason {
    pub(super) fn execute(
        &mut self,
        book: &mut Book<'_>,
        step: &dyn Step,
        sink: &mut dyn Sink,
    ) -> Result<Event, RunError> {
        if let Some(blocked) = self.precheck(book, step, sink)? {
            return Ok(Event::Blocked(blocked));
        }
        let (started_at, finished_at) = book.next_times()?;
        let began = sink.meter().now();
        sink.meter().watch(Watched::StepBegan { step: step.name(), items: None });
        let executed = self.outcome(book, step, sink);
        sink.meter().watch(Watched::StepEnded { step: step.name() });
        let (input, RecordedResult { outcome, others }) = executed?;
        if let Some(span) = sink.meter().since(began) {
            sink.meter().note(Measured::Step { step: step.name().into(), span });
        }
        let result =
            StepResult::new(step.name(), &input, started_at, finished_at, outcome).with_others(others);
        let result = book.judge(result)?;
        if book.policy_state().is_pinned() && result.outcome().is_blocked() {
            return self.append_blocked(book, step, result, sink);
        }
        let step_index = self.apply(book, step.artifact_key(), &result, sink.blobs())?;
        let (name, status) = (result.step().clone(), result.outcome().status());
        let index = book.append_step(step_index, result, sink)?;
        Ok(Event::Step { index, step: name, status })
    }

    /// Asks whether a step that acts may be executed, and records the block if it may not. What was executed before is not
    /// asked about: its result is known.
    fn precheck(
        &mut self,
        book: &mut Book<'_>,
        step: &dyn Step,
        sink: &mut dyn Sink,
    ) -> Result<Option<Blocked>, RunError> {
        let Some(deed) = step.deed().filter(|_| book.policy_state().is_pinned()) else { return Ok(None) };
        if self.recorded.contains_key(&book.next_index()) {
            return Ok(None);
        }
        // Without its input the step fails, and calls nothing.
        let Ok(input) = step.input(&self.view(book, sink.blobs())) else { return Ok(None) };
        let (started_at, finished_at) = book.next_times()?;
        let possible = Outcome::Success(Canonical::of(&object([])));
        let result = StepResult::new(step.name(), &input, started_at, finished_at, possible)
            .with_other(CALL_MEMBER, call(&deed, &input));
        Ok(book.precheck(vec![ProposedCall { position: String::new(), before: Vec::new(), result }], sink)?)
    }

    /// Appends a result that policies block. The state counts it, but the cursor does not move: the same step stays due.
    fn append_blocked(
        &mut self,
        book: &mut Book<'_>,
        step: &dyn Step,
        result: StepResult,
        sink: &mut dyn Sink,
    ) -> Result<Event, RunError> {
        let errors = match result.outcome() {
            Outcome::Failed(errors) => errors.clone(),
            Outcome::Success(_) | Outcome::Skipped => Vec::new(),
        };
        let recorded = RecordedResult::of(&attempt(&result));
        let index = book.record(step.artifact_key(), result, sink)?;
        let at = BlockedAt::AfterExecution;
        let blocked = Blocked { index, step: step.name().into(), errors, at };
        self.blocked = Some((recorded, blocked.clone()));
        Ok(Event::Blocked(blocked))
    }

    /// Returns the input of a step and its outcome.
    fn outcome(
        &self,
        book: &Book<'_>,
        step: &dyn Step,
        sink: &mut dyn Sink,
    ) -> Result<(Value, RecordedResult), RunError> {
        let view = self.view(book, sink.blobs());
        let input = match step.input(&view) {
            Ok(input) => input,
            Err(missing) => {
                let outcome = Outcome::Failed(missing.into_errors());
                return Ok((object([]), RecordedResult::alone(outcome)));
            }
        };
        if !step.is_recomputed(&self.plan.problem)
            && let Some(recorded) = self.recorded.get(&book.next_index())
        {
            return Ok((input, recorded.clone()));
        }
        let attempt = step.attempt(&view, &input);
        let name = || step.name().into();
        let attempt = attempt.map_err(|stopped| match stopped {
            Stopped::Trouble(message) => RunError::Stopped { step: name(), message },
            Stopped::Waiting(message) => RunError::Waiting { step: name(), message },
        })?;
        let deed = step.deed().filter(|_| book.policy_state().is_pinned());
        let made = |recorded: RecordedResult| match &deed {
            Some(deed) => {
                let others = recorded.others.with(CALL_MEMBER, call(deed, &input));
                RecordedResult { others, ..recorded }
            }
            None => recorded,
        };
        let recorded = match attempt {
            Attempt::Failed(errors) => made(RecordedResult::alone(Outcome::Failed(with_reason(errors)))),
            Attempt::Done { output, metrics } => {
                let outcome = book.store(Canonical::of(&output), sink)?;
                let metrics = Some(metrics).filter(|metrics| !metrics.is_empty());
                let others = metrics.into_iter().map(|metrics| (METRICS_KEY, Value::from(metrics))).collect();
                made(RecordedResult { outcome, others })
            }
        };
        Ok((input, recorded))
    }

    fn view<'a>(&'a self, book: &'a Book<'_>, blobs: &'a dyn Blobs) -> View<'a> {
        let state = book.state();
        View {
            problem: Some(&self.plan.problem),
            profile: &self.plan.profile,
            artifacts: state.artifacts(),
            step_index: state.step_index(),
            position: self.cursor.position_in_effect(Some(&self.plan.problem)),
            metadata: Some(state.metadata()),
            tally: &self.tally,
            blobs,
            model: self.plan.model.as_deref(),
            callees: self.plan.callees.as_deref(),
        }
    }
}

/// Returns the call of a step that acts, as a result names it.
fn call(deed: &Deed, input: &Value) -> Object {
    Object::from_iter([("capability", Value::from(deed.capability.clone())), ("input", input.clone())])
}

/// Returns errors of which there is at least one, each with a code and a message.
fn with_reason(errors: Vec<StepError>) -> Vec<StepError> {
    let named = |error: StepError| {
        let or = |text: std::sync::Arc<str>, other: &str| if text.is_empty() { other.into() } else { text };
        // Only the engine reports that policies block; a step that reports it has failed.
        let is_reserved = &*error.code == POLICY_VIOLATION;
        StepError {
            code: if is_reserved { "step_failed".into() } else { or(error.code, "step_failed") },
            message: or(error.message, "no message"),
            step: error.step,
        }
    };
    let mut errors: Vec<StepError> = errors.into_iter().map(named).collect();
    if errors.is_empty() {
        errors.push(StepError::new("step_failed", "the step failed without saying why"));
    }
    errors
}
