//! What a run needs from outside.

use std::sync::Arc;

use hence_canon::{Float, Object, Value};

use crate::capability::Registry;
use crate::state::RunStatus;

/// Calls, waits and time. Everything that is not a function of the skill and the request comes through here.
pub trait Capabilities: Registry {
    /// Carries out a call and returns on time: a call that overruns `call.timeout_seconds` is
    /// [`CallError::TimedOut`].
    ///
    /// # Errors
    /// [`CallError`] when the call gives no reply.
    fn call(&mut self, call: &Call<'_>) -> Result<Reply, CallError>;

    /// Waits between two attempts.
    fn wait(&mut self, seconds: Float);

    /// Returns how long the outermost run has been under way.
    fn elapsed_seconds(&mut self) -> Float;

    /// Learns that a nested run has ended.
    fn nested_run_ended(&mut self, _run: &NestedRun) {}
}

/// One call of a capability.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What is called.
    pub capability: &'a Arc<str>,
    /// With what.
    pub input: &'a Value,
    /// Why.
    pub purpose: CallPurpose,
    /// The skill and step it is for.
    pub skill_id: &'a Arc<str>,
    /// The step it is for.
    pub step_id: &'a Arc<str>,
    /// Which attempt it is, from 1.
    pub attempt: u64,
    /// How long it may take.
    pub timeout_seconds: Float,
}

/// Why a capability is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallPurpose {
    /// A step uses it.
    Step,
    /// A gate asks it.
    Gate,
}

/// What a capability answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The output; anything but an object is refused.
    pub output: Value,
    /// What the provider reports about the call, such as `tokens_in`.
    pub meta: Object,
}

/// A call without a reply.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CallError {
    /// It did not come in time.
    #[error("no reply within {0} seconds")]
    TimedOut(Float),
    /// The capability failed.
    #[error("{class}: {message}")]
    Failed {
        /// The class of its failure, in its own words.
        class: Arc<str>,
        /// What happened.
        message: Arc<str>,
    },
}

/// A run that a step of another run started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NestedRun {
    /// The skill.
    pub skill_id: Arc<str>,
    /// How deep it is nested; 1 below the outermost.
    pub depth: u32,
    /// The skill that nests it.
    pub parent_skill_id: Arc<str>,
    /// The run that nests it, if it has an id.
    pub parent_run_id: Option<Arc<str>>,
    /// The skills from the outermost to this one.
    pub lineage: Vec<Arc<str>>,
    /// How it ended.
    pub status: RunStatus,
}
