//! Retries: a new run that continues a failed one under the same idempotency keys.
//!
//! A retry shares the records before the step that failed, like a fork, and begins with a call log: everything that was
//! executed in the failed run answers from there, so nothing that succeeded is called again.

use std::collections::BTreeMap;

use hence_canon::Value;
use hence_cognition::budget::Usage;
use hence_cognition::run::{CallOutcome, MadeCall, StepOutcome, key_text};
use hence_cognition::skill::{Recovery, Skill};
use hence_cognition::state::StepStatus;

use crate::budget::{logged_usage, recorded_usage};
use crate::calls::{CallHistory, CallName, CallStatus, Entry, Intent, Question, QuestionKind};
use crate::host::Host;

/// Returns the place of the first outcome that failed: a retry shares the outcomes before it.
pub fn first_failed(outcomes: &[StepOutcome]) -> Option<usize> {
    outcomes.iter().position(|outcome| outcome.status == StepStatus::Failed)
}

/// Returns the call log with which a retry begins.
///
/// `outcomes` are those of the failed run from the step on that failed first, `unrecorded` is what its call log says about
/// steps without a record.
///
/// | in the failed run | in the retry |
/// |---|---|
/// | a call replied | it is answered with that reply |
/// | a call failed | it is made again, under the same idempotency key |
/// | nobody knows whether a call happened | its recovery decides; where that was to fail, a person is asked |
/// | a person or a gate refused | they are asked again |
/// | a step after the one that failed completed | its outcome is recorded, nothing is executed |
pub fn retry_log(
    skill: &Skill,
    host: &dyn Host,
    outcomes: &[StepOutcome],
    unrecorded: &CallHistory,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for outcome in outcomes {
        match outcome.status {
            StepStatus::Failed => entries.extend(calls_again(skill, host, &outcome.calls)),
            StepStatus::Completed | StepStatus::Degraded => {
                entries.push(Entry::Outcome(Box::new(outcome.clone())));
            }
            // A condition is evaluated again, and gives the same.
            StepStatus::Skipped => {}
        }
    }
    for outcome in unrecorded.outcomes().values().filter(|outcome| outcome.status != StepStatus::Failed) {
        entries.push(Entry::Outcome(Box::new(outcome.clone())));
    }
    for (call, status) in unrecorded.calls() {
        match status {
            CallStatus::Replied(Ok(reply)) => {
                entries.push(Entry::Reply { call: call.clone(), reply: Ok(reply.clone()) });
            }
            CallStatus::Begun | CallStatus::Asked(Question { kind: QuestionKind::Undecided, .. }) => {
                entries.extend(unrecorded.begun(&call.key));
            }
            // Nobody knows whether it happened, and a person decided to repeat it.
            CallStatus::Again => entries.extend(unrecorded.begun(&call.key)),
            // Whoever is asked for a value is asked again, and a call that failed is made again.
            CallStatus::Asked(_) | CallStatus::Replied(Err(_)) => {}
        }
    }
    entries
}

/// Returns what the failed run used and its retry does not count by itself: the calls that failed. `log` is what
/// [`retry_log`] gave.
pub fn usage_before(
    host: &dyn Host,
    outcomes: &[StepOutcome],
    unrecorded: &CallHistory,
    log: &[Entry],
) -> Usage {
    let mut used = logged_usage(host, unrecorded);
    let failed = outcomes.iter().filter(|outcome| outcome.status == StepStatus::Failed);
    failed.for_each(|outcome| used.add(&recorded_usage(outcome, host)));
    let mut counted = CallHistory::default();
    log.iter().for_each(|entry| counted.apply(entry.clone()));
    used.without(&logged_usage(host, &counted))
}

/// Returns the lines that answer the calls of a failed step which need not be made again.
fn calls_again(skill: &Skill, host: &dyn Host, calls: &[MadeCall]) -> Vec<Entry> {
    let mut last: BTreeMap<&str, &MadeCall> = BTreeMap::new();
    for call in calls.iter().filter(|call| !call.is_held()) {
        // The attempts of a call are in order, so the last one stays. One that failed does not decide an earlier one.
        let known = last.entry(intention(&call.key)).or_insert(call);
        if (known.outcome(), call.outcome()) != (CallOutcome::Undecided, CallOutcome::Failed) {
            *known = call;
        }
    }
    let mut entries = Vec::new();
    for call in calls.iter().filter(|call| is_reusable(call) && !call.is_held()) {
        let Some(last) = last.get(intention(&call.key)) else { continue };
        if call.attempt > last.attempt {
            continue;
        }
        let name = CallName::from_key(call.key.clone(), call.capability.clone());
        match (last.outcome(), call.outcome()) {
            // The attempts begin anew.
            (CallOutcome::Failed, _) => {}
            (CallOutcome::Undecided, CallOutcome::Undecided) if last.key == call.key => {
                let intent = Intent::new(&call.input, &call.idempotency_key);
                let intent = Entry::Intent { call: name.clone(), intent };
                entries.extend(call.each_begun().iter().map(|_| intent.clone()));
                let is_repeated = recovery(skill, host, call) == Recovery::Retry;
                if !is_repeated && !host.knows_repeated_calls(&call.capability) {
                    let reason = call.reply.as_ref().err().map(|error| error.to_string().into());
                    let question =
                        Question { kind: QuestionKind::Undecided, input: call.input.clone(), reason };
                    entries.push(Entry::Question { call: name, question });
                }
            }
            _ => entries.push(Entry::Reply { call: name, reply: call.reply.clone() }),
        }
    }
    entries
}

/// Returns the key of a call without its attempt.
fn intention(key: &str) -> &str {
    key.rsplit_once('/').map_or(key, |(intention, _)| intention)
}

/// Returns whether a reply may answer the call in a retry. A person or a gate that refused is asked again.
fn is_reusable(call: &MadeCall) -> bool {
    let Ok(reply) = &call.reply else { return true };
    match call.key.rsplit('/').nth(2) {
        Some("confirm") => reply.output.get("value").and_then(Value::as_str) == Some("yes"),
        Some("before" | "after") => reply.output.get("allowed") == Some(&Value::Bool(true)),
        _ => true,
    }
}

/// Returns the recovery of a call: its step's, or else the host's.
fn recovery(skill: &Skill, host: &dyn Host, call: &MadeCall) -> Recovery {
    let mut parts = call.key.rsplit('/').skip(4);
    let step = parts.next().map(key_text).unwrap_or_default();
    let nested = parts.nth(1).map(key_text).and_then(|id| host.skill(&id));
    let step = nested.as_deref().unwrap_or(skill).step(&step);
    step.and_then(|step| step.recovery).unwrap_or_else(|| host.recovery(&call.capability))
}
