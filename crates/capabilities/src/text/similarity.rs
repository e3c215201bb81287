//! The similarity of two texts.

use hence_canon::{Object, Value};

use crate::amount::real_value;
use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, required};
use crate::refusal::Refusal;

/// The maximum length of a text. The time grows with the product of both lengths: two of this length take about a
/// second.
pub(crate) const CHARACTERS_MAX: usize = 16 * 1024;

pub(crate) const SIMILARITY: BuiltIn = BuiltIn {
    id: "text.similarity",
    does: "Count the edits between two texts",
    takes: &[required("left", "string", "One text"), required("right", "string", "The other")],
    gives: &[
        required("distance", "integer", "The fewest characters to insert, remove or replace"),
        required("ratio", "number", "1.0 for equal texts, 0.0 for texts with nothing in common"),
    ],
    call: similarity,
};

fn similarity(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let (left, right) = (characters(arguments, "left")?, characters(arguments, "right")?);
    let distance = strsim::generic_levenshtein(&left, &right);
    let longest = left.len().max(right.len());
    #[expect(clippy::cast_precision_loss, reason = "lengths are limited")]
    let ratio = if longest == 0 { 1.0 } else { 1.0 - distance as f64 / longest as f64 };
    Ok(Object::from_iter([("distance", Value::from(distance)), ("ratio", real_value(ratio)?)]))
}

fn characters(arguments: &Arguments<'_>, name: &str) -> Result<Vec<char>, Refusal> {
    let characters: Vec<char> = arguments.text(name)?.chars().take(CHARACTERS_MAX + 1).collect();
    if characters.len() > CHARACTERS_MAX {
        return Err(Refusal::too_large(format_args!("`{name}` has more than {CHARACTERS_MAX} characters")));
    }
    Ok(characters)
}

#[cfg(test)]
mod tests {
    use super::CHARACTERS_MAX;
    use crate::testing::{call, table};

    #[test]
    fn edits_are_counted_by_characters() {
        table(
            "text.similarity",
            &[
                (
                    r#"{"left": "kitten", "right": "sitting"}"#,
                    r#"{"distance": 3, "ratio": 0.5714285714285714}"#,
                ),
                (r#"{"left": "", "right": ""}"#, r#"{"distance": 0, "ratio": 1.0}"#),
                (r#"{"left": "é", "right": ""}"#, r#"{"distance": 1, "ratio": 0.0}"#),
                (r#"{"left": "", "right": "ab"}"#, r#"{"distance": 2, "ratio": 0.0}"#),
            ],
        );
    }

    #[test]
    fn a_text_at_the_limit_is_compared_and_one_beyond_is_not() {
        let input = |length: usize| format!(r#"{{"left": "{}", "right": "a"}}"#, "a".repeat(length));
        assert!(call("text.similarity", &input(CHARACTERS_MAX)).is_ok());
        assert_eq!(&*call("text.similarity", &input(CHARACTERS_MAX + 1)).unwrap_err().class, "InputTooLarge");
    }
}
