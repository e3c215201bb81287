//! Executing one step.

use hence_canon::{Canonical, Value};
use hence_journal::{LoopAction, Record, StepRecord};
use hence_state::{LargeValueRule, LoopLimitRule, NESTING_MAX, Outcome, StepError, StepResult};

use super::{Event, Run, RunError};
use crate::blob::{self, INLINE_VALUE_BYTES_MAX};
use crate::sink::Sink;
use crate::step::{Determinism, Step, View, object};

impl Run {
    pub(super) fn execute(&mut self, step: &dyn Step, sink: &mut dyn Sink) -> Result<Event, RunError> {
        let started_at = self.fold.state().metadata().updated_at.clone();
        let finished_at = self.next_time()?;
        let (input, outcome) = self.outcome(step, sink)?;
        let result = StepResult::new(step.name(), &input, started_at, finished_at, outcome);
        let (before, step_index) = (self.state_hash, self.fold.state().step_index());
        self.take_in(step.artifact_key(), &result, sink.blobs())?;
        self.state_hash = self.fold.state_mut().digest();
        let status = result.outcome().status();
        let name = result.step().clone();
        let record = Record::Step(StepRecord {
            step_index,
            result,
            state_before_hash: before,
            state_after_hash: self.state_hash,
        });
        let index = self.keep(&record, sink)?;
        Ok(Event::Step { index, step: name, status })
    }

    /// Takes a result into state, cursor and tally: the same way for a new result and for one read back.
    pub(super) fn take_in(
        &mut self,
        key: &str,
        result: &StepResult,
        blobs: &dyn crate::Blobs,
    ) -> Result<(), RunError> {
        self.fold.apply(key, result).map_err(|source| self.fold_error(source))?;
        if let Some(output) = result.outcome().output() {
            self.tally.note(key, output, blobs)?;
        }
        self.mutations += 1;
        // The plan's own order was followed, or the caller has compared the name with it.
        let _ = self.cursor.step(result.step(), result.outcome().status());
        if self.plan.profile.loop_limit == LoopLimitRule::InStep
            && self.decision_is_due()
            && self.decision(blobs)? == Some(LoopAction::MaxIterationsReached)
        {
            self.fold.exhaust_loop(result.finished_at()).map_err(|source| self.fold_error(source))?;
        }
        Ok(())
    }

    /// Returns what the step was given and how it ended.
    fn outcome(&self, step: &dyn Step, sink: &mut dyn Sink) -> Result<(Value, Outcome), RunError> {
        let view = self.view(sink.blobs());
        let input = match step.input(&view) {
            Ok(input) => input,
            Err(unseen) => return Ok((object([]), Outcome::Failed(unseen.into_errors()))),
        };
        let index = self.head.records.next_index();
        if step.determinism(&self.plan.problem) == Determinism::Recorded
            && let Some(outcome) = self.recorded.get(&index)
        {
            return Ok((input, outcome.clone()));
        }
        let outcome = match step.run(&view, &input) {
            Ok(output) => self.store(output, sink)?,
            Err(errors) => Outcome::Failed(with_reason(errors)),
        };
        Ok((input, outcome))
    }

    /// Turns an output into what the record holds: the value, or a reference when it is large.
    fn store(&self, output: Value, sink: &mut dyn Sink) -> Result<Outcome, RunError> {
        let depth = output.depth();
        if depth > NESTING_MAX {
            let message = format!("output nests {depth} deep, limit is {NESTING_MAX}");
            return Ok(Outcome::Failed(vec![StepError::new("output_too_deep", message)]));
        }
        let output = Canonical::of(&output);
        let large = output.bytes().len() > INLINE_VALUE_BYTES_MAX;
        if !large || self.plan.profile.large_values == LargeValueRule::Inline {
            return Ok(Outcome::Success(output));
        }
        // The value is kept before the record that names it: a crash between the two leaves a blob nobody names.
        let index = self.head.records.next_index();
        sink.put_blob(&output).map_err(|source| RunError::Sink { index, source })?;
        Ok(Outcome::Success(blob::reference(&output)))
    }

    pub(super) fn view<'a>(&'a self, blobs: &'a dyn crate::Blobs) -> View<'a> {
        let state = self.fold.state();
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
        StepError {
            code: or(error.code, "step_failed"),
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
