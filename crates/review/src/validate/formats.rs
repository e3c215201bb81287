//! Findings in the formats other tools read.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hence_canon::{Object, Value};

use super::finding::{Finding, Level, Report};

/// Writes the findings of several files as one SARIF 2.1.0 log.
pub fn sarif<'a>(files: impl IntoIterator<Item = (&'a str, &'a Report)>) -> Value {
    let mut results = Vec::new();
    let mut rules = BTreeSet::new();
    for (file, report) in files {
        for finding in report.findings() {
            rules.insert(finding.rule.id());
            results.push(sarif_result(file, finding));
        }
    }
    let rules: Value = rules.into_iter().map(|id| Object::from_iter([("id", id)])).collect();
    let driver = Object::from_iter([("name", Value::from("hence")), ("rules", rules)]);
    let tool = Object::from_iter([("driver", driver)]);
    let run = Object::from_iter([("tool", Value::from(tool)), ("results", results.into())]);
    Object::from_iter([
        ("$schema", Value::from("https://json.schemastore.org/sarif-2.1.0.json")),
        ("version", "2.1.0".into()),
        ("runs", vec![run].into()),
    ])
    .into()
}

fn sarif_result(file: &str, finding: &Finding) -> Value {
    let place = Object::from_iter([("artifactLocation", Object::from_iter([("uri", file)]))]);
    let logical = Object::from_iter([("fullyQualifiedName", finding.pointer.to_string())]);
    let location = Object::from_iter([
        ("physicalLocation", Value::from(place)),
        ("logicalLocations", vec![logical].into()),
    ]);
    Object::from_iter([
        ("ruleId", Value::from(finding.rule.id())),
        ("level", finding.level.to_string().into()),
        ("message", Object::from_iter([("text", finding.message.as_str())]).into()),
        ("locations", vec![location].into()),
    ])
    .into()
}

/// Writes the findings of several files as JUnit XML: a file is a suite, an error a failed case.
pub fn junit<'a>(files: impl IntoIterator<Item = (&'a str, &'a Report)>) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (file, report) in files {
        let failures = report.errors().count();
        let cases = report.findings().len().max(1);
        let _ =
            writeln!(out, "  <testsuite name=\"{}\" tests=\"{cases}\" failures=\"{failures}\">", xml(file));
        if report.findings().is_empty() {
            let _ = writeln!(out, "    <testcase name=\"valid\" classname=\"{}\"/>", xml(file));
        }
        for finding in report.findings() {
            junit_case(&mut out, file, finding);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn junit_case(out: &mut String, file: &str, finding: &Finding) {
    let name = xml(&format!("{} {}", finding.rule, finding.pointer));
    let _ = writeln!(out, "    <testcase name=\"{name}\" classname=\"{}\">", xml(file));
    let message = xml(&finding.message);
    let _ = match finding.level {
        Level::Error => writeln!(out, "      <failure message=\"{message}\"/>"),
        Level::Warning => writeln!(out, "      <system-out>{message}</system-out>"),
    };
    out.push_str("    </testcase>\n");
}

/// Escapes text for XML; characters XML cannot hold are replaced.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\r' | '\t' => out.push(' '),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            plain => out.push(plain),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;
    use crate::validate::validate;

    #[test]
    fn findings_are_told_to_other_tools() {
        let report = validate(
            &parse(br#"{"trace_id": "t", "spec_version": "1.6", "actions": [], "trigger": "<&>"}"#).unwrap(),
        );
        let log = sarif([("a.json", &report)]);
        let results = log.pointer(&"/runs/0/results".parse().unwrap()).and_then(Value::as_array).unwrap();
        assert_eq!(results.len(), 3);
        let ids: Vec<&str> = log
            .pointer(&"/runs/0/tool/driver/rules".parse().unwrap())
            .and_then(Value::as_array)
            .unwrap()
            .iter()
            .filter_map(|rule| rule.get("id")?.as_str())
            .collect();
        assert_eq!(ids, ["event.type", "trace.actions.empty", "trace.outcome"]);
        let xml = junit([("a<b>.json", &report)]);
        assert!(xml.contains("<testsuite name=\"a&lt;b&gt;.json\" tests=\"3\" failures=\"1\">"), "{xml}");
        assert!(
            xml.contains("<failure message=\"trigger is an object; found &quot;&lt;&amp;&gt;&quot;\"/>"),
            "{xml}"
        );
    }
}
