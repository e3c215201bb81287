//! Claude Code logs.

use std::borrow::Cow;

use hence_canon::Value;

use crate::vocabulary::{ActivityType, GatewayType};

use super::command::Reading;
use super::session::{ActionEvent, Decision, Ending, Event, Session, TaskStatus, ToolOutcome};

/// Tools that steer the agent and do nothing themselves.
const STEERING: &[&str] = &[
    "TaskList",
    "TaskGet",
    "TaskOutput",
    "TaskStop",
    "ToolSearch",
    "ExitPlanMode",
    "EnterPlanMode",
    "Skill",
];

/// What the log writes when the user stops the agent.
const INTERRUPTED: &str = "[Request interrupted by user";

/// Takes one row in.
pub(super) fn row(session: &mut Session, row: &Value) {
    let word = |key: &str| row.get(key).and_then(Value::as_str);
    Session::set_once(&mut session.id, word("sessionId"));
    Session::set_once(&mut session.started_at, word("timestamp"));
    Session::set_once(&mut session.working_directory, word("cwd"));
    let content = row.get("message").and_then(|message| message.get("content")).unwrap_or(&Value::Null);
    // A log that holds a sub-agent alone is that agent's own session.
    let is_marked = row.get("isSidechain").and_then(Value::as_bool) == Some(true);
    session.has_main_chain |= !is_marked && matches!(word("type"), Some("user" | "assistant"));
    let is_side_chain = is_marked && session.has_main_chain;
    let is_injected =
        ["isMeta", "isCompactSummary"].iter().any(|key| row.get(key).and_then(Value::as_bool) == Some(true));
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
    let said = |session: &mut Session, text: &str| {
        if text.starts_with(INTERRUPTED) {
            session.ending = Ending::Interrupted;
        } else if !no_directive {
            session.directive(text);
        }
    };
    if let Some(text) = content.as_str() {
        return said(session, text);
    }
    for block in content.as_array().unwrap_or(&[]) {
        match block.get("type").and_then(Value::as_str) {
            Some("text") => said(session, block.get("text").and_then(Value::as_str).unwrap_or("")),
            Some("tool_result") => {
                let text = block_text(block.get("content").unwrap_or(&Value::Null));
                let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
                let outcome = ToolOutcome { failed, ..ToolOutcome::of_text(&text) };
                session.outcome(block.get("tool_use_id").and_then(Value::as_str).unwrap_or(""), outcome);
            }
            _ => {}
        }
    }
}

/// Joins the text of a string or of a list of blocks.
pub(super) fn block_text(content: &Value) -> Cow<'_, str> {
    match content {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(blocks) => {
            let texts =
                blocks.iter().filter_map(|block| block.as_str().or_else(|| block.get("text")?.as_str()));
            Cow::Owned(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => Cow::Borrowed(""),
    }
}

fn assistant(session: &mut Session, content: &Value, agent: Option<&str>, at: Option<&str>) {
    let blocks = content.as_array().unwrap_or(&[]);
    let is = |block: &Value, kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
    let before: Vec<&Value> = blocks.iter().take_while(|block| !is(block, "tool_use")).collect();
    let joined = |kind: &str, key: &str| {
        let texts =
            before.iter().filter(|block| is(block, kind)).filter_map(|block| block.get(key)?.as_str());
        texts.collect::<Vec<_>>().join("\n")
    };
    let said = joined("text", "text");
    session.reasoning(if said.trim().is_empty() { joined("thinking", "thinking") } else { said }.as_str());
    if let Some(text) = content.as_str() {
        session.reasoning(text);
    }
    for block in blocks.iter().filter(|block| is(block, "tool_use")) {
        let name = block.get("name").and_then(Value::as_str).unwrap_or("");
        let input = block.get("input").unwrap_or(&Value::Null);
        let call = block.get("id").and_then(Value::as_str);
        if !plan(session, name, input) && !STEERING.contains(&name) {
            let mut event = tool(name, input);
            event.agent = agent.map(str::to_owned);
            event.at = at.map(str::to_owned);
            session.action(event, call);
        }
    }
}

/// Takes the agent's own plan; returns whether the tool was part of it.
fn plan(session: &mut Session, name: &str, input: &Value) -> bool {
    let word = |key: &str| input.get(key).and_then(Value::as_str);
    match name {
        "TaskCreate" => {
            let told = [word("subject"), word("description")].into_iter().flatten();
            let subject = told.into_iter().find(|text| !text.trim().is_empty()).unwrap_or("task");
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
        "TodoWrite" => {
            let todos = input.get("todos").and_then(Value::as_array).unwrap_or(&[]);
            session.whole_plan(todos.iter().filter_map(|todo| {
                let subject = todo.get("content").or_else(|| todo.get("subject"))?.as_str()?;
                let status = todo.get("status").and_then(Value::as_str).and_then(TaskStatus::from_word);
                Some((subject.to_owned(), status.unwrap_or(TaskStatus::Pending)))
            }));
        }
        _ => return false,
    }
    true
}

fn tool(name: &str, input: &Value) -> ActionEvent {
    let word = |key: &str| input.get(key).and_then(Value::as_str);
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
    event.file = word("file_path").or_else(|| word("notebook_path")).map(str::to_owned);
    event.description = word("description").map(str::to_owned);
    event.query =
        ["pattern", "query", "url", "path", "prompt"].iter().find_map(|key| word(key)).map(str::to_owned);
    event
}

fn question(name: &str, input: &Value) -> ActionEvent {
    let first = input.get("questions").and_then(|questions| questions.at(0)).unwrap_or(input);
    let options = first.get("options").and_then(Value::as_array).unwrap_or(&[]);
    let label = |option: &Value| option.as_str().or_else(|| option.get("label")?.as_str()).map(str::to_owned);
    let mut event = ActionEvent::new(GatewayType::ExclusiveDecision, name);
    event.decision = Some(Decision {
        question: first.get("question").and_then(Value::as_str).unwrap_or("question").to_owned(),
        options: options.iter().filter_map(label).collect(),
    });
    event
}
