//! A step that a capability carries out.

use std::sync::Arc;

use hence_canon::Value;
use hence_state::{Binding, NESTING_MAX, ProblemSpec, StepError};

use super::{BoundCall, BoundReply, Callees, shape, sight};
use crate::step::{Attempt, Stopped, Unseen, View};
use crate::{Determinism, Step};

/// A step of a policy with a capability in the place of its own work.
pub(super) struct BoundStep {
    pub(super) inner: Arc<dyn Step>,
    pub(super) binding: Binding,
    pub(super) determinism: Determinism,
    /// What it calls, or why it cannot.
    pub(super) callees: Result<Arc<dyn Callees>, String>,
}

impl Step for BoundStep {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn artifact_key(&self) -> &str {
        self.inner.artifact_key()
    }

    fn determinism(&self, _: &ProblemSpec) -> Determinism {
        self.determinism
    }

    fn input(&self, view: &View<'_>) -> Result<Value, Unseen> {
        sight::input(&self.binding, view)
    }

    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        match self.attempt(view, input) {
            Ok(Attempt::Done { output, .. }) => Ok(output),
            Ok(Attempt::Failed(errors)) => Err(errors),
            Err(Stopped(message)) => Err(vec![StepError::new("capability_unavailable", message)]),
        }
    }

    fn attempt(&self, view: &View<'_>, input: &Value) -> Result<Attempt, Stopped> {
        let capability = &self.binding.capability;
        let callees = self.callees.as_ref().map_err(|reason| Stopped(reason.clone()))?;
        let call = BoundCall {
            capability,
            step: &self.binding.step,
            step_index: view.step_index().get(),
            input,
            timeout: self.binding.timeout,
        };
        let said = |message: String| Stopped(format!("capability `{capability}`: {message}"));
        let BoundReply { output, metrics } = callees.call(&call).map_err(said)?;
        let pointer = self.binding.output.clone().unwrap_or_else(|| shape::output_of(&self.binding.step));
        let Some(output) = output.pointer(&pointer) else {
            return Err(said(format!("its output has nothing at `{pointer}`")));
        };
        // What is stored inside states and records must stay readable.
        if output.depth() > NESTING_MAX {
            return Err(said(format!("its output nests deeper than {NESTING_MAX}")));
        }
        shape::check(&self.binding.step, output).map_err(said)?;
        Ok(Attempt::Done { output: output.clone(), metrics })
    }
}
