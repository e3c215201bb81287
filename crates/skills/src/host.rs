//! Who carries out what steps ask for.

use hence_cognition::capability::Registry;
use hence_cognition::run::Capabilities;
use hence_engine::Determinism;

/// A set of capabilities that runs can be driven with.
///
/// A host is shared by the threads of a run; each executes its steps through a worker of its own.
pub trait Host: Registry + Sync {
    /// Returns whether a replay calls a capability again or reads what it gave from the journal.
    fn determinism(&self, capability: &str) -> Determinism;

    /// Returns something that carries out calls, one at a time.
    fn worker(&self) -> Box<dyn Capabilities + Send + '_>;
}
