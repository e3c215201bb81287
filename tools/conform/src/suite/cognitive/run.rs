//! `run`: a skill executed against a table of mock capabilities.

mod agreement;
mod mock;
mod report;

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Float, Object, Value};
use hence_cognition::capability::TrustLevel;
use hence_cognition::run::{RunOptions, RunRequest, run as run_skill};
use hence_cognition::schedule::FailureMode;
use hence_cognition::skill::Skill;

pub(super) use agreement::{agrees, covers, deviation};

use super::memory::failure;
use mock::Mock;

pub(super) fn run(case: &Value) -> Value {
    let documents = case.get("skills").and_then(Value::as_array).unwrap_or_default();
    let mut skills = Vec::new();
    for document in documents {
        match Skill::read(document).skill {
            Some(skill) => skills.push(Arc::new(skill)),
            None => return failure("InvalidSkillSpecError"),
        }
    }
    let Some(main) = skills.first().cloned() else { return failure("no skill") };
    let by_id: BTreeMap<Arc<str>, Arc<Skill>> =
        skills.into_iter().map(|skill| (skill.id.clone(), skill)).collect();
    let mut mock = Mock::new(case, by_id);
    let request = RunRequest {
        inputs: case.get("inputs").and_then(Value::as_object).cloned().unwrap_or_default(),
        options: options(case.get("options").and_then(Value::as_object).unwrap_or(&Object::new())),
        ..RunRequest::default()
    };
    let report = run_skill(&main, request, &mut mock);
    report::write(&report, &mock)
}

fn options(given: &Object) -> RunOptions {
    let seconds = |key: &str| match given.get(key) {
        Some(Value::Int(int)) => Float::new(int.to_f64_lossy()).ok(),
        Some(Value::Float(float)) => Some(*float),
        _ => None,
    };
    let defaults = RunOptions::default();
    let depth =
        given.get("max_skill_depth").and_then(Value::as_u64).and_then(|depth| u32::try_from(depth).ok());
    let confirmed = given.get("confirmed_capabilities").and_then(Value::as_array).unwrap_or_default();
    RunOptions {
        on_failure: match given.get("fail_fast") {
            Some(Value::Bool(false)) => FailureMode::Continue,
            _ => FailureMode::FailFast,
        },
        max_skill_depth: depth.unwrap_or(defaults.max_skill_depth),
        // A caller of an unknown level is an ordinary one.
        trust_level: given
            .get("trust_level")
            .and_then(Value::as_str)
            .and_then(TrustLevel::find)
            .unwrap_or(defaults.trust_level),
        confirmed_capabilities: confirmed.iter().filter_map(Value::as_str).map(Arc::from).collect(),
        default_step_timeout_seconds: seconds("default_step_timeout_seconds"),
        max_lineage_timeout_seconds: seconds("max_lineage_timeout_seconds"),
        seed: defaults.seed,
    }
}
