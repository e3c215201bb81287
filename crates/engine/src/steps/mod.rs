//! The built-in steps of the program `reason`.

mod acquire_evidence;
mod audit;
mod compute;
mod decompose;
mod normalize;
mod synthesize;
mod verify;

use std::sync::Arc;

use crate::Step;

/// Returns the built-in steps in the order of the default policy.
pub(crate) fn built_in() -> Vec<Arc<dyn Step>> {
    vec![
        Arc::new(normalize::Normalize),
        Arc::new(decompose::Decompose),
        Arc::new(acquire_evidence::AcquireEvidence),
        Arc::new(compute::Compute),
        Arc::new(verify::Verify),
        Arc::new(synthesize::Synthesize),
        Arc::new(audit::Audit),
    ]
}
