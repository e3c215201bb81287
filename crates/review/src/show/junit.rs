//! JUnit XML, as build servers read it.

use std::fmt::Write as _;

/// The verdict of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseVerdict {
    /// It holds.
    Passed,
    /// It holds, with a warning, which the format does not have.
    Remarked(String),
    /// It does not hold.
    Failed {
        /// The kind of failure, in a word.
        kind: String,
        /// The message.
        message: String,
    },
    /// It is not decided.
    Undecided {
        /// The reason, in a word.
        kind: String,
        /// The reason at length.
        message: String,
    },
    /// It was not asked, or does not count.
    Skipped(String),
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its class.
    pub class: String,
    /// Its name.
    pub name: String,
    /// Its line in a text.
    pub line: Option<usize>,
    /// Its verdict.
    pub verdict: CaseVerdict,
}

/// Checks that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// The cases.
    pub cases: Vec<Case>,
}

impl Suite {
    fn count(&self, is: fn(&CaseVerdict) -> bool) -> usize {
        self.cases.iter().filter(|case| is(&case.verdict)).count()
    }

    fn counts(&self) -> [usize; 4] {
        [
            self.cases.len(),
            self.count(|verdict| matches!(verdict, CaseVerdict::Failed { .. })),
            self.count(|verdict| matches!(verdict, CaseVerdict::Undecided { .. })),
            self.count(|verdict| matches!(verdict, CaseVerdict::Skipped(_))),
        ]
    }
}

/// Writes suites as one document.
pub fn junit(name: &str, suites: &[Suite]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let sum = suites.iter().map(Suite::counts).fold([0; 4], |sum, counts| {
        let [all, failures, errors, skipped] = counts;
        let [sum_all, sum_failures, sum_errors, sum_skipped] = sum;
        [sum_all + all, sum_failures + failures, sum_errors + errors, sum_skipped + skipped]
    });
    let _ = writeln!(out, "<testsuites name=\"{}\"{}>", xml(name), attributes(sum));
    for suite in suites {
        let _ = writeln!(out, "  <testsuite name=\"{}\"{}>", xml(&suite.name), attributes(suite.counts()));
        for case in &suite.cases {
            write_case(&mut out, case);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn attributes([tests, failures, errors, skipped]: [usize; 4]) -> String {
    format!(" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

fn write_case(out: &mut String, case: &Case) {
    let line = case.line.map(|line| format!(" line=\"{line}\"")).unwrap_or_default();
    let (class, name) = (xml(&case.class), xml(&case.name));
    let _ = write!(out, "    <testcase classname=\"{class}\" name=\"{name}\"{line}");
    let inside = match &case.verdict {
        CaseVerdict::Passed => {
            out.push_str("/>\n");
            return;
        }
        CaseVerdict::Remarked(text) => format!("<system-out>{}</system-out>", xml(text)),
        CaseVerdict::Failed { kind, message } => {
            format!("<failure type=\"{}\" message=\"{}\"/>", xml(kind), xml(message))
        }
        CaseVerdict::Undecided { kind, message } => {
            format!("<error type=\"{}\" message=\"{}\"/>", xml(kind), xml(message))
        }
        CaseVerdict::Skipped(text) => format!("<skipped message=\"{}\"/>", xml(text)),
    };
    let _ = writeln!(out, ">\n      {inside}\n    </testcase>");
}

/// Escapes text for XML 1.0, in which most control characters cannot be written at all.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            other if super::is_hidden(other) || matches!(other, '\u{fffe}' | '\u{ffff}') => {
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
        assert_eq!(xml("a\"><b>&'\u{1b}[0m\u{0}"), "a&quot;&gt;&lt;b&gt;&amp;&apos;\\u{1b}[0m\\u{0}");
    }

    #[test]
    fn counts_add_up() {
        let case = |verdict| Case { class: "c".into(), name: "n".into(), line: Some(2), verdict };
        let cases = vec![
            case(CaseVerdict::Passed),
            case(CaseVerdict::Failed { kind: "k".into(), message: "m".into() }),
            case(CaseVerdict::Undecided { kind: "k".into(), message: "m".into() }),
            case(CaseVerdict::Skipped("s".into())),
            case(CaseVerdict::Remarked("w".into())),
        ];
        let text = junit("all", &[Suite { name: "one".into(), cases }]);
        let counts = "tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"1\"";
        assert!(text.contains(&format!("<testsuites name=\"all\" {counts}>")), "{text}");
        assert!(text.contains(&format!("<testsuite name=\"one\" {counts}>")), "{text}");
    }
}
