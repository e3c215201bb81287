//! Rules of data flow: producers, consumers, and their order.

use std::cell::OnceCell;

use crate::lineage::{Flow, Node, node_of_artifact};
use crate::wire::{Action, Position, Trace};

use super::action::Subject;
use super::artifact;
use super::check::{Check, Place, shown};
use super::rule::Rule;

/// The actions that output an id.
#[derive(Clone, Copy)]
struct Made {
    first: Position,
    last: Position,
    count: usize,
}

impl Check<'_> {
    pub(super) fn flow(&mut self) {
        let makers = self.makers();
        let names_only = self.version.exchanges_names(self.trace);
        for action in self.trace.actions() {
            if names_only {
                self.names(action, &makers);
            } else if !self.is_exchange_sound(action) {
                self.inputs(action);
                self.outputs(action);
            }
        }
        let mut shared: Vec<(&str, Made)> = (0..)
            .zip(&makers)
            .filter_map(|(place, made)| Some((place, made.filter(|made| made.count > 1)?)))
            .map(|(place, made)| (self.flow.graph.id(Node::at(place)), made))
            .collect();
        shared.sort_unstable_by_key(|(id, _)| *id);
        for (id, made) in shared {
            let Some(action) = self.trace.action(made.last) else { continue };
            let message = format!("{} actions output this artifact", made.count);
            self.find(Rule::FlowProducerUnique, Place::of("actions", action).child("outputs"), id, message);
        }
        self.producers(&makers);
    }

    /// Finds the actions that output each id, each action once.
    fn makers(&self) -> Vec<Option<Made>> {
        let mut makers: Vec<Option<Made>> = vec![None; self.flow.graph.len()];
        for position in self.trace.actions().iter().map(Action::position) {
            for node in self.flow.outputs(position) {
                let Some(slot) = makers.get_mut(node.place()) else { continue };
                let made = slot.get_or_insert(Made { first: position, last: position, count: 1 });
                if made.last != position {
                    made.last = position;
                    made.count += 1;
                }
            }
        }
        makers
    }

    /// Returns whether all inputs and outputs are artifacts, and all inputs were produced before. Most actions pass,
    /// and this test looks up no id.
    fn is_exchange_sound(&self, action: &Action) -> bool {
        let position = action.position();
        let (inputs, outputs) = (self.flow.inputs(position), self.flow.outputs(position));
        let was_made = |node: &Node| self.flow.producer(*node).is_some_and(|made| made < position);
        inputs.iter().all(|node| self.flow.graph.is_artifact(*node) && was_made(node))
            && outputs.iter().all(|node| self.flow.graph.is_artifact(*node))
    }

    /// Checks an action that exchanges names.
    fn names(&mut self, action: &Action, makers: &[Option<Made>]) {
        for (index, input) in action.items("inputs").iter().enumerate() {
            let Some(name) = input.as_str() else { continue };
            let at = || Place::of("actions", action).child("inputs").child(index);
            let subject = || format!("{}:{name}", Subject(action));
            let node = self.flow.graph.find(name);
            let made = node.and_then(|node| makers.get(node.place()).copied().flatten());
            match made.map(|made| made.first) {
                None => self.find(Rule::FlowUnproduced, at(), subject(), "no action outputs this name"),
                Some(made) if made >= action.position() => {
                    let message = "this name is used before an action outputs it";
                    self.find(Rule::FlowOrder, at(), subject(), message);
                }
                Some(_) => {}
            }
        }
    }

    fn inputs(&mut self, action: &Action) {
        for (index, input) in action.items("inputs").iter().enumerate() {
            let Some(id) = input.as_str() else { continue };
            let at = || Place::of("actions", action).child("inputs").child(index);
            let subject = || format!("{}:{id}", Subject(action));
            let Some(node) = self.flow.graph.find(id).filter(|node| self.flow.graph.is_artifact(*node))
            else {
                if !self.known.references.contains(id) {
                    self.unknown(Rule::RefInput, at(), subject(), "artifact", input);
                }
                continue;
            };
            match self.flow.producer(node) {
                None => self.find(Rule::FlowUnproduced, at(), subject(), "no action produced this artifact"),
                Some(made) if made >= action.position() => {
                    let message = "this artifact is consumed at or before its production";
                    self.find(Rule::FlowOrder, at(), subject(), message);
                }
                Some(_) => {}
            }
        }
    }

    fn outputs(&mut self, action: &Action) {
        for (index, output) in action.items("outputs").iter().enumerate() {
            let Some(id) = output.as_str() else { continue };
            if self.trace.artifact_by_id(id).is_none() {
                let at = Place::of("actions", action).child("outputs").child(index);
                let subject = format!("{}:{id}", Subject(action));
                self.unknown(Rule::RefOutput, at, subject, "artifact", output);
            }
        }
    }

    /// Compares the producers that artifacts state with the outputs of actions.
    fn producers(&mut self, makers: &[Option<Made>]) {
        let (trace, flow) = (self.trace, self.flow);
        // Made only where several actions output one artifact: an action may output very many.
        let every_output = OnceCell::new();
        let outputs = |node: Node, action: Position| match makers.get(node.place()).copied().flatten() {
            None => false,
            Some(Made { first, count: 1, .. }) => first == action,
            Some(_) => every_output.get_or_init(|| pairs(trace, flow)).binary_search(&(node, action)).is_ok(),
        };
        let facts = std::mem::take(&mut self.artifact_facts);
        for (place, (artifact, facts)) in trace.artifacts().iter().zip(&facts).enumerate() {
            let Some(stated) = facts.producer else { continue };
            let at = || Place::of("artifacts", artifact).child("producer_action_id");
            let Some(action) = stated.as_i64().and_then(|id| self.trace.action_by_id(id)) else {
                self.unknown(Rule::RefProducer, at(), artifact::Subject(artifact), "action", stated);
                continue;
            };
            let node = node_of_artifact(trace, place);
            if !node.is_some_and(|node| outputs(node, action.position())) {
                let message = format!("action {} does not output this artifact", shown(stated));
                self.find(Rule::FlowProducerMismatch, at(), artifact::Subject(artifact), message);
            }
        }
        self.artifact_facts = facts;
    }
}

/// Returns every id with every action that outputs it, sorted.
fn pairs(trace: &Trace, flow: &Flow) -> Vec<(Node, Position)> {
    let positions = trace.actions().iter().map(Action::position);
    let mut pairs: Vec<(Node, Position)> = positions
        .flat_map(|position| flow.outputs(position).iter().map(move |node| (*node, position)))
        .collect();
    pairs.sort_unstable();
    pairs
}
