//! Comparing what is found with what the data shows: members it does not show are not compared.

use std::collections::BTreeSet;

use hence_canon::{Object, Value};
use hence_variables::StorePath;

use crate::suite::rlm::fixture;

pub(super) fn result(expected: &Value, found: &Value) -> Result<(), String> {
    members(expected, |key| found.get(key).cloned()).map_err(|reason| format!("{reason} in {}", short(found)))
}

pub(super) fn state(expected: &Value, document: &Value) -> Result<(), String> {
    let Value::Object(expected) = expected else { return Err("malformed expectation".to_owned()) };
    for (key, value) in expected.iter() {
        member(key, value, document).map_err(|reason| format!("{key}: {reason}"))?;
    }
    Ok(())
}

fn member(key: &str, expected: &Value, document: &Value) -> Result<(), String> {
    let history = |list: &str| document.get("history").and_then(|history| history.get(list));
    let mutations = history("mutations").and_then(Value::as_array).unwrap_or_default();
    match key {
        "variables" => variables(expected, document.get("variables").unwrap_or(&Value::Null)),
        "mutations" => entries(expected, mutations),
        "mutations_tail" => {
            let length = expected.as_array().unwrap_or_default().len();
            entries(expected, mutations.get(mutations.len().saturating_sub(length)..).unwrap_or_default())
        }
        "mutations_listed" => equal(expected, &mutations.len().into()),
        "checkpoints" => {
            let all = history("checkpoints").and_then(Value::as_array).unwrap_or_default();
            let names: Value = all.iter().map(|one| one.get("name").cloned().unwrap_or_default()).collect();
            equal(expected, &names)
        }
        count => {
            let found = document.get("metadata").and_then(|metadata| metadata.get(count));
            equal(expected, found.unwrap_or(&Value::Null))
        }
    }
}

fn variables(expected: &Value, found: &Value) -> Result<(), String> {
    let (Value::Object(expected), Value::Object(found)) = (expected, found) else {
        return Err("malformed".to_owned());
    };
    let names = |object: &Object| object.keys().cloned().collect::<BTreeSet<_>>();
    if names(expected) != names(found) {
        return Err(format!("expected {:?}, found {:?}", names(expected), names(found)));
    }
    for (name, expected) in expected.iter() {
        let variable = found.get(name).unwrap_or(&Value::Null);
        // The data shows the members of `metadata` next to the others.
        let look = |key: &str| variable.get(key).or_else(|| variable.get("metadata")?.get(key)).cloned();
        members(expected, look).map_err(|reason| format!("{name}: {reason}"))?;
    }
    Ok(())
}

fn entries(expected: &Value, found: &[Value]) -> Result<(), String> {
    let expected = expected.as_array().unwrap_or_default();
    if expected.len() != found.len() {
        return Err(format!("expected {} entries, found {}", expected.len(), found.len()));
    }
    for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
        members(expected, |key| found.get(key).cloned())
            .map_err(|reason| format!("entry {index}: {reason}"))?;
    }
    Ok(())
}

fn members(expected: &Value, found: impl Fn(&str) -> Option<Value>) -> Result<(), String> {
    let Value::Object(expected) = expected else { return Err("malformed expectation".to_owned()) };
    for (key, value) in expected.iter() {
        let found = found(key).ok_or_else(|| format!("{key} is missing"))?;
        equal(value, &found).map_err(|reason| format!("{key}: {reason}"))?;
    }
    Ok(())
}

fn equal(expected: &Value, found: &Value) -> Result<(), String> {
    if expected.get("$reference") == Some(&Value::Bool(true)) {
        let reference = found.as_str().map(StorePath::from_reference);
        return match reference {
            Some(Ok(_)) => Ok(()),
            _ => Err(format!("expected a reference, found {}", short(found))),
        };
    }
    let expected = fixture::expand(expected);
    if expected == *found {
        Ok(())
    } else {
        Err(format!("expected {}, found {}", short(&expected), short(found)))
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}
