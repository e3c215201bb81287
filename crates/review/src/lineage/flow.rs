//! Who made what from what: the part of the lineage that validation needs.

use std::sync::Arc;

use hence_canon::Value;

use crate::wire::{Action, Entry, Position, Trace};

use super::components::Components;
use super::graph::{Graph, Node, Rows};

/// The artifact graph, with its ids looked up once.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(super) graph: Graph,
    pub(super) components: Components,
    producers: Vec<Option<Position>>,
    /// Per artifact: what it says it was derived from.
    sources: Rows,
    /// Per action: what it consumed.
    pub(super) inputs: Rows,
    /// Per action: what it produced.
    pub(super) outputs: Rows,
}

impl Flow {
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut graph = Graph::of(trace.artifact_ids().words());
        let mut rows = |entries: &mut dyn Iterator<Item = &Entry>, key: &str| {
            let mut rows = Rows::default();
            for entry in entries {
                rows.push(texts(entry, key).map(|id| graph.node(id)));
            }
            rows
        };
        let sources = rows(&mut trace.artifacts().iter().map(|artifact| &**artifact), "derived_from");
        let inputs = rows(&mut trace.actions().iter().map(|action| &**action), "inputs");
        let outputs = rows(&mut trace.actions().iter().map(|action| &**action), "outputs");
        let mut derivations = Vec::new();
        for (place, row) in sources.iter().enumerate() {
            if let Some(node) = node_of_artifact(trace, place) {
                derivations.extend(row.iter().map(|source| (node, *source)));
            }
        }
        graph.derive(derivations);
        let components = Components::of(&graph);
        let producers = producers(trace, &graph, &outputs);
        Self { graph, components, producers, sources, inputs, outputs }
    }

    /// Returns the node of the artifact at a place, if it has an id.
    pub(crate) fn node_of_artifact(&self, trace: &Trace, place: usize) -> Option<Node> {
        node_of_artifact(trace, place)
    }

    /// Returns who made an artifact: the producer it states, or else the first action that outputs it.
    pub(crate) fn producer(&self, node: Node) -> Option<Position> {
        self.producers.get(node.place()).copied().flatten()
    }

    /// Returns the node of an id that the trace names.
    pub(crate) fn find(&self, id: &str) -> Option<Node> {
        self.graph.find(id)
    }

    /// Returns the id of a node.
    pub(crate) fn id(&self, node: Node) -> &str {
        self.graph.id(node)
    }

    /// Returns whether an artifact has the id of a node.
    pub(crate) fn is_artifact(&self, node: Node) -> bool {
        self.graph.is_artifact(node)
    }

    /// Returns how many ids the trace names.
    pub(crate) fn len(&self) -> usize {
        self.graph.len()
    }

    /// Returns what the artifact at a place says it was derived from; what is no text is left out.
    pub(crate) fn sources(&self, place: usize) -> &[Node] {
        self.sources.row(place)
    }

    /// Returns what an action consumed; what is no text is left out.
    pub(crate) fn inputs(&self, position: Position) -> &[Node] {
        self.inputs.row(position.get())
    }

    /// Returns what an action produced; what is no text is left out.
    pub(crate) fn outputs(&self, position: Position) -> &[Node] {
        self.outputs.row(position.get())
    }

    /// Returns the circles in the derivation, each as the sorted ids on it.
    pub(crate) fn cycles(&self) -> Vec<Vec<&str>> {
        let is_circle = |members: &&[Node]| match members {
            [single] => self.graph.parents(*single).contains(single),
            _ => true,
        };
        let ids = |members: &[Node]| {
            let mut ids: Vec<&str> = members.iter().map(|node| self.graph.id(*node)).collect();
            ids.sort_unstable();
            ids
        };
        let mut cycles: Vec<Vec<&str>> = self.components.iter().filter(is_circle).map(ids).collect();
        cycles.sort_unstable();
        cycles
    }
}

fn texts<'a>(entry: &'a Entry, key: &str) -> impl Iterator<Item = &'a Arc<str>> {
    entry.items(key).iter().filter_map(|item| match item {
        Value::String(text) => Some(text),
        _ => None,
    })
}

fn node_of_artifact(trace: &Trace, place: usize) -> Option<Node> {
    trace.artifact_ids().number_at(place).map(|number| Node::at(number as usize))
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
    for (place, artifact) in trace.artifacts().iter().enumerate() {
        let Some(producer) = artifact.producer_action_id() else { continue };
        let Some(node) = node_of_artifact(trace, place) else { continue };
        // A stated producer that does not exist is a defect to report, not a reason to guess another.
        if let (Some(slot), Some(seen @ false)) =
            (producers.get_mut(node.place()), stated.get_mut(node.place()))
        {
            *slot = trace.action_by_id(producer).map(Action::position);
            *seen = true;
        }
    }
    producers
}
