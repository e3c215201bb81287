//! A session of any agent, and the meaning of the commands in it.

use std::collections::BTreeMap;

use hence_canon::Value;

use crate::vocabulary::{ActionType, ActivityType};

use super::json::JsonExt;
use super::text::collapse_to;

/// The characters stored of a result or a rationale: a little more than a trace ever shows.
const TEXT_CHARS_MAX: usize = 600;
/// The characters stored of the first directive and of a command, which a trace shows whole.
pub(super) const WHOLE_TEXT_CHARS_MAX: usize = 64 * 1024;

/// An event of a session.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// The user asked for something.
    Directive(String),
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
    pub(super) command: Option<String>,
    pub(super) query: Option<String>,
    pub(super) decision: Option<Decision>,
    pub(super) outcome: Option<ToolOutcome>,
    /// The name of the sub-agent that acted.
    pub(super) agent: Option<String>,
    pub(super) at: Option<String>,
}

/// A question to the user.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) question: String,
    pub(super) options: Vec<String>,
}

/// The result of a tool.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolOutcome {
    pub(super) text: String,
    pub(super) failed: bool,
    pub(super) exit_code: Option<i64>,
}

impl ToolOutcome {
    /// Reads the text of a result: the part a trace can show, and the exit code in it.
    pub(super) fn of_text(text: &str) -> Self {
        Self { text: collapse_to(text, TEXT_CHARS_MAX), failed: false, exit_code: exit_code(text) }
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

    /// Makes an action that ran a command, of the type the command implies.
    pub(super) fn of_command(tool: &str, command: &str, reading: Reading) -> Self {
        let mut event = Self::new(type_of(command, reading), tool);
        event.command = Some(command.chars().take(WHOLE_TEXT_CHARS_MAX + 1).collect());
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
    /// Whether the user has asked for something.
    begun: bool,
    calls: BTreeMap<String, usize>,
    /// The entries of a plan that is always written whole, with their numbers from 1.
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
                text.chars().take(WHOLE_TEXT_CHARS_MAX).collect()
            } else {
                collapse_to(text, TEXT_CHARS_MAX)
            };
            self.events.push(Event::Directive(text));
            self.ending = Ending::Completed;
        }
    }

    pub(super) fn reasoning(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.last_reasoning = Some(collapse_to(text, TEXT_CHARS_MAX));
        }
    }

    /// Adds an action with the reasoning before it; `call` is how its result will name it.
    pub(super) fn action(&mut self, mut event: ActionEvent, call: Option<&str>) {
        event.rationale = event.rationale.or_else(|| self.last_reasoning.clone());
        event.description = event.description.map(|text| collapse_to(&text, TEXT_CHARS_MAX));
        event.query = event.query.map(|text| collapse_to(&text, TEXT_CHARS_MAX));
        // A path or a command that is blank names nothing.
        event.file = event.file.filter(|file| !file.trim().is_empty());
        event.command = event.command.filter(|command| !command.trim().is_empty());
        if let Some(call) = call {
            self.calls.insert(call.to_owned(), self.events.len());
        }
        self.events.push(Event::Action(Box::new(event)));
    }

    /// Adds a result to its call.
    pub(super) fn outcome(&mut self, call: &str, outcome: ToolOutcome) {
        let place = self.calls.get(call).copied();
        if let Some(Event::Action(event)) = place.and_then(|place| self.events.get_mut(place)) {
            event.outcome = Some(outcome);
        }
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

    /// Marks the session as interrupted when its last action has no result.
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

/// Parts of a command line that run tests, for the logs of all agents.
const TESTS: &[&str] = &["pytest", "npm test", "go test", "cargo test", "unittest"];
/// More such parts, for the logs of agents whose commands are read more closely.
#[rustfmt::skip]
const MORE_TESTS: &[&str] = &[
    "vitest", "jest", "npm run test", "yarn test", "pnpm test", "cargo nextest", "mvn test", "gradle test",
    "gradlew test", "dotnet test", "make test", "make check", "ctest", "rspec", "phpunit", "tox",
];

/// The test runners that are recognised in a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    /// Those common to all agents.
    Plain,
    /// Those, and `vitest`.
    WithVitest,
    /// All known ones.
    Close,
}

/// Returns the type of action of a command line.
fn type_of(command: &str, reading: Reading) -> ActivityType {
    let has = |words: &[&str]| words.iter().any(|word| command.contains(word));
    if command.contains("git commit") {
        ActivityType::GitCommit
    } else if command.contains("git diff") {
        ActivityType::GitDiff
    } else if command.contains("git status") {
        ActivityType::GitStatus
    } else if has(TESTS)
        || (reading == Reading::WithVitest && command.contains("vitest"))
        || (reading == Reading::Close && has(MORE_TESTS))
    {
        ActivityType::RunTests
    } else {
        ActivityType::RunCommand
    }
}

/// Returns the exit code that some tools write at the beginning of their output.
fn exit_code(output: &str) -> Option<i64> {
    let begins = |line: &&str, words: &str| {
        line.as_bytes().get(..words.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(words.as_bytes()))
    };
    let line =
        output.lines().find(|line| begins(line, "exit code") || begins(line, "process exited with code"))?;
    line.split(|letter: char| !letter.is_ascii_digit() && letter != '-').find_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_imply_their_type() {
        for (command, kind) in [
            ("git commit -m x", ActivityType::GitCommit),
            ("git diff | head", ActivityType::GitDiff),
            ("git status", ActivityType::GitStatus),
            ("python -m unittest", ActivityType::RunTests),
            ("make all", ActivityType::RunCommand),
        ] {
            assert_eq!(type_of(command, Reading::Plain), kind, "{command}");
        }
        let vitest = |reading| type_of("npx vitest run", reading);
        assert_eq!(vitest(Reading::Plain), ActivityType::RunCommand);
        assert_eq!(vitest(Reading::WithVitest), ActivityType::RunTests);
        assert_eq!(vitest(Reading::Close), ActivityType::RunTests);
    }

    #[test]
    fn exit_codes_are_found() {
        assert_eq!(exit_code("Exit code: 3\nboom"), Some(3));
        assert_eq!(exit_code("x\nPROCESS exited with code 0\n"), Some(0));
        assert_eq!(exit_code("done"), None);
    }
}
