//! Authoring: operations that write a trace one after the other, and the draft that they add up to.
//!
//! An agent that nobody runs and nobody imports reports what it does as it does it. Each report is an [`Operation`] in the
//! words of the trace format. A [`Draft`] is the fold of the operations so far: it accepts an operation or refuses it and
//! stays as it is.

mod draft;
mod operation;
mod refusal;

pub use draft::{Agent, Draft, TASK_ACTION, TASK_ARTIFACT};
pub use operation::{Change, Operation, OperationKind};
pub use refusal::Refusal;

#[cfg(test)]
mod tests;
