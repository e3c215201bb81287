//! A session of any agent, filled by the adapters row by row.
//!
//! One file, because a call, its result and what comes between them are joined by the same tables, which only rows in their order fill.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use hence_canon::Value;

use crate::command::{Callee, Deed, Part, ShellNames, folder_given, lines_given, part_of_tool};
use crate::secret::{self, Redactions};
use crate::vocabulary::{ActionType, ActivityType};

use super::expand;
use super::instruction;
use super::json::JsonExt;
use super::late;
use super::leaks::Leaks;
use super::outcome::{ToolOutcome, shown};
use super::usage::Usage;

/// The characters stored of the first directive and of a command, which a trace shows whole.
pub(super) const WHOLE_TEXT_CHARS_MAX: usize = 64 * 1024;

/// An event of a session.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// The user asked for something.
    Directive { text: String, at: Option<String> },
    /// The agent noted a task.
    TaskCreated(String),
    /// The agent changed the status of a task, named by its number from 1.
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

hence_canon::words! {
    /// The end of an action, as the trace writes it.
    pub(super) enum Status {
        Completed = "completed",
        Failed = "failed",
        /// Somebody or some rule did not let it happen.
        Refused = "refused",
        /// It was stopped before its end.
        Cancelled = "cancelled",
        /// It ran, or may have run, and the log does not show how it ended.
        Unknown = "unknown",
    }
}

/// Whether running a command again can show the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Repeatable {
    /// It only looks or checks.
    Yes,
    No,
    Unknown,
}

/// One action of the agent.
#[derive(Clone, Debug)]
pub(super) struct ActionEvent {
    pub(super) action_type: ActionType,
    /// The name of the tool in the log.
    pub(super) tool: String,
    pub(super) rationale: Option<String>,
    pub(super) description: Option<String>,
    pub(super) file: Option<String>,
    /// The file it became, when it was moved.
    pub(super) renamed_to: Option<String>,
    /// More files it looked at.
    pub(super) more_files: Vec<String>,
    pub(super) command: Option<String>,
    /// The folder the command ran in, as the log names it.
    pub(super) folder: Option<String>,
    pub(super) query: Option<String>,
    pub(super) decision: Option<Decision>,
    pub(super) outcome: Option<ToolOutcome>,
    /// The name of the sub-agent that acted.
    pub(super) agent: Option<String>,
    pub(super) at: Option<String>,
    /// The arguments of the tool, or the program and its arguments.
    pub(super) request: Vec<(&'static str, Value)>,
    pub(super) tags: Vec<&'static str>,
    /// The word for a command that has no action type of its own.
    pub(super) method: Option<&'static str>,
    pub(super) status: Option<Status>,
    /// Whether the log does not show that it ran, or that it had its effect: nothing is said to come of it.
    pub(super) is_uncertain: bool,
    /// Whether the exit code of the call is that of this action.
    pub(super) owns_exit_code: bool,
    /// Whether the output of the call is that of this action, as far as a check is concerned.
    pub(super) owns_output: bool,
    pub(super) repeatable: Repeatable,
    /// The text of one command of a line of several, and the command that would run it again.
    pub(super) part: Option<PartText>,
    /// The facts about it that the log does not show.
    pub(super) note: Option<String>,
    /// The whole text of the file it wrote, if that is short: a later command may run it.
    pub(super) written: Option<String>,
    /// Whether the text it wrote holds a secret; `None` when the log does not have the text.
    pub(super) contains_secret: Option<bool>,
    pub(super) usage: Option<Usage>,
    pub(super) model: Option<String>,
    /// Whether a secret was removed from its command, which then cannot be run again as it is written.
    pub(super) lost_secret: bool,
    /// The id of the command in the background whose output it asks for.
    pub(super) polls: Option<String>,
    /// The place of its result in the log, if that is a row of its own.
    pub(super) answered: Option<Answered>,
}

/// The place of a result in a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answered {
    /// Its number among the results, from 1.
    pub(super) number: usize,
    /// How many events came before it.
    pub(super) after: usize,
}

/// One command of a line of several.
#[derive(Clone, Debug)]
pub(super) struct PartText {
    pub(super) label: String,
    pub(super) again: String,
    /// Its number among the actions of the line, from 1, and how many they are.
    pub(super) place: usize,
    pub(super) count: usize,
}

/// A question to the user.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) question: String,
    pub(super) options: Vec<String>,
    pub(super) answered_by: AnsweredBy,
}

/// The part of a result that answers a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AnsweredBy {
    /// The words of the result.
    Words,
    /// Whether the call was let through: the first option is a yes, the second a no.
    Permission,
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
            more_files: Vec::new(),
            command: None,
            folder: None,
            query: None,
            decision: None,
            outcome: None,
            agent: None,
            at: None,
            request: Vec::new(),
            tags: Vec::new(),
            method: None,
            status: None,
            is_uncertain: false,
            owns_exit_code: true,
            owns_output: true,
            repeatable: Repeatable::Unknown,
            part: None,
            note: None,
            written: None,
            contains_secret: None,
            usage: None,
            model: None,
            lost_secret: false,
            polls: None,
            answered: None,
        }
    }

    /// Makes an action that ran a command; what the command did is read when its result is known.
    pub(super) fn of_command(tool: &str, command: &str) -> Self {
        let mut event = Self::new(ActivityType::RunCommand, tool);
        event.command = Some(command.chars().take(WHOLE_TEXT_CHARS_MAX + 1).collect());
        event
    }

    /// Makes an action that ran a command with what the call gives it to read, which may be a script.
    pub(super) fn of_command_with_input(tool: &str, command: &str, arguments: &Value) -> Self {
        let has_input = ["stdin", "input"].iter().any(|key| arguments.get(key).is_some());
        let lines = if has_input { lines_given(arguments, Callee::DoesElse) } else { Vec::new() };
        match lines.as_slice() {
            [line] => Self::of_command(tool, line),
            _ => Self::of_command(tool, command),
        }
    }

    /// Makes a call of a tool that no list knows, with its arguments. One that is given a single command runs it.
    pub(super) fn of_unknown_tool(tool: &str, arguments: &Value) -> Self {
        let is_editor = part_of_tool(tool, arguments).is_some_and(|part| part.deed.changes_file());
        if let ([command], false) = (lines_given(arguments, Callee::DoesElse).as_slice(), is_editor) {
            let folder = folder_given(arguments);
            let mut event = Self::of_command(tool, command);
            event.folder = (!folder.is_empty()).then(|| folder.to_owned());
            return event;
        }
        if let Some(part) = part_of_tool(tool, arguments) {
            return Self::of_named_tool(tool, arguments, part);
        }
        let mut event = Self::new(ActivityType::ToolCall, tool);
        event.request = vec![("tool", tool.into()), ("arguments", arguments.clone())];
        event
    }

    /// Makes an action of a tool whose name says what it does.
    fn of_named_tool(tool: &str, arguments: &Value, part: Part) -> Self {
        let mut event = Self::new(ActivityType::ToolCall, tool);
        event.action_type = part.deed.action_type();
        event.method = part.deed.method();
        event.request = vec![("tool", tool.into())];
        if part.deed == Deed::Push {
            let words = part.words.iter().skip(1).map(String::as_str).collect();
            event.request.extend([
                ("input", arguments.clone()),
                ("arguments", words),
                ("force", part.force.into()),
            ]);
        } else {
            event.request.push(("input", arguments.clone()));
        }
        if part.is_destructive {
            event.tags.push("destructive");
        }
        let holds = part.content.as_deref().map(secret::contains);
        event.contains_secret = holds.filter(|holds| *holds || part.deed == Deed::Create);
        event.written = part.content.filter(|_| part.deed == Deed::Create);
        let mut files = part.files.into_iter();
        if let Some(file) = files.next() {
            event.renamed_to = file.renamed_to;
            event.file = Some(file.path);
        }
        event.more_files = files.map(|file| file.path).collect();
        event
    }

    /// Returns whether it checks something.
    pub(super) fn checks(&self) -> bool {
        matches!(
            self.action_type,
            ActionType::Activity(ActivityType::RunTests | ActivityType::Lint | ActivityType::TypeCheck)
        )
    }

    /// Returns whether it changes something that rules are about.
    pub(super) fn acts(&self) -> bool {
        let acts = matches!(
            self.action_type,
            ActionType::Activity(
                ActivityType::GitCommit
                    | ActivityType::GitPush
                    | ActivityType::Deploy
                    | ActivityType::Release
                    | ActivityType::Change
            )
        );
        acts || self.edits() || self.tags.contains(&"destructive")
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

    /// Removes the secrets from the texts that were needed whole until the command was read.
    fn redact(&mut self, removed: &mut Redactions) {
        let mut clean = |text: &mut String| {
            if let Cow::Owned(clean) = secret::redact(text, removed) {
                *text = clean;
            }
        };
        let before = self.command.clone();
        let texts =
            [&mut self.file, &mut self.renamed_to, &mut self.command, &mut self.note, &mut self.description];
        texts.into_iter().flatten().for_each(&mut clean);
        self.more_files.iter_mut().for_each(&mut clean);
        if let Some(part) = &mut self.part {
            clean(&mut part.label);
            clean(&mut part.again);
        }
        if let Some(decision) = &mut self.decision {
            clean(&mut decision.question);
            decision.options.iter_mut().for_each(&mut clean);
        }
        for (_, value) in &mut self.request {
            *value = secret::redact_value(value, removed);
        }
        self.lost_secret = before != self.command;
    }

    /// Returns whether another row of the log is the same call again.
    fn is_repeated_by(&self, other: &Self) -> bool {
        let is_same = self.tool == other.tool
            && self.command == other.command
            && self.file == other.file
            && self.query == other.query
            && self.request == other.request
            && self.decision.is_none()
            && other.decision.is_none();
        let is_same_row = self.at.is_some() && self.at == other.at;
        is_same
            && match (&self.outcome, &other.outcome) {
                (_, None) => true,
                (Some(first), Some(second)) => first.text == second.text || is_same_row,
                (None, Some(_)) => is_same_row,
            }
    }

    /// Returns whether the log has no result of it: nobody knows whether it happened.
    pub(super) fn is_unanswered(&self) -> bool {
        self.outcome.is_none()
    }

    /// Returns whether the action had its effect, as far as the log shows.
    pub(super) fn happened(&self) -> bool {
        !self.is_uncertain
            && !self.is_unanswered()
            && !matches!(self.status, Some(Status::Failed | Status::Refused | Status::Cancelled))
    }
}

/// The end of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Ending {
    #[default]
    Completed,
    /// Somebody stopped it, or the log ends while a tool was running.
    Interrupted,
    /// It ended with an error.
    Aborted,
}

/// The text one agent wrote last, which explains the calls it makes with it.
#[derive(Default)]
struct Voice {
    text: Option<String>,
    is_thought: bool,
    /// The id of the message, if the log has one.
    message: Option<String>,
    /// Whether a result came after the text, so that it explains no further call.
    answered: bool,
}

/// A session under construction, filled by the adapters.
#[derive(Default)]
pub(super) struct Session {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) started_at: Option<String>,
    pub(super) working_directory: Option<String>,
    pub(super) events: Vec<Event>,
    pub(super) last_reasoning: Option<String>,
    pub(super) ending: Ending,
    /// Whether the log has a message of the main agent.
    pub(super) has_main_chain: bool,
    /// The tokens and the cost of all messages.
    pub(super) total: Usage,
    /// The sub-agents, by the ids of their rows.
    pub(super) chains: BTreeMap<String, String>,
    /// The descriptions of tasks given to sub-agents, by prompt.
    pub(super) prompts: BTreeMap<String, String>,
    /// The tasks of sub-agents, by agent.
    pub(super) delegated: BTreeMap<String, String>,
    /// The secrets that were removed.
    pub(super) redactions: Redactions,
    /// Whether the user has asked for something.
    begun: bool,
    voices: BTreeMap<Option<String>, Voice>,
    calls: BTreeMap<String, Vec<usize>>,
    /// The usage of each message, and the place of its first action.
    messages: BTreeMap<String, (Usage, Option<usize>)>,
    /// The places of the actions that run on, by the ids under which they do.
    background: BTreeMap<String, usize>,
    /// The results so far.
    results: usize,
    /// The ids of the rows that were read.
    rows: BTreeSet<String>,
    /// The place of the first action since tokens were last counted.
    uncounted: Option<usize>,
    /// The entries of a plan that is always written whole, with their numbers from 1.
    plan: BTreeMap<String, usize>,
}

impl Session {
    pub(super) fn set_once(slot: &mut Option<String>, text: Option<&str>) {
        if let (None, Some(text)) = (&slot, text.filter(|text| !text.is_empty())) {
            *slot = Some(text.to_owned());
        }
    }

    /// Adds what the user wrote; what the program added to it, or wrote in its place, is left out.
    pub(super) fn directive(&mut self, text: &str, at: Option<&str>) {
        let Some(text) = instruction::written_by_user(text) else { return };
        let is_first = !std::mem::replace(&mut self.begun, true);
        let text = if is_first {
            let whole: String = text.chars().take(WHOLE_TEXT_CHARS_MAX).collect();
            secret::redact(&whole, &mut self.redactions).into_owned()
        } else {
            shown(&text, &mut self.redactions)
        };
        self.events.push(Event::Directive { text, at: at.map(str::to_owned) });
        self.ending = Ending::Completed;
        self.voices.clear();
    }

    /// Begins a message of an agent. A text explains calls of its own message, and of the next one if no result and no
    /// user came between.
    pub(super) fn message(&mut self, agent: Option<&str>, message: Option<&str>) {
        let voice = self.voices.entry(agent.map(str::to_owned)).or_default();
        let is_same = message.is_some() && voice.message.as_deref() == message;
        if !is_same && voice.answered {
            *voice = Voice::default();
        }
        voice.message = message.map(str::to_owned);
        voice.answered = false;
    }

    /// Forgets what an agent wrote, which explains no further call.
    pub(super) fn forget(&mut self, agent: Option<&str>) {
        self.voices.remove(&agent.map(str::to_owned));
    }

    /// Adds a text that the agent wrote for the user.
    pub(super) fn reasoning(&mut self, agent: Option<&str>, text: &str) {
        self.heard(agent, text, false);
    }

    /// Adds a text that the agent wrote for itself.
    pub(super) fn thought(&mut self, agent: Option<&str>, text: &str) {
        self.heard(agent, text, true);
    }

    fn heard(&mut self, agent: Option<&str>, text: &str, is_thought: bool) {
        if text.trim().is_empty() {
            return;
        }
        let text = shown(text, &mut self.redactions);
        if agent.is_none() {
            self.last_reasoning = Some(text.clone());
        }
        let voice = self.voices.entry(agent.map(str::to_owned)).or_default();
        let keeps = is_thought && !voice.is_thought && voice.text.is_some() && !voice.answered;
        if !keeps {
            voice.text = Some(text);
            voice.is_thought = is_thought;
        }
        voice.answered = false;
    }

    /// Adds an action with the text that its agent wrote for it; `call` is how its result will name it.
    pub(super) fn action(&mut self, mut event: ActionEvent, call: Option<&str>) {
        let voice = self.voices.get(&event.agent).filter(|voice| !voice.answered);
        event.rationale = event.rationale.or_else(|| voice?.text.clone());
        let message = voice.and_then(|voice| voice.message.clone());
        event.description = event.description.map(|text| shown(&text, &mut self.redactions));
        event.query = event.query.map(|text| shown(&text, &mut self.redactions));
        if let Some(outcome) = &mut event.outcome {
            outcome.redact(&mut self.redactions);
        }
        // A path or a command that is blank names nothing.
        event.file = event.file.filter(|file| !file.trim().is_empty());
        event.command = event.command.filter(|command| !command.trim().is_empty());
        let place = self.events.len();
        if let Some(call) = call {
            self.calls.entry(call.to_owned()).or_default().push(place);
        }
        if let Some(message) = message {
            self.messages.entry(message).or_default().1.get_or_insert(place);
        }
        self.uncounted.get_or_insert(place);
        self.events.push(Event::Action(Box::new(event)));
    }

    /// Adds a result to its call, and to each action that the call became.
    pub(super) fn outcome(&mut self, call: &str, mut outcome: ToolOutcome) {
        outcome.redact(&mut self.redactions);
        self.results += 1;
        let answered = Answered { number: self.results, after: self.events.len() };
        let mut ended = Vec::new();
        for place in self.calls.get(call).into_iter().flatten() {
            if let Some(Event::Action(event)) = self.events.get_mut(*place)
                // A log may use an id again; the result is that of the call that has none yet.
                && event.outcome.is_none()
            {
                if let Some(voice) = self.voices.get_mut(&event.agent) {
                    voice.answered = true;
                }
                event.outcome = Some(outcome.clone());
                event.answered = Some(answered);
                if let Some(id) = outcome.background.clone().filter(|_| event.command.is_some()) {
                    self.background.insert(id, *place);
                }
                ended.extend(event.polls.clone().filter(|_| outcome.exit_code.is_some()));
            }
        }
        for id in ended {
            self.ended_in_background(&id, &outcome, answered);
        }
    }

    /// Adds the end of a command that ran on, which a later call asked for, to the action that began it.
    fn ended_in_background(&mut self, id: &str, outcome: &ToolOutcome, answered: Answered) {
        let place = self.background.remove(id);
        if let Some(Event::Action(begun)) = place.and_then(|place| self.events.get_mut(place)) {
            let failed = outcome.exit_code.is_some_and(|code| code != 0);
            let end = ToolOutcome { failed, runs_on: false, stopped: None, ..outcome.clone() };
            begun.outcome = Some(end);
            begun.answered = Some(answered);
        }
    }

    /// Returns whether a row with this id has not been read yet. A log of a resumed session repeats rows of the first one.
    pub(super) fn is_new_row(&mut self, id: Option<&str>) -> bool {
        id.is_none_or(|id| self.rows.insert(id.to_owned()))
    }

    /// Returns the places of actions that the log has twice: another of the same call does the same, and has the same result
    /// or the only one. An id may also be used again for another call.
    fn repeated(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let action = |place: &usize| match self.events.get(*place) {
            Some(Event::Action(action)) => Some(action),
            _ => None,
        };
        for places in self.calls.values().filter(|places| places.len() > 1) {
            for (index, place) in places.iter().enumerate() {
                let Some(event) = action(place) else { continue };
                let earlier =
                    places.iter().take(index).filter(|place| !found.contains(*place)).filter_map(action);
                if earlier.into_iter().any(|before| before.is_repeated_by(event)) {
                    found.insert(*place);
                }
            }
        }
        found
    }

    /// Notes what a message used. A log may repeat it on every row of the message; the largest counts.
    pub(super) fn used(&mut self, message: Option<&str>, usage: Usage) {
        match message {
            Some(message) => self.messages.entry(message.to_owned()).or_default().0.raise_to(&usage),
            None => self.used_since(usage),
        }
    }

    /// Notes what was used since the last such note; it is that of the first action since then.
    pub(super) fn used_since(&mut self, usage: Usage) {
        self.total.add(&usage);
        let place = self.uncounted.take();
        if let Some(Event::Action(event)) = place.and_then(|place| self.events.get_mut(place)) {
            event.usage.get_or_insert_default().add(&usage);
        }
    }

    /// Forgets which actions have not been counted.
    pub(super) fn begin_counting(&mut self) {
        self.uncounted = None;
    }

    /// Reads a plan that the agent always writes whole: new entries are created, the others moved. The first of the
    /// members `subject_keys` that an entry has is its subject.
    pub(super) fn whole_plan(&mut self, entries: &[Value], subject_keys: &[&str]) {
        for entry in entries {
            let subject = subject_keys.iter().find_map(|key| entry.get(key)).and_then(Value::as_str);
            let Some(subject) = subject else { continue };
            let subject = if subject.trim().is_empty() { "task" } else { subject }.to_owned();
            let status = entry.text("status").and_then(TaskStatus::from_word).unwrap_or(TaskStatus::Pending);
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

    /// Ends the session: marks it as interrupted when its last action has no result, and reads what its commands did.
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
        for (usage, place) in std::mem::take(&mut self.messages).into_values() {
            self.total.add(&usage);
            if let Some(Event::Action(event)) = place.and_then(|place| self.events.get_mut(place)) {
                event.usage.get_or_insert_default().add(&usage);
            }
        }
        let folder = self.working_directory.clone();
        // Each agent has a shell of its own.
        let mut names: BTreeMap<Option<String>, ShellNames> = BTreeMap::new();
        let mut leaks = Leaks::default();
        let mut placed: Vec<(usize, Event)> = Vec::new();
        let repeated = self.repeated();
        for (place, event) in std::mem::take(&mut self.events).into_iter().enumerate() {
            match event {
                Event::Action(_) if repeated.contains(&place) => {}
                Event::Action(action) => {
                    let names = names.entry(action.agent.clone()).or_default();
                    for mut action in expand::actions(*action, folder.as_deref(), names, &mut leaks) {
                        action.redact(&mut self.redactions);
                        placed.push((place, Event::Action(Box::new(action))));
                    }
                }
                Event::TaskCreated(subject) => {
                    placed.push((place, Event::TaskCreated(shown(&subject, &mut self.redactions))));
                }
                other => placed.push((place, other)),
            }
        }
        self.events = late::in_order_of_results(placed);
        for task in self.delegated.values_mut() {
            *task = shown(task, &mut self.redactions);
        }
        self
    }
}
