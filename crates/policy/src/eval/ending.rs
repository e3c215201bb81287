//! How an action ended: by exit codes and results first, by the words of its summary only when nothing else says it.

use hence_canon::{Object, Value};
use hence_review::command::EXIT_CODES;
use hence_review::wire::Action;

use super::summary_words;

/// How an action ended, and what says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ending {
    /// Whether the action ended well.
    pub(crate) well: bool,
    /// The part of the action that says it.
    pub(crate) basis: Basis,
}

/// The part of an action that says how it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Basis {
    /// An exit code, a status, a count or an error member.
    Stated,
    /// The words of its summary, which is a guess.
    Words,
}

/// Members that hold a status word.
const STATUSES: &[&str] = &["status", "outcome", "conclusion", "state"];
/// Members that are true when all is well.
const WELL: &[&str] = &["passed", "ok", "success", "succeeded", "holds", "valid"];
/// Members that are true, or count something, when all is not well.
const BADLY: &[&str] = &[
    "failed",
    "failures",
    "failing",
    "failed_count",
    "errors",
    "error_count",
    "errored",
    "is_error",
    "isError",
    "timed_out",
];
/// Members that describe an error.
const ERRORS: &[&str] = &["error", "error_message", "exception"];
/// Members that hold the counts of a test run as an object of their own.
const TOTALS: &[&str] = &["summary", "stats", "totals", "counts", "results"];
/// Members that count what was run.
const RUN_COUNTS: &[&str] = &["tests", "total", "test_count", "tests_run", "numTotalTests"];

/// Returns how an action ended, if its members or its summary say it.
///
/// A stated failure overrules everything. An exit code of zero only says that the command ended: a summary that counts
/// failures, as after `pytest || true`, overrules it.
pub(crate) fn of(action: &Action) -> Option<Ending> {
    let stated = |well| Some(Ending { well, basis: Basis::Stated });
    let words = summary_words::ending(action.result_summary().unwrap_or(""));
    let (code, result) = (code(action), result(action));
    if code == Some(false) || result == Stated::Badly {
        return stated(false);
    }
    match (result, code, words) {
        (Stated::Well, ..) => stated(true),
        (Stated::Nothing, ..) => None,
        (_, Some(true), summary_words::Words::Badly) => Some(Ending { well: false, basis: Basis::Words }),
        (_, Some(true), summary_words::Words::NothingRan) => None,
        (_, Some(true), _) => stated(true),
        (_, _, summary_words::Words::Well) => Some(Ending { well: true, basis: Basis::Words }),
        (_, _, summary_words::Words::Badly) => Some(Ending { well: false, basis: Basis::Words }),
        _ => None,
    }
}

/// The statement of the structured members of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stated {
    Well,
    Badly,
    /// Nothing was run, so nothing passed.
    Nothing,
    Silent,
}

/// Returns whether all exit codes are zero, if there is one.
fn code(action: &Action) -> Option<bool> {
    let evidence = action.items("evidence").iter().filter_map(Value::as_object);
    let members = [action.object("result"), action.object("execution")].into_iter().flatten();
    let codes = evidence
        .chain(members)
        .flat_map(|object| EXIT_CODES.iter().filter_map(|key| integer(object.get(key)?)));
    codes.fold(None, |well: Option<bool>, code| Some(well.unwrap_or(true) && code == 0))
}

fn result(action: &Action) -> Stated {
    // A call that was carried out says nothing about what it found; one that was not says enough.
    let execution = action.object("execution").and_then(status).filter(|stated| *stated == Stated::Badly);
    let Some(result) = action.object("result") else { return execution.unwrap_or(Stated::Silent) };
    let totals = TOTALS.iter().filter_map(|key| result.get(key).and_then(Value::as_object)).map(counts);
    let said: Vec<Stated> =
        [status(result), Some(counts(result)), execution].into_iter().flatten().chain(totals).collect();
    [Stated::Badly, Stated::Nothing, Stated::Well]
        .into_iter()
        .find(|stated| said.contains(stated))
        .unwrap_or(Stated::Silent)
}

fn status(object: &Object) -> Option<Stated> {
    let words = STATUSES.iter().filter_map(|key| object.get(key)?.as_str());
    let stated = words.filter_map(|word| match word.to_lowercase().as_str() {
        "completed" | "complete" | "passed" | "pass" | "success" | "succeeded" | "successful" | "ok"
        | "done" => Some(Stated::Well),
        "failed" | "fail" | "failure" | "error" | "errored" | "timeout" | "timed_out" | "cancelled"
        | "canceled" | "aborted" | "refused" | "rejected" | "denied" | "killed" => Some(Stated::Badly),
        "skipped" | "not_run" | "unjudged" => Some(Stated::Nothing),
        _ => None,
    });
    let stated: Vec<Stated> = stated.collect();
    [Stated::Badly, Stated::Nothing, Stated::Well].into_iter().find(|found| stated.contains(found))
}

/// Reads flags, counts and errors.
fn counts(object: &Object) -> Stated {
    let flag = |key: &&str| object.get(key).and_then(truth);
    let is_filled = |key: &&str| match object.get(key) {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        _ => false,
    };
    let badly = BADLY.iter().filter_map(flag).any(|found| found)
        || WELL.iter().filter(|key| object.get(key).and_then(Value::as_bool) == Some(false)).count() > 0
        || ERRORS.iter().any(is_filled);
    if badly {
        return Stated::Badly;
    }
    let ran = RUN_COUNTS.iter().filter_map(|key| object.get(key).and_then(Value::as_u64)).max();
    let passed = WELL.iter().filter_map(flag).any(|found| found);
    // A list or a count of nothing that failed says that all went well only if something was looked at.
    let none_failed = BADLY.iter().filter_map(flag).count() > 0;
    match (ran, passed, none_failed) {
        (Some(0), ..) => Stated::Nothing,
        (_, true, _) | (Some(_), _, true) => Stated::Well,
        _ => Stated::Silent,
    }
}

/// Reads a flag, or whether a count or a list is more than nothing.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(found) => Some(*found),
        Value::Int(_) => Some(value.as_i64() != Some(0)),
        Value::Array(items) => Some(!items.is_empty()),
        _ => None,
    }
}

fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;
    use hence_review::wire::Trace;

    use super::*;

    fn ending(action: &str) -> Option<Ending> {
        let trace = format!(r#"{{"actions": [{action}]}}"#);
        of(&Trace::read(&parse(trace.as_bytes()).unwrap()).actions()[0])
    }

    fn stated(action: &str) -> Option<bool> {
        ending(action).map(|ending| {
            assert_eq!(ending.basis, Basis::Stated, "{action}");
            ending.well
        })
    }

    #[test]
    fn exit_codes_statuses_and_counts_are_read_before_words() {
        for (action, well) in [
            (r#"{"evidence": [{"exit_code": 1}], "result_summary": "12 passed"}"#, false),
            (r#"{"evidence": [{"exit_code": 0}], "result_summary": "done"}"#, true),
            (r#"{"evidence": [{"exit_code": 0}, {"exit_code": 2}]}"#, false),
            (r#"{"result": {"exit_code": 1, "summary": "2 passed"}}"#, false),
            (r#"{"result": {"returncode": "0"}}"#, true),
            (r#"{"result": {"status": "failed"}, "result_summary": "passed"}"#, false),
            (r#"{"result": {"status": "passed"}, "result_summary": "3 failed"}"#, true),
            (r#"{"result": {"passed": 3, "failed": 0}}"#, true),
            (r#"{"result": {"passed": 3, "failed": 1}}"#, false),
            (r#"{"result": {"summary": {"passed": 3, "failed": 1}}}"#, false),
            (r#"{"result": {"ok": false}}"#, false),
            (r#"{"result": {"error": "no such host"}, "result_summary": "passed"}"#, false),
            (r#"{"result": {"error": null, "ok": true}}"#, true),
            (r#"{"result": {"tests": 4, "failures": 0}}"#, true),
            (r#"{"result": {"is_error": true}, "result_summary": "passed"}"#, false),
            (r#"{"execution": {"status": "error"}}"#, false),
            (r#"{"execution": {"exit_code": 0}}"#, true),
        ] {
            assert_eq!(stated(action), Some(well), "{action}");
        }
    }

    #[test]
    fn words_are_a_guess_and_used_only_where_nothing_is_stated() {
        let guess = |well| Some(Ending { well, basis: Basis::Words });
        assert_eq!(ending(r#"{"result_summary": "12 passed"}"#), guess(true));
        assert_eq!(ending(r#"{"result_summary": "3 failed, 2 passed"}"#), guess(false));
        assert_eq!(
            ending(r#"{"evidence": [{"exit_code": 0}], "result_summary": "3 failed, 2 passed"}"#),
            guess(false),
            "`pytest || true` ends with zero"
        );
        assert_eq!(ending(r#"{"evidence": [{"exit_code": 0}], "result_summary": "no tests ran"}"#), None);
        assert_eq!(ending(r#"{"result": {"tests": 0, "failures": 0}, "result_summary": "passed"}"#), None);
        assert_eq!(ending(r#"{"result_summary": "bypassed"}"#), None);
        assert_eq!(ending("{}"), None);
    }
}
