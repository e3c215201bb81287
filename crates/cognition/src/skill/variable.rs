//! Declarations of the variables that a step writes.

use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use super::Findings;
use super::Rule;

/// The types a variable can have.
pub(super) const TYPES: [&str; 8] =
    ["text", "number", "boolean", "null", "json", "array", "file_path", "file_content"];
/// The scopes a variable can have.
pub(super) const SCOPES: [&str; 4] = ["global", "session", "tree", "temporary"];
/// The scopes that other runs may share.
pub(super) const SHARED_SCOPES: [&str; 3] = ["global", "session", "tree"];
pub(super) const KEYS: [&str; 5] = ["type", "scope", "ttl_seconds", "read_only", "description"];

/// The declaration of a variable under `config.variables`: the name of a `vars` target, and what it shall be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredVariable {
    /// The name, without `vars.`.
    pub name: Arc<str>,
    /// The type; inferred from the value when absent.
    pub value_type: Option<Arc<str>>,
    /// The scope; the session when absent.
    pub scope: Option<Arc<str>>,
    /// The time to live by the run's clock; temporary variables only.
    pub ttl_seconds: Option<u64>,
    /// True if further writes are refused.
    pub read_only: Option<bool>,
    /// The purpose, in words.
    pub description: Option<Arc<str>>,
}

/// Reads the declarations of a step.
pub(super) fn read(
    config: &Object,
    pointer: &JsonPointer,
    findings: &mut Findings,
) -> Option<Box<[DeclaredVariable]>> {
    let pointer = pointer.child("variables");
    let declared = match config.get("variables")? {
        Value::Null => return None,
        Value::Object(declared) => declared,
        other => {
            let message = format_args!("`variables` is an object by name, found {}", other.kind());
            findings.add(Rule::Shape, pointer, message);
            return None;
        }
    };
    Some(
        declared
            .iter()
            .filter_map(|(name, value)| one(name, value, &pointer.child(name), findings))
            .collect(),
    )
}

fn one(
    name: &Arc<str>,
    value: &Value,
    pointer: &JsonPointer,
    findings: &mut Findings,
) -> Option<DeclaredVariable> {
    let Value::Object(object) = value else {
        let message = format_args!("a declaration is an object, found {}", value.kind());
        findings.add(Rule::Shape, pointer.clone(), message);
        return None;
    };
    for key in object.keys().filter(|key| !KEYS.contains(&&***key)) {
        findings.add_unknown_key(pointer, "a variable", key, &KEYS);
    }
    let mut wrong = |key: &str, expected: &str, found: &Value| {
        let message = format_args!("`{key}` is {expected}, found {found}");
        findings.add(Rule::Shape, pointer.child(key), message);
    };
    let mut word = |key: &str, words: &[&str]| match object.get(key) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if words.contains(&&**text) => Some(text.clone()),
        Some(other) => {
            wrong(key, &format!("one of {}", words.join(", ")), other);
            None
        }
    };
    let (value_type, scope) = (word("type", &TYPES), word("scope", &SCOPES));
    let ttl_seconds = object.get("ttl_seconds").filter(|value| !value.is_null());
    let read_only = object.get("read_only").filter(|value| !value.is_null());
    let description = object.get("description").filter(|value| !value.is_null());
    ttl_seconds.filter(|value| value.as_u64().is_none()).iter().for_each(|value| {
        wrong("ttl_seconds", "a whole number of seconds", value);
    });
    read_only.filter(|value| value.as_bool().is_none()).iter().for_each(|value| {
        wrong("read_only", "a boolean", value);
    });
    description.filter(|value| value.as_str().is_none()).iter().for_each(|value| {
        wrong("description", "a text", value);
    });
    if ttl_seconds.is_some() && scope.as_deref() != Some("temporary") {
        findings.add(
            Rule::Shape,
            pointer.child("ttl_seconds"),
            "only a temporary variable has a time to live",
        );
    }
    Some(DeclaredVariable {
        name: name.clone(),
        value_type,
        scope,
        ttl_seconds: ttl_seconds.and_then(Value::as_u64),
        read_only: read_only.and_then(Value::as_bool),
        description: description.and_then(Value::as_str).map(Into::into),
    })
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    fn read_text(text: &str) -> (Option<Box<[DeclaredVariable]>>, Vec<String>) {
        let config = parse(format!("{{\"variables\":{text}}}").as_bytes()).unwrap();
        let mut findings = Findings::default();
        let read = read(config.as_object().unwrap(), &JsonPointer::root(), &mut findings);
        (read, findings.into_vec().iter().map(|finding| finding.pointer.to_string()).collect())
    }

    #[test]
    fn a_declaration_says_what_a_variable_shall_be() {
        let (read, findings) =
            read_text(r#"{"n":{"type":"number","scope":"temporary","ttl_seconds":3,"read_only":true}}"#);
        let [declared] = &*read.unwrap() else { panic!("one was declared") };
        assert_eq!((&*declared.name, declared.ttl_seconds, declared.read_only), ("n", Some(3), Some(true)));
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(read_text("null"), (None, Vec::new()));
    }

    #[test]
    fn everything_wrong_with_a_declaration_is_found_at_once() {
        let text = r#"{"a":{"type":"integer","scope":"x","ttl_seconds":-1,"read_only":1,"description":2,"more":3},"b":4}"#;
        let (_, mut findings) = read_text(text);
        findings.sort();
        let expected = [
            "a/description",
            "a/more",
            "a/read_only",
            "a/scope",
            "a/ttl_seconds",
            "a/ttl_seconds",
            "a/type",
            "b",
        ];
        assert_eq!(findings, expected.map(|place| format!("/variables/{place}")));
        assert_eq!(read_text("[]").1, ["/variables"]);
    }
}
