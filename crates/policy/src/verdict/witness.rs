//! What a verdict points at.

use std::collections::BTreeSet;

use crate::eval::{Datum, Subject};

/// Parts of a trace a verdict points at, each list in the order of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witnesses {
    /// Ids of actions.
    pub action_ids: Vec<i64>,
    /// Ids of artifacts: what those actions produced, and artifacts the policy itself speaks of.
    pub artifact_ids: Vec<String>,
    /// Ids of residuals.
    pub residual_ids: Vec<String>,
    /// Other elements, by id or place.
    pub elements: Vec<String>,
}

impl Witnesses {
    /// Names the actions at some positions, and what they produced.
    pub(crate) fn at(subject: &Subject, positions: impl IntoIterator<Item = usize>) -> Self {
        let mut witnesses = Self::default();
        let mut seen = BTreeSet::new();
        for position in positions {
            let Some(action) = subject.trace().actions().get(position) else { continue };
            witnesses.action_ids.extend(action.id());
            for output in action.outputs().filter(|output| seen.insert(*output)) {
                witnesses.artifact_ids.push(output.to_owned());
            }
        }
        witnesses
    }

    /// Adds an element a quantifier ranged over.
    pub(crate) fn add(&mut self, subject: &Subject, datum: &Datum<'_>) {
        match datum {
            Datum::Artifact(id) => push_new(&mut self.artifact_ids, (*id).to_owned()),
            Datum::Action(at) => {
                let id = subject.trace().actions().get(*at).and_then(|action| action.id());
                self.action_ids.extend(id);
            }
            Datum::Element(element) if &*element.list == "residuals" => {
                push_new(&mut self.residual_ids, element.name());
            }
            Datum::Element(element) => push_new(&mut self.elements, element.name()),
            other => {
                if let Some(text) = other.as_text() {
                    push_new(&mut self.elements, text.to_owned());
                }
            }
        }
    }
}

/// Adds an id once. The lists are short: offending elements, not all elements.
fn push_new(list: &mut Vec<String>, id: String) {
    if !list.contains(&id) {
        list.push(id);
    }
}
