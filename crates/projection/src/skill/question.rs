//! What people are asked while a run waits, as open questions.

use hence_canon::Value;
use hence_review::model::{Residual, TargetPart};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity};
use hence_skills::{CallHistory, CallName, Question, QuestionKind};

use super::{SkillView, kind, person};
use crate::base::Base;
use crate::gap::gap;
use crate::word;

/// Everything nobody has answered yet: each call that asks, and the step that is due when it has not asked so far.
pub(super) fn open(view: &SkillView<'_>, base: &Base<'_>, calls: Option<&CallHistory>) -> Vec<Residual> {
    let asked: Vec<(&CallName, &Question)> =
        calls.into_iter().flat_map(CallHistory::questions).filter(|(call, _)| is_open(view, call)).collect();
    let due = view.progress.due().filter(|step| kind::asks_a_person(view.kind(step, None)));
    let not_asked = due.filter(|due| !asked.iter().any(|(call, _)| call.step == due.id)).map(|due| {
        let memory = &view.progress.state().memory;
        let input = due.input.as_ref().ok().and_then(|mapping| mapping.resolve(memory).ok());
        for_value(base, &due.id, &due.id, &input.unwrap_or_default())
    });
    let questions = asked.iter().map(|(call, question)| {
        // A step that makes several calls is not named by its id alone.
        let alone = asked.iter().filter(|(other, _)| other.step == call.step).count() == 1;
        let place = if alone { &call.step } else { &call.key };
        match question.kind {
            QuestionKind::Value => for_value(base, &call.step, place, &question.input),
            QuestionKind::Undecided => for_decision(base, call, place),
        }
    });
    not_asked.into_iter().chain(questions).collect()
}

/// Steps that are recorded wait for nobody, whatever is still noted beside the record.
fn is_open(view: &SkillView<'_>, call: &CallName) -> bool {
    view.step_of(&call.step).is_some()
        && !view.progress.outcomes().iter().any(|outcome| outcome.step_id == call.step)
}

/// A step asks for a value.
fn for_value(base: &Base<'_>, step: &str, place: &str, input: &Value) -> Residual {
    let asked = person::question(input).unwrap_or_else(|| format!("what {step} should do"));
    let offered = person::offered(input);
    let among = if offered.is_empty() { String::new() } else { format!(" ({})", offered.join(" or ")) };
    let who = input.get("who").and_then(Value::as_str).map_or_else(|| "a person".to_owned(), word::shortened);
    let statement = format!("Step {step} waits for {who} to say: {asked}{among}");
    question(base, place, statement, &["--value JSON"])
}

/// Nobody knows whether a call happened.
fn for_decision(base: &Base<'_>, call: &CallName, place: &str) -> Residual {
    let statement = format!(
        "Step {} waits for a person to say whether {} happened before the run broke off.",
        call.step, call.capability
    );
    question(base, place, statement, &["--done OUTPUT", "--retry", "--fail"])
}

fn question(base: &Base<'_>, place: &str, statement: String, answers: &[&str]) -> Residual {
    let command = format!("hence answer {} {}", word::shell_word(base.run_id()), word::shell_word(place));
    let ways: Vec<String> = answers.iter().map(|answer| format!("{command} {answer}")).collect();
    gap(&format!("question-{place}"), ResidualKind::OpenQuestion, ResidualSeverity::High, statement)
        .check(&format!("{}, then {}", ways.join(" or "), base.resume_command()))
        .on(TargetPart::Trace)
        .written()
}
