//! The graph of actions and artifacts, in windows and around a node.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hence_review::wire::{Action, Artifact};
use hence_server::Window;

use super::error::bad_request;
use super::projected::Projected;
use super::shown::Budget;
use crate::prelude::*;

/// The nodes in one response, unless the request names another number.
pub(super) const NODES_DEFAULT: u64 = 300;

/// The most nodes in one response.
pub(super) const NODES_MAX: u64 = 2000;

/// The words for directions.
pub(super) const DIRECTIONS: &[&str] = &["ancestors", "descendants", "both"];

/// An action or an artifact.
#[derive(Serialize, JsonSchema, Clone)]
pub(super) struct NodeRow {
    /// `action:ID` or `artifact:ID`.
    id: String,
    /// `action` or `artifact`.
    kind: &'static str,
    /// The name that people use.
    label: String,
    /// Its type.
    #[serde(rename = "type")]
    node_type: String,
    /// The record it came from.
    index: Option<u64>,
    /// The status of an action, where it has one.
    status: Option<String>,
}

/// A line from an earlier to a later node.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EdgeRow {
    /// The earlier node.
    from: String,
    /// The later node.
    to: String,
    /// `used`: an action used an artifact. `made`: an action made it. `derived`: an artifact was made from another.
    kind: &'static str,
}

/// A part of the graph.
#[derive(Serialize, JsonSchema)]
pub(super) struct LineageReport {
    /// The number of all nodes.
    total: u64,
    /// The place of the first action of the window.
    from: u64,
    /// The place of the first action after it.
    next: Option<u64>,
    /// Whether there are more nodes than are given.
    cut: bool,
    /// The nodes.
    nodes: Vec<NodeRow>,
    /// The edges between them.
    edges: Vec<EdgeRow>,
}

/// The part of the graph that a request asks for.
pub(super) struct Around<'a> {
    pub(super) node: &'a str,
    pub(super) direction: &'a str,
    pub(super) depth: u64,
}

struct Graph {
    nodes: BTreeMap<String, NodeRow>,
    edges: Vec<EdgeRow>,
    /// The nodes of each action, in the order of the actions: itself and what it made.
    order: Vec<Vec<String>>,
}

fn action_id(id: i64) -> String {
    format!("action:{id}")
}

fn artifact_id(id: &str) -> String {
    format!("artifact:{id}")
}

impl Graph {
    fn of(projected: &Projected) -> Self {
        let mut graph = Self { nodes: BTreeMap::new(), edges: Vec::new(), order: Vec::new() };
        for artifact in projected.trace.artifacts() {
            graph.add_artifact(projected, artifact);
        }
        for action in projected.trace.actions() {
            graph.add_action(projected, action);
        }
        graph
    }

    fn add_artifact(&mut self, projected: &Projected, artifact: &Artifact) {
        let Some(id) = artifact.id() else { return };
        let node = NodeRow {
            id: artifact_id(id),
            kind: "artifact",
            label: artifact.name().unwrap_or(id).to_owned(),
            node_type: artifact.type_word().to_owned(),
            index: projected.record_of_artifact(artifact),
            status: None,
        };
        for source in artifact.derived_from() {
            let (from, to) = (artifact_id(source), artifact_id(id));
            self.edges.push(EdgeRow { from, to, kind: "derived" });
        }
        self.nodes.insert(node.id.clone(), node);
    }

    fn add_action(&mut self, projected: &Projected, action: &Action) {
        let Some(id) = action.id() else { return };
        let node = NodeRow {
            id: action_id(id),
            kind: "action",
            label: action.label().to_owned(),
            node_type: action.type_word().to_owned(),
            index: projected.record_of(id),
            status: action.text("status").map(str::to_owned),
        };
        let mut group = vec![node.id.clone()];
        for used in action.inputs() {
            self.edges.push(EdgeRow { from: artifact_id(used), to: node.id.clone(), kind: "used" });
        }
        for made in action.outputs() {
            group.push(artifact_id(made));
            self.edges.push(EdgeRow { from: node.id.clone(), to: artifact_id(made), kind: "made" });
        }
        self.order.push(group);
        self.nodes.insert(node.id.clone(), node);
    }

    /// Returns the nodes around one, the nearest first.
    fn around(&self, around: &Around<'_>) -> Vec<String> {
        let (mut earlier, mut later) = (BTreeMap::new(), BTreeMap::new());
        for edge in &self.edges {
            earlier.entry(&*edge.to).or_insert_with(Vec::new).push(&*edge.from);
            later.entry(&*edge.from).or_insert_with(Vec::new).push(&*edge.to);
        }
        let ways: &[&BTreeMap<&str, Vec<&str>>] = match around.direction {
            "ancestors" => &[&earlier],
            "descendants" => &[&later],
            _ => &[&earlier, &later],
        };
        let mut found = vec![around.node.to_owned()];
        let mut known: BTreeSet<&str> = BTreeSet::from([around.node]);
        for way in ways {
            let mut ahead = VecDeque::from([(around.node, 0)]);
            while let Some((node, depth)) = ahead.pop_front() {
                if depth >= around.depth {
                    continue;
                }
                for next in way.get(node).into_iter().flatten() {
                    if known.insert(next) {
                        found.push((*next).to_owned());
                        ahead.push_back((next, depth + 1));
                    }
                }
            }
        }
        found
    }
}

/// Returns the graph of the actions in a window, or around a node.
pub(super) fn lineage(
    projected: &Projected,
    window: Window,
    around: Option<&Around<'_>>,
) -> Result<LineageReport, CliError> {
    let graph = Graph::of(projected);
    let total = graph.nodes.len() as u64;
    let limit = usize::try_from(window.limit).unwrap_or(usize::MAX);
    let (wanted, from, next) = match around {
        Some(around) => {
            if !graph.nodes.contains_key(around.node) {
                let message = format!("the lineage has no node {:?}", around.node);
                return Err(CliError::new(Code::NoSuchPlace, message));
            }
            (graph.around(around), 0, None)
        }
        None => window_of(&graph, window, limit),
    };
    let mut budget = Budget::of(window);
    let known = wanted.iter().filter_map(|id| graph.nodes.get(id));
    let nodes: Vec<NodeRow> = known.take(limit).take_while(|node| budget.take(node)).cloned().collect();
    let cut =
        around.is_some() && nodes.len() < wanted.iter().filter(|id| graph.nodes.contains_key(*id)).count();
    let given: BTreeSet<&str> = nodes.iter().map(|node| &*node.id).collect();
    let is_given = |edge: &&EdgeRow| given.contains(&*edge.from) && given.contains(&*edge.to);
    let inside = graph.edges.iter().filter(is_given);
    let mut edges: Vec<EdgeRow> = inside.take_while(|edge| budget.take(edge)).cloned().collect();
    edges.dedup();
    Ok(LineageReport { total, from, next, cut, nodes, edges })
}

/// Returns the nodes of the actions of a window, and where the next window begins.
fn window_of(graph: &Graph, window: Window, limit: usize) -> (Vec<String>, u64, Option<u64>) {
    let mut wanted: Vec<String> = Vec::new();
    let mut at = window.from;
    while let Some(group) = usize::try_from(at).ok().and_then(|place| graph.order.get(place)) {
        if !wanted.is_empty() && wanted.len() + group.len() > limit {
            break;
        }
        wanted.extend(group.iter().cloned());
        at += 1;
    }
    // Artifacts that no action made are shown with the first window.
    if window.from == 0 {
        let made: BTreeSet<&str> = graph.order.iter().flatten().map(String::as_str).collect();
        let others: Vec<String> =
            graph.nodes.keys().filter(|id| !made.contains(id.as_str())).cloned().collect();
        wanted.splice(0..0, others);
    }
    (wanted, window.from, (at < graph.order.len() as u64).then_some(at))
}

/// Checks the words of a request about a node.
pub(super) fn around<'a>(
    node: Option<&'a str>,
    direction: Option<&'a str>,
    depth: Option<u64>,
) -> Result<Option<Around<'a>>, CliError> {
    match node {
        None if direction.is_some() || depth.is_some() => {
            Err(bad_request("`direction` and `depth` need a `node`"))
        }
        None => Ok(None),
        Some(node) => Ok(Some(Around {
            node,
            direction: direction.unwrap_or("both"),
            depth: depth.unwrap_or(u64::MAX),
        })),
    }
}
