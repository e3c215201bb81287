//! Where formulas hold on a finite trace.
//!
//! A formula is evaluated bottom-up for all positions at once: atoms become bitsets, connectives are word-wise,
//! each temporal operator is one pass, the two scoped operators are one pass over the artifact graph. Parts
//! without bound variables are remembered, so many policies over one trace share their atoms.

mod atom;
mod bits;
mod compare;
mod datum;
mod defect;
mod evaluator;
mod holds;
mod past;
mod predicate;
mod quantifier;
#[cfg(test)]
mod reference;
mod subject;
mod temporal;
mod term;
mod texts;
mod truth;

pub(crate) use atom::ActionFacts;
pub(crate) use datum::Datum;
pub use defect::TraceDefect;
pub(crate) use evaluator::Evaluator;
pub use evaluator::{EVALUATION_STEPS_MAX, Undecided};
pub(crate) use holds::any_word;
pub(crate) use past::Cell;
pub use past::SinceReading;
pub use subject::Subject;
pub(crate) use term::CURRENT;
pub(crate) use truth::Truth;
