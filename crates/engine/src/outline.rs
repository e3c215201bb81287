//! The steps of a problem's policy, as far as a reader of its record needs to know them.

use std::sync::Arc;

use hence_state::ProblemSpec;

use crate::{Determinism, Engine};

/// One step of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepOutline {
    /// The name used in records.
    pub name: Arc<str>,
    /// The artifact its output becomes.
    pub artifact_key: Arc<str>,
    /// What a replay does with it.
    pub determinism: Determinism,
}

impl Engine {
    /// Returns the steps of the problem's policy in order; nothing when this engine does not know the policy.
    ///
    /// Unlike planning, this asks for nothing that running would need, such as a language model.
    pub fn outline(&self, problem: &ProblemSpec) -> Option<Vec<StepOutline>> {
        let name = problem.settings().policy_profile.as_deref().unwrap_or(crate::DEFAULT_POLICY);
        let steps = self.steps_to_read(name, Some(problem.settings()))?;
        let outline = |step: &Arc<dyn crate::Step>| StepOutline {
            name: step.name().into(),
            artifact_key: step.artifact_key().into(),
            determinism: step.determinism(problem),
        };
        Some(steps.iter().map(outline).collect())
    }
}
