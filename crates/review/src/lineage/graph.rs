//! Artifact ids as nodes, derivations as edges.

use std::sync::Arc;

use crate::interner::Interner;

/// An artifact id, as a small number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Node(u32);

impl Node {
    pub(crate) fn at(place: usize) -> Self {
        Self(u32::try_from(place).expect("a document in memory has fewer than 2^32 ids"))
    }

    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }
}

/// Lists of nodes, one per row, laid end to end: a hundred thousand short vectors would cost more than what is in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    nodes: Vec<Node>,
    /// Where each row ends in `nodes`.
    ends: Vec<u32>,
}

impl Rows {
    /// Ends a row with these nodes.
    pub(super) fn push(&mut self, row: impl Iterator<Item = Node>) {
        self.nodes.extend(row);
        self.ends
            .push(u32::try_from(self.nodes.len()).expect("a document in memory has fewer than 2^32 ids"));
    }

    /// Lays pairs of row and node out by row; nodes of one row keep their order.
    fn of_pairs(rows: usize, pairs: &[(Node, Node)]) -> Self {
        let mut ends = vec![0_u32; rows];
        for (row, _) in pairs {
            if let Some(count) = ends.get_mut(row.place()) {
                *count += 1;
            }
        }
        // The number of nodes before a row is where its next node goes; afterwards that is where the row ends.
        let mut before = 0;
        for end in &mut ends {
            before += std::mem::replace(end, before);
        }
        let mut nodes = vec![Node(0); pairs.len()];
        for (row, node) in pairs {
            if let Some(next) = ends.get_mut(row.place())
                && let Some(slot) = nodes.get_mut(*next as usize)
            {
                *slot = *node;
                *next += 1;
            }
        }
        Self { nodes, ends }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a row; one that is not there is empty.
    pub(super) fn row(&self, place: usize) -> &[Node] {
        let Some(end) = self.ends.get(place) else { return &[] };
        let start = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.nodes.get(start as usize..*end as usize).unwrap_or(&[])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[Node]> {
        (0..self.len()).map(|place| self.row(place))
    }
}

/// The ids of a trace and what was derived from what.
///
/// The ids of artifacts come first, by the numbers the trace gave them; behind them stand ids that are only named.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    artifacts: Arc<Interner>,
    named: Interner,
    parents: Rows,
    children: Rows,
}

impl Graph {
    /// Begins with the ids of artifacts.
    pub(super) fn of(artifacts: &Arc<Interner>) -> Self {
        Self { artifacts: artifacts.clone(), ..Self::default() }
    }

    /// Returns the node of an id, made when it is new.
    pub(super) fn node(&mut self, id: &Arc<str>) -> Node {
        let found = self.artifacts.find(id);
        Node::at(found.unwrap_or_else(|| self.artifacts.len() + self.named.intern(id)))
    }

    /// Takes all derivations in, each from a node to its source; every node must be known by then.
    pub(super) fn derive(&mut self, mut derivations: Vec<(Node, Node)>) {
        self.parents = Rows::of_pairs(self.len(), &derivations);
        for (node, source) in &mut derivations {
            std::mem::swap(node, source);
        }
        self.children = Rows::of_pairs(self.len(), &derivations);
    }

    pub(super) fn find(&self, id: &str) -> Option<Node> {
        let named = || Some(self.artifacts.len() + self.named.find(id)?);
        self.artifacts.find(id).or_else(named).map(Node::at)
    }

    pub(super) fn id(&self, node: Node) -> &str {
        let named = || self.named.text(node.place().checked_sub(self.artifacts.len())?);
        self.artifacts.text(node.place()).or_else(named).unwrap_or("")
    }

    /// Returns whether an artifact has the id of a node.
    pub(super) fn is_artifact(&self, node: Node) -> bool {
        node.place() < self.artifacts.len()
    }

    pub(super) fn len(&self) -> usize {
        self.artifacts.len() + self.named.len()
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.len()).map(Node::at)
    }

    /// Returns what a node was derived from.
    pub(super) fn parents(&self, node: Node) -> &[Node] {
        self.parents.row(node.place())
    }

    /// Returns what was derived from a node.
    pub(super) fn children(&self, node: Node) -> &[Node] {
        self.children.row(node.place())
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
