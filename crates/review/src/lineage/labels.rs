//! What actions and artifacts are about: targets and names, as the target scope compares them.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;

use crate::wire::{Action, Position, Trace};

use super::graph::{Graph, Node};

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
    texts: Vec<Arc<str>>,
    /// Per action: its target, unless empty.
    targets: Vec<Option<Label>>,
    /// Per node: the name of the artifact and the target of its producer.
    nodes: Vec<[Option<Label>; 2]>,
}

impl Labels {
    pub(super) fn of(trace: &Trace, graph: &Graph, producers: &[Option<Position>]) -> Self {
        let mut texts = Texts::default();
        let targets: Vec<Option<Label>> =
            trace.actions().iter().map(|action| texts.label(target_of(trace, action))).collect();
        let mut nodes = vec![[None, None]; graph.len()];
        for artifact in trace.artifacts() {
            // Only artifacts have a name and a producer; a bare id in a list says nothing of targets.
            let Some(node) = artifact.id().and_then(|id| graph.find(id)) else { continue };
            let producer = producers.get(node.place()).copied().flatten();
            if let Some(slot @ [None, None]) = nodes.get_mut(node.place()) {
                let made_on = producer.and_then(|producer| targets.get(producer.get()).copied().flatten());
                *slot = [texts.label(artifact.name().unwrap_or("")), made_on];
            }
        }
        Self { texts: texts.texts, targets, nodes }
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
        self.texts.get(label.place()).map(|text| &**text)
    }
}

fn target_of<'a>(trace: &'a Trace, action: &'a Action) -> &'a str {
    let file = action.file_refs().find(|path| !path.is_empty());
    let asked = || action.object("request")?.get("path").and_then(Value::as_str);
    let made = || {
        let outputs = action.outputs().filter_map(|id| trace.artifact_by_id(id));
        outputs.filter_map(|artifact| artifact.name()).next()
    };
    file.or_else(|| asked().filter(|path| !path.is_empty())).or_else(made).unwrap_or("")
}

#[derive(Default)]
struct Texts {
    texts: Vec<Arc<str>>,
    places: BTreeMap<Arc<str>, Label>,
}

impl Texts {
    fn label(&mut self, text: &str) -> Option<Label> {
        if text.is_empty() {
            return None;
        }
        if let Some(label) = self.places.get(text) {
            return Some(*label);
        }
        let label = Label(u32::try_from(self.texts.len()).ok()?);
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.places.insert(text, label);
        Some(label)
    }
}
