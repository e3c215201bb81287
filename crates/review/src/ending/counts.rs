//! The statements of structured results: statuses, flags, counts and errors.

use hence_canon::{Object, Value};

use super::Stated;

/// Members that hold a status word.
const STATUSES: &[&str] = &["status", "outcome", "conclusion", "state", "result", "verdict"];
/// Members that are true, or count something, when all is well.
#[rustfmt::skip]
const WELL: &[&str] = &[
    "passed", "ok", "success", "succeeded", "holds", "valid", "passes", "passing", "numPassedTests", "tests_passed",
    "passed_count", "successes",
];
/// Members that are flags also when they are numbers.
const FLAGS: &[&str] = &["ok", "holds", "valid"];
/// Members that count what passed.
#[rustfmt::skip]
const PASS_COUNTS: &[&str] = &[
    "passed", "succeeded", "passes", "passing", "numPassedTests", "tests_passed", "passed_count", "successes", "success",
];
/// Words in the name of a member that is true, or counts something, when all is not well.
#[rustfmt::skip]
const BADLY: &[&str] = &[
    "fail", "fails", "failed", "failing", "failure", "failures", "error", "errors", "errored", "broken", "crashed",
    "crashes", "killed", "interrupted", "aborted", "cancelled", "canceled", "timedout", "unexpected", "panicked",
];
/// Words that may stand beside them in the name: `numFailedTests`, `error_count`, `is_error`.
#[rustfmt::skip]
const BESIDE: &[&str] = &[
    "num", "number", "count", "counts", "n", "is", "has", "was", "test", "tests", "case", "cases", "spec", "specs", "suites",
    "suite", "total", "names", "list", "runtime",
];
/// Members that describe an error.
const ERRORS: &[&str] = &["error", "error_message", "exception"];
/// Members that hold the counts of a test run as an object of their own, or a list of the results of single tests.
#[rustfmt::skip]
const TOTALS: &[&str] = &[
    "summary", "stats", "totals", "counts", "results", "tests", "test_results", "testResults", "cases", "suites", "checks", "runs",
];
/// Members that count what there was, and what of it was run.
const TOTAL_COUNTS: &[&str] = &["tests", "total", "test_count", "numTotalTests", "total_tests", "count"];
const RUN_COUNTS: &[&str] = &["tests_run", "testsRun", "tests_executed", "executed", "ran"];
/// Members that count, or say, what was passed over.
#[rustfmt::skip]
const SKIPPED: &[&str] = &["skipped", "pending", "ignored", "todo", "numPendingTests", "skips", "disabled", "deselected", "xfailed"];
/// Members that a result of a process has beside its code.
const OF_PROCESS: &[&str] = &["stdout", "stderr", "output", "signal", "command", "cmd", "summary"];

/// The lists inside of lists that are read.
const DEPTH_MAX: usize = 6;

/// Returns the exit code of a process that a result calls `code`, or `status` as a number. Numbers from 200 on are those
/// of a protocol.
pub(super) fn process_code(object: &Object) -> Option<i64> {
    let is_process = OF_PROCESS.iter().any(|key| object.get(key).is_some());
    let code = ["code", "status"].iter().find_map(|key| object.get(key)?.as_i64());
    code.filter(|code| is_process && *code < 200)
}

/// Returns the statement of a result; `execution` is that of the call.
pub(super) fn stated_by(result: &Object, execution: Option<Stated>) -> Stated {
    strongest([Some(inside(result, 0)), execution].into_iter().flatten())
}

fn strongest(said: impl IntoIterator<Item = Stated>) -> Stated {
    let said: Vec<Stated> = said.into_iter().collect();
    let order = [Stated::Badly, Stated::Nothing, Stated::Well];
    order.into_iter().find(|stated| said.contains(stated)).unwrap_or(Stated::Silent)
}

fn inside(object: &Object, depth: usize) -> Stated {
    let totals = TOTALS.iter().filter_map(|key| object.get(key)).map(|value| parts(value, depth + 1));
    let codes = crate::command::exit_codes(object);
    // A code of zero says that it ended, not that it found nothing.
    let code = codes.iter().any(|code| *code != 0).then_some(Stated::Badly);
    strongest(status(object).into_iter().chain(code).chain([counts(object)]).chain(totals))
}

/// Reads the counts of an object, or the results of single tests, of which some may have been passed over.
fn parts(value: &Value, depth: usize) -> Stated {
    if depth > DEPTH_MAX {
        return Stated::Silent;
    }
    match value {
        Value::Object(object) => inside(object, depth),
        Value::Array(items) => {
            let said: Vec<Stated> =
                items.iter().filter_map(Value::as_object).map(|item| inside(item, depth)).collect();
            let order = [Stated::Badly, Stated::Well, Stated::Nothing];
            order.into_iter().find(|stated| said.contains(stated)).unwrap_or(Stated::Silent)
        }
        _ => Stated::Silent,
    }
}

/// Reads the words for a status.
pub(super) fn status(object: &Object) -> Option<Stated> {
    let words = STATUSES.iter().filter_map(|key| object.get(key)?.as_str());
    let stated =
        words.filter_map(|word| match word.trim().to_lowercase().replace(['-', ' '], "_").as_str() {
            "completed" | "complete" | "passed" | "pass" | "success" | "succeeded" | "successful" | "ok"
            | "done" => Some(Stated::Well),
            "failed" | "fail" | "failure" | "failing" | "error" | "errored" | "timeout" | "timed_out"
            | "cancelled" | "canceled" | "aborted" | "refused" | "rejected" | "denied" | "killed"
            | "broken" | "crashed" | "red" => Some(Stated::Badly),
            "skipped" | "not_run" | "unjudged" | "queued" | "pending" | "running" | "in_progress"
            | "started" | "scheduled" | "waiting" | "inconclusive" | "incomplete" | "partial"
            | "unstable" | "neutral" | "stale" | "action_required" => Some(Stated::Nothing),
            _ => None,
        });
    let stated: Vec<Stated> = stated.collect();
    [Stated::Badly, Stated::Nothing, Stated::Well].into_iter().find(|found| stated.contains(found))
}

/// Reads flags, counts and errors.
fn counts(object: &Object) -> Stated {
    let flag = |key: &&str| object.get(key).and_then(truth);
    let number = |keys: &[&str]| keys.iter().filter_map(|key| count(object.get(key)?)).max();
    let is_filled = |key: &&str| match object.get(key) {
        Some(Value::String(text)) => !text.trim().is_empty() && truth_of_text(text) != Some(false),
        Some(Value::Object(members)) => !members.is_empty(),
        _ => false,
    };
    let signal = object.get("signal").or_else(|| object.get("term_signal"));
    let is_signalled = signal.is_some_and(|signal| match signal {
        Value::String(text) => !matches!(text.trim(), "" | "0" | "(none)" | "none" | "null"),
        signal => signal.as_i64().is_some_and(|signal| signal != 0),
    });
    let bad: Vec<bool> =
        object.iter().filter(|(key, _)| is_bad(key)).filter_map(|(_, value)| truth(value)).collect();
    let badly = bad.contains(&true)
        || is_signalled
        || WELL.iter().any(|key| object.get(key).is_some_and(is_false))
        || FLAGS.iter().any(|key| object.get(key).and_then(Value::as_i64) == Some(0))
        || ERRORS.iter().any(is_filled);
    // Fewer passed than there were, less those that were passed over.
    let (all, passed, skipped) = (number(TOTAL_COUNTS), number(PASS_COUNTS), number(SKIPPED).unwrap_or(0));
    let ran = number(RUN_COUNTS).or(all);
    let lacks = ran.zip(passed).is_some_and(|(ran, passed)| passed.saturating_add(skipped) < ran);
    if badly || lacks {
        return Stated::Badly;
    }
    let is_skipped = SKIPPED.iter().any(|key| object.get(key).and_then(Value::as_bool) == Some(true));
    let all_skipped = all.is_some_and(|all| all > 0 && skipped >= all) && passed.unwrap_or(0) == 0;
    let flagged = WELL.iter().filter_map(flag).any(|found| found);
    // A list or a count of nothing that failed says that all went well only if something was looked at.
    match (ran, flagged, !bad.is_empty()) {
        (Some(0), ..) => Stated::Nothing,
        _ if is_skipped || all_skipped => Stated::Nothing,
        (_, true, _) | (Some(_), _, true) => Stated::Well,
        _ => Stated::Silent,
    }
}

/// Returns whether the name of a member says that it is true, or counts something, when all is not well.
fn is_bad(key: &str) -> bool {
    let mut plain = String::new();
    let mut was_lower = false;
    for letter in key.chars() {
        if letter.is_uppercase() && was_lower || !letter.is_alphanumeric() {
            plain.push(' ');
        }
        was_lower = letter.is_lowercase();
        plain.extend(letter.to_lowercase().filter(|letter| letter.is_alphanumeric()));
    }
    if matches!(plain.trim(), "not ok" | "not passed" | "not passing" | "regressions") {
        return true;
    }
    let plain = plain.replace("timed out", "timedout");
    let mut words = plain.split_whitespace().peekable();
    let names = plain.split_whitespace().any(|word| BADLY.contains(&word));
    words.peek().is_some() && names && words.all(|word| BADLY.contains(&word) || BESIDE.contains(&word))
}

/// Reads a flag, or whether a count or a list is more than nothing.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(found) => Some(*found),
        Value::Int(_) => Some(value.as_i64() != Some(0)),
        Value::Array(items) => Some(!items.is_empty()),
        Value::String(text) => truth_of_text(text),
        _ => None,
    }
}

fn truth_of_text(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "true" | "yes" => Some(true),
        "false" | "no" | "none" | "null" => Some(false),
        text => text.parse::<u64>().ok().map(|count| count > 0),
    }
}

fn is_false(value: &Value) -> bool {
    match value {
        Value::Bool(found) => !found,
        Value::String(text) => matches!(text.trim().to_lowercase().as_str(), "false" | "no"),
        _ => false,
    }
}

fn count(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64(),
    }
}
