//! What a verdict points at.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::Value;

use crate::eval::{Datum, Subject};

/// Parts of a trace a verdict points at, each list in the order of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witnesses {
    /// Ids of actions.
    pub action_ids: Vec<i64>,
    /// Ids of artifacts: what those actions produced, and artifacts the policy itself speaks of.
    pub artifact_ids: Vec<Arc<str>>,
    /// Ids of residuals.
    pub residual_ids: Vec<Arc<str>>,
    /// Other elements, by id or place.
    pub elements: Vec<Arc<str>>,
}

impl Witnesses {
    /// Names the actions at some positions, and what they produced.
    pub(crate) fn at(subject: &Subject, positions: impl IntoIterator<Item = usize>) -> Self {
        let mut witnesses = Self::default();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for position in positions {
            let Some(action) = subject.trace().actions().get(position) else { continue };
            witnesses.action_ids.extend(subject.action_id(position));
            // The ids are shared with the trace: a rule that fails everywhere names very many.
            for output in action.items("outputs") {
                if let Value::String(id) = output
                    && seen.insert(id)
                {
                    witnesses.artifact_ids.push(id.clone());
                }
            }
        }
        witnesses
    }

    /// Adds an element a quantifier ranged over.
    pub(crate) fn add(&mut self, subject: &Subject, datum: &Datum<'_>) {
        match datum {
            Datum::Artifact(id) => push_new(&mut self.artifact_ids, id),
            Datum::Action(at) => {
                self.action_ids.extend(subject.action_id(*at));
            }
            Datum::Element(element) if &*element.list == "residuals" => {
                push_new(&mut self.residual_ids, &element.name());
            }
            Datum::Element(element) => push_new(&mut self.elements, &element.name()),
            other => {
                if let Some(text) = other.as_text() {
                    push_new(&mut self.elements, text);
                }
            }
        }
    }
}

/// Adds an id once. The lists are short: offending elements, not all elements.
fn push_new(list: &mut Vec<Arc<str>>, id: &str) {
    if !list.iter().any(|known| &**known == id) {
        list.push(id.into());
    }
}
