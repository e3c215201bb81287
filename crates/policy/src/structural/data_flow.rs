//! Every input of every action was produced by exactly one earlier action.

use std::collections::{BTreeMap, BTreeSet};

use super::Outcome;
use crate::eval::Subject;

pub(super) fn check(subject: &Subject) -> Outcome {
    let producers = producers(subject);
    let mut outcome = Outcome { checked: Some(0), ..Outcome::default() };
    for action in subject.trace().actions() {
        let at = action.position().get();
        let mut inputs = action.inputs().peekable();
        if inputs.peek().is_none() {
            continue;
        }
        outcome.checked = outcome.checked.map(|count| count + 1);
        let faults: Vec<String> = inputs.filter_map(|input| fault(input, at, producers.get(input))).collect();
        if faults.is_empty() {
            outcome.evidence.push(at);
        } else {
            outcome.violating.push(at);
            outcome.faults.extend(faults);
        }
    }
    outcome
}

/// Finds who produced what: every action that lists it, and the one the artifact itself names.
fn producers(subject: &Subject) -> BTreeMap<&str, BTreeSet<usize>> {
    let mut producers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let trace = subject.trace();
    for action in trace.actions() {
        for output in action.outputs() {
            producers.entry(output).or_default().insert(action.position().get());
        }
    }
    for artifact in trace.artifacts() {
        let named = artifact.producer_action_id().and_then(|id| trace.action_by_id(id));
        if let (Some(id), Some(action)) = (artifact.id(), named) {
            producers.entry(id).or_default().insert(action.position().get());
        }
    }
    producers
}

fn fault(input: &str, at: usize, producers: Option<&BTreeSet<usize>>) -> Option<String> {
    let Some(producers) = producers else { return Some(format!("nothing produced its input `{input}`")) };
    match producers.range(..at).count() {
        0 => Some(format!("its input `{input}` was not produced before it")),
        1 => None,
        several => Some(format!("its input `{input}` was produced by {several} earlier actions")),
    }
}
