//! Residuals: those that follow from a trace without being declared, their order, and their life across a chain
//! of successor traces.

mod chain;
mod declare;
mod derived;
mod order;

pub(crate) use chain::predecessors;
pub use chain::{ChainLink, GapHistory, chain_gaps, unlinked};
pub use declare::{DeclareError, declare_derived, declare_residual};
pub use derived::{Basis, DerivedResidual, derive_residuals, stale_residuals};
pub use order::by_severity;
