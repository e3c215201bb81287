//! Noise in the output of commands: parts that differ from run to run and say nothing about the result.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// The text that replaces a masked part: the name of its kind in these brackets.
const BRACKETS: (&str, &str) = ("⟨", "⟩");

/// The kinds of noise that are known, in the order in which they are masked, each with its pattern.
///
/// A number of tests is never noise: no pattern matches a number that is followed by a word such as `passed`.
const KINDS: [(&str, &str); 7] = [
    (
        "time",
        r#"(?x)
        \b\d{4}-\d{2}-\d{2}[T\ ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\ ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})\b)?
        | \b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\ +(?:\d{1,2}\ +)?[A-Z][a-z]{2}\ +(?:\d{1,2}\ +)?(?:\d{4}\ +)?\d{2}:\d{2}:\d{2}(?:\ +[A-Z]{3,4})?(?:\ +\d{4})?
        | \b\d{2}:\d{2}:\d{2}(?:[.,]\d+)?\b
        | \btimestamp="[^"]*""#,
    ),
    (
        "duration",
        r#"(?x)
        \btime="\d+(?:\.\d+)?"
        | \b\d+:\d{2}(?::\d{2})?\.\d+\b
        | \b\d:\d{2}:\d{2}\b
        | \b(?:\d+(?:\.\d+)?\ ?(?:h|hrs?|hours?|m|mins?|minutes?)\ ?)*
          \d+(?:[.,]\d+)?\ ?(?:ns|nanoseconds?|us|µs|μs|microseconds?|ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|hrs?|hours?)\b
        | \(cached\)"#,
    ),
    (
        "temporary path",
        r#"(?x)
        (?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s'"`)\]}>,;:]+
        | [A-Za-z]:\\(?:[^\s'"]*\\)?Temp\\[^\s'"`)\]}>,;]+"#,
    ),
    ("address", r"\b0x[0-9a-fA-F]{4,16}\b|\b(?:127\.0\.0\.1|localhost|\[::1\]):\d{2,5}\b"),
    ("seed", r"(?i)\b(?:random(?:ized|ly)?[ -](?:with[ -])?)?(?:order[ -])?seed(?: is|:|=| )\s*-?\d+\b"),
    ("process", r"(?i)\b(?:pid|process(?: id)?|thread(?: id)?)[ :=#]+\d+\b"),
    ("progress", r"\[\s*\d{1,3}%\]"),
];

static KNOWN: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    KINDS
        .iter()
        .map(|(name, pattern)| (*name, Regex::new(pattern).expect("the patterns above are valid")))
        .collect()
});

/// The kinds of noise that a comparison leaves out: the known ones and those that a person declares.
#[derive(Clone, Debug, Default)]
pub struct Masks {
    declared: Vec<Regex>,
}

/// A pattern that is not a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is no regular expression: {reason}")]
pub struct NotAPattern {
    /// The pattern.
    pub pattern: String,
    /// The defect of the pattern.
    pub reason: String,
}

impl Masks {
    /// Adds patterns to the known kinds.
    ///
    /// # Errors
    /// [`NotAPattern`] for the first one that is none, or that matches nothing at all: it would mask every place.
    pub fn with(patterns: &[String]) -> Result<Self, NotAPattern> {
        let read = |pattern: &String| {
            let refused = |reason: String| NotAPattern { pattern: pattern.clone(), reason };
            let regex = Regex::new(pattern).map_err(|error| refused(error.to_string()))?;
            if regex.is_match("") { Err(refused("it matches the empty text".to_owned())) } else { Ok(regex) }
        };
        Ok(Self { declared: patterns.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// Masks a text, and counts what was masked into `counts`, by kind.
    pub(super) fn apply(&self, text: &str, counts: &mut BTreeMap<String, usize>) -> String {
        let declared = self.declared.iter().map(|regex| ("declared", regex));
        let known = KNOWN.iter().map(|(name, regex)| (*name, regex));
        declared.chain(known).fold(text.to_owned(), |text, (name, regex)| {
            let found = regex.find_iter(&text).count();
            if found == 0 {
                return text;
            }
            *counts.entry(name.to_owned()).or_default() += found;
            let (open, close) = BRACKETS;
            regex.replace_all(&text, regex::NoExpand(&format!("{open}{name}{close}"))).into_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        Masks::default().apply(text, &mut BTreeMap::new())
    }

    #[test]
    fn the_times_of_test_runners_are_noise_and_their_counts_are_not() {
        for (left, right) in [
            ("1 passed in 2.52s", "1 passed in 0.41s"),
            (
                "===== 3 passed, 1 warning in 61.20s (0:01:01) =====",
                "===== 3 passed, 1 warning in 59.99s (0:00:59) =====",
            ),
            (
                "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s",
                "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 12.31s",
            ),
            (
                "Finished `dev` profile [unoptimized] target(s) in 1m 02s",
                "Finished `dev` profile [unoptimized] target(s) in 0.44s",
            ),
            ("ok  \texample.com/a\t0.005s", "ok  \texample.com/a\t(cached)"),
            ("--- PASS: TestA (0.00s)", "--- PASS: TestA (1.20s)"),
            ("Time:        1.234 s, estimated 2 s", "Time:        0.9 s, estimated 3 s"),
            ("  3 passing (12ms)", "  3 passing (1s)"),
            ("  ✓ adds (5 ms)", "  ✓ adds (11 ms)"),
            (
                "Finished in 0.00231 seconds (files took 0.08 seconds to load)\n3 examples, 0 failures",
                "Finished in 1 minute 2.5 seconds (files took 0.1 seconds to load)\n3 examples, 0 failures",
            ),
            (
                "Tests run: 3, Failures: 0, Time elapsed: 0.12 s",
                "Tests run: 3, Failures: 0, Time elapsed: 1.5 s",
            ),
            (
                r#"<testsuite tests="3" time="0.123" timestamp="2026-02-02T00:00:00">"#,
                r#"<testsuite tests="3" time="1" timestamp="2026-11-16T13:00:00">"#,
            ),
            ("Ran 5 tests in 0.001s", "Ran 5 tests in 0.113s"),
            ("<Foo object at 0x7f3a2b1c>", "<Foo object at 0x55aa00ff12>"),
            ("wrote /tmp/pytest-of-a/pytest-3/x.txt ok", "wrote /tmp/pytest-of-b/pytest-9/x.txt ok"),
            ("Randomized with seed 12345", "Randomized with seed 1"),
            ("Using --randomly-seed=123", "Using --randomly-seed=99"),
            ("2026-02-02 10:00:00,123 INFO up", "2026-11-16 13:01:02,999 INFO up"),
            ("listening on 127.0.0.1:43121", "listening on 127.0.0.1:51000"),
        ] {
            assert_eq!(masked(left), masked(right));
            assert!(masked(left).contains(BRACKETS.0), "{left}");
        }
        for text in
            ["1 passed", "3 examples, 1 failure", "line 12: x = 0x1", "5 items", "version 1.2.3", "10 m tall"]
        {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn a_person_declares_more_and_what_is_masked_is_counted() {
        let masks = Masks::with(&["build-[0-9]+".to_owned()]).unwrap();
        let mut counts = BTreeMap::new();
        assert_eq!(
            masks.apply("build-17 took 3s and 4s", &mut counts),
            "⟨declared⟩ took ⟨duration⟩ and ⟨duration⟩"
        );
        assert_eq!(counts, BTreeMap::from([("declared".to_owned(), 1), ("duration".to_owned(), 2)]));
        assert!(Masks::with(&["(".to_owned()]).is_err());
        assert!(Masks::with(&["x*".to_owned()]).is_err());
    }
}
