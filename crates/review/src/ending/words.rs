//! Reads from the words of a summary how an action ended. Only whole words count, and counts count as counted.

/// The reading of a summary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Words {
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
pub(super) fn ending(summary: &str) -> Words {
    let parts = parts(summary);
    let mut found = Found { is_data: is_data(summary), ..Found::default() };
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        if let Part::Word(word) = part {
            found.word(word, &parts, at);
        }
        at += 1;
    }
    match found {
        Found { failed: true, .. } => Words::Badly,
        Found { nothing_ran: true, .. } => Words::NothingRan,
        Found { passed: true, .. } => Words::Well,
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
    failed: bool,
    nothing_ran: bool,
}

impl Found {
    fn word(&mut self, word: &str, parts: &[Part], at: usize) {
        let is = |list: &[&str]| list.contains(&word);
        if is(FAILURES) {
            let uncounted = !self.is_data || is_statement(parts, at);
            self.failed |= counted(parts, at).map_or(uncounted, |count| count > 0);
        } else if is(ERRORS) {
            let named = parts.get(at + 1) == Some(&Part::Gives);
            self.failed |= counted(parts, at).map_or(named, |count| count > 0);
        } else if is(SUCCESSES) {
            match before(parts, at) {
                Some(earlier) if WISHES.contains(&earlier) => {}
                Some("not" | "never" | "no") => self.failed |= word != "ok",
                _ => self.passed |= counted(parts, at).is_none_or(|count| count > 0),
            }
        } else if matches!(word, "tests" | "test" | "items" | "specs") && before_count(parts, at) == Some(0) {
            // "0 tests", "no tests ran", "collected 0 items" - but not "0 tests failed".
            let next = parts.get(at + 1);
            let judged = matches!(next, Some(Part::Word(next)) if FAILURES.contains(&next.as_str()) || ERRORS.contains(&next.as_str()));
            self.nothing_ran |= !judged;
        }
    }
}

/// Returns the word before a part, over `be` and `have`.
fn before(parts: &[Part], at: usize) -> Option<&str> {
    let earlier = parts.get(..at)?.iter().rev();
    let mut words = earlier.map_while(|part| match part {
        Part::Word(word) => Some(word.as_str()),
        _ => None,
    });
    words.find(|word| !matches!(*word, "be" | "have" | "been" | "yet" | "all"))
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
            ("0 passed", Words::Silent),
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
            ("3 skipped", Words::Silent),
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
            ("", Words::Silent),
        ] {
            assert_eq!(ending(summary), expected, "{summary:?}");
        }
    }
}
