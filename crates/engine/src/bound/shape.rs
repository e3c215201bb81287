//! The shape that the output of a built-in step must have for the steps after it.

use hence_canon::{JsonPointer, Value};

/// Returns the part of a capability's output that is the step's output, unless the binding names another.
pub(super) fn output_of(step: &str) -> JsonPointer {
    match step {
        "AcquireEvidence" => JsonPointer::root().child("evidence"),
        _ => JsonPointer::root(),
    }
}

/// Checks an output of a built-in step. Outputs of registered steps are not checked.
///
/// # Errors
/// The expected and the found value, in words.
pub(super) fn check(step: &str, output: &Value) -> Result<(), String> {
    match step {
        "AcquireEvidence" => evidence(output),
        "Normalize" => member(output, "normalized_prompt", "a text", |value| value.as_str().is_some()),
        "Decompose" => member(output, "tasks", "a list", |value| value.as_array().is_some()),
        "Compute" => member(output, "task_count", "a count", |value| value.as_u64().is_some()),
        "Verify" => member(output, "status", "`passed` or `failed`", |value| {
            matches!(value.as_str(), Some("passed" | "failed"))
        }),
        "Synthesize" => member(output, "summary", "a text that is not empty", |value| {
            value.as_str().is_some_and(|text| !text.is_empty())
        }),
        _ => Ok(()),
    }
}

fn evidence(output: &Value) -> Result<(), String> {
    let Some(items) = output.as_array() else {
        return Err(format!("expected a list of objects, found {}", output.kind()));
    };
    match items.iter().enumerate().find(|(_, item)| item.as_object().is_none()) {
        None => Ok(()),
        Some((index, item)) => {
            Err(format!("expected a list of objects, found {} as item {index}", item.kind()))
        }
    }
}

fn member(output: &Value, key: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Result<(), String> {
    let Some(object) = output.as_object() else {
        return Err(format!("expected an object with `{key}`, {what}, found {}", output.kind()));
    };
    match object.get(key) {
        Some(value) if fits(value) => Ok(()),
        Some(value) => Err(format!("expected `{key}` to be {what}, found {}", value.kind())),
        None => Err(format!("expected an object with `{key}`, {what}, found none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    #[test]
    fn every_built_in_step_has_a_shape_and_says_what_it_misses() {
        for (step, good, bad) in [
            ("AcquireEvidence", r#"[{}, {"a": 1}]"#, r#"[{}, "a"]"#),
            ("AcquireEvidence", "[]", r#"{"evidence": []}"#),
            ("Normalize", r#"{"normalized_prompt": ""}"#, r#"{"prompt": ""}"#),
            ("Decompose", r#"{"tasks": [], "more": 1}"#, r#"{"tasks": {}}"#),
            ("Compute", r#"{"task_count": 0}"#, r#"{"task_count": -1}"#),
            ("Verify", r#"{"status": "failed"}"#, r#"{"status": "maybe"}"#),
            ("Synthesize", r#"{"summary": "x"}"#, r#"{"summary": ""}"#),
            ("Synthesize", r#"{"summary": "x"}"#, r#""x""#),
        ] {
            assert_eq!(check(step, &parse(good.as_bytes()).unwrap()), Ok(()), "{step}");
            let said = check(step, &parse(bad.as_bytes()).unwrap()).unwrap_err();
            assert!(said.starts_with("expected "), "{step}: {said}");
        }
        assert_eq!(check("Mine", &Value::Null), Ok(()));
    }
}
