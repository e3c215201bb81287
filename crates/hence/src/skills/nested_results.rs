//! Compares what a step records of the runs it nests with what those runs recorded themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::budget::{Costs, Usage};
use hence_cognition::run::{
    EXCHANGES_KEY, Effect, FailedPart, MadeCall, NESTED_ERRORS_KEY, PATH_PARTS, StepOutcome,
    idempotency_key_of, key_part, key_text,
};
use hence_cognition::state::{StepStatus, TraceMetrics};
use hence_skills::{Host as _, USAGE_KEY};
use hence_store::{RunId, StoreHandle};

use crate::code::Code;
use crate::error::CliError;
use crate::kind::StoredSkillRun;
use crate::target::Journal;

/// The results of a nested run, as its own journal gives them.
struct Child {
    place: Place,
    skill: String,
    /// The outputs and the answer; `None` when the run failed.
    outputs: Option<Object>,
    metrics: TraceMetrics,
    cost: Usage,
    /// The failures in a run that completed, as its parent records them.
    failed: Vec<Value>,
    /// The steps, as the run recorded them.
    outcomes: Vec<StepOutcome>,
    /// The capabilities that the steps called and that are not pure.
    outward: BTreeMap<Arc<str>, Effect>,
}

/// The runs around a step.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// The number of runs around the run of the step.
    pub(super) depth: usize,
    /// The run whose idempotency keys its calls have, where that follows from this run alone.
    pub(super) root: Option<&'a str>,
}

/// The place of the call that nested a run, as its id tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    iteration: usize,
    item: usize,
    attempt: u64,
}

impl Place {
    fn of(run: &str) -> Option<Self> {
        let last = run.rsplit('/').next().unwrap_or_default();
        let Some((_, numbers)) = last.rsplit_once('@') else {
            return Some(Self { iteration: 0, item: 0, attempt: 1 });
        };
        let mut numbers = numbers.split('.');
        let mut next = || numbers.next()?.parse::<u64>().ok();
        let (iteration, item, attempt) = (next()?, next()?, next()?);
        let (iteration, item) = (usize::try_from(iteration).ok()?, usize::try_from(item).ok()?);
        Some(Self { iteration, item, attempt })
    }
}

/// Compares the outcome of a step with the runs it nests, all of which are in the store. Returns the first difference.
pub(super) fn difference(
    store: &StoreHandle,
    outcome: &StepOutcome,
    runs: &[&str],
    around: Around<'_>,
) -> Option<String> {
    let mut children = Vec::new();
    for run in runs {
        match read(store, run) {
            Ok(child) => children.extend(child.map(|child| (*run, child))),
            Err(error) => return Some(format!("{run}: its results cannot be read: {}", error.message)),
        }
    }
    for (run, child) in &children {
        if let Some(difference) = calls_difference(outcome, child, around) {
            return Some(format!("{run}: {difference}"));
        }
        let is_last = |other: &Child| {
            (other.place.iteration, other.place.item) == (child.place.iteration, child.place.item)
                && other.place.attempt > child.place.attempt
        };
        if children.iter().any(|(_, other)| is_last(other)) {
            continue;
        }
        let (Some(outputs), StepStatus::Completed) = (&child.outputs, outcome.status) else { continue };
        if !is_part(outcome, outputs, child) {
            return Some(format!("{run}: its outputs are not what step {} records", outcome.step_id));
        }
    }
    let failed: Vec<Value> = children.iter().flat_map(|(_, child)| child.failed.clone()).collect();
    let recorded = outcome.meta.get(NESTED_ERRORS_KEY).and_then(Value::as_array).unwrap_or_default();
    if failed != recorded && children.len() == runs.len() {
        return Some(format!("step {}: what failed in them is not what it records", outcome.step_id));
    }
    // The counters of a step that calls only skills are the sums of theirs.
    if outcome.called.keys().all(|id| id.starts_with("skill:")) && children.len() == runs.len() {
        let (mut metrics, mut usage) = (TraceMetrics::default(), Usage::default());
        for (_, child) in &children {
            metrics.add(child.metrics);
            usage.add(&child.cost);
        }
        metrics.step_count = 0;
        if metrics != outcome.metrics {
            return Some(format!("step {}: its counters are not the sums of theirs", outcome.step_id));
        }
        let recorded: Costs = Usage::of_meta(&outcome.meta).cost;
        if usage.cost != recorded {
            return Some(format!("step {}: its cost is not the sum of theirs", outcome.step_id));
        }
    }
    None
}

/// Compares the calls of a nested run that the step around it lists with those that the run recorded.
fn calls_difference(outcome: &StepOutcome, child: &Child, around: Around<'_>) -> Option<String> {
    let Around { depth, root } = around;
    let listed: Vec<&MadeCall> =
        outcome.listed_calls().iter().filter(|call| child.made(call, depth)).collect();
    let step_of = |call: &MadeCall| {
        let parts: Vec<&str> = call.key.split('/').collect();
        parts.get((depth + 1) * PATH_PARTS).map(|step| key_text(step))
    };
    for call in &listed {
        let step = step_of(call).unwrap_or_default();
        let Some(own) = child.outcomes.iter().find(|own| *own.step_id == *step) else {
            return Some(format!("it recorded no step {step}, of which {} is listed", call.key));
        };
        let is_same = has_its_key(call)
            && match own.lists_calls() {
                true => own.calls.iter().any(|known| known == *call),
                // A run below that only reads is listed here, because another one acted, and not in between.
                false if call.place().nested.len() > depth + 1 => {
                    own.called.keys().any(|id| id.starts_with("skill:"))
                }
                false => follows_from(call, own),
            };
        if !is_same {
            return Some(format!("the call {} is not listed as it was recorded", call.key));
        }
        if root.is_some_and(|root| *call.idempotency_key != *idempotency_key_of(root, &call.key)) {
            return Some(format!(
                "the call {} is listed with another idempotency key than its own",
                call.key
            ));
        }
    }
    if !outcome.lists_calls() {
        let acted = |own: &StepOutcome| {
            own.acting_calls().next().is_some()
                || own.called.keys().any(|id| child.outward.get(id) == Some(&Effect::Acts))
        };
        let acted = child.outcomes.iter().find(|own| acted(own))?;
        return Some(format!("its step {} acted, and step {} lists no call", acted.step_id, outcome.step_id));
    }
    for own in &child.outcomes {
        if let Some(missing) = own.listed_calls().iter().find(|known| !listed.contains(known)) {
            return Some(format!("the call {} is not listed", missing.key));
        }
        if own.lists_calls() {
            continue;
        }
        for (id, times) in own.called.iter().filter(|(id, _)| child.outward.contains_key(*id)) {
            let is_of = |call: &&&MadeCall| {
                call.capability == *id
                    && call.place().is_call
                    && step_of(call).as_deref() == Some(&*own.step_id)
            };
            if listed.iter().filter(is_of).count() as u64 != *times {
                return Some(format!(
                    "its step {} called {id} {times} times, which are not listed",
                    own.step_id
                ));
            }
        }
    }
    None
}

/// Returns whether the key of a call names its iteration, item, capability and attempt.
fn has_its_key(call: &MadeCall) -> bool {
    let mut parts = call.key.rsplit('/');
    parts.next() == Some(&*call.attempt.to_string())
        && parts.next() == Some(&*key_part(&call.capability))
        && parts.nth(1) == Some(&*format!("{}.{}", call.iteration, call.item))
}

/// Returns whether a listed call is one that follows from the record of a step that lists none. The inputs of the single items of
/// a loop and the replies of single branches are in no record.
fn follows_from(call: &MadeCall, own: &StepOutcome) -> bool {
    // The answer of a gate that does not act is in no record, except that it allowed the call.
    if !call.place().is_call {
        return call.reply.is_ok();
    }
    let Ok(reply) = &call.reply else { return false };
    let produced = own.produced.as_ref();
    let item = usize::try_from(call.item).unwrap_or(usize::MAX);
    let has_called = own.called.contains_key(&call.capability) && call.attempt == 1;
    let is_output = if own.meta.contains_key("foreach_count") {
        let produced = produced.and_then(Value::as_object).cloned().unwrap_or_default();
        let at = |list: &Value| list.as_array().and_then(|list| list.get(item)).cloned().unwrap_or_default();
        let output = reply.output.as_object();
        produced.iter().all(|(key, list)| at(list) == reply.output.get(key).cloned().unwrap_or_default())
            && output.is_some_and(|output| output.keys().all(|key| produced.contains_key(key)))
    } else if own.meta.contains_key("while_iterations") {
        let iteration = usize::try_from(call.iteration).unwrap_or(usize::MAX);
        own.commits.get(iteration) == Some(&reply.output)
    } else if own.meta.contains_key("scatter_strategy") {
        true
    } else {
        own.input == call.input && produced == Some(&reply.output) && reported(own) == reply.meta
    };
    has_called && is_output
}

/// Returns what the provider of the only call of a step reported.
fn reported(own: &StepOutcome) -> Object {
    [USAGE_KEY, EXCHANGES_KEY].into_iter().fold(own.meta.clone(), |meta, key| meta.without(key))
}

impl Child {
    /// Returns whether a call that the run around it lists was made in this run or below it.
    fn made(&self, call: &MadeCall, depth: usize) -> bool {
        let parts: Vec<&str> = call.key.split('/').skip(depth * PATH_PARTS).take(PATH_PARTS).collect();
        let Place { iteration, item, attempt } = self.place;
        let [_, at, skill, number] = parts.as_slice() else { return false };
        *at == format!("{iteration}.{item}")
            && key_text(skill) == self.skill
            && *number == attempt.to_string()
    }
}

/// Returns whether the outputs of a nested run are the part of a step's output that belongs to its place.
fn is_part(outcome: &StepOutcome, outputs: &Object, child: &Child) -> bool {
    let produced = outcome.produced.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
    let text = |key: &str| outcome.meta.get(key).and_then(Value::as_str);
    if outcome.meta.contains_key("foreach_count") {
        let at = |list: &Value| list.as_array().and_then(|list| list.get(child.place.item)).cloned();
        return produced
            .iter()
            .all(|(key, list)| at(list) == Some(outputs.get(key).cloned().unwrap_or_default()))
            && outputs.iter().all(|(key, _)| produced.contains_key(key));
    }
    if outcome.meta.contains_key("while_iterations") {
        let commit = outcome.commits.get(child.place.iteration);
        return commit.and_then(Value::as_object) == Some(outputs);
    }
    let name = format!("skill:{}", child.skill);
    match text("scatter_strategy") {
        None => produced == *outputs,
        Some("collect") => produced.get(&name).and_then(Value::as_object) == Some(outputs),
        Some("first_success") => text("scatter_winner") != Some(&*name) || produced == *outputs,
        // Joined lists hold those of each branch.
        Some(_) => outputs.iter().all(|(key, value)| {
            let joined = produced.get(key).and_then(Value::as_array).unwrap_or_default();
            let parts = value.as_array().map_or_else(|| vec![value.clone()], <[Value]>::to_vec);
            parts.iter().all(|part| joined.contains(part))
        }),
    }
}

/// Reads the results of a nested run; `None` for an id that names no place.
fn read(store: &StoreHandle, run: &str) -> Result<Option<Child>, CliError> {
    let Some(place) = Place::of(run) else { return Ok(None) };
    let id = RunId::new(run).map_err(|error| CliError::new(Code::NoSuchRun, error.to_string()))?;
    let journal = Journal::of_stored(store.clone(), &id)?;
    let stored = StoredSkillRun::require(&journal)?;
    let child = stored.read_back(&journal)?;
    let report = child.program().report();
    let (mut metrics, mut cost) = (TraceMetrics::default(), Usage::default());
    for outcome in child.program().outcomes() {
        metrics.add(outcome.metrics);
        cost.add(&Usage { cost: Usage::of_meta(&outcome.meta).cost, ..Usage::default() });
    }
    let outputs = report.failure.is_none().then(|| report.state.result());
    let skill = stored.prepared.skill().id.to_string();
    let is_completed = outputs.is_some();
    let failed = FailedPart::nested(&stored.prepared.skill().id, child.program().outcomes());
    let failed = if is_completed { failed } else { Vec::new() };
    let outcomes: Vec<StepOutcome> = child.program().outcomes().to_vec();
    let called = outcomes.iter().flat_map(|outcome| outcome.called.keys());
    let own = called.filter(|id| !id.starts_with("skill:"));
    let outward = own.map(|id| (id.clone(), stored.library.effect(id)));
    let outward = outward.filter(|(_, effect)| *effect != Effect::Pure).collect();
    Ok(Some(Child { place, skill, outputs, metrics, cost, failed, outcomes, outward }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_nested_run_tells_the_place_of_its_call() {
        let place = |iteration, item, attempt| Some(Place { iteration, item, attempt });
        assert_eq!(Place::of("a/b"), place(0, 0, 1));
        assert_eq!(Place::of("a/b@1.2.3"), place(1, 2, 3));
        assert_eq!(Place::of("a@0.1.1/b"), place(0, 0, 1));
        assert_eq!(Place::of("a/b@x"), None);
    }
}
