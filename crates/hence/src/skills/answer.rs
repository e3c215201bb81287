//! `hence answer`: logs a person's answer to the question a run waits for; with `--resume` the run then continues.

use hence_canon::{Object, Value, did_you_mean, parse};
use hence_capabilities::{HUMAN_ASK, Library, check_answer};
use hence_cognition::approval::Stance;
use hence_cognition::capability::{Registry as _, breach};
use hence_cognition::run::key_text;
use hence_engine::{Measured, Meter as _};
use hence_skills::{
    Answer, CallHistory, CallLog, CallName, CallStatus, Entry, Question, RefusedAnswer, is_nested_run,
    is_timer,
};
use hence_store::{Durability, RunWriter};
use schemars::JsonSchema;
use serde::Serialize;

use super::given::yes_or_no;
use super::{calls, library_pinned};
use crate::address::Address;
use crate::args::skill::AnswerArgs;
use crate::clock::{self, SystemClock};
use crate::code::Code;
use crate::context::Context;
use crate::data::Data;
use crate::error::CliError;
use crate::escape::escape;
use crate::exit::Exit;
use crate::kind::{self, DriveOptions, Imported, Purpose, StoredSkillRun};
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

/// The words of an answer, as a person gave them.
pub(crate) enum Words {
    /// A value: JSON, a text, or `@` and the name of a file.
    Value(String),
    /// The output of an undecided call that happened: JSON, or `@` and the name of a file.
    Done(String),
    /// An undecided call is to be made again.
    Retry,
    /// An undecided call counts as failed.
    Fail,
}

/// An answer to the question of a run.
pub(crate) struct GivenAnswer<'a> {
    /// The run.
    pub(crate) run: &'a str,
    /// The step that waits, or the key of one of its calls.
    pub(crate) step: &'a str,
    /// The answer.
    pub(crate) words: Words,
    /// The person who answers.
    pub(crate) by: Option<&'a str>,
    /// Whether an imported run may read the secrets that its record names.
    pub(crate) imported: Imported,
}

impl<'a> GivenAnswer<'a> {
    fn of(args: &'a AnswerArgs, run: &'a str, step: &'a str) -> Self {
        let words = match (&args.done, args.retry, args.fail) {
            (_, true, _) => Words::Retry,
            (_, _, true) => Words::Fail,
            (Some(output), ..) => Words::Done(output.clone()),
            _ => Words::Value(args.value.clone().unwrap_or_default()),
        };
        let (by, imported) = (args.by.as_deref(), args.imported.imported());
        GivenAnswer { run, step, words, by, imported }
    }
}

/// Reads an answer, checks it against its question and logs it; with `--resume` the run then continues.
pub(crate) fn answer(context: &Context, args: &AnswerArgs) -> Result<Exit, CliError> {
    let address = Address::find(context, &args.run)?;
    let named = Some(args.step.as_str()).filter(|step| !step.is_empty());
    let step = address.at_or(named)?.unwrap_or_default();
    let given = GivenAnswer::of(args, &address.run, step);
    let (journal, report) = record_answer(context, &given)?;
    if args.resume {
        let run = kind::open(&journal, &[], Purpose::Resume(args.imported.imported()))?;
        return run.resume(context, &journal, DriveOptions::default());
    }
    context.print(&report)?;
    Ok(Exit::Yes)
}

/// Checks an answer against its question and logs it.
///
/// # Errors
/// [`CliError`] when nothing waits for it, it does not fit, or it cannot be stored. Nothing is logged then.
pub(crate) fn record_answer(
    context: &Context,
    args: &GivenAnswer<'_>,
) -> Result<(Journal, AnswerReport), CliError> {
    let journal = Journal::of_run(context, args.run)?;
    let library = &library_of(&journal)?;
    // The answer is searched for secrets, which would be read from where the record says.
    args.imported.check(&journal, library)?;
    let store = context.store()?;
    let id = crate::target::find_run(&store, &journal.name)?;
    // The lease makes answers exclusive: of two processes the second finds the answer of the first.
    let mut opened = store.open(&id)?;
    if let Some(cut) = &opened.cut {
        context.say(format_args!("run {id}: {cut}"));
    }
    let history = calls::history(&store, &id)?.unwrap_or_default();
    let call = asked(context, id.as_str(), &history, args.step)?;
    refuse_unasked(context, id.as_str(), &history, &call)?;
    // A person may type a secret into an answer; it must not reach the record.
    let redactor = library.redactor();
    let answer = match read(&args.words, library, &history, &call)? {
        Answer::Value(value) => Answer::Value(redactor.value(&value)),
        Answer::Done(output) => Answer::Done(redactor.object(&output)),
        decision @ (Answer::Retry | Answer::Fail) => decision,
    };
    history.check(&call.key, &answer).map_err(|error| refused(id.as_str(), error))?;
    let by = args.by.map(Into::into);
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
        by: args.by.map(str::to_owned),
        next: hint::command(context, &["resume", id.as_str()]),
    };
    let file = opened.writer.side_log(&calls::calls_name())?;
    let sealing = id.clone();
    let log = CallLog::new(history, move |line, durability| {
        Ok(file.append(&calls::sealed(&sealing, line), durability)?)
    });
    let entry = Entry::Answer { key: call.key.clone(), answer, by };
    log.note(entry, Durability::Synced)
        .map_err(|error| CliError::new(Code::Disk, format!("the answer could not be stored: {error}")))?;
    note_answer(&mut *opened.writer, &call);
    drop((log, opened));
    // After the answer is stored, and without its lease: a worker may claim the run at once.
    crate::fleet::wake(context, &id);
    Ok((journal, report))
}

/// Notes when the answer came. An answer is stored even if its time cannot be.
fn note_answer(writer: &mut dyn RunWriter, call: &CallName) {
    let (log, Some(at)) = (TimeLog::open(writer, SystemClock::started()), clock::wall()) else { return };
    // The record that takes the time in is that of the outermost step, which the key begins with.
    let outermost = key_text(call.key.split('/').next().unwrap_or_default());
    log.note(Measured::Answered { step: outermost.into(), key: call.key.clone(), at });
    let _ = log.finish();
}

/// Finds the waiting call that a step id or a key names.
fn asked(context: &Context, run: &str, history: &CallHistory, place: &str) -> Result<CallName, CliError> {
    let is_meant = |call: &CallName| place.is_empty() || &*call.step == place || &*call.key == place;
    let is_open = |status: &CallStatus| matches!(status, CallStatus::Asked(_) | CallStatus::Begun);
    let meant: Vec<(&CallName, &CallStatus)> = history.calls().filter(|(call, _)| is_meant(call)).collect();
    let open: Vec<&CallName> =
        meant.iter().filter(|(_, status)| is_open(status)).map(|(call, _)| *call).collect();
    match open.as_slice() {
        [call] => Ok((*call).clone()),
        [] if meant.is_empty() || place.is_empty() => {
            let open = || history.calls().filter(|(_, status)| is_open(status)).map(|(call, _)| call);
            let meant = did_you_mean(place, open().map(|call| &*call.step));
            let at = if place.is_empty() { String::new() } else { format!(" at {place}{meant}") };
            let message = format!("run {run}: nothing waits for an answer{at}");
            let waiting = open().map(|call| format!("waiting: {} ({})", call.step, call.key));
            let hint = hint::why_waiting(context, run);
            Err(CliError::new(Code::NotAsked, message).with_hint(hint).with_findings(waiting))
        }
        [] => Err(refused(run, RefusedAnswer::Answered(place.into()))),
        several => {
            let of = if place.is_empty() { String::new() } else { format!(" of {place}") };
            let message = format!("run {run}: {} calls{of} wait for an answer", several.len());
            let keys = several.iter().map(|call| &call.key);
            Err(CliError::new(Code::NotAsked, message).with_hint(hint::ANSWER_BY_KEY).with_findings(keys))
        }
    }
}

/// Refuses to answer what no person is asked: the clock ends a timer, and the end of a nested run what waits for it.
fn refuse_unasked(
    context: &Context,
    run: &str,
    history: &CallHistory,
    call: &CallName,
) -> Result<(), CliError> {
    let Some(CallStatus::Asked(Question { reason, .. })) = history.status(&call.key) else { return Ok(()) };
    let reason = reason.as_deref().unwrap_or("something that its log does not name");
    let step = &call.step;
    let message = match &*call.capability {
        timer if is_timer(timer) => {
            format!("run {run}: step {step} waits until {reason}, and only the clock ends it")
        }
        nested if is_nested_run(nested) => {
            format!("run {run}: step {step} waits for run {reason}, and only the end of that run ends it")
        }
        _ => return Ok(()),
    };
    Err(CliError::new(Code::NotAsked, message).with_hint(hint::why_waiting(context, run)))
}

/// Reads the answer and checks it against the question.
fn read(
    words: &Words,
    library: &Library,
    history: &CallHistory,
    call: &CallName,
) -> Result<Answer, CliError> {
    let value = match words {
        Words::Retry => return Ok(Answer::Retry),
        Words::Fail => return Ok(Answer::Fail),
        Words::Done(output) => return read_output(output, library, call),
        Words::Value(value) => value,
    };
    let (name, bytes) = given("--value", value)?;
    let question = match history.status(&call.key) {
        Some(CallStatus::Asked(Question { input, .. })) => input.clone(),
        _ => Value::Null,
    };
    let judge = |value: &Value| match &*call.capability {
        HUMAN_ASK => check_answer(&question, value),
        _ => Ok(()),
    };
    let text = std::str::from_utf8(&bytes).ok().map(|text| text.trim_end_matches('\n'));
    let mut readings: Vec<Value> = Vec::new();
    let parsed = parse(&bytes).map_err(|error| CliError::not_json(&name, error));
    readings.extend(parsed.as_ref().ok().cloned());
    readings.extend(text.and_then(yes_or_no).filter(|_| kind_of_answer(&question) == Some("boolean")));
    // What begins like JSON and is none is probably a slip, not a text, unless the question asks for a text.
    let is_text = |text: &str| {
        kind_of_answer(&question) == Some("string") || !text.trim_start().starts_with(['{', '[', '"'])
    };
    readings.extend(text.filter(|text| is_text(text)).map(Value::from));
    if let Some(value) = readings.iter().find(|value| judge(value).is_ok()) {
        return Ok(Answer::Value(value.clone()));
    }
    let Some(value) = readings.first() else { return parsed.map(Answer::Value) };
    let why = judge(value).err().map(|refusal| refusal.message).unwrap_or_default();
    let options = question.get("options").and_then(Value::as_array).unwrap_or_default();
    let meant = did_you_mean(text.unwrap_or_default(), options.iter().filter_map(Value::as_str));
    Err(CliError::new(Code::Answer, format!("step {}: {why}{meant}", call.step)))
}

/// Returns the type that a question asks for, by its `type` or its `schema`.
pub(super) fn kind_of_answer(question: &Value) -> Option<&str> {
    let of_schema = || question.get("schema")?.get("type")?.as_str();
    question.get("type").and_then(Value::as_str).or_else(of_schema)
}

/// Reads the output of an undecided call that happened.
fn read_output(output: &str, library: &Library, call: &CallName) -> Result<Answer, CliError> {
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
    Ok(Answer::Done(output))
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
        // A second one stands for itself.
        Some(text) if text.starts_with('@') => Ok((option.to_owned(), text.as_bytes().to_vec())),
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
