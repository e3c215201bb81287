//! What a model said, judged.

use hence_canon::{Object, Value};

use crate::schema::Shape;

/// The member that holds a reply in plain words.
pub const TEXT_MEMBER: &str = "text";

/// Reads a reply: the object it must be, or in plain words.
///
/// # Errors
/// What is wrong with it, in words its author can mend it by.
pub(crate) fn judge(text: &str, shape: Option<&Shape>) -> Result<Object, String> {
    let Some(shape) = shape else { return Ok(Object::from_iter([(TEXT_MEMBER, text)])) };
    let value =
        hence_canon::parse(bare(text).as_bytes()).map_err(|error| format!("it is no JSON: {error}"))?;
    let Value::Object(object) = &value else {
        return Err(format!("it is no JSON object: found {}", value.kind()));
    };
    match shape.breach(&value) {
        None => Ok(object.clone()),
        Some(breach) => Err(format!("it does not fit the schema: {breach}")),
    }
}

/// Takes away the fence that models like to put around JSON.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let fenced = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    match fenced {
        None => text,
        Some(fenced) => fenced.strip_prefix("json").unwrap_or(fenced).trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    #[test]
    fn a_reply_is_an_object_of_its_shape_or_says_what_is_wrong() {
        let schema =
            parse(br#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#);
        let shape = Shape::read(&schema.unwrap()).unwrap();
        let judged = |text: &str| judge(text, Some(&shape)).map(|object| Value::from(object).to_string());
        assert_eq!(judged(" {\"n\": 1}\n").unwrap(), r#"{"n":1}"#);
        assert_eq!(judged("```json\n{\"n\": 1}\n```").unwrap(), r#"{"n":1}"#);
        // What is kept is exact, whatever the validator reads it as.
        assert_eq!(
            judged(r#"{"n": 100000000000000000000001}"#).unwrap(),
            r#"{"n":100000000000000000000001}"#
        );
        for (wrong, said) in [
            ("Sure! Here it is: {}", "it is no JSON: "),
            ("", "it is no JSON: "),
            ("[1]", "it is no JSON object: found list"),
            (r#"{"n": "1"}"#, "it does not fit the schema: at /n: "),
            ("{}", "it does not fit the schema: \"n\" is a required property"),
            (r#"{"n": 1, "n": 2}"#, "it is no JSON: "),
        ] {
            let found = judged(wrong).unwrap_err();
            assert!(found.starts_with(said), "{wrong}: {found}");
        }
        assert_eq!(judge("as it is", None).unwrap(), Object::from_iter([("text", "as it is")]));
    }
}
