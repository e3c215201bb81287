//! Units of intent: consecutive actions of the same task, or of the same turn.

use crate::vocabulary::{ActivityType, MetaSource};

use super::session::{Event, TaskStatus};
use super::text::shorten;

/// A unit and the places of its actions among the actions.
pub(super) struct Unit {
    pub(super) title: String,
    pub(super) intent: String,
    pub(super) source: MetaSource,
    /// For a declared task: whether it was completed.
    pub(super) completed: Option<bool>,
    pub(super) actions: Vec<usize>,
    /// The unit that handed it to a sub-agent, by its place.
    pub(super) parent: Option<usize>,
}

/// Longest title and intent, in characters.
const TITLE_CHARS_MAX: usize = 80;
const INTENT_CHARS_MAX: usize = 200;
/// A directive shorter than this does not say what it is about.
const DIRECTIVE_CHARS_MIN: usize = 12;
/// Directives that only say to go on.
const ACKNOWLEDGEMENTS: &[&str] = &[
    "ok",
    "okay",
    "yes",
    "y",
    "continue",
    "go on",
    "go ahead",
    "proceed",
    "thanks",
    "thank you",
    "looks good",
    "sounds good",
    "please continue",
    "yes please",
];

#[derive(Clone, PartialEq, Eq)]
enum Key {
    Task(usize),
    Turn(usize),
    /// What a sub-agent was asked, or else its name.
    Agent(String),
}

/// Groups the actions of a session; `rationale_of` gives the rationale of an action by its place.
pub(super) fn units(events: &[Event], rationale_of: impl Fn(usize) -> String) -> Vec<Unit> {
    let mut tasks: Vec<(String, bool)> = Vec::new();
    let mut turns: Vec<&str> = Vec::new();
    let mut active: Option<usize> = None;
    let mut groups: Vec<(Key, Vec<usize>)> = Vec::new();
    let mut asked: Option<String> = None;
    let mut place = 0;
    for event in events {
        match event {
            Event::Directive(text) => turns.push(text),
            Event::TaskCreated(subject) => tasks.push((subject.clone(), false)),
            Event::TaskMoved { task, status } => {
                let index = task.checked_sub(1).filter(|index| *index < tasks.len());
                match status {
                    TaskStatus::InProgress => active = index,
                    TaskStatus::Completed | TaskStatus::Cancelled if active == index => active = None,
                    _ => {}
                }
                if let (TaskStatus::Completed, Some((_, done))) =
                    (status, index.and_then(|index| tasks.get_mut(index)))
                {
                    *done = true;
                }
            }
            Event::Action(action) => {
                let key = match &action.agent {
                    Some(agent) => Key::Agent(asked.clone().unwrap_or_else(|| agent.clone())),
                    None => active.map_or(Key::Turn(turns.len()), Key::Task),
                };
                if action.agent.is_none() && action.action_type == ActivityType::DecomposeTask.into() {
                    asked = action.description.clone().filter(|text| !text.trim().is_empty());
                }
                match groups.last_mut() {
                    Some((last, members)) if *last == key => members.push(place),
                    _ => groups.push((key, vec![place])),
                }
                place += 1;
            }
        }
    }
    // A sub-agent works for the unit before it that is not another sub-agent's.
    let mut parents = Vec::with_capacity(groups.len());
    let mut last = None;
    for (index, (key, _)) in groups.iter().enumerate() {
        let is_agent = matches!(key, Key::Agent(_));
        parents.push(last.filter(|_| is_agent));
        last = if is_agent { last } else { Some(index) };
    }
    let unit = |((key, actions), parent): ((Key, Vec<usize>), Option<usize>)| match key {
        Key::Agent(asked) => Unit {
            title: shorten(&asked, TITLE_CHARS_MAX),
            intent: shorten(&asked, INTENT_CHARS_MAX),
            source: MetaSource::PlanDeclared,
            completed: None,
            actions,
            parent,
        },
        Key::Task(index) => {
            let (subject, completed) = tasks.get(index).cloned().unwrap_or_default();
            let title = shorten(&subject, TITLE_CHARS_MAX);
            Unit {
                intent: title.clone(),
                title,
                source: MetaSource::PlanDeclared,
                completed: Some(completed),
                actions,
                parent,
            }
        }
        Key::Turn(count) => {
            let directive = count.checked_sub(1).and_then(|index| turns.get(index)).copied().unwrap_or("");
            let first = actions.first().map(|place| rationale_of(*place)).unwrap_or_default();
            let title = if says_something(directive) { directive } else { &first };
            Unit {
                title: shorten(title, TITLE_CHARS_MAX),
                intent: shorten(directive, INTENT_CHARS_MAX),
                source: MetaSource::TurnSegmented,
                completed: None,
                actions,
                parent,
            }
        }
    };
    groups.into_iter().zip(parents).map(unit).collect()
}

fn says_something(directive: &str) -> bool {
    let plain = directive.trim().trim_end_matches(['.', '!', ',']).to_lowercase();
    directive.trim().chars().count() >= DIRECTIVE_CHARS_MIN && !ACKNOWLEDGEMENTS.contains(&plain.as_str())
}
