//! The operators of the language and how they are written.

/// Which earlier positions a past operator looks at.
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

/// How many elements of a set must satisfy the body.
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
#[expect(missing_docs, reason = "the names say it")]
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
