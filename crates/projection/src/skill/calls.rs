//! The calls of a step, each as an action of its own.
//!
//! A loop, a scatter or several attempts may act several times, each time on something else. A rule about deeds must see
//! every one of them with its own type, request and result, so each call is an action. A step that only computes, reads or
//! checks stays one action: it gives one result, and `execution.calls` says how many calls that took.

use std::sync::Arc;

use hence_cognition::failure::Failure;
use hence_cognition::run::{CallMade, StepOutcome, calls_made, is_proposed};
use hence_cognition::skill::Step;
use hence_cognition::state::{StepStatus, TraceMetrics};
use hence_skills::Effect;

use super::{SkillView, kind};

impl SkillView<'_> {
    /// Returns an outcome for each call of a step, as if it were the only one; none for a step that is one action.
    pub(super) fn single_calls(&self, step: &Step, outcome: &StepOutcome) -> Vec<StepOutcome> {
        if !outcome.called.keys().any(|id| self.acts(id)) {
            return Vec::new();
        }
        let calls = calls_made(step, &self.progress.state().memory, outcome);
        if calls.len() < 2 {
            return Vec::new();
        }
        let last = calls.len() - 1;
        let single =
            |(place, call): (usize, &CallMade)| self.single_call(outcome, call, place == last, &calls);
        let singles: Vec<StepOutcome> = calls.iter().enumerate().map(single).collect();
        let is_deed = |single: &StepOutcome| {
            single.called.keys().any(|id| self.acts(id)) && !kind::checks(self.kind(step, Some(single)))
        };
        if singles.iter().any(is_deed) { singles } else { Vec::new() }
    }

    /// Returns whether calling a capability may change something outside. A nested skill shows its calls in its own run.
    fn acts(&self, callee: &str) -> bool {
        !callee.starts_with("skill:") && self.host.effect(callee) == Effect::Acts
    }

    /// Returns the outcome of one call. The last one has everything that is known of the step as a whole: what it used, and
    /// who decided about its calls.
    fn single_call(
        &self,
        whole: &StepOutcome,
        call: &CallMade,
        is_last: bool,
        all: &[CallMade],
    ) -> StepOutcome {
        let failure = match &call.output {
            Some(Err(error)) if is_last => whole.failure.clone().or_else(|| Some(failure(call, error))),
            Some(Err(error)) => Some(failure(call, error)),
            Some(Ok(_)) | None => None,
        };
        let same = all.iter().filter(|other| other.callee == call.callee).count() as u64;
        let counted = whole.called.get(&call.callee).copied().unwrap_or(1);
        // Of very many calls before a proposed one, the oldest are not listed, but they count.
        let times = if is_last && is_proposed(whole) { (counted + 1).saturating_sub(same).max(1) } else { 1 };
        let kept = |key: &str| whole.meta.get(key).map(|value| (Arc::from(key), value.clone()));
        StepOutcome {
            status: if failure.is_some() { StepStatus::Failed } else { StepStatus::Completed },
            input: call.input.clone(),
            produced: call.output.clone().and_then(Result::ok),
            commits: Vec::new(),
            meta: match is_last {
                true => whole.meta.clone(),
                false => ["router_matched", "action"].into_iter().filter_map(kept).collect(),
            },
            metrics: if is_last { whole.metrics } else { TraceMetrics::default() },
            called: [(call.callee.clone(), times)].into(),
            calls: call.listed.iter().cloned().collect(),
            notes: if is_last { whole.notes.clone() } else { Vec::new() },
            failure,
            ..whole.clone()
        }
    }
}

fn failure(call: &CallMade, error: &hence_cognition::run::CallError) -> Failure {
    Failure::new(
        hence_cognition::failure::ErrorClass::CapabilityExecution,
        format_args!("`{}`: {error}", call.callee),
    )
}
