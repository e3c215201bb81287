//! The questions of a waiting run, as text and JSON.

use hence_canon::Value;
use hence_capabilities::check_answer;
use hence_cognition::approval::{APPROVES, REJECTS};
use hence_skills::{CallHistory, CallName, Intent, Question, QuestionKind, is_nested_run, is_timer};
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::kind_of_answer;
use crate::context::Context;
use crate::data::Data;
use crate::escape::{escape, escape_json};
use crate::hint;

/// The maximum number of options that are shown with a command each.
const OPTIONS_SHOWN_MAX: usize = 5;

/// The number of characters of a value that is shown in a line; a longer one is laid out over several.
const LINE_CHARACTERS_MAX: usize = 100;

/// The number of bytes of a laid-out value that are shown; of a longer one the rest is printed by a command.
const SHOWN_BYTES_MAX: usize = 16 * 1024;

/// A call that waits for an answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitingRow {
    /// The step of the call.
    pub(crate) step: String,
    /// The key of the call: a step may make several calls.
    pub(crate) key: String,
    /// The capability.
    pub(crate) capability: String,
    /// `value`: a person is asked for a value. `undecided`: it is unknown whether the call happened. `timer`: the clock answers. `nested`: the end of
    /// a nested run answers.
    pub(crate) about: &'static str,
    /// The question.
    pub(crate) question: String,
    /// The person who should answer.
    pub(crate) who: Option<String>,
    /// The input of the call. Of a question: question, options, type, context. `null` where a log of an earlier version
    /// has only its digest.
    pub(crate) input: Option<Data>,
    /// The key by which the capability recognises a repeated call, for an undecided call.
    pub(crate) idempotency_key: Option<String>,
    /// The command that prints all of a long input.
    #[serde(skip)]
    #[schemars(skip)]
    whole: String,
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
            Self::of(context, run, place, call, question, history.intent(&call.key))
        };
        questions.iter().map(row).collect()
    }

    /// Describes all calls that a process began before it died.
    pub(crate) fn all_undecided(context: &Context, run: &str, history: &CallHistory) -> Vec<Self> {
        let row = |call: &CallName| Self::undecided(context, run, call, history.intent(&call.key));
        history.undecided().map(row).collect()
    }

    fn of(
        context: &Context,
        run: &str,
        place: &str,
        call: &CallName,
        question: &Question,
        intent: Option<&Intent>,
    ) -> Self {
        let input = &question.input;
        let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        let (about, asked, commands) = match question.kind {
            QuestionKind::Value if is_timer(&call.capability) => {
                let due = question.reason.as_deref().unwrap_or("a time that its log does not name");
                ("timer", format!("it continues at {due}"), vec![hint::command(context, &["resume", run])])
            }
            QuestionKind::Value if is_nested_run(&call.capability) => {
                let nested = question.reason.as_deref().unwrap_or_default();
                (
                    "nested",
                    format!("it continues when run {nested} has ended"),
                    vec![hint::command(context, &["why", nested])],
                )
            }
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
            idempotency_key: intent.map(|intent| intent.idempotency_key.to_string()),
            whole: whole_command(context, run),
            commands,
        }
    }

    /// Describes a call that a process started before it died.
    fn undecided(context: &Context, run: &str, call: &CallName, intent: Option<&Intent>) -> Self {
        Self {
            step: call.step.to_string(),
            key: call.key.to_string(),
            capability: call.capability.to_string(),
            about: "undecided",
            question: format!("did `{}` happen?", call.capability),
            who: None,
            input: intent.and_then(|intent| intent.input.clone()).map(Data),
            idempotency_key: intent.map(|intent| intent.idempotency_key.to_string()),
            whole: whole_command(context, run),
            commands: undecided_commands(context, run, &call.key),
        }
    }

    /// Returns the rows of a text. Everything that is decided about is shown: the input of the call, or the context of the
    /// question, and what an answer means.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let who = self.who.as_ref().map(|who| format!(" ({})", escape(who))).unwrap_or_default();
        let mut lines = self.question.lines();
        let first = lines.next().unwrap_or_default();
        let mut rows = vec![("waits", format!("{}{who}: {}", escape(&self.step), escape(first)))];
        rows.extend(lines.map(|line| ("", escape(line))));
        let input = self.input.as_ref().map(|input| &input.0);
        if self.about == "undecided" {
            match input {
                Some(input) => rows.extend(value_rows("input", input, &self.whole)),
                None => rows.push(("input", "its log has only the digest".to_owned())),
            }
            rows.extend(self.idempotency_key.iter().map(|key| ("key", escape(key))));
        } else if let Some(input) = input {
            let about = input.get("context").filter(|about| !about.is_null());
            rows.extend(about.into_iter().flat_map(|about| value_rows("context", about, &self.whole)));
            rows.extend(meanings(input));
        }
        let word = if ["timer", "nested"].contains(&self.about) { "then" } else { "answer" };
        rows.extend(self.commands.iter().map(|command| (word, escape(command))));
        rows
    }
}

fn whole_command(context: &Context, run: &str) -> String {
    hint::command(context, &["why", run, "--json"])
}

/// Returns the rows of a value: in a line if it is short, laid out if it is not.
fn value_rows(name: &'static str, value: &Value, whole: &str) -> Vec<(&'static str, String)> {
    let line = value.to_string();
    if line.chars().count() <= LINE_CHARACTERS_MAX {
        return vec![(name, escape_json(&line))];
    }
    let text = match value {
        Value::String(text) => text.to_string(),
        other => hence_canon::pretty(other),
    };
    let mut rows = Vec::new();
    let mut shown = 0;
    for line in text.lines() {
        shown += line.len();
        if shown > SHOWN_BYTES_MAX {
            let rest = format!("… {} bytes in all; `{whole}` prints everything", text.len());
            rows.push(("", escape(&rest)));
            break;
        }
        rows.push(("", escape(line)));
    }
    if let Some(first) = rows.first_mut() {
        first.0 = name;
    }
    rows
}

/// Returns the row that says which answers approve and which reject.
fn meanings(input: &Value) -> Option<(&'static str, String)> {
    let listed = |member: &str, word: &str| -> Vec<String> {
        let answers = input.get(member).and_then(Value::as_array).unwrap_or_default();
        answers.iter().map(|answer| format!("{} {word}", escape_json(&answer.to_string()))).collect()
    };
    let all = [listed(APPROVES, "approves"), listed(REJECTS, "rejects")].concat();
    (!all.is_empty()).then(|| ("means", all.join(", ")))
}

fn value_commands(context: &Context, run: &str, place: &str, input: &Value) -> Vec<String> {
    let command = |value: &str| hint::command(context, &["answer", run, place, "--value", value]);
    let given = |name: &str| input.get(name).filter(|value| !value.is_null());
    match given("options").and_then(Value::as_array) {
        Some(options) if options.len() <= OPTIONS_SHOWN_MAX => {
            options.iter().map(|option| command(&simplest(input, option))).collect()
        }
        _ => match kind_of_answer(input) {
            Some("boolean") => vec![command("yes"), command("no")],
            Some("string") => vec![command("TEXT")],
            None if given("schema").is_none() && given("options").is_none() => vec![command("TEXT")],
            Some("integer") => vec![command("INTEGER")],
            Some("number") => vec![command("NUMBER")],
            _ => vec![command("@FILE")],
        },
    }
}

/// Returns the simplest spelling of an answer: a text without quotes, where it cannot be taken for anything else.
fn simplest(question: &Value, answer: &Value) -> String {
    let plain = answer.as_str().filter(|text| {
        let is_other =
            hence_canon::parse(text.as_bytes()).is_ok_and(|other| check_answer(question, &other).is_ok());
        !text.is_empty() && !text.starts_with(['@', '{', '[', '"']) && !text.ends_with('\n') && !is_other
    });
    plain.map_or_else(|| answer.to_string(), str::to_owned)
}

fn undecided_commands(context: &Context, run: &str, place: &str) -> Vec<String> {
    let command = |words: &[&str]| hint::command(context, &[&["answer", run, place], words].concat());
    vec![command(&["--done", "OUTPUT"]), command(&["--retry"]), command(&["--fail"])]
}
