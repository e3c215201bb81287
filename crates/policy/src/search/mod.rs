//! Search for shortest traces that violate a formula, or satisfy several.
//!
//! The search walks breadth first through the states of a trace with respect to a formula: the memory of its past
//! operators and the obligations of its future operators. It adds one candidate action at a time, so the first trace
//! found is a shortest one. The states are finite: when all were seen and none satisfies, no trace of any length does.
//! Bounds keep it small: [`CANDIDATES_MAX`], [`STATES_MAX`], [`STEPS_MAX`] and [`LENGTH_MAX`].
//!
//! Candidates are made from the types, words, statuses and fields that the formula mentions, on one shared target and
//! chain or apart. The evaluator checks every trace before it is returned.

mod automaton;
mod candidate;
mod walk;

use hence_canon::Value;

use crate::formula::{Expr, Formula, Unary};
use crate::monitor::NotMonitorable;

/// The number of different actions a search tries at each step. Twelve independent words make as many.
pub const CANDIDATES_MAX: usize = 4096;

/// The number of states a search stores.
pub const STATES_MAX: usize = 20_000;

/// The number of actions a search tries in all: a second or two of work.
pub const STEPS_MAX: usize = 1_000_000;

/// The number of actions of a trace. Policies that need more than a dozen actions to be violated are budgets, about which
/// a longer trace tells nothing new.
pub const LENGTH_MAX: usize = 24;

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A shortest trace.
    Trace(Value),
    /// There is no such trace of any length: every state was visited.
    Nothing,
    /// There is none within the bounds; a longer one may exist.
    NothingWithin {
        /// The number of states visited.
        states: usize,
        /// The length of the longest trace.
        length: usize,
    },
}

/// The reasons why a formula cannot be searched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotSearchable {
    /// It is about lists or sets of the trace, for which no candidates are made.
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
    /// The evaluator does not confirm the trace found.
    #[error("the trace found for `{0}` is not confirmed by evaluation")]
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

/// Searches for a shortest trace on which a formula fails.
///
/// # Errors
/// [`NotSearchable`] when the formula is outside the searched fragment.
pub fn shortest_violation(formula: &Formula) -> Result<Found, NotSearchable> {
    walk::search(&Expr::Not(Box::new(formula.expr().clone())))
}

/// Searches for a shortest trace on which all formulas hold and every rule with a trigger is triggered.
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
