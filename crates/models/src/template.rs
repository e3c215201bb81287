//! Prompts with places for values: `{{name}}` or `{{/pointer/0}}`.

use hence_canon::{JsonPointer, Value};

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// A text with places for values, read once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(String),
    Place { name: String, pointer: JsonPointer },
}

/// A text that is no template.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum NotATemplate {
    #[error("`{{{{` without `}}}}`")]
    Open,
    #[error("`{name}` names no value: {reason}")]
    Place { name: String, reason: String },
}

/// A value a template names and is not given.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the template names `{0}`, which the input does not have")]
pub(crate) struct NotGiven(pub(crate) String);

impl Template {
    pub(crate) fn read(text: &str) -> Result<Self, NotATemplate> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, behind)) = rest.split_once(OPEN) {
            let (name, after) = behind.split_once(CLOSE).ok_or(NotATemplate::Open)?;
            let name = name.trim();
            let pointer = match name.starts_with('/') {
                true => name.parse().map_err(|error: hence_canon::InvalidPointer| NotATemplate::Place {
                    name: name.to_owned(),
                    reason: error.to_string(),
                })?,
                false => JsonPointer::root().child(name),
            };
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Place { name: name.to_owned(), pointer });
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// Puts values into their places: texts as they are, anything else as JSON. A value is never read as a template.
    pub(crate) fn fill(&self, values: &Value) -> Result<String, NotGiven> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Place { name, pointer } => match values.pointer(pointer) {
                    Some(Value::String(value)) => text.push_str(value),
                    Some(value) => text.push_str(&value.to_string()),
                    None => return Err(NotGiven(name.clone())),
                },
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn filled(template: &str, values: &str) -> Result<String, String> {
        let template = Template::read(template).map_err(|error| error.to_string())?;
        template.fill(&parse(values.as_bytes()).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn every_place_gets_its_value_or_the_prompt_is_refused() {
        let values = r#"{"a": "x", "b": [1.5, {"c": null}], "q": "{{a}}"}"#;
        assert_eq!(filled("{{a}} and {{ /b/0 }}: {{b}}", values).unwrap(), r#"x and 1.5: [1.5,{"c":null}]"#);
        assert_eq!(filled("{{q}}", values).unwrap(), "{{a}}");
        assert_eq!(filled("plain }} text", values).unwrap(), "plain }} text");
        assert_eq!(
            filled("{{no}}", values).unwrap_err(),
            "the template names `no`, which the input does not have"
        );
        assert_eq!(filled("{{a", values).unwrap_err(), "`{{` without `}}`");
        assert!(filled("{{/a~3}}", values).unwrap_err().starts_with("`/a~3` names no value"));
    }
}
