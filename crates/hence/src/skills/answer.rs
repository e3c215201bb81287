//! `hence answer`: logs a person's answer to the question a run waits for; with `--resume` the run then continues.

use hence_canon::{Object, Value, parse};
use hence_capabilities::{HUMAN_ASK, Library, check_answer};
use hence_cognition::approval::Stance;
use hence_cognition::capability::{Registry as _, breach};
use hence_engine::{Measured, Meter as _};
use hence_skills::{Answer, CallHistory, CallLog, CallName, CallStatus, Entry, Question, RefusedAnswer};
use hence_store::{Durability, RunWriter, Store as _};
use schemars::JsonSchema;
use serde::Serialize;

use super::{calls, library_pinned};
use crate::args::skill::AnswerArgs;
use crate::clock::{self, SystemClock};
use crate::code::Code;
use crate::context::Context;
use crate::data::Data;
use crate::error::CliError;
use crate::escape::escape;
use crate::exit::Exit;
use crate::kind::{self, DriveOptions, Purpose, StoredSkillRun};
use crate::report::{Text, pairs};
use crate::target::Journal;
use crate::time_log::TimeLog;
use crate::{bound, hint, input};

/// An answer that was stored.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AnswerReport {
    /// The run.
    run: String,
    /// The step that asked.
    step: String,
    /// The call that asked.
    key: String,
    /// `value`, `done`, `retry` or `fail`.
    answer: &'static str,
    /// The value, or the output of the call.
    value: Option<Data>,
    /// `approved` or `rejected`, if the question declares that the answer means it.
    decision: Option<&'static str>,
    /// The person who answered, as given.
    by: Option<String>,
    /// The command that continues the run.
    next: String,
}

impl Text for AnswerReport {
    fn text(&self) -> String {
        let value = self.value.as_ref().map(|value| format!(" {}", value.0)).unwrap_or_default();
        let meaning = self.decision.map(|decision| format!(" ({decision})")).unwrap_or_default();
        pairs(&[
            ("answered", escape(&format!("{}: {}{value}{meaning}", self.step, self.answer))),
            ("next", escape(&self.next)),
        ])
    }
}

/// Returns the capabilities of a run: the run of a skill, or a run with bound steps.
fn library_of(journal: &Journal) -> Result<Library, CliError> {
    match journal.parsed_problem()?.map(|document| &document.value) {
        Some(problem) if bound::binds(problem) => {
            library_pinned(journal, &[], bound::pinned_capabilities(problem))
        }
        _ => Ok(StoredSkillRun::require(journal)?.library),
    }
}

/// Reads an answer, checks it against its question and logs it.
pub(crate) fn answer(context: &Context, args: &AnswerArgs) -> Result<Exit, CliError> {
    let journal = Journal::of_run(context, &args.run)?;
    let library = &library_of(&journal)?;
    // The answer is searched for secrets, which would be read from where the record says.
    args.imported.imported().check(&journal, library)?;
    let store = context.store()?;
    let id = crate::target::find_run(&store, &journal.name)?;
    // The lease makes answers exclusive: of two processes the second finds the answer of the first.
    let mut opened = store.open(&id)?;
    if let Some(cut) = &opened.cut {
        context.say(format_args!("run {id}: {cut}"));
    }
    let history = calls::history(&store, &id)?.unwrap_or_default();
    let call = asked(context, id.as_str(), &history, &args.step)?;
    // A person may type a secret into an answer; it must not reach the record.
    let redactor = library.redactor();
    let answer = match read(args, library, &history, &call)? {
        Answer::Value(value) => Answer::Value(redactor.value(&value)),
        Answer::Done(output) => Answer::Done(redactor.object(&output)),
        decision @ (Answer::Retry | Answer::Fail) => decision,
    };
    history.check(&call.key, &answer).map_err(|error| refused(id.as_str(), error))?;
    let by = args.by.as_deref().map(Into::into);
    let report = AnswerReport {
        run: id.as_str().to_owned(),
        step: call.step.to_string(),
        key: call.key.to_string(),
        answer: answer.name(),
        value: match &answer {
            Answer::Value(value) => Some(Data(value.clone())),
            Answer::Done(output) => Some(Data(output.clone().into())),
            Answer::Retry | Answer::Fail => None,
        },
        decision: match (&answer, history.status(&call.key)) {
            (Answer::Value(value), Some(CallStatus::Asked(question))) => {
                Stance::of(&question.input, value).word()
            }
            _ => None,
        },
        by: args.by.clone(),
        next: hint::command(context, &["resume", id.as_str()]),
    };
    let file = opened.writer.side_log(&calls::calls_name())?;
    let log = CallLog::new(history, move |line, durability| Ok(file.append(line, durability)?));
    let entry = Entry::Answer { key: call.key.clone(), answer, by };
    log.note(entry, Durability::Synced)
        .map_err(|error| CliError::new(Code::Disk, format!("the answer could not be stored: {error}")))?;
    note_answer(&mut *opened.writer, &call);
    drop((log, opened));
    if args.resume {
        let run = kind::open(&journal, &[], Purpose::Resume(args.imported.imported()))?;
        return run.resume(context, &journal, DriveOptions::default());
    }
    context.print(&report)?;
    Ok(Exit::Yes)
}

/// Notes when the answer came. An answer is stored even if its time cannot be.
fn note_answer(writer: &mut dyn RunWriter, call: &CallName) {
    let (log, Some(at)) = (TimeLog::open(writer, SystemClock::started()), clock::wall()) else { return };
    // The record that takes the time in is that of the outermost step, which the key begins with.
    let outermost = call.key.split('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    log.note(Measured::Answered { step: outermost.into(), key: call.key.clone(), at });
    let _ = log.finish();
}

/// Finds the waiting call that a step id or a key names.
fn asked(context: &Context, run: &str, history: &CallHistory, place: &str) -> Result<CallName, CliError> {
    let is_meant = |call: &CallName| &*call.step == place || &*call.key == place;
    let is_open = |status: &CallStatus| matches!(status, CallStatus::Asked(_) | CallStatus::Begun);
    let meant: Vec<(&CallName, &CallStatus)> = history.calls().filter(|(call, _)| is_meant(call)).collect();
    let open: Vec<&CallName> =
        meant.iter().filter(|(_, status)| is_open(status)).map(|(call, _)| *call).collect();
    match open.as_slice() {
        [call] => Ok((*call).clone()),
        [] if meant.is_empty() => {
            let message = format!("run {run}: nothing waits for an answer at {place}");
            let waiting = history.calls().filter(|(_, status)| is_open(status));
            let waiting = waiting.map(|(call, _)| format!("waiting: {} ({})", call.step, call.key));
            let hint = hint::why_waiting(context, run);
            Err(CliError::new(Code::NotAsked, message).with_hint(hint).with_findings(waiting))
        }
        [] => Err(refused(run, RefusedAnswer::Answered(place.into()))),
        several => {
            let message = format!("run {run}: {} calls of {place} wait for an answer", several.len());
            let keys = several.iter().map(|call| &call.key);
            Err(CliError::new(Code::NotAsked, message).with_hint(hint::ANSWER_BY_KEY).with_findings(keys))
        }
    }
}

/// Reads the answer and checks it against the question.
fn read(
    args: &AnswerArgs,
    library: &Library,
    history: &CallHistory,
    call: &CallName,
) -> Result<Answer, CliError> {
    if args.retry {
        return Ok(Answer::Retry);
    }
    if args.fail {
        return Ok(Answer::Fail);
    }
    if let Some(output) = &args.done {
        let (name, bytes) = given("--done", output)?;
        let output = match parse(&bytes).map_err(|error| CliError::not_json(&name, error))? {
            Value::Object(output) => output,
            other => {
                let message = format!(
                    "{name}: expected an object, what `{}` gave, found {}",
                    call.capability,
                    other.kind()
                );
                return Err(CliError::new(Code::Answer, message));
            }
        };
        check_output(library, call, &output)?;
        return Ok(Answer::Done(output));
    }
    let (name, bytes) = given("--value", args.value.as_deref().unwrap_or_default())?;
    let question = match history.status(&call.key) {
        Some(CallStatus::Asked(Question { input, .. })) => input.clone(),
        _ => Value::Null,
    };
    let judge = |value: &Value| match &*call.capability {
        HUMAN_ASK => check_answer(&question, value),
        _ => Ok(()),
    };
    let parsed = parse(&bytes).map_err(|error| CliError::not_json(&name, error));
    let text = std::str::from_utf8(&bytes).ok().map(|text| text.trim_end_matches('\n'));
    // What begins like JSON and is none is probably a slip, not a text.
    let is_text = |text: &str| {
        question.get("type").and_then(Value::as_str) == Some("string")
            || !text.trim_start().starts_with(['{', '[', '"'])
    };
    let plain = text.filter(|text| is_text(text)).map(Value::from);
    let misfit = |value: &Value| {
        let why = judge(value).err().map(|refusal| refusal.message).unwrap_or_default();
        CliError::new(Code::Answer, format!("step {}: {why}", call.step))
    };
    match (parsed, plain) {
        (Ok(value), _) if judge(&value).is_ok() => Ok(Answer::Value(value)),
        // A text may be given without quotes.
        (_, Some(text)) if judge(&text).is_ok() => Ok(Answer::Value(text)),
        (Ok(value), _) | (Err(_), Some(value)) => Err(misfit(&value)),
        (Err(error), None) => Err(error),
    }
}

fn check_output(library: &Library, call: &CallName, output: &Object) -> Result<(), CliError> {
    let spec = library.capability(&call.capability);
    match spec.and_then(|spec| breach(&spec.outputs, output)) {
        None => Ok(()),
        Some(breach) => {
            let message = format!("--done: `{}` gives an object: {}", call.capability, breach.of_output());
            Err(CliError::new(Code::Answer, message))
        }
    }
}

/// Returns the value of an option, or the contents of the file it names.
fn given(option: &str, text: &str) -> Result<(String, Vec<u8>), CliError> {
    match text.strip_prefix('@') {
        Some(file) => Ok((input::shown_name(file).to_owned(), input::read_document(file)?)),
        None => Ok((option.to_owned(), text.as_bytes().to_vec())),
    }
}

fn refused(run: &str, error: RefusedAnswer) -> CliError {
    let (code, hint) = match error {
        RefusedAnswer::NotAsked(_) => (Code::NotAsked, None),
        RefusedAnswer::Answered(_) => (Code::Answered, Some(hint::resume(run))),
        RefusedAnswer::OtherKind { .. } => (Code::Answer, None),
    };
    CliError::of_run(code, run, error).with_hint(hint)
}
