//! Reads from the words of a summary how an action ended. Only whole words count, and counts count as counted.

/// The reading of a summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Words {
    /// It says that something passed, and nothing about a failure.
    Well,
    /// It says that something failed.
    Badly,
    /// It says that nothing was run.
    NothingRan,
    /// It says neither.
    Silent,
}

/// Words of a failure, which count with or without a number.
const FAILURES: &[&str] = &["fail", "failed", "fails", "failing", "failure", "failures", "panicked"];
/// Words of an error, which count with a number or before a colon.
const ERRORS: &[&str] = &["error", "errors", "errored"];
/// Words of what was passed over.
const SKIPPED: &[&str] =
    &["skipped", "skips", "pending", "excluded", "disabled", "ignored", "deselected", "omitted"];
/// Words for what a test runner runs, and for that it ran them.
#[rustfmt::skip]
const RUNS: &[&str] = &[
    "tests", "test", "items", "specs", "spec", "examples", "example", "runs", "run", "assertions", "assertion",
    "executed", "scenarios", "scenario", "cases",
];
/// Words after a success that take a part of it back.
const EXCEPT: &[&str] = &["except", "excepting", "besides", "minus", "bar", "excluding"];
/// Words of a success.
const SUCCESSES: &[&str] = &[
    "pass",
    "passed",
    "passes",
    "passing",
    "completed",
    "succeeded",
    "succeeds",
    "success",
    "successful",
    "successfully",
    "ok",
];
/// Words that take the place of a number that is zero.
const NONE: &[&str] = &["no", "not", "without", "zero", "never", "null", "none", "false"];
/// Words that make a success a wish.
const WISHES: &[&str] = &[
    "should",
    "would",
    "will",
    "must",
    "may",
    "might",
    "could",
    "can",
    "to",
    "until",
    "if",
    "partially",
    "almost",
    "cannot",
];
/// Things that stand between a number and what became of them: `3 tests failed`.
const THINGS: &[&str] = &[
    "test",
    "tests",
    "check",
    "checks",
    "spec",
    "specs",
    "case",
    "cases",
    "suite",
    "suites",
    "example",
    "examples",
    "assertion",
    "assertions",
    "item",
    "items",
    "file",
    "files",
    "problem",
    "problems",
    "more",
];

/// A part of a summary.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Word(String),
    Number(u64),
    /// `:` or `=`, which gives a value to the word before it.
    Gives,
    /// An empty list, object or text as a value.
    Empty,
    /// `of` or `/` between two numbers.
    Of,
    /// Any other mark, which ends a phrase.
    Mark,
}

/// Reads a summary.
pub(crate) fn ending(summary: &str) -> Words {
    let parts = parts(summary);
    let mut found = Found { is_data: is_data(summary), ..Found::default() };
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        if let Part::Word(word) = part {
            found.word(word, &parts, at);
        }
        at += 1;
    }
    let ran = found.ran.unwrap_or(0);
    // `5 skipped`, `Ran 5 tests OK (skipped=5)`: what was passed over has not passed.
    let all_skipped = found.skipped > 0 && found.skipped >= ran;
    match found {
        Found { failed: true, .. } => Words::Badly,
        Found { counted_passes: true, .. } => Words::Well,
        _ if all_skipped => Words::NothingRan,
        // `0 passed; 0 failed; 12 filtered out`, `ok pkg [no tests to run]`
        Found { nothing_ran: true, .. } => Words::NothingRan,
        Found { none_passed: true, .. } => Words::NothingRan,
        Found { lacks_files: true, passed: false, .. } => Words::NothingRan,
        Found { passed: true, .. } => Words::Well,
        // `5 examples, 0 failures`
        Found { none_failed: true, skipped, .. } if ran > skipped => Words::Well,
        Found { none_failed: true, ran: Some(_), .. } => Words::NothingRan,
        _ => Words::Silent,
    }
}

/// Returns whether a summary is the JSON text of an object or a list, whole or cut.
fn is_data(summary: &str) -> bool {
    let mut marks = summary.chars().filter(|sign| !sign.is_whitespace());
    match marks.next() {
        Some('{') => matches!(marks.next(), Some('"' | '}')),
        Some('[') => matches!(marks.next(), Some('{' | '[' | '"' | ']')),
        _ => false,
    }
}

/// Returns whether a word of data begins a value, as in `"status": "failed"`, is given one, as in `"failed": true`, or
/// has a number at the beginning of a value, as in `"stdout": "3 failed, 2 passed"`.
fn is_statement(parts: &[Part], at: usize) -> bool {
    let is_thing = |part: &&Part| matches!(part, Part::Word(word) if THINGS.contains(&word.as_str()));
    let earlier = parts.get(..at).and_then(|earlier| earlier.iter().rev().find(|part| !is_thing(part)));
    let is_said =
        matches!(earlier, Some(Part::Gives)) || matches!(earlier, Some(Part::Number(count)) if *count > 0);
    is_said || parts.get(at + 1) == Some(&Part::Gives)
}

#[derive(Default)]
struct Found {
    /// Whether the summary is data: what its texts are about, as "the first failure", is no ending.
    is_data: bool,
    passed: bool,
    /// Whether more than nothing is counted as passed, or nothing is.
    counted_passes: bool,
    none_passed: bool,
    failed: bool,
    /// Whether failures are counted, and there is none.
    none_failed: bool,
    nothing_ran: bool,
    /// Whether a part of the project has no files with tests, which says nothing about the others.
    lacks_files: bool,
    /// The most tests that are said to have run, and to have been passed over.
    ran: Option<u64>,
    skipped: u64,
}

impl Found {
    fn word(&mut self, word: &str, parts: &[Part], at: usize) {
        let is = |list: &[&str]| list.contains(&word);
        if is(FAILURES) {
            let uncounted = !self.is_data || is_statement(parts, at);
            let count = counted(parts, at);
            self.failed |= count.map_or(uncounted, |count| count > 0);
            self.none_failed |= count == Some(0);
        } else if is(ERRORS) {
            let named = parts.get(at + 1) == Some(&Part::Gives);
            self.failed |= counted(parts, at).map_or(named, |count| count > 0);
        } else if is(SUCCESSES) {
            self.success(word, parts, at);
        } else if is(SKIPPED) {
            // In `Tests: 5 skipped` the number is given to a word, and counts what comes after it all the same.
            let free = at.checked_sub(1).and_then(|at| parts.get(at)).and_then(number);
            self.skipped = self.skipped.max(counted(parts, at).or(free).unwrap_or(0));
        } else if is(RUNS) {
            self.run(word, parts, at);
        }
    }

    fn success(&mut self, word: &str, parts: &[Part], at: usize) {
        let is_exception =
            matches!(parts.get(at + 1), Some(Part::Word(next)) if EXCEPT.contains(&next.as_str()));
        match before(parts, at) {
            Some(earlier) if WISHES.contains(&earlier) => {}
            // `not ok 2 - name` of the Test Anything Protocol, unless it was expected: `# TODO`.
            Some("not") if word == "ok" => self.failed |= !is_expected(parts, at),
            Some("not" | "never" | "no" | "nothing" | "none" | "neither" | "nobody") => self.failed = true,
            Some(earlier) if is_denial(earlier) => self.failed = true,
            _ if is_exception => self.failed = true,
            _ => match portion(parts, at).or_else(|| portion_after(parts, at)) {
                Some((some, all)) if some < all => self.failed = true,
                _ => {
                    let count = counted(parts, at);
                    self.passed |= count.is_none_or(|count| count > 0);
                    self.counted_passes |= count.is_some_and(|count| count > 0) && word != "ok";
                    self.none_passed |= count == Some(0);
                }
            },
        }
    }

    /// Reads how many tests there were: `0 tests`, `no tests ran`, `collected 0 items`, `Tests run: 5` - but not
    /// `0 tests failed`.
    fn run(&mut self, word: &str, parts: &[Part], at: usize) {
        let next = match parts.get(at + 1) {
            Some(Part::Word(next)) => next.as_str(),
            _ => "",
        };
        let count = match word {
            "run" | "executed" => {
                given(parts, at).filter(|_| matches!(before(parts, at), Some("tests" | "test")))
            }
            _ => before_count(parts, at),
        };
        let is_judged = FAILURES.contains(&next) || ERRORS.contains(&next) || SKIPPED.contains(&next);
        match count {
            _ if is_judged => {}
            Some(0) if word == "test" && matches!(next, "files" | "file") => self.lacks_files = true,
            Some(0) if matches!(word, "assertions" | "assertion" | "run" | "runs" | "cases") => {
                self.none_passed = true;
                self.ran = self.ran.or(Some(0));
            }
            Some(0) => self.nothing_ran = true,
            Some(count) => self.ran = Some(self.ran.unwrap_or(0).max(count)),
            None => {}
        }
    }
}

/// Returns whether a point of the Test Anything Protocol that failed was expected to.
fn is_expected(parts: &[Part], at: usize) -> bool {
    let rest = parts.get(at + 1..).unwrap_or(&[]).iter();
    let mut words = rest.filter_map(|part| match part {
        Part::Word(word) => Some(word.as_str()),
        _ => None,
    });
    words
        .find(|word| matches!(*word, "ok" | "not" | "todo" | "skip"))
        .is_some_and(|word| matches!(word, "todo" | "skip"))
}

/// Returns the two numbers before a success: 5 and 6 of `5 of 6 tests passed`, `5/6 passed` and `(5 out of 6) passed`.
fn portion(parts: &[Part], at: usize) -> Option<(u64, u64)> {
    let mut earlier = parts.get(..at)?.iter().rev().skip_while(|part| {
        matches!(part, Part::Mark) || matches!(part, Part::Word(word) if THINGS.contains(&word.as_str()))
    });
    let Some(Part::Number(all)) = earlier.next() else { return None };
    let Some(Part::Of) = earlier.next() else { return None };
    let mut rest = earlier.skip_while(|part| matches!(part, Part::Word(word) if word == "out"));
    let Some(Part::Number(some)) = rest.next() else { return None };
    // A third number makes a date.
    (rest.next() != Some(&Part::Of)).then_some((*some, *all))
}

/// Returns whether a word takes back what follows it: `didn't`, `won’t`, `couldn't`.
fn is_denial(word: &str) -> bool {
    word.ends_with("n't") || word.ends_with("n’t")
}

/// Returns the two numbers after a success: 3 and 5 of `passed 3 of 5` and `passed: 3/5`. A `/` that a third number
/// follows is part of a date.
fn portion_after(parts: &[Part], at: usize) -> Option<(u64, u64)> {
    let rest = parts.get(at + 1..)?;
    let rest = rest.strip_prefix(&[Part::Gives]).unwrap_or(rest);
    let (some, rest) = match rest {
        [Part::Number(some), rest @ ..] => (*some, rest),
        _ => return None,
    };
    let rest = match rest {
        [Part::Word(out), rest @ ..] if out == "out" => rest,
        rest => rest,
    };
    match rest {
        [Part::Of, Part::Number(_), Part::Of, ..] => None,
        [Part::Of, Part::Number(all), ..] => Some((some, *all)),
        _ => None,
    }
}

/// Returns whether a line counts tests that did not pass: `# fail 1`, `5 examples, 1 failure`, `Failed: 1`,
/// `passed 3 of 5`, `5 tests didn't pass`. A failure that is only named is none: it may be what a test is about.
pub(crate) fn counts_failures(line: &str) -> bool {
    let parts = parts(line);
    let is_word = |at: usize, list: &[&str]| matches!(parts.get(at), Some(Part::Word(word)) if list.contains(&word.as_str()));
    let is_end = |at: usize| !matches!(parts.get(at), Some(Part::Word(_) | Part::Of));
    // `retries failed 3 times` counts no tests, `# fail 3` does.
    let after = |at: usize| match (parts.get(at + 1), parts.get(at + 2)) {
        (Some(Part::Gives), Some(Part::Number(count))) => Some(*count),
        (Some(Part::Number(count)), _) if is_end(at + 2) => Some(*count),
        _ => None,
    };
    let counted = |at: usize| before_count(&parts, at).or_else(|| after(at)).unwrap_or(0) > 0;
    let names_result = (0..parts.len()).any(|at| {
        is_word(at, &["passed", "failed", "tests", "test", "examples", "suites", "runs", "assertions"])
    });
    (0..parts.len()).any(|at| {
        let is_success = is_word(at, &["pass", "passed", "passing"]);
        let is_denied = is_success
            && before_count(&parts, at).is_none()
            && before(&parts, at).is_some_and(|word| is_denial(word) || word == "not");
        let is_part = is_success
            && portion(&parts, at)
                .or_else(|| portion_after(&parts, at))
                .is_some_and(|(some, all)| some < all);
        let is_counted_denial = is_denied && (0..at).any(|at| matches!(parts.get(at), Some(Part::Number(_))));
        is_word(at, FAILURES) && counted(at)
            || is_word(at, ERRORS) && names_result && counted(at)
            || is_counted_denial
            || is_part
    })
}

/// Returns the word before a part, over `be` and `have`.
fn before(parts: &[Part], at: usize) -> Option<&str> {
    let earlier = parts.get(..at)?.iter().rev();
    let mut words = earlier.map_while(|part| match part {
        Part::Word(word) => Some(word.as_str()),
        // `not all 5 tests passed`, `none of the tests passed`
        Part::Number(_) => Some("all"),
        Part::Of => Some("the"),
        _ => None,
    });
    words.find(|word| {
        let is_between =
            matches!(*word, "be" | "have" | "been" | "yet" | "all" | "the" | "of" | "these" | "your");
        !is_between && (!THINGS.contains(word) || parts_name_them(parts, at))
    })
}

/// Returns whether the word before a part names what ran, so that it is not passed over: `Tests run`.
fn parts_name_them(parts: &[Part], at: usize) -> bool {
    matches!(parts.get(at), Some(Part::Word(word)) if matches!(word.as_str(), "run" | "executed"))
}

/// Returns the count of a word: the number before it, or the one it is given.
fn counted(parts: &[Part], at: usize) -> Option<u64> {
    given(parts, at).or_else(|| before_count(parts, at))
}

/// Returns the number given to a word: `failed: 0`, `failed=2`, `"errors": []`, and `failed 2` in a list of such pairs.
fn given(parts: &[Part], at: usize) -> Option<u64> {
    match (parts.get(at + 1)?, parts.get(at + 2)) {
        (Part::Gives, Some(value)) => number(value),
        (Part::Number(count), after) => {
            // In `2 failed 3 passed` the number after a word belongs to the next one.
            let belongs_to_next =
                matches!(after, Some(Part::Word(_) | Part::Of)) && before_count(parts, at).is_some();
            (!belongs_to_next).then_some(*count)
        }
        _ => None,
    }
}

/// Returns the number before a word, over the things it counts.
fn before_count(parts: &[Part], at: usize) -> Option<u64> {
    let mut at = at;
    loop {
        at = at.checked_sub(1)?;
        match parts.get(at)? {
            Part::Word(word) if THINGS.contains(&word.as_str()) => {}
            Part::Number(count) => {
                // Of `1 of 3` and `1/3` the first number counts; a number that is given to a word is not free.
                let of = at.checked_sub(1).and_then(|at| parts.get(at)) == Some(&Part::Of);
                let first = at.checked_sub(2).and_then(|at| parts.get(at));
                let is_given = at.checked_sub(1).and_then(|at| parts.get(at)) == Some(&Part::Gives);
                return match first {
                    Some(Part::Number(first)) if of => Some(*first),
                    _ if is_given => None,
                    _ => Some(*count),
                };
            }
            Part::Word(word) if NONE.contains(&word.as_str()) => return Some(0),
            _ => return None,
        }
    }
}

fn number(part: &Part) -> Option<u64> {
    match part {
        Part::Number(count) => Some(*count),
        Part::Empty => Some(0),
        Part::Word(word) if NONE.contains(&word.as_str()) => Some(0),
        _ => None,
    }
}

/// Splits a summary into words, numbers and marks.
fn parts(summary: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut letters = summary.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_alphanumeric() || letter == '_' {
            let mut word = String::from(letter);
            while let Some(more) =
                letters.next_if(|more| more.is_alphanumeric() || matches!(more, '_' | '-' | '\''))
            {
                word.push(more);
            }
            parts.push(word_or_number(&word));
            continue;
        }
        match letter {
            ':' | '=' => parts.push(Part::Gives),
            '/' => parts.push(Part::Of),
            '[' | '{' if letters.next_if(|next| matches!(next, ']' | '}')).is_some() => {
                parts.push(Part::Empty)
            }
            '"' | '\'' | '`' | '*' => {
                let is_value = parts.last() == Some(&Part::Gives);
                if is_value && letters.next_if_eq(&letter).is_some() {
                    parts.push(Part::Empty);
                }
            }
            space if space.is_whitespace() => {}
            // A decimal point inside a number such as 0.4s ends no phrase.
            '.' if letters.peek().is_some_and(|next| next.is_ascii_digit()) => {}
            _ => parts.push(Part::Mark),
        }
    }
    parts
}

fn word_or_number(word: &str) -> Part {
    let lower = word.to_lowercase();
    match lower.parse() {
        Ok(number) => Part::Number(number),
        Err(_) if lower == "of" => Part::Of,
        Err(_) => Part::Word(lower.trim_end_matches(['-', '\'']).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_decide_and_whole_words_count() {
        for (summary, expected) in [
            ("12 passed", Words::Well),
            ("3 failed, 2 passed", Words::Badly),
            ("2 passed, 3 failed", Words::Badly),
            ("0 failed, 5 passed", Words::Well),
            ("5 passed, 0 failed", Words::Well),
            ("passed: 5, failed: 0", Words::Well),
            ("failed: 0", Words::Silent),
            ("failed=2", Words::Badly),
            ("passed 3 failed 0", Words::Well),
            ("passed 3 failed 1", Words::Badly),
            ("2 failed 3 passed", Words::Badly),
            ("0 failed 3 passed", Words::Well),
            ("1 error", Words::Badly),
            ("0 errors", Words::Silent),
            ("0 errors, passed", Words::Well),
            ("error: could not compile", Words::Badly),
            ("ERROR: card declined", Words::Badly),
            ("error handling added, 4 passed", Words::Well),
            ("bypassed", Words::Silent),
            ("no tests ran", Words::NothingRan),
            ("no tests ran; bypassed", Words::NothingRan),
            ("collected 0 items", Words::NothingRan),
            ("0 tests passed", Words::NothingRan),
            ("0 passed", Words::NothingRan),
            ("3 tests failed", Words::Badly),
            ("0 of 3 tests failed, passed", Words::Well),
            ("1 of 3 tests failed", Words::Badly),
            ("0/3 failed; ok", Words::Well),
            ("Tests run: 5, Failures: 2, Errors: 0, Skipped: 1", Words::Badly),
            ("Tests run: 5, Failures: 0, Errors: 0. OK", Words::Well),
            ("test result: ok. 7 passed; 0 failed; 0 ignored", Words::Well),
            ("test result: FAILED. 6 passed; 1 failed; 0 ignored", Words::Badly),
            ("ok\tpkg/cart 0.41s", Words::Well),
            ("--- FAIL: TestCart (0.00s)", Words::Badly),
            ("no failures, all passed", Words::Well),
            ("completed without errors", Words::Well),
            ("did not pass", Words::Badly),
            ("should pass soon", Words::Silent),
            ("not completed", Words::Badly),
            ("incomplete", Words::Silent),
            ("2 passed, 1 xfailed", Words::Well),
            ("3 skipped", Words::NothingRan),
            ("5 skipped in 0.01s", Words::NothingRan),
            ("Ran 5 tests in 0.1s OK (skipped=5)", Words::NothingRan),
            ("Ran 5 tests in 0.1s OK (skipped=4)", Words::Well),
            ("Tests: 5 skipped, 5 total", Words::NothingRan),
            ("4 passed, 1 skipped", Words::Well),
            ("5 tests didn't pass", Words::Badly),
            ("the tests won't pass", Words::Badly),
            ("passed 3 of 5", Words::Badly),
            ("passed: 3/5", Words::Badly),
            ("passed 3 out of 5", Words::Badly),
            ("passed 5 of 5", Words::Well),
            ("passed 5/5/2026", Words::Well),
            ("# tests 5 # pass 4 # fail 1", Words::Badly),
            ("# tests 5 # pass 5 # fail 0", Words::Well),
            (r#"{"errors":[],"failed":0,"passed":3}"#, Words::Well),
            (r#"{"error":null,"ok":true}"#, Words::Well),
            (r#"{"failed":3,"passed":2}"#, Words::Badly),
            (r#"{"status":"failed"}"#, Words::Badly),
            (r#"{"failed":true}"#, Words::Badly),
            (r#"{"failed":false,"ok":true}"#, Words::Well),
            (r#"{"stdout":"3 failed, 2 passed"}"#, Words::Badly),
            (r#"{"stdout":"3 tests failed"}"#, Words::Badly),
            (r#"{"stdout":"ran: 3 failed, 2 passed"}"#, Words::Badly),
            (r#"{"stdout":"0 failed, 2 passed"}"#, Words::Well),
            (r#"[{"text":"The first failure is the earliest cited line"}]"#, Words::Silent),
            (r#"{"supported":[{"text":"Every failure is named"}],"unsup…"#, Words::Silent),
            ("1 passed in 2.52s", Words::Well),
            ("failed: boom", Words::Badly),
            ("passport control", Words::Silent),
            ("5 of 6 passed", Words::Badly),
            ("5/6 passed", Words::Badly),
            ("6/6 passed", Words::Well),
            ("5 out of 6 tests passed", Words::Badly),
            ("1 of 1 test suites (0 of 1 test cases) passed.", Words::Badly),
            ("not all tests passed", Words::Badly),
            ("not all 5 tests passed", Words::Badly),
            ("none of the tests passed", Words::Badly),
            ("Nothing passed", Words::Badly),
            ("All 5 tests passed except 1", Words::Badly),
            ("All 5 tests passed", Words::Well),
            ("1..2 ok 1 a not ok 2 b", Words::Badly),
            ("1..2 ok 1 a ok 2 b", Words::Well),
            ("ok 1 a not ok 2 b # TODO later ok 3 c", Words::Well),
            ("No tests found, exiting with code 0", Words::NothingRan),
            ("? ex.com/x [no test files]", Words::NothingRan),
            ("ok ex.com/a 0.1s ? ex.com/x [no test files]", Words::Well),
            ("testing: warning: no tests to run PASS ok ex.com/x 0.1s [no tests to run]", Words::NothingRan),
            (
                "running 0 tests test result: ok. 0 passed; 0 failed; 0 ignored; 12 filtered out",
                Words::NothingRan,
            ),
            ("test result: ok. 3 passed; 0 failed test result: ok. 0 passed; 0 failed", Words::Well),
            ("0 passing (1ms)", Words::NothingRan),
            ("0 examples, 0 failures", Words::NothingRan),
            ("5 examples, 0 failures", Words::Well),
            ("10 runs, 20 assertions, 0 failures, 0 errors, 0 skips", Words::Well),
            ("0 runs, 0 assertions, 0 failures, 0 errors, 0 skips", Words::NothingRan),
            ("5 tests, 0 failures", Words::Well),
            ("5 tests, 0 failures, 5 skipped", Words::NothingRan),
            ("Executed 5 tests, with 0 failures (0 unexpected) in 0.1", Words::Well),
            ("Ran 5 tests containing 9 assertions. 0 failures, 0 errors.", Words::Well),
            ("Ran 0 tests in 0.000s OK", Words::NothingRan),
            ("Tests run: 0, Failures: 0, Errors: 0, Skipped: 0 BUILD SUCCESS", Words::NothingRan),
            ("Tests run: 5, Failures: 0, Errors: 0, Skipped: 0", Words::Well),
            ("No tests were found!!!", Words::NothingRan),
            ("No test is available in x.dll.", Words::NothingRan),
            ("No tests executed!", Words::NothingRan),
            ("No test files found, exiting with code 0", Words::NothingRan),
            ("No tests to run. BUILD SUCCESS", Words::NothingRan),
            ("", Words::Silent),
        ] {
            assert_eq!(ending(summary), expected, "{summary:?}");
        }
    }

    #[test]
    fn a_line_that_counts_failures_is_told_from_one_that_names_them() {
        for line in [
            "# fail 1",
            "ℹ fail 2",
            "5 examples, 1 failure",
            "5 tests, 1 failure",
            "Failed! - Failed: 1, Passed: 4, Skipped: 0, Total: 5",
            "Executed 5 tests, with 1 failure (0 unexpected) in 0.1 seconds",
            "Tests run: 5, Failures: 1, Errors: 0",
            "Tests run: 5, Failures: 0, Errors: 2",
            "2 passed, 1 error in 0.1s",
            "5 tests didn't pass",
            "passed 3 of 5",
            "3/5 passed",
            "FAILED (failures=1)",
        ] {
            assert!(counts_failures(line), "{line}");
        }
        for line in [
            "# fail 0",
            "5 examples, 0 failures",
            "Failed: 0, Passed: 4",
            "retries failed 3 times",
            "names the first failure",
            "passed 5 of 5",
            "does not pass the card number on",
            "no errors, 4 passed",
            "Tests run: 5, Failures: 0, Errors: 0",
        ] {
            assert!(!counts_failures(line), "{line}");
        }
    }
}
