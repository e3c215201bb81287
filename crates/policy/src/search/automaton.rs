//! A formula as a machine: the memory of its past operators, the obligations of its future operators, and how an action
//! changes both.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::NotSearchable;
use super::candidate::{Candidate, Link};
use crate::formula::{Binary, Comparison, Expr, Scope, Unary};
use crate::monitor::is_timeless;

/// A compiled formula. The obligations of a state are nodes too, simplified so that equal ones usually look equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Node {
    Constant(bool),
    /// A formula about the present action, by its index in [`Automaton::present`].
    Present(usize),
    /// A past operator, by its index in [`Automaton::memories`].
    Past(usize),
    /// A count, by its index in [`Automaton::memories`]. It is compared when the trace ends.
    Count(usize),
    Not(Arc<Node>),
    All(BTreeSet<Node>),
    Any(BTreeSet<Node>),
    Globally(Arc<Node>),
    Finally(Arc<Node>),
    Next(Arc<Node>),
    Until(Arc<Node>, Arc<Node>),
}

impl Node {
    fn not(self) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(!value),
            Self::Not(inner) => Arc::unwrap_or_clone(inner),
            other => Self::Not(Arc::new(other)),
        }
    }

    fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::join(parts, true)
    }

    fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::join(parts, false)
    }

    /// Joins parts; `neutral` is the constant that changes nothing, its opposite decides alone.
    fn join(parts: impl IntoIterator<Item = Self>, neutral: bool) -> Self {
        let mut joined = BTreeSet::new();
        for part in parts {
            match (part, neutral) {
                (Self::Constant(value), _) if value == neutral => {}
                (Self::Constant(value), _) => return Self::Constant(value),
                (Self::All(inner), true) | (Self::Any(inner), false) => joined.extend(inner),
                (other, _) => drop(joined.insert(other)),
            }
        }
        if joined.iter().any(|part| matches!(part, Self::Not(inner) if joined.contains(&**inner))) {
            return Self::Constant(!neutral);
        }
        match (joined.len(), neutral) {
            (0 | 1, _) => joined.pop_first().unwrap_or(Self::Constant(neutral)),
            (_, true) => Self::All(joined),
            (_, false) => Self::Any(joined),
        }
    }
}

/// An operator with memory: a number that starts at 0 and changes with each action.
#[derive(PartialEq, Eq, Debug)]
struct Memory {
    kind: MemoryKind,
    left: Node,
    right: Node,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MemoryKind {
    /// 1 once the operand held in scope.
    Previously(Scope),
    /// 1 once the operand did not hold in scope.
    Historically(Scope),
    /// The value of the operator at the next position.
    Since,
    /// The value of the operator at the next position.
    SinceLast,
    /// The count, up to one more than the bound: beyond that all numbers compare alike.
    Count(Comparison, u64),
}

/// The machine.
#[derive(Debug)]
pub(super) struct Automaton {
    /// Formulas about the present action.
    pub(super) present: Vec<Expr>,
    memories: Vec<Memory>,
    root: Node,
}

/// The state of a trace with respect to a formula.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct State {
    memory: Vec<u64>,
    owed: Node,
}

impl Automaton {
    pub(super) fn of(expr: &Expr) -> Result<Self, NotSearchable> {
        let mut automaton = Self { present: Vec::new(), memories: Vec::new(), root: Node::Constant(true) };
        automaton.root = automaton.compile(expr)?;
        Ok(automaton)
    }

    fn compile(&mut self, expr: &Expr) -> Result<Node, NotSearchable> {
        Ok(match expr {
            _ if is_timeless(expr) => Node::Present(index_of(&mut self.present, expr.clone())),
            Expr::Not(inner) => self.compile(inner)?.not(),
            Expr::And(parts) => Node::all(self.compile_all(parts)?),
            Expr::Or(parts) => Node::any(self.compile_all(parts)?),
            Expr::Implies(left, right) => Node::any([self.compile(left)?.not(), self.compile(right)?]),
            Expr::Iff(left, right) => {
                let (left, right) = (self.compile(left)?, self.compile(right)?);
                let neither = Node::all([left.clone().not(), right.clone().not()]);
                Node::any([Node::all([left, right]), neither])
            }
            // A count is known at the end only, so it cannot be used at single positions.
            Expr::Unary(_, inner) if counts(inner) => {
                return Err(NotSearchable::WholeTrace(inner.to_string()));
            }
            Expr::Binary(_, left, right) if counts(left) || counts(right) => {
                return Err(NotSearchable::WholeTrace(expr.to_string()));
            }
            Expr::Unary(operator, inner) => match operator {
                Unary::Globally => Node::Globally(self.compile(inner)?.into()),
                Unary::Finally => Node::Finally(self.compile(inner)?.into()),
                Unary::Next => Node::Next(self.compile(inner)?.into()),
                Unary::Previously(scope) => self.past(MemoryKind::Previously(*scope), inner, inner)?,
                Unary::Historically(scope) => self.past(MemoryKind::Historically(*scope), inner, inner)?,
            },
            Expr::Binary(operator, left, right) => match operator {
                Binary::Until => Node::Until(self.compile(left)?.into(), self.compile(right)?.into()),
                Binary::Since => self.past(MemoryKind::Since, left, right)?,
                Binary::SinceLast => self.past(MemoryKind::SinceLast, left, right)?,
            },
            Expr::Count { of, comparison, bound } => {
                match self.past(MemoryKind::Count(*comparison, *bound), of, of)? {
                    Node::Past(index) => Node::Count(index),
                    other => other,
                }
            }
            _ => return Err(NotSearchable::WholeTrace(expr.to_string())),
        })
    }

    fn compile_all(&mut self, parts: &[Expr]) -> Result<Vec<Node>, NotSearchable> {
        parts.iter().map(|part| self.compile(part)).collect()
    }

    /// Compiles an operator with memory. The value of its operands must be known at each position.
    fn past(&mut self, kind: MemoryKind, left: &Expr, right: &Expr) -> Result<Node, NotSearchable> {
        for operand in [left, right] {
            if has_future(operand) {
                return Err(NotSearchable::FutureInPast(operand.to_string()));
            }
        }
        let memory = Memory { kind, left: self.compile(left)?, right: self.compile(right)? };
        Ok(Node::Past(index_of(&mut self.memories, memory)))
    }

    /// Returns the state of a trace without actions.
    pub(super) fn start(&self) -> State {
        State { memory: vec![0; self.memories.len()], owed: Node::Next(self.root.clone().into()) }
    }

    /// Returns whether a trace may end in this state with the formula satisfied.
    pub(super) fn accepts(&self, state: &State) -> bool {
        self.holds_at_end(&state.owed, &state.memory)
    }

    fn holds_at_end(&self, owed: &Node, memory: &[u64]) -> bool {
        match owed {
            Node::Constant(value) => *value,
            Node::Not(inner) => !self.holds_at_end(inner, memory),
            Node::All(parts) => parts.iter().all(|part| self.holds_at_end(part, memory)),
            Node::Any(parts) => parts.iter().any(|part| self.holds_at_end(part, memory)),
            Node::Globally(_) => true,
            Node::Count(index) => match (self.memories.get(*index), memory.get(*index)) {
                (Some(Memory { kind: MemoryKind::Count(comparison, bound), .. }), Some(count)) => {
                    comparison.holds(count.cmp(bound))
                }
                _ => false,
            },
            Node::Finally(_) | Node::Next(_) | Node::Until(..) | Node::Present(_) | Node::Past(_) => false,
        }
    }

    /// Returns the state after one more action.
    pub(super) fn step(&self, state: &State, candidate: &Candidate) -> State {
        let position = Position { automaton: self, memory: &state.memory, candidate };
        let memory = self.memories.iter().zip(&state.memory);
        let memory = memory.map(|(memory, value)| position.advance(memory, *value));
        State { memory: memory.collect(), owed: position.progress(&state.owed) }
    }

    /// Returns whether the formula uses a scope.
    pub(super) fn uses(&self, scope: Scope) -> bool {
        let uses = |kind| kind == MemoryKind::Previously(scope) || kind == MemoryKind::Historically(scope);
        self.memories.iter().any(|memory| uses(memory.kind))
    }
}

/// One position of a trace: the memory before it, and the action there.
struct Position<'a> {
    automaton: &'a Automaton,
    memory: &'a [u64],
    candidate: &'a Candidate,
}

impl Position<'_> {
    /// Returns what an obligation of the last position amounts to at this one.
    fn progress(&self, owed: &Node) -> Node {
        match owed {
            Node::Next(inner) => self.evaluate(inner),
            Node::Not(inner) => self.progress(inner).not(),
            Node::All(parts) => Node::all(parts.iter().map(|part| self.progress(part))),
            Node::Any(parts) => Node::any(parts.iter().map(|part| self.progress(part))),
            other => self.evaluate(other),
        }
    }

    /// Evaluates a formula at this position. The part that depends on later positions remains as an obligation.
    fn evaluate(&self, node: &Node) -> Node {
        match node {
            Node::Present(index) => Node::Constant(self.candidate.holds(*index)),
            Node::Past(index) => Node::Constant(self.past(*index)),
            Node::Not(inner) => self.evaluate(inner).not(),
            Node::All(parts) => Node::all(parts.iter().map(|part| self.evaluate(part))),
            Node::Any(parts) => Node::any(parts.iter().map(|part| self.evaluate(part))),
            Node::Globally(inner) => Node::all([self.evaluate(inner), node.clone()]),
            Node::Finally(inner) => Node::any([self.evaluate(inner), node.clone()]),
            Node::Until(left, right) => {
                Node::any([self.evaluate(right), Node::all([self.evaluate(left), node.clone()])])
            }
            Node::Constant(_) | Node::Count(_) | Node::Next(_) => node.clone(),
        }
    }

    fn holds(&self, node: &Node) -> bool {
        self.evaluate(node) == Node::Constant(true)
    }

    /// Returns the value of a past operator.
    fn past(&self, index: usize) -> bool {
        let is_set = self.memory.get(index) == Some(&1);
        match self.automaton.memories.get(index).map(|memory| memory.kind) {
            Some(MemoryKind::Previously(scope)) => is_set && self.in_scope(scope),
            Some(MemoryKind::Historically(scope)) => !(is_set && self.in_scope(scope)),
            _ => is_set,
        }
    }

    /// Returns the memory after this position.
    fn advance(&self, memory: &Memory, value: u64) -> u64 {
        let (left, is_set) = (self.holds(&memory.left), value == 1);
        let next = match memory.kind {
            MemoryKind::Previously(scope) => is_set || (left && self.in_scope(scope)),
            MemoryKind::Historically(scope) => is_set || (!left && self.in_scope(scope)),
            MemoryKind::Since => self.holds(&memory.right) || (left && is_set),
            MemoryKind::SinceLast => !self.holds(&memory.right) && (left || is_set),
            MemoryKind::Count(_, bound) => return (value + u64::from(left)).min(bound.saturating_add(1)),
        };
        next.into()
    }

    fn in_scope(&self, scope: Scope) -> bool {
        match scope {
            Scope::All => true,
            Scope::Target => self.candidate.link != Link::Apart,
            Scope::Chain => self.candidate.link == Link::Chain,
        }
    }
}

/// Returns the index of an item in a list, where it is added if it is new.
fn index_of<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// Returns whether a formula depends on later positions.
fn has_future(expr: &Expr) -> bool {
    use Unary::{Finally, Globally, Next};
    counts(expr)
        || expr.any(&|part| {
            matches!(part, Expr::Unary(Globally | Finally | Next, _) | Expr::Binary(Binary::Until, ..))
        })
}

/// Returns whether a formula counts.
fn counts(expr: &Expr) -> bool {
    expr.any(&|part| matches!(part, Expr::Count { .. }))
}
