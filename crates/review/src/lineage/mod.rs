//! The artifact graph of a trace: what came from what, and who made it.
//!
//! Ids that no artifact carries are kept as leaves, and derivations that run in a circle are answered, not
//! followed for ever. Single questions cost one walk; the questions policies ask of every action at once
//! ([`Lineage::earliest_in_chain`], [`Lineage::earliest_on_target`]) cost one pass over the graph.

mod answers;
mod components;
mod graph;
mod labels;
mod render;
mod scope;
mod stale;

use crate::wire::{Position, Trace};

use components::Components;
use graph::{Graph, Node, Rows};
use labels::Labels;

pub(crate) use answers::Answers;
pub use render::{Direction, Picture};
pub use stale::{StaleEvidence, stale_evidence};

/// The artifact graph of one trace.
#[derive(Clone, Debug)]
pub struct Lineage {
    graph: Graph,
    components: Components,
    producers: Vec<Option<Position>>,
    inputs: Rows,
    outputs: Rows,
    labels: Labels,
}

impl Lineage {
    /// Builds the graph.
    pub fn of(trace: &Trace) -> Self {
        let mut graph = Graph::default();
        let mut derivations = Vec::new();
        for artifact in trace.artifacts() {
            let Some(id) = artifact.id() else { continue };
            let node = graph.node(id);
            for source in artifact.derived_from() {
                derivations.push((node, graph.node(source)));
            }
        }
        let (mut inputs, mut outputs) = (Rows::default(), Rows::default());
        for action in trace.actions() {
            inputs.push(action.inputs().map(|id| graph.node(id)));
        }
        for action in trace.actions() {
            outputs.push(action.outputs().map(|id| graph.node(id)));
        }
        graph.derive(derivations);
        let components = Components::of(&graph);
        let producers = producers(trace, &graph, &outputs);
        let labels = Labels::of(trace, &graph, &producers);
        Self { graph, components, producers, inputs, outputs, labels }
    }

    /// Returns the ids an artifact was made from, directly or not, sorted.
    ///
    /// The artifact itself is among them only when its derivation runs in a circle.
    pub fn ancestors(&self, id: &str) -> Vec<&str> {
        self.reached(id, |node| self.graph.parents(node))
    }

    /// Returns the ids of what was made from an artifact, directly or not, sorted.
    pub fn descendants(&self, id: &str) -> Vec<&str> {
        self.reached(id, |node| self.graph.children(node))
    }

    /// Returns the known ones of these ids together with all their ancestors, sorted: one walk for many.
    pub fn with_ancestors<'b>(&self, ids: impl IntoIterator<Item = &'b str>) -> Vec<&str> {
        let starts: Vec<Node> = ids.into_iter().filter_map(|id| self.graph.find(id)).collect();
        let found = self.graph.closure(&starts, |node| self.graph.parents(node));
        let mut ids: Vec<&str> = found.into_iter().map(|node| self.graph.id(node)).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the known ones of these ids together with all their descendants, sorted.
    pub fn with_descendants<'b>(&self, ids: impl IntoIterator<Item = &'b str>) -> Vec<&str> {
        let starts: Vec<Node> = ids.into_iter().filter_map(|id| self.graph.find(id)).collect();
        let found = self.graph.closure(&starts, |node| self.graph.children(node));
        let mut ids: Vec<&str> = found.into_iter().map(|node| self.graph.id(node)).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns whether `ancestor` is one of the ancestors of `id`.
    pub fn is_ancestor(&self, ancestor: &str, id: &str) -> bool {
        self.ancestors(id).binary_search(&ancestor).is_ok()
    }

    /// Returns who made an artifact: the producer it states, or else the first action that outputs it.
    pub fn producer(&self, id: &str) -> Option<Position> {
        self.producers.get(self.graph.find(id)?.place()).copied().flatten()
    }

    /// Returns what an action worked on: its first file, else the path it asked for, else the name of its first
    /// output; the empty text if nothing says so.
    pub fn target(&self, position: Position) -> &str {
        self.labels.target(position)
    }

    /// Returns the target of an action together with the names and targets of everything it builds on, sorted.
    pub fn target_lineage(&self, position: Position) -> Vec<&str> {
        let mut labels: Vec<&str> = self.labels.target_label(position).into_iter().collect();
        for node in self.graph.closure(&self.touched(position), |node| self.graph.parents(node)) {
            labels.extend(self.labels.of_node(node));
        }
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// Returns whether an earlier action is in the chain of a later one: it made something the later one
    /// consumed, produced, or built on.
    pub fn in_chain(&self, earlier: Position, later: Position) -> bool {
        let made = self.outputs_of(earlier);
        earlier < later
            && self
                .graph
                .closure(&self.touched(later), |node| self.graph.parents(node))
                .iter()
                .any(|node| made.contains(node))
    }

    /// Returns whether two actions have something in their target lineages in common.
    pub fn shares_target(&self, left: Position, right: Position) -> bool {
        let right = self.target_lineage(right);
        self.target_lineage(left).iter().any(|label| right.binary_search(label).is_ok())
    }

    /// Returns the circles in the derivation, each as the sorted ids on it.
    pub fn cycles(&self) -> Vec<Vec<&str>> {
        let mut cycles: Vec<Vec<&str>> = self
            .components
            .iter()
            .filter(|members| match members {
                [single] => self.graph.parents(*single).contains(single),
                _ => true,
            })
            .map(|members| {
                let mut ids: Vec<&str> = members.iter().map(|node| self.graph.id(*node)).collect();
                ids.sort_unstable();
                ids
            })
            .collect();
        cycles.sort_unstable();
        cycles
    }

    fn reached<'a>(&'a self, id: &str, next: impl Fn(Node) -> &'a [Node]) -> Vec<&'a str> {
        let Some(start) = self.graph.find(id) else { return Vec::new() };
        let mut ids: Vec<&str> =
            self.graph.closure(next(start), &next).into_iter().map(|node| self.graph.id(node)).collect();
        ids.sort_unstable();
        ids
    }

    fn inputs_of(&self, position: Position) -> &[Node] {
        self.inputs.row(position.get())
    }

    fn outputs_of(&self, position: Position) -> &[Node] {
        self.outputs.row(position.get())
    }

    fn touched(&self, position: Position) -> Vec<Node> {
        [self.inputs_of(position), self.outputs_of(position)].concat()
    }

    fn positions(&self) -> impl DoubleEndedIterator<Item = Position> + use<> {
        (0..self.inputs.len()).map(Position::new)
    }
}

fn producers(trace: &Trace, graph: &Graph, outputs: &Rows) -> Vec<Option<Position>> {
    let mut producers = vec![None; graph.len()];
    for (place, made) in outputs.iter().enumerate() {
        for node in made {
            if let Some(slot @ None) = producers.get_mut(node.place()) {
                *slot = Some(Position::new(place));
            }
        }
    }
    let mut stated = vec![false; graph.len()];
    for artifact in trace.artifacts() {
        let (Some(id), Some(producer)) = (artifact.id(), artifact.producer_action_id()) else { continue };
        let Some(node) = graph.find(id) else { continue };
        // A stated producer that does not exist is a defect to report, not a reason to guess another.
        if let (Some(slot), Some(seen @ false)) =
            (producers.get_mut(node.place()), stated.get_mut(node.place()))
        {
            *slot = trace.action_by_id(producer).map(crate::wire::Action::position);
            *seen = true;
        }
    }
    producers
}

#[cfg(test)]
mod tests;
