//! How much of the language a formula needs.

use std::fmt;

use crate::formula::{Binary, Expr, Scope, Unary};
use crate::vocabulary::Atom;

/// How much of the language a formula needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LanguageLevel {
    /// Atoms, connectives and unscoped temporal operators: needs only the order of actions.
    PureTemporal,
    /// Also operators scoped by target, chain or the last occurrence: needs lineage.
    ScopedTemporal,
    /// Also quantifiers, sets, counts or named checks: needs the whole trace.
    Structural,
}

impl LanguageLevel {
    /// Finds the level of a formula.
    pub fn of(expr: &Expr) -> Self {
        match expr {
            Expr::Quantified { .. } | Expr::Count { .. } | Expr::Member { .. } => Self::Structural,
            // A field of the action compared with nothing needs only the action.
            Expr::Compare { left, right, .. } => {
                use crate::formula::Term::{Call, Comprehension, List};
                let is_set = |term| matches!(term, &Call { .. } | &Comprehension { .. } | &List(_));
                if is_set(left) || is_set(right) { Self::Structural } else { Self::PureTemporal }
            }
            Expr::Atom(word) if matches!(Atom::of(word.as_str()), Atom::Structural(_)) => Self::Structural,
            Expr::Constant(_) | Expr::Atom(_) | Expr::Holds(_) => Self::PureTemporal,
            Expr::Typed { conditions: parts, .. } | Expr::And(parts) | Expr::Or(parts) => {
                parts.iter().map(Self::of).max().unwrap_or(Self::PureTemporal)
            }
            Expr::Not(inner) => Self::of(inner),
            Expr::Implies(left, right) | Expr::Iff(left, right) => Self::of(left).max(Self::of(right)),
            Expr::Unary(operator, inner) => {
                let own = match operator {
                    Unary::Previously(Scope::Target | Scope::Chain)
                    | Unary::Historically(Scope::Target | Scope::Chain) => Self::ScopedTemporal,
                    _ => Self::PureTemporal,
                };
                own.max(Self::of(inner))
            }
            Expr::Binary(operator, left, right) => {
                let own = match operator {
                    Binary::SinceLast => Self::ScopedTemporal,
                    Binary::Until | Binary::Since => Self::PureTemporal,
                };
                own.max(Self::of(left)).max(Self::of(right))
            }
        }
    }

    /// Returns the word for the level.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PureTemporal => "pure_temporal",
            Self::ScopedTemporal => "scoped_temporal",
            Self::Structural => "structural",
        }
    }
}

impl fmt::Display for LanguageLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}
