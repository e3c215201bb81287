//! Groups of nodes that derive from each other, sources first.
//!
//! A well-formed trace has only groups of one. Answering over groups keeps every pass linear on damaged ones.

use super::graph::{Graph, Node};

#[derive(Clone, Debug, Default)]
pub(super) struct Components {
    /// All nodes, group after group; every parent outside a group stands before it.
    order: Vec<Node>,
    /// Where each group ends in `order`.
    ends: Vec<usize>,
}

/// What the walk knows of a node.
#[derive(Clone, Copy, Default)]
struct Visit {
    /// When the node was first met, from 1; 0 means not yet.
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

    /// Finds the groups by Tarjan's walk, with its recursion kept on the heap: chains can be as long as traces.
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
