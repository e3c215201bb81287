//! Claude Code logs.

use hence_canon::Value;

use crate::vocabulary::{ActivityType, GatewayType};

use super::json::{JsonExt, block_text};
use super::session::{ActionEvent, Decision, Ending, Event, Reading, Session, TaskStatus, ToolOutcome};

/// Tools that only steer the agent.
#[rustfmt::skip]
const STEERING: &[&str] = &[
    "TaskList", "TaskGet", "TaskOutput", "TaskStop", "ToolSearch", "ExitPlanMode", "EnterPlanMode", "Skill",
];

/// The beginning of the message that the log has when the user stops the agent.
const INTERRUPTED: &str = "[Request interrupted by user";

/// Reads one row of a log.
pub(super) fn row(session: &mut Session, row: &Value) {
    let word = |key: &str| row.text(key);
    Session::set_once(&mut session.id, word("sessionId"));
    Session::set_once(&mut session.started_at, word("timestamp"));
    Session::set_once(&mut session.working_directory, word("cwd"));
    let content = row.get("message").and_then(|message| message.get("content")).unwrap_or(&Value::Null);
    // A log of a sub-agent alone is that agent's own session.
    let is_marked = row.flag("isSidechain");
    session.has_main_chain |= !is_marked && matches!(word("type"), Some("user" | "assistant"));
    let is_side_chain = is_marked && session.has_main_chain;
    let is_injected = ["isMeta", "isCompactSummary"].iter().any(|key| row.flag(key));
    match word("type") {
        Some("user") => user(session, content, is_side_chain || is_injected),
        Some("assistant") => {
            let model = row.get("message").and_then(|message| message.get("model")).and_then(Value::as_str);
            Session::set_once(&mut session.model, model);
            let agent = is_side_chain.then(|| word("agentId").unwrap_or("sub-agent"));
            assistant(session, content, agent, word("timestamp"));
        }
        _ => {}
    }
}

fn user(session: &mut Session, content: &Value, no_directive: bool) {
    let message = |session: &mut Session, text: &str| {
        if text.starts_with(INTERRUPTED) {
            session.ending = Ending::Interrupted;
        } else if !no_directive {
            session.directive(text);
        }
    };
    if let Some(text) = content.as_str() {
        return message(session, text);
    }
    for block in content.as_array().unwrap_or(&[]) {
        match block.text("type") {
            Some("text") => message(session, block.text("text").unwrap_or("")),
            Some("tool_result") => {
                let text = block_text(block.member("content"));
                let failed = block.flag("is_error");
                let outcome = ToolOutcome { failed, ..ToolOutcome::of_text(&text) };
                session.outcome(block.text("tool_use_id").unwrap_or(""), outcome);
            }
            _ => {}
        }
    }
}

fn assistant(session: &mut Session, content: &Value, agent: Option<&str>, at: Option<&str>) {
    let blocks = content.as_array().unwrap_or(&[]);
    let is = |block: &Value, kind: &str| block.text("type") == Some(kind);
    let before: Vec<&Value> = blocks.iter().take_while(|block| !is(block, "tool_use")).collect();
    let joined = |kind: &str, key: &str| {
        let texts =
            before.iter().filter(|block| is(block, kind)).filter_map(|block| block.get(key)?.as_str());
        texts.collect::<Vec<_>>().join("\n")
    };
    let reply = joined("text", "text");
    session.reasoning(if reply.trim().is_empty() { joined("thinking", "thinking") } else { reply }.as_str());
    if let Some(text) = content.as_str() {
        session.reasoning(text);
    }
    for block in blocks.iter().filter(|block| is(block, "tool_use")) {
        let name = block.text("name").unwrap_or("");
        let input = block.member("input");
        let call = block.text("id");
        if !plan(session, name, input) && !STEERING.contains(&name) {
            let mut event = tool(name, input);
            event.agent = agent.map(str::to_owned);
            event.at = at.map(str::to_owned);
            session.action(event, call);
        }
    }
}

/// Reads a change of the agent's plan; returns whether the tool was one.
fn plan(session: &mut Session, name: &str, input: &Value) -> bool {
    let word = |key: &str| input.text(key);
    match name {
        "TaskCreate" => {
            let texts = [word("subject"), word("description")].into_iter().flatten();
            let subject = texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or("task");
            session.events.push(Event::TaskCreated(subject.to_owned()));
        }
        "TaskUpdate" => {
            let id = word("taskId").or_else(|| word("task_id"));
            let task =
                id.and_then(|id| id.parse().ok()).or_else(|| input.get("taskId")?.as_u64()?.try_into().ok());
            if let (Some(task), Some(status)) = (task, word("status").and_then(TaskStatus::from_word)) {
                session.events.push(Event::TaskMoved { task, status });
            }
        }
        "TodoWrite" => session.whole_plan(input.list("todos"), &["content", "subject"]),
        _ => return false,
    }
    true
}

fn tool(name: &str, input: &Value) -> ActionEvent {
    let word = |key: &str| input.text(key);
    if let ("Bash", Some(command)) = (name, word("command")) {
        let mut event = ActionEvent::of_command(name, command, Reading::Plain);
        event.description = word("description").map(str::to_owned);
        return event;
    }
    if name == "AskUserQuestion" {
        return question(name, input);
    }
    let activity = match name {
        "Read" | "NotebookRead" => ActivityType::ReadFile,
        "Edit" | "MultiEdit" | "NotebookEdit" => ActivityType::EditFile,
        "Write" => ActivityType::CreateFile,
        "Grep" => ActivityType::SearchCode,
        "Glob" | "LS" => ActivityType::ExploreDirectory,
        "WebSearch" => ActivityType::SearchWeb,
        "WebFetch" => ActivityType::ReadDocumentation,
        "Task" | "Agent" => ActivityType::DecomposeTask,
        _ => ActivityType::RunCommand,
    };
    let mut event = ActionEvent::new(activity, name);
    event.file = input.first_text(&["file_path", "notebook_path"]).map(str::to_owned);
    event.description = word("description").map(str::to_owned);
    event.query = input.first_text(&["pattern", "query", "url", "path", "prompt"]).map(str::to_owned);
    event
}

fn question(name: &str, input: &Value) -> ActionEvent {
    let first = input.get("questions").and_then(|questions| questions.at(0)).unwrap_or(input);
    let options = first.list("options");
    let label = |option: &Value| option.as_str().or_else(|| option.get("label")?.as_str()).map(str::to_owned);
    let mut event = ActionEvent::new(GatewayType::ExclusiveDecision, name);
    event.decision = Some(Decision {
        question: first.text("question").unwrap_or("question").to_owned(),
        options: options.iter().filter_map(label).collect(),
    });
    event
}
