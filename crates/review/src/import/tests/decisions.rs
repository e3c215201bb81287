//! Questions to the user, and what was answered.

use hence_canon::Value;

use super::at;
use super::truth::{Claude, actions, trace as imported};
use crate::import::Format;

fn chosen(trace: &Value, place: usize) -> Vec<String> {
    let options = at(trace, &format!("/actions/{place}/options")).as_array().unwrap_or(&[]);
    let is_chosen = |option: &&Value| *at(option, "/chosen") == true.into();
    options.iter().filter(is_chosen).map(|option| at(option, "/label").as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_plan_that_the_user_let_through_or_refused_is_a_decision_and_no_approval() {
    let mut claude = Claude::asked("Rewrite the billing module");
    claude.calls("ExitPlanMode", r#"{"plan": "1. Drop the table"}"#);
    claude.result("User has approved your plan. You can now start coding.", false);
    let trace = claude.trace();
    assert_eq!(actions(&trace), ["ExclusiveDecision -"]);
    assert_eq!(chosen(&trace, 0), ["carry it out"]);
    assert!(at(&trace, "/actions/0/detail").as_str().unwrap().contains("1. Drop the table"));
    let mut claude = Claude::asked("Rewrite the billing module");
    claude.calls("ExitPlanMode", r#"{"plan": "1. Drop the table"}"#);
    claude.result("The user doesn't want to proceed with this tool use. The tool use was rejected", true);
    assert_eq!(chosen(&claude.trace(), 0), ["keep planning"]);
    let mut claude = Claude::asked("Rewrite the billing module");
    claude.calls("ExitPlanMode", r#"{"plan": "1. Drop the table"}"#);
    assert_eq!(chosen(&claude.trace(), 0), Vec::<String>::new());
}

#[test]
fn each_question_has_its_own_answer_and_an_option_is_not_found_inside_of_a_word() {
    let mut claude = Claude::asked("Choose the limits of the service");
    claude.calls(
        "AskUserQuestion",
        r#"{"questions": [
            {"question": "Delete the bucket?", "options": [{"label": "yes"}, {"label": "no"}]},
            {"question": "Burst?", "options": [{"label": "ten"}, {"label": "twenty"}]}]}"#,
    );
    let answers = r#"User has answered your questions: "Delete the bucket?"="yes", "Burst?"="twenty". You can now continue."#;
    claude.result(answers, false);
    let trace = claude.trace();
    assert_eq!(actions(&trace), ["ExclusiveDecision -", "ExclusiveDecision -"]);
    assert_eq!((chosen(&trace, 0), chosen(&trace, 1)), (vec!["yes".to_owned()], vec!["twenty".to_owned()]));
    let mut claude = Claude::asked("Choose the limits of the service");
    claude.calls("AskUserQuestion", r#"{"question": "Delete?", "options": ["yes", "no"]}"#);
    claude.result("yes, and now go on", false);
    assert_eq!(chosen(&claude.trace(), 0), ["yes"]);
}

/// The types of the actions of a Langfuse trace that asks for an approval and releases.
fn asked(name: &str, rest: &str) -> String {
    let log = format!(
        r#"{{"id": "t", "name": "agent", "observations": [
            {{"id": "1", "type": "SPAN", "name": "{name}", "startTime": "2026-01-01T00:00:00Z", "input": {{"q": "release?"}}{rest}}}]}}"#
    );
    actions(&imported(&log, Format::Langfuse)).remove(0)
}

#[test]
fn telemetry_of_an_approval_is_one_only_if_it_affirms() {
    for (rest, expected) in [
        (r#", "output": {"approved": true}"#, "UserApproval -"),
        (r#", "output": {"approved": false}"#, "Reject -"),
        (r#", "output": {"decision": "no"}"#, "Reject -"),
        (r#", "output": "value: no""#, "Reject -"),
        (r#", "output": "timeout""#, "Decision -"),
        (r#", "output": "maybe""#, "Decision -"),
        (r#", "output": "forwarded to eve""#, "Decision -"),
        (r#", "output": "ok, noted", "metadata": {"approved": false}"#, "Reject -"),
        (r#", "metadata": {"decision": "rejected"}"#, "Reject -"),
        (r#", "metadata": {"decision": "granted"}"#, "UserApproval -"),
        (r#", "metadata": {"ponens.action_type": "UserApproval", "approved": "false"}"#, "Reject -"),
        (r#", "metadata": {"ponens.action_type": "Approve"}, "output": "expired""#, "Decision -"),
        (r#", "metadata": {"ponens.action_type": "Approve"}, "output": "yes""#, "Approve -"),
        (r#", "level": "WARNING", "statusMessage": "denied by policy""#, "Reject -"),
        ("", "UserApproval -"),
    ] {
        assert_eq!(asked("human approval", rest), expected, "{rest}");
    }
    assert_eq!(asked("human approval: rejected", ""), "Reject -");
    assert_eq!(asked("approval expired", ""), "Decision -");
    assert_eq!(asked("request approval", r#", "output": "sent""#), "RequestApproval -");
}

#[test]
fn an_approval_by_name_alone_is_marked_as_a_guess() {
    let log = r#"{"spans": [{"traceId": "t", "spanId": "1", "name": "approve order", "attributes": []},
        {"traceId": "t", "spanId": "2", "name": "approve order", "attributes": [{"key": "approved", "value": {"boolValue": true}}]},
        {"traceId": "t", "spanId": "3", "name": "approve order", "attributes": [{"key": "ponens.approved", "value": {"boolValue": false}}]},
        {"traceId": "t", "spanId": "4", "name": "approve", "attributes": [{"key": "gen_ai.tool.call.result", "value": {"stringValue": "no"}}]}]}"#;
    let trace = imported(log, Format::Otlp);
    assert_eq!(actions(&trace), ["UserApproval -", "UserApproval -", "Reject -", "Reject -"]);
    assert_eq!(*at(&trace, "/actions/0/observations/0/confidence"), "low".into());
    assert_eq!(*at(&trace, "/actions/1/observations"), Value::Null);
}
