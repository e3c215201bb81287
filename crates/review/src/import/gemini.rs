//! Gemini logs.

use std::borrow::Cow;

use hence_canon::Value;

use crate::vocabulary::ActivityType;

use super::claude::block_text;
use super::command::Reading;
use super::session::{ActionEvent, Ending, Session, TaskStatus, ToolOutcome};
use super::{Format, ImportError};

pub(super) fn read(document: &Value) -> Result<Session, ImportError> {
    let messages = document.get("messages").and_then(Value::as_array);
    let messages =
        messages.ok_or(ImportError::Shape { format: Format::Gemini, expected: "a list of messages" })?;
    let mut session = Session::default();
    let word = |key: &str| document.get(key).and_then(Value::as_str);
    Session::set_once(&mut session.id, word("sessionId"));
    Session::set_once(&mut session.started_at, word("startTime"));
    for message in messages {
        let word = |key: &str| message.get(key).and_then(Value::as_str);
        let content = block_text(message.get("content").unwrap_or(&Value::Null));
        match word("type") {
            Some("user") => session.directive(&content),
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
    let thoughts = message.get("thoughts").and_then(Value::as_array).unwrap_or(&[]);
    let thought = |thought: &Value| {
        thought.get("description").or_else(|| thought.get("subject"))?.as_str().map(str::to_owned)
    };
    let thoughts: Vec<String> = thoughts.iter().filter_map(thought).collect();
    session
        .reasoning(if content.trim().is_empty() { thoughts.join("\n") } else { content.to_owned() }.as_str());
    for call in message.get("toolCalls").and_then(Value::as_array).unwrap_or(&[]) {
        let name = call.get("name").and_then(Value::as_str).unwrap_or("");
        let arguments = call.get("args").unwrap_or(&Value::Null);
        if name == "write_todos" {
            let todos = arguments.get("todos").and_then(Value::as_array).unwrap_or(&[]);
            session.whole_plan(todos.iter().filter_map(|todo| {
                let status = todo.get("status").and_then(Value::as_str).and_then(TaskStatus::from_word);
                let subject = todo.get("description").or_else(|| todo.get("content"))?.as_str()?;
                Some((subject.to_owned(), status.unwrap_or(TaskStatus::Pending)))
            }));
            continue;
        }
        let mut event = tool(name, arguments);
        event.at = call.get("timestamp").and_then(Value::as_str).map(str::to_owned);
        event.outcome = Some(outcome(call));
        session.action(event, None);
    }
}

fn tool(name: &str, arguments: &Value) -> ActionEvent {
    let word = |keys: &[&str]| keys.iter().find_map(|key| arguments.get(key)?.as_str()).map(str::to_owned);
    if let ("run_shell_command", Some(command)) = (name, word(&["command"])) {
        let mut event = ActionEvent::of_command(name, &command, Reading::Close);
        event.description = word(&["description"]);
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
        _ => ActivityType::RunCommand,
    };
    let mut event = ActionEvent::new(kind, name);
    event.file = word(&["file_path", "absolute_path"]);
    event.query = word(&["pattern", "query", "path", "prompt", "url"]);
    event
}

fn outcome(call: &Value) -> ToolOutcome {
    let text = match call.get("resultDisplay").and_then(Value::as_str) {
        Some(text) => text.into(),
        None => result_text(call.get("result").unwrap_or(&Value::Null)),
    };
    let status = call.get("status").and_then(Value::as_str);
    let failed = matches!(status, Some("error" | "cancelled"));
    ToolOutcome { failed, ..ToolOutcome::of_text(&text) }
}

/// A result is text, or a list of function responses with an output or an error inside.
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
