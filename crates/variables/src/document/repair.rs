//! Mending what a document says about itself: counts and status follow from the rest.

use hence_canon::{JsonPointer, Object, Value};

use crate::Status;
use crate::document::{StrictCode, check_schema, check_strict};
use crate::name::FINAL;

/// One claim that was set right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    /// The claim.
    pub pointer: JsonPointer,
    /// What it said.
    pub found: Value,
    /// What it says now.
    pub repaired: Value,
}

/// Recomputes counts and status where they are wrong and says what it changed. Nothing else is touched, and a
/// document that breaks the schema is returned as it is.
pub fn repair(document: &Value) -> (Value, Vec<Repair>) {
    let mut repaired = document.clone();
    let mut repairs = Vec::new();
    if !check_schema(document).is_empty() {
        return (repaired, repairs);
    }
    for error in check_strict(document) {
        let mends = matches!(error.code, StrictCode::CountMismatch | StrictCode::StatusMismatch);
        let key = error.pointer.tokens().next_back().unwrap_or_default().to_owned();
        let value = if mends { recompute(document, &key) } else { None };
        let found = document.pointer(&error.pointer).cloned();
        if let (Some(value), Some(found), Value::Object(whole)) = (value, found, &repaired) {
            let metadata = whole.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
            repaired = whole.with("metadata", metadata.with(key, value.clone())).into();
            repairs.push(Repair { pointer: error.pointer, found, repaired: value });
        }
    }
    (repaired, repairs)
}

fn recompute(document: &Value, key: &str) -> Option<Value> {
    let variables = document.get("variables").and_then(Value::as_object);
    let listed = |list: &str| Some(document.get("history")?.get(list)?.as_array()?.len().into());
    match key {
        "variable_count" => Some(variables.map_or(0, Object::len).into()),
        "mutation_count" => listed("mutations"),
        "checkpoint_count" => listed("checkpoints"),
        "completion_status" => {
            let answer = variables?.get(FINAL).and_then(|answer| answer.get("value"));
            let answered = answer.is_some_and(|value| !value.is_null());
            Some(if answered { Status::Complete } else { Status::Incomplete }.into())
        }
        _ => None,
    }
}
