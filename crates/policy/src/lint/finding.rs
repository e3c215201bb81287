//! Findings.

use std::fmt;

use hence_review::validate::Severity;

use crate::formula::{Place, SyntaxError};

/// Something a reader of a policy should know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// Where in the formula, for findings about one.
    pub place: Option<Place>,
}

impl Finding {
    /// Returns the severity: an error means that the policy cannot be evaluated, a warning that it may not mean
    /// what its author meant.
    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// Returns whether the policy cannot be evaluated.
    pub fn is_error(&self) -> bool {
        self.severity() == Severity::Error
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(out, "{} at {place}", self.kind),
            None => self.kind.fmt(out),
        }
    }
}

/// What a finding says.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindingKind {
    /// A required member of the policy object is missing.
    #[error("the policy has no `{0}`")]
    MissingMember(&'static str),
    /// A member of the policy object has a value it cannot have.
    #[error("`{member}` is {found}; expected {expected}")]
    InvalidMember {
        /// The member.
        member: String,
        /// What it holds.
        found: String,
        /// What it may hold.
        expected: String,
    },
    /// The formula cannot be read.
    #[error("{0}")]
    Syntax(SyntaxError),
    /// A function the language does not have.
    #[error("there is no function `{name}` of {arity} arguments")]
    UnknownFunction {
        /// Its name.
        name: String,
        /// How many arguments it is given.
        arity: usize,
    },
    /// A name before a dot or in parentheses that nothing binds.
    #[error("`{0}` is neither bound by a quantifier nor a field of an action")]
    UnboundVariable(String),
    /// A variable standing where a formula must.
    #[error("`{0}` is a variable, not a formula")]
    VariableAsFormula(String),
    /// A comparison whose left side names nothing.
    #[error("`{0}` is not a field of an action, so there is nothing to compare")]
    NothingToCompare(String),
    /// `Type(…)` with a type no list knows.
    #[error("`{0}` is not a known type, so it cannot carry conditions")]
    UnknownConditionedType(String),
    /// A comprehension that does not say what its variable ranges over.
    #[error("`{0}` does not say what its variable ranges over; begin the guard with `x ∈ set ∧ …`")]
    NoRange(String),
    /// A word that is looked for in texts.
    #[error("`{0}` is not a standard atom; it is looked for in the texts of actions, which is a guess")]
    CustomWord(String),
    /// A CamelCase name no list knows.
    #[error("`{0}` is not a standard type; it is compared with the type of actions as written")]
    ForeignType(String),
    /// A field actions usually do not have.
    #[error("actions usually have no field `{0}`")]
    OddField(String),
    /// A field that is a list, compared as text.
    #[error(
        "`{0}` is a list and a bare field is compared as text, so it is always empty; write `{0}(a) ≠ ∅`"
    )]
    ListAsText(String),
    /// A list traces usually do not have.
    #[error("traces usually have no list `{0}`, and a missing list is empty")]
    OddList(String),
    /// `G` inside `G`.
    #[error("`G` inside `G` is usually redundant on a finite trace")]
    NestedGlobally,
    /// `X` anywhere.
    #[error("`X` is rarely meant in a policy; consider `F` or `P`")]
    Next,
    /// A past operator that is only asked at the first position.
    #[error("`{0}` stands outside any operator that moves, so it is asked at the start only")]
    PastAtStart(&'static str),
    /// A variable the body does not use.
    #[error("the body does not use `{0}`")]
    UnusedVariable(String),
    /// A part that no action can satisfy.
    #[error("no action can satisfy `{0}`")]
    NeverHolds(String),
    /// A part that every action satisfies.
    #[error("every action satisfies `{0}`")]
    AlwaysHolds(String),
    /// A rule whose trigger cannot occur.
    #[error("the trigger `{0}` can never occur, so the policy never applies")]
    VacuousTrigger(String),
    /// A rule that demands nothing.
    #[error("what the policy demands, `{0}`, always holds")]
    VacuousDemand(String),
    /// An operand that is already there.
    #[error("`{0}` is repeated")]
    Repeated(String),
    /// The declared level is not the one the formula needs.
    #[error("the declared level is {declared}, the formula needs {found}")]
    Level {
        /// What the policy declares.
        declared: String,
        /// What the formula is.
        found: super::LanguageLevel,
    },
}

impl FindingKind {
    /// Returns the severity of a finding of this kind.
    pub fn severity(&self) -> Severity {
        match self {
            Self::MissingMember(_)
            | Self::InvalidMember { .. }
            | Self::Syntax(_)
            | Self::UnknownFunction { .. }
            | Self::UnboundVariable(_)
            | Self::VariableAsFormula(_)
            | Self::NothingToCompare(_)
            | Self::UnknownConditionedType(_)
            | Self::NoRange(_) => Severity::Error,
            _ => Severity::Warning,
        }
    }
}
