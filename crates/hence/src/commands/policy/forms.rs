//! Several checked traces in the forms other tools read.

use hence_canon::{Object, Value};
use hence_policy::{FailOn, show};

use super::check::Checked;
use crate::escape::{escape, escape_json};

/// The line every XML document begins with.
const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// Writes one SARIF log, with a run for each trace.
pub(super) fn sarif(checked: &[Checked]) -> String {
    let mut whole = Object::new();
    let mut runs: Vec<Value> = Vec::new();
    for Checked { file, report, .. } in checked {
        let log = show::sarif(report, &uri(file));
        runs.extend(log.get("runs").and_then(Value::as_array).unwrap_or_default().iter().cloned());
        if let Value::Object(log) = log {
            whole = log;
        }
    }
    escape_json(&Value::from(whole.with("runs", runs)).to_string())
}

/// Writes one JUnit document, with a suite for each trace.
pub(super) fn junit(checked: &[Checked], fail_on: FailOn) -> String {
    let mut suites = String::new();
    for Checked { file, report, .. } in checked {
        let suite = show::junit(report, file, fail_on);
        suites.push_str(suite.strip_prefix(XML).unwrap_or(&suite));
    }
    format!("{XML}<testsuites>\n{suites}</testsuites>\n")
}

/// Writes the workflow commands of all traces. A log is a terminal, too: nothing in it may drive one.
pub(super) fn github(checked: &[Checked]) -> String {
    let text: String = checked.iter().map(|checked| show::github(&checked.report, &checked.file)).collect();
    text.lines().map(|line| format!("{}\n", escape(line))).collect()
}

/// Spells a path as a URI reference does.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
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
    use super::uri;

    #[test]
    fn a_path_is_a_uri_reference() {
        assert_eq!(uri("traces/a b#1.json"), "traces/a%20b%231.json");
        assert_eq!(uri("é"), "%C3%A9");
    }
}
