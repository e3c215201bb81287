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
        let mut found = Vec::new();
        self.0.root.collect(&mut found);
        found
    }
}

impl Node {
    fn collect(&self, found: &mut Vec<Reference>) {
        match self {
            Self::Literal(_) | Self::Whole(_) => {}
            Self::Reference(reference) => found.push(reference.clone()),
            Self::Not(inner) => inner.collect(found),
            Self::List(nodes) | Self::And(nodes) | Self::Or(nodes) => {
                nodes.iter().for_each(|node| node.collect(found));
            }
            Self::Compare { sides, .. } => {
                sides.0.collect(found);
                sides.1.collect(found);
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
