//! The facts a growing trace has shown so far, and what one more action would add.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_review::wire::Position;

use crate::eval::{Subject, TraceDefect};

/// An artifact id, as a small number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Node(usize);

/// A name or target that actions are compared by, as a small number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Label(usize);

/// The members of the header that a formula about one action can use.
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
/// has no effect. Everything else enters by [`Ledger::admit`].
#[derive(Clone, Debug, Default)]
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
        let known = header.iter().filter(|(key, _)| HEADER.contains(&&***key));
        let header = known.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { header, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the id of an artifact was ever mentioned.
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

/// Errors of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProposalError {
    /// The action or an artifact is malformed.
    #[error("{0}")]
    Defect(#[from] TraceDefect),
    /// A policy has no truth value at this action.
    #[error("{0}")]
    Undecided(crate::eval::Undecided),
    /// An admitted action has the same id.
    #[error("action id {id} is taken")]
    ActionIdTaken {
        /// The id.
        id: i64,
    },
    /// A known artifact has the same id.
    #[error("artifact id `{id}` is taken")]
    ArtifactIdTaken {
        /// The id.
        id: String,
    },
}

/// The facts one action would add to the ledger, and the action alone as a trace of its own.
#[derive(Debug)]
pub(super) struct Delta {
    /// The action, with every artifact it names, as a trace of one action.
    pub(super) window: Subject,
    pub(super) action_id: Option<i64>,
    pub(super) target: Option<Label>,
    /// The artifacts it consumes and produces.
    pub(super) touched: Vec<Node>,
    pub(super) outputs: Vec<Node>,
    /// New derivations: child, parent.
    pub(super) edges: Vec<(Node, Node)>,
    /// New names and targets of artifacts.
    pub(super) labels: Vec<(Node, Label)>,
    /// The artifacts the action touches, and everything they derive from by new edges.
    pub(super) reached: BTreeSet<Node>,
    /// Whether it adds facts about artifacts that were mentioned before: marks of the past may have to move first.
    pub(super) is_late: bool,
    makers: BTreeMap<Node, Option<Label>>,
    artifacts: Vec<Object>,
}

impl Delta {
    pub(super) fn of(
        ledger: &mut Ledger,
        action: &Object,
        artifacts: &[Object],
    ) -> Result<Self, ProposalError> {
        let action_id = action.get("id").and_then(Value::as_i64);
        if let Some(id) = action_id.filter(|id| ledger.targets.contains_key(id)) {
            return Err(ProposalError::ActionIdTaken { id });
        }
        for id in artifacts.iter().filter_map(artifact_id) {
            if ledger.artifacts.contains_key(id) {
                return Err(ProposalError::ArtifactIdTaken { id: id.to_owned() });
            }
        }
        let window = window(ledger, action, artifacts)?;
        let is_late = artifacts.iter().filter_map(artifact_id).any(|id| ledger.knows(id));
        let target = ledger.label(window.lineage().target(Position::new(0)));
        let mut nodes = |key: &str| -> Vec<Node> {
            let ids =
                action.get(key).and_then(Value::as_array).unwrap_or(&[]).iter().filter_map(Value::as_str);
            ids.map(|id| ledger.node(id)).collect()
        };
        let (inputs, outputs) = (nodes("inputs"), nodes("outputs"));
        let touched = [inputs, outputs.clone()].concat();
        let makers = outputs
            .iter()
            .filter(|node| !ledger.makers.contains_key(node))
            .map(|node| (*node, target))
            .collect();
        let mut delta = Self {
            window,
            action_id,
            target,
            touched,
            outputs,
            edges: Vec::new(),
            labels: Vec::new(),
            reached: BTreeSet::new(),
            is_late,
            makers,
            artifacts: artifacts.to_vec(),
        };
        delta.add_artifacts(ledger);
        delta.add_late_makers(ledger);
        delta.reach();
        Ok(delta)
    }

    fn add_artifacts(&mut self, ledger: &mut Ledger) {
        for artifact in &self.artifacts {
            let Some(id) = artifact_id(artifact) else { continue };
            let node = ledger.node(id);
            let sources = artifact.get("derived_from").and_then(Value::as_array).unwrap_or(&[]);
            for source in sources.iter().filter_map(Value::as_str) {
                self.edges.push((node, ledger.node(source)));
            }
            let name = artifact.get("name").and_then(Value::as_str).and_then(|name| ledger.label(name));
            let made_on = match artifact.get("producer_action_id").and_then(Value::as_i64) {
                Some(stated) if Some(stated) == self.action_id => self.target,
                Some(stated) => ledger.targets.get(&stated).copied().flatten(),
                None => ledger.makers.get(&node).or_else(|| self.makers.get(&node)).copied().flatten(),
            };
            self.labels.extend([name, made_on].into_iter().flatten().map(|label| (node, label)));
        }
    }

    /// Gives an artifact without a producer the target of the first action that lists it.
    fn add_late_makers(&mut self, ledger: &Ledger) {
        let Some(target) = self.target else { return };
        let late: Vec<Node> =
            self.makers.keys().copied().filter(|node| ledger.unmade.contains(node)).collect();
        self.is_late |= !late.is_empty();
        self.labels.extend(late.into_iter().map(|node| (node, target)));
    }

    /// Collects the artifacts to look at. The marks of a node include everything it was derived from by known edges, so
    /// only new edges are followed. A late delta is not evaluated this way.
    fn reach(&mut self) {
        let mut new: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
        for (child, parent) in &self.edges {
            new.entry(*child).or_default().push(*parent);
        }
        let mut open = self.touched.clone();
        while let Some(node) = open.pop() {
            if !self.reached.insert(node) {
                continue;
            }
            open.extend(new.get(&node).into_iter().flatten());
        }
    }
}

impl Ledger {
    /// Returns a copy of the ledger with a delta added.
    pub(super) fn with(&self, delta: &Delta) -> Self {
        let mut ledger = self.clone();
        ledger.admit(delta);
        ledger
    }

    /// Adds a delta.
    pub(super) fn admit(&mut self, delta: &Delta) {
        for (child, parent) in &delta.edges {
            self.derive(*child, *parent);
        }
        for (node, label) in &delta.labels {
            self.name(*node, *label);
        }
        for artifact in &delta.artifacts {
            let Some(id) = artifact_id(artifact) else { continue };
            let states_producer = artifact.get("producer_action_id").and_then(Value::as_i64).is_some();
            let node = self.node(id);
            if !states_producer && !self.makers.contains_key(&node) {
                self.unmade.insert(node);
            }
            if let Some(name) = artifact.get("name").and_then(Value::as_str) {
                self.names.entry(name.into()).or_insert_with(|| id.into());
            }
            self.artifacts.insert(id.into(), artifact.clone());
        }
        for node in delta.makers.keys() {
            self.unmade.remove(node);
        }
        self.makers.extend(delta.makers.iter().map(|(node, target)| (*node, *target)));
        if let Some(id) = delta.action_id {
            self.targets.insert(id, delta.target);
        }
        self.len += 1;
    }
}

fn artifact_id(artifact: &Object) -> Option<&str> {
    artifact.get("artifact_id").and_then(Value::as_str)
}

/// Builds the trace of the one action: the header, the action, and every artifact it names or makes known.
fn window(ledger: &Ledger, action: &Object, artifacts: &[Object]) -> Result<Subject, TraceDefect> {
    let mut named: Vec<&Object> = Vec::new();
    let mut seen: BTreeSet<&str> = artifacts.iter().filter_map(artifact_id).collect();
    for key in ["inputs", "outputs"] {
        let ids = action.get(key).and_then(Value::as_array).unwrap_or(&[]).iter().filter_map(Value::as_str);
        for word in ids {
            let by_name = || ledger.names.get(word).and_then(|id| ledger.artifacts.get(id));
            if let Some(known) = ledger.artifacts.get(word).or_else(by_name)
                && artifact_id(known).is_some_and(|id| seen.insert(id))
            {
                named.push(known);
            }
        }
    }
    let artifacts: Value = named.into_iter().chain(artifacts).cloned().collect();
    let window = ledger.header.with("actions", vec![action.clone()]).with("artifacts", artifacts);
    Subject::read(&window.into())
}
