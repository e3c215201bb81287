//! What a growing trace has shown so far.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::Object;

/// An artifact id, as a small number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Node(usize);

/// A name or target that actions are compared by, as a small number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Label(usize);

/// What of the header a formula about one action can ask for.
const HEADER: [&str; 5] = ["trace_id", "trigger", "high_stakes_paths", "policies", "reference_artifacts"];

/// A set of small numbers that grows as needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks(Vec<bool>);

impl Marks {
    fn has(&self, place: usize) -> bool {
        self.0.get(place) == Some(&true)
    }

    /// Adds a number and returns whether it is new.
    fn add(&mut self, place: usize) -> bool {
        if self.0.len() <= place {
            self.0.resize(place + 1, false);
        }
        self.0.get_mut(place).is_some_and(|mark| !std::mem::replace(mark, true))
    }

    pub(super) fn has_node(&self, node: Node) -> bool {
        self.has(node.0)
    }

    pub(super) fn add_node(&mut self, node: Node) -> bool {
        self.add(node.0)
    }

    pub(super) fn has_label(&self, label: Label) -> bool {
        self.has(label.0)
    }

    pub(super) fn add_label(&mut self, label: Label) -> bool {
        self.add(label.0)
    }
}

/// The artifacts, names and targets of the actions admitted so far.
///
/// Ids and texts get their numbers when they are first seen, also in a proposal that is dropped: a number alone
/// says nothing. Everything else enters by [`Ledger::admit`](super::growth).
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pub(super) header: Object,
    pub(super) len: usize,
    nodes: BTreeMap<Arc<str>, Node>,
    labels: BTreeMap<Arc<str>, Label>,
    pub(super) artifacts: BTreeMap<Arc<str>, Object>,
    /// The first artifact of each name.
    pub(super) names: BTreeMap<Arc<str>, Arc<str>>,
    /// The target of the first action with each id.
    pub(super) targets: BTreeMap<i64, Option<Label>>,
    /// The target of the first action that lists each artifact as an output.
    pub(super) makers: BTreeMap<Node, Option<Label>>,
    /// Artifacts that are known, name no producer, and were listed by no action yet.
    pub(super) unmade: BTreeSet<Node>,
    parents: Vec<Vec<Node>>,
    children: Vec<Vec<Node>>,
    labels_of: Vec<Vec<Label>>,
    nodes_with: Vec<Vec<Node>>,
}

impl Ledger {
    pub(super) fn new(header: &Object) -> Self {
        Self {
            header: header
                .iter()
                .filter(|(key, _)| HEADER.contains(&&***key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            len: 0,
            nodes: BTreeMap::new(),
            labels: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            names: BTreeMap::new(),
            targets: BTreeMap::new(),
            makers: BTreeMap::new(),
            unmade: BTreeSet::new(),
            parents: Vec::new(),
            children: Vec::new(),
            labels_of: Vec::new(),
            nodes_with: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether an artifact's id was ever mentioned.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.nodes.contains_key(id)
    }

    pub(super) fn node(&mut self, id: &str) -> Node {
        if let Some(node) = self.nodes.get(id) {
            return *node;
        }
        let node = Node(self.parents.len());
        self.nodes.insert(id.into(), node);
        self.parents.push(Vec::new());
        self.children.push(Vec::new());
        self.labels_of.push(Vec::new());
        node
    }

    /// Returns the label of a text; the empty text is none.
    pub(super) fn label(&mut self, text: &str) -> Option<Label> {
        if text.is_empty() {
            return None;
        }
        if let Some(label) = self.labels.get(text) {
            return Some(*label);
        }
        let label = Label(self.nodes_with.len());
        self.labels.insert(text.into(), label);
        self.nodes_with.push(Vec::new());
        Some(label)
    }

    pub(super) fn parents(&self, node: Node) -> &[Node] {
        self.parents.get(node.0).map_or(&[], Vec::as_slice)
    }

    pub(super) fn children(&self, node: Node) -> &[Node] {
        self.children.get(node.0).map_or(&[], Vec::as_slice)
    }

    pub(super) fn labels_of(&self, node: Node) -> &[Label] {
        self.labels_of.get(node.0).map_or(&[], Vec::as_slice)
    }

    pub(super) fn nodes_with(&self, label: Label) -> &[Node] {
        self.nodes_with.get(label.0).map_or(&[], Vec::as_slice)
    }

    pub(super) fn derive(&mut self, child: Node, parent: Node) {
        if let Some(parents) = self.parents.get_mut(child.0) {
            parents.push(parent);
        }
        if let Some(children) = self.children.get_mut(parent.0) {
            children.push(child);
        }
    }

    pub(super) fn name(&mut self, node: Node, label: Label) {
        if let Some(labels) = self.labels_of.get_mut(node.0) {
            labels.push(label);
        }
        if let Some(nodes) = self.nodes_with.get_mut(label.0) {
            nodes.push(node);
        }
    }
}
