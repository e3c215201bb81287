//! Reads from the output of a command line how its parts ended.

use crate::ending::counts_failures;

/// Signs in an output that a part of the line ran, and how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// `[main 1a2b3c4] subject`.
    pub committed: bool,
    /// Git said that there was nothing to commit, or that a hook or an error stopped it.
    pub commit_failed: bool,
    /// Git said that the push was refused.
    pub push_failed: bool,
    /// Git named a branch or a tag that it pushed.
    pub pushed: bool,
    /// Git named a branch that it overwrote: `+ 1a2b3c4...5d6e7f8 main -> main (forced update)`.
    pub forced: bool,
    /// Tests that failed are counted or named.
    pub tests_failed: bool,
    /// Tests that passed are counted, and none that failed.
    pub tests_passed: bool,
    /// The test runner said that it found or ran no test, and nothing counts one that ran.
    pub no_tests: bool,
    /// The number in the last line, if that holds just one.
    pub last_number: Option<i64>,
    /// A formatter said that it left the files as they were.
    pub nothing_rewritten: bool,
}

/// Words by which a formatter says that it rewrote a file.
const REWROTE: &[&str] = &["reformatted", "rewritten", "rewrote", "formatted", "fixed"];

/// Beginnings of lines by which git says that it did not commit.
const COMMIT_FAILED: &[&str] = &[
    "nothing to commit",
    "nothing added to commit",
    "no changes added to commit",
    "Aborting commit",
    "error: pathspec",
    "error: Committing is not possible",
    "fatal: not a git repository",
    "husky - pre-commit hook exited",
    "husky - commit-msg hook exited",
];

/// Beginnings of lines by which git says that it did not push.
const PUSH_FAILED: &[&str] =
    &["error: failed to push", "! [rejected]", "! [remote rejected]", "remote: error:"];

impl Signs {
    /// Looks for signs in a whole output.
    pub fn of(output: &str) -> Self {
        let mut signs = Self::default();
        let (mut left, mut rewrote) = (false, false);
        let mut no_tests = false;
        let (mut ran, mut skipped) = (0, 0);
        let (mut skips, mut passes) = (0, 0);
        for line in output.lines().map(str::trim_start) {
            let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
            // A commit's subject may speak of tests; it is no result of any.
            if is_commit_line(line) {
                signs.committed = true;
                continue;
            }
            signs.commit_failed |= begins(COMMIT_FAILED);
            signs.push_failed |= begins(PUSH_FAILED);
            signs.pushed |= is_pushed_line(line);
            signs.forced |= is_forced_line(line);
            let counted = |word: &str| count_before(line, word);
            let words = line.to_lowercase();
            left |= words.starts_with("already on '")
                || words.contains("unchanged")
                || words.contains("already formatted");
            rewrote |= !words.contains("unchanged")
                && !words.contains("already formatted")
                && REWROTE.iter().any(|word| counted(word) != Some(0) && words.contains(word));
            signs.tests_failed |= is_failed_line(line);
            let says_none = NO_TESTS.iter().any(|phrase| words.contains(phrase));
            no_tests |= says_none || counted("passed") == Some(0) || counted("passing") == Some(0);
            signs.tests_passed |= counted("passed").is_some_and(|count| count > 0)
                || counted("passing").is_some_and(|count| count > 0)
                || begins(&["ok \t", "ok  \t", "PASS "]) && !says_none;
            ran = ran.max(count_of_tests(line, &words));
            skipped = skipped.max(count_of_skipped(&words));
            // `go test -v` says of each test whether it was passed over.
            skips += u64::from(begins(&["--- SKIP"]));
            passes += u64::from(begins(&["--- PASS"]));
        }
        // What was passed over has not passed.
        let all_skipped = skipped > 0 && skipped >= ran && !signs.tests_passed || skips > 0 && passes == 0;
        let ran_some = ran > 0 || signs.tests_passed;
        signs.no_tests = (no_tests && !ran_some || all_skipped) && !signs.tests_failed;
        signs.tests_passed &= !signs.no_tests;
        signs.last_number = output.lines().rev().find(|line| !line.trim().is_empty()).and_then(only_number);
        signs.nothing_rewritten = left && !rewrote;
        signs.tests_passed &= !signs.tests_failed;
        signs.commit_failed &= !signs.committed;
        signs
    }
}

/// Phrases by which test runners say that they found or ran nothing.
#[rustfmt::skip]
const NO_TESTS: &[&str] = &[
    "no tests found", "no test files", "no tests to run", "no tests ran", "no tests were", "no test is available",
    "no tests executed", "no tests collected", "collected 0 items", "ran 0 tests", "0 examples,", "no test suites found",
    "executed 0 tests", "tests run: 0", "total tests: 0", "running 0 tests", "no tests match", "no test matches",
    "0 runs,", "no tests defined", "no specs found", "no examples found", "0 scenarios", "0 tests,",
];

/// Returns whether a line says that tests failed: it counts or names one.
pub fn is_failed_line(line: &str) -> bool {
    let line = line.trim_start();
    let counted = |word: &str| count_before(line, word).is_some_and(|count| count > 0);
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    // The name of a test that passed may speak of failures.
    if begins(&["✓", "✔", "√", "ok "]) {
        return false;
    }
    counted("failed")
        || counted("failing")
        || counts_failures(line)
        || is_ignored_error(line)
        || begins(&["FAILED ", "FAIL ", "FAIL\t", "--- FAIL", "test result: FAILED", "FAILURES!"])
        || is_failed_point(line)
}

/// Returns whether `make` wrote this line about a command that failed, whether it went on or not: `make: [test] Error 1
/// (ignored)`, `make: *** [Makefile:3: test] Error 2`.
fn is_ignored_error(line: &str) -> bool {
    let Some((before, after)) = line.split_once("] Error ") else { return false };
    let code = after.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
    before.contains('[') && code.parse::<u64>().is_ok_and(|code| code > 0)
}

/// Returns how many tests a line says that ran: `Ran 5 tests`, `5 examples`, `Tests run: 5`, `# tests 5`.
fn count_of_tests(line: &str, lower: &str) -> u64 {
    let counted = |word: &str| count_before(line, word).unwrap_or(0);
    let after = lower.split_once("tests run:").map(|(_, rest)| rest.trim_start());
    let number = after.and_then(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next());
    let after = number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
    let is_run = lower.starts_with("ran ") || lower.starts_with("executed ");
    let tests = if is_run { counted("tests").max(counted("test")) } else { 0 };
    after.max(counted("examples")).max(counted("example")).max(counted("runs")).max(tests)
}

/// Returns how many tests a line says that were passed over: `5 skipped`, `skipped=5`, `Skipped: 5`, `5 pending`.
fn count_of_skipped(lower: &str) -> u64 {
    let before =
        ["skipped", "pending", "ignored", "skips"].iter().filter_map(|word| count_before(lower, word));
    let after = ["skipped=", "skipped: ", "# skipped "].iter().filter_map(|word| {
        let (_, rest) = lower.split_once(word)?;
        rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    });
    before.chain(after).max().unwrap_or(0)
}

/// Returns the number of a line that holds one: `1`, `exit: 1`, `rc=0`.
fn only_number(line: &str) -> Option<i64> {
    let mut numbers = line.split(|letter: char| !letter.is_ascii_digit()).filter(|part| !part.is_empty());
    let only = numbers.next().filter(|_| numbers.next().is_none())?;
    only.parse().ok()
}

/// Returns whether a line of the Test Anything Protocol says that a test failed which was not expected to.
fn is_failed_point(line: &str) -> bool {
    let rest = line.strip_prefix("not ok").filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    let directive =
        |rest: &str| rest.split_once('#').map(|(_, after)| after.trim().to_lowercase()).unwrap_or_default();
    rest.is_some_and(|rest| !["todo", "skip"].iter().any(|word| directive(rest).starts_with(word)))
}

/// Returns an output without the lines that git wrote about commits, if there are any.
pub fn without_commits(output: &str) -> Option<String> {
    let is_commit = |line: &&str| is_commit_line(line.trim_start());
    output
        .lines()
        .any(|line| is_commit(&line))
        .then(|| output.lines().filter(|line| !is_commit(line)).collect::<Vec<_>>().join("\n"))
}

/// Returns whether git wrote this line after a commit: `[main 1a2b3c4] subject`.
fn is_commit_line(line: &str) -> bool {
    let Some((inside, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else {
        return false;
    };
    let last = inside.split(' ').next_back().unwrap_or("");
    let is_hash = (3..=40).contains(&last.len()) && last.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash && inside.contains(' ') && rest.starts_with(' ')
}

/// Returns whether git wrote this line about a branch or a tag that it pushed: `+ 1a2b3c4...5d6e7f8 main -> main (forced
/// update)`, `1a2b3c4..5d6e7f8  main -> main`, `* [new branch]  x -> x`, `- [deleted]  x`.
fn is_pushed_line(line: &str) -> bool {
    let line = line.trim_start_matches(['+', '*', '-', ' ']);
    let is_new = ["[new branch]", "[new tag]", "[new reference]", "[deleted]"];
    if is_new.iter().any(|words| line.starts_with(words)) {
        return true;
    }
    let (Some(range), true) = (line.split_whitespace().next(), line.contains(" -> ")) else { return false };
    let Some((old, new)) = range.split_once("..") else { return line.ends_with("(forced update)") };
    let is_hash = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash(old) && is_hash(new.trim_start_matches('.')) || line.ends_with("(forced update)")
}

/// Returns whether git wrote this line about a branch that it overwrote: `+ 1a2b3c4...5d6e7f8 main -> main (forced update)`.
fn is_forced_line(line: &str) -> bool {
    let range = line.strip_prefix('+').and_then(|rest| rest.split_whitespace().next());
    let is_range = range.and_then(|range| range.split_once("...")).is_some_and(|(old, new)| {
        let is_hash = |text: &str| text.len() >= 3 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash(old) && is_hash(new)
    });
    line.contains(" -> ") && (is_range || line.trim_end().ends_with("(forced update)"))
}

/// Returns the number before a word: 3 in `2 passed, 3 failed`.
fn count_before(line: &str, word: &str) -> Option<u64> {
    let mut before = "";
    for found in line.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty()) {
        if found == word {
            return before.parse().ok();
        }
        before = found;
    }
    None
}
