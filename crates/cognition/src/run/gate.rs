//! Safety checks around a call: trust, confirmation, gates.

use std::sync::Arc;

use hence_canon::{Object, Value};

use super::invoke::{Caller, Stop, carry_out, waiting};
use super::{Call, CallError, CallPurpose, Note};
use crate::approval::{APPROVES, REJECTS};
use crate::capability::{Confirmation, Gate, OnDenied, RequiredTrust, Safety};
use crate::failure::{BUDGET_EXCEEDED, ErrorClass, Failure, HELD_BACK};

/// The capability that asks a person, where a host has one.
const PERSON: &str = "human.ask";

/// The answer that lets a call through.
const YES: &str = "yes";

/// The answer that refuses a call.
const NO: &str = "no";

impl Caller<'_, '_> {
    /// Checks trust and confirmation of a capability before anything is asked or called.
    pub(super) fn admit(&mut self, id: &Arc<str>, safety: &Safety, input: &Value) -> Result<(), Stop> {
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
            let unconfirmed = format!("`{id}` must be confirmed by a person first");
            self.confirm(&format!("May `{id}` be called with this?"), input, &unconfirmed)?;
        }
        Ok(())
    }

    /// Asks a person, who may take days. Anything but a plain yes is a denial, also where no person can be asked.
    fn confirm(&mut self, question: &str, about: &Value, unconfirmed: &str) -> Result<(), Stop> {
        let denied = |message: &str| Failure::new(ErrorClass::SafetyConfirmationRequired, message).into();
        let person: Arc<str> = PERSON.into();
        if self.context.capabilities.capability(&person).is_none() {
            return Err(denied(unconfirmed));
        }
        self.questions += 1;
        self.stats.note_call(person.clone());
        let input = Object::from_iter([
            ("question", Value::from(question)),
            ("options", Value::from(vec![YES, NO])),
            (APPROVES, Value::from(vec![YES])),
            (REJECTS, Value::from(vec![NO])),
            ("context", about.clone()),
        ]);
        let call = Call {
            capability: &person,
            input: &input.into(),
            purpose: CallPurpose::Confirmation,
            skill_id: &self.context.skill_id.clone(),
            step_id: &self.step.id,
            place: &self.place,
            attempt: self.questions,
            timeout_seconds: self.context.options.timeout_of(self.step),
        };
        match carry_out(self.context, &mut self.stats, &call) {
            Ok(reply) if reply.output.get("value").and_then(Value::as_str) == Some(YES) => Ok(()),
            Ok(reply) => {
                let by = reply.output.get("by").and_then(Value::as_str);
                let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
                Err(denied(&format!("{unconfirmed}, and was refused{by}")))
            }
            Err(CallError::Waiting(message)) => Err(waiting(&call, message)),
            Err(error) => Err(denied(&format!("{unconfirmed}: {error}"))),
        }
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
                self.confirm(&format!("{message}. Go on all the same?"), about, &message)
            }
            OnDenied::Degrade => Err(Stop::Degraded(message.into())),
            OnDenied::Warn => {
                self.stats.notes.push(Note { kind: "safety_gate_warning".into(), message: message.into() });
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
        match carry_out(self.context, &mut self.stats, &call) {
            Ok(reply) => {
                self.stats.note_meta(&reply.meta);
                match reply.output {
                    Value::Object(answer) => Ok(answer),
                    other => {
                        Err(broken(format!("gate `{id}` answers with an object, found {}", other.kind())))
                    }
                }
            }
            Err(CallError::Waiting(message)) => Err(waiting(&call, message)),
            Err(CallError::Failed { class, message }) if *class == *BUDGET_EXCEEDED => {
                Err(Failure::new(ErrorClass::BudgetExceeded, format_args!("gate: {message}")).into())
            }
            Err(CallError::Failed { class, message }) if *class == *HELD_BACK => {
                Err(Failure::new(ErrorClass::PolicyViolation, message).into())
            }
            Err(error) => Err(broken(format!("gate `{id}`: {error}"))),
        }
    }
}
