//! Executing one step.

use hence_canon::{Canonical, Value};
use hence_journal::LoopAction;
use hence_state::{LoopLimitRule, Outcome, POLICY_VIOLATION, StepError, StepIndex, StepResult};

use super::{Event, Run, RunError};
use crate::gate::Blocked;
use crate::sink::Sink;
use crate::step::{Determinism, Step, View, object};

impl Run {
    pub(super) fn execute(&mut self, step: &dyn Step, sink: &mut dyn Sink) -> Result<Event, RunError> {
        let (started_at, finished_at) = self.book.next_times()?;
        let (input, outcome) = self.outcome(step, sink)?;
        let result = StepResult::new(step.name(), &input, started_at, finished_at, outcome);
        let result = self.book.judge(result, sink)?;
        if self.book.custody().is_pinned() && result.outcome().is_blocked() {
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
    fn outcome(&self, step: &dyn Step, sink: &mut dyn Sink) -> Result<(Value, Outcome), RunError> {
        let view = self.view(sink.blobs());
        let input = match step.input(&view) {
            Ok(input) => input,
            Err(unseen) => return Ok((object([]), Outcome::Failed(unseen.into_errors()))),
        };
        let index = self.book.next_index();
        if step.determinism(&self.plan.problem) == Determinism::Recorded
            && let Some(outcome) = self.recorded.get(&index)
        {
            return Ok((input, outcome.clone()));
        }
        let outcome = match step.run(&view, &input) {
            Ok(output) => self.book.store(Canonical::of(&output), sink)?,
            Err(errors) => Outcome::Failed(with_reason(errors)),
        };
        Ok((input, outcome))
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
