//! Everything that waits for a person, and answers by the code of `hence answer`.

use hence_cognition::approval::{APPROVES, REJECTS};
use hence_server::{Identity, Role, Window};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Views;
use super::error::bad_request;
use super::opened::Opened;
use super::shown::{List, Shown};
use crate::kind::Imported;
use crate::measured::RunTimes;
use crate::prelude::*;
use crate::skills::{AnswerReport, GivenAnswer, WaitingRow, Words, record_answer};

/// The longest input of a question that is given whole: whoever decides must see what about.
const INPUT_BYTES_MAX: usize = 64 * 1024;

/// The most runs whose measured questions are looked up for one list.
const TIMED_JOURNAL_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// A question to a person.
#[derive(Serialize, JsonSchema)]
pub(super) struct QuestionRow {
    /// The run that waits.
    run: String,
    /// The question that the run is about.
    question_of_run: Option<String>,
    /// The step that asks.
    step: String,
    /// The key of the call.
    key: String,
    /// The capability.
    capability: String,
    /// `value` or `undecided`.
    about: &'static str,
    /// The question.
    question: String,
    /// The person who should answer.
    who: Option<String>,
    /// The input of the call, whole up to 64 KiB; null where only its digest is known.
    input: Option<Shown>,
    /// The type of the answer: `string`, `number`, `boolean`…, where the question names one.
    #[serde(rename = "type")]
    answer_type: Option<Data>,
    /// The answers to choose from.
    options: Option<Data>,
    /// The JSON Schema of the answer.
    schema: Option<Data>,
    /// The answers that approve.
    approves: Vec<Data>,
    /// The answers that reject.
    rejects: Vec<Data>,
    /// The key by which the capability recognises a repeated call.
    idempotency_key: Option<String>,
    /// The measured time of the question.
    asked_at: Option<String>,
    /// Whether whoever asks may answer.
    may_answer: bool,
    /// The commands that answer.
    commands: Vec<String>,
}

/// An answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewAnswer {
    /// The step that waits, or the key of one of its calls.
    step: String,
    /// The answer.
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    value: Option<Box<RawValue>>,
    /// The output of an undecided call that happened.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    done: Option<Box<RawValue>>,
    /// Make an undecided call again.
    #[serde(default)]
    retry: bool,
    /// Count an undecided call as failed.
    #[serde(default)]
    fail: bool,
}

impl NewAnswer {
    fn words(&self) -> Result<Words, CliError> {
        let given = [self.value.is_some(), self.done.is_some(), self.retry, self.fail];
        if given.iter().filter(|given| **given).count() != 1 {
            return Err(bad_request("expected exactly one of `value`, `done`, `retry` and `fail`"));
        }
        Ok(match (&self.value, &self.done, self.retry) {
            // JSON never begins with `@`, so no file is read.
            (Some(value), ..) => Words::Value(value.get().to_owned()),
            (_, Some(done), _) => Words::Done(done.get().to_owned()),
            (_, _, true) => Words::Retry,
            _ => Words::Fail,
        })
    }
}

fn row(
    run: &str,
    of_run: Option<String>,
    waiting: WaitingRow,
    asked_at: Option<String>,
    may: bool,
) -> QuestionRow {
    let input = waiting.input.map(|input| input.0);
    let given = |key: &str| {
        let found = input.as_ref().and_then(|input| input.get(key)).filter(|value| !value.is_null());
        found.cloned().filter(|_| waiting.about == "value").map(Data)
    };
    let (answer_type, options, schema) = (given("type"), given("options"), given("schema"));
    let answers = |key: &str| {
        let given = given(key);
        let listed = given.as_ref().and_then(|given| given.0.as_array()).unwrap_or_default();
        listed.iter().cloned().map(Data).collect()
    };
    let (approves, rejects) = (answers(APPROVES), answers(REJECTS));
    let input = input.map(|input| Shown::within(&input, INPUT_BYTES_MAX));
    QuestionRow {
        run: run.to_owned(),
        question_of_run: of_run,
        step: waiting.step,
        key: waiting.key,
        capability: waiting.capability,
        about: waiting.about,
        question: waiting.question,
        who: waiting.who,
        input,
        answer_type,
        options,
        schema,
        approves,
        rejects,
        idempotency_key: waiting.idempotency_key,
        asked_at,
        may_answer: may,
        commands: waiting.commands,
    }
}

impl Views {
    pub(super) fn waiting(
        &self,
        who: Option<&Identity>,
        of_run: Option<&str>,
        window: Window,
    ) -> Result<List<QuestionRow>, CliError> {
        let may = who.is_some_and(|who| who.has(Role::Answer));
        let mut rows = Vec::new();
        let cards = self.cards()?;
        let is_wanted = |run: &str| of_run.is_none_or(|wanted| wanted == run);
        for card in cards.iter().filter(|card| !card.row.waiting.is_empty() && is_wanted(&card.row.run)) {
            // The card was made of the run as it is now, but its rows are moved, so they are made again.
            let Ok(run) = Opened::find(self, &card.row.run) else { continue };
            let fresh = crate::commands::runs::fresh_row(&self.context, &run.store, &run.summary);
            let times = match run.summary.journal_bytes <= TIMED_JOURNAL_BYTES_MAX {
                true => run.whole().map(|journal| RunTimes::of(&journal).open_waits()).unwrap_or_default(),
                false => Vec::new(),
            };
            let problem = run.start.parsed_problem().ok().flatten();
            let of_run = problem.and_then(|problem| super::summary::question_of(&problem.value));
            for waiting in fresh.waiting {
                let asked = times.iter().find(|wait| wait.key == waiting.key);
                let asked_at = asked.and_then(|wait| wait.asked_at.clone());
                rows.push(row(run.name(), of_run.clone(), waiting, asked_at, may));
            }
        }
        let total = rows.len() as u64;
        let mut rows = rows.into_iter().skip(usize::try_from(window.from).unwrap_or(usize::MAX));
        Ok(List::of(window, total, |_| rows.next()))
    }

    pub(super) fn answer(
        &self,
        run: &Opened,
        answer: &NewAnswer,
        who: &str,
    ) -> Result<AnswerReport, CliError> {
        let given = GivenAnswer {
            run: run.name(),
            step: &answer.step,
            words: answer.words()?,
            by: Some(who),
            // Whoever is connected cannot say that a record from elsewhere may read secrets of this machine.
            imported: Imported::Refused,
        };
        record_answer(&self.context, &given).map(|(_, report)| report)
    }
}
