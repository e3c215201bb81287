//! SARIF 2.1.0, as code scanning services read it.

use hence_canon::{Object, Value};

use crate::vocabulary::words;

words! {
    /// The level of a result.
    SarifLevel, "level" {
        None = "none",
        Note = "note",
        Warning = "warning",
        Error = "error",
    }
}

words! {
    /// The outcome of a rule.
    SarifKind, "kind" {
        Pass = "pass",
        Fail = "fail",
        NotApplicable = "notApplicable",
        Open = "open",
    }
}

/// A rule the tool knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SarifRule {
    /// Its id.
    pub id: String,
    /// Its description in one line.
    pub description: Option<String>,
    /// Its usual level.
    pub level: SarifLevel,
}

/// A position in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SarifPlace {
    pub line: usize,
    pub column: usize,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SarifResult {
    /// The place of its rule in the list of rules.
    pub rule: usize,
    /// The outcome of the rule.
    pub kind: SarifKind,
    /// The level; only a failure has one.
    pub level: SarifLevel,
    /// The message.
    pub message: String,
    /// The file, as a path.
    pub file: String,
    /// The position in the file.
    pub place: Option<SarifPlace>,
    /// The JSON pointer into the document, and a name for readers.
    pub pointer: Option<(String, Option<String>)>,
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().collect::<Object>().into()
}

/// Writes one log. `version` is that of the tool.
pub fn sarif(version: &str, rules: &[SarifRule], results: &[SarifResult]) -> Value {
    let descriptors: Value = rules.iter().map(descriptor).collect();
    let driver = object([("name", "hence".into()), ("version", version.into()), ("rules", descriptors)]);
    let run = object([
        ("tool", object([("driver", driver)])),
        ("columnKind", "unicodeCodePoints".into()),
        ("results", results.iter().map(|found| result(found, rules)).collect()),
    ]);
    object([
        ("$schema", "https://json.schemastore.org/sarif-2.1.0.json".into()),
        ("version", "2.1.0".into()),
        ("runs", vec![run].into()),
    ])
}

fn descriptor(rule: &SarifRule) -> Value {
    let level = object([("level", rule.level.into())]);
    let members = Object::from_iter([("id", Value::from(rule.id.as_str())), ("defaultConfiguration", level)]);
    match &rule.description {
        Some(text) => members.with("shortDescription", object([("text", text.as_str().into())])).into(),
        None => members.into(),
    }
}

fn result(found: &SarifResult, rules: &[SarifRule]) -> Value {
    let mut physical =
        Object::from_iter([("artifactLocation", object([("uri", uri_reference(&found.file).into())]))]);
    if let Some(SarifPlace { line, column }) = found.place {
        // Positions count from 1; an empty text has none.
        let region = object([("startLine", line.max(1).into()), ("startColumn", column.max(1).into())]);
        physical = physical.with("region", region);
    }
    let mut location = Object::from_iter([("physicalLocation", Value::from(physical))]);
    if let Some((pointer, name)) = &found.pointer {
        let mut logical = Object::from_iter([
            ("fullyQualifiedName", Value::from(pointer.as_str())),
            ("kind", "member".into()),
        ]);
        if let Some(name) = name {
            logical = logical.with("name", name.as_str());
        }
        location = location.with("logicalLocations", vec![logical]);
    }
    // The format demands the level `none` for everything that is not a failure.
    let level = if found.kind == SarifKind::Fail { found.level } else { SarifLevel::None };
    object([
        ("ruleId", rules.get(found.rule).map(|rule| rule.id.as_str()).into()),
        ("ruleIndex", found.rule.into()),
        ("kind", found.kind.into()),
        ("level", level.into()),
        ("message", object([("text", found.message.as_str().into())])),
        ("locations", vec![location].into()),
    ])
}

/// Returns a path as a URI reference: everything but plain letters and `/` is percent-encoded.
pub fn uri_reference(path: &str) -> String {
    let name = if path == "-" { "stdin" } else { path };
    let mut uri = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_uri_reference_that_cannot_be_read_as_a_scheme() {
        assert_eq!(uri_reference("a b/é:1.json"), "a%20b/%C3%A9%3A1.json");
        assert_eq!(uri_reference("-"), "stdin");
    }

    #[test]
    fn only_a_failure_has_a_level() {
        let rules = [SarifRule { id: "r".into(), description: None, level: SarifLevel::Error }];
        let found = |kind| SarifResult {
            rule: 0,
            kind,
            level: SarifLevel::Error,
            message: "m".into(),
            file: "t.json".into(),
            place: Some(SarifPlace { line: 0, column: 3 }),
            pointer: Some(("/actions/0".into(), Some("action 1".into()))),
        };
        let log = sarif("1", &rules, &[found(SarifKind::Pass), found(SarifKind::Fail)]);
        let at = |pointer: &str| log.pointer(&pointer.parse().unwrap()).cloned().unwrap();
        assert_eq!(at("/runs/0/results/0/level"), "none".into());
        assert_eq!(at("/runs/0/results/1/level"), "error".into());
        assert_eq!(at("/runs/0/results/1/locations/0/physicalLocation/region/startLine"), 1.into());
    }
}
