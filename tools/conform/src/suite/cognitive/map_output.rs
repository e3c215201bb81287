//! `map_output`: one or more step outputs written to a state.

use hence_canon::{Object, Value};
use hence_cognition::mapping::{MergeStrategy, OutputMapping, OutputMappingError};
use hence_cognition::state::Memory;

use super::{matching, memory};

pub(super) fn run(case: &Value) -> Value {
    let mut state = match memory::read(case) {
        Ok(state) => state,
        Err(failure) => return failure,
    };
    let single = std::slice::from_ref(case);
    let steps = case.get("steps").and_then(Value::as_array);
    for (index, step) in steps.unwrap_or(single).iter().enumerate() {
        match apply(step, &state) {
            Ok(after) => state = after,
            Err(_) => {
                let mut found: Vec<(&str, Value)> = vec![
                    ("error", "OutputMappingError".into()),
                    ("state_after", memory::write(&state).into()),
                ];
                if steps.is_some() {
                    found.push(("failed_index", index.into()));
                }
                return found.into_iter().collect::<Object>().into();
            }
        }
    }
    Object::from_iter([("state_after", memory::write(&state))]).into()
}

fn apply(step: &Value, state: &Memory) -> Result<Memory, OutputMappingError> {
    let configured = step.get("config").and_then(|config| config.get("merge_strategy"));
    let strategy = MergeStrategy::from_config(step.get("merge_strategy").or(configured))?;
    let produced = step.get("produced").unwrap_or(&Value::Null);
    OutputMapping::parse(step.get("output").unwrap_or(&Value::Null))?.apply(state, produced, strategy)
}

/// The state after is always a whole one: an empty one means that nothing was written.
pub(super) fn covers(sane: &Value, found: &Value) -> bool {
    let state = |value: &Value| value.get("state_after").cloned();
    matching::covers(sane, found)
        && state(sane).is_none_or(|sane| state(found).is_some_and(|found| matching::same(&sane, &found)))
}

pub(super) fn deviation(case: &Value, found: &Value) -> Option<&'static str> {
    let expect = case.get("expect")?;
    let agree = |key: &str| expect.get(key) == found.get(key);
    let failed = expect.get("error").is_some() && agree("error") && agree("failed_index");
    if failed {
        return Some(
            "a step's writes are all or nothing; the recorded state keeps those before the failing one",
        );
    }
    if found.get("error").is_some() && expect.get("state_after").is_some_and(holds_another_type) {
        return Some("slots and texts are typed; the recorded state holds a value of another type");
    }
    // The document limits the duplicate error to one step's mapping.
    let marked = case.get("state").and_then(|state| state.get("written_targets")).is_some();
    (marked && expect.get("error").is_some() && found.get("error").is_none())
        .then_some("overwrite is refused only within one step's mapping, as the document says")
}

fn holds_another_type(state: &Value) -> bool {
    let members = |block: &str| state.get(block).and_then(Value::as_object).cloned().unwrap_or_default();
    let text = |key: &str, value: &Value| key != "result" && !matches!(value, Value::String(_) | Value::Null);
    let slot = |key: &str, value: &Value| match key {
        "artifacts" => value.as_object().is_none(),
        _ => value.as_array().is_none(),
    };
    members("output").iter().any(|(key, value)| text(key, value))
        || members("working").iter().any(|(key, value)| slot(key, value))
}
