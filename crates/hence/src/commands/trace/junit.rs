//! Findings as JUnit XML: one suite per file, one case per finding.

use super::validate::{FileReport, ValidateReport};

/// Returns the JUnit document of a report.
pub(super) fn document(report: &ValidateReport) -> String {
    let (tests, failures) = report
        .files
        .iter()
        .fold((0, 0), |(tests, failures), file| (tests + cases(file), failures + file.errors));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!(
        "<testsuites name=\"hence trace validate\" tests=\"{tests}\" failures=\"{failures}\">\n"
    ));
    for file in &report.files {
        suite(&mut out, file);
    }
    out.push_str("</testsuites>");
    out
}

/// A file without findings is one case that passes.
fn cases(file: &FileReport) -> usize {
    file.findings.len().max(1)
}

fn suite(out: &mut String, file: &FileReport) {
    let name = escape(&file.file);
    let (tests, failures) = (cases(file), file.errors);
    out.push_str(&format!("  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\">\n"));
    if file.findings.is_empty() {
        out.push_str(&format!("    <testcase classname=\"{name}\" name=\"valid\"/>\n"));
    }
    for finding in &file.findings {
        let title = escape(&format!("{} {}", finding.rule, finding.pointer));
        let (rule, message) = (escape(finding.rule), escape(&finding.message));
        let line = finding.line.map(|line| format!(" line=\"{line}\"")).unwrap_or_default();
        out.push_str(&format!("    <testcase classname=\"{name}\" name=\"{title}\"{line}>\n"));
        if finding.level == "error" {
            out.push_str(&format!("      <failure type=\"{rule}\" message=\"{message}\"/>\n"));
        } else {
            out.push_str(&format!("      <system-out>warning: {message}</system-out>\n"));
        }
        out.push_str("    </testcase>\n");
    }
    out.push_str("  </testsuite>\n");
}

/// Escapes text for XML 1.0, in which most control characters cannot be written at all.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {
                out.extend(other.escape_unicode());
            }
            plain => out.push(plain),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_attribute() {
        assert_eq!(escape("a\"><b>&'\u{1b}[0m\u{0}"), "a&quot;&gt;&lt;b&gt;&amp;&apos;\\u{1b}[0m\\u{0}");
    }
}
