//! Comparing the outcome of a command with the recorded one: exit code, numbers of tests, and the rest of the text.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::mask::Masks;

/// The recorded outcome of a command.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Recorded {
    /// The recorded text, which may be cut.
    pub text: Option<String>,
    /// The recorded exit code, if there is one.
    pub exit_code: Option<i64>,
}

/// The outcome of running a command again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// Its output.
    pub text: &'a str,
    /// Its exit code; `None` when a signal ended it.
    pub exit_code: Option<i32>,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reproduction {
    /// The outcome is the recorded one, apart from what was masked.
    Reproduced,
    /// The outcome differs: the exit code, the numbers of tests or the text, in words.
    Diverged(String),
    /// There is no recorded text to compare with, and the exit code, where one is recorded, is the same.
    NothingRecorded,
}

/// A comparison, and what it left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The result.
    pub result: Reproduction,
    /// The number of parts of the new output that were masked, by kind.
    pub masked: BTreeMap<String, usize>,
}

/// Compares an outcome with the recorded one, white space and noise aside.
///
/// Another exit code and other numbers of tests are always a difference, whatever is masked.
pub fn compare(recorded: &Recorded, now: Outcome<'_>, masks: &Masks) -> Comparison {
    let mut masked = BTreeMap::new();
    let text = recorded.text.as_deref().unwrap_or("");
    let failed = text.strip_prefix("ERROR: ");
    let text = failed.unwrap_or(text);
    let fresh = masks.apply(now.text, &mut masked);
    let result = exit_differs(recorded.exit_code, failed.is_some(), text, now)
        .or_else(|| counts_differ(text, now.text))
        .or_else(|| text_differs(&masks.apply(whole_words(text), &mut BTreeMap::new()), &fresh));
    let result = match result {
        Some(difference) => Reproduction::Diverged(difference),
        None if text.trim().is_empty() => Reproduction::NothingRecorded,
        None => Reproduction::Reproduced,
    };
    Comparison { result, masked }
}

/// Compares exit codes. Where none is recorded, a text that reports a failure asks for a code other than 0, and one that
/// reports tests without a failure for 0.
fn exit_differs(recorded: Option<i64>, failed: bool, text: &str, now: Outcome<'_>) -> Option<String> {
    let found = now.exit_code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
    if let Some(code) = recorded {
        return (now.exit_code.map(i64::from) != Some(code))
            .then(|| format!("exit code: recorded {code}, now {found}"));
    }
    let counts = counts(text);
    let has_failures = counts.iter().any(|count| count.is_failure() && count.number > 0);
    let expected = match (failed || has_failures, counts.is_empty()) {
        (true, _) => "other than 0",
        (false, false) => "0",
        (false, true) => return None,
    };
    let is_same = (now.exit_code == Some(0)) == (expected == "0");
    (!is_same).then(|| format!("exit code: the recorded result means {expected}, now {found}"))
}

/// A number of tests, as a runner prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Count {
    number: u64,
    word: String,
}

impl Count {
    fn is_failure(&self) -> bool {
        ["fail", "error"].iter().any(|word| self.word.starts_with(word))
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}", self.number, self.word)
    }
}

const WORDS: &str = "passed|passing|passes|failed|failing|failures?|errors?|errored|skipped|skips?|pending|ignored|\
    xfailed|xpassed|deselected|filtered out|todo|tests? run|tests?|examples?|assertions?|specs?|suites?|total";

/// A number before its word, or after it: `3 passed`, `Tests run: 3`, `failures=1`, `tests="3"`; and the lines of Go.
static COUNTS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(
        r#"(?i)\b(?P<number>\d+)\s+(?P<word>{WORDS})\b|\b(?P<first>{WORDS})(?:\s*[:=]\s*"?)(?P<after>\d+)\b|(?P<go>--- (?:PASS|FAIL|SKIP)):"#
    );
    Regex::new(&pattern).expect("the pattern above is valid")
});

/// Returns the numbers of tests that a text reports, in order.
fn counts(text: &str) -> Vec<Count> {
    let found = COUNTS.captures_iter(text).filter_map(|found| {
        if let Some(go) = found.name("go") {
            return Some(Count { number: 1, word: go.as_str().to_lowercase() });
        }
        let (number, word) =
            found.name("number").zip(found.name("word")).or(found.name("after").zip(found.name("first")))?;
        Some(Count { number: number.as_str().parse().ok()?, word: word.as_str().to_lowercase() })
    });
    found.collect()
}

/// Compares numbers of tests. A recorded text may be cut at either end, so what it reports must be a part of what is reported
/// now, in the same order.
fn counts_differ(text: &str, now: &str) -> Option<String> {
    let (recorded, found) = (counts(text), counts(now));
    let is_part = recorded.is_empty() || found.windows(recorded.len()).any(|part| part == recorded);
    let list = |counts: &[Count]| {
        let counts: Vec<String> = counts.iter().take(8).map(ToString::to_string).collect();
        if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
    };
    (!is_part).then(|| format!("numbers of tests: recorded {}, now {}", list(&recorded), list(&found)))
}

/// Returns a recorded text without the word in which it was cut: half a duration is none.
fn whole_words(text: &str) -> &str {
    let text = text.trim_end();
    match text.strip_suffix('…').or_else(|| text.strip_suffix("...")) {
        None => text,
        Some(cut) if cut.ends_with(char::is_whitespace) => cut,
        Some(cut) => cut.rfind(char::is_whitespace).and_then(|at| cut.get(..at)).unwrap_or(cut),
    }
}

/// Compares masked texts: the recorded one must occur in the new one, or each of its lines must, in any order, as tests that
/// run side by side end in any order.
fn text_differs(recorded: &str, now: &str) -> Option<String> {
    if collapse(now).contains(&collapse(recorded)) {
        return None;
    }
    let mut left: Vec<String> = now.lines().map(collapse).collect();
    let lines: Vec<String> = recorded.lines().map(collapse).filter(|line| !line.is_empty()).collect();
    let first = lines.iter().find(|line| match left.iter().position(|known| known == *line) {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    });
    if lines.len() > 1 && first.is_none() {
        return None;
    }
    Some("text: the output does not contain the recorded one".to_owned())
}

fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(recorded: &str, code: Option<i64>, now: &str, exit_code: i32) -> Reproduction {
        let recorded = Recorded { text: Some(recorded.to_owned()), exit_code: code };
        compare(&recorded, Outcome { text: now, exit_code: Some(exit_code) }, &Masks::default()).result
    }

    fn difference(recorded: &str, code: Option<i64>, now: &str, exit_code: i32) -> String {
        match judged(recorded, code, now, exit_code) {
            Reproduction::Diverged(difference) => difference,
            other => panic!("{other:?}: {recorded:?} and {now:?}"),
        }
    }

    #[test]
    fn a_test_run_that_only_took_longer_is_reproduced() {
        for (recorded, now) in [
            ("1 passed in 2.52s", ".   [100%]\n1 passed in 0.41s\n"),
            (
                "running 2 tests test a ... ok test b ... ok test result: ok. 2 passed; 0 failed; finis…",
                "running 2 tests\ntest a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; 0 failed; finished in 1.00s",
            ),
            (
                "running 2 tests\ntest b ... ok\ntest a ... ok\ntest result: ok. 2 passed; 0 failed; finished in 0.10s",
                "running 2 tests\ntest a ... ok\ntest b ... ok\ntest result: ok. 2 passed; 0 failed; finished in 0.20s",
            ),
            ("ok  \tm/a\t0.005s", "ok  \tm/a\t(cached)\n"),
            ("3 examples, 0 failures", "Finished in 0.1 seconds\n3 examples, 0 failures\n"),
            ("Tests: 2 passed, 2 total Time: 1.2 s", "Tests:       2 passed, 2 total\nTime:        0.8 s\n"),
        ] {
            assert_eq!(judged(recorded, None, now, 0), Reproduction::Reproduced, "{recorded:?}");
            assert_eq!(judged(recorded, Some(0), now, 0), Reproduction::Reproduced, "{recorded:?}");
        }
    }

    #[test]
    fn another_exit_code_is_a_difference_whatever_the_text_says() {
        assert!(difference("done", Some(0), "done", 1).starts_with("exit code: recorded 0, now 1"));
        assert!(difference("1 failed", Some(1), "1 failed", 0).starts_with("exit code"));
        // Where no code is recorded, the result says which it was.
        assert!(difference("5 passed", None, "5 passed", 1).starts_with("exit code"));
        assert!(difference("ERROR: boom", None, "boom", 0).starts_with("exit code"));
        assert_eq!(judged("ERROR: boom", None, "boom", 2), Reproduction::Reproduced);
        let signal = Outcome { text: "done", exit_code: None };
        let recorded = Recorded { text: Some("done".to_owned()), exit_code: Some(0) };
        assert!(matches!(compare(&recorded, signal, &Masks::default()).result, Reproduction::Diverged(_)));
    }

    #[test]
    fn other_numbers_of_tests_are_a_difference() {
        for (recorded, now) in [
            ("5 passed in 1s", "4 passed in 1s"),
            ("5 passed in 1s", "5 passed, 1 skipped in 1s"),
            ("5 passed, 1 skipped in 1s", "5 passed in 1s"),
            (
                "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0",
                "Tests run: 2, Failures: 0, Errors: 0, Skipped: 0",
            ),
            ("3 examples, 0 failures", "2 examples, 0 failures"),
            ("Ran 5 tests in 0.1s OK", "Ran 4 tests in 0.1s OK"),
            (r#"<testsuite tests="3" failures="0">"#, r#"<testsuite tests="2" failures="0">"#),
            ("--- PASS: TestA (0.00s) --- PASS: TestB (0.00s)", "--- PASS: TestA (0.00s)"),
            ("  3 passing (12ms)", "  2 passing (12ms)"),
        ] {
            assert!(!matches!(judged(recorded, None, now, 0), Reproduction::Reproduced), "{recorded:?}");
        }
        assert_eq!(
            difference("5 passed in 1s", None, "4 passed in 1s", 0),
            "numbers of tests: recorded 5 passed, now 4 passed"
        );
        // A declared mask does not hide a count.
        let recorded = Recorded { text: Some("5 passed".to_owned()), exit_code: None };
        let masks = Masks::with(&["[0-9]+ passed".to_owned()]).unwrap();
        let result = compare(&recorded, Outcome { text: "4 passed", exit_code: Some(0) }, &masks).result;
        assert!(matches!(result, Reproduction::Diverged(_)));
    }

    #[test]
    fn other_text_is_a_difference_also_late_in_it() {
        let long = "x ".repeat(80);
        assert!(difference(&format!("{long}alpha"), None, &format!("{long}beta"), 0).starts_with("text"));
        assert_eq!(
            judged(&format!("{long}alpha"), None, &format!("{long}alpha and more"), 0),
            Reproduction::Reproduced
        );
        assert_eq!(judged("", None, "anything", 0), Reproduction::NothingRecorded);
        assert!(difference("", Some(0), "anything", 3).starts_with("exit code"));
    }
}
