//! The host of a run: the capabilities that its steps call, and how each may be called.

use hence_cognition::capability::Registry;
use hence_cognition::run::Capabilities;
use hence_cognition::skill::Recovery;
use hence_engine::Determinism;

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

/// A set of capabilities that steps can call.
///
/// A host is shared by the threads of a run; each executes its steps through a worker of its own.
pub trait Host: Registry + Sync {
    /// Returns whether a replay calls a capability again or reads its output from the journal.
    fn determinism(&self, capability: &str) -> Determinism;

    /// Returns the effect of calling a capability. A capability that is not known to be pure acts.
    fn effect(&self, capability: &str) -> Effect {
        match self.determinism(capability) {
            Determinism::Deterministic => Effect::Pure,
            Determinism::Recorded => Effect::Acts,
        }
    }

    /// Returns the recovery of an undecided call, where its step names none.
    ///
    /// The default for calls that act is to ask a person: calling again may do it twice, giving up may lose what was
    /// done, and only a person can look outside and find out.
    fn recovery(&self, capability: &str) -> Recovery {
        match self.effect(capability) {
            Effect::Pure | Effect::Reads => Recovery::Retry,
            Effect::Acts | Effect::Asks => Recovery::Ask,
        }
    }

    /// Returns a worker that makes calls, one at a time.
    fn worker(&self) -> Box<dyn Capabilities + Send + '_>;
}
