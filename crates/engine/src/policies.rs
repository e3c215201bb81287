//! The registry of steps and routing policies.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_state::ITERATIONS_KEY;

use crate::{POLICIES_STEP, Step, VERDICTS_STEP};

/// The routing policy used when a problem names none.
pub const DEFAULT_POLICY: &str = "default";

/// The steps an engine knows, and the routing policies that put them in order.
#[derive(Clone)]
pub(crate) struct Policies {
    steps: BTreeMap<String, Arc<dyn Step>>,
    policies: BTreeMap<String, Vec<Arc<dyn Step>>>,
}

/// A step or routing policy that cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// Another step has the name.
    #[error("step {0:?} is already registered")]
    StepTaken(String),
    /// Another policy has the name.
    #[error("policy {0:?} is already registered")]
    PolicyTaken(String),
    /// The policy has no steps.
    #[error("policy {0:?} has no steps")]
    NoSteps(String),
    /// The policy names steps that are not registered.
    #[error("policy {policy:?} names unknown steps: {}", .steps.join(", "))]
    UnknownSteps {
        /// The policy.
        policy: String,
        /// The steps.
        steps: Vec<String>,
    },
    /// The policy names a step twice.
    #[error("policy {policy:?} names steps twice: {}", .steps.join(", "))]
    DuplicateSteps {
        /// The policy.
        policy: String,
        /// The steps.
        steps: Vec<String>,
    },
    /// The name of the step is reserved for the engine.
    #[error("step {0:?} has a name of the engine's own")]
    ReservedName(String),
    /// The artifact key of the step is reserved for the list of later outputs.
    #[error("step {0:?} uses the reserved artifact key `{ITERATIONS_KEY}`")]
    ReservedKey(String),
}

impl Policies {
    pub(crate) fn built_in() -> Self {
        let order = crate::steps::built_in();
        let steps = order.iter().map(|step| (step.name().to_owned(), step.clone())).collect();
        Self { steps, policies: [(DEFAULT_POLICY.to_owned(), order)].into() }
    }

    pub(crate) fn register_step(&mut self, step: Arc<dyn Step>) -> Result<(), RegisterError> {
        let name = step.name().to_owned();
        if step.artifact_key() == ITERATIONS_KEY {
            return Err(RegisterError::ReservedKey(name));
        }
        if [POLICIES_STEP, VERDICTS_STEP].contains(&&*name) {
            return Err(RegisterError::ReservedName(name));
        }
        if self.steps.contains_key(&name) {
            return Err(RegisterError::StepTaken(name));
        }
        self.steps.insert(name, step);
        Ok(())
    }

    pub(crate) fn register_policy(&mut self, name: &str, steps: &[&str]) -> Result<(), RegisterError> {
        let policy = name.to_owned();
        if self.policies.contains_key(name) {
            return Err(RegisterError::PolicyTaken(policy));
        }
        if steps.is_empty() {
            return Err(RegisterError::NoSteps(policy));
        }
        let unknown = steps.iter().filter(|step| !self.steps.contains_key(**step));
        let unknown: Vec<String> = unknown.map(ToString::to_string).collect();
        if !unknown.is_empty() {
            return Err(RegisterError::UnknownSteps { policy, steps: unknown });
        }
        let mut seen = std::collections::BTreeSet::new();
        let twice: Vec<String> =
            steps.iter().filter(|step| !seen.insert(**step)).map(ToString::to_string).collect();
        if !twice.is_empty() {
            return Err(RegisterError::DuplicateSteps { policy, steps: twice });
        }
        let steps = steps.iter().filter_map(|step| self.steps.get(*step).cloned()).collect();
        self.policies.insert(policy, steps);
        Ok(())
    }

    pub(crate) fn policy(&self, name: &str) -> Option<&[Arc<dyn Step>]> {
        self.policies.get(name).map(Vec::as_slice)
    }

    pub(crate) fn policy_names(&self) -> impl Iterator<Item = &str> {
        self.policies.keys().map(String::as_str)
    }
}
