//! Properties of reading any text as an expression.

use hence_canon::{Value, parse};
use hence_cognition::expression::{EvaluateError, Expression, LENGTH_BYTES_MAX, NESTING_MAX};
use hence_cognition::reference::MissingName;
use hence_cognition::state::{Frame, Memory};

/// A memory with something of each kind to refer to.
fn memory() -> Memory {
    let inputs = parse(
        br#"{"a": 1, "b": "text", "c": [1, 2.5, "x", [null]], "d": {"e": {"f": true}, "0": []}, "g": null,
            "h": 123456789012345678901234567890, "i": -0.0}"#,
    );
    let inputs = inputs.expect("it is JSON").as_object().cloned().unwrap_or_default();
    Memory::new(inputs, Frame::default())
}

/// Reading and evaluating never panic and are repeatable, and brackets and `not` mean what they should.
pub fn expression(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let expression = match text.parse::<Expression>() {
        Ok(expression) => expression,
        Err(error) => {
            assert!(error.offset <= text.len(), "{text:?}: {error}");
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(text.len() <= LENGTH_BYTES_MAX);
    assert_eq!(text.parse::<Expression>().map(|again| again.references()), Ok(expression.references()));
    let memory = memory();
    let value = expression.evaluate(&memory, MissingName::Null);
    assert_eq!(value, expression.evaluate(&memory, MissingName::Null), "{text:?}");
    let truth = expression.is_true(&memory, MissingName::Null);
    assert_eq!(truth.is_ok(), value.is_ok());
    if text.len() + 8 > LENGTH_BYTES_MAX || is_near_the_limit(text) {
        return;
    }
    let bracketed: Expression = format!("({text})").parse().expect("brackets take an expression");
    assert_eq!(
        without_offset(bracketed.evaluate(&memory, MissingName::Null)),
        without_offset(value),
        "({text})"
    );
    let denied: Expression = format!("not ({text})").parse().expect("`not` takes a bracketed expression");
    assert_eq!(
        without_place(denied.is_true(&memory, MissingName::Null)),
        without_place(truth.map(|truth| !truth)),
        "not ({text})"
    );
}

/// Returns whether one more level could exceed the limit: there are at most as many levels as brackets and `not`s.
fn is_near_the_limit(text: &str) -> bool {
    text.matches(['(', '[']).count() + text.matches("not").count() + 2 > NESTING_MAX
}

fn without_offset(
    value: Result<Value, EvaluateError>,
) -> Result<Value, std::mem::Discriminant<EvaluateError>> {
    value.map_err(|error| std::mem::discriminant(&error))
}

fn without_place(value: Result<bool, EvaluateError>) -> Result<bool, std::mem::Discriminant<EvaluateError>> {
    value.map_err(|error| std::mem::discriminant(&error))
}
