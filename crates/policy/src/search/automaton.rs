//! A formula as a machine: what it remembers, what it still owes, and how an action changes both.

use super::NotSearchable;
use super::candidate::{Candidate, Link};
use super::obligation::Obligation;
use crate::eval::{Cell, SinceReading};
use crate::formula::{Binary, Comparison, Expr, Scope, Unary};
use crate::monitor::is_timeless;

/// A part of the formula, by its place; parts refer only to parts before them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct NodeId(usize);

#[derive(Debug)]
enum Node {
    /// Something about the present action: the place of its answer in each candidate.
    Present(usize),
    Not(NodeId),
    All(Vec<NodeId>),
    Any(Vec<NodeId>),
    Same(NodeId, NodeId),
    Globally(NodeId),
    Finally(NodeId),
    Next(NodeId),
    Until(NodeId, NodeId),
    /// A past operator: the place of its memory, its operands.
    Past(usize, NodeId, NodeId),
    /// A past operator within a scope.
    Scoped(usize, Scope, NodeId),
    /// A count, compared at the end: the place of its memory.
    Count(usize, NodeId, Comparison, u64),
}

/// What past operators and counts remember.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Memory {
    Bit(bool),
    /// How often, up to one more than the bound: beyond that all numbers compare alike.
    Count(u64),
}

/// The machine.
#[derive(Debug)]
pub(super) struct Automaton {
    nodes: Vec<Node>,
    /// Formulas about the present action, in the order of their places.
    pub(super) present: Vec<Expr>,
    cells: Vec<Cell>,
    root: NodeId,
}

/// Where a trace stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct State {
    memory: Vec<Memory>,
    owed: Obligation,
}

impl Automaton {
    pub(super) fn of(expr: &Expr) -> Result<Self, NotSearchable> {
        let mut automaton =
            Self { nodes: Vec::new(), present: Vec::new(), cells: Vec::new(), root: NodeId(0) };
        automaton.root = automaton.node(expr)?;
        Ok(automaton)
    }

    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    fn remember(&mut self, cell: Cell) -> usize {
        self.cells.push(cell);
        self.cells.len() - 1
    }

    fn node(&mut self, expr: &Expr) -> Result<NodeId, NotSearchable> {
        let node = match expr {
            _ if is_timeless(expr) => {
                self.present.push(expr.clone());
                Node::Present(self.present.len() - 1)
            }
            Expr::Not(inner) => Node::Not(self.node(inner)?),
            Expr::And(parts) => Node::All(self.several(parts)?),
            Expr::Or(parts) => Node::Any(self.several(parts)?),
            Expr::Implies(left, right) => {
                let left = self.node(left)?;
                Node::Any(vec![self.add(Node::Not(left)), self.node(right)?])
            }
            Expr::Iff(left, right) => Node::Same(self.node(left)?, self.node(right)?),
            // A count is known at the end only, so it may not be asked at single positions.
            Expr::Unary(_, inner) if counts(inner) => {
                return Err(NotSearchable::WholeTrace(inner.to_string()));
            }
            Expr::Binary(_, left, right) if counts(left) || counts(right) => {
                return Err(NotSearchable::WholeTrace(expr.to_string()));
            }
            Expr::Unary(operator, inner) => self.unary(*operator, inner)?,
            Expr::Binary(Binary::Until, left, right) => Node::Until(self.node(left)?, self.node(right)?),
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.past(left)?, self.past(right)?);
                let cell = match operator {
                    Binary::SinceLast => Cell::since_last(),
                    _ => Cell::since(SinceReading::Strict),
                };
                Node::Past(self.remember(cell), left, right)
            }
            Expr::Count { of, comparison, bound } => {
                let of = self.past(of)?;
                Node::Count(self.remember(Cell::Previously(false)), of, *comparison, *bound)
            }
            _ => return Err(NotSearchable::WholeTrace(expr.to_string())),
        };
        Ok(self.add(node))
    }

    fn unary(&mut self, operator: Unary, inner: &Expr) -> Result<Node, NotSearchable> {
        Ok(match operator {
            Unary::Globally => Node::Globally(self.node(inner)?),
            Unary::Finally => Node::Finally(self.node(inner)?),
            Unary::Next => Node::Next(self.node(inner)?),
            Unary::Previously(Scope::All) => {
                let inner = self.past(inner)?;
                Node::Past(self.remember(Cell::Previously(false)), inner, inner)
            }
            Unary::Historically(Scope::All) => {
                let inner = self.past(inner)?;
                Node::Past(self.remember(Cell::Historically(true)), inner, inner)
            }
            Unary::Previously(scope) => {
                let inner = self.past(inner)?;
                Node::Scoped(self.remember(Cell::Previously(false)), scope, inner)
            }
            Unary::Historically(scope) => {
                let inner = self.past(inner)?;
                let violated = self.add(Node::Not(inner));
                let cell = self.remember(Cell::Previously(false));
                Node::Not(self.add(Node::Scoped(cell, scope, violated)))
            }
        })
    }

    /// Reads an operand of a past operator, which must be known when it is asked.
    fn past(&mut self, expr: &Expr) -> Result<NodeId, NotSearchable> {
        if owes(expr) {
            return Err(NotSearchable::FutureInPast(expr.to_string()));
        }
        self.node(expr)
    }

    fn several(&mut self, parts: &[Expr]) -> Result<Vec<NodeId>, NotSearchable> {
        parts.iter().map(|part| self.node(part)).collect()
    }

    /// Returns the state of a trace without actions.
    pub(super) fn start(&self) -> State {
        let is_count = |place: usize| {
            self.nodes.iter().any(|node| matches!(node, Node::Count(memory, ..) if *memory == place))
        };
        let memory = self.cells.iter().enumerate().map(|(place, cell)| match is_count(place) {
            true => Memory::Count(0),
            false => Memory::Bit(bit(*cell)),
        });
        let owed = Obligation::Next { node: self.root, at_end: false };
        State { memory: memory.collect(), owed }
    }

    /// Returns whether a trace may end in this state with the formula satisfied.
    pub(super) fn accepts(&self, state: &State) -> bool {
        let counted = |node: NodeId| match self.nodes.get(node.0)? {
            Node::Count(place, _, comparison, bound) => {
                Some(comparison.holds(count(state.memory.get(*place)).cmp(bound)))
            }
            _ => None,
        };
        state.owed.at_end(&counted)
    }

    /// Returns the state after one more action.
    pub(super) fn step(&self, state: &State, candidate: &Candidate) -> State {
        let mut values: Vec<Obligation> = Vec::with_capacity(self.nodes.len());
        for (place, node) in self.nodes.iter().enumerate() {
            let value = self.value(NodeId(place), node, &values, state, candidate);
            values.push(value);
        }
        let value = |node: NodeId| values.get(node.0).cloned().unwrap_or(Obligation::Constant(false));
        let owed = state.owed.progress(&mut |node| value(node));
        let mut memory = state.memory.clone();
        for node in &self.nodes {
            self.advance(node, candidate, &mut memory, &|node| value(node) == Obligation::Constant(true));
        }
        State { memory, owed }
    }

    fn value(
        &self,
        id: NodeId,
        node: &Node,
        values: &[Obligation],
        state: &State,
        candidate: &Candidate,
    ) -> Obligation {
        let get = |node: NodeId| values.get(node.0).cloned().unwrap_or(Obligation::Constant(false));
        let known = |node: NodeId| get(node) == Obligation::Constant(true);
        match node {
            Node::Present(place) => Obligation::Constant(candidate.holds(*place)),
            Node::Not(inner) => get(*inner).not(),
            Node::All(parts) => Obligation::all(parts.iter().map(|part| get(*part))),
            Node::Any(parts) => Obligation::any(parts.iter().map(|part| get(*part))),
            Node::Same(left, right) => {
                let both = Obligation::all([get(*left), get(*right)]);
                let neither = Obligation::all([get(*left).not(), get(*right).not()]);
                Obligation::any([both, neither])
            }
            Node::Globally(inner) => {
                Obligation::all([get(*inner), Obligation::Next { node: id, at_end: true }])
            }
            Node::Finally(inner) => {
                Obligation::any([get(*inner), Obligation::Next { node: id, at_end: false }])
            }
            Node::Next(inner) => Obligation::Next { node: *inner, at_end: false },
            Node::Until(left, right) => {
                let later = Obligation::all([get(*left), Obligation::Next { node: id, at_end: false }]);
                Obligation::any([get(*right), later])
            }
            Node::Past(place, left, right) => {
                let cell = self.cell(*place, state.memory.get(*place));
                Obligation::Constant(cell.is_some_and(|cell| cell.peek(known(*left), known(*right))))
            }
            Node::Scoped(place, scope, _) => {
                let seen = state.memory.get(*place) == Some(&Memory::Bit(true));
                Obligation::Constant(seen && in_scope(*scope, candidate.link))
            }
            // A count speaks of the whole trace: it is owed until the end.
            Node::Count(..) => Obligation::Next { node: id, at_end: false },
        }
    }

    fn advance(
        &self,
        node: &Node,
        candidate: &Candidate,
        memory: &mut [Memory],
        known: &dyn Fn(NodeId) -> bool,
    ) {
        match node {
            Node::Past(place, left, right) => {
                let cell = self.cell(*place, memory.get(*place));
                if let (Some(mut cell), Some(slot)) = (cell, memory.get_mut(*place)) {
                    cell.advance(known(*left), known(*right));
                    *slot = Memory::Bit(bit(cell));
                }
            }
            Node::Scoped(place, scope, inner) => {
                if let Some(Memory::Bit(seen)) = memory.get_mut(*place) {
                    *seen |= in_scope(*scope, candidate.link) && known(*inner);
                }
            }
            Node::Count(place, of, _, bound) => {
                if let Some(Memory::Count(seen)) = memory.get_mut(*place) {
                    *seen = (*seen + u64::from(known(*of))).min(bound.saturating_add(1));
                }
            }
            _ => {}
        }
    }

    /// Returns the operator at a place, set to what it remembers.
    fn cell(&self, place: usize, memory: Option<&Memory>) -> Option<Cell> {
        let Some(Memory::Bit(bit)) = memory else { return None };
        Some(match self.cells.get(place)? {
            Cell::Previously(_) => Cell::Previously(*bit),
            Cell::Historically(_) => Cell::Historically(*bit),
            Cell::Since(_) => Cell::Since(*bit),
            Cell::SinceNonStrict(_) => Cell::SinceNonStrict(*bit),
            Cell::SinceLast(_) => Cell::SinceLast(*bit),
        })
    }

    /// Returns which scopes the formula uses.
    pub(super) fn uses(&self, scope: Scope) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Scoped(_, used, _) if *used == scope))
    }
}

fn bit(cell: Cell) -> bool {
    match cell {
        Cell::Previously(bit)
        | Cell::Historically(bit)
        | Cell::Since(bit)
        | Cell::SinceNonStrict(bit)
        | Cell::SinceLast(bit) => bit,
    }
}

fn count(memory: Option<&Memory>) -> u64 {
    match memory {
        Some(Memory::Count(count)) => *count,
        _ => 0,
    }
}

fn in_scope(scope: Scope, link: Link) -> bool {
    match scope {
        Scope::All => true,
        Scope::Target => link != Link::Apart,
        Scope::Chain => link == Link::Chain,
    }
}

/// Returns whether a formula depends on what is still to come.
fn owes(expr: &Expr) -> bool {
    match expr {
        Expr::Unary(Unary::Globally | Unary::Finally | Unary::Next, _)
        | Expr::Binary(Binary::Until, ..)
        | Expr::Count { .. } => true,
        Expr::Unary(_, inner) | Expr::Not(inner) => owes(inner),
        Expr::And(parts) | Expr::Or(parts) => parts.iter().any(owes),
        Expr::Implies(left, right) | Expr::Iff(left, right) | Expr::Binary(_, left, right) => {
            owes(left) || owes(right)
        }
        _ => false,
    }
}

/// Returns whether a formula counts.
fn counts(expr: &Expr) -> bool {
    match expr {
        Expr::Count { .. } => true,
        Expr::Unary(_, inner) | Expr::Not(inner) => counts(inner),
        Expr::And(parts) | Expr::Or(parts) => parts.iter().any(counts),
        Expr::Implies(left, right) | Expr::Iff(left, right) | Expr::Binary(_, left, right) => {
            counts(left) || counts(right)
        }
        _ => false,
    }
}
