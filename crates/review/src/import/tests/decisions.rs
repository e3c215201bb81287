//! Questions to the user, and what was answered.

use hence_canon::Value;

use super::at;
use super::truth::{Claude, actions};

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
