//! Steps of the built-in skill that capabilities carry out, as the problem's settings say.

mod shape;
mod sight;
mod step;

use std::sync::Arc;
use std::time::Duration;

use hence_canon::{Object, Value};
use hence_state::{Binding, Finding, Settings, Stage, finding};

use crate::{Determinism, Step};
use step::BoundStep;

/// The step that accounts for the run itself. If a capability could write it, it would account for nothing.
const AUDIT: &str = "Audit";

/// What bound steps can call.
pub trait Callees: Send + Sync {
    /// Returns what a replay does with a capability.
    ///
    /// # Errors
    /// Why a step cannot be bound to it: there is none of that id, or a call of it must not be made twice.
    fn find(&self, capability: &str) -> Result<Determinism, String>;

    /// Carries out a call, in time.
    ///
    /// # Errors
    /// [`NoReply`]. Unless the step failed, nothing is recorded and the run can be taken up again.
    fn call(&self, call: &BoundCall<'_>) -> Result<BoundReply, NoReply>;
}

/// Why a call gave nothing, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoReply {
    /// Something went wrong, which may pass: a source that is down today is no result.
    Trouble(String),
    /// Somebody has to say something first.
    Waiting(String),
    /// It was decided that the call is not made again. The step fails, and that is recorded.
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
    /// Which step of the run it is, from 0. With the step's name it tells this call from all others of the run.
    pub step_index: u64,
    /// What the capability is given.
    pub input: &'a Value,
    /// How long it may take.
    pub timeout: Duration,
    /// Says whether the step can use an output, and if not, why. What it cannot use is a call that failed.
    pub accepts: &'a dyn Fn(&Value) -> Result<(), String>,
}

/// What a capability gives to a bound step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BoundReply {
    /// The output.
    pub output: Value,
    /// What the call reports about itself, such as tokens and cost; it is recorded with the result.
    pub metrics: Object,
}

/// What steps are looked up for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// To run them: everything they call must be at hand.
    Running,
    /// To go on with what was begun. What is missing stops the run at the step that needs it.
    Resuming,
    /// To read what they did. Whatever is not deterministic is never called.
    Reading,
}

/// Puts bound steps in the place of those they are bound for.
///
/// # Errors
/// A finding for each binding that cannot be.
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

/// What is wrong with a binding: a member of it, or all of it, and why.
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
        None => Err(format!("there is no capability `{}` at hand", binding.capability)),
    };
    let (determinism, callees) = match (found, purpose) {
        (Ok((Determinism::Recorded, _)), Purpose::Reading) => {
            (Determinism::Recorded, Err("a record is read without calling anything".to_owned()))
        }
        (Ok((determinism, callees)), _) => (determinism, Ok(callees)),
        (Err(reason), Purpose::Running) => return Err((Some("capability"), reason)),
        (Err(reason), Purpose::Resuming | Purpose::Reading) => (Determinism::Recorded, Err(reason)),
    };
    *step = Arc::new(BoundStep { inner: step.clone(), binding: binding.clone(), determinism, callees });
    Ok(())
}

fn refused(binding: &Binding, member: Option<&str>, message: String) -> Finding {
    let path = ["settings", "bindings", &binding.step].into_iter().chain(member);
    finding(Stage::Policy, path.collect(), message)
}
