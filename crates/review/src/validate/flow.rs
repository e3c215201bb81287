//! Rules of data flow: who makes what, who uses it, and when.

use std::collections::BTreeMap;

use crate::wire::{Action, Position};

use super::action::subject_of;
use super::artifact;
use super::check::{Check, shown};
use super::place::Place;
use super::rule::Rule;

/// Who outputs an id.
#[derive(Clone, Copy)]
struct Made {
    first: Position,
    last: Position,
    count: usize,
}

impl<'a> Check<'a> {
    pub(super) fn flow(&mut self) {
        let makers = self.makers();
        let names_only = self.version.exchanges_names(self.trace);
        for action in self.trace.actions() {
            for (index, input) in action.items("inputs").iter().enumerate() {
                let Some(id) = input.as_str() else { continue };
                if names_only {
                    self.name_flow(action, index, id, makers.get(id).map(|made| made.first));
                } else {
                    self.input(action, index, id);
                }
            }
            if !names_only {
                self.outputs(action);
            }
        }
        for (id, made) in makers.iter().filter(|(_, made)| made.count > 1) {
            let Some(action) = self.trace.action(made.last) else { continue };
            let message = format!("{} actions output this artifact", made.count);
            self.find(Rule::FlowProducerUnique, Place::of("actions", action).child("outputs"), id, message);
        }
        self.producers();
    }

    /// Finds the actions that output each id, each action once.
    fn makers(&self) -> BTreeMap<&'a str, Made> {
        let mut makers: BTreeMap<&str, Made> = BTreeMap::new();
        for action in self.trace.actions() {
            let position = action.position();
            for id in action.outputs() {
                let made = makers.entry(id).or_insert(Made { first: position, last: position, count: 1 });
                if made.last != position {
                    made.last = position;
                    made.count += 1;
                }
            }
        }
        makers
    }

    fn name_flow(&mut self, action: &Action, index: usize, name: &str, made: Option<Position>) {
        let at = || Place::of("actions", action).child("inputs").child(index);
        let subject = || format!("{}:{name}", subject_of(action));
        match made {
            None => self.find(Rule::FlowUnproduced, at(), subject(), "no action outputs this name"),
            Some(made) if made >= action.position() => {
                self.find(Rule::FlowOrder, at(), subject(), "this name is used before an action outputs it");
            }
            Some(_) => {}
        }
    }

    fn input(&mut self, action: &Action, index: usize, id: &str) {
        let at = || Place::of("actions", action).child("inputs").child(index);
        let subject = || format!("{}:{id}", subject_of(action));
        if self.trace.artifact_by_id(id).is_none() {
            if !self.known.references.contains(id) {
                let message = format!("no artifact has the id {}", shown(&id.into()));
                self.find(Rule::RefInput, at(), subject(), message);
            }
            return;
        }
        match self.lineage.producer(id) {
            None => self.find(Rule::FlowUnproduced, at(), subject(), "no action produced this artifact"),
            Some(made) if made >= action.position() => {
                self.find(
                    Rule::FlowOrder,
                    at(),
                    subject(),
                    "this artifact is consumed at or before its production",
                );
            }
            Some(_) => {}
        }
    }

    fn outputs(&mut self, action: &Action) {
        for (index, output) in action.items("outputs").iter().enumerate() {
            let Some(id) = output.as_str() else { continue };
            if self.trace.artifact_by_id(id).is_none() {
                let at = Place::of("actions", action).child("outputs").child(index);
                let message = format!("no artifact has the id {}", shown(output));
                self.find(Rule::RefOutput, at, format!("{}:{id}", subject_of(action)), message);
            }
        }
    }

    /// Checks what artifacts say of their producers against what actions say of their outputs.
    fn producers(&mut self) {
        for artifact in self.trace.artifacts() {
            let Some(stated) = artifact.member("producer_action_id") else { continue };
            let at = || Place::of("artifacts", artifact).child("producer_action_id");
            let Some(action) = stated.as_i64().and_then(|id| self.trace.action_by_id(id)) else {
                let message = format!("no action has the id {}", shown(stated));
                self.find(Rule::RefProducer, at(), artifact::subject_of(artifact), message);
                continue;
            };
            if !artifact.id().is_some_and(|id| action.outputs().any(|output| output == id)) {
                let message = format!("action {} does not output this artifact", shown(stated));
                self.find(Rule::FlowProducerMismatch, at(), artifact::subject_of(artifact), message);
            }
        }
    }
}
