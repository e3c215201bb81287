//! `schedule`: steps and their outcomes to what was executed, with one worker.

use hence_canon::{Object, Value};
use hence_cognition::plan::Plan;
use hence_cognition::schedule::{FailureMode, Schedule};
use hence_cognition::skill::Skill;
use hence_cognition::state::StepStatus;

use super::memory::failure;

pub(super) fn run(case: &Value) -> Value {
    let steps = case.get("steps").and_then(Value::as_array).unwrap_or_default();
    if steps.is_empty() {
        return report(Vec::new(), Vec::new());
    }
    let Some(skill) = Skill::read(&document(steps)).skill else { return failure("not a skill") };
    let Ok(plan) = Plan::of(&skill) else {
        let found =
            [("error", Value::from("InvalidSkillSpecError")), ("executed", Value::from(Vec::<Value>::new()))];
        return Object::from_iter(found).into();
    };
    let fail_fast = case.get("fail_fast") != Some(&Value::Bool(false));
    let mode = if fail_fast { FailureMode::FailFast } else { FailureMode::Continue };
    let mut schedule = Schedule::new(&plan, mode);
    let id = |position: usize| {
        skill.steps.get(position).map(|step| Value::from(step.id.clone())).unwrap_or_default()
    };
    let (mut executed, mut results) = (Vec::new(), Vec::new());
    while let Some(step) = schedule.start() {
        let id = id(step.position());
        let outcome =
            id.as_str().and_then(|id| case.get("outcomes")?.get(id)?.as_str()).unwrap_or("completed");
        executed.push(id.clone());
        if outcome == "raise_safety" {
            let found = [("error", Value::from("SafetyGateFailedError")), ("executed", executed.into())];
            return Object::from_iter(found).into();
        }
        let status = outcome.parse().unwrap_or(StepStatus::Failed);
        results.push(Value::from(vec![id, status.as_str().into()]));
        schedule.settle(status);
    }
    results.extend(schedule.blocked().map(|step| Value::from(vec![id(step.position()), "skipped".into()])));
    report(executed, results)
}

fn report(executed: Vec<Value>, results: Vec<Value>) -> Value {
    Object::from_iter([("executed", executed), ("results", results)]).into()
}

fn document(steps: &[Value]) -> Value {
    let step = |step: &Value| {
        let config = match step.get("depends_on") {
            Some(depends_on) => Object::from_iter([("depends_on", depends_on.clone())]),
            None => Object::new(),
        };
        let id = step.get("id").cloned().unwrap_or_default();
        Object::from_iter([("id", id), ("uses", "any".into()), ("config", config.into())])
    };
    let texts = ["id", "version", "name", "description"].map(|key| (key, Value::from("any")));
    let maps = ["inputs", "outputs"].map(|key| (key, Value::from(Object::new())));
    let steps: Value = steps.iter().map(step).collect();
    texts.into_iter().chain(maps).chain([("steps", steps)]).collect::<Object>().into()
}
