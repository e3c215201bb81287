//! Producers, inputs, outputs and derivations: the part of the lineage that validation needs.

use std::sync::Arc;

use hence_canon::Value;

use crate::wire::{Action, Entry, Position, Trace};

use super::graph::{Components, Graph, Node, Rows};

/// The artifact graph, with its ids looked up once.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) graph: Graph,
    pub(super) components: Components,
    producers: Vec<Option<Position>>,
    /// Per artifact: its stated sources.
    sources: Rows,
    /// Per action: its inputs.
    pub(super) inputs: Rows,
    /// Per action: its outputs.
    pub(super) outputs: Rows,
}

impl Flow {
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut graph = Graph::of(trace.artifact_ids().words());
        let (mut sources, mut stated) = (Rows::default(), Vec::with_capacity(trace.artifacts().len()));
        for artifact in trace.artifacts() {
            let [derived_from, producer] = members(artifact, ["derived_from", "producer_action_id"]);
            sources.push(texts(derived_from).map(|id| graph.node(id)));
            stated.push(producer.and_then(Value::as_i64));
        }
        let (mut inputs, mut outputs) = (Rows::default(), Rows::default());
        for action in trace.actions() {
            let [consumed, produced] = members(action, ["inputs", "outputs"]);
            inputs.push(texts(consumed).map(|id| graph.node(id)));
            outputs.push(texts(produced).map(|id| graph.node(id)));
        }
        let mut derivations = Vec::new();
        for (place, row) in sources.iter().enumerate() {
            if let Some(node) = node_of_artifact(trace, place) {
                derivations.extend(row.iter().map(|source| (node, *source)));
            }
        }
        graph.derive(derivations);
        let components = Components::of(&graph);
        let producers = producers(trace, &graph, &outputs, &stated);
        Self { graph, components, producers, sources, inputs, outputs }
    }

    /// Returns the producer of an artifact: the one it states, or else the first action that outputs it.
    pub(crate) fn producer(&self, node: Node) -> Option<Position> {
        self.producers.get(node.place()).copied().flatten()
    }

    /// Returns the stated sources of the artifact at a place, without items that are not texts.
    pub(crate) fn sources(&self, place: usize) -> &[Node] {
        self.sources.row(place)
    }

    /// Returns the inputs of an action, without items that are not texts.
    pub(crate) fn inputs(&self, position: Position) -> &[Node] {
        self.inputs.row(position.get())
    }

    /// Returns the outputs of an action, without items that are not texts.
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

/// Finds two members in one pass over an entry.
fn members<'a>(entry: &'a Entry, keys: [&str; 2]) -> [Option<&'a Value>; 2] {
    let mut found = [None; 2];
    for (key, value) in entry.source().iter() {
        for (slot, wanted) in found.iter_mut().zip(keys) {
            if **key == *wanted {
                *slot = Some(value);
            }
        }
    }
    found
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = &Arc<str>> {
    list.and_then(Value::as_array).unwrap_or(&[]).iter().filter_map(|item| match item {
        Value::String(text) => Some(text),
        _ => None,
    })
}

/// Returns the node of the artifact at a place, if it has an id.
pub(crate) fn node_of_artifact(trace: &Trace, place: usize) -> Option<Node> {
    trace.artifact_ids().number_at(place).map(|number| Node::at(number as usize))
}

fn producers(trace: &Trace, graph: &Graph, outputs: &Rows, stated: &[Option<i64>]) -> Vec<Option<Position>> {
    let mut producers = vec![None; graph.len()];
    for (place, made) in outputs.iter().enumerate() {
        for node in made {
            if let Some(slot @ None) = producers.get_mut(node.place()) {
                *slot = Some(Position::new(place));
            }
        }
    }
    let mut settled = vec![false; graph.len()];
    for (place, producer) in stated.iter().enumerate() {
        let Some(producer) = *producer else { continue };
        let Some(node) = node_of_artifact(trace, place) else { continue };
        // A stated producer that does not exist is a defect to report, not a reason to guess another.
        if let (Some(slot), Some(seen @ false)) =
            (producers.get_mut(node.place()), settled.get_mut(node.place()))
        {
            *slot = trace.action_by_id(producer).map(Action::position);
            *seen = true;
        }
    }
    producers
}
