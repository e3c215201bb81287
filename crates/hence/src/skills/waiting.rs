//! What a run waits for, as people and programs read it.

use hence_canon::Value;
use hence_skills::{CallHistory, CallName, Question, QuestionKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::data::Data;
use crate::escape::escape;
use crate::hint;
use crate::report::one_line;

/// How many options are shown with a command each.
const OPTIONS_SHOWN_MAX: usize = 5;

/// How much of a question is shown in a line.
const QUESTION_CHARACTERS_MAX: usize = 200;

/// Something a run waits for.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitingRow {
    /// The step that waits.
    pub(crate) step: String,
    /// The call that waits: a step may make several.
    pub(crate) key: String,
    /// What was called.
    capability: String,
    /// `value`: a person is asked for a value. `undecided`: nobody knows whether the call happened.
    pub(crate) about: &'static str,
    /// What is asked.
    question: String,
    /// Who should answer.
    who: Option<String>,
    /// What the capability was called with: question, options, type, context.
    input: Option<Data>,
    /// The commands that answer, one per option.
    pub(crate) commands: Vec<String>,
}

impl WaitingRow {
    /// Describes everything people are asked in a run.
    pub(crate) fn all(context: &Context, run: &str, history: &CallHistory) -> Vec<Self> {
        let questions: Vec<(&CallName, &Question)> = history.questions().collect();
        let row = |(call, question): &(&CallName, &Question)| {
            // A step that makes several calls is not named by its id alone.
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
                let asked = format!("did `{}` happen?", call.capability);
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

    /// Describes a call that was begun by a process that is gone.
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
