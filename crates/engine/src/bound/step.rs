//! A bound step: its work is one call of a capability.

use std::sync::Arc;

use hence_canon::Value;
use hence_state::{Binding, NESTING_MAX, ProblemSpec, StepError};

use super::{BoundCall, BoundReply, Callees, NoReply, shape, sight};
use crate::step::{Attempt, InputUnavailable, Stopped, View};
use crate::{Deed, Determinism, Step};

/// The error code of a step whose call was given up: nobody knows whether it happened.
pub const CALL_FAILED: &str = "call_failed";

/// The error code of a step whose call might have exceeded a limit of the run.
const BUDGET_EXCEEDED: &str = "budget_exceeded";

/// A step that calls a capability instead of doing the work of `inner`.
pub(super) struct BoundStep {
    pub(super) inner: Arc<dyn Step>,
    pub(super) binding: Binding,
    pub(super) determinism: Determinism,
    /// Whether a replay makes its call again.
    pub(super) is_recomputed: bool,
    /// The call by which it may change something outside the run.
    pub(super) deed: Option<Deed>,
    /// The capabilities it can call, or the reason why there are none.
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

    fn is_recomputed(&self, _: &ProblemSpec) -> bool {
        self.is_recomputed
    }

    fn deed(&self) -> Option<Deed> {
        self.deed.clone()
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        sight::input(&self.binding, view)
    }

    fn run(&self, view: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        match self.attempt(view, input) {
            Ok(Attempt::Done { output, .. }) => Ok(output),
            Ok(Attempt::Failed(errors)) => Err(errors),
            Err(Stopped::Trouble(message) | Stopped::Waiting(message)) => {
                Err(vec![StepError::new("capability_unavailable", message)])
            }
        }
    }

    fn attempt(&self, view: &View<'_>, input: &Value) -> Result<Attempt, Stopped> {
        let capability = &self.binding.capability;
        let callees = self.callees.as_ref().map_err(|reason| Stopped::Trouble(reason.clone()))?;
        let run = view.metadata().map(|metadata| metadata.trace_id.clone()).unwrap_or_default();
        let call = BoundCall {
            run: &run,
            capability,
            step: &self.binding.step,
            position: view.position(),
            input,
            timeout: self.binding.timeout,
            accepts: &|output| self.usable(view, output).map(|_| ()),
        };
        let said = |message: String| format!("capability `{capability}`: {message}");
        let BoundReply { output, metrics } = match callees.call(&call) {
            Ok(reply) => reply,
            Err(NoReply::Trouble(message)) => return Err(Stopped::Trouble(said(message))),
            Err(NoReply::Waiting(message)) => return Err(Stopped::Waiting(message)),
            Err(NoReply::OverLimit(message)) => {
                return Ok(Attempt::Failed(vec![StepError::new(BUDGET_EXCEEDED, said(message))]));
            }
            Err(NoReply::Failed(message)) => {
                return Ok(Attempt::Failed(vec![StepError::new(CALL_FAILED, said(message))]));
            }
        };
        let output = self.usable(view, &output).map_err(|message| Stopped::Trouble(said(message)))?;
        Ok(Attempt::Done { output, metrics })
    }
}

impl BoundStep {
    /// Returns the part of a capability's output that becomes the step's output, if it has the right shape.
    fn usable(&self, view: &View<'_>, output: &Value) -> Result<Value, String> {
        let pointer = self.binding.output.clone().unwrap_or_else(|| shape::output_of(&self.binding.step));
        let Some(output) = output.pointer(&pointer) else {
            return Err(format!("its output has nothing at `{pointer}`"));
        };
        // Values inside states and records must stay readable.
        if output.depth() > NESTING_MAX {
            return Err(format!("its output nests deeper than {NESTING_MAX}"));
        }
        if view.is_worked() {
            return self.inner.check_reply(view, &self.binding.capability, output);
        }
        shape::check(&self.binding.step, output)?;
        Ok(output.clone())
    }
}
