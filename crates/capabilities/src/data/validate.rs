//! Validation of values against JSON Schemas.

use hence_canon::{Object, Value};

use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, required};
use crate::contract::Schema;
use crate::refusal::Refusal;

pub(crate) const VALIDATE: BuiltIn = BuiltIn {
    id: "data.validate",
    does: "Say whether a value fits a JSON Schema, and where it does not",
    takes: &[required("value", "any", "The value"), required("schema", "any", "The JSON Schema")],
    gives: &[
        required("valid", "boolean", "Whether it fits"),
        required("findings", "array", "Where it does not, as {pointer, message}, at most 50"),
    ],
    call: validate,
};

fn validate(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let schema = Schema::read(arguments.value("schema")?)
        .map_err(|error| Refusal::input(format_args!("`schema` at `{}`: {error}", error.pointer)))?;
    let findings = schema.check(arguments.value("value")?);
    let finding = |found: &crate::contract::Mismatch| -> Value {
        let pointer = Value::from(found.pointer.to_string());
        Object::from_iter([("pointer", pointer), ("message", found.message.as_str().into())]).into()
    };
    Ok(Object::from_iter([
        ("valid", Value::from(findings.is_empty())),
        ("findings", findings.iter().map(finding).collect()),
    ]))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn findings_have_places() {
        table(
            "data.validate",
            &[
                (r#"{"value": 1, "schema": {"type": "integer"}}"#, r#"{"valid": true, "findings": []}"#),
                (
                    r#"{"value": {"a": [1, "x"]}, "schema": {"properties": {"a": {"items": {"type": "integer"}}}}}"#,
                    r#"{"valid": false, "findings": [
                        {"pointer": "/a/1", "message": "this is not of type \"integer\", found string"}]}"#,
                ),
                (
                    r#"{"value": null, "schema": false}"#,
                    r#"{"valid": false, "findings": [
                    {"pointer": "", "message": "False schema does not allow this"}]}"#,
                ),
                (r#"{"value": 1, "schema": {"type": "text"}}"#, "!`schema` at `/type`:"),
                (r#"{"value": 1, "schema": {"$ref": "file:///etc/passwd"}}"#, "!`schema`"),
            ],
        );
    }
}
