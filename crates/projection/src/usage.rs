//! The usage of a run and its limits, as its trace shows them.

use hence_canon::{Object, Value};
use hence_cognition::budget::{Limits, Usage};
use hence_cognition::run::MadeCall;
use hence_engine::Blobs;
use hence_review::model::Trace;
use hence_skills::{CallHistory, LIMITS_KEY, Links, logged_usage, recorded_outcome, recorded_usage};
use hence_solve::{Entry, Spec};
use hence_state::{ProblemSpec, StepResult};

use crate::trace::JOURNAL_MEMBER;
use crate::view::Program;

/// Returns what the calls of a recorded step used.
pub(crate) fn of_step(program: Program<'_>, result: &StepResult, blobs: &dyn Blobs) -> Usage {
    match program {
        Program::Skill { host, .. } => {
            recorded_outcome(result, blobs).map(|outcome| recorded_usage(&outcome, host)).unwrap_or_default()
        }
        Program::Reason(_) => match result.others().get("metrics").and_then(Value::as_object) {
            Some(metrics) => {
                let attempts = metrics.get("attempts").and_then(Value::as_u64).unwrap_or(1);
                Usage { calls: attempts, ..Usage::of_meta(metrics) }
            }
            None => Usage::default(),
        },
        Program::Variables => Usage::default(),
        Program::Trace => crate::authored::usage_of(result, blobs),
        Program::Solve => match Entry::read(result, blobs) {
            Ok(Entry::Turn(turn)) => turn.reply.usage,
            Ok(Entry::Compact(compact)) => compact.reply.usage,
            Ok(Entry::Call(call)) => call.used.calls,
            Ok(Entry::Block(_) | Entry::End(_)) | Err(_) => Usage::default(),
        },
    }
}

/// Returns what the calls of steps without a record used: those of a run that waits, was stopped or was killed.
pub(crate) fn of_calls(program: Program<'_>, calls: Option<&CallHistory>) -> Usage {
    match (program, calls) {
        (Program::Skill { host, .. }, Some(calls)) => logged_usage(host, calls),
        // The calls of bound steps leave the run if they act, and only those are logged with an intent.
        (Program::Reason(_), Some(calls)) => {
            let made = calls.made_calls(|_| false);
            Usage { calls: made.iter().map(MadeCall::times).fold(0, u64::saturating_add), ..Usage::default() }
        }
        _ => Usage::default(),
    }
}

/// Returns the limits of a run: those its problem pins and those of its skill.
fn limits_of(program: Program<'_>, problem: &ProblemSpec) -> Limits {
    let pinned = problem.canonical().value().get("settings").and_then(|settings| settings.get(LIMITS_KEY));
    let pinned = pinned.and_then(|limits| Limits::read(limits).ok()).unwrap_or_default();
    match program {
        Program::Skill { prepared, .. } => pinned.and(&prepared.skill().limits),
        Program::Reason(_) | Program::Variables | Program::Trace => pinned,
        Program::Solve => {
            Spec::read(problem.canonical().value()).map(|spec| spec.limits.calls).unwrap_or_default()
        }
    }
}

/// Writes the totals into a trace, next to the head of the journal. A run that used nothing and has no limits has none.
pub(crate) fn write(trace: &mut Trace, program: Program<'_>, problem: &ProblemSpec, used: &Usage) {
    let limits = limits_of(program, problem);
    let mut used = used.clone();
    let links = Links::of_problem(problem.canonical().value());
    used.add(&links.map(|links| links.used_before()).unwrap_or_default());
    let mut about =
        trace.extra.get(JOURNAL_MEMBER).and_then(Value::as_object).cloned().unwrap_or_else(Object::new);
    if !used.is_empty() {
        about = about.with("usage", used.value());
    }
    if !limits.is_empty() {
        about = about.with("limits", limits.value());
    }
    trace.extra = trace.extra.with(JOURNAL_MEMBER, about);
}
