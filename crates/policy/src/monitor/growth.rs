//! What one action would add to the ledger.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::{Object, Value};
use hence_review::wire::Position;

use super::ledger::{Label, Ledger, Node};
use crate::eval::{Subject, TraceDefect};

/// A proposal that cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OfferFault {
    /// The action or its artifacts are not what a trace can hold.
    #[error("{0}")]
    Defect(#[from] TraceDefect),
    /// A policy has no truth value at this action.
    #[error("{0}")]
    Undecided(crate::eval::Undecided),
    /// An action with an id that an admitted action has.
    #[error("action id {id} is taken")]
    ActionIdTaken {
        /// The id.
        id: i64,
    },
    /// An artifact with an id that a known artifact has.
    #[error("artifact id `{id}` is taken")]
    ArtifactIdTaken {
        /// The id.
        id: String,
    },
}

/// What one action would add, and the action alone as a trace of its own.
#[derive(Debug)]
pub(super) struct Growth {
    /// The action, with every artifact it names, as a trace of one action.
    pub(super) window: Subject,
    pub(super) action_id: Option<i64>,
    pub(super) target: Option<Label>,
    /// What it consumes and produces.
    pub(super) touched: Vec<Node>,
    pub(super) outputs: Vec<Node>,
    /// New derivations: child, parent.
    pub(super) edges: Vec<(Node, Node)>,
    /// New names and targets of artifacts.
    pub(super) labels: Vec<(Node, Label)>,
    /// What the action touches, and all that may not be accounted for in the marks of that.
    pub(super) reached: BTreeSet<Node>,
    /// Whether it tells something about artifacts that were mentioned before: marks of the past may have to move first.
    pub(super) is_late: bool,
    makers: BTreeMap<Node, Option<Label>>,
    artifacts: Vec<Object>,
}

impl Growth {
    pub(super) fn of(ledger: &mut Ledger, action: &Object, artifacts: &[Object]) -> Result<Self, OfferFault> {
        let action_id = action.get("id").and_then(Value::as_i64);
        if let Some(id) = action_id.filter(|id| ledger.targets.contains_key(id)) {
            return Err(OfferFault::ActionIdTaken { id });
        }
        for id in artifacts.iter().filter_map(artifact_id) {
            if ledger.artifacts.contains_key(id) {
                return Err(OfferFault::ArtifactIdTaken { id: id.to_owned() });
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
        let mut growth = Self {
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
        growth.add_artifacts(ledger);
        growth.add_late_makers(ledger);
        growth.reach();
        Ok(growth)
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

    /// An artifact that was made known without a producer gets one when an action first lists it.
    fn add_late_makers(&mut self, ledger: &Ledger) {
        let Some(target) = self.target else { return };
        let late: Vec<Node> =
            self.makers.keys().copied().filter(|node| ledger.unmade.contains(node)).collect();
        self.is_late |= !late.is_empty();
        self.labels.extend(late.into_iter().map(|node| (node, target)));
    }

    /// Marks of a node account for all it was derived from by known edges, so only new edges must be followed. A late
    /// growth is not judged by this.
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
    /// Returns the ledger with what an action adds.
    pub(super) fn told(&self, growth: &Growth) -> Self {
        let mut told = self.clone();
        told.admit(growth);
        told
    }

    /// Takes over what an action adds.
    pub(super) fn admit(&mut self, growth: &Growth) {
        for (child, parent) in &growth.edges {
            self.derive(*child, *parent);
        }
        for (node, label) in &growth.labels {
            self.name(*node, *label);
        }
        for artifact in &growth.artifacts {
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
        for node in growth.makers.keys() {
            self.unmade.remove(node);
        }
        self.makers.extend(growth.makers.iter().map(|(node, target)| (*node, *target)));
        if let Some(id) = growth.action_id {
            self.targets.insert(id, growth.target);
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
