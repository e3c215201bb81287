//! Bound steps: steps of the program `reason` that the problem's settings bind to capabilities.

mod shape;
mod sight;
mod step;

use std::sync::Arc;
use std::time::Duration;

use hence_canon::{Object, Value};
use hence_state::{Binding, Finding, Settings, Stage, finding};

use crate::{Deed, Determinism, Step};
use step::BoundStep;
pub use step::CALL_FAILED;

/// The step that reports on the run itself. It cannot be bound: a capability could report anything.
const AUDIT: &str = "Audit";

/// The capabilities that bound steps can call.
pub trait Callees: Send + Sync {
    /// Returns whether the same input always gives the same output.
    ///
    /// # Errors
    /// The reason why a step cannot be bound to it: it does not exist, its rules need a skill, or a secret
    /// is missing.
    fn find(&self, capability: &str) -> Result<Determinism, String>;

    /// Returns whether a replay may compute a capability again. A record may come from a stranger, so only what the
    /// callees compute themselves, or what the user allowed, is.
    fn is_recomputed(&self, capability: &str) -> bool;

    /// Returns whether a call may change something outside the run. What is not known to be a function of its input may.
    fn acts(&self, capability: &str) -> bool {
        self.find(capability) != Ok(Determinism::Deterministic)
    }

    /// Returns the action type that a capability declares.
    fn action(&self, _capability: &str) -> Option<Arc<str>> {
        None
    }

    /// Returns the program that a capability starts, with its arguments; nothing if it starts none.
    fn program(&self, _capability: &str) -> Vec<String> {
        Vec::new()
    }

    /// Computes a built-in pure function, for the method of a task. Nothing is logged or measured: a replay computes it
    /// again.
    ///
    /// # Errors
    /// The reason why there is no result, in words.
    fn compute(&self, capability: &str, _input: &Value) -> Result<Value, String> {
        Err(format!("there is no built-in function `{capability}` here"))
    }

    /// Makes a call within its timeout.
    ///
    /// # Errors
    /// [`NoReply`]. Unless the step failed, nothing is recorded and the run can be resumed.
    fn call(&self, call: &BoundCall<'_>) -> Result<BoundReply, NoReply>;
}

/// The reason why a call has no reply, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoReply {
    /// A fault that may be temporary, such as a service that is down. It is not recorded as a result.
    Trouble(String),
    /// A person has to answer first.
    Waiting(String),
    /// The call might have exceeded a limit of the run and was not made. The step fails, and that is recorded.
    OverLimit(String),
    /// A person or the recovery gave up the call. The step fails, and that is recorded.
    Failed(String),
}

/// One call of a capability for a bound step.
#[derive(Clone, Copy)]
pub struct BoundCall<'a> {
    /// The run.
    pub run: &'a Arc<str>,
    /// The capability.
    pub capability: &'a Arc<str>,
    /// The step.
    pub step: &'a Arc<str>,
    /// The number of results in effect before the step. With the step's name it identifies the call in the run.
    pub position: u64,
    /// The input of the capability.
    pub input: &'a Value,
    /// The longest time the call may take.
    pub timeout: Duration,
    /// Checks whether the step can use an output. A call whose output the step cannot use has failed.
    pub accepts: &'a dyn Fn(&Value) -> Result<(), String>,
}

/// The reply of a capability to a bound step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BoundReply {
    /// The output.
    pub output: Value,
    /// Figures that the call reports about itself, such as tokens and cost; they are recorded with the result.
    pub metrics: Object,
}

/// The purpose of binding steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// To run them: everything they call must be available.
    Running,
    /// To resume a run. A missing capability stops the run at the step that needs it.
    Resuming,
    /// To read a journal. Only capabilities that a replay may compute again are called.
    Reading,
}

/// Replaces the steps that the settings bind by bound steps of the same name.
///
/// # Errors
/// A finding for each invalid binding.
pub(crate) fn bind(
    steps: &[Arc<dyn Step>],
    settings: &Settings,
    callees: Option<&Arc<dyn Callees>>,
    purpose: Purpose,
) -> Result<Vec<Arc<dyn Step>>, Vec<Finding>> {
    let (mut bound, mut findings) = (steps.to_vec(), Vec::new());
    for binding in &settings.bindings {
        match bind_one(&mut bound, binding, settings, callees, purpose) {
            Ok(()) => {}
            Err((member, message)) => findings.push(refused(binding, member, message)),
        }
    }
    if findings.is_empty() { Ok(bound) } else { Err(findings) }
}

/// The member of a binding that is wrong, `None` for all of it, and the reason.
type Refused = (Option<&'static str>, String);

fn bind_one(
    steps: &mut [Arc<dyn Step>],
    binding: &Binding,
    settings: &Settings,
    callees: Option<&Arc<dyn Callees>>,
    purpose: Purpose,
) -> Result<(), Refused> {
    let known: Vec<String> = steps.iter().map(|step| step.name().to_owned()).collect();
    let Some(step) = steps.iter_mut().find(|step| step.name() == &*binding.step) else {
        return Err((
            None,
            format!("expected one of the steps {}, found {:?}", known.join(", "), binding.step),
        ));
    };
    if &*binding.step == AUDIT {
        return Err((None, format!("{AUDIT} accounts for the run itself and cannot be bound")));
    }
    if &*binding.step == "Synthesize" && settings.model.is_some() {
        return Err((None, "the problem asks for a language model too; one of the two can write".to_owned()));
    }
    let found = match callees {
        Some(callees) => callees.find(&binding.capability).map(|found| (found, callees.clone())),
        None => Err(format!("there is no capability `{}`", binding.capability)),
    };
    let is_recomputed = callees.is_some_and(|callees| callees.is_recomputed(&binding.capability));
    // Of a capability that is not available, nothing is known, so it may act.
    let deed = callees.is_none_or(|callees| callees.acts(&binding.capability)).then(|| Deed {
        capability: binding.capability.clone(),
        action: callees.and_then(|callees| callees.action(&binding.capability)),
        program: callees.map(|callees| callees.program(&binding.capability)).unwrap_or_default(),
    });
    let (determinism, callees) = match (found, purpose) {
        (Ok((determinism, _)), Purpose::Reading) if !is_recomputed => {
            (determinism, Err("a record is read without calling anything".to_owned()))
        }
        (Ok((determinism, callees)), _) => (determinism, Ok(callees)),
        (Err(reason), Purpose::Running) => return Err((Some("capability"), reason)),
        (Err(reason), Purpose::Resuming | Purpose::Reading) => (Determinism::Recorded, Err(reason)),
    };
    *step = Arc::new(BoundStep {
        inner: step.clone(),
        binding: binding.clone(),
        determinism,
        is_recomputed: is_recomputed && determinism == Determinism::Deterministic,
        deed,
        callees,
    });
    Ok(())
}

fn refused(binding: &Binding, member: Option<&str>, message: String) -> Finding {
    let path = ["settings", "bindings", &binding.step].into_iter().chain(member);
    finding(Stage::Policy, path.collect(), message)
}
