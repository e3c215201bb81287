//! Capabilities as a plan and a run see them: contracts, hints and safety rules, but never how they work.

mod hints;
mod registry;
mod safety;
mod spec;

pub use hints::{CognitiveHints, CognitiveTypes, Consumed, Produced, auto_wire, consumed_too_early};
pub use registry::Registry;
pub use safety::{Confirmation, Gate, OnDenied, RequiredTrust, Safety, TrustLevel};
pub use spec::{CapabilitySpec, ContractBreach, breach};
