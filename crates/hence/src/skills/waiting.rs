//! The questions of a waiting run, as text and JSON.

use hence_canon::Value;
use hence_skills::{CallHistory, CallName, Question, QuestionKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::data::Data;
use crate::escape::escape;
use crate::hint;
use crate::report::one_line;

/// The maximum number of options that are shown with a command each.
const OPTIONS_SHOWN_MAX: usize = 5;

/// The number of characters of a question in a line.
const QUESTION_CHARACTERS_MAX: usize = 200;

/// A call that waits for an answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitingRow {
    /// The step of the call.
    pub(crate) step: String,
    /// The key of the call: a step may make several calls.
    pub(crate) key: String,
    /// The capability.
    capability: String,
    /// `value`: a person is asked for a value. `undecided`: it is unknown whether the call happened.
    pub(crate) about: &'static str,
    /// The question.
    question: String,
    /// The person who should answer.
    who: Option<String>,
    /// The input of the capability: question, options, type, context.
    input: Option<Data>,
    /// The commands that answer, one per option.
    pub(crate) commands: Vec<String>,
}

impl WaitingRow {
    /// Describes all open questions of a run.
    pub(crate) fn all(context: &Context, run: &str, history: &CallHistory) -> Vec<Self> {
        let questions: Vec<(&CallName, &Question)> = history.questions().collect();
        let row = |(call, question): &(&CallName, &Question)| {
            // The id of a step with several calls does not identify a call.
            let alone = questions.iter().filter(|(other, _)| other.step == call.step).count() == 1;
            let place = if alone { &call.step } else { &call.key };
            Self::of(context, run, place, call, question)
        };
        questions.iter().map(row).collect()
    }

    fn of(context: &Context, run: &str, place: &str, call: &CallName, question: &Question) -> Self {
        let input = &question.input;
        let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        let (about, asked, commands) = match question.kind {
            QuestionKind::Value => {
                let asked = text("question").unwrap_or_else(|| format!("`{}` asks", call.capability));
                ("value", asked, value_commands(context, run, place, input))
            }
            QuestionKind::Undecided => {
                let reason = question.reason.as_ref().map(|reason| format!(" {reason}")).unwrap_or_default();
                let asked = format!("did `{}` happen?{reason}", call.capability);
                ("undecided", asked, undecided_commands(context, run, place))
            }
        };
        Self {
            step: call.step.to_string(),
            key: call.key.to_string(),
            capability: call.capability.to_string(),
            about,
            question: asked,
            who: text("who").filter(|_| about == "value"),
            input: Some(Data(input.clone())),
            commands,
        }
    }

    /// Describes a call that a process started before it died.
    pub(crate) fn undecided(context: &Context, run: &str, call: &CallName) -> Self {
        Self {
            step: call.step.to_string(),
            key: call.key.to_string(),
            capability: call.capability.to_string(),
            about: "undecided",
            question: format!("did `{}` happen?", call.capability),
            who: None,
            input: None,
            commands: undecided_commands(context, run, &call.key),
        }
    }

    /// Returns the rows of a text.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let who = self.who.as_ref().map(|who| format!(" ({})", escape(who))).unwrap_or_default();
        let asked = one_line(&self.question, QUESTION_CHARACTERS_MAX);
        let mut rows = vec![("waits", format!("{}{who}: {asked}", escape(&self.step)))];
        rows.extend(self.commands.iter().map(|command| ("answer", escape(command))));
        rows
    }
}

fn value_commands(context: &Context, run: &str, place: &str, input: &Value) -> Vec<String> {
    let command = |value: &str| hint::command(context, &["answer", run, place, "--value", value]);
    match input.get("options").and_then(Value::as_array) {
        Some(options) if options.len() <= OPTIONS_SHOWN_MAX => {
            options.iter().map(|option| command(&option.to_string())).collect()
        }
        _ => vec![command("JSON")],
    }
}

fn undecided_commands(context: &Context, run: &str, place: &str) -> Vec<String> {
    let command = |words: &[&str]| hint::command(context, &[&["answer", run, place], words].concat());
    vec![command(&["--done", "OUTPUT"]), command(&["--retry"]), command(&["--fail"])]
}
