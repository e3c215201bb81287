//! The engine: the steps and routing policies it knows, and planning a request.

use std::sync::Arc;

use hence_state::{Findings, Settings};

use crate::bound::{Purpose, bind};
use crate::plan::{self, Plan};
use crate::policies::{Policies, RegisterError};
use crate::{Callees, Model, Request, Step};

/// Knows steps and routing policies, and plans requests. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) policies: Policies,
    pub(crate) model: Option<Arc<dyn Model>>,
    pub(crate) callees: Option<Arc<dyn Callees>>,
}

impl Engine {
    /// Makes an engine with the built-in program `reason` and nothing else.
    pub fn new() -> Self {
        Self { policies: Policies::built_in(), model: None, callees: None }
    }

    /// Gives the engine a language model.
    #[must_use]
    pub fn with_model(self, model: Arc<dyn Model>) -> Self {
        Self { model: Some(model), ..self }
    }

    /// Gives the engine the capabilities that bound steps can call.
    #[must_use]
    pub fn with_callees(self, callees: Arc<dyn Callees>) -> Self {
        Self { callees: Some(callees), ..self }
    }

    /// Adds a step.
    ///
    /// # Errors
    /// [`RegisterError`] when the name is taken or its artifact reserved.
    pub fn register_step(&mut self, step: Arc<dyn Step>) -> Result<(), RegisterError> {
        self.policies.register_step(step)
    }

    /// Adds a routing policy: the steps that run, in order, for a problem that names it.
    ///
    /// # Errors
    /// [`RegisterError`] when the name is taken or the steps make no policy.
    pub fn register_policy(&mut self, name: &str, steps: &[&str]) -> Result<(), RegisterError> {
        self.policies.register_policy(name, steps)
    }

    /// Plans a request: checks everything about it before anything runs.
    ///
    /// # Errors
    /// [`Findings`]: everything that is wrong, in the order of the stages.
    pub fn plan(&self, request: &Request) -> Result<Plan, Findings> {
        plan::plan(self, request, Purpose::Running)
    }

    /// Plans the request of a journal that may continue.
    pub(crate) fn plan_to_resume(&self, request: &Request) -> Result<Plan, Findings> {
        plan::plan(self, request, Purpose::Resuming)
    }

    /// Plans the request of a journal that is only read. Its steps can call only what is deterministic.
    pub(crate) fn plan_to_read(&self, request: &Request) -> Result<Plan, Findings> {
        plan::plan(self, request, Purpose::Reading)
    }

    /// Returns the steps of a routing policy, with bound steps in their places; `None` when the policy is unknown.
    pub(crate) fn steps_to_read(
        &self,
        policy: &str,
        settings: Option<&Settings>,
    ) -> Option<Vec<Arc<dyn Step>>> {
        let steps = self.policies.policy(policy)?;
        let bound = settings.map(|settings| bind(steps, settings, self.callees.as_ref(), Purpose::Reading));
        // A journal can be read even if its bindings are invalid: its records are judged step by step.
        Some(bound.and_then(Result::ok).unwrap_or_else(|| steps.to_vec()))
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}
