//! The calls of a skill's run that were begun and are no part of a step's record: of a step that waits, was interrupted, or
//! was executed and then blocked by policies.

use hence_cognition::run::{CallStage, Effect, MadeCall, StepOutcome, one_call};
use hence_journal::RecordIndex;
use hence_skills::CallHistory;
use hence_state::{Outcome, StepResult};

use super::SkillView;
use crate::run_info::RunInfo;
use crate::unrecorded::BegunCall;

impl SkillView<'_> {
    /// Returns the calls that were begun, in the order of the steps of the skill.
    pub(super) fn calls_begun(&self, run: &RunInfo<'_>, calls: Option<&CallHistory>) -> Vec<BegunCall> {
        let found = self.open_calls(calls);
        let mut begun = Vec::new();
        for step in &self.skill().steps {
            let of_step: Vec<&(MadeCall, Option<RecordIndex>)> =
                found.iter().filter(|(call, _)| outermost_step(call) == *step.id).collect();
            // An answer alone is no deed.
            if !of_step.iter().any(|(call, _)| call.effect == Effect::Acts) {
                continue;
            }
            let mut earlier: Vec<MadeCall> = Vec::new();
            for (call, record) in of_step {
                let is_own_answer = call.effect == Effect::Asks && call.place().nested.is_empty();
                if !is_own_answer {
                    let outcome =
                        one_call(step, &self.progress.state().memory, &earlier, call, CallStage::Made);
                    let outcome = with_confirmations(outcome, call, &earlier);
                    let at = || run.header.created_at.clone();
                    let recorded = Outcome::Success(outcome.canonical_with_calls());
                    let result = StepResult::new(step.id.clone(), &call.input, at(), at(), recorded);
                    begun.push(BegunCall { result, record: *record });
                }
                earlier.push(call.clone());
            }
        }
        begun
    }

    /// Returns the calls and answers of steps that have no result on record, with the record of the blocked step that lists
    /// them, if one does.
    fn open_calls(&self, calls: Option<&CallHistory>) -> Vec<(MadeCall, Option<RecordIndex>)> {
        let blocked =
            self.blocked.as_ref().and_then(|blocked| Some((blocked.index, blocked.outcome.as_ref()?)));
        let listed = blocked.into_iter().flat_map(|(index, outcome)| {
            let is_told = |call: &&MadeCall| matches!(call.effect, Effect::Acts | Effect::Asks);
            let told = outcome.calls.iter().filter(is_told).flat_map(MadeCall::each_begun);
            told.map(move |call| (call, Some(index)))
        });
        let mut found: Vec<(MadeCall, Option<RecordIndex>)> = listed.collect();
        let listed: Vec<_> = found.iter().map(|(call, _)| call.key.clone()).collect();
        let asks = |capability: &str| self.host.effect(capability) == Effect::Asks;
        for call in calls.map(|calls| calls.made_calls(asks)).unwrap_or_default() {
            let is_recorded =
                self.progress.outcomes().iter().any(|known| *known.step_id == *outermost_step(&call));
            if !is_recorded && !listed.contains(&call.key) {
                found.extend(call.each_begun().into_iter().map(|call| (call, None)));
            }
        }
        found
    }
}

/// Returns the step of the outermost run that a call belongs to.
fn outermost_step(call: &MadeCall) -> String {
    let place = call.place();
    place.nested.into_iter().next().map_or(place.step, |(step, _)| step)
}

/// Adds the confirmations of people that a call of the step itself had.
fn with_confirmations(mut outcome: StepOutcome, call: &MadeCall, earlier: &[MadeCall]) -> StepOutcome {
    if call.place().nested.is_empty() && !call.is_of_gate() {
        let place = (call.iteration, call.item);
        let confirms = |answer: &&MadeCall| {
            answer.is_confirmation()
                && answer.place().nested.is_empty()
                && (answer.iteration, answer.item) == place
        };
        outcome.calls.extend(earlier.iter().filter(confirms).cloned());
    }
    outcome
}
