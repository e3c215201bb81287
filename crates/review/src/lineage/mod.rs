//! The artifact graph of a trace: derivations and producers.
//!
//! Ids without an artifact are leaves, and circular derivations end. Single questions cost one walk; the questions policies ask of every action at once
//! ([`Lineage::earliest_in_chain`], [`Lineage::earliest_on_target`]) cost one pass over the graph.

mod flow;
mod graph;
mod labels;
mod render;
mod scope;
mod stale;

use crate::wire::{Position, Trace};

use labels::Labels;

pub(crate) use flow::{Flow, node_of_artifact};
pub(crate) use graph::Node;
pub use render::{Direction, Picture};
pub(crate) use stale::Answers;
pub use stale::{StaleEvidence, stale_evidence};

/// The artifact graph of one trace.
#[derive(Clone, Debug)]
pub struct Lineage {
    flow: Flow,
    labels: Labels,
}

impl Lineage {
    /// Builds the graph.
    pub fn of(trace: &Trace) -> Self {
        let flow = Flow::of(trace);
        let labels = Labels::of(trace, &flow);
        Self { flow, labels }
    }

    /// Returns producers, inputs and outputs, without labels.
    pub(crate) fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Returns the ids an artifact was made from, directly or not, sorted.
    ///
    /// The artifact itself is among them only when its derivation runs in a circle.
    pub fn ancestors(&self, id: &str) -> Vec<&str> {
        let start = self.flow.graph.find(id);
        let parents = start.map_or(&[][..], |start| self.flow.graph.parents(start));
        self.sorted_ids(self.with_sources(parents))
    }

    /// Returns the ids of the artifacts made from an artifact, directly or not, sorted.
    pub fn descendants(&self, id: &str) -> Vec<&str> {
        let start = self.flow.graph.find(id);
        let children = start.map_or(&[][..], |start| self.flow.graph.children(start));
        self.sorted_ids(self.with_derived(children))
    }

    /// Returns the known ones of these ids together with all their ancestors, sorted: one walk for many.
    pub fn with_ancestors<'b>(&self, ids: impl IntoIterator<Item = &'b str>) -> Vec<&str> {
        self.sorted_ids(self.with_sources(&self.known(ids)))
    }

    /// Returns the known ones of these ids together with all their descendants, sorted.
    pub fn with_descendants<'b>(&self, ids: impl IntoIterator<Item = &'b str>) -> Vec<&str> {
        self.sorted_ids(self.with_derived(&self.known(ids)))
    }

    fn known<'b>(&self, ids: impl IntoIterator<Item = &'b str>) -> Vec<Node> {
        ids.into_iter().filter_map(|id| self.flow.graph.find(id)).collect()
    }

    fn with_sources(&self, nodes: &[Node]) -> Vec<Node> {
        self.flow.graph.closure(nodes, |node| self.flow.graph.parents(node))
    }

    fn with_derived(&self, nodes: &[Node]) -> Vec<Node> {
        self.flow.graph.closure(nodes, |node| self.flow.graph.children(node))
    }

    fn sorted_ids(&self, nodes: Vec<Node>) -> Vec<&str> {
        let mut ids: Vec<&str> = nodes.into_iter().map(|node| self.flow.graph.id(node)).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns whether `ancestor` is one of the ancestors of `id`.
    pub fn is_ancestor(&self, ancestor: &str, id: &str) -> bool {
        self.ancestors(id).binary_search(&ancestor).is_ok()
    }

    /// Returns the producer of an artifact: the one it states, or else the first action that outputs it.
    pub fn producer(&self, id: &str) -> Option<Position> {
        self.flow.producer(self.flow.graph.find(id)?)
    }

    /// Returns the target of an action: its first file, else the path it asked for, else the name of its first
    /// output; empty if there is none.
    pub fn target(&self, position: Position) -> &str {
        self.labels.target(position)
    }

    /// Returns the target of an action together with the names and targets of everything it builds on, sorted.
    pub fn target_lineage(&self, position: Position) -> Vec<&str> {
        let mut labels: Vec<&str> = self.labels.target_label(position).into_iter().collect();
        for node in self.with_sources(&self.touched(position)) {
            labels.extend(self.labels.of_node(node));
        }
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// Returns whether an earlier action is in the chain of a later one: it made something the later one
    /// consumed, produced, or built on.
    pub fn in_chain(&self, earlier: Position, later: Position) -> bool {
        let made = self.flow.outputs(earlier);
        earlier < later && self.with_sources(&self.touched(later)).iter().any(|node| made.contains(node))
    }

    /// Returns whether two actions have something in their target lineages in common.
    pub fn shares_target(&self, left: Position, right: Position) -> bool {
        let right = self.target_lineage(right);
        self.target_lineage(left).iter().any(|label| right.binary_search(label).is_ok())
    }

    /// Returns the circles in the derivation, each as the sorted ids on it.
    pub fn cycles(&self) -> Vec<Vec<&str>> {
        self.flow.cycles()
    }

    fn touched(&self, position: Position) -> Vec<Node> {
        [self.flow.inputs(position), self.flow.outputs(position)].concat()
    }

    fn positions(&self) -> impl DoubleEndedIterator<Item = Position> + use<> {
        (0..self.flow.inputs.len()).map(Position::new)
    }
}

#[cfg(test)]
mod tests;
