//! The host of a run: the capabilities that its steps call, and how each may be called.

use hence_canon::Value;
use hence_cognition::budget::Most;
use hence_cognition::capability::Registry;
use hence_cognition::run::Capabilities;
pub use hence_cognition::run::Effect;
use hence_cognition::skill::Recovery;
use hence_engine::Determinism;

/// A set of capabilities that steps can call.
///
/// A host is shared by the threads of a run; each executes its steps through a worker of its own.
pub trait Host: Registry + Sync {
    /// Returns whether the same input always gives the same output.
    fn determinism(&self, capability: &str) -> Determinism;

    /// Returns whether a replay may compute a capability again.
    ///
    /// A record may come from a stranger, and what it declares to be deterministic may be any program. A host answers
    /// yes only for what it computes itself, or for what its user allowed by name.
    fn is_recomputed(&self, capability: &str) -> bool {
        self.determinism(capability) == Determinism::Deterministic
    }

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

    /// Returns whether whoever is called recognises a repeated call by its idempotency key. A call that may have taken effect
    /// while it was made then fails for its cause, the retry rule of its step may repeat it, and nobody is asked.
    fn knows_repeated_calls(&self, _capability: &str) -> bool {
        false
    }

    /// Returns why a reply is none that this capability can have given to this input: its contract does not allow it.
    fn refused_reply(&self, _capability: &str, _input: &Value, _output: &Value) -> Option<String> {
        None
    }

    /// Returns what a call may use at most. By default it is a call that uses neither tokens nor money.
    fn most(&self, _capability: &str, _input: &Value) -> Most {
        Most::one_call()
    }

    /// Returns the call that a provider makes, for people: a command, a request, a model. `None` when it is not known.
    fn provider_call(&self, _capability: &str) -> Option<String> {
        None
    }

    /// Returns the program that each call of a capability starts, with its arguments; `None` when a call starts none.
    fn program(&self, _capability: &str) -> Option<Vec<String>> {
        None
    }

    /// Takes what the record says of the exchange with a model in a call that gave no reply, by the key of the call.
    fn take_failed_exchange(&self, _key: &str) -> Option<Value> {
        None
    }

    /// Returns the seconds since the process began to work on the run. They enter no record.
    fn elapsed_seconds(&self) -> f64 {
        0.0
    }

    /// Returns a worker that makes calls, one at a time.
    fn worker(&self) -> Box<dyn Capabilities + Send + '_>;
}
