//! Lineage: which step wrote a value and from what, and what depends on it.
//!
//! It is computed from the outcomes of a run and the skill they came from: reads and writes are declared, so
//! nothing has to be watched while the run goes on.

mod graph;

pub use graph::{Lineage, Source, Written};

#[cfg(test)]
mod tests;
