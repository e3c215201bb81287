//! A trace made ready for evaluation.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hence_canon::Value;
use hence_review::lineage::Lineage;
use hence_review::vocabulary::ActionType;
use hence_review::wire::Trace;

use super::defect::TraceDefect;
use super::texts::Texts;

/// A trace that policies can be evaluated on: its parts found, its lineage built, its ids unique.
#[derive(Debug)]
pub struct Subject {
    trace: Trace,
    lineage: Lineage,
    action_ids: Vec<Option<i64>>,
    action_types: Vec<Option<ActionType>>,
    /// Positions by the type as written.
    by_type: BTreeMap<String, Vec<usize>>,
    texts: OnceLock<Texts>,
}

impl Subject {
    /// Reads a trace.
    ///
    /// # Errors
    /// [`TraceDefect`] when an id or an item is such that a verdict would depend on how it is read.
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

    /// Returns the highest action id: where the trace stood when it was checked.
    pub(crate) fn highest_action_id(&self) -> Option<i64> {
        self.action_ids.iter().copied().flatten().max()
    }

    /// Returns the actions whose type is written `word`.
    pub(crate) fn of_type(&self, word: &str) -> &[usize] {
        self.by_type.get(word).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn action_type(&self, at: usize) -> Option<ActionType> {
        self.action_types.get(at).copied().flatten()
    }

    /// Returns the searchable texts, which only custom words need.
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
