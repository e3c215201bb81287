//! Targets of actions and names of artifacts, as the target scope compares them.

use std::sync::Arc;

use hence_canon::Value;

use crate::interner::Interner;
use crate::wire::{Action, Position, Trace};

use super::flow::{Flow, node_of_artifact};
use super::graph::Node;

/// A text that targets are compared by, as a small number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(u32);

impl Label {
    pub(super) fn place(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    texts: Interner,
    /// Per action: its target, unless empty.
    targets: Vec<Option<Label>>,
    /// Per node: the name of the artifact and the target of its producer.
    nodes: Vec<[Option<Label>; 2]>,
}

impl Labels {
    pub(super) fn of(trace: &Trace, flow: &Flow) -> Self {
        let mut texts = Interner::default();
        let mut label = |text: Option<&Arc<str>>| text.and_then(|text| label(&mut texts, text));
        let targets: Vec<Option<Label>> =
            trace.actions().iter().map(|action| label(target_of(trace, action))).collect();
        let mut nodes = vec![[None, None]; flow.graph.len()];
        for (place, artifact) in trace.artifacts().iter().enumerate() {
            // Only artifacts have a name and a producer; a bare id in a list has no target.
            let Some(node) = node_of_artifact(trace, place) else { continue };
            if let Some(slot @ [None, None]) = nodes.get_mut(node.place()) {
                let made_on = flow.producer(node).and_then(|at| targets.get(at.get()).copied().flatten());
                *slot = [label(text(artifact.source().get("name"))), made_on];
            }
        }
        Self { texts, targets, nodes }
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn target(&self, position: Position) -> &str {
        self.target_label(position).unwrap_or("")
    }

    pub(super) fn target_label(&self, position: Position) -> Option<&str> {
        self.target_place(position).and_then(|label| self.text(label))
    }

    pub(super) fn target_place(&self, position: Position) -> Option<Label> {
        self.targets.get(position.get()).copied().flatten()
    }

    pub(super) fn of_node(&self, node: Node) -> impl Iterator<Item = &str> {
        self.places_of_node(node).filter_map(|label| self.text(label))
    }

    pub(super) fn places_of_node(&self, node: Node) -> impl Iterator<Item = Label> {
        self.nodes.get(node.place()).copied().unwrap_or_default().into_iter().flatten()
    }

    fn text(&self, label: Label) -> Option<&str> {
        self.texts.text(label.place())
    }
}

fn text(value: Option<&Value>) -> Option<&Arc<str>> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn target_of<'a>(trace: &'a Trace, action: &'a Action) -> Option<&'a Arc<str>> {
    let file = action.file_paths().find(|path| !path.is_empty());
    let asked = || text(action.object("request")?.get("path"));
    let made = || {
        let outputs = action.outputs().filter_map(|id| trace.artifact_by_id(id));
        outputs.filter_map(|artifact| text(artifact.source().get("name"))).next()
    };
    file.or_else(|| asked().filter(|path| !path.is_empty())).or_else(made)
}

fn label(texts: &mut Interner, text: &Arc<str>) -> Option<Label> {
    if text.is_empty() { None } else { u32::try_from(texts.intern(text)).ok().map(Label) }
}
