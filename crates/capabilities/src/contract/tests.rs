use hence_canon::parse;

use super::*;

fn value(text: &str) -> Value {
    parse(text.as_bytes()).expect("the test's value is JSON")
}

fn schema(text: &str) -> Schema {
    Schema::read(&value(text)).expect("the test's schema is one")
}

fn found(schema: &Schema, instance: &str) -> Vec<String> {
    schema.check(&value(instance)).iter().map(ToString::to_string).collect()
}

#[test]
fn every_mismatch_is_told_at_its_place_without_the_value() {
    let schema = schema(
        r#"{"type": "object", "required": ["id", "lines"], "additionalProperties": false, "properties": {
            "id": {"type": "string", "pattern": "^[A-Z]+$"},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}"#,
    );
    assert_eq!(found(&schema, r#"{"id": "A", "lines": [{"n": 1}, {"n": 2.0}]}"#), [""; 0]);
    let told = found(&schema, r#"{"id": "hunter2", "lines": [{"n": "x"}, {"n": 1.5}], "more": 1}"#);
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(
        told.contains(&"at `/lines/0/n`: this is not of type \"integer\", found string".to_owned()),
        "{told:#?}"
    );
    assert!(
        told.contains(&"at `/lines/1/n`: this is not of type \"integer\", found number".to_owned()),
        "{told:#?}"
    );
    assert!(told.iter().all(|message| !message.contains("hunter2")), "{told:#?}");
    assert_eq!(found(&schema, r#"{"id": "A"}"#), ["\"lines\" is a required property"]);
}

#[test]
fn long_integers_keep_their_type() {
    let integer = schema(r#"{"type": "integer", "minimum": 10}"#);
    let digits = format!("1{}", "0".repeat(400));
    assert_eq!(found(&integer, &digits), [""; 0]);
    assert_eq!(found(&integer, &format!("-{digits}")).len(), 1);
}

#[test]
fn as_many_mismatches_as_the_limit_are_told() {
    let all = schema(r#"{"items": {"type": "string"}}"#);
    let list = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    assert_eq!(found(&all, &list(MISMATCHES_MAX)).len(), MISMATCHES_MAX);
    assert_eq!(found(&all, &list(MISMATCHES_MAX + 1)).len(), MISMATCHES_MAX);
}

#[test]
fn a_schema_refers_to_nothing_outside_and_its_patterns_cannot_run_away() {
    for outside in [
        r#"{"$ref": "https://example.com/schema.json"}"#,
        r#"{"$ref": "file:///etc/passwd"}"#,
        r#"{"properties": {"a": {"$ref": "other.json#/$defs/x"}}}"#,
        r#"{"pattern": "(?=a)b"}"#,
        r#"{"pattern": "(a)\\1"}"#,
        r#"{"type": "text"}"#,
        r##"{"$ref": "#/$defs/missing"}"##,
        r#"[]"#,
        "1",
    ] {
        assert!(Schema::read(&value(outside)).is_err(), "{outside}");
    }
    let own = schema(r##"{"$defs": {"x": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/x"}}}"##);
    assert_eq!(found(&own, r#"{"a": 1}"#).len(), 1);
}

#[test]
fn what_cannot_be_carried_exactly_is_named() {
    assert_eq!(exact(&value(r#"{"a": [1, 18446744073709551615]}"#)).map(|_| ()), Ok(()));
    let place = exact(&value(r#"{"a": [1, 18446744073709551616]}"#)).unwrap_err();
    assert_eq!(place.to_string(), "/a/1");
}
