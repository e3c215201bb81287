//! The capability `human.ask`: it asks a person, and the run waits for the answer.

use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};
use hence_cognition::approval::{self, APPROVES, REJECTS};
use hence_cognition::capability::CapabilitySpec;
use hence_cognition::run::{CallError, Reply};
use hence_cognition::skill::{Field, Need, TypeName};

use crate::contract::Schema;
use crate::refusal::Refusal;

/// The id of the capability that asks a person.
pub const HUMAN_ASK: &str = "human.ask";

/// The inputs: name, type, need and description.
const INPUTS: [(&str, &str, Need, &str); 8] = [
    ("question", "string", Need::Required, "What is asked"),
    ("options", "array", Need::Optional, "The only values that are answers"),
    (APPROVES, "array", Need::Optional, "The answers that approve; no other answer does"),
    (REJECTS, "array", Need::Optional, "The answers that reject"),
    (
        "type",
        "string",
        Need::Optional,
        "The type of an answer: string, number, integer, boolean, object or array",
    ),
    ("schema", "object", Need::Optional, "A JSON Schema of an answer"),
    ("who", "string", Need::Optional, "Who should answer"),
    ("context", "any", Need::Optional, "What they should know"),
];

/// The outputs: name, type, need and description.
const OUTPUTS: [(&str, &str, Need, &str); 2] = [
    ("value", "any", Need::Required, "The answer"),
    ("by", "string", Need::Optional, "Who answered, as they said"),
];

/// Returns the contract of `human.ask`.
pub(crate) fn spec() -> CapabilitySpec {
    let field = |(name, kind, need, description): (&str, &str, Need, &str)| {
        let description = Some(Arc::from(description));
        (Arc::from(name), Field { kind: kind.into(), need, description, default: None })
    };
    CapabilitySpec {
        inputs: INPUTS.into_iter().map(field).collect(),
        outputs: OUTPUTS.into_iter().map(field).collect(),
        takes_only_declared: true,
        gives_only_declared: true,
        ..CapabilitySpec::default()
    }
}

/// Asks the question. The call is then waiting: the driver of the run supplies the answer later.
pub(crate) fn ask(input: &Value) -> Result<Reply, CallError> {
    if let Err(refusal) = sensible(input) {
        return Err(CallError::Failed { class: refusal.class, message: refusal.message });
    }
    let question = input.get("question").and_then(Value::as_str).unwrap_or_default();
    Err(CallError::Waiting(question.into()))
}

/// Refuses a question that has no valid answer at once, instead of after days of waiting.
fn sensible(input: &Value) -> Result<(), Refusal> {
    if input.get("options").and_then(Value::as_array).is_some_and(<[Value]>::is_empty) {
        return Err(Refusal::input("`options` has at least one value, found none"));
    }
    let declared = input.as_object().map(defects).unwrap_or_default();
    if let Some((_, message)) = declared.into_iter().next() {
        return Err(Refusal::input(message));
    }
    if let Some(schema) = input.get("schema").filter(|schema| !schema.is_null()) {
        Schema::read(schema).map_err(|error| Refusal::input(format_args!("`schema`: {error}")))?;
    }
    match input.get("type").and_then(Value::as_str) {
        Some(name) if TypeName::find(name).is_none() => Err(Refusal::input(format_args!(
            "`type` is string, number, integer, boolean, object or array, found {name:?}"
        ))),
        _ => Ok(()),
    }
}

/// Returns the defects of the fixed members of a question, each with its place: answers that are declared to approve or
/// reject and that nobody can give.
pub(crate) fn defects(given: &Object) -> Vec<(JsonPointer, String)> {
    let mut found = approval::defects(given);
    for member in [APPROVES, REJECTS] {
        let answers = given.get(member).and_then(Value::as_array).unwrap_or_default();
        for (index, answer) in answers.iter().enumerate() {
            let place = JsonPointer::root().child(member).child(index.to_string());
            if found.iter().any(|(known, _)| *known == place) {
                continue;
            }
            if let Err(refusal) = check_answer(&given.clone().into(), answer) {
                found.push((place, format!("`{member}` has {answer}: {}", refusal.message)));
            }
        }
    }
    found
}

/// Checks an answer against the options, type and schema of its question.
///
/// # Errors
/// [`Refusal`] with the expected and the found answer.
pub fn check_answer(input: &Value, answer: &Value) -> Result<(), Refusal> {
    if let Some(options) = input.get("options").and_then(Value::as_array)
        && !options.contains(answer)
    {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let message = format_args!("expected one of {}, found {answer}", options.join(", "));
        return Err(Refusal::input(message));
    }
    if let Some(kind) = input.get("type").and_then(Value::as_str).and_then(TypeName::find)
        && (!kind.admits(answer) || answer.is_null())
    {
        let name = input.get("type").and_then(Value::as_str).unwrap_or_default();
        return Err(Refusal::input(format_args!("expected {name}, found {}", answer.kind())));
    }
    let Some(schema) = input.get("schema").filter(|schema| !schema.is_null()) else { return Ok(()) };
    let schema = Schema::read(schema).map_err(|error| Refusal::input(format_args!("`schema`: {error}")))?;
    let mismatches: Vec<String> = schema.check(answer).iter().map(ToString::to_string).collect();
    if mismatches.is_empty() { Ok(()) } else { Err(Refusal::input(mismatches.join("; "))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn json(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_question_waits_and_one_nobody_can_answer_fails() {
        assert_eq!(ask(&json(r#"{"question": "Go?"}"#)), Err(CallError::Waiting("Go?".into())));
        for wrong in [
            r#"{"question": "Go?", "options": []}"#,
            r#"{"question": "Go?", "type": "text"}"#,
            r#"{"question": "Go?", "schema": {"type": "text"}}"#,
            r#"{"question": "Go?", "options": ["yes"], "approves": ["Yes"]}"#,
            r#"{"question": "Go?", "type": "boolean", "approves": ["true"]}"#,
            r#"{"question": "Go?", "approves": ["go"], "rejects": ["go"]}"#,
        ] {
            assert!(matches!(ask(&json(wrong)), Err(CallError::Failed { .. })), "{wrong}");
        }
    }

    #[test]
    fn answers_are_checked_against_options_and_type() {
        let options = json(r#"{"question": "Go?", "options": ["yes", "no", 3]}"#);
        assert!(check_answer(&options, &json("\"yes\"")).is_ok());
        assert!(check_answer(&options, &json("3")).is_ok());
        let refused = check_answer(&options, &json("\"maybe\"")).unwrap_err();
        assert_eq!(&*refused.message, r#"expected one of "yes", "no", 3, found "maybe""#);
        let typed = json(r#"{"question": "How many?", "type": "integer"}"#);
        assert!(check_answer(&typed, &json("3")).is_ok());
        assert!(check_answer(&typed, &json("null")).is_err());
        assert!(check_answer(&typed, &json("\"3\"")).is_err());
        let schema = r#"{"question": "Where?", "schema": {"type": "object", "required": ["city"], "properties": {"city": {"minLength": 2}}}}"#;
        assert!(check_answer(&json(schema), &json(r#"{"city": "Bern"}"#)).is_ok());
        let refused = check_answer(&json(schema), &json(r#"{"city": ""}"#)).unwrap_err();
        assert!(refused.message.starts_with("at `/city`: "), "{refused}");
    }
}
