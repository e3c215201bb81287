//! Findings as SARIF 2.1.0.

use hence_canon::{Object, Value};

use super::validate::{FileReport, FindingRow, ValidateReport, rules};
use crate::escape::escape_json;

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().collect::<Object>().into()
}

/// Returns the SARIF document of a report.
pub(super) fn document(report: &ValidateReport) -> String {
    let known = rules();
    let descriptors: Vec<Value> = known
        .iter()
        .map(|(id, level)| {
            object([
                ("id", (*id).into()),
                ("shortDescription", object([("text", format!("rule {id} of review traces").into())])),
                ("defaultConfiguration", object([("level", (*level).into())])),
            ])
        })
        .collect();
    let driver = object([
        ("name", "hence".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("rules", descriptors.into()),
    ]);
    let results = report.files.iter().flat_map(|file| {
        file.findings.iter().map(|finding| result(file, finding, &known)).collect::<Vec<Value>>()
    });
    let run = object([
        ("tool", object([("driver", driver)])),
        ("columnKind", "unicodeCodePoints".into()),
        ("results", results.collect()),
    ]);
    let document = object([
        ("$schema", "https://json.schemastore.org/sarif-2.1.0.json".into()),
        ("version", "2.1.0".into()),
        ("runs", vec![run].into()),
    ]);
    escape_json(&hence_canon::pretty(&document))
}

fn result(file: &FileReport, finding: &FindingRow, known: &[(&str, &str)]) -> Value {
    let index = known.iter().position(|(id, _)| *id == finding.rule).unwrap_or_default();
    let mut physical: Vec<(&str, Value)> =
        vec![("artifactLocation", object([("uri", uri(&file.file).into())]))];
    if let (Some(line), Some(column)) = (finding.line, finding.column) {
        // Positions in SARIF count from 1; an empty text has none.
        let region = object([("startLine", line.max(1).into()), ("startColumn", column.max(1).into())]);
        physical.push(("region", region));
    }
    let location = object([
        ("physicalLocation", physical.into_iter().collect::<Object>().into()),
        (
            "logicalLocations",
            vec![object([
                ("fullyQualifiedName", finding.pointer.as_str().into()),
                ("kind", "member".into()),
            ])]
            .into(),
        ),
    ]);
    object([
        ("ruleId", finding.rule.into()),
        ("ruleIndex", index.into()),
        ("level", finding.level.into()),
        ("message", object([("text", finding.message.as_str().into())])),
        ("locations", vec![location].into()),
    ])
}

/// Returns a path as a URI reference: everything but plain letters and `/` is percent-encoded.
fn uri(path: &str) -> String {
    let name = if path == "-" { "stdin" } else { path };
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_uri_reference_that_cannot_be_read_as_a_scheme() {
        assert_eq!(uri("a b/é:1.json"), "a%20b/%C3%A9%3A1.json");
        assert_eq!(uri("-"), "stdin");
    }
}
