//! Residuals: those that follow from a trace without being declared, their order, and their life across a chain
//! of successor traces.

mod chain;
mod derived;

pub(crate) use chain::predecessors;
pub use chain::{ChainLink, GapHistory, chain_gaps, unlinked};
pub use derived::{
    Basis, DeclareError, DerivedResidual, by_severity, declare_derived, declare_residual, derive_residuals,
    stale_residuals,
};
