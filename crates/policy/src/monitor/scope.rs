//! The scoped past operators on a growing trace: marks on artifacts and names, spread along derivations.

use super::ledger::{Delta, Label, Ledger, Marks, Node};

/// The state of one `P_chain φ`: the artifacts that are, or descend from, an output of an action where φ held.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    descending: Marks,
}

impl Chain {
    /// Returns whether φ held at an earlier action in the chain of this one.
    pub(super) fn peek(&self, delta: &Delta) -> bool {
        delta.reached.iter().any(|node| self.descending.has_node(*node))
    }

    /// Returns the same for a delta with facts about the past; `ledger` already has them.
    pub(super) fn peek_late(&self, ledger: &Ledger, delta: &Delta) -> bool {
        let mut updated = self.clone();
        updated.advance(ledger, delta, false);
        delta.touched.iter().any(|node| updated.descending.has_node(*node))
    }

    /// Moves past an action; the ledger already has its delta.
    pub(super) fn advance(&mut self, ledger: &Ledger, delta: &Delta, held: bool) {
        for (child, parent) in &delta.edges {
            if self.descending.has_node(*parent) {
                mark_descending(&mut self.descending, ledger, *child);
            }
        }
        if held {
            for output in &delta.outputs {
                mark_descending(&mut self.descending, ledger, *output);
            }
        }
    }
}

/// Marks a node and everything derived from it; each node is visited once in the life of the run.
fn mark_descending(marks: &mut Marks, ledger: &Ledger, node: Node) {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if marks.add_node(node) {
            open.extend(ledger.children(node));
        }
    }
}

/// The state of one `P_target φ`: what the actions where φ held are about.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets {
    /// Artifacts such an action touches, and everything they were derived from.
    built_on: Marks,
    /// Names and targets of those artifacts and actions.
    about: Marks,
    /// Artifacts that have such a name, or descend from one that has.
    descending: Marks,
}

impl Targets {
    /// Returns whether φ held at an earlier action that shares a target with this one.
    pub(super) fn peek(&self, delta: &Delta) -> bool {
        delta.target.is_some_and(|target| self.about.has_label(target))
            || delta.reached.iter().any(|node| self.descending.has_node(*node))
            || delta
                .labels
                .iter()
                .any(|(node, label)| delta.reached.contains(node) && self.about.has_label(*label))
    }

    /// Returns the same for a delta with facts about the past; `ledger` already has them.
    pub(super) fn peek_late(&self, ledger: &Ledger, delta: &Delta) -> bool {
        let mut updated = self.clone();
        updated.advance(ledger, delta, false);
        delta.target.is_some_and(|target| updated.about.has_label(target))
            || delta.touched.iter().any(|node| updated.descending.has_node(*node))
    }

    /// Moves past an action; the ledger already has its delta.
    pub(super) fn advance(&mut self, ledger: &Ledger, delta: &Delta, held: bool) {
        for (node, label) in &delta.labels {
            if self.about.has_label(*label) {
                mark_descending(&mut self.descending, ledger, *node);
            }
            if self.built_on.has_node(*node) {
                self.mark_about(ledger, *label);
            }
        }
        for (child, parent) in &delta.edges {
            if self.descending.has_node(*parent) {
                mark_descending(&mut self.descending, ledger, *child);
            }
            if self.built_on.has_node(*child) {
                self.mark_built_on(ledger, *parent);
            }
        }
        if held {
            if let Some(target) = delta.target {
                self.mark_about(ledger, target);
            }
            for node in &delta.touched {
                self.mark_built_on(ledger, *node);
            }
        }
    }

    fn mark_built_on(&mut self, ledger: &Ledger, node: Node) {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if self.built_on.add_node(node) {
                for label in ledger.labels_of(node) {
                    self.mark_about(ledger, *label);
                }
                open.extend(ledger.parents(node));
            }
        }
    }

    fn mark_about(&mut self, ledger: &Ledger, label: Label) {
        if self.about.add_label(label) {
            for node in ledger.nodes_with(label) {
                mark_descending(&mut self.descending, ledger, *node);
            }
        }
    }
}
