//! Who shares a target: marks that spread up to what an action builds on, over names, and down again.

use super::growth::Growth;
use super::ledger::{Label, Ledger, Marks, Node};

/// For one `P_target φ`: what the actions where φ held are about.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets {
    /// Artifacts such an action touches, and all they were derived from.
    built_on: Marks,
    /// Names and targets of those artifacts and actions.
    about: Marks,
    /// Artifacts that have such a name, or descend from one that has.
    descending: Marks,
}

impl Targets {
    /// Returns whether φ held at an earlier action that shares a target with this one.
    pub(super) fn peek(&self, growth: &Growth) -> bool {
        growth.target.is_some_and(|target| self.about.has_label(target))
            || growth.reached.iter().any(|node| self.descending.has_node(*node))
            || growth
                .labels
                .iter()
                .any(|(node, label)| growth.reached.contains(node) && self.about.has_label(*label))
    }

    /// Returns the same for a growth that tells something about the past; `ledger` already has what it tells.
    pub(super) fn peek_late(&self, ledger: &Ledger, growth: &Growth) -> bool {
        let mut told = self.clone();
        told.advance(ledger, growth, false);
        growth.target.is_some_and(|target| told.about.has_label(target))
            || growth.touched.iter().any(|node| told.descending.has_node(*node))
    }

    /// Moves past an action; the ledger already has what it adds.
    pub(super) fn advance(&mut self, ledger: &Ledger, growth: &Growth, held: bool) {
        for (node, label) in &growth.labels {
            if self.about.has_label(*label) {
                self.mark_descending(ledger, *node);
            }
            if self.built_on.has_node(*node) {
                self.mark_about(ledger, *label);
            }
        }
        for (child, parent) in &growth.edges {
            if self.descending.has_node(*parent) {
                self.mark_descending(ledger, *child);
            }
            if self.built_on.has_node(*child) {
                self.mark_built_on(ledger, *parent);
            }
        }
        if held {
            if let Some(target) = growth.target {
                self.mark_about(ledger, target);
            }
            for node in &growth.touched {
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
                self.mark_descending(ledger, *node);
            }
        }
    }

    fn mark_descending(&mut self, ledger: &Ledger, node: Node) {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if self.descending.add_node(node) {
                open.extend(ledger.children(node));
            }
        }
    }
}
