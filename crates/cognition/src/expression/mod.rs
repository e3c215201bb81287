//! The expression language of conditions, loops and routers.
//!
//! ```text
//! or         = and { "or" and }
//! and        = not { "and" not }
//! not        = "not" not | comparison
//! comparison = default [ ( "==" | "!=" | ">" | "<" | ">=" | "<=" | "in" | "not" "in" ) default ]
//! default    = value { "??" value }
//! value      = number | string | "true" | "false" | "null" | "none" | list | "(" or ")" | reference
//! list       = "[" [ or { "," or } ] "]"
//! reference  = name { "." ( name | digits ) }
//! ```
//!
//! A name under which memory holds nothing is an error, unless a default follows: `vars.retries ?? 0 < 3`. What comes
//! before `??` may be missing or `null`.
//!
//! An expression is read once and evaluated often. It has no arithmetic, no calls and no way to change anything;
//! length, nesting and work are bounded.

mod ast;
mod evaluate;
mod parse;
mod token;

pub use ast::{Demand, Expression};
pub use evaluate::{EvaluateError, WORK_MAX, is_true};
pub use parse::{NESTING_MAX, ParseExpressionError, ParseExpressionErrorKind};
pub use token::LENGTH_BYTES_MAX;

/// An expression that cannot be read or has no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExpressionError {
    /// The text is not an expression.
    #[error(transparent)]
    Parse(#[from] ParseExpressionError),
    /// The expression has no value in this memory.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
}

#[cfg(test)]
mod tests;
