//! The table of shapes as a JSON Schema, for tools that want one.

use hence_canon::{Object, Value};

use crate::document::shape::{DOCUMENT, Form, ObjectShape, Shape};
use crate::fields::Members;

/// Returns the schema of state documents in JSON Schema 2020-12. `format` is to be asserted, not only noted.
///
/// It is made from the same table the check reads, so the two cannot disagree.
pub fn json_schema() -> Value {
    let dialect = Members::default().set("$schema", "https://json-schema.org/draft/2020-12/schema");
    dialect.rest(&render(&DOCUMENT)).object().into()
}

fn render(shape: &Shape) -> Object {
    let of_type = |word: &str| Members::default().set("type", word);
    match shape {
        Shape::Any => Object::new(),
        Shape::Text => of_type("string").object(),
        Shape::Formed(form) => of_type("string").rest(&rule(*form)).object(),
        Shape::NullOrFormed(form) => {
            Members::default().set("type", vec!["string", "null"]).rest(&rule(*form)).object()
        }
        Shape::Word(words) => of_type("string").set("enum", words.to_vec()).object(),
        Shape::Boolean => of_type("boolean").object(),
        Shape::Integer { minimum } => of_type("integer").some("minimum", *minimum).object(),
        Shape::Number { minimum, maximum } => {
            of_type("number").set("minimum", *minimum).set("maximum", *maximum).object()
        }
        Shape::List(item) => of_type("array").set("items", render(item)).object(),
        Shape::Object(object) => render_object(object),
        Shape::NullOr(inner) => {
            let choices: Vec<Object> = vec![render(inner), of_type("null").object()];
            Members::default().set("anyOf", choices).object()
        }
    }
}

fn render_object(shape: &ObjectShape) -> Object {
    let members: Object = shape.members.iter().map(|(key, member)| (*key, render(member))).collect();
    let required = Some(shape.required.to_vec()).filter(|required| !required.is_empty());
    Members::default()
        .set("type", "object")
        .some("required", required)
        .non_empty("properties", members)
        .non_empty("additionalProperties", render(shape.others))
        .object()
}

fn rule(form: Form) -> Object {
    let (key, text) = match form {
        Form::Version => ("pattern", r"^1\.[0-9]+\.[0-9]+$"),
        Form::StateId => ("pattern", "^state-[a-f0-9]{8}$"),
        Form::TreeId => ("pattern", "^tree-[a-f0-9]{8}$"),
        Form::MutationId => ("pattern", "^mut-[a-f0-9]{8}$"),
        Form::CheckpointId => ("pattern", "^ckpt-[a-f0-9]{8}$"),
        Form::Identifier => ("pattern", "^[a-zA-Z_][a-zA-Z0-9_]*$"),
        Form::DateTime => ("format", "date-time"),
    };
    Object::new().with(key, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_says_what_the_table_says() {
        let schema = json_schema();
        let at = |pointer: &str| schema.pointer(&pointer.parse().unwrap()).map(ToString::to_string);
        assert_eq!(at("/required").unwrap(), r#"["version","state_id","variables"]"#);
        assert_eq!(at("/properties/tree_id/type").unwrap(), r#"["string","null"]"#);
        assert_eq!(at("/properties/variables/properties/Final/anyOf/1").unwrap(), r#"{"type":"null"}"#);
        let window = "/properties/metadata/properties/execution_config/properties/context_window_tokens";
        assert_eq!(at(window).unwrap(), r#"{"minimum":1000,"type":"integer"}"#);
        assert_eq!(
            at("/properties/history/properties/mutations/items/properties/timestamp").unwrap(),
            r#"{"format":"date-time","type":"string"}"#
        );
        assert_eq!(at("/additionalProperties"), None);
    }
}
