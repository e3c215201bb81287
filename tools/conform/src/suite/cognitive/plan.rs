//! `plan`: a skill document to its order of execution, or the stage at which it is refused.

use hence_canon::{Object, Value};
use hence_cognition::plan::Plan;
use hence_cognition::skill::{Skill, Stage};

pub(super) fn run(case: &Value) -> Value {
    match order(case.get("skill").unwrap_or(&Value::Null)) {
        Ok(order) => Object::from_iter([("valid", Value::Bool(true)), ("order", order)]).into(),
        Err(stage) => Object::from_iter([("error", "InvalidSkillSpecError"), ("stage", stage)]).into(),
    }
}

fn order(document: &Value) -> Result<Value, &'static str> {
    let reading = Skill::read(document);
    for (stage, name) in [(Stage::Load, "load"), (Stage::Plan, "plan"), (Stage::Schedule, "schedule")] {
        if reading.findings.iter().any(|finding| finding.rule.stage() == stage) {
            return Err(name);
        }
    }
    let skill = reading.skill.ok_or("load")?;
    let plan = Plan::of(&skill).map_err(|_| "schedule")?;
    Ok(plan
        .order()
        .iter()
        .filter_map(|index| skill.steps.get(index.position()))
        .map(|step| step.id.clone())
        .collect())
}
