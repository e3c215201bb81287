//! The tree of a formula, and the operators in it.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A name in a formula, with its byte offset. Two words are equal when their texts are.
#[derive(Clone)]
pub struct Word {
    text: Arc<str>,
    offset: usize,
}

impl Word {
    /// Makes a word at byte `offset`.
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
        /// The number of elements that must satisfy the body.
        quantifier: Quantifier,
        /// The bound variable.
        variable: Word,
        /// The set it ranges over; every action when absent.
        set: Option<Term>,
        /// The formula about one element.
        body: Box<Expr>,
    },
    /// `count(φ) ≤ 3`
    Count {
        /// The formula whose positions are counted.
        of: Box<Expr>,
        /// The comparison of the count with the bound.
        comparison: Comparison,
        /// The bound.
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
        /// The element.
        element: Term,
        /// The set.
        set: Term,
    },
    /// A term used as a formula: `r.blocking`, `ref_model(x)`.
    Holds(Term),
}

impl Expr {
    /// Returns whether the formula at one position is about other positions, too: atoms, temporal operators, counts and types.
    pub(crate) fn needs_other_positions(&self) -> bool {
        !matches!(
            self,
            Self::Not(_)
                | Self::And(_)
                | Self::Or(_)
                | Self::Implies(..)
                | Self::Iff(..)
                | Self::Compare { .. }
                | Self::Member { .. }
                | Self::Holds(_)
                | Self::Quantified { .. }
        )
    }

    /// Iterates over the direct subformulas. Formulas inside terms are not among them.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Expr> {
        let (list, left, right): (&[Expr], Option<&Expr>, Option<&Expr>) = match self {
            Self::And(parts) | Self::Or(parts) | Self::Typed { conditions: parts, .. } => (parts, None, None),
            Self::Not(inner)
            | Self::Unary(_, inner)
            | Self::Count { of: inner, .. }
            | Self::Quantified { body: inner, .. } => (&[], Some(inner), None),
            Self::Implies(left, right) | Self::Iff(left, right) | Self::Binary(_, left, right) => {
                (&[], Some(left), Some(right))
            }
            Self::Constant(_)
            | Self::Atom(_)
            | Self::Compare { .. }
            | Self::Member { .. }
            | Self::Holds(_) => (&[], None, None),
        };
        list.iter().chain(left).chain(right)
    }

    /// Returns whether `test` is true of the formula or of any subformula.
    pub(crate) fn any(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        test(self) || self.parts().any(|part| part.any(test))
    }
}

/// An expression with a value: a field, a set, a literal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Term {
    /// A variable, a field of the action, a list of the trace or a literal, depending on its context.
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
        /// The arguments.
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
        /// The term collected for each element.
        body: Box<Term>,
        /// The set to collect from, and the conditions on an element.
        guard: Box<Expr>,
    },
}

/// The earlier positions a past operator looks at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// Every earlier action.
    All,
    /// Earlier actions that share a target with the current one.
    Target,
    /// Earlier actions in whose outputs the current one has its origin.
    Chain,
}

/// A temporal operator with one operand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Unary {
    /// `G`: here and at every later position.
    Globally,
    /// `F`: here or at some later position.
    Finally,
    /// `X`: there is a next position and it holds there.
    Next,
    /// `P`: at some earlier position in scope.
    Previously(Scope),
    /// `H`: at every earlier position in scope.
    Historically(Scope),
}

impl Unary {
    /// Every operator, as written.
    pub const ALL: [(&'static str, Self); 9] = [
        ("G", Self::Globally),
        ("F", Self::Finally),
        ("X", Self::Next),
        ("P", Self::Previously(Scope::All)),
        ("H", Self::Historically(Scope::All)),
        ("P_target", Self::Previously(Scope::Target)),
        ("P_chain", Self::Previously(Scope::Chain)),
        ("H_target", Self::Historically(Scope::Target)),
        ("H_chain", Self::Historically(Scope::Chain)),
    ];

    /// Returns the operator written `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(written, _)| *written == word).map(|(_, operator)| *operator)
    }

    /// Returns how the operator is written.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, operator)| *operator == self).map_or("", |(word, _)| word)
    }
}

/// A temporal operator with two operands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Binary {
    /// `φ U ψ`: ψ here or later, and φ at every position before that.
    Until,
    /// `φ S ψ`: ψ at an earlier position, and φ at every position strictly between.
    Since,
    /// `φ S_last ψ`: φ at some position strictly between the last ψ (or the start) and here.
    SinceLast,
}

impl Binary {
    /// Every operator, as written.
    pub const ALL: [(&'static str, Self); 3] =
        [("U", Self::Until), ("S", Self::Since), ("S_last", Self::SinceLast)];

    /// Returns the operator written `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(written, _)| *written == word).map(|(_, operator)| *operator)
    }

    /// Returns how the operator is written.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, operator)| *operator == self).map_or("", |(word, _)| word)
    }
}

/// The number of elements that must satisfy the body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Quantifier {
    /// `∀`: every one.
    All,
    /// `∃`: at least one.
    Some,
    /// `∃!`: exactly one.
    One,
}

/// A comparison of two terms, or of a count with a bound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "the names are clear")]
pub enum Comparison {
    Equal,
    NotEqual,
    AtLeast,
    AtMost,
    Above,
    Below,
}

impl Comparison {
    /// Returns whether two things in this `order` satisfy the comparison.
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::AtLeast => order.is_ge(),
            Self::AtMost => order.is_le(),
            Self::Above => order.is_gt(),
            Self::Below => order.is_lt(),
        }
    }
}
