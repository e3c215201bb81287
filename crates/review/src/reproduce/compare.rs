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
    /// The part of the output that the text is.
    pub extent: Extent,
}

/// The part of an output that a recorded text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Extent {
    /// All of it, unless an ellipsis says where it was cut, or lines that report tests.
    #[default]
    Output,
    /// The first line without its subject: of `RUN: equal`, the output of `hence replay`, it is `equal`.
    Statement,
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
        .or_else(|| {
            if text.chars().all(|letter| letter.is_whitespace() || matches!(letter, '…' | '.')) {
                return None;
            }
            let known = CutText::of(text);
            let masked = masks.apply(known.text, &mut BTreeMap::new());
            text_differs(
                &CutText { text: &masked, ..known },
                recorded.extent,
                &fresh,
                !counts(text).is_empty(),
            )
        });
    let result = match result {
        Some(difference) => Reproduction::Diverged(difference),
        // Of a text that was cut to nothing, there is nothing to compare.
        None if text.chars().all(|letter| letter.is_whitespace() || matches!(letter, '…' | '.')) => {
            Reproduction::NothingRecorded
        }
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

/// Compares numbers of tests. A recorded text may be cut or have only some of the lines, so its numbers must occur in the new output, in
/// the same order. A failure in the new output that the record does not have is a difference, unless the text was cut.
fn counts_differ(text: &str, now: &str) -> Option<String> {
    let (recorded, found) = (counts(text), counts(now));
    let is_part = recorded.is_empty() || found.windows(recorded.len()).any(|part| part == recorded);
    let is_failure = |count: &&Count| count.is_failure() && count.number > 0;
    let cut = CutText::of(text);
    let is_new = |count: &Count| !recorded.contains(count);
    let has_new_failure =
        !recorded.is_empty() && cut.is_whole() && found.iter().filter(is_failure).any(is_new);
    let list = |counts: &[Count]| {
        let counts: Vec<String> = counts.iter().take(8).map(ToString::to_string).collect();
        if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
    };
    (!is_part || has_new_failure)
        .then(|| format!("numbers of tests: recorded {}, now {}", list(&recorded), list(&found)))
}

/// A recorded text without the words in which it was cut: half a duration is none.
#[derive(Clone, Copy)]
struct CutText<'t> {
    text: &'t str,
    has_beginning: bool,
    has_end: bool,
}

impl<'t> CutText<'t> {
    fn of(text: &'t str) -> Self {
        let text = text.trim();
        let (text, has_end) = match text.strip_suffix('…').or_else(|| text.strip_suffix("...")) {
            None => (text, true),
            Some(cut) if cut.ends_with(char::is_whitespace) => (cut, false),
            Some(cut) => (cut.rfind(char::is_whitespace).and_then(|at| cut.get(..at)).unwrap_or(cut), false),
        };
        let (text, has_beginning) = match text.strip_prefix('…') {
            None => (text, true),
            Some(cut) if cut.starts_with(char::is_whitespace) => (cut, false),
            Some(cut) => (cut.find(char::is_whitespace).and_then(|at| cut.get(at..)).unwrap_or(cut), false),
        };
        Self { text, has_beginning, has_end }
    }

    fn is_whole(&self) -> bool {
        self.has_beginning && self.has_end
    }
}

/// Compares masked texts: the new one must be the recorded one, or have its lines in any order, as tests that run side by side
/// end in any order. Where the recorded one was cut, the rest must be the beginning or the end of the new one. Where it reports
/// tests, it may be some of the lines: reports are often quoted without what comes before them.
fn text_differs(recorded: &CutText<'_>, extent: Extent, now: &str, reports_tests: bool) -> Option<String> {
    let (known, found) = (collapse(recorded.text), collapse(now));
    if known.is_empty() {
        return None;
    }
    let is_same = match (recorded.has_beginning, recorded.has_end) {
        (true, true) => known == found,
        (true, false) => found.starts_with(&known),
        (false, true) => found.ends_with(&known),
        (false, false) => found.contains(&known),
    };
    let is_stated = || {
        let first = now.lines().map(collapse).find(|line| !line.is_empty()).unwrap_or_default();
        extent == Extent::Statement && first.split_once(": ").is_some_and(|(_, said)| said == known)
    };
    let is_report = || reports_tests && recorded.is_whole() && has_lines(now, &known);
    if is_same || is_stated() || is_report() || has_same_lines(recorded, now, reports_tests) {
        return None;
    }
    Some(match found.contains(&known) {
        true => "text: the recorded one is only a part of the output".to_owned(),
        false => "text: the output is not the recorded one".to_owned(),
    })
}

/// Returns whether lines that follow each other are a text, white space aside.
fn has_lines(now: &str, known: &str) -> bool {
    let lines: Vec<String> = now.lines().map(collapse).filter(|line| !line.is_empty()).collect();
    (0..lines.len()).any(|first| {
        let mut rest = known;
        for line in lines.iter().skip(first) {
            match rest.strip_prefix(line.as_str()) {
                Some("") => return true,
                Some(left) if left.starts_with(' ') => rest = left.trim_start(),
                _ => return false,
            }
        }
        false
    })
}

/// Returns whether an output has the recorded lines in any order, and no others, unless the lines report tests.
fn has_same_lines(recorded: &CutText<'_>, now: &str, reports_tests: bool) -> bool {
    let lines =
        |text: &str| -> Vec<String> { text.lines().map(collapse).filter(|line| !line.is_empty()).collect() };
    let (known, mut left) = (lines(recorded.text), lines(now));
    let has_all = known.iter().all(|line| {
        let place = left.iter().position(|found| found == line);
        place.is_some_and(|at| {
            left.swap_remove(at);
            true
        })
    });
    known.len() > 1 && recorded.is_whole() && has_all && (left.is_empty() || reports_tests)
}

fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(recorded: &str, code: Option<i64>, now: &str, exit_code: i32) -> Reproduction {
        let recorded = Recorded { text: Some(recorded.to_owned()), exit_code: code, ..Recorded::default() };
        compare(&recorded, Outcome { text: now, exit_code: Some(exit_code) }, &Masks::default()).result
    }

    #[test]
    fn a_text_that_was_cut_to_nothing_is_not_judged() {
        for recorded in ["", "…", "...", "… …", "......", "ERROR: "] {
            let code = i32::from(recorded.starts_with("ERROR"));
            assert_eq!(judged(recorded, None, "hello", code), Reproduction::NothingRecorded, "{recorded:?}");
        }
        assert_eq!(judged("hello…", None, "hello", 0), Reproduction::Reproduced);
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
        let recorded = Recorded { text: Some("done".to_owned()), exit_code: Some(0), ..Recorded::default() };
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
        let recorded = Recorded { text: Some("5 passed".to_owned()), ..Recorded::default() };
        let masks = Masks::with(&["[0-9]+ passed".to_owned()]).unwrap();
        let result = compare(&recorded, Outcome { text: "4 passed", exit_code: Some(0) }, &masks).result;
        assert!(matches!(result, Reproduction::Diverged(_)));
    }

    #[test]
    fn other_text_is_a_difference_also_late_in_it() {
        let long = "x ".repeat(80);
        assert!(difference(&format!("{long}alpha"), None, &format!("{long}beta"), 0).starts_with("text"));
        for (recorded, now) in [
            // A part of the output is not the output.
            (format!("{long}alpha"), format!("{long}alpha and more")),
            ("ok".to_owned(), "not ok".to_owned()),
            ("5".to_owned(), "15".to_owned()),
            ("a\nb".to_owned(), "a\nb\nc".to_owned()),
            ("beta…".to_owned(), "alpha beta gamma".to_owned()),
            ("5 passed in 1s".to_owned(), "15 passed in 1s".to_owned()),
            ("5 passed".to_owned(), "5 passed, so far\n".to_owned()),
            ("every byte is equal".to_owned(), "r: every byte is equal".to_owned()),
            // Lengths of time that are data.
            (r#"{"p99": "200 ms"}"#.to_owned(), r#"{"p99": "900 ms"}"#.to_owned()),
            ("the limit is 30 s".to_owned(), "the limit is 300 s".to_owned()),
        ] {
            assert!(matches!(judged(&recorded, None, &now, 0), Reproduction::Diverged(_)), "{recorded:?}");
        }
        for (recorded, now) in [
            (format!("{long}alp…"), format!("{long}alpha and more")),
            ("…ing delta".to_owned(), "alpha beta being delta\n".to_owned()),
            ("b\na".to_owned(), "a\nb\n".to_owned()),
            ("a b  c".to_owned(), "a\nb c\n".to_owned()),
        ] {
            assert_eq!(judged(&recorded, None, &now, 0), Reproduction::Reproduced, "{recorded:?}");
        }
        let recorded = Recorded {
            text: Some("every byte is equal".to_owned()),
            exit_code: None,
            extent: Extent::Statement,
        };
        let states = |now: &str| {
            compare(&recorded, Outcome { text: now, exit_code: Some(0) }, &Masks::default()).result
        };
        assert_eq!(states("r: every byte is equal\n  5 steps"), Reproduction::Reproduced);
        assert!(matches!(states("r: not every byte is equal"), Reproduction::Diverged(_)));
        // A failure that was not recorded is one, whatever the exit code says.
        assert!(difference("5 passed", Some(0), "5 passed\n2 failed", 0).starts_with("numbers of tests"));
        assert_eq!(judged("", None, "anything", 0), Reproduction::NothingRecorded);
        assert!(difference("", Some(0), "anything", 3).starts_with("exit code"));
    }
}
