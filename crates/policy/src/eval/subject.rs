//! A trace prepared for evaluation.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hence_canon::Value;
use hence_review::lineage::Lineage;
use hence_review::vocabulary::ActionType;
use hence_review::wire::{Action, Trace};
use memchr::memmem;

use super::truth::Bits;

/// A trace that policies can be evaluated on: indexed, with its lineage, its ids checked to be unique.
#[derive(Debug)]
pub struct Subject {
    trace: Trace,
    lineage: Lineage,
    action_ids: Vec<Option<i64>>,
    action_types: Vec<Option<ActionType>>,
    /// Positions by type, as written.
    by_type: BTreeMap<String, Vec<usize>>,
    texts: OnceLock<Texts>,
}

impl Subject {
    /// Reads a trace.
    ///
    /// # Errors
    /// [`TraceDefect`] when an item is malformed or an id occurs twice, which would make verdicts ambiguous.
    pub fn read(value: &Value) -> Result<Self, TraceDefect> {
        let object = value.as_object().ok_or(TraceDefect::NotAnObject { found: value.kind() })?;
        for (list, id) in [("actions", "id"), ("artifacts", "artifact_id"), ("residuals", "residual_id")] {
            check_list(list, id, object.get(list).unwrap_or(&Value::Null))?;
        }
        let trace = Trace::read(value);
        let lineage = Lineage::of(&trace);
        let mut by_type: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, action) in trace.actions().iter().enumerate() {
            match by_type.get_mut(action.type_word()) {
                Some(places) => places.push(at),
                None => drop(by_type.insert(action.type_word().to_owned(), vec![at])),
            }
        }
        let mut action_types = vec![None; trace.actions().len()];
        for (word, places) in &by_type {
            let known = ActionType::from_word(word);
            for place in places {
                if let Some(slot) = action_types.get_mut(*place) {
                    *slot = known;
                }
            }
        }
        let action_ids = trace.actions().iter().map(|action| action.id()).collect();
        Ok(Self { trace, lineage, action_ids, action_types, by_type, texts: OnceLock::new() })
    }

    /// Returns the trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns the artifact graph.
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// Returns the number of actions.
    pub fn len(&self) -> usize {
        self.trace.actions().len()
    }

    /// Returns whether there are no actions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn action_id(&self, at: usize) -> Option<i64> {
        self.action_ids.get(at).copied().flatten()
    }

    /// Returns the number of calls an action stands for: a step that calls in a loop is one action with `execution.calls`.
    pub(crate) fn calls(&self, at: usize) -> u64 {
        let action = self.trace.actions().get(at).map(|action| action.source());
        let calls = action.and_then(|action| action.get("execution")?.get("calls")?.as_u64());
        calls.unwrap_or(1).max(1)
    }

    /// Returns the number of calls that the actions at some positions stand for.
    pub(crate) fn calls_at(&self, positions: &Bits) -> u64 {
        positions.ones().fold(0, |sum: u64, at| sum.saturating_add(self.calls(at)))
    }

    /// Returns the highest action id.
    pub(crate) fn highest_action_id(&self) -> Option<i64> {
        self.action_ids.iter().copied().flatten().max()
    }

    /// Returns the positions of the actions whose type is written `word`.
    pub(crate) fn of_type(&self, word: &str) -> &[usize] {
        self.by_type.get(word).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn action_type(&self, at: usize) -> Option<ActionType> {
        self.action_types.get(at).copied().flatten()
    }

    /// Returns the searchable texts, built on first use: only custom words need them.
    pub(crate) fn texts(&self) -> &Texts {
        self.texts.get_or_init(|| Texts::of(self.trace.actions()))
    }
}

fn check_list(list: &'static str, id: &str, value: &Value) -> Result<(), TraceDefect> {
    let items = match value {
        Value::Null => return Ok(()),
        Value::Array(items) => items,
        other => return Err(TraceDefect::NotAList { list, found: other.kind() }),
    };
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let Some(object) = item.as_object() else {
            return Err(TraceDefect::ItemNotAnObject { list, index, found: item.kind() });
        };
        let Some(id) = object.get(id).filter(|id| !id.is_null()) else { continue };
        if let Some(first) = seen.insert(id.to_string(), index) {
            return Err(TraceDefect::DuplicateId { list, id: id.to_string(), first, second: index });
        }
    }
    Ok(())
}

/// A defect of a trace that would make verdicts ambiguous.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceDefect {
    /// The document is not an object.
    #[error("a trace is an object, found {found}")]
    NotAnObject {
        /// The kind of value found.
        found: hence_canon::Kind,
    },
    /// A list that is something else.
    #[error("`/{list}` must be a list, found {found}")]
    NotAList {
        /// The key of the list.
        list: &'static str,
        /// The kind of value found.
        found: hence_canon::Kind,
    },
    /// An item that is not an object.
    #[error("`/{list}/{index}` must be an object, found {found}")]
    ItemNotAnObject {
        /// The key of the list.
        list: &'static str,
        /// The place in the list.
        index: usize,
        /// The kind of value found.
        found: hence_canon::Kind,
    },
    /// Two items with the same id.
    #[error("id {id} occurs twice: `/{list}/{first}` and `/{list}/{second}`")]
    DuplicateId {
        /// The key of the list.
        list: &'static str,
        /// The id, as written.
        id: String,
        /// The index of its first occurrence.
        first: usize,
        /// The index of its second occurrence.
        second: usize,
    },
}

/// The members of an action in which a custom word is searched, in this order.
const SEARCHED: [&str; 5] = ["type", "label", "detail", "rationale", "result_summary"];

/// The lower-cased texts of all actions in one string, so that one scan finds a custom word.
#[derive(Debug)]
pub(crate) struct Texts {
    all: String,
    /// The end of each action's text.
    ends: Vec<usize>,
}

impl Texts {
    pub(crate) fn of(actions: &[Action]) -> Self {
        let mut texts = Self { all: String::new(), ends: Vec::with_capacity(actions.len()) };
        for action in actions {
            texts.push(action);
        }
        texts
    }

    fn push(&mut self, action: &Action) {
        self.all.push_str(&searched_text(action));
        // A word never holds a line end, so no match spans two actions.
        self.all.push('\n');
        self.ends.push(self.all.len());
    }

    /// Returns the actions whose text has `word` in it, where `_` reads as a space.
    pub(crate) fn containing(&self, word: &str) -> Bits {
        let mut bits = Bits::filled(self.ends.len(), false);
        let mut action = 0;
        let needle = needle(word);
        for found in memmem::find_iter(self.all.as_bytes(), &needle) {
            while self.ends.get(action).is_some_and(|end| *end <= found) {
                action += 1;
            }
            bits.set(action);
        }
        bits
    }
}

/// Returns the text a custom word searches for.
pub(crate) fn needle(word: &str) -> String {
    word.replace('_', " ").to_lowercase()
}

/// Returns the text of one action in which custom words are searched.
pub(crate) fn searched_text(action: &Action) -> String {
    let texts: Vec<&str> = SEARCHED.iter().map(|key| action.text(key).unwrap_or("")).collect();
    texts.join(" ").to_lowercase()
}
