//! A session, whatever agent ran it.

use std::collections::BTreeMap;

use crate::vocabulary::{ActionType, ActivityType};

use super::command::{Reading, exit_code};
use super::text::kept;

/// How much of a result or a reason is kept: a little more than the longest part of it that a trace shows.
const TEXT_CHARS_KEPT: usize = 600;
/// How much is kept of what begins a session, and of a command: a trace shows these whole.
pub(super) const WHOLE_CHARS_KEPT: usize = 64 * 1024;

/// Something that happened in a session.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// The user asked for something.
    Directive(String),
    /// The agent noted a task.
    TaskCreated(String),
    /// The agent moved on with a task, named by its number from 1.
    TaskMoved { task: usize, status: TaskStatus },
    /// The agent did something.
    Action(Box<ActionEvent>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TaskStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

impl TaskStatus {
    pub(super) fn from_word(word: &str) -> Option<Self> {
        match word {
            "pending" | "todo" | "open" => Some(Self::Pending),
            "in_progress" | "doing" => Some(Self::InProgress),
            "completed" | "done" => Some(Self::Completed),
            "cancelled" | "canceled" | "deleted" => Some(Self::Cancelled),
            _ => None,
        }
    }
}

/// One thing the agent did.
#[derive(Clone, Debug)]
pub(super) struct ActionEvent {
    pub(super) action_type: ActionType,
    /// What the source called the tool.
    pub(super) tool: String,
    pub(super) rationale: Option<String>,
    pub(super) description: Option<String>,
    pub(super) file: Option<String>,
    /// The file it became, when it was moved.
    pub(super) renamed_to: Option<String>,
    pub(super) command: Option<String>,
    pub(super) query: Option<String>,
    pub(super) decision: Option<Decision>,
    pub(super) outcome: Option<ToolOutcome>,
    /// The name of the sub-agent that did it.
    pub(super) agent: Option<String>,
    pub(super) at: Option<String>,
}

/// A question put to the user.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) question: String,
    pub(super) options: Vec<String>,
}

/// What a tool gave back.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolOutcome {
    pub(super) text: String,
    pub(super) failed: bool,
    pub(super) exit_code: Option<i64>,
}

impl ToolOutcome {
    /// Takes the text of a result: what a trace can show of it, and the exit code it tells.
    pub(super) fn of_text(text: &str) -> Self {
        Self { text: kept(text, TEXT_CHARS_KEPT), failed: false, exit_code: exit_code(text) }
    }
}

impl ActionEvent {
    pub(super) fn new(action_type: impl Into<ActionType>, tool: &str) -> Self {
        Self {
            action_type: action_type.into(),
            tool: tool.to_owned(),
            rationale: None,
            description: None,
            file: None,
            renamed_to: None,
            command: None,
            query: None,
            decision: None,
            outcome: None,
            agent: None,
            at: None,
        }
    }

    /// An action that ran a command, of the type the command implies.
    pub(super) fn of_command(tool: &str, command: &str, reading: Reading) -> Self {
        let mut event = Self::new(super::command::type_of(command, reading), tool);
        event.command = Some(command.chars().take(WHOLE_CHARS_KEPT + 1).collect());
        event
    }

    pub(super) fn edits(&self) -> bool {
        matches!(
            self.action_type,
            ActionType::Activity(
                ActivityType::EditFile
                    | ActivityType::CreateFile
                    | ActivityType::DeleteFile
                    | ActivityType::RenameFile
            )
        )
    }
}

/// How a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Ending {
    #[default]
    Completed,
    /// Somebody stopped it, or the log ends while a tool was at work.
    Interrupted,
    /// It ended with an error.
    Aborted,
}

/// A session under construction: adapters tell it what they read.
#[derive(Default)]
pub(super) struct Session {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) started_at: Option<String>,
    pub(super) working_directory: Option<String>,
    pub(super) events: Vec<Event>,
    pub(super) last_reasoning: Option<String>,
    pub(super) ending: Ending,
    /// Whether anything was said or done that is no sub-agent's.
    pub(super) has_main_chain: bool,
    /// Whether the user has asked for something.
    begun: bool,
    calls: BTreeMap<String, usize>,
    /// The texts of a plan that is always written whole with their numbers from 1, to see what is new in it.
    plan: BTreeMap<String, usize>,
}

impl Session {
    pub(super) fn set_once(slot: &mut Option<String>, text: Option<&str>) {
        if let (None, Some(text)) = (&slot, text.filter(|text| !text.is_empty())) {
            *slot = Some(text.to_owned());
        }
    }

    pub(super) fn directive(&mut self, text: &str) {
        if !text.trim().is_empty() {
            let is_first = !std::mem::replace(&mut self.begun, true);
            let text = text.trim();
            let text = if is_first {
                text.chars().take(WHOLE_CHARS_KEPT).collect()
            } else {
                kept(text, TEXT_CHARS_KEPT)
            };
            self.events.push(Event::Directive(text));
            self.ending = Ending::Completed;
        }
    }

    pub(super) fn reasoning(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.last_reasoning = Some(kept(text, TEXT_CHARS_KEPT));
        }
    }

    /// Adds an action with the reasoning before it; `call` is how its result will name it.
    pub(super) fn action(&mut self, mut event: ActionEvent, call: Option<&str>) {
        event.rationale = event.rationale.or_else(|| self.last_reasoning.clone());
        event.description = event.description.map(|text| kept(&text, TEXT_CHARS_KEPT));
        event.query = event.query.map(|text| kept(&text, TEXT_CHARS_KEPT));
        // A path or a command that is blank names nothing.
        event.file = event.file.filter(|file| !file.trim().is_empty());
        event.command = event.command.filter(|command| !command.trim().is_empty());
        if let Some(call) = call {
            self.calls.insert(call.to_owned(), self.events.len());
        }
        self.events.push(Event::Action(Box::new(event)));
    }

    /// Joins a result to its call.
    pub(super) fn outcome(&mut self, call: &str, outcome: ToolOutcome) {
        let place = self.calls.get(call).copied();
        if let Some(Event::Action(event)) = place.and_then(|place| self.events.get_mut(place)) {
            event.outcome = Some(outcome);
        }
    }

    /// Takes a plan that was written whole: new entries are created, the others moved.
    pub(super) fn whole_plan(&mut self, entries: impl Iterator<Item = (String, TaskStatus)>) {
        for (subject, status) in entries {
            let subject = if subject.trim().is_empty() { "task".to_owned() } else { subject };
            let task = match self.plan.get(&subject) {
                Some(number) => *number,
                None => {
                    self.events.push(Event::TaskCreated(subject.clone()));
                    self.plan.insert(subject, self.plan.len() + 1);
                    self.plan.len()
                }
            };
            if status != TaskStatus::Pending {
                self.events.push(Event::TaskMoved { task, status });
            }
        }
    }

    /// Ends as interrupted when the last action never got an answer.
    pub(super) fn close(mut self) -> Self {
        let last = self.events.iter().rev().find_map(|event| match event {
            Event::Action(action) => Some(action),
            _ => None,
        });
        if self.ending == Ending::Completed
            && last.is_some_and(|action| action.outcome.is_none())
            && matches!(self.events.last(), Some(Event::Action(_)))
        {
            self.ending = Ending::Interrupted;
        }
        self
    }
}
