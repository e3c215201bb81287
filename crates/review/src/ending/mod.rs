//! The ending of an action: by exit codes and results first, by the words of its summary only when nothing else says it.

use crate::command::exit_codes;
use crate::vocabulary::{
    ActionType, ActivityType, CoSimulationStatus, ConformanceStatus, ReasoningType, SatModelType,
    VerificationStatus,
};
use crate::wire::{Action, ReasoningSlot, Trace};
use hence_canon::{Object, Value};

mod counts;
mod words;

pub(crate) use words::{Words, counts_failures, ending as reading};

/// The ending of an action, and what says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ending {
    /// Whether the action ended well.
    pub well: bool,
    /// The part of the action that says it.
    pub basis: Basis,
}

/// The part of an action that says how it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// An exit code, a status, a count or an error member.
    Stated,
    /// The words of its summary, which is a guess.
    Words,
}

/// Returns how an action ended, if its members or its summary say it.
///
/// A stated failure overrules everything. An exit code of zero only says that the command ended: a summary that counts
/// failures, as after `pytest || true`, overrules it.
pub fn of(action: &Action) -> Option<Ending> {
    // What else a line printed says nothing about a deed of which nobody knows how it ended.
    let checks = is_check(action);
    let is_open = !checks && action.object("result").is_some_and(is_unknown);
    let words = match is_open {
        true => Words::Silent,
        false => said(action.result_summary().unwrap_or("")),
    };
    ended(code(action), result(action), words, checks)
}

/// Returns how a check ended that gave this output, whose summary is this.
pub fn of_output(output: &Object, summary: &str) -> Option<Ending> {
    ended(all_zero([output]), counts::stated_by(output, None), said(summary), true)
}

/// Reads a summary, which may be a document.
fn said(summary: &str) -> Words {
    let document = summary.trim_start().starts_with('{').then(|| hence_canon::parse(summary.as_bytes()).ok());
    let document = document.flatten();
    match document
        .as_ref()
        .and_then(Value::as_object)
        .map(|object| (all_zero([object]), counts::stated_by(object, None)))
    {
        Some((Some(false), _) | (_, Stated::Badly)) => Words::Badly,
        Some((_, Stated::Nothing)) => Words::NothingRan,
        _ => match (reading(summary), document.as_ref().map(texts_of)) {
            (whole, None) => whole,
            // The output of a program is a text of its own, with words that end at its quotes.
            (Words::Badly, _) | (_, Some(Words::Badly)) => Words::Badly,
            (Words::Silent, Some(texts)) => texts,
            (whole, _) => whole,
        },
    }
}

/// Members that hold what a program printed.
const PRINTED: &[&str] =
    &["stdout", "stderr", "output", "summary", "text", "log", "logs", "report", "tail", "content"];

/// Reads the texts of a document, each by itself.
fn texts_of(document: &Value) -> Words {
    let members = document.as_object().into_iter().flat_map(Object::iter);
    let texts = members.filter(|(key, _)| PRINTED.contains(&&***key)).filter_map(|(_, value)| value.as_str());
    let said: Vec<Words> = texts.map(reading).collect();
    let order = [Words::Badly, Words::NothingRan, Words::Well];
    order.into_iter().find(|words| said.contains(words)).unwrap_or(Words::Silent)
}

fn ended(code: Option<bool>, result: Stated, words: Words, checks: bool) -> Option<Ending> {
    let stated = |well| Some(Ending { well, basis: Basis::Stated });
    if code == Some(false) || result == Stated::Badly {
        return stated(false);
    }
    match (result, code, words) {
        // That a run of tests ended does not say that there were any.
        (_, _, Words::NothingRan) if checks => None,
        (Stated::Well, ..) => stated(true),
        (Stated::Nothing, ..) => None,
        (_, Some(true), Words::Badly) => Some(Ending { well: false, basis: Basis::Words }),
        (_, Some(true), Words::NothingRan) => None,
        (_, Some(true), _) => stated(true),
        (_, _, Words::Well) => Some(Ending { well: true, basis: Basis::Words }),
        (_, _, Words::Badly) => Some(Ending { well: false, basis: Basis::Words }),
        _ => None,
    }
}

fn is_unknown(result: &Object) -> bool {
    result.get("status").and_then(Value::as_str) == Some("unknown")
}

/// Returns whether an action checks something.
pub fn is_check(action: &Action) -> bool {
    match action.action_type() {
        Some(ActionType::Activity(word)) => matches!(
            word,
            ActivityType::RunTests
                | ActivityType::TypeCheck
                | ActivityType::Lint
                | ActivityType::ManualVerification
        ),
        Some(ActionType::Reasoning(word)) => matches!(
            word,
            ReasoningType::Verify
                | ReasoningType::StateSpaceAnalysis
                | ReasoningType::ConformanceCheck
                | ReasoningType::CoSimulate
        ),
        _ => false,
    }
}

/// Returns how a check ended: by the result of a formal method if it made one, else like any action.
///
/// A formal result without an answer says neither.
pub fn of_check(trace: &Trace, check: &Action) -> Option<Ending> {
    let found = of(check);
    if found.is_some_and(|ending| !ending.well) {
        return found;
    }
    let slots = [ReasoningSlot::VerificationResult, ReasoningSlot::Conformance, ReasoningSlot::CoSimulation];
    let results = slots.into_iter().filter_map(|slot| Some((slot, trace.reasoning_payload(check, slot)?)));
    let endings: Vec<Option<bool>> = results.map(|(slot, payload)| formal(slot, payload)).collect();
    let stated = |well| Some(Ending { well, basis: Basis::Stated });
    match endings.as_slice() {
        // An analysis of a state space ends with regions, which are neither right nor wrong.
        [] if trace.reasoning_payload(check, ReasoningSlot::Decomposition).is_some() => stated(true),
        [] => found,
        all if all.contains(&Some(false)) => stated(false),
        all if all.contains(&None) => None,
        _ => stated(true),
    }
}

/// Returns whether the result of a formal method holds; nothing if it gives no answer.
fn formal(slot: ReasoningSlot, payload: &Value) -> Option<bool> {
    let word = payload.get("status")?.as_str()?;
    match slot {
        ReasoningSlot::VerificationResult => match VerificationStatus::from_word(word)? {
            VerificationStatus::Proved => Some(true),
            VerificationStatus::Refuted => Some(false),
            VerificationStatus::Unknown => None,
            VerificationStatus::Sat => Some(!finds_counterexample(payload)),
        },
        ReasoningSlot::Conformance => match ConformanceStatus::from_word(word)? {
            ConformanceStatus::Passed => Some(true),
            ConformanceStatus::Failed => Some(false),
            ConformanceStatus::Partial | ConformanceStatus::Unknown => None,
        },
        ReasoningSlot::CoSimulation => match CoSimulationStatus::from_word(word)? {
            CoSimulationStatus::Matched => Some(true),
            CoSimulationStatus::Mismatched | CoSimulationStatus::Error => Some(false),
            CoSimulationStatus::Partial => None,
        },
        _ => None,
    }
}

/// Returns whether the model of a result that is `sat` is a counterexample.
fn finds_counterexample(payload: &Value) -> bool {
    let model = payload.get("result").and_then(|result| result.get("sat")?.get("model"));
    let kind = model.and_then(|model| model.get("m_type")?.as_str());
    kind.and_then(SatModelType::from_word) == Some(SatModelType::Counterexample)
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

/// Returns whether all exit codes of an action are zero, if there is one.
fn code(action: &Action) -> Option<bool> {
    let evidence = action.items("evidence").iter().filter_map(Value::as_object);
    all_zero(evidence.chain([action.object("result"), action.object("execution")].into_iter().flatten()))
}

fn all_zero<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Option<bool> {
    let codes = objects
        .into_iter()
        .flat_map(|object| exit_codes(object).into_iter().chain(counts::process_code(object)));
    codes.fold(None, |well: Option<bool>, code| Some(well.unwrap_or(true) && code == 0))
}

fn result(action: &Action) -> Stated {
    // A call that was carried out says nothing about what it found; one that was not says enough.
    let execution =
        action.object("execution").and_then(counts::status).filter(|stated| *stated == Stated::Badly);
    match action.object("result") {
        Some(result) => counts::stated_by(result, execution),
        None => execution.unwrap_or(Stated::Silent),
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::Trace;
    use hence_canon::parse;

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
            (r#"{"result": {"total": 5, "passed": 4}}"#, false),
            (r#"{"result": {"total": 5, "passed": 4, "skipped": 1}}"#, true),
            (r#"{"result": {"passed": 5, "failed": "1"}}"#, false),
            (r#"{"result": {"passed": 5, "failed": "0"}}"#, true),
            (r#"{"result": {"results": [{"passed": true}, {"passed": false}]}}"#, false),
            (r#"{"result": {"results": [{"passed": true}, {"status": "skipped"}]}}"#, true),
            (
                r#"{"result": {"tests": [{"name": "a", "outcome": "passed"}, {"name": "b", "outcome": "failed"}]}}"#,
                false,
            ),
            (r#"{"result": {"failure_count": 1, "exit_code": 0}}"#, false),
            (r#"{"result": {"numFailedTests": 2, "numPassedTests": 3, "success": true}}"#, false),
            (r#"{"result": {"failed_tests": ["a"], "passed": 3}}"#, false),
            (r#"{"result": {"failed_tests": [], "passed": 3}}"#, true),
            (r#"{"result": {"signal": "SIGKILL", "passed": 3}}"#, false),
            (r#"{"result": {"signal": null, "passed": 3}}"#, true),
            (r#"{"result": {"broken": 1, "passed": 3}}"#, false),
            (r#"{"result": {"stdout": "5 passed", "code": 1}}"#, false),
            (r#"{"result": {"stdout": "5 passed", "status": 1}}"#, false),
            (r#"{"result": {"code": 200, "ok": true}}"#, true),
            (r#"{"result": {"stats": {"tests": 5, "passes": 5, "failures": 0}}}"#, true),
            (r#"{"result": {"fail_fast": true, "passed": 3}}"#, true),
            (r#"{"result": {"ok": 1, "not_ok": 1}}"#, false),
        ] {
            assert_eq!(stated(action), Some(well), "{action}");
        }
    }

    #[test]
    fn a_check_ends_as_its_formal_result_says() {
        let check = |kind: &str, payload: &str| {
            let text = format!(
                r#"{{"actions": [{{"id": 1, "type": "Verify", "outputs": ["r"], "result_summary": "passed"}}],
                    "artifacts": [{{"artifact_id": "r", "artifact_type": "{kind}", "payload": {payload}}}]}}"#
            );
            let trace = Trace::read(&parse(text.as_bytes()).unwrap());
            of_check(&trace, &trace.actions()[0]).map(|ending| ending.well)
        };
        for (kind, payload, well) in [
            ("VerificationResult", r#"{"status": "proved"}"#, Some(true)),
            ("VerificationResult", r#"{"status": "refuted"}"#, Some(false)),
            ("VerificationResult", r#"{"status": "unknown"}"#, None),
            ("VerificationResult", r#"{"status": "sat"}"#, Some(true)),
            (
                "VerificationResult",
                r#"{"status": "sat", "result": {"sat": {"model": {"m_type": "counterexample"}}}}"#,
                Some(false),
            ),
            ("ConformanceResult", r#"{"status": "failed"}"#, Some(false)),
            ("ConformanceResult", r#"{"status": "partial"}"#, None),
            ("CoSimulationResult", r#"{"status": "mismatched"}"#, Some(false)),
            ("StateSpaceAnalysisResult", r#"{"regions": []}"#, Some(true)),
            ("AnalysisNote", "{}", Some(true)),
        ] {
            assert_eq!(check(kind, payload), well, "{kind} {payload}");
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
        for open in [
            r#"{"result": {"tests_run": 0, "passed": true}}"#,
            r#"{"result": {"tests_run": 0, "exit_code": 0}}"#,
            r#"{"result": {"skipped": true, "passed": true}}"#,
            r#"{"result": {"status": "queued", "passed": 3}}"#,
            r#"{"result": {"status": "in_progress", "exit_code": 0}}"#,
            r#"{"result": {"total": 5, "skipped": 5, "failed": 0}}"#,
            r#"{"type": "RunTests", "result": {"status": "completed", "exit_code": 0}, "result_summary": "No tests found, exiting with code 0"}"#,
            r#"{"type": "RunTests", "result": {"status": "completed"}, "result_summary": "0 passing (1ms)"}"#,
        ] {
            assert_eq!(ending(open), None, "{open}");
        }
        assert_eq!(ending(r#"{"result_summary": "{\"total\":5,\"passed\":4}"}"#), guess(false));
        let printed = |text: &str| ending(&format!(r#"{{"result_summary": "{{\"stdout\":\"{text}\"}}"}}"#));
        assert_eq!(printed("5 examples, 0 failures"), guess(true));
        assert_eq!(printed("Ran 3 tests in 0.1s OK"), guess(true));
        assert_eq!(printed("5 examples, 1 failure"), guess(false));
        assert_eq!(printed("Ran 0 tests in 0.1s OK"), None);
        let pushed =
            r#"{"type": "GitPush", "result": {"status": "completed"}, "result_summary": "no tests"}"#;
        assert_eq!(stated(pushed), Some(true), "what it says about tests is not how a push ended");
        let after = r#""result": {"status": "unknown"}, "result_summary": "3 failed""#;
        assert_eq!(ending(&format!(r#"{{"type": "RunTests", {after}}}"#)), guess(false));
        assert_eq!(ending(&format!(r#"{{"type": "GitPush", {after}}}"#)), None);
        assert_eq!(ending("{}"), None);
    }
}
