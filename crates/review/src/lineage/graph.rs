//! Artifact ids as nodes, derivations as edges.

use std::collections::BTreeMap;
use std::sync::Arc;

/// An artifact id, as a small number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Node(u32);

impl Node {
    pub(super) fn place(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    ids: Vec<Arc<str>>,
    nodes: BTreeMap<Arc<str>, Node>,
    parents: Vec<Vec<Node>>,
    children: Vec<Vec<Node>>,
}

impl Graph {
    /// Returns the node of an id, made when it is new.
    pub(super) fn node(&mut self, id: &str) -> Node {
        if let Some(node) = self.nodes.get(id) {
            return *node;
        }
        let node = Node(u32::try_from(self.ids.len()).expect("a document in memory has fewer than 2^32 ids"));
        let id: Arc<str> = id.into();
        self.ids.push(id.clone());
        self.nodes.insert(id, node);
        self.parents.push(Vec::new());
        self.children.push(Vec::new());
        node
    }

    pub(super) fn derive(&mut self, node: Node, source: Node) {
        if let Some(parents) = self.parents.get_mut(node.place()) {
            parents.push(source);
        }
        if let Some(children) = self.children.get_mut(source.place()) {
            children.push(node);
        }
    }

    pub(super) fn find(&self, id: &str) -> Option<Node> {
        self.nodes.get(id).copied()
    }

    pub(super) fn id(&self, node: Node) -> &str {
        self.ids.get(node.place()).map_or("", |id| id)
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..u32::try_from(self.ids.len()).unwrap_or(u32::MAX)).map(Node)
    }

    /// Returns what a node was derived from.
    pub(super) fn parents(&self, node: Node) -> &[Node] {
        self.parents.get(node.place()).map_or(&[], Vec::as_slice)
    }

    /// Returns what was derived from a node.
    pub(super) fn children(&self, node: Node) -> &[Node] {
        self.children.get(node.place()).map_or(&[], Vec::as_slice)
    }

    /// Returns `starts` and everything `next` leads to, each once.
    pub(super) fn closure<'a>(&self, starts: &[Node], next: impl Fn(Node) -> &'a [Node]) -> Vec<Node> {
        let mut seen = vec![false; self.len()];
        let mut found: Vec<Node> = Vec::new();
        let mut visit = |nodes: &[Node], found: &mut Vec<Node>| {
            for node in nodes {
                if let Some(mark @ false) = seen.get_mut(node.place()) {
                    *mark = true;
                    found.push(*node);
                }
            }
        };
        visit(starts, &mut found);
        let mut done = 0;
        while let Some(node) = found.get(done).copied() {
            visit(next(node), &mut found);
            done += 1;
        }
        found
    }
}
