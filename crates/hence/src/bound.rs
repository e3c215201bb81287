//! Calls of bound steps: they use the same capabilities, executor and call log as the steps of a skill.

use hence_store::StoreHandle;
use std::sync::{Arc, Mutex, PoisonError};

use hence_canon::{Digest, Float, Object, Value, did_you_mean};
use hence_capabilities::{Declarations, Library};
use hence_cognition::budget::{Limits, Usage};
use hence_cognition::capability::{Registry as _, Safety, breach};
use hence_cognition::failure::{BUDGET_CUT_OFF, BUDGET_EXCEEDED, UNDECIDED};
use hence_cognition::run::{
    Call, CallError, CallPlace, CallPurpose, EXCHANGE_KEY, EXCHANGES_KEY, Reply, named_exchange,
};
use hence_cognition::skill::Recovery;
use hence_engine::{Blobs, BoundCall, BoundReply, Callees, Determinism, Meter, NoMeter, NoReply, SinkError};
use hence_skills::{
    Budget, CallExecutor, CallFn, CallHistory, CallLog, CallStatus, Effect, Entry, Host, NeverStop,
    logged_usage,
};
use hence_state::ProblemSpec;
use hence_store::Durability;

use crate::sink::StoreExchanges;
use crate::usage::{self, Callers};

/// The skill id in the calls of the built-in program.
const REASON: &str = "reason";

/// The metric of a bound step that acts which says how often its call was made, where that is more than once.
const ATTEMPTS_KEY: &str = "attempts";

/// The error class of a call whose output the step cannot use.
const OUTPUT_UNUSABLE: &str = "OutputUnusable";

/// Returns whether a problem binds steps to capabilities.
pub(crate) fn binds(problem: &Value) -> bool {
    let bindings = problem.get("settings").and_then(|settings| settings.get("bindings"));
    bindings.is_some_and(|bindings| !bindings.is_null())
}

/// Returns the digest of the capabilities that a problem pins.
pub(crate) fn pinned_capabilities(problem: &Value) -> Option<Digest> {
    problem.get("settings")?.get("capabilities")?.get("sha256")?.as_str()?.parse().ok()
}

/// The capabilities that bound steps may call, and the log and the meter of the run that is driven.
pub(crate) struct BoundCallees {
    library: Library,
    log: Mutex<Arc<CallLog<'static>>>,
    meter: Mutex<Arc<dyn Meter>>,
    /// The limits of the run that is driven, and what its calls used.
    budget: Mutex<(Limits, Usage)>,
    /// The run whose idempotency keys are used, where the run that is driven is a retry.
    root: Mutex<Option<Arc<str>>>,
    /// Whether something may be called, so that secrets must be available.
    may_call: bool,
}

impl BoundCallees {
    /// Makes callees of a run whose record is read. No secret is looked for: whoever wrote the record chose where.
    pub(crate) fn to_read(library: Library) -> Self {
        Self { may_call: false, ..Self::new(library) }
    }

    pub(crate) fn new(library: Library) -> Self {
        Self {
            may_call: true,
            library,
            log: Mutex::new(Arc::new(CallLog::in_memory())),
            meter: Mutex::new(Arc::new(NoMeter)),
            budget: Mutex::default(),
            root: Mutex::new(None),
        }
    }

    /// Returns whether a bound step of a problem may call anything but pure functions.
    pub(crate) fn needs_call_log(&self, problem: &ProblemSpec) -> bool {
        let mut bindings = problem.settings().bindings.iter();
        bindings.any(|binding| self.library.effect(&binding.capability) != Effect::Pure)
    }

    /// Returns the capabilities.
    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    /// Returns whether calling a capability may change something outside the run.
    pub(crate) fn acts(&self, capability: &str) -> bool {
        self.library.effect(capability) == Effect::Acts
    }

    /// Sets the run whose idempotency keys the calls use; `None` for the run that is driven.
    pub(crate) fn set_root(&self, root: Option<Arc<str>>) {
        *self.root.lock().unwrap_or_else(PoisonError::into_inner) = root;
    }

    /// Returns what the recorded steps of a problem used.
    pub(crate) fn used(&self, problem: &Value, journal: &[u8], blobs: &dyn Blobs) -> Usage {
        let bindings = problem.get("settings").and_then(|settings| settings.get("bindings"));
        let leaves = |step: &str| {
            let capability = bindings.and_then(|bindings| bindings.get(step)?.get("capability")?.as_str());
            capability.is_some_and(|id| !matches!(self.library.effect(id), Effect::Pure | Effect::Asks))
        };
        usage::of_journal(journal, blobs, Callers::Bound(&leaves))
    }

    /// Returns what the calls of a log used.
    pub(crate) fn logged(&self, history: &CallHistory) -> Usage {
        logged_usage(&self.library, history)
    }

    /// Sets the call log, the meter, the limits and what was used. Calls from here on are logged, measured and counted.
    pub(crate) fn start_log(
        &self,
        log: Arc<CallLog<'static>>,
        meter: Arc<dyn Meter>,
        limits: Limits,
        used: Usage,
    ) {
        *self.meter.lock().unwrap_or_else(PoisonError::into_inner) = meter;
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = log;
        *self.budget.lock().unwrap_or_else(PoisonError::into_inner) = (limits, used);
    }

    /// Stores what is exchanged with models in the store of a folder.
    pub(crate) fn store_exchanges_in(&self, store: &StoreHandle) {
        self.library.store_exchanges_in(Arc::new(StoreExchanges(store.clone())));
    }

    /// Releases the log of the run.
    pub(crate) fn finish_log(&self) {
        let log = Arc::new(CallLog::in_memory());
        self.start_log(log, Arc::new(NoMeter), Limits::default(), Usage::default());
    }

    /// Executes a call as its first attempt that has not failed yet.
    ///
    /// A failed call stops the run, and a resumed run tries it again. A call with effects that failed is then treated like
    /// an undecided one.
    fn execute(
        &self,
        log: &CallLog<'_>,
        call: &Call<'_>,
        make: &mut CallFn<'_>,
    ) -> Result<Result<Reply, CallError>, SinkError> {
        let capability = call.capability;
        let mut account = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let budget = Budget::new(&self.library, None, &account.0);
        budget.count_used(&account.1);
        budget.count_spent(&log.history());
        let meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let executor =
            CallExecutor::new(&self.library, log, &NeverStop).with_budget(&budget).with_meter(&*meter);
        let mut call = *call;
        while log.status(&call.key()).is_some_and(|status| has_failed(&status)) {
            call.attempt += 1;
        }
        let is_repeated = call.attempt > 1 && log.status(&call.key()).is_none();
        let acts = self.library.effect(capability) == Effect::Acts;
        if is_repeated && acts && Host::recovery(&self.library, capability) != Recovery::Retry {
            let reply = executor.recover(&call, make);
            account.1 = budget.used();
            return reply;
        }
        let result = executor.call(&call, make)?;
        account.1 = budget.used();
        // The attempts before this one failed, and no other record has them. That a source was down is no result.
        let counted = |reply: Reply| match call.attempt {
            attempts if acts && attempts > 1 => {
                Reply { meta: reply.meta.with(ATTEMPTS_KEY, attempts), ..reply }
            }
            _ => reply,
        };
        Ok(result.reply.map(counted))
    }
}

/// Returns whether a call was made and failed, so that another attempt may be made.
fn has_failed(status: &CallStatus) -> bool {
    match status {
        // What was given up, and an undecided call whose repetition failed, is for a person to decide.
        CallStatus::Replied(Err(error)) => !error.is_of_class(UNDECIDED),
        _ => false,
    }
}

impl Callees for BoundCallees {
    fn find(&self, capability: &str) -> Result<Determinism, String> {
        let Some(spec) = self.library.capability(capability) else {
            let callees = self.library.callees();
            let meant = did_you_mean(capability, callees.iter().map(|id| &**id));
            let declared = names(self.library.declarations());
            return Err(format!("there is no capability `{capability}`; {declared}{meant}"));
        };
        if spec.safety != Safety::default() {
            return Err(format!(
                "`{capability}` has rules of trust, confirmation or gates, which only a skill can keep"
            ));
        }
        if self.may_call
            && let Some(missing) = self.library.missing_secrets(capability).first()
        {
            return Err(format!("`{capability}` cannot be called: {missing}"));
        }
        Ok(self.library.determinism(capability))
    }

    fn is_recomputed(&self, capability: &str) -> bool {
        self.library.is_recomputed(capability)
    }

    fn acts(&self, capability: &str) -> bool {
        Self::acts(self, capability)
    }

    fn program(&self, capability: &str) -> Vec<String> {
        self.library.program(capability).unwrap_or_default()
    }

    fn action(&self, capability: &str) -> Option<Arc<str>> {
        self.library.capability(capability).and_then(|spec| spec.action.clone())
    }

    fn compute(&self, capability: &str, input: &Value) -> Result<Value, String> {
        let Some(spec) = self.library.capability(capability) else {
            return Err("there is no such capability".to_owned());
        };
        if let Some(breach) = input.as_object().and_then(|given| breach(&spec.inputs, given)) {
            return Err(format!("its input does not keep the contract: {breach}"));
        }
        match self.library.call_built_in(capability, input) {
            Some(Ok(output)) => Ok(output.into()),
            Some(Err(refusal)) => Err(refusal.message.to_string()),
            None => Err("it is no built-in function".to_owned()),
        }
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
                Some(breach) => Err(format!("its output does not keep the contract: {}", breach.of_output())),
                None => (call.accepts)(&reply.output),
            });
            checked.map(|()| reply)
        };
        let mut make = |made: &Call<'_>| self.library.worker().call(made).and_then(used);
        let root = self.root.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let trace = root.unwrap_or_else(|| call.run.clone());
        let asked = Call {
            capability: call.capability,
            input: call.input,
            purpose: CallPurpose::Step,
            skill_id: &REASON.into(),
            step_id: call.step,
            place: &CallPlace { trace, iteration: call.position, ..CallPlace::default() },
            attempt: 1,
            timeout_seconds: Float::new(call.timeout.as_secs_f64())
                .map_err(|error| NoReply::Trouble(error.to_string()))?,
        };
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut reply = self.execute(&log, &asked, &mut make);
        if let Ok(Ok(found)) = &reply
            && let Err(error) = used(found.clone())
        {
            // A person gave an answer the step cannot use. Logged answers are final, so this entry makes the run ask again.
            let again = Entry::Blocked { step: call.step.clone() };
            reply = log.note(again, Durability::Synced).map(|()| Err(error));
        }
        let unlogged = |error| NoReply::Trouble(format!("the call log could not be written: {error}"));
        let reply = reply.map_err(unlogged)?.map_err(|error| match error {
            CallError::Waiting(message) => NoReply::Waiting(message.to_string()),
            CallError::Undecided(call) => match &call.cause {
                // Also where a limit refuses the repetition: the call itself may have happened.
                CallError::Failed { class, message } if [UNDECIDED, BUDGET_EXCEEDED].contains(&&**class) => {
                    NoReply::Failed(format!("{message} (idempotency key {})", asked.idempotency_key()))
                }
                _ => NoReply::Trouble(CallError::Undecided(call).to_string()),
            },
            // The record of the failed step names the call by its key: it may have happened.
            CallError::Failed { class, message } if *class == *UNDECIDED => {
                NoReply::Failed(format!("{message} (idempotency key {})", asked.idempotency_key()))
            }
            CallError::Failed { class, message } if [BUDGET_EXCEEDED, BUDGET_CUT_OFF].contains(&&*class) => {
                NoReply::OverLimit(message.to_string())
            }
            CallError::Failed { class, message } if *class == *OUTPUT_UNUSABLE => {
                NoReply::Trouble(message.to_string())
            }
            other => NoReply::Trouble(other.to_string()),
        })?;
        // Wall-clock time enters no record, and the action type of a call is not a metric.
        let metrics = reply.meta.without("latency_ms").without("action").without(EXCHANGE_KEY);
        let exchanges = exchanges(&log, &asked, reply.meta.get(EXCHANGE_KEY));
        let metrics = if exchanges.is_empty() { metrics } else { metrics.with(EXCHANGES_KEY, exchanges) };
        Ok(BoundReply { output: reply.output, metrics })
    }
}

/// Returns what was exchanged with a model in the attempts of a call: in those that failed, and in the one that replied.
fn exchanges(log: &CallLog<'_>, call: &Call<'_>, replied: Option<&Value>) -> Vec<Value> {
    let mut found = Vec::new();
    let mut attempt = Call { attempt: 1, ..*call };
    while let Some(status) = log.status(&attempt.key()) {
        let exchange = match status {
            CallStatus::Replied(Err(_)) => log.exchange(&attempt.key()),
            _ => replied.cloned(),
        };
        found.extend(exchange.map(|exchange| named_exchange(&attempt, exchange)));
        attempt.attempt += 1;
    }
    found
}

/// Turns an unusable reply into a failed call before it is logged: a logged reply is final.
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
        [] => "none is declared besides the built-in ones, see --capabilities".to_owned(),
        names => format!("declared are {}", names.join(", ")),
    }
}
