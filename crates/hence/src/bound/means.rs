//! What bound steps call: the capabilities a skill could call too, with the same care for crashes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hence_canon::{Float, Object, Value};
use hence_capabilities::{Declarations, Library};
use hence_cognition::capability::{Registry as _, Safety, breach};
use hence_cognition::failure::UNDECIDED;
use hence_cognition::run::{Call, CallError, CallPlace, CallPurpose, Reply};
use hence_cognition::skill::Recovery;
use hence_engine::{BoundCall, BoundReply, Callees, Determinism, NoReply, SinkError};
use hence_skills::{
    CallExecutor, CallHistory, CallLog, CallStatus, Effect, Entry, Host, Ledger, Make, NoCallLog, Promise,
};

/// The name under which the built-in skill calls.
const REASON: &str = "reason";

/// The class of a call whose output the step cannot use.
const OUTPUT_UNUSABLE: &str = "OutputUnusable";

/// What bound steps may call, and what is known about calls that are under way.
pub(crate) struct BoundCallees {
    library: Library,
    desk: Mutex<Desk>,
}

/// What is known about calls, and where more of it is kept.
#[derive(Default)]
struct Desk {
    history: CallHistory,
    log: Option<Box<dyn CallLog + Send>>,
}

impl BoundCallees {
    pub(crate) fn new(library: Library) -> Self {
        Self { library, desk: Mutex::default() }
    }

    /// Returns whether calls of a capability leave lines beside the journal.
    pub(crate) fn reaches_out(&self, capability: &str) -> bool {
        self.library.effect(capability) != Effect::Pure
    }

    /// Goes on behind what is known about the calls of a run, and keeps more of it in `log`.
    pub(crate) fn attend(&self, history: CallHistory, log: Box<dyn CallLog + Send>) {
        *self.desk() = Desk { history, log: Some(log) };
    }

    /// Lets go of the log, and returns what is known.
    pub(crate) fn leave(&self) -> CallHistory {
        std::mem::take(&mut *self.desk()).history
    }

    /// No code panics while holding the lock, so a poisoned one guards sound data.
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attends to a call: to the first attempt of which it is not known that it failed.
    ///
    /// A failed call stops the run, and whoever takes it up wants it tried again. What may have changed something is then
    /// treated like a call of which nobody knows whether it happened.
    fn attended(
        &self,
        desk: &Desk,
        ledger: &Ledger<'_>,
        call: &Call<'_>,
        make: &mut Make<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let capability = call.capability;
        let effect = self.library.effect(capability);
        let recovery = || Host::recovery(&self.library, capability);
        let attendant = CallExecutor { ledger, effect, recovery: &recovery, is_stopping: &|| false };
        let mut call = *call;
        while desk.standing(&call).is_some_and(has_failed) {
            call.attempt += 1;
        }
        let is_repeated = call.attempt > 1 && desk.standing(&call).is_none();
        if is_repeated && effect == Effect::Acts && recovery() != Recovery::Retry {
            return attendant.recover(&call, make);
        }
        Ok(attendant.call(&call, make)?.reply)
    }
}

impl Desk {
    fn standing(&self, call: &Call<'_>) -> Option<&CallStatus> {
        self.history.standing(&call.key())
    }
}

/// Returns whether a call was made and failed, and nobody decided that it is given up.
fn has_failed(standing: &CallStatus) -> bool {
    match standing {
        CallStatus::Replied(Err(CallError::Failed { class, .. })) => **class != *UNDECIDED,
        CallStatus::Replied(Err(CallError::TimedOut(_))) => true,
        _ => false,
    }
}

impl Callees for BoundCallees {
    fn find(&self, capability: &str) -> Result<Determinism, String> {
        let Some(spec) = self.library.capability(capability) else {
            let declared = names(self.library.declarations());
            return Err(format!("there is no capability `{capability}`; {declared}"));
        };
        if spec.safety != Safety::default() {
            return Err(format!(
                "`{capability}` has rules of trust, confirmation or gates, which only a skill can keep"
            ));
        }
        if let Some(missing) = self.library.missing_secrets(capability).first() {
            return Err(format!("`{capability}` cannot be called: {missing}"));
        }
        Ok(self.library.determinism(capability))
    }

    fn call(&self, call: &BoundCall<'_>) -> Result<BoundReply, NoReply> {
        let trouble = |message: &str| NoReply::Trouble(message.to_owned());
        let spec = self.library.capability(call.capability).ok_or(trouble("there is none of that id"))?;
        let given = call.input.as_object().cloned().unwrap_or_default();
        if let Some(breach) = breach(&spec.inputs, &given) {
            return Err(NoReply::Trouble(format!("its input does not keep the contract: {breach}")));
        }
        let used = |reply: Reply| {
            let checked = usable(&reply, |output| match breach(&spec.outputs, output) {
                Some(breach) => Err(format!("its output does not keep the contract: {breach}")),
                None => (call.accepts)(&reply.output),
            });
            checked.map(|()| reply)
        };
        let mut make = |made: &Call<'_>| self.library.worker().call(made).and_then(used);
        let asked = Call {
            capability: call.capability,
            input: call.input,
            purpose: CallPurpose::Step,
            skill_id: &REASON.into(),
            step_id: call.step,
            place: &CallPlace { trace: call.run.clone(), iteration: call.step_index, ..CallPlace::default() },
            attempt: 1,
            timeout_seconds: Float::new(call.timeout.as_secs_f64())
                .map_err(|error| NoReply::Trouble(error.to_string()))?,
        };
        let mut desk = self.desk();
        let log: &dyn CallLog = match &desk.log {
            Some(log) => &**log,
            None => &NoCallLog,
        };
        let ledger = Ledger::new(desk.history.clone(), log);
        let mut attended = self.attended(&desk, &ledger, &asked, &mut make);
        if let Ok(Ok(reply)) = &attended
            && let Err(error) = used(reply.clone())
        {
            // A person said something the step cannot use: what is kept would answer for good, so they are asked anew.
            let anew = Entry::Blocked { step: call.step.clone() };
            attended = ledger.note(anew, Promise::Durable).map(|()| Err(error));
        }
        let history = ledger.history();
        desk.history = history;
        let unkept = |error| NoReply::Trouble(format!("what is under way could not be kept: {error}"));
        let reply = attended.map_err(unkept)?.map_err(|error| match error {
            CallError::Waiting(message) => NoReply::Waiting(message.to_string()),
            CallError::Failed { class, message } if *class == *UNDECIDED => {
                NoReply::Failed(message.to_string())
            }
            CallError::Failed { class, message } if *class == *OUTPUT_UNUSABLE => {
                NoReply::Trouble(message.to_string())
            }
            other => NoReply::Trouble(other.to_string()),
        })?;
        // Time as the wall saw it belongs to no record; what the call is to a reviewer is no measure.
        let metrics = reply.meta.without("latency_ms").without("action");
        Ok(BoundReply { output: reply.output, metrics })
    }
}

/// Turns a reply nobody can use into a call that failed, before it is kept: what is kept answers for good.
fn usable(reply: &Reply, check: impl FnOnce(&Object) -> Result<(), String>) -> Result<(), CallError> {
    let checked = match &reply.output {
        Value::Object(output) => check(output),
        other => Err(format!("it gives an object, found {}", other.kind())),
    };
    checked.map_err(|message| CallError::Failed { class: OUTPUT_UNUSABLE.into(), message: message.into() })
}

fn names(declared: &Declarations) -> String {
    let names: Vec<&str> = declared.iter().map(|(id, _)| &**id).collect();
    match names.as_slice() {
        [] => "none is declared, see --capabilities".to_owned(),
        names => format!("declared are {}", names.join(", ")),
    }
}
