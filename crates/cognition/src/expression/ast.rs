//! The tree of an expression.

use std::fmt;
use std::sync::Arc;

use hence_canon::Value;

use crate::reference::{Namespace, Reference};

/// An expression that has been read. Cloning shares.
#[derive(Clone, PartialEq, Eq)]
pub struct Expression(pub(super) Arc<Inner>);

#[derive(PartialEq, Eq)]
pub(super) struct Inner {
    pub(super) text: Box<str>,
    pub(super) root: Node,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Node {
    Literal(Value),
    Reference(Reference),
    Whole(Namespace),
    List(Box<[Node]>),
    Not(Box<Node>),
    /// At least two operands.
    And(Box<[Node]>),
    /// At least two operands.
    Or(Box<[Node]>),
    /// The first of at least two operands that is not `null`. Names may be missing in all but the last.
    Else(Box<[Node]>),
    Compare {
        operator: Operator,
        sides: Box<(Node, Node)>,
        /// The offset of the operator, for errors.
        at: usize,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    In,
    NotIn,
}

impl Expression {
    /// Returns the text it was read from.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns every reference in it, from left to right.
    pub fn references(&self) -> Vec<Reference> {
        self.named().into_iter().map(|(reference, _)| reference).collect()
    }

    /// Returns every reference in it, from left to right, and whether it must name something.
    pub fn named(&self) -> Vec<(Reference, Demand)> {
        let mut found = Vec::new();
        self.0.root.collect(Demand::MustExist, &mut found);
        found
    }
}

impl Expression {
    /// Returns whether it can hold only where another expression holds, as far as its parts show: everything that the other
    /// joins by `and` is one of its own parts.
    pub fn implies(&self, other: &Self) -> bool {
        let own = self.0.root.conjuncts();
        other.0.root.conjuncts().iter().all(|needed| own.iter().any(|part| part.is_same(needed)))
    }
}

/// The demand of an expression on one of its references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// It must name something.
    MustExist,
    /// A default follows after `??`.
    HasDefault,
}

impl Node {
    /// Returns the parts that all must hold.
    fn conjuncts(&self) -> &[Self] {
        match self {
            Self::And(parts) => parts,
            other => std::slice::from_ref(other),
        }
    }

    /// Returns whether two trees are equal, wherever they stand in their texts.
    fn is_same(&self, other: &Self) -> bool {
        let all_same = |one: &[Self], other: &[Self]| {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_same(other))
        };
        match (self, other) {
            (Self::List(one), Self::List(other))
            | (Self::And(one), Self::And(other))
            | (Self::Or(one), Self::Or(other))
            | (Self::Else(one), Self::Else(other)) => all_same(one, other),
            (Self::Not(one), Self::Not(other)) => one.is_same(other),
            (
                Self::Compare { operator: one, sides: own, .. },
                Self::Compare { operator: other, sides: its, .. },
            ) => one == other && own.0.is_same(&its.0) && own.1.is_same(&its.1),
            _ => self == other,
        }
    }

    fn collect(&self, demand: Demand, found: &mut Vec<(Reference, Demand)>) {
        match self {
            Self::Literal(_) | Self::Whole(_) => {}
            Self::Reference(reference) => found.push((reference.clone(), demand)),
            Self::Not(inner) => inner.collect(demand, found),
            Self::List(nodes) | Self::And(nodes) | Self::Or(nodes) => {
                nodes.iter().for_each(|node| node.collect(demand, found));
            }
            Self::Else(nodes) => {
                if let Some((last, others)) = nodes.split_last() {
                    others.iter().for_each(|node| node.collect(Demand::HasDefault, found));
                    last.collect(demand, found);
                }
            }
            Self::Compare { sides, .. } => {
                sides.0.collect(demand, found);
                sides.1.collect(demand, found);
            }
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text())
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text(), out)
    }
}
