//! The breadth-first walk through the states, and the trace it finds.

use std::collections::{BTreeSet, VecDeque};

use hence_canon::{Object, Value};

use super::automaton::{Automaton, State};
use super::candidate::{Candidate, Draft, Link, candidates};
use super::{Found, LENGTH_MAX, NotSearchable, STATES_MAX, STEPS_MAX};
use crate::eval::{Evaluator, SinceReading, Subject};
use crate::formula::Expr;

/// The name of the shared artifacts.
const SHARED_TARGET: &str = "shared";

/// Searches for a shortest trace that satisfies a formula.
pub(super) fn search(goal: &Expr) -> Result<Found, NotSearchable> {
    let automaton = Automaton::of(goal)?;
    let mut best = Found::Nothing;
    for header in headers(&automaton) {
        let candidates = candidates(&automaton, &header)?;
        let found = walk(&automaton, &candidates, &header, goal)?;
        best = match (best, found) {
            (Found::Trace(old), Found::Trace(new)) if length(&old) <= length(&new) => Found::Trace(old),
            (_, Found::Trace(new)) => Found::Trace(new),
            (Found::Nothing, other) => other,
            (old, _) => old,
        };
    }
    Ok(best)
}

fn length(trace: &Value) -> usize {
    trace.get("actions").and_then(Value::as_array).map_or(0, <[Value]>::len)
}

/// Makes the headers a formula can distinguish: with and without a trigger, with and without an outcome.
fn headers(automaton: &Automaton) -> Vec<Object> {
    let mentions = |name: &str| {
        automaton.present.iter().any(|expr| crate::eval::any_word(expr, &mut |word| word.as_str() == name))
    };
    let event = |kind: &str| [("type", kind)].into_iter().collect::<Object>();
    let plain: Object = [("trace_id", "found")].into_iter().collect();
    let mut headers = vec![plain];
    for (name, member, kind) in
        [("start_event", "trigger", "TaskReceived"), ("end_event", "outcome", "ProcessCompleted")]
    {
        if mentions(name) {
            let with: Vec<Object> = headers.iter().map(|header| header.with(member, event(kind))).collect();
            headers.extend(with);
        }
    }
    headers
}

/// A state, and the state and candidate it was reached from.
struct Visit {
    state: State,
    from: Option<(usize, usize)>,
    length: usize,
}

fn walk(
    automaton: &Automaton,
    candidates: &[Candidate],
    header: &Object,
    goal: &Expr,
) -> Result<Found, NotSearchable> {
    let start = automaton.start();
    let mut seen: BTreeSet<State> = BTreeSet::from([start.clone()]);
    let mut visits = vec![Visit { state: start, from: None, length: 0 }];
    let mut open: VecDeque<usize> = VecDeque::from([0]);
    let (mut cut, mut steps) = (false, 0);
    while let Some(at) = open.pop_front() {
        let Some(visit) = visits.get(at) else { continue };
        // A trace without actions shows nothing, whatever it satisfies.
        if visit.length > 0 && automaton.accepts(&visit.state) {
            let trace = write_trace(header, &path(&visits, candidates, at));
            return confirm(trace, goal);
        }
        let (state, length) = (visit.state.clone(), visit.length);
        if length >= LENGTH_MAX {
            cut = true;
            continue;
        }
        for (place, candidate) in candidates.iter().enumerate() {
            steps += 1;
            if seen.len() >= STATES_MAX || steps > STEPS_MAX {
                cut = true;
                break;
            }
            let next = automaton.step(&state, candidate);
            if seen.insert(next.clone()) {
                visits.push(Visit { state: next, from: Some((at, place)), length: length + 1 });
                open.push_back(visits.len() - 1);
            }
        }
    }
    let length = visits.iter().map(|visit| visit.length).max().unwrap_or(0);
    Ok(if cut { Found::NothingWithin { states: visits.len(), length } } else { Found::Nothing })
}

fn path<'c>(visits: &[Visit], candidates: &'c [Candidate], end: usize) -> Vec<&'c Candidate> {
    let mut path = Vec::new();
    let mut at = end;
    while let Some((from, place)) = visits.get(at).and_then(|visit| visit.from) {
        path.extend(candidates.get(place));
        at = from;
    }
    path.reverse();
    path
}

/// Writes the trace of a path.
fn write_trace(header: &Object, path: &[&Candidate]) -> Value {
    let (mut actions, mut artifacts): (Vec<Object>, Vec<Object>) = (Vec::new(), Vec::new());
    let mut last_in_chain = None;
    for (at, candidate) in path.iter().enumerate() {
        let (action, made) = write_action(at, &candidate.draft, candidate.link, last_in_chain);
        if candidate.link == Link::Chain {
            last_in_chain = Some(at);
        }
        actions.push(action);
        artifacts.extend(made);
    }
    header.with("actions", actions).with("artifacts", artifacts).into()
}

/// Writes an action with its id and its artifacts, which link it to the others.
pub(super) fn write_action(
    at: usize,
    draft: &Draft,
    link: Link,
    last_in_chain: Option<usize>,
) -> (Object, Vec<Object>) {
    let id = at + 1;
    let mut artifacts = Vec::new();
    let plain = |name: String, kind: &str| -> Object {
        let known = [("artifact_id", Value::from(name)), ("artifact_type", kind.into())];
        known.into_iter().collect::<Object>().with("producer_action_id", id)
    };
    if link != Link::Apart {
        let mut shared = plain(format!("shared-{id}"), "AnalysisNote").with("name", SHARED_TARGET);
        if let (Link::Chain, Some(last)) = (link, last_in_chain) {
            shared = shared.with("derived_from", vec![format!("shared-{}", last + 1)]);
        }
        artifacts.push(shared);
    }
    for kind in &draft.artifact_types {
        let name = format!("{}-{id}", kind.to_lowercase());
        artifacts.push(plain(name.clone(), kind).with("name", name));
    }
    let outputs: Vec<Value> =
        artifacts.iter().filter_map(|artifact| artifact.get("artifact_id").cloned()).collect();
    let mut action = Object::from_iter([("id", id)]);
    for (key, value) in draft.action.iter() {
        action = action.with(key.clone(), value.clone());
    }
    if draft.is_high_stakes {
        let evidence = Object::from_iter([("type", "FileRef".to_owned()), ("ref", format!("payments/{id}"))]);
        action = action.with("evidence", vec![evidence]);
    }
    if !outputs.is_empty() {
        action = action.with("outputs", outputs);
    }
    (action, artifacts)
}

/// Confirms a trace with the evaluator.
fn confirm(trace: Value, goal: &Expr) -> Result<Found, NotSearchable> {
    let unconfirmed = || NotSearchable::Unconfirmed(goal.to_string());
    let subject = Subject::read(&trace).map_err(|_| unconfirmed())?;
    let holds = Evaluator::new(&subject, SinceReading::Strict).truth(goal).map_err(|_| unconfirmed())?.at(0);
    if holds { Ok(Found::Trace(trace)) } else { Err(unconfirmed()) }
}
