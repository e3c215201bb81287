//! Units of intent: consecutive actions of the same task, or of the same turn.

use std::collections::BTreeMap;

use crate::vocabulary::{ActivityType, MetaSource};

use super::session::{ActionEvent, Event, TaskStatus};
use super::text::shorten;

/// A unit of intent, with the indexes of its actions.
pub(super) struct Unit {
    pub(super) title: String,
    pub(super) intent: String,
    pub(super) source: MetaSource,
    /// For a declared task: whether it was completed.
    pub(super) completed: Option<bool>,
    pub(super) actions: Vec<usize>,
    /// The index of the unit that delegated it to a sub-agent.
    pub(super) parent: Option<usize>,
}

/// Longest title and intent, in characters.
const TITLE_CHARS_MAX: usize = 80;
const INTENT_CHARS_MAX: usize = 200;
/// A shorter directive does not describe an intent.
const DIRECTIVE_CHARS_MIN: usize = 12;
/// Directives that only mean "continue".
#[rustfmt::skip]
const ACKNOWLEDGEMENTS: &[&str] = &[
    "ok", "okay", "yes", "y", "continue", "go on", "go ahead", "proceed", "thanks", "thank you", "looks good",
    "sounds good", "please continue", "yes please",
];

#[derive(Clone, PartialEq, Eq)]
enum Key {
    Task(usize),
    Turn(usize),
    /// A sub-agent and its task, or else its name.
    Agent {
        agent: String,
        task: String,
    },
}

/// The groups of consecutive actions of a session, and the tasks and turns they belong to.
struct Grouped<'a> {
    /// The tasks of sub-agents, by agent.
    delegated: &'a BTreeMap<String, String>,
    /// Each task the agent noted, and whether it was completed.
    tasks: Vec<(String, bool)>,
    turns: Vec<&'a str>,
    /// The task in progress. An instruction of the user ends it, unless the agent takes it up again.
    active: Option<usize>,
    /// The task of the last sub-agent.
    asked: Option<String>,
    groups: Vec<(Key, Vec<usize>)>,
    /// The number of actions so far.
    actions: usize,
}

impl<'a> Grouped<'a> {
    fn of(events: &'a [Event], delegated: &'a BTreeMap<String, String>) -> Self {
        let mut grouped = Self {
            delegated,
            tasks: Vec::new(),
            turns: Vec::new(),
            active: None,
            asked: None,
            groups: Vec::new(),
            actions: 0,
        };
        for event in events {
            match event {
                Event::Directive { text, .. } => {
                    grouped.turns.push(text);
                    if describes_intent(text) {
                        grouped.active = None;
                    }
                }
                Event::TaskCreated(subject) => grouped.tasks.push((subject.clone(), false)),
                Event::TaskMoved { task, status } => grouped.moved(*task, *status),
                Event::Action(action) => grouped.acted(action),
            }
        }
        grouped
    }

    fn moved(&mut self, task: usize, status: TaskStatus) {
        let index = task.checked_sub(1).filter(|index| *index < self.tasks.len());
        match status {
            TaskStatus::InProgress => self.active = index,
            TaskStatus::Completed | TaskStatus::Cancelled if self.active == index => self.active = None,
            _ => {}
        }
        let task = index.and_then(|index| self.tasks.get_mut(index));
        if let (TaskStatus::Completed, Some((_, done))) = (status, task) {
            *done = true;
        }
    }

    fn acted(&mut self, action: &ActionEvent) {
        let key = match &action.agent {
            Some(agent) => {
                let task = self.delegated.get(agent).or(self.asked.as_ref()).unwrap_or(agent);
                Key::Agent { agent: agent.clone(), task: task.clone() }
            }
            None => self.active.map_or(Key::Turn(self.turns.len()), Key::Task),
        };
        if action.agent.is_none() && action.action_type == ActivityType::DecomposeTask.into() {
            self.asked = action.description.clone().filter(|text| !text.trim().is_empty());
        }
        match self.groups.last_mut() {
            Some((last, members)) if *last == key => members.push(self.actions),
            _ => self.groups.push((key, vec![self.actions])),
        }
        self.actions += 1;
    }

    /// Returns the unit a sub-agent works for: the last one before it that is not a sub-agent's.
    fn parents(&self) -> Vec<Option<usize>> {
        let mut last = None;
        let parent = |(index, (key, _)): (usize, &(Key, Vec<usize>))| match key {
            Key::Agent { .. } => last,
            Key::Task(_) | Key::Turn(_) => {
                last = Some(index);
                None
            }
        };
        self.groups.iter().enumerate().map(parent).collect()
    }
}

/// Groups the actions of a session; `words_of` returns the rationale of an action by its index, or else its label.
pub(super) fn units(
    events: &[Event],
    delegated: &BTreeMap<String, String>,
    words_of: impl Fn(usize) -> String,
) -> Vec<Unit> {
    let mut grouped = Grouped::of(events, delegated);
    let parents = grouped.parents();
    let groups = std::mem::take(&mut grouped.groups);
    let unit = |((key, actions), parent): ((Key, Vec<usize>), Option<usize>)| {
        let (title, intent, source, completed) = match key {
            Key::Agent { task, .. } => (task.clone(), task, MetaSource::PlanDeclared, None),
            Key::Task(index) => {
                let (subject, completed) = grouped.tasks.get(index).cloned().unwrap_or_default();
                let title = shorten(&subject, TITLE_CHARS_MAX);
                (title.clone(), title, MetaSource::PlanDeclared, Some(completed))
            }
            Key::Turn(count) => {
                let turn = count.checked_sub(1).and_then(|index| grouped.turns.get(index));
                let directive = turn.copied().unwrap_or("");
                let first = actions.first().map(|place| words_of(*place)).unwrap_or_default();
                let title = if describes_intent(directive) { directive.to_owned() } else { first };
                (title, directive.to_owned(), MetaSource::TurnSegmented, None)
            }
        };
        Unit {
            title: shorten(&title, TITLE_CHARS_MAX),
            intent: shorten(&intent, INTENT_CHARS_MAX),
            source,
            completed,
            actions,
            parent,
        }
    };
    groups.into_iter().zip(parents).map(unit).collect()
}

fn describes_intent(directive: &str) -> bool {
    let plain = directive.trim().trim_end_matches(['.', '!', ',']).to_lowercase();
    directive.trim().chars().count() >= DIRECTIVE_CHARS_MIN && !ACKNOWLEDGEMENTS.contains(&plain.as_str())
}
