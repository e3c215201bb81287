//! A change that a person makes to the memory of a run, before a step.

use std::sync::Arc;

use hence_canon::Value;

use crate::mapping::{MergeStrategy, Target, set};
use crate::state::Memory;

/// What a fork changes: before a step, some places are set.
///
/// Steps from that one on start only once everything before it is recorded and the change is made, so what they see
/// does not depend on timing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Intervention {
    /// The step.
    pub before: Arc<str>,
    /// The places and what they are set to, as `vars.x` or `inputs.x`.
    pub set: Vec<(Arc<str>, Value)>,
}

/// A change that cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot set `{place}`: {reason}")]
pub struct InvalidIntervention {
    /// The place.
    pub place: Arc<str>,
    /// Why.
    pub reason: String,
}

impl Intervention {
    /// Returns the memory after the change.
    ///
    /// # Errors
    /// [`InvalidIntervention`] for the first place that cannot be set.
    pub fn apply(&self, memory: &Memory) -> Result<Memory, InvalidIntervention> {
        let mut after = memory.clone();
        for (place, value) in &self.set {
            let invalid = |reason: String| InvalidIntervention { place: place.clone(), reason };
            match place.strip_prefix("inputs.") {
                Some(key) if !key.is_empty() => after.inputs = after.inputs.with(key, value.clone()),
                _ => {
                    let target = Target::parse(place).map_err(|error| invalid(error.to_string()))?;
                    set(&mut after, &target, value.clone(), MergeStrategy::Replace)
                        .map_err(|error| invalid(error.to_string()))?;
                }
            }
        }
        Ok(after)
    }
}
