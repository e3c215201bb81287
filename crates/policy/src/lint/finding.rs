//! Findings, and how much of the language a formula needs.

use std::fmt;

use hence_review::validate::Severity;

use crate::formula::{Binary, Expr, Location, Scope, SyntaxError, Unary};
use crate::vocabulary::Atom;

/// One defect of a policy, or one thing in it that may not mean what its author meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The kind of finding.
    pub kind: FindingKind,
    /// The location in the formula, for findings about one word.
    pub location: Option<Location>,
}

impl Finding {
    /// Returns the severity: an error means that the policy cannot be evaluated or has a misspelt word, a warning that it
    /// may not mean what its author meant.
    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// Returns whether the policy must be corrected before it is used.
    pub fn is_error(&self) -> bool {
        self.severity() == Severity::Error
    }

    /// Returns whether the policy has no verdict on any trace. A misspelt word is refused in a new policy; one that a run
    /// has installed before is still judged as it is written.
    pub fn prevents_evaluation(&self) -> bool {
        let is_misspelt =
            matches!(self.kind, FindingKind::MisspeltType { .. } | FindingKind::MisspeltMember { .. });
        self.is_error() && !is_misspelt
    }
}

impl From<FindingKind> for Finding {
    /// Makes a finding about the policy as a whole.
    fn from(kind: FindingKind) -> Self {
        Self { kind, location: None }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.location {
            Some(location) => write!(out, "{} at {location}", self.kind),
            None => self.kind.fmt(out),
        }
    }
}

/// The kinds of findings.
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
        /// The value found.
        found: String,
        /// The values allowed.
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
        /// The number of its arguments.
        arity: usize,
    },
    /// A name before a dot or in parentheses that nothing binds.
    #[error("`{0}` is neither bound by a quantifier nor a field of an action")]
    UnboundVariable(String),
    /// A variable used as a formula.
    #[error("`{0}` is a variable, not a formula")]
    VariableAsFormula(String),
    /// A comparison whose left side names nothing.
    #[error("`{0}` is not a field of an action, so there is nothing to compare")]
    NothingToCompare(String),
    /// `Type(…)` with an unknown type.
    #[error("`{0}` is not a known type, so it cannot carry conditions")]
    UnknownConditionedType(String),
    /// A comprehension without a set for its variable.
    #[error("`{0}` does not say what its variable ranges over; begin the guard with `x ∈ set ∧ …`")]
    NoRange(String),
    /// A word that is searched for in texts.
    #[error("`{0}` is not a standard atom; it is looked for in the texts of actions, which is a guess")]
    CustomWord(String),
    /// An unknown CamelCase name.
    #[error(
        "`{0}` is not a standard type; it is compared with the type of actions as written (`custom_actions: [{0}]` in the policy declares it)"
    )]
    ForeignType(String),
    /// A CamelCase name that is nearly a standard type: the rule would never apply.
    #[error(
        "there is no type `{found}`; did you mean `{meant}`? (`custom_actions: [{found}]` in the policy declares another)"
    )]
    MisspeltType {
        /// The name.
        found: String,
        /// The standard type that it resembles.
        meant: String,
    },
    /// A member of the policy object that is nearly a known one: its value would have no effect.
    #[error("a policy has no member `{found}`; did you mean `{meant}`?")]
    MisspeltMember {
        /// The member.
        found: String,
        /// The known member that it resembles.
        meant: &'static str,
    },
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
    /// A past operator that is evaluated at the first position only.
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
    /// An atom, field or list that no run and no imported log has.
    #[error("nothing that hence runs or imports writes {what}, so a rule about it never applies; {instead}")]
    NeverWritten {
        /// The atom, field or list.
        what: String,
        /// The word to use instead.
        instead: String,
    },
    /// A repeated operand.
    #[error("`{0}` is repeated")]
    Repeated(String),
    /// The declared level is not the one the formula needs.
    #[error("the declared level is {declared}, the formula needs {found}")]
    Level {
        /// The declared level.
        declared: String,
        /// The level of the formula.
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
            | Self::MisspeltType { .. }
            | Self::MisspeltMember { .. }
            | Self::NoRange(_) => Severity::Error,
            _ => Severity::Warning,
        }
    }
}

hence_canon::words! {
    /// The part of the language a formula needs.
    pub enum LanguageLevel {
        /// Atoms, connectives and unscoped temporal operators: needs only the order of actions.
        PureTemporal = "pure_temporal",
        /// Also operators scoped by target, chain or the last occurrence: needs lineage.
        ScopedTemporal = "scoped_temporal",
        /// Also quantifiers, sets, counts or named checks: needs the whole trace.
        Structural = "structural",
    }
}

impl LanguageLevel {
    /// Returns the level of a formula.
    pub fn of(expr: &Expr) -> Self {
        let own = match expr {
            Expr::Quantified { .. } | Expr::Count { .. } | Expr::Member { .. } => Self::Structural,
            // A field of the action compared with a literal needs only the action.
            Expr::Compare { left, right, .. } => {
                use crate::formula::Term::{Call, Comprehension, List};
                let is_set = |term| matches!(term, &Call { .. } | &Comprehension { .. } | &List(_));
                if is_set(left) || is_set(right) { Self::Structural } else { Self::PureTemporal }
            }
            Expr::Atom(word) if matches!(Atom::of(word.as_str()), Atom::NamedCheck(_)) => Self::Structural,
            Expr::Unary(Unary::Previously(scope) | Unary::Historically(scope), _) if *scope != Scope::All => {
                Self::ScopedTemporal
            }
            Expr::Binary(Binary::SinceLast, ..) => Self::ScopedTemporal,
            _ => Self::PureTemporal,
        };
        expr.parts().map(Self::of).fold(own, Self::max)
    }
}
