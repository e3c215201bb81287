//! The calls of the step that is due, judged one after the other before each is made.
//!
//! A call is judged on a monitor that has seen everything recorded and the calls of the step so far. So the cost of judging
//! a call does not grow with the number of calls before it.

use hence_canon::{Object, Value};
use hence_cognition::run::Effect;
use hence_policy::Options;
use hence_policy::eval::{TraceDefect, Undecided};
use hence_policy::foresight::{foresee, is_blocking, may_trigger};
use hence_policy::monitor::{Monitor, ProposalError, Violation};
use hence_policy::policy::Policy;
use hence_review::model::{Action, ActionStep, Artifact};

use crate::delta::{Facts, TraceDelta};
use crate::gate::{by_action, object, objects};
use crate::skill::checks;

/// Members of an action that are known only after it was carried out.
const UNKNOWN_BEFORE: [&str; 5] = ["detail", "observations", "reproducibility", "result", "result_summary"];

/// Members of an artifact that are known before the action that makes it: its type, its name and its sources.
const KNOWN_BEFORE: [&str; 7] = [
    "artifact_id",
    "artifact_role",
    "artifact_type",
    "derived_from",
    "name",
    "producer_action_id",
    "revision",
];

/// The decisions and calls of the step that is due, as far as they were made.
#[derive(Default)]
pub(crate) struct Foreseen {
    /// The number of recorded actions.
    recorded: usize,
    /// A monitor that has seen them; `None` while there are none.
    monitor: Option<Monitor>,
    /// The actions, each with the artifacts it makes known.
    admitted: Vec<Happening>,
    /// Whether the decisions before the calls are among them.
    is_decided: bool,
    /// The blocking policies that the calls so far violate, whatever the step does next.
    violated: Vec<Violation>,
}

/// An action with the artifacts it makes known.
type Happening = (Object, Vec<Object>);

/// A call that cannot be judged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForesightError {
    /// The action does not fit the trace.
    #[error(transparent)]
    Proposal(#[from] ProposalError),
    /// The trace is defective.
    #[error(transparent)]
    Trace(#[from] TraceDefect),
}

impl Foreseen {
    /// Begins after the recorded actions.
    pub(crate) fn after(recorded: usize) -> Self {
        Self { recorded, ..Self::default() }
    }

    /// Notes a call that was made. Its output is that of the step only if it is the last one, so it is left out.
    pub(crate) fn note(
        &mut self,
        recorded: &Monitor,
        delta: &TraceDelta,
        step: &str,
    ) -> Result<(), ForesightError> {
        self.decide(recorded, delta)?;
        let is_deed = has_acted(delta);
        for (action, made) in called(delta) {
            let is_output = |artifact: &&Artifact| artifact.common.name.as_deref() == Some(step);
            let (outputs, others): (Vec<&Artifact>, Vec<&Artifact>) = made.into_iter().partition(is_output);
            let known = object(action);
            let kept = action
                .common
                .outputs
                .iter()
                .filter(|id| !outputs.iter().any(|output| output.common.artifact_id == **id));
            let kept: Value = kept.map(|id| Value::from(id.as_str())).collect();
            let known = if outputs.is_empty() { known } else { known.with("outputs", kept) };
            let violations = self.admit(recorded, (known, objects(&others)))?;
            // A step that checks is one action, whose result is that of all its calls: what one of them gave decides nothing.
            let is_certain = is_deed && !checks(action.step.action_type());
            let blocking = violations.into_iter().filter(|violation| is_blocking(violation.severity));
            self.violated.extend(blocking.filter(|_| is_certain));
        }
        Ok(())
    }

    /// Returns the policies that a call violates whatever its result will be, or those that an earlier call of the step
    /// violates: the step is blocked, so it acts no further. Nothing of the call is kept.
    pub(crate) fn judge(
        &mut self,
        recorded: &mut Monitor,
        delta: &TraceDelta,
        policies: &[Policy],
        trace: &dyn Fn() -> Object,
    ) -> Result<Vec<Violation>, ForesightError> {
        self.decide(recorded, delta)?;
        if !self.violated.is_empty() {
            return Ok(self.violated.clone());
        }
        let calls = called(delta);
        let last = calls.len().saturating_sub(1);
        // A call that runs several commands is several actions, each of which has those before it behind it.
        let mut scratch = Self { recorded: self.recorded + self.admitted.len(), ..Self::default() };
        let mut found = Vec::new();
        for (place, (action, made)) in calls.iter().enumerate() {
            let proposed = proposed(action, made);
            let numbered = numbered(proposed, scratch.recorded + scratch.admitted.len());
            let base = self.monitor.as_mut().unwrap_or(recorded);
            let monitor = scratch.monitor.as_mut().unwrap_or(base);
            let watched = monitor.foresee(&numbered.0, &numbered.1);
            let deferred = |policy: &&Policy| {
                watched.is_err() || monitor_defers(monitor, policy) && may_trigger(policy, &numbered.0)
            };
            let whole: Vec<&Policy> = policies.iter().filter(deferred).collect();
            let mut violations = match &watched {
                Ok(violations) => violations.clone(),
                // Of policies that have no truth value here, the others are judged all the same.
                Err(ProposalError::Undecided(fault)) if !matches!(fault, Undecided::NotKnown { .. }) => {
                    Vec::new()
                }
                Err(error) => return Err(error.clone().into()),
            };
            if !whole.is_empty() {
                let behind = self.admitted.iter().chain(&scratch.admitted);
                let trace = extended(&trace(), behind.chain([&numbered]).collect());
                violations.extend(foresee(&trace.into(), whole, Options::default())?);
            }
            let is_held = violations.iter().any(|violation| is_blocking(violation.severity));
            found.append(&mut violations);
            // What comes after an action that is held back is not carried out.
            if is_held {
                break;
            }
            if place < last {
                let base = self.monitor.as_ref().unwrap_or(recorded);
                scratch.admit(base, (assumed(action), objects(made)))?;
            }
        }
        Ok(found)
    }

    /// Admits the decisions before the calls, once.
    fn decide(&mut self, recorded: &Monitor, delta: &TraceDelta) -> Result<(), ForesightError> {
        if std::mem::replace(&mut self.is_decided, true) {
            return Ok(());
        }
        for (action, made) in by_action(delta).into_iter().take_while(|(action, _)| is_decision(action)) {
            self.admit(recorded, (object(action), objects(&made)))?;
        }
        Ok(())
    }

    /// Adds an action and returns the policies that it violates.
    fn admit(&mut self, before: &Monitor, happening: Happening) -> Result<Vec<Violation>, ForesightError> {
        let (action, artifacts) = numbered(happening, self.recorded + self.admitted.len());
        let monitor = self.monitor.get_or_insert_with(|| before.clone());
        let violations = monitor.propose(&action, &artifacts)?.admit();
        self.admitted.push((action, artifacts));
        Ok(violations)
    }
}

/// Returns whether the call that a delta is about acts. Every call of a step that acts is an action of its own in the trace.
fn has_acted(delta: &TraceDelta) -> bool {
    let Facts::Outcome(_, outcome) = &delta.facts else { return false };
    outcome.calls.last().is_some_and(|call| call.effect == Effect::Acts)
}

fn is_decision(action: &Action) -> bool {
    matches!(action.step, ActionStep::Gateway(..))
}

fn monitor_defers(monitor: &Monitor, policy: &Policy) -> bool {
    monitor.deferred().iter().any(|(id, _)| id == policy.id())
}

/// Returns the actions of the call that a delta is about: what happened before it is known already.
fn called(delta: &TraceDelta) -> Vec<(&Action, Vec<&Artifact>)> {
    let all = by_action(delta);
    let is_call =
        |pair: &(usize, &(&Action, Vec<&Artifact>))| pair.0 >= delta.happened && !is_decision(pair.1.0);
    let found: Vec<_> = all.iter().enumerate().filter(is_call).map(|(_, pair)| pair.clone()).collect();
    // A step without a call is its decision.
    if found.is_empty() { all.into_iter().next_back().into_iter().collect() } else { found }
}

/// Returns an action that is about to be carried out: without its result, and with what is known of its artifacts.
fn proposed(action: &Action, made: &[&Artifact]) -> Happening {
    let known = UNKNOWN_BEFORE.iter().fold(object(action), |action, key| action.without(key));
    let artifacts = made.iter().map(|artifact| {
        let whole = object(*artifact);
        let known = whole.iter().filter(|(key, _)| KNOWN_BEFORE.contains(&&***key));
        known.map(|(key, value)| (key.clone(), value.clone())).collect()
    });
    (known, artifacts.collect())
}

/// Returns an action of the same call that comes before the one that is judged, as if it ended well: a check whose result
/// is open may pass. A command whose end is hidden from the one after it stays unknown.
fn assumed(action: &Action) -> Object {
    let known = object(action);
    let result = known.get("result").and_then(Value::as_object).cloned().unwrap_or_default();
    if is_decision(action) || result.get("status").is_some() {
        return known;
    }
    known.with("result", result.with("status", "completed"))
}

/// Gives an action the number after those before it, also where its artifacts name it.
fn numbered((action, artifacts): Happening, before: usize) -> Happening {
    let (old, number) = (action.get("id").cloned(), Value::from(before + 1));
    let renamed = |artifact: Object| match artifact.get("producer_action_id") {
        named if named.is_some() && named == old.as_ref() => {
            artifact.with("producer_action_id", number.clone())
        }
        _ => artifact,
    };
    let artifacts = artifacts.into_iter().map(renamed).collect();
    (action.with("id", number.clone()), artifacts)
}

/// Returns a trace with actions and artifacts at its end.
fn extended(trace: &Object, more: Vec<&Happening>) -> Object {
    let with = |key: &str, more: Vec<Value>| -> Value {
        let known = trace.get(key).and_then(Value::as_array).unwrap_or_default().iter().cloned();
        known.chain(more).collect()
    };
    let actions = with("actions", more.iter().map(|(action, _)| action.clone().into()).collect());
    let artifacts = more.iter().flat_map(|(_, artifacts)| artifacts.iter().cloned().map(Value::from));
    let artifacts = with("artifacts", artifacts.collect());
    trace.with("actions", actions).with("artifacts", artifacts)
}
