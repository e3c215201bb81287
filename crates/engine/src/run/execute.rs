//! Executing one step.

use hence_canon::{Canonical, Object, Value};
use hence_journal::LoopAction;
use hence_state::{LoopLimitRule, Outcome, POLICY_VIOLATION, StepError, StepIndex, StepResult};

use super::{Event, Run, RunError};
use crate::gate::Blocked;
use crate::history::Recorded;
use crate::sink::Sink;
use crate::step::{Attempt, Determinism, METRICS_KEY, Step, Stopped, View, object};

impl Run {
    pub(super) fn execute(&mut self, step: &dyn Step, sink: &mut dyn Sink) -> Result<Event, RunError> {
        let (started_at, finished_at) = self.book.next_times()?;
        let (input, Recorded { outcome, others }) = self.outcome(step, sink)?;
        let result =
            StepResult::new(step.name(), &input, started_at, finished_at, outcome).with_others(others);
        let result = self.book.judge(result, sink)?;
        if self.book.policy_state().is_pinned() && result.outcome().is_blocked() {
            return self.keep_blocked(step, result, sink);
        }
        let step_index = self.take_in(step.artifact_key(), &result, sink.blobs())?;
        let (name, status) = (result.step().clone(), result.outcome().status());
        let index = self.book.keep_step(step_index, result, sink)?;
        Ok(Event::Step { index, step: name, status })
    }

    /// Keeps a result that policies block: the state counts it, the cursor stays.
    fn keep_blocked(
        &mut self,
        step: &dyn Step,
        result: StepResult,
        sink: &mut dyn Sink,
    ) -> Result<Event, RunError> {
        let errors = match result.outcome() {
            Outcome::Failed(errors) => errors.clone(),
            Outcome::Success(_) | Outcome::Skipped => Vec::new(),
        };
        self.blocked = Some(Recorded::of_attempt(&result));
        let index = self.book.record(step.artifact_key(), result, sink)?;
        Ok(Event::Blocked(Blocked { index, step: step.name().into(), errors }))
    }

    /// Takes a result into state, cursor and tally: the same way for a new result and for one read back.
    pub(super) fn take_in(
        &mut self,
        key: &str,
        result: &StepResult,
        blobs: &dyn crate::Blobs,
    ) -> Result<StepIndex, RunError> {
        let step_index = self.book.apply(key, result)?;
        self.blocked = None;
        if let Some(output) = result.outcome().output() {
            self.tally.note(key, output, blobs)?;
        }
        // The plan's own order was followed, or the caller has compared the name with it.
        let _ = self.cursor.step(result.step(), result.outcome().status());
        if self.plan.profile.loop_limit == LoopLimitRule::InStep
            && self.decision_is_due()
            && self.decision(blobs)? == Some(LoopAction::MaxIterationsReached)
        {
            self.book.exhaust_loop(result.finished_at())?;
        }
        Ok(step_index)
    }

    /// Returns what the step was given and how it ended.
    fn outcome(&self, step: &dyn Step, sink: &mut dyn Sink) -> Result<(Value, Recorded), RunError> {
        let view = self.view(sink.blobs());
        let input = match step.input(&view) {
            Ok(input) => input,
            Err(unseen) => return Ok((object([]), alone(Outcome::Failed(unseen.into_errors())))),
        };
        let index = self.book.next_index();
        if step.determinism(&self.plan.problem) == Determinism::Recorded
            && let Some(recorded) = self.recorded.get(&index)
        {
            return Ok((input, recorded.clone()));
        }
        let attempt = step.attempt(&view, &input);
        let name = || step.name().into();
        let attempt = attempt.map_err(|stopped| match stopped {
            Stopped::Trouble(message) => RunError::Stopped { step: name(), message },
            Stopped::Waiting(message) => RunError::Waiting { step: name(), message },
        })?;
        let recorded = match attempt {
            Attempt::Failed(errors) => alone(Outcome::Failed(with_reason(errors))),
            Attempt::Done { output, metrics } => {
                let outcome = self.book.store(Canonical::of(&output), sink)?;
                let metrics = Some(metrics).filter(|metrics| !metrics.is_empty());
                let others = metrics.into_iter().map(|metrics| (METRICS_KEY, Value::from(metrics))).collect();
                Recorded { outcome, others }
            }
        };
        Ok((input, recorded))
    }

    pub(super) fn view<'a>(&'a self, blobs: &'a dyn crate::Blobs) -> View<'a> {
        let state = self.book.state();
        View {
            problem: Some(&self.plan.problem),
            profile: &self.plan.profile,
            artifacts: state.artifacts(),
            step_index: state.step_index(),
            metadata: Some(state.metadata()),
            tally: &self.tally,
            blobs,
            model: self.plan.model.as_deref(),
        }
    }
}

/// An outcome with nothing beside it.
fn alone(outcome: Outcome) -> Recorded {
    Recorded { outcome, others: Object::new() }
}

/// A failed result names at least one error, with code and message.
fn with_reason(errors: Vec<StepError>) -> Vec<StepError> {
    let named = |error: StepError| {
        let or = |text: std::sync::Arc<str>, other: &str| if text.is_empty() { other.into() } else { text };
        // The engine alone says that policies block; a step that says so has failed.
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
