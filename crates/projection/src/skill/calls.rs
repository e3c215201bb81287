//! The calls of a step, each as an action of its own.
//!
//! A loop, a scatter or several attempts may act several times, each time on something else. A rule about deeds must see
//! every one of them with its own type, request and result, so each call is an action. A step that only computes, reads or
//! checks stays one action: it gives one result, and `execution.calls` says how many calls that took.

use std::sync::Arc;

use hence_cognition::failure::Failure;
use hence_cognition::run::{CallMade, MadeCall, StepOutcome, calls_made};
use hence_cognition::skill::{Flow, Step};
use hence_cognition::state::{StepStatus, TraceMetrics};
use hence_skills::Effect;

use super::{SkillView, kind};

impl SkillView<'_> {
    /// Returns an outcome for each call of a step, as if it were the only one; none for a step that is one action.
    pub(super) fn single_calls(&self, step: &Step, outcome: &StepOutcome) -> Vec<StepOutcome> {
        // A nested skill that acts is one of several branches: the others come before or after what it did.
        let has_inner_deeds = matches!(step.control.flow, Flow::Scatter(_))
            && outcome
                .listed_calls()
                .iter()
                .any(|call| call.effect == Effect::Acts && !self.is_own_call(call));
        if !has_inner_deeds && !outcome.called.keys().any(|id| self.acts(id)) {
            return Vec::new();
        }
        let calls = calls_made(step, &self.progress.state().memory, outcome);
        // A step may fail after its only call has replied: by a mapping, a gate or a refused item. A gate may also discard its
        // output and let the run continue. The deed is done all the same.
        let replied = |call: &CallMade| matches!(call.output, Some(Ok(_)));
        let gave_nothing = matches!(outcome.status, StepStatus::Failed | StepStatus::Degraded);
        let is_done_in_vain = gave_nothing && calls.iter().any(replied);
        if calls.len() < 2 && !is_done_in_vain {
            return Vec::new();
        }
        let last = calls.len() - 1;
        // Everything that only the last call has is left out of the others, so that many calls cost no more than each.
        let bare = StepOutcome {
            commits: Vec::new(),
            calls: Vec::new(),
            notes: Vec::new(),
            produced: None,
            ..outcome.clone()
        };
        let single = |(place, call): (usize, &CallMade)| single_call(outcome, &bare, call, place == last);
        let singles: Vec<StepOutcome> = calls.iter().enumerate().map(single).collect();
        let is_deed = |single: &StepOutcome| {
            single.called.keys().any(|id| self.acts(id)) && !kind::checks(self.kind(step, Some(single)))
        };
        if has_inner_deeds || singles.iter().any(is_deed) { singles } else { Vec::new() }
    }

    /// Returns whether calling a capability may change something outside. A nested skill shows its calls in its own run.
    fn acts(&self, callee: &str) -> bool {
        !callee.starts_with("skill:") && self.host.effect(callee) == Effect::Acts
    }

    /// Returns whether a step of this run makes a call itself: it is neither of a nested run, nor of a gate or a
    /// confirmation.
    pub(super) fn is_own_call(&self, call: &MadeCall) -> bool {
        let place = call.place();
        place.is_call && place.nested.len() == self.depth()
    }

    /// Returns how deep this run is nested.
    pub(super) fn depth(&self) -> usize {
        let depth = self.pinned.links.parent.as_ref().map_or(0, |parent| parent.depth);
        usize::try_from(depth).unwrap_or(usize::MAX)
    }
}

/// Returns the outcome of one call; `bare` is the outcome of the step without its results. The last call has everything
/// that is known of the step as a whole: what it used, and who decided about its calls.
fn single_call(whole: &StepOutcome, bare: &StepOutcome, call: &CallMade, is_last: bool) -> StepOutcome {
    let failure = match &call.output {
        Some(Err(error)) if is_last => whole.failure.clone().or_else(|| Some(failure(call, error))),
        Some(Err(error)) => Some(failure(call, error)),
        Some(Ok(_)) | None => None,
    };
    let kept = |key: &str| whole.meta.get(key).map(|value| (Arc::from(key), value.clone()));
    StepOutcome {
        uses: call.callee.clone(),
        status: if failure.is_some() { StepStatus::Failed } else { StepStatus::Completed },
        input: call.input.clone(),
        produced: call.output.clone().and_then(Result::ok),
        meta: match is_last {
            true => whole.meta.clone(),
            false => ["router_matched", "action"].into_iter().filter_map(kept).collect(),
        },
        metrics: if is_last { whole.metrics } else { TraceMetrics::default() },
        called: [(call.callee.clone(), 1)].into(),
        calls: call.listed.iter().cloned().collect(),
        notes: if is_last { whole.notes.clone() } else { Vec::new() },
        failure,
        ..bare.clone()
    }
}

fn failure(call: &CallMade, error: &hence_cognition::run::CallError) -> Failure {
    Failure::new(
        hence_cognition::failure::ErrorClass::CapabilityExecution,
        format_args!("`{}`: {error}", call.callee),
    )
}
