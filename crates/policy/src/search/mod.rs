//! Shortest traces that violate a formula, or satisfy several.
//!
//! The search walks the states a trace can be in with respect to a formula — what its past operators remember,
//! what its future operators still owe — breadth first, one candidate action at a time, so the first trace found
//! is a shortest one. The states are finite: when all were seen and none will do, no trace of any length will.
//! Bounds keep it small: [`CANDIDATES_MAX`], [`STATES_MAX`], [`STEPS_MAX`] and [`LENGTH_MAX`].
//!
//! Candidates are made from what the formula mentions: its types, words, statuses and fields, on one shared
//! target and chain or apart. Every trace found is checked by the evaluator before it is returned.

mod automaton;
mod candidate;
mod obligation;
mod walk;

use hence_canon::Value;

use crate::formula::{Expr, Formula, Unary};
use crate::monitor::NotMonitorable;

/// How many different actions a search tries at each step. Twelve independent words make as many.
pub const CANDIDATES_MAX: usize = 4096;

/// How many states a search keeps.
pub const STATES_MAX: usize = 20_000;

/// How many actions a search tries in all: a second or two of work.
pub const STEPS_MAX: usize = 1_000_000;

/// How long a trace may get. Policies that need more than a dozen actions to be violated are budgets, and the
/// number of actions says nothing new.
pub const LENGTH_MAX: usize = 24;

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A shortest trace.
    Trace(Value),
    /// No trace of candidates, of any length, will do: every state was seen.
    Nothing,
    /// None within the bounds; there may be a longer one.
    NothingWithin {
        /// How many states were visited.
        states: usize,
        /// How long the longest trace was.
        length: usize,
    },
}

/// Why a formula cannot be searched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotSearchable {
    /// It speaks of lists or sets of the trace, for which no candidates are made.
    #[error("`{0}` speaks of the whole trace, and only actions are searched")]
    WholeTrace(String),
    /// A past operator over the future.
    #[error("`{0}` looks back at what was still to come")]
    FutureInPast(String),
    /// A part for which no candidate actions are known.
    #[error("no candidate actions are known for `{0}`")]
    NoCandidates(String),
    /// More candidates than [`CANDIDATES_MAX`].
    #[error("the formula mentions so much that there are more than {CANDIDATES_MAX} candidate actions")]
    TooManyCandidates,
    /// A trace that the evaluator judges otherwise.
    #[error("the trace found for `{0}` does not stand up to evaluation")]
    Unconfirmed(String),
}

impl From<NotMonitorable> for NotSearchable {
    fn from(reason: NotMonitorable) -> Self {
        match reason {
            NotMonitorable::WholeTrace(part)
            | NotMonitorable::Future(part)
            | NotMonitorable::Invalid(part) => Self::WholeTrace(part),
        }
    }
}

/// Looks for a shortest trace on which a formula fails.
///
/// # Errors
/// [`NotSearchable`] when the formula is outside the searched fragment.
pub fn shortest_violation(formula: &Formula) -> Result<Found, NotSearchable> {
    walk::search(&Expr::Not(Box::new(formula.expr().clone())))
}

/// Looks for a shortest trace on which all formulas hold, and every rule with a trigger is triggered.
///
/// # Errors
/// [`NotSearchable`] when a formula is outside the searched fragment.
pub fn joint_satisfaction(formulas: &[&Formula]) -> Result<Found, NotSearchable> {
    let mut parts = vec![Expr::Constant(true)];
    for formula in formulas {
        parts.push(formula.expr().clone());
        if let Expr::Unary(Unary::Globally, body) = formula.expr()
            && let Expr::Implies(trigger, _) = &**body
        {
            parts.push(Expr::Unary(Unary::Finally, trigger.clone()));
        }
    }
    walk::search(&Expr::And(parts))
}

#[cfg(test)]
mod tests;
