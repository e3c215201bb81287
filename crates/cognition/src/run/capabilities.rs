//! The interface between a run and the outside: calls, waits, time.

use std::sync::Arc;

use hence_canon::{Digest, Float, Object, Value};

use super::invoke::TaskResult;
use super::{MadeCall, RunRequest, StepOutcome};
use crate::capability::Registry;
use crate::failure::Failure;
use crate::skill::{Flow, Skill, Step, Uses};
use crate::state::{Memory, Names, RunStatus};

/// Calls, waits and time. Everything that is not a function of the skill and the request comes through here.
pub trait Capabilities: Registry {
    /// Carries out a call and returns on time: a call that overruns `call.timeout_seconds` is
    /// [`CallError::TimedOut`].
    ///
    /// # Errors
    /// [`CallError`] when the call gives no reply.
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError>;

    /// Announces the calls that the next [`Capabilities::side_by_side`] makes, before any of them is made.
    fn expect_calls(&mut self, _: Vec<PlannedCall>) {}

    /// Carries out tasks that do not depend on each other and returns their results, in order.
    ///
    /// An implementation without workers passes them to [`one_by_one`]; one with workers gives each task its own
    /// access to the same capabilities. Nothing a run records depends on the choice.
    fn side_by_side(&mut self, tasks: Vec<Task<'_>>) -> Vec<Invocation>;

    /// Waits between two attempts.
    fn wait(&mut self, seconds: Float);

    /// Returns the seconds since the outermost run started.
    fn elapsed_seconds(&mut self) -> Float;

    /// Returns the effect of calling a capability. The record of a step in trouble lists its calls that are not pure.
    fn effect(&self, _capability: &str) -> Effect {
        Effect::Pure
    }

    /// Returns what the record says of the exchange with a model in a call that gave no reply. A reply names its exchange
    /// itself, under [`EXCHANGE_KEY`].
    fn failed_exchange(&mut self, _call: &Call<'_>) -> Option<Value> {
        None
    }

    /// Returns the result of a nested run that is known without running it: a replay reads it from the record.
    fn known_nested_run(&mut self, _run: &NestedCall<'_>) -> Option<NestedReply> {
        None
    }

    /// Says that a nested run is about to be run. Where somebody else runs it and it has not ended, returns what the run around it
    /// waits for.
    fn nested_run_begins(&mut self, _run: &NestedRun) -> Option<Waiting> {
        None
    }

    /// Says that a step of a nested run begins. `path` is that of its calls.
    fn nested_step_begins(&mut self, _path: &Arc<str>, _step: &Arc<str>) {}

    /// Says that a step of a nested run has an outcome.
    fn nested_step_ended(&mut self, _path: &Arc<str>, _step: &Arc<str>) {}

    /// Returns the rules that the variables of a nested run obey; `None` when its skill declares none.
    fn nested_variables(&mut self, _skill: &Skill, _request: &RunRequest) -> Option<Box<dyn VariableRules>> {
        None
    }

    /// Receives a nested run that has ended and returns a reference to it, for the outcome of its step.
    fn nested_run_ended(&mut self, _run: &NestedRun) -> Option<Value> {
        None
    }
}

/// The member of a reply's `meta` that names what was sent to a model and received from it.
pub const EXCHANGE_KEY: &str = "exchange";

/// The effect of calling a capability.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// No effect, and the same input gives the same output. Such a call is never logged.
    Pure,
    /// It reads something that may change. Its reply is logged; calling again after a crash does no harm.
    Reads,
    /// It may change something outside the run. Its intent is on disk before the call is made.
    Acts,
    /// The call asks a person, who may take days to answer.
    Asks,
}

/// A call with everything around it, ready to be carried out.
pub type Task<'a> = Box<dyn FnOnce(&mut dyn Capabilities) -> Invocation + Send + 'a>;

/// The result of a task. Only the run that made the task can look inside.
pub struct Invocation(pub(super) TaskResult);

/// Carries out tasks one after the other.
pub fn one_by_one(capabilities: &mut dyn Capabilities, tasks: Vec<Task<'_>>) -> Vec<Invocation> {
    tasks.into_iter().map(|task| task(capabilities)).collect()
}

/// One call of a capability.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The capability.
    pub capability: &'a Arc<str>,
    /// With what.
    pub input: &'a Value,
    /// The purpose.
    pub purpose: CallPurpose,
    /// The skill it is for.
    pub skill_id: &'a Arc<str>,
    /// The step it is for.
    pub step_id: &'a Arc<str>,
    /// The place of the call in the run.
    pub place: &'a CallPlace,
    /// The number of the attempt, from 1.
    pub attempt: u64,
    /// The timeout.
    pub timeout_seconds: Float,
}

/// The place of a call in a run. It depends on the skill and on replies, never on timing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallPlace {
    /// The trace of the outermost run, which all runs of its tree share; empty when it has none. A retry has the trace
    /// of the run it retries.
    pub trace: Arc<str>,
    /// The calls of the runs around this one, outermost first; empty in the outermost run.
    pub path: Arc<str>,
    /// The iteration of a loop, from 0.
    pub iteration: u64,
    /// The item or branch, from 0.
    pub item: u64,
}

impl Call<'_> {
    /// Returns the unique name of this call in its run: the key of its intent and, after the
    /// id of the run, the key by which a capability recognises a repeated call.
    ///
    /// A driver that resumes a step answers calls from the log entries under their keys.
    pub fn key(&self) -> String {
        format!("{}/{}", self.intention(), self.attempt)
    }

    /// Returns a key by which a capability recognises that it was asked for the same effect before.
    ///
    /// The key names the intention, not the attempt: it is the same for every attempt of a `retry` and for a call that is
    /// made again after a crash, and another one in every other run, step, iteration and item.
    pub fn idempotency_key(&self) -> String {
        idempotency_key(&self.place.trace, &self.intention())
    }

    /// Returns which of several calls of its step this is, for a message: ` (item 2, attempt 1 of 3)`, or nothing.
    pub fn position(&self, step: &Step) -> String {
        let position = call_position(step, self.place.iteration, self.place.item, self.attempt);
        if position.is_empty() { position } else { format!(" ({position})") }
    }

    /// Returns what is wanted, where in the run.
    fn intention(&self) -> String {
        let CallPlace { path, iteration, item, .. } = self.place;
        let purpose = self.purpose.word();
        let (step, capability) = (key_part(self.step_id), key_part(self.capability));
        format!("{path}{step}/{iteration}.{item}/{purpose}/{capability}")
    }
}

fn idempotency_key(trace: &str, intention: &str) -> String {
    let parts: [&[u8]; 4] = [b"hence/idempotency/v1\0", trace.as_bytes(), b"\0", intention.as_bytes()];
    Digest::of_parts(parts).to_string()
}

/// Returns the idempotency key of a call of a tree of runs, from the trace of the outermost one and the key of the call.
pub fn idempotency_key_of(trace: &str, call: &str) -> String {
    idempotency_key(trace, call.rsplit_once('/').map_or(call, |(intention, _)| intention))
}

/// The word for the call of a step itself in the key of a call.
pub(super) const CALL: &str = "call";

/// The word for a confirmation in the key of a call.
pub(super) const CONFIRMATION: &str = "confirm";

/// Returns which of several calls of a step one is, for a message: `item 2, attempt 1 of 3`, or nothing.
pub fn call_position(step: &Step, iteration: u64, item: u64, attempt: u64) -> String {
    let which = match &step.control.flow {
        Flow::Once => None,
        Flow::Foreach(_) => Some(format!("item {item}")),
        Flow::Scatter(_) => Some(format!("branch {item}")),
        Flow::While(_) => Some(format!("iteration {iteration}")),
    };
    let attempts = step.control.retry.as_ref().map(|retry| retry.max_attempts).filter(|most| *most > 1);
    let attempt = attempts.map(|most| format!("attempt {attempt} of {most}"));
    which.into_iter().chain(attempt).collect::<Vec<_>>().join(", ")
}

/// Escapes an id as a JSON pointer does, so that a slash in it is not taken for the end of it.
pub fn key_part(id: &str) -> String {
    id.replace('~', "~0").replace('/', "~1")
}

/// Returns the id that a part of a key names.
pub fn key_text(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// A call that is about to be made side by side with others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedCall {
    /// The capability or skill.
    pub uses: Uses,
    /// The step it is for.
    pub step_id: Arc<str>,
    /// The place of the call in the run.
    pub place: CallPlace,
    /// The input.
    pub input: Value,
    /// The number of attempts it may take.
    pub attempts: u64,
}

/// The purpose of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallPurpose {
    /// A step uses it.
    Step,
    /// A gate asks it about an input.
    GateBefore,
    /// A gate asks it about an output.
    GateAfter,
    /// A person is asked whether something may be called.
    Confirmation,
}

impl CallPurpose {
    /// Returns the word in the key of a call.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Step => CALL,
            Self::GateBefore => "before",
            Self::GateAfter => "after",
            Self::Confirmation => CONFIRMATION,
        }
    }
}

/// The reply of a capability.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The output; anything but an object is refused.
    pub output: Value,
    /// The provider's report about the call, such as `tokens_in`.
    pub meta: Object,
}

/// A call without a reply.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CallError {
    /// The reply did not come in time.
    #[error("no reply within {0} seconds")]
    TimedOut(Float),
    /// Someone has to answer first, and it may take days: the run stops here and is resumed later.
    #[error("waiting: {0}")]
    Waiting(Arc<str>),
    /// The capability failed.
    #[error("{class}: {message}")]
    Failed {
        /// The class of its failure, in its own words.
        class: Arc<str>,
        /// The message.
        message: Arc<str>,
    },
    /// The call may have taken effect, and nobody can tell: no reply came after it was begun.
    #[error("{}; it may have taken effect", .0.cause)]
    Undecided(Arc<UndecidedCall>),
}

/// A call of which nobody knows whether it took effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndecidedCall {
    /// The reason why there is no reply: of the last attempt, or why it was not made again.
    pub cause: CallError,
    /// For a call that was repeated or was to be: how often it was begun, and who decided to repeat it. Empty otherwise.
    pub meta: Object,
}

impl CallError {
    /// Returns this error as that of a call that was begun and may have taken effect.
    #[must_use]
    pub fn undecided(self) -> Self {
        self.undecided_with(Object::new())
    }

    /// Returns this error as that of an undecided call that was repeated or was to be. `meta` says how often it was begun.
    #[must_use]
    pub fn undecided_with(self, meta: Object) -> Self {
        Self::Undecided(Arc::new(UndecidedCall { cause: self, meta }))
    }

    /// Returns the reason why there is no reply, also of an undecided call.
    pub fn cause(&self) -> &Self {
        match self {
            Self::Undecided(call) => call.cause.cause(),
            other => other,
        }
    }

    /// Returns whether the call, or the reason why it is undecided, has a class.
    pub fn is_of_class(&self, name: &str) -> bool {
        matches!(self.cause(), Self::Failed { class, .. } if **class == *name)
    }
}

/// The call that a run waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The key of the call that has no answer yet.
    pub key: Arc<str>,
    /// The capability that was called.
    pub capability: Arc<str>,
    /// The message, for people.
    pub message: Arc<str>,
}

/// A nested run that is about to start.
#[derive(Clone, Copy, Debug)]
pub struct NestedCall<'a> {
    /// The skill.
    pub skill_id: &'a Arc<str>,
    /// The id of the run, if the run that nests it has one.
    pub run_id: Option<&'a Arc<str>>,
    /// The place of the call.
    pub place: &'a CallPlace,
    /// The beginning of the keys of its calls.
    pub path: &'a str,
}

/// The result of a nested run that was not run.
#[derive(Clone, Debug)]
pub struct NestedReply {
    /// Its outputs, or its failure.
    pub result: Result<Object, Failure>,
    /// Its calls that are not pure.
    pub made: Vec<MadeCall>,
    /// The reference to it.
    pub link: Option<Value>,
}

/// A run that a step of another run started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NestedRun {
    /// The skill.
    pub skill_id: Arc<str>,
    /// The depth of nesting; 1 below the outermost.
    pub depth: u32,
    /// The skill that nests it.
    pub parent_skill_id: Arc<str>,
    /// The run that nests it, if it has an id.
    pub parent_run_id: Option<Arc<str>>,
    /// The skills from the outermost to this one.
    pub lineage: Names,
    /// The status.
    pub status: RunStatus,
    /// The id of the run, if the run that nests it has one.
    pub run_id: Option<Arc<str>>,
    /// The step that runs it.
    pub step_id: Arc<str>,
    /// The path of its calls, as in [`CallPlace::path`].
    pub path: Arc<str>,
    /// The inputs.
    pub inputs: Object,
    /// The settled outcomes of its steps.
    pub outcomes: Vec<StepOutcome>,
}

/// The rules that the variables of a run obey, step after step.
pub trait VariableRules {
    /// Judges the writes of the step that is due, and returns the variables whose time is over.
    ///
    /// # Errors
    /// [`Failure`] with the rule that a write breaks. The step has then failed and written nothing.
    fn judge(
        &mut self,
        step: &Step,
        outcome: &StepOutcome,
        memory: &Memory,
    ) -> Result<Vec<Arc<str>>, Failure>;
}

/// Returns the id of a run that a step of another run starts: another one for every step, iteration, item and attempt.
pub(super) fn nested_run_id(parent: &str, step: &str, place: &CallPlace, attempt: u64) -> Arc<str> {
    let step = key_part(step).replace('@', "~2");
    let CallPlace { iteration, item, .. } = place;
    match (iteration, item, attempt) {
        (0, 0, 1) => format!("{parent}/{step}").into(),
        _ => format!("{parent}/{step}@{iteration}.{item}.{attempt}").into(),
    }
}
