//! Artifact ids as nodes, derivations as edges, and the groups of nodes that derive from each other.

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

/// Lists of nodes in one allocation: a hundred thousand short vectors would cost more than their content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    nodes: Vec<Node>,
    /// The end of each row in `nodes`.
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

/// The ids of a trace and their derivations.
///
/// Ids of artifacts come first, in the order of the trace; ids that are only mentioned follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
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

    /// Adds all derivations, each from a node to its source; every node must be known.
    pub(super) fn derive(&mut self, mut derivations: Vec<(Node, Node)>) {
        self.parents = Rows::of_pairs(self.len(), &derivations);
        for (node, source) in &mut derivations {
            std::mem::swap(node, source);
        }
        self.children = Rows::of_pairs(self.len(), &derivations);
    }

    pub(crate) fn find(&self, id: &str) -> Option<Node> {
        let named = || Some(self.artifacts.len() + self.named.find(id)?);
        self.artifacts.find(id).or_else(named).map(Node::at)
    }

    pub(crate) fn id(&self, node: Node) -> &str {
        let named = || self.named.text(node.place().checked_sub(self.artifacts.len())?);
        self.artifacts.text(node.place()).or_else(named).unwrap_or("")
    }

    /// Returns whether an artifact has the id of a node.
    pub(crate) fn is_artifact(&self, node: Node) -> bool {
        node.place() < self.artifacts.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.artifacts.len() + self.named.len()
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.len()).map(Node::at)
    }

    /// Returns the sources of a node.
    pub(super) fn parents(&self, node: Node) -> &[Node] {
        self.parents.row(node.place())
    }

    /// Returns the nodes derived from a node.
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

#[derive(Clone, Debug, Default)]
pub(super) struct Components {
    /// All nodes, group after group; every parent outside a group comes before it.
    order: Vec<Node>,
    /// The end of each group in `order`.
    ends: Vec<usize>,
}

/// The state of a node in the walk.
#[derive(Clone, Copy, Default)]
struct Visit {
    /// The time of the first visit, from 1; 0 means not visited.
    met: u32,
    /// The earliest node on the stack it can reach.
    low: u32,
    on_stack: bool,
}

impl Components {
    /// Finds the groups.
    pub(super) fn of(graph: &Graph) -> Self {
        // Traces nearly always list sources before what was derived from them: then every node is a group by itself.
        let in_order = |node: Node| graph.parents(node).iter().all(|parent| *parent <= node);
        if graph.nodes().all(in_order) {
            return Self { order: graph.nodes().collect(), ends: (1..=graph.len()).collect() };
        }
        Self::walked(graph)
    }

    /// Finds the groups by Tarjan's algorithm, without recursion, because chains can be as long as traces.
    fn walked(graph: &Graph) -> Self {
        let mut walk = Walk {
            graph,
            visits: vec![Visit::default(); graph.len()],
            stack: Vec::new(),
            clock: 0,
            found: Self::default(),
        };
        for node in graph.nodes() {
            if walk.visit(node).met == 0 {
                walk.from(node);
            }
        }
        walk.found
    }

    /// Iterates over the groups, sources first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &[Node]> {
        (0..self.ends.len()).filter_map(|group| {
            let start = group.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
            self.order.get(start..*self.ends.get(group)?)
        })
    }
}

struct Walk<'a> {
    graph: &'a Graph,
    visits: Vec<Visit>,
    stack: Vec<Node>,
    clock: u32,
    found: Components,
}

impl Walk<'_> {
    fn from(&mut self, start: Node) {
        let mut path: Vec<(Node, usize)> = Vec::new();
        self.enter(start, &mut path);
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some(parent) = self.graph.parents(node).get(*next).copied() else {
                path.pop();
                self.leave(node);
                if let Some((child, _)) = path.last() {
                    let low = self.visit(node).low;
                    self.lower(*child, low);
                }
                continue;
            };
            *next += 1;
            let seen = self.visit(parent);
            if seen.met == 0 {
                self.enter(parent, &mut path);
            } else if seen.on_stack {
                self.lower(node, seen.met);
            }
        }
    }

    fn visit(&self, node: Node) -> Visit {
        self.visits.get(node.place()).copied().unwrap_or_default()
    }

    fn enter(&mut self, node: Node, path: &mut Vec<(Node, usize)>) {
        self.clock += 1;
        if let Some(visit) = self.visits.get_mut(node.place()) {
            *visit = Visit { met: self.clock, low: self.clock, on_stack: true };
        }
        self.stack.push(node);
        path.push((node, 0));
    }

    fn lower(&mut self, node: Node, low: u32) {
        if let Some(visit) = self.visits.get_mut(node.place()) {
            visit.low = visit.low.min(low);
        }
    }

    /// Closes the group of `node` when it is the first met of its group.
    fn leave(&mut self, node: Node) {
        let visit = self.visit(node);
        if visit.low != visit.met {
            return;
        }
        while let Some(member) = self.stack.pop() {
            if let Some(visit) = self.visits.get_mut(member.place()) {
                visit.on_stack = false;
            }
            self.found.order.push(member);
            if member == node {
                break;
            }
        }
        self.found.ends.push(self.found.order.len());
    }
}
