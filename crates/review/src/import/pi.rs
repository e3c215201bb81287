//! pi logs.

use hence_canon::Value;

use crate::secret;
use crate::vocabulary::{ActionType, ActivityType, ReasoningType};

use super::json::{JsonExt, block_text};
use super::outcome::ToolOutcome;
use super::session::{ActionEvent, Session};
use super::usage::Usage;

/// Reads one row of a log.
pub(super) fn row(session: &mut Session, row: &Value) {
    let word = |key: &str| row.text(key);
    Session::set_once(&mut session.started_at, word("timestamp"));
    match word("type") {
        Some("session") => {
            Session::set_once(&mut session.id, word("id"));
            Session::set_once(&mut session.working_directory, word("cwd"));
        }
        Some("model_change") => Session::set_once(&mut session.model, word("modelId")),
        Some("message") => message(session, row),
        _ => {}
    }
}

fn message(session: &mut Session, row: &Value) {
    let (message, at) = (row.member("message"), row.text("timestamp"));
    let word = |key: &str| message.text(key);
    let content = message.member("content");
    match word("role") {
        Some("user") => session.directive(&block_text(content), at),
        Some("assistant") => {
            Session::set_once(&mut session.model, word("model"));
            session.message(None, row.text("id"));
            session.begin_counting();
            assistant(session, message, at);
            if let Some(usage) = Usage::of(message.member("usage")) {
                session.used(None, usage);
            }
        }
        Some("toolResult") => {
            let text = block_text(content);
            let mut outcome = ToolOutcome::of_text(&text).with_error(message.flag("isError"));
            let last = text.trim_end().lines().next_back().unwrap_or("");
            let code =
                last.strip_prefix("Command exited with code ").and_then(|code| code.trim().parse().ok());
            outcome.exit_code = code.or(outcome.exit_code);
            session.outcome(word("toolCallId").unwrap_or(""), outcome);
        }
        _ => {}
    }
}

fn assistant(session: &mut Session, message: &Value, at: Option<&str>) {
    let content = message.member("content");
    if let Some(text) = content.as_str() {
        return session.reasoning(None, text);
    }
    let blocks = content.as_array().unwrap_or(&[]);
    let is = |block: &Value, kind: &str| block.text("type") == Some(kind);
    let before: Vec<&Value> = blocks.iter().take_while(|block| !is(block, "toolCall")).collect();
    let joined = |kind: &str| {
        let texts = before
            .iter()
            .filter(|block| is(block, kind))
            .filter_map(|block| block.get(kind).or_else(|| block.get("text"))?.as_str());
        texts.collect::<Vec<_>>().join("\n")
    };
    let reply = joined("text");
    if reply.trim().is_empty() {
        session.thought(None, &joined("thinking"));
    } else {
        session.reasoning(None, &reply);
    }
    for block in blocks.iter().filter(|block| is(block, "toolCall")) {
        let name = block.text("name").unwrap_or("");
        let mut event = tool(name, block.member("arguments"));
        event.at = at.map(str::to_owned);
        event.model = message.text("model").map(str::to_owned);
        session.action(event, block.text("id"));
    }
}

fn tool(name: &str, input: &Value) -> ActionEvent {
    let word = |keys: &[&str]| input.first_text(keys).map(str::to_owned);
    if let ("bash", Some(command)) = (name, word(&["command"])) {
        let mut event = ActionEvent::of_command(name, &command);
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
        "bash" | "formal_runs" | "visualize_regions" => ActivityType::RunCommand.into(),
        _ => ActivityType::ToolCall.into(),
    };
    let mut event = match kind {
        ActionType::Activity(ActivityType::ToolCall) => ActionEvent::of_unknown_tool(name, input),
        kind => ActionEvent::new(kind, name),
    };
    event.contains_secret = match name {
        "write" => input.text("content").map(secret::contains),
        "edit" => {
            input.first_text(&["newText", "new_string"]).filter(|text| secret::contains(text)).map(|_| true)
        }
        _ => None,
    };
    event.description = word(&["description", "task", "operation", "instruction"]);
    event.file = word(&["path", "file", "iml_file"]);
    event.query = word(&["pattern", "query"]);
    event
}
