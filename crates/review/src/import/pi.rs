//! pi logs.

use hence_canon::Value;

use crate::vocabulary::{ActionType, ActivityType, ReasoningType};

use super::claude::block_text;
use super::command::Reading;
use super::session::{ActionEvent, Session, ToolOutcome};

/// Takes one row in.
pub(super) fn row(session: &mut Session, row: &Value) {
    let word = |key: &str| row.get(key).and_then(Value::as_str);
    Session::set_once(&mut session.started_at, word("timestamp"));
    match word("type") {
        Some("session") => {
            Session::set_once(&mut session.id, word("id"));
            Session::set_once(&mut session.working_directory, word("cwd"));
        }
        Some("model_change") => Session::set_once(&mut session.model, word("modelId")),
        Some("message") => message(session, row.get("message").unwrap_or(&Value::Null), word("timestamp")),
        _ => {}
    }
}

fn message(session: &mut Session, message: &Value, at: Option<&str>) {
    let word = |key: &str| message.get(key).and_then(Value::as_str);
    let content = message.get("content").unwrap_or(&Value::Null);
    match word("role") {
        Some("user") => session.directive(&block_text(content)),
        Some("assistant") => {
            Session::set_once(&mut session.model, word("model"));
            assistant(session, content, at);
        }
        Some("toolResult") => {
            let text = block_text(content);
            let failed = message.get("isError").and_then(Value::as_bool) == Some(true);
            let outcome = ToolOutcome { failed, ..ToolOutcome::of_text(&text) };
            session.outcome(word("toolCallId").unwrap_or(""), outcome);
        }
        _ => {}
    }
}

fn assistant(session: &mut Session, content: &Value, at: Option<&str>) {
    if let Some(text) = content.as_str() {
        return session.reasoning(text);
    }
    let blocks = content.as_array().unwrap_or(&[]);
    let is = |block: &Value, kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
    let before: Vec<&Value> = blocks.iter().take_while(|block| !is(block, "toolCall")).collect();
    let joined = |kind: &str| {
        let texts = before
            .iter()
            .filter(|block| is(block, kind))
            .filter_map(|block| block.get(kind).or_else(|| block.get("text"))?.as_str());
        texts.collect::<Vec<_>>().join("\n")
    };
    let said = joined("text");
    session.reasoning(if said.trim().is_empty() { joined("thinking") } else { said }.as_str());
    for block in blocks.iter().filter(|block| is(block, "toolCall")) {
        let name = block.get("name").and_then(Value::as_str).unwrap_or("");
        let mut event = tool(name, block.get("arguments").unwrap_or(&Value::Null));
        event.at = at.map(str::to_owned);
        session.action(event, block.get("id").and_then(Value::as_str));
    }
}

fn tool(name: &str, input: &Value) -> ActionEvent {
    let word = |keys: &[&str]| keys.iter().find_map(|key| input.get(key)?.as_str()).map(str::to_owned);
    if let ("bash", Some(command)) = (name, word(&["command"])) {
        let mut event = ActionEvent::of_command(name, &command, Reading::WithVitest);
        event.description = word(&["description"]);
        return event;
    }
    let kind: ActionType = match name {
        "read" | "formal_lookup" => ActivityType::ReadFile.into(),
        "write" => ActivityType::CreateFile.into(),
        "edit" => ActivityType::EditFile.into(),
        "ls" | "find" => ActivityType::ExploreDirectory.into(),
        "grep" => ActivityType::SearchCode.into(),
        "codelogician"
        | "formal_verify"
        | "formal_comprehend"
        | "formal_testgen"
        | "check_fidelity"
        | "deterministic_translate" => ReasoningType::Verify.into(),
        _ => ActivityType::RunCommand.into(),
    };
    let mut event = ActionEvent::new(kind, name);
    event.description = word(&["description", "task", "operation", "instruction"]);
    event.file = word(&["path", "file", "iml_file"]);
    event.query = word(&["pattern", "query"]);
    event
}
