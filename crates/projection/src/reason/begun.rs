//! The calls of bound steps that were begun and are no part of a step's record.

use hence_canon::{Canonical, Object, Value};
use hence_cognition::run::{CallOutcome, MadeCall};
use hence_engine::{CALL_FAILED, CALL_MEMBER};
use hence_skills::CallHistory;
use hence_state::{Outcome, StepError, StepResult};

use super::ReasonView;
use crate::run_info::RunInfo;
use crate::unrecorded::BegunCall;

impl ReasonView {
    /// Returns the calls that were begun: that of a step which was executed and then blocked by policies, and those that only
    /// the call log has.
    pub(super) fn calls_begun(&self, run: &RunInfo<'_>, calls: Option<&CallHistory>) -> Vec<BegunCall> {
        let deed = |step: &str| self.known(step).and_then(|known| known.deed.as_ref());
        let blocked = self.blocked.iter().filter(|(_, result)| deed(result.step()).is_some());
        let mut begun: Vec<BegunCall> = blocked
            .map(|(index, result)| BegunCall { result: result.clone(), record: Some(*index) })
            .collect();
        // The call log of a run that failed still has the call of the step that failed, which is recorded.
        let calls = calls.filter(|_| self.failed.is_none());
        for call in calls.map(|calls| calls.made_calls(|_| false)).unwrap_or_default() {
            let step = call.place().step;
            let is_listed =
                begun.iter().any(|known| known.record.is_some() && **known.result.step() == *step);
            if deed(&step).is_some() && !is_listed {
                let attempts = call.each_begun();
                begun.extend(
                    attempts
                        .iter()
                        .map(|call| BegunCall { result: result_of(run, &step, call), record: None }),
                );
            }
        }
        begun
    }

    /// Returns whether nobody knows if the call of a step that acts happened: it was given up.
    pub(super) fn is_undecided(&self, result: &StepResult) -> bool {
        let acts = self.known(result.step()).is_some_and(|known| known.deed.is_some());
        acts && matches!(result.outcome(), Outcome::Failed(errors)
            if errors.iter().any(|error| &*error.code == CALL_FAILED))
    }
}

/// Returns the result of a step whose only call is this one.
fn result_of(run: &RunInfo<'_>, step: &str, call: &MadeCall) -> StepResult {
    let outcome = match (&call.reply, call.outcome()) {
        (Ok(reply), _) => Outcome::Success(Canonical::of(&reply.output)),
        (Err(error), CallOutcome::Undecided) => {
            Outcome::Failed(vec![StepError::new(CALL_FAILED, error.to_string())])
        }
        (Err(error), _) => Outcome::Failed(vec![StepError::new("step_failed", error.to_string())]),
    };
    let at = || run.header.created_at.clone();
    let made = [("capability", Value::from(call.capability.clone())), ("input", call.input.clone())];
    StepResult::new(step, &call.input, at(), at(), outcome).with_other(CALL_MEMBER, Object::from_iter(made))
}
