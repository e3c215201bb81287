//! Completion handlers: a program that is run once, after the end of a task is durable.
//!
//! The start and the end of each handler are lines of `handlers.ndjson` next to the journal, synced: the journal holds what
//! happened to the variables, and whoever runs the command decides what happens then. Reading, verifying, replaying and
//! importing a run start nothing.

use std::ffi::OsString;
use std::time::Duration;

use hence_canon::{Object, Value, canonical_bytes};
use hence_capabilities::process::{self, Ended, Job, Keep, Limits, Program};
use hence_store::{AttachmentName, Durability, RunId, StoreError, StoreHandle};
use hence_variables::{StateId, Status};

use crate::commands::split_words;
use crate::interactive::Session;
use crate::prelude::*;

/// The attachment with the log of completion handlers.
pub(crate) const HANDLERS: &str = "handlers.ndjson";

/// The time that a handler may take.
const TIMEOUT: Duration = Duration::from_secs(600);
/// The part of its output that is shown.
const SHOWN_BYTES_MAX: u64 = 64 * 1024;

/// The words of a handler: the program, and its arguments.
pub(super) struct Command {
    program: String,
    arguments: Vec<String>,
}

impl Command {
    /// Reads the command of a handler, before anything is recorded.
    pub(super) fn parse(text: &str) -> Result<Self, CliError> {
        let mut words = split_words(text)?.into_iter();
        match words.next().filter(|program| !program.is_empty()) {
            Some(program) => Ok(Self { program, arguments: words.collect() }),
            None => Err(CliError::new(Code::Argument, "--on-complete names no program")),
        }
    }
}

/// Runs the handler of a task that has just ended.
pub(super) fn run(
    context: &Context,
    session: &Session<'_>,
    (state, status): (StateId, Status),
    command: &Command,
) -> Result<Exit, CliError> {
    let Command { program: path, arguments } = command;
    let words = std::iter::once(path).chain(arguments);
    let listed: Value = words.map(|word| Value::from(word.as_str())).collect();
    let entry = |members: Object| members.with("state", state).with("command", listed.clone());
    note(session, &entry(Object::new().with("handler", "begun")))?;
    let set = [
        ("HENCE_RUN", session.id.as_str().to_owned()),
        ("HENCE_STATE", state.to_string()),
        ("HENCE_STATUS", status.to_string()),
    ];
    let set = set.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let program = Program {
        path: path.into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        environment: std::env::vars_os().chain(set).collect(),
    };
    let limits = Limits {
        timeout: TIMEOUT,
        output: Keep::Start(SHOWN_BYTES_MAX),
        errors: Keep::Start(SHOWN_BYTES_MAX),
    };
    let job = Job { programs: vec![program], directory: ".".into(), input: None };
    let (outcome, succeeded) = match process::run(job, &limits) {
        Ended::Exited(exited) => {
            for stream in [&exited.output, &exited.errors] {
                String::from_utf8_lossy(stream).lines().for_each(|line| context.say(escape(line)));
            }
            (exited.status.to_string(), exited.status.success())
        }
        Ended::NotStarted { error, .. } => (format!("not started: {error}"), false),
        Ended::TimedOut => ("killed: it took too long".to_owned(), false),
        Ended::TooMuch => ("killed: it wrote too much".to_owned(), false),
        Ended::Lost(reason) => (format!("nobody saw how it ended: {reason}"), false),
    };
    note(session, &entry(Object::new().with("handler", "ended").with("outcome", outcome.as_str())))?;
    if succeeded {
        return Ok(Exit::Yes);
    }
    context.say(format_args!("the task has ended; its handler has not succeeded: {}", escape(&outcome)));
    Ok(Exit::Partial)
}

/// Returns the name of the record of handlers.
fn log_name() -> AttachmentName {
    AttachmentName::new(HANDLERS).expect("the name is plain")
}

/// Returns the first line of the record of handlers that no handler wrote. A part of a line at the end is that of a process that
/// was killed.
pub(crate) fn wrong_line(store: &StoreHandle, run: &RunId) -> Option<String> {
    let bytes = match store.attachment(run, &log_name()) {
        Err(StoreError::NoSuchAttachment { .. }) => return None,
        Err(error) => return Some(error.to_string()),
        Ok(bytes) => bytes,
    };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
    let wrong = lines.find(|(_, line)| line.ends_with(b"\n") && !is_entry(line))?;
    Some(format!("{}: line {} is not that of a handler", log_name(), wrong.0 + 1))
}

fn is_entry(line: &[u8]) -> bool {
    let Ok(entry) = hence_canon::parse(line) else { return false };
    let word = |key: &str| entry.get(key).and_then(Value::as_str);
    let has_command = entry.get("command").and_then(Value::as_array).is_some();
    let is_known = match word("handler") {
        Some("begun") => true,
        Some("ended") => word("outcome").is_some(),
        _ => false,
    };
    is_known && has_command && word("state").is_some()
}

/// Appends a line to the record of handlers, durably.
fn note(session: &Session<'_>, entry: &Object) -> Result<(), CliError> {
    let name = log_name();
    let mut line = canonical_bytes(&entry.clone().into());
    line.push(b'\n');
    let mut writer = session.store.open(&session.id)?.writer;
    writer.side_log(&name)?.append(&line, Durability::Synced)?;
    Ok(())
}
