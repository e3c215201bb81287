//! Noise in the output of commands: parts that differ from run to run and say nothing about the result.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// The text that replaces a masked part: the name of its kind in these brackets.
const BRACKETS: (&str, &str) = ("⟨", "⟩");

/// A length of time, as programs print it.
const LENGTH: &str = r"(?:\d+(?:\.\d+)?\ ?(?:h|hrs?|hours?|m|mins?|minutes?)\ ?)*\d+(?:[.,]\d+)?\ ?(?:ns|nanoseconds?|us|µs|μs|microseconds?|ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|hrs?|hours?)\b";

/// A point in time, as programs print it.
const POINT: &str = r"(?:\d{4}-\d{2}-\d{2}[T\ ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\ ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})\b)?|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\ +(?:\d{1,2}\ +)?[A-Z][a-z]{2}\ +(?:\d{1,2}\ +)?(?:\d{4}\ +)?\d{2}:\d{2}:\d{2}(?:\ +[A-Z]{3,4})?(?:\ +\d{4})?|\d{2}:\d{2}:\d{2}(?:[.,]\d+)?\b)";

/// The kinds of noise that are known, in the order in which they are masked, each with its patterns. `LENGTH` and `POINT`
/// stand for a length of time and a point in time; a group `noise` is what is masked, else the whole match.
///
/// Times are noise only where programs print when they ran or how long they took: a length of time anywhere else is data, such
/// as a limit that was computed. A number of tests is never noise: no pattern matches one.
const KINDS: [(&str, &[&str]); 7] = [
    (
        "time",
        &[
            r#"<test(?:suites?|case)\b[^>]*?\btimestamp="(?P<noise>[^"]*)""#,
            r"(?m)^\s*\[?(?P<noise>POINT)",
            r"(?P<noise>POINT)\]?\s+\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b",
            r"(?i)\b(?:started|finished|completed|ran)\ (?:at|on):?\s+(?P<noise>POINT)",
        ],
    ),
    (
        "duration",
        &[
            r#"<test(?:suites?|case)\b[^>]*?\btime="(?P<noise>\d+(?:\.\d+)?)""#,
            r"(?i)\b(?:finished|passed|failed|errors?|warnings?|skipped|ignored|deselected|xfailed|xpassed|tests?|suites?|files?|modules?|packages?|target\(s\)|done|built|compiled|completed|ready|ran|checked|formatted|up\ to\ date)\s+in\s+(?P<noise>LENGTH)",
            r"\b(?:took|Took)\s+(?P<noise>LENGTH)",
            r"\b(?:Time(?:\ elapsed)?|Duration|Elapsed|Elapsed\ time|Total\ time|Total\ Time|real|user|sys)(?:\s*:\s*|\s+)(?P<noise>LENGTH)",
            r"\bestimated\s+(?P<noise>LENGTH)",
            r"(?:[✓✔√✗✘×✕]|---\s(?:PASS|FAIL|SKIP):|\b\d+\s(?:passing|failing|pending))[^()\n]*\((?P<noise>LENGTH)\)",
            r"\b(?:ok|FAIL)\s+\S+\s+(?P<noise>LENGTH|\(cached\))",
            r"\bin\s+⟨duration⟩\s+\((?P<noise>\d+:\d{2}:\d{2})\)",
        ],
    ),
    (
        "temporary path",
        &[
            r#"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s'"`)\]}>,;:]+"#,
            r#"[A-Za-z]:\\(?:[^\s'"]*\\)?Temp\\[^\s'"`)\]}>,;]+"#,
        ],
    ),
    ("address", &[r"\b0x[0-9a-fA-F]{4,16}\b|\b(?:127\.0\.0\.1|localhost|\[::1\]):\d{2,5}\b"]),
    ("seed", &[r"(?i)\b(?:random(?:ized|ly)?[ -](?:with[ -])?)?(?:order[ -])?seed(?: is|:|=| )\s*-?\d+\b"]),
    ("process", &[r"(?i)\b(?:pid|process(?: id)?|thread(?: id)?)[ :=#]+\d+\b"]),
    ("progress", &[r"\[\s*\d{1,3}%\]"]),
];

static KNOWN: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    let patterns =
        KINDS.iter().flat_map(|(name, patterns)| patterns.iter().map(move |pattern| (*name, pattern)));
    let regex = |(name, pattern): (&'static str, &&str)| {
        let pattern = pattern.replace("LENGTH", LENGTH).replace("POINT", POINT);
        (name, Regex::new(&pattern).expect("the patterns above are valid"))
    };
    patterns.map(regex).collect()
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
            let mut masked = String::with_capacity(text.len());
            let mut done = 0;
            for found in regex.captures_iter(&text) {
                let Some(noise) = found.name("noise").or_else(|| found.get(0)) else { continue };
                masked.push_str(text.get(done..noise.start()).unwrap_or_default());
                let (open, close) = BRACKETS;
                masked.push_str(&format!("{open}{name}{close}"));
                *counts.entry(name.to_owned()).or_default() += 1;
                done = noise.end();
            }
            masked.push_str(text.get(done..).unwrap_or_default());
            masked
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
        for text in [
            "1 passed",
            "3 examples, 1 failure",
            "line 12: x = 0x1",
            "5 items",
            "version 1.2.3",
            "10 m tall",
            // Lengths of time and points in time that are data.
            r#"{"timeout": "30s", "p99": "200 ms"}"#,
            "limit 200 ms, found 250 ms",
            "the lease expires in 30 s",
            "retry after 5 seconds (30s at most)",
            "duration: 5s",
            "id,when\n7,2026-02-02T10:00:00Z",
            "meeting from 10:30:00 to 11:15:00",
            r#"<slot time="3.5" timestamp="now"/>"#,
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn a_person_declares_more_and_what_is_masked_is_counted() {
        let masks = Masks::with(&["build-[0-9]+".to_owned()]).unwrap();
        let mut counts = BTreeMap::new();
        assert_eq!(
            masks.apply("build-17 took 3s, 2 passed in 4s, waits 4s", &mut counts),
            "⟨declared⟩ took ⟨duration⟩, 2 passed in ⟨duration⟩, waits 4s"
        );
        assert_eq!(counts, BTreeMap::from([("declared".to_owned(), 1), ("duration".to_owned(), 2)]));
        assert!(Masks::with(&["(".to_owned()]).is_err());
        assert!(Masks::with(&["x*".to_owned()]).is_err());
    }
}
