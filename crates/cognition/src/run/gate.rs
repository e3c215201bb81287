//! Who may call, and what must agree.

use std::sync::Arc;

use hence_canon::{Object, Value};

use super::invoke::{Caller, Stop, waiting};
use super::{Call, CallError, CallPurpose, Note};
use crate::capability::{Confirmation, Gate, OnDenied, RequiredTrust, Safety};
use crate::failure::{ErrorClass, Failure};

impl Caller<'_, '_> {
    /// Checks trust and confirmation of a capability before anything is asked or called.
    pub(super) fn admit(&self, id: &Arc<str>, safety: &Safety) -> Result<(), Stop> {
        let trusted = match &safety.trust {
            RequiredTrust::None => true,
            RequiredTrust::AtLeast(level) => self.context.options.trust_level >= *level,
            RequiredTrust::Unknown(_) => false,
        };
        if !trusted {
            let message = format_args!("`{id}` demands more trust than the caller has");
            return Err(Failure::new(ErrorClass::SafetyTrustLevel, message).into());
        }
        let confirmed = self.context.options.confirmed_capabilities.contains(id);
        if safety.confirmation == Confirmation::Needed && !confirmed {
            let message = format_args!("`{id}` must be confirmed by a person first");
            return Err(Failure::new(ErrorClass::SafetyConfirmationRequired, message).into());
        }
        Ok(())
    }

    /// Asks gates one after another; the first denial that matters ends it.
    pub(super) fn ask(&mut self, gates: &[Gate], about: &Value, purpose: CallPurpose) -> Result<(), Stop> {
        gates.iter().try_for_each(|gate| self.ask_one(gate, about, purpose))
    }

    fn ask_one(&mut self, gate: &Gate, about: &Value, purpose: CallPurpose) -> Result<(), Stop> {
        let answer = self.answer(gate, about, purpose)?;
        // Only a plain yes is a yes.
        if answer.get("allowed") == Some(&Value::Bool(true)) {
            return Ok(());
        }
        let reason = answer.get("reason").and_then(Value::as_str).unwrap_or("no reason given");
        let message = format!("gate `{}` denies: {reason}", gate.capability);
        match gate.on_denied {
            OnDenied::Block => Err(Failure::new(ErrorClass::SafetyGateFailed, message).into()),
            OnDenied::RequireHuman => {
                Err(Failure::new(ErrorClass::SafetyConfirmationRequired, message).into())
            }
            OnDenied::Degrade => Err(Stop::Degraded(message.into())),
            OnDenied::Warn => {
                self.tally.notes.push(Note { kind: "safety_gate_warning".into(), message: message.into() });
                Ok(())
            }
        }
    }

    /// A gate that cannot answer stops the run, whatever its denial would have meant.
    fn answer(&mut self, gate: &Gate, about: &Value, purpose: CallPurpose) -> Result<Object, Stop> {
        let broken = |message: String| Stop::Failed(Failure::new(ErrorClass::GateExecution, message));
        let id = &gate.capability;
        if self.context.capabilities.capability(id).is_none() {
            return Err(broken(format!("gate `{id}` does not exist")));
        }
        let call = Call {
            capability: id,
            input: about,
            purpose,
            skill_id: &self.context.skill_id.clone(),
            step_id: &self.step.id,
            place: &self.place,
            attempt: 1,
            timeout_seconds: self.context.options.timeout_of(self.step),
        };
        match self.context.capabilities.call(&call) {
            Ok(reply) => match reply.output {
                Value::Object(answer) => Ok(answer),
                other => Err(broken(format!("gate `{id}` answers with an object, found {}", other.kind()))),
            },
            Err(CallError::Waiting(message)) => Err(waiting(&call, message)),
            Err(error) => Err(broken(format!("gate `{id}`: {error}"))),
        }
    }
}
