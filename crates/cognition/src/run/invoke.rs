//! One call with everything around it: safety, contract, retries.

use std::sync::Arc;

use hence_canon::{Object, Value};

use super::outcome::Note;
use super::{Call, CallError, CallPurpose, Context, Reply};
use crate::capability::{CapabilitySpec, breach};
use crate::failure::{ErrorClass, Failure};
use crate::skill::{Step, Uses};
use crate::state::TraceMetrics;

/// Makes the calls of one step and keeps what is to be known about them.
pub(super) struct Caller<'a, 'c> {
    pub(super) step: &'a Step,
    pub(super) context: &'a mut Context<'c>,
    pub(super) metrics: TraceMetrics,
    pub(super) notes: Vec<Note>,
    pub(super) called: Vec<Arc<str>>,
}

/// Why a step does not go on.
pub(super) enum Stop {
    Failed(Failure),
    /// A gate denied, and the run goes on without this step.
    Degraded(Arc<str>),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// An output that is an object, and what was reported about it.
pub(super) struct Invoked {
    pub(super) output: Object,
    pub(super) meta: Object,
}

impl Caller<'_, '_> {
    /// Calls a capability or a nested skill.
    pub(super) fn invoke(&mut self, uses: &Uses, input: &Value) -> Result<Invoked, Stop> {
        match uses {
            Uses::Skill(id) => self.with_retries(|caller, _| caller.nested(id, input)).map_err(Stop::Failed),
            Uses::Capability(id) => {
                let Some(spec) = self.context.capabilities.capability(id) else {
                    let message = format_args!("no capability `{id}`");
                    return Err(Failure::new(ErrorClass::CapabilityNotFound, message).into());
                };
                self.admit(id, &spec.safety)?;
                self.ask(&spec.safety.before, input)?;
                let invoked = self.with_retries(|caller, attempt| caller.call(id, &spec, input, attempt))?;
                self.ask(&spec.safety.after, &invoked.output.clone().into())?;
                Ok(invoked)
            }
        }
    }

    fn with_retries(
        &mut self,
        mut attempt: impl FnMut(&mut Self, u64) -> Result<Invoked, Failure>,
    ) -> Result<Invoked, Failure> {
        let retry = self.step.control.retry.as_ref();
        let mut number = 1;
        loop {
            let failure = match attempt(self, number) {
                Ok(invoked) => return Ok(invoked),
                Err(failure) => failure,
            };
            number += 1;
            match retry.filter(|retry| number <= retry.max_attempts && retry.applies_to(&failure)) {
                None => return Err(failure),
                Some(retry) => {
                    let wait = retry.wait_before(number, &self.context.options.seed, &self.step.id);
                    self.context.capabilities.wait(wait);
                }
            }
        }
    }

    fn call(
        &mut self,
        id: &Arc<str>,
        spec: &CapabilitySpec,
        input: &Value,
        attempt: u64,
    ) -> Result<Invoked, Failure> {
        let values = input.as_object().cloned().unwrap_or_default();
        if let Some(breach) = breach(&spec.inputs, &values) {
            return Err(Failure::new(ErrorClass::InputMapping, format_args!("`{id}`: {breach}")));
        }
        self.called.push(id.clone());
        let call = Call {
            capability: id,
            input,
            purpose: CallPurpose::Step,
            skill_id: &self.context.skill_id.clone(),
            step_id: &self.step.id,
            attempt,
            timeout_seconds: self.context.options.timeout_of(self.step),
        };
        let Reply { output, meta } =
            self.context.capabilities.call(&call).map_err(|error| failure(id, &error))?;
        self.metrics.add(counted(&meta));
        match output {
            Value::Object(output) => Ok(Invoked { output, meta }),
            other => {
                let message = format_args!("`{id}` gives an object, found {}", other.kind());
                Err(Failure::new(ErrorClass::CapabilityExecution, message))
            }
        }
    }
}

fn failure(id: &Arc<str>, error: &CallError) -> Failure {
    match error {
        CallError::TimedOut(_) => Failure::new(ErrorClass::StepTimeout, format_args!("`{id}`: {error}")),
        CallError::Failed { class, message } => {
            Failure::new(ErrorClass::CapabilityExecution, format_args!("`{id}`: {message}"))
                .because(Failure::new(ErrorClass::named(class), message))
        }
    }
}

/// Reads the counters a provider reports; anything but a count counts as nothing.
fn counted(meta: &Object) -> TraceMetrics {
    let count = |key: &str| meta.get(key).and_then(Value::as_u64).unwrap_or(0);
    TraceMetrics {
        step_count: 0,
        llm_calls: count("llm_calls"),
        tool_calls: count("tool_calls"),
        tokens_in: count("tokens_in"),
        tokens_out: count("tokens_out"),
        elapsed_ms: count("latency_ms"),
    }
}
