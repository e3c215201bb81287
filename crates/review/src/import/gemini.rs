//! Gemini logs.

use std::borrow::Cow;

use hence_canon::Value;

use crate::secret;
use crate::vocabulary::ActivityType;

use super::json::{JsonExt, block_text};
use super::outcome::{ToolOutcome, is_kill};
use super::session::{ActionEvent, Ending, Session, Status};
use super::usage::Usage;
use super::{Format, ImportError};

pub(super) fn read(document: &Value) -> Result<Session, ImportError> {
    let messages = document.get("messages").and_then(Value::as_array);
    let messages =
        messages.ok_or(ImportError::Shape { format: Format::Gemini, expected: "a list of messages" })?;
    let mut session = Session::default();
    let word = |key: &str| document.text(key);
    Session::set_once(&mut session.id, word("sessionId"));
    Session::set_once(&mut session.started_at, word("startTime"));
    for message in messages {
        let word = |key: &str| message.text(key);
        let content = block_text(message.member("content"));
        match word("type") {
            Some("user") => session.directive(&content, word("timestamp")),
            Some("gemini") => {
                Session::set_once(&mut session.model, word("model"));
                answer(&mut session, message, &content);
            }
            Some("error") => session.ending = Ending::Aborted,
            _ => {}
        }
    }
    Ok(session.close())
}

fn answer(session: &mut Session, message: &Value, content: &str) {
    let thoughts = message.list("thoughts");
    let thought = |thought: &Value| {
        thought.get("description").or_else(|| thought.get("subject"))?.as_str().map(str::to_owned)
    };
    let thoughts: Vec<String> = thoughts.iter().filter_map(thought).collect();
    // The text of a message explains the calls of that message alone.
    session.forget(None);
    session.begin_counting();
    session.thought(None, &thoughts.join("\n"));
    session.reasoning(None, content);
    for call in message.list("toolCalls") {
        let name = call.text("name").unwrap_or("");
        let arguments = call.member("args");
        if name == "write_todos" {
            session.whole_plan(arguments.list("todos"), &["description", "content"]);
            continue;
        }
        let mut event = tool(name, arguments);
        event.at = call.text("timestamp").map(str::to_owned);
        event.model = message.text("model").map(str::to_owned);
        event.outcome = has_ended(call).then(|| outcome(call));
        session.action(event, None);
    }
    if let Some(usage) = Usage::of(message.member("tokens")) {
        session.used(None, usage);
    }
}

fn tool(name: &str, arguments: &Value) -> ActionEvent {
    let word = |keys: &[&str]| arguments.first_text(keys).map(str::to_owned);
    if let ("run_shell_command", Some(command)) = (name, word(&["command"])) {
        let mut event = ActionEvent::of_command(name, &command);
        event.description = word(&["description"]);
        event.folder = word(&["dir_path", "directory"]);
        return event;
    }
    let kind = match name {
        "read_file" | "read_many_files" => ActivityType::ReadFile,
        "write_file" => ActivityType::CreateFile,
        "replace" => ActivityType::EditFile,
        "glob" | "list_directory" => ActivityType::ExploreDirectory,
        "search_file_content" | "grep" => ActivityType::SearchCode,
        "google_web_search" => ActivityType::SearchWeb,
        "web_fetch" => ActivityType::ReadDocumentation,
        "run_shell_command" => ActivityType::RunCommand,
        _ => ActivityType::ToolCall,
    };
    let mut event = match kind {
        ActivityType::ToolCall => ActionEvent::of_unknown_tool(name, arguments),
        kind => ActionEvent::new(kind, name),
    };
    event.contains_secret = match name {
        "write_file" => arguments.text("content").map(secret::contains),
        "replace" => arguments.text("new_string").filter(|text| secret::contains(text)).map(|_| true),
        _ => event.contains_secret,
    };
    event.file = word(&["file_path", "absolute_path"]).or(event.file);
    event.query = word(&["pattern", "query", "path", "prompt", "url"]);
    event
}

/// Returns whether a call has ended. A log that stops in between has calls that were only planned or begun.
fn has_ended(call: &Value) -> bool {
    !matches!(call.text("status"), Some("validating" | "scheduled" | "awaiting_approval" | "executing"))
}

/// Words by which the shell tool says that it ended a command.
const STOPPED: &[&str] = &[
    "Command was cancelled by user before it could complete",
    "Command was automatically cancelled because it exceeded the timeout",
];
/// Words by which a call is said not to have been allowed.
const NOT_ALLOWED: &[&str] = &["User did not allow tool call", "Tool execution denied by policy"];

fn outcome(call: &Value) -> ToolOutcome {
    let response = result_text(call.member("result"));
    let text = match call.text("resultDisplay") {
        Some(text) => text.into(),
        None => response.clone(),
    };
    let mut outcome = ToolOutcome::of_text(&text);
    // The shell tool writes the exit code after the output, and reports success whatever it is.
    let code =
        response.lines().rev().find_map(|line| line.trim().strip_prefix("Exit Code: ")?.trim().parse().ok());
    outcome.exit_code = code.or(outcome.exit_code);
    // Without an exit code, a signal ended the command, or nobody saw its end.
    let value =
        |name: &str| response.lines().rev().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    let is_signalled = value("Signal:").is_some_and(|signal| !matches!(signal, "" | "(none)" | "0"));
    let has_no_code = value("Exit Code:") == Some("(none)");
    let is_stopped = STOPPED.iter().any(|words| response.contains(words));
    outcome.killed |= is_signalled || is_stopped || outcome.exit_code.is_some_and(is_kill);
    outcome.runs_on |= has_no_code && !outcome.killed;
    match call.text("status") {
        Some("cancelled" | "canceled")
            if NOT_ALLOWED.iter().any(|words| response.contains(words) || text.contains(words)) =>
        {
            outcome.failed = true;
            outcome.stopped = Some(Status::Refused);
            outcome
        }
        Some("cancelled" | "canceled") => {
            outcome.failed = true;
            outcome.stopped = Some(Status::Cancelled);
            outcome
        }
        status => {
            let failed = status == Some("error") || outcome.exit_code.is_some_and(|code| code != 0);
            let failed = failed || outcome.killed;
            outcome.with_error(failed)
        }
    }
}

/// Returns the text of a result, which is a text or a list of function responses.
fn result_text(result: &Value) -> Cow<'_, str> {
    let items = result.as_array().unwrap_or(&[]).iter();
    let responses = items.filter_map(|item| item.get("functionResponse")?.get("response"));
    let texts: Vec<&str> = responses
        .filter_map(|response| response.get("output").or_else(|| response.get("error"))?.as_str())
        .collect();
    if !texts.is_empty() {
        return texts.join("\n").into();
    }
    block_text(result)
}
