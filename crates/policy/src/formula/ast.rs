//! The tree of a formula.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::{Binary, Comparison, Quantifier, Unary};

/// A name in a formula, with the place where it stands. Two words are equal when they read the same.
#[derive(Clone)]
pub struct Word {
    text: Arc<str>,
    offset: usize,
}

impl Word {
    /// Makes a word that stands at byte `offset`.
    pub fn at(text: &str, offset: usize) -> Self {
        Self { text: text.into(), offset }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the name, shared.
    pub(crate) fn shared(&self) -> Arc<str> {
        self.text.clone()
    }

    /// Returns the byte offset of the name in the formula it was read from.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self::at(text, 0)
    }
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Word {}

impl PartialOrd for Word {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Word {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, out)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// A formula, or a part of one: something that holds at a position or does not.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Expr {
    /// `true` or `false`.
    Constant(bool),
    /// A name: a type, a category, a status, a custom word.
    Atom(Word),
    /// `Type(φ, …)`: the type, with at least one of the conditions.
    Typed {
        /// The name of the type.
        name: Word,
        /// The conditions.
        conditions: Vec<Expr>,
    },
    /// `¬φ`
    Not(Box<Expr>),
    /// `φ ∧ ψ ∧ …`, at least two.
    And(Vec<Expr>),
    /// `φ ∨ ψ ∨ …`, at least two.
    Or(Vec<Expr>),
    /// `φ → ψ`
    Implies(Box<Expr>, Box<Expr>),
    /// `φ <-> ψ`
    Iff(Box<Expr>, Box<Expr>),
    /// `G φ`, `P_chain φ`, …
    Unary(Unary, Box<Expr>),
    /// `φ U ψ`, …
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `∀ x ∈ set . φ`
    Quantified {
        /// How many.
        quantifier: Quantifier,
        /// The bound variable.
        variable: Word,
        /// What it ranges over; every action when absent.
        set: Option<Term>,
        /// What must hold.
        body: Box<Expr>,
    },
    /// `count(φ) ≤ 3`
    Count {
        /// What is counted: positions of the trace where this holds.
        of: Box<Expr>,
        /// How the number is compared.
        comparison: Comparison,
        /// With what.
        bound: u64,
    },
    /// `term ≥ term`
    Compare {
        /// The left term.
        left: Term,
        /// The comparison.
        comparison: Comparison,
        /// The right term.
        right: Term,
    },
    /// `term ∈ set`
    Member {
        /// What must be in the set.
        element: Term,
        /// The set.
        set: Term,
    },
    /// A term standing alone: `r.blocking`, `ref_model(x)`.
    Holds(Term),
}

/// Something that has a value: a field, a set, a literal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Term {
    /// A variable, a field of the action, a list of the trace or a literal, told apart by where it stands.
    Word(Word),
    /// `r.target.target_id`
    Field {
        /// The variable, or the first field of the current action.
        base: Word,
        /// The members below it, at least one.
        path: Vec<Word>,
    },
    /// `inputs(a)`
    Call {
        /// The function.
        function: Word,
        /// What it is applied to.
        arguments: Vec<Term>,
    },
    /// `"a text"`
    Text(Arc<str>),
    /// `42`
    Int(u64),
    /// `∅`
    Empty,
    /// `{a, b, c}`
    List(Vec<Term>),
    /// `{x.name | x ∈ artifacts ∧ …}`
    Comprehension {
        /// What is collected.
        body: Box<Term>,
        /// From where, and which.
        guard: Box<Expr>,
    },
}
