//! How a problem says that its run is interactive.

use hence_canon::{Object, Value};
use hence_journal::{Lines, RecordIndex};
use hence_state::{Finding, ProblemSpec};

use super::STEP_PREFIX;
use crate::plan;

/// The skill a problem pins for an interactive run over variables.
pub const VARIABLES_SKILL: &str = "variables";
/// The only version of it there is.
pub const VARIABLES_SKILL_VERSION: &str = "1.0.0";

/// Makes the problem of an interactive run: its id, when its clock begins, and the task.
pub fn variables_problem(id: &str, created_at: &str, prompt: &str) -> Value {
    let object = |members: &[(&str, Value)]| -> Value {
        members.iter().map(|(key, value)| (*key, value.clone())).collect::<Object>().into()
    };
    let skill = object(&[("id", VARIABLES_SKILL.into()), ("version", VARIABLES_SKILL_VERSION.into())]);
    object(&[
        ("version", "1.0.0".into()),
        ("id", id.into()),
        ("created_at", created_at.into()),
        ("inputs", object(&[("prompt", prompt.into())])),
        ("settings", object(&[("skill", skill)])),
    ])
}

/// Returns whether a problem pins an interactive run.
pub fn is_pinned(problem: &Value) -> bool {
    pinned(problem, "id").and_then(Value::as_str) == Some(VARIABLES_SKILL)
}

/// Returns whether a problem pins a skill by the digest of its document: a program that lies beside the journal.
pub fn pins_document(problem: &Value) -> bool {
    let is_text = |key: &str| pinned(problem, key).is_some_and(|value| value.as_str().is_some());
    !is_pinned(problem) && ["id", "version", "sha256"].into_iter().all(is_text)
}

/// Returns whether a journal reads like that of an interactive run. For verifiers that have no problem to ask.
pub(crate) fn reads_like_one(journal: &[u8]) -> bool {
    let first = Lines::of(journal).get(RecordIndex::HEADER.next());
    let first = first.and_then(|line| hence_canon::parse(line).ok());
    let step = first.as_ref().and_then(|record| record.get("result")?.get("step")?.as_str());
    step.is_some_and(|step| step.starts_with(STEP_PREFIX))
}

/// Checks that a problem pins the skill, in the version that is here.
pub(crate) fn driven(problem: &ProblemSpec) -> Result<(), Finding> {
    let value = problem.canonical().value();
    for (key, expected) in [("id", VARIABLES_SKILL), ("version", VARIABLES_SKILL_VERSION)] {
        let found = pinned(value, key);
        if found.and_then(Value::as_str) != Some(expected) {
            let found = found.map_or_else(|| "nothing".to_owned(), Value::to_string);
            let message = format!("expected {expected:?}, found {found}");
            return Err(plan::policy_finding(&["settings", "skill", key], message));
        }
    }
    Ok(())
}

fn pinned<'a>(problem: &'a Value, key: &str) -> Option<&'a Value> {
    problem.get("settings")?.get("skill")?.get(key)
}
