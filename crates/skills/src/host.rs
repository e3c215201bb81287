//! Who carries out what steps ask for.

use hence_cognition::capability::Registry;
use hence_cognition::run::Capabilities;
use hence_cognition::skill::Recovery;
use hence_engine::Determinism;

/// What calling a capability does to the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing, and the same input gives the same output: it is called whenever that is convenient.
    Pure,
    /// It looks at something that may change. What it gave is kept; asking again after a crash does no harm.
    Reads,
    /// It may change something. That it was called is on disk before it is.
    Acts,
    /// It asks a person, who may take days.
    Asks,
}

/// A set of capabilities that runs can be driven with.
///
/// A host is shared by the threads of a run; each executes its steps through a worker of its own.
pub trait Host: Registry + Sync {
    /// Returns whether a replay calls a capability again or reads what it gave from the journal.
    fn determinism(&self, capability: &str) -> Determinism;

    /// Returns what calling a capability does to the world. What is not known to be pure may do anything.
    fn effect(&self, capability: &str) -> Effect {
        match self.determinism(capability) {
            Determinism::Deterministic => Effect::Pure,
            Determinism::Recorded => Effect::Acts,
        }
    }

    /// Returns what becomes of a call of which nobody knows whether it happened, where its step says nothing.
    ///
    /// Unless the host knows better a person is asked: calling again may do it twice, giving up may lose what was
    /// done, and only who can look outside knows which.
    fn recovery(&self, capability: &str) -> Recovery {
        match self.effect(capability) {
            Effect::Pure | Effect::Reads => Recovery::Retry,
            Effect::Acts | Effect::Asks => Recovery::Ask,
        }
    }

    /// Returns something that carries out calls, one at a time.
    fn worker(&self) -> Box<dyn Capabilities + Send + '_>;
}
