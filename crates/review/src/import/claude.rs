//! Claude Code logs.

use hence_canon::Value;

use crate::secret;
use crate::vocabulary::{ActivityType, GatewayType};

use super::json::{JsonExt, block_text};
use super::outcome::ToolOutcome;
use super::session::{ActionEvent, AnsweredBy, Decision, Ending, Event, Session, Status, TaskStatus};
use super::usage::{Cost, Usage, millis_of_seconds};

/// Tools that only steer the agent.
#[rustfmt::skip]
const STEERING: &[&str] = &[
    "TaskList", "TaskGet", "TaskOutput", "TaskStop", "ToolSearch", "EnterPlanMode", "Skill",
];

/// The beginning of the message that the log has when the user stops the agent.
const INTERRUPTED: &str = "[Request interrupted by user";

/// The words before what a user wrote when refusing a call.
const REFUSED_WITH_WORDS: &str = "the user said:";

/// Reads one row of a log.
pub(super) fn row(session: &mut Session, row: &Value) {
    let word = |key: &str| row.text(key);
    Session::set_once(&mut session.id, word("sessionId"));
    Session::set_once(&mut session.started_at, word("timestamp"));
    Session::set_once(&mut session.working_directory, word("cwd"));
    if !session.is_new_row(word("uuid")) {
        return;
    }
    // A log of a sub-agent alone is that agent's own session.
    let is_marked = row.flag("isSidechain");
    session.has_main_chain |= !is_marked && matches!(word("type"), Some("user" | "assistant"));
    let agent = (is_marked && session.has_main_chain).then(|| sub_agent(session, row));
    match word("type") {
        Some("user") => user(session, row, agent.as_deref()),
        Some("assistant") => assistant(session, row, agent.as_deref()),
        // What the user writes while the agent works is queued.
        Some("attachment") => {
            let attachment = row.member("attachment");
            if attachment.text("type") == Some("queued_command") && agent.is_none() {
                session.directive(&block_text(attachment.member("prompt")), word("timestamp"));
            }
        }
        _ => {}
    }
}

/// Returns the name of the sub-agent that a row belongs to: its id, or else the chain of rows it is part of.
fn sub_agent(session: &mut Session, row: &Value) -> String {
    let known = row.text("parentUuid").and_then(|parent| session.chains.get(parent).cloned());
    let name = row.text("agentId").map(str::to_owned).or(known).unwrap_or_else(|| {
        let begins = row.text("uuid").is_some() && row.text("parentUuid").is_none();
        let count = session.chains.values().collect::<std::collections::BTreeSet<_>>().len();
        if begins && count > 0 { format!("sub-agent {}", count + 1) } else { "sub-agent".to_owned() }
    });
    if let Some(id) = row.text("uuid") {
        session.chains.insert(id.to_owned(), name.clone());
    }
    name
}

fn user(session: &mut Session, row: &Value, agent: Option<&str>) {
    let content = row.get("message").and_then(|message| message.get("content")).unwrap_or(&Value::Null);
    let at = row.text("timestamp");
    let is_injected =
        ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"].iter().any(|key| row.flag(key));
    let message = |session: &mut Session, text: &str| {
        if let Some(agent) = agent {
            // The first message of a sub-agent is the task it was given.
            let task = session.prompts.get(text.trim()).cloned();
            if let Some(task) = task {
                session.delegated.entry(agent.to_owned()).or_insert(task);
            }
        } else if text.starts_with(INTERRUPTED) {
            session.ending = Ending::Interrupted;
        } else if !is_injected {
            session.directive(text, at);
        }
    };
    if let Some(text) = content.as_str() {
        return message(session, text);
    }
    for block in content.as_array().unwrap_or(&[]) {
        match block.text("type") {
            Some("text") => message(session, block.text("text").unwrap_or("")),
            Some("tool_result") => result(session, row, block, agent),
            _ => {}
        }
    }
}

fn result(session: &mut Session, row: &Value, block: &Value, agent: Option<&str>) {
    let text = block_text(block.member("content"));
    let details = row.member("toolUseResult");
    let mut outcome = ToolOutcome::of_text(&text).with_error(block.flag("is_error"));
    if details.flag("interrupted") && !outcome.failed {
        outcome.failed = true;
        outcome.stopped = Some(Status::Cancelled);
    }
    let millis = |key: &str| details.get(key).and_then(Value::as_i64);
    let millis = millis("durationMs").or_else(|| millis("totalDurationMs"));
    outcome.duration_ms = millis.or_else(|| {
        let seconds = details.get("durationSeconds").filter(|seconds| seconds.as_str().is_none())?;
        millis_of_seconds(&seconds.to_string())
    });
    let words = text.split_once(REFUSED_WITH_WORDS).filter(|_| outcome.stopped == Some(Status::Refused));
    let words = words.map(|(_, words)| words.trim().to_owned());
    session.outcome(block.text("tool_use_id").unwrap_or(""), outcome);
    if let (Some(words), None) = (words, agent) {
        session.directive(&words, row.text("timestamp"));
    }
}

fn assistant(session: &mut Session, row: &Value, agent: Option<&str>) {
    // The program wrote this in the place of an answer; it explains no call.
    if row.flag("isApiErrorMessage") {
        return;
    }
    let message = row.member("message");
    let (id, model) = (message.text("id"), message.text("model").filter(|model| *model != "<synthetic>"));
    if agent.is_none() {
        Session::set_once(&mut session.model, model);
    }
    session.message(agent, id);
    session.begin_counting();
    let content = message.member("content");
    let blocks = content.as_array().unwrap_or(&[]);
    let is = |block: &Value, kind: &str| block.text("type") == Some(kind);
    let before: Vec<&Value> = blocks.iter().take_while(|block| !is(block, "tool_use")).collect();
    let joined = |kind: &str, key: &str| {
        let texts =
            before.iter().filter(|block| is(block, kind)).filter_map(|block| block.get(key)?.as_str());
        texts.collect::<Vec<_>>().join("\n")
    };
    let reply = joined("text", "text");
    if reply.trim().is_empty() {
        session.thought(agent, &joined("thinking", "thinking"));
    } else {
        session.reasoning(agent, &reply);
    }
    if let Some(text) = content.as_str() {
        session.reasoning(agent, text);
    }
    for block in blocks.iter().filter(|block| is(block, "tool_use")) {
        let name = block.text("name").unwrap_or("");
        let input = block.member("input");
        if !plan(session, name, input) && !STEERING.contains(&name) {
            for mut event in actions(name, input) {
                if event.action_type == ActivityType::DecomposeTask.into()
                    && let (Some(prompt), Some(task)) = (input.text("prompt"), &event.description)
                {
                    session.prompts.insert(prompt.trim().to_owned(), task.clone());
                }
                event.agent = agent.map(str::to_owned);
                event.at = row.text("timestamp").map(str::to_owned);
                event.model = model.map(str::to_owned);
                session.action(event, block.text("id"));
            }
        }
    }
    let mut usage = Usage::of(message.member("usage"));
    if let Some(cost) = row.get("costUSD").and_then(Cost::of) {
        usage.get_or_insert_default().cost = Some(cost);
    }
    if let Some(usage) = usage {
        session.used(id, usage);
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

/// Returns the actions of a call: one for each question to the user, one for any other tool.
fn actions(name: &str, input: &Value) -> Vec<ActionEvent> {
    match name {
        "AskUserQuestion" if !input.list("questions").is_empty() => {
            input.list("questions").iter().map(|asked| question(name, asked)).collect()
        }
        "AskUserQuestion" => vec![question(name, input)],
        "ExitPlanMode" => vec![plan_question(name, input)],
        _ => vec![tool(name, input)],
    }
}

/// Tools that ask for the output of a command in the background.
const POLLS: &[&str] = &["BashOutput", "TaskOutput", "AgentOutputTool"];

fn tool(name: &str, input: &Value) -> ActionEvent {
    let word = |key: &str| input.text(key);
    if let ("Bash", Some(command)) = (name, word("command")) {
        let mut event = ActionEvent::of_command_with_input(name, command, input);
        event.description = word("description").map(str::to_owned);
        return event;
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
        "Bash" | "PowerShell" => ActivityType::RunCommand,
        _ => ActivityType::ToolCall,
    };
    let mut event = match activity {
        ActivityType::ToolCall => ActionEvent::of_unknown_tool(name, input),
        activity => ActionEvent::new(activity, name),
    };
    event.file = input.first_text(&["file_path", "notebook_path"]).map(str::to_owned).or(event.file);
    event.description = word("description").map(str::to_owned);
    event.query = input.first_text(&["pattern", "query", "url", "path", "prompt"]).map(str::to_owned);
    event.polls = input
        .first_text(&["bash_id", "task_id", "shell_id"])
        .filter(|_| POLLS.contains(&name))
        .map(str::to_owned);
    event.contains_secret = written(name, input).or(event.contains_secret);
    event.written = input.text("content").filter(|_| name == "Write").map(str::to_owned).or(event.written);
    event
}

/// Returns whether the text that an edit writes holds a secret. Only a whole file can be said to hold none.
fn written(name: &str, input: &Value) -> Option<bool> {
    match name {
        "Write" => input.text("content").map(secret::contains),
        "Edit" | "MultiEdit" | "NotebookEdit" => {
            let edits = input.list("edits").iter().filter_map(|edit| edit.text("new_string"));
            let texts = input.first_text(&["new_string", "new_source"]).into_iter().chain(edits);
            texts.into_iter().any(secret::contains).then_some(true)
        }
        _ => None,
    }
}

/// The question whether a plan may be carried out. A yes to a plan is no approval of a deed that comes later: it is recorded
/// as the decision that it is.
fn plan_question(name: &str, input: &Value) -> ActionEvent {
    let mut event = ActionEvent::new(GatewayType::ExclusiveDecision, name);
    let plan = input.first_text(&["plan", "planContent"]).unwrap_or("").trim();
    let question = if plan.is_empty() {
        "Carry out the plan?".to_owned()
    } else {
        format!("Carry out the plan? {plan}")
    };
    event.decision = Some(Decision {
        question,
        options: vec!["carry it out".to_owned(), "keep planning".to_owned()],
        answered_by: AnsweredBy::Permission,
    });
    event
}

fn question(name: &str, first: &Value) -> ActionEvent {
    let options = first.list("options");
    let label = |option: &Value| option.as_str().or_else(|| option.get("label")?.as_str()).map(str::to_owned);
    let mut event = ActionEvent::new(GatewayType::ExclusiveDecision, name);
    event.decision = Some(Decision {
        question: first.text("question").unwrap_or("question").to_owned(),
        options: options.iter().filter_map(label).collect(),
        answered_by: AnsweredBy::Words,
    });
    event
}
