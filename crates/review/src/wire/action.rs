//! Actions and the units of intent over them.

use std::sync::Arc;

use hence_canon::Value;

use crate::vocabulary::{ActionCategory, ActionType, EvidenceType};

use super::entry::{Entry, entry};
use super::trace::Position;

/// An action as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    entry: Entry,
    position: Position,
}

impl Action {
    pub(crate) fn new(entry: Entry, position: Position) -> Self {
        Self { entry, position }
    }

    /// Returns the place among the actions of the trace: list order is the order of events.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Returns the id.
    pub fn id(&self) -> Option<i64> {
        self.int("id")
    }

    /// Returns the type as written.
    pub fn type_word(&self) -> &str {
        self.text("type").unwrap_or("")
    }

    /// Returns the type, if the vocabulary knows it.
    pub fn action_type(&self) -> Option<ActionType> {
        ActionType::from_word(self.type_word())
    }

    /// Returns the category as written, or the one its type implies by the specification.
    pub fn category(&self) -> Option<ActionCategory> {
        match self.text("category") {
            Some(word) => ActionCategory::from_word(word),
            None => ActionType::from_specified_word(self.type_word()).map(ActionType::category),
        }
    }

    /// Returns the label.
    pub fn label(&self) -> &str {
        self.text("label").unwrap_or("")
    }

    /// Returns why the action was taken.
    pub fn rationale(&self) -> &str {
        self.text("rationale").unwrap_or("")
    }

    /// Returns the ids (in 1.0: names) of what the action consumed.
    pub fn inputs(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.texts("inputs")
    }

    /// Returns the ids (in 1.0: names) of what the action produced.
    pub fn outputs(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.texts("outputs")
    }

    /// Returns the evidence.
    pub fn evidence(&self) -> impl Iterator<Item = Evidence> {
        self.entries("evidence").map(Evidence)
    }

    /// Returns what came of the action, in one line.
    pub fn result_summary(&self) -> Option<&str> {
        self.text("result_summary")
    }

    /// Returns the paths of the files this action names as evidence.
    pub fn file_refs(&self) -> impl Iterator<Item = &str> {
        self.file_paths().map(|path| &**path)
    }

    /// Returns the same paths, shared with the trace.
    pub(crate) fn file_paths(&self) -> impl Iterator<Item = &Arc<str>> {
        self.items("evidence").iter().filter_map(|item| {
            let is_file = item.get("type")?.as_str()? == EvidenceType::FileRef.as_str();
            match item.get("ref") {
                Some(Value::String(path)) if is_file => Some(path),
                _ => None,
            }
        })
    }
}

impl std::ops::Deref for Action {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

entry! {
    /// A piece of evidence as written.
    Evidence
}

impl Evidence {
    /// Returns the type, if the vocabulary knows it.
    pub fn evidence_type(&self) -> Option<EvidenceType> {
        self.text("type").and_then(EvidenceType::from_word)
    }

    /// Returns what it points at.
    pub fn reference(&self) -> Option<&str> {
        self.text("ref")
    }

    /// Returns the exit code of a command.
    pub fn exit_code(&self) -> Option<i64> {
        self.int("exit_code")
    }
}

entry! {
    /// A meta-action as written: a claim that some actions served one intent.
    MetaAction
}

impl MetaAction {
    /// Returns the id.
    pub fn id(&self) -> Option<&str> {
        self.text("id")
    }

    /// Returns the unit of intent in plain language.
    pub fn title(&self) -> &str {
        self.text("title").unwrap_or("")
    }

    /// Returns the ids of the member actions.
    pub fn action_ids(&self) -> impl DoubleEndedIterator<Item = i64> + Clone {
        self.ints("action_ids")
    }

    /// Returns the enclosing unit.
    pub fn parent_id(&self) -> Option<&str> {
        self.text("parent_id")
    }
}
