//! Evaluation of formulas on a finite trace.
//!
//! A formula is evaluated bottom-up for all positions at once: atoms become bitsets, connectives are word-wise,
//! each temporal operator is one pass, the two scoped operators are one pass over the artifact graph. The results for
//! parts without bound variables are cached, so many policies on one trace share their atoms.

mod atom;
mod datum;
mod evaluator;
mod identity;
mod predicate;
#[cfg(test)]
mod reference;
mod subject;
mod term;
mod truth;

pub(crate) use atom::ActionFacts;
pub(crate) use datum::Datum;
pub(crate) use evaluator::{Decided, Evaluator, Scopes, any_word};
pub use evaluator::{EVALUATION_STEPS_MAX, Undecided};
pub use subject::{Subject, TraceDefect};
pub(crate) use term::CURRENT;
pub use truth::SinceReading;
pub(crate) use truth::{PastState, Truth};
