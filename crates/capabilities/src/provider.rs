//! Providers: how a declared capability is carried out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::Value;
use hence_cognition::run::{CallError, Reply};

use crate::registry::{Effects, Members};

/// Carries out the calls of one declared capability.
///
/// Safety rules, contracts, limits and secrets are looked after around it: a provider gets an input that keeps the
/// contract with the values of secrets in it, and what it gives or says is checked and redacted before anybody sees it.
pub trait Provider: Send + Sync {
    /// Carries out one call and returns on time: one that overruns `call.timeout` is [`CallError::TimedOut`].
    ///
    /// # Errors
    /// [`CallError`] when there is no reply. The class of a failure is what retry rules name.
    fn call(&self, call: &ProviderCall<'_>) -> Result<Reply, CallError>;
}

/// One call, as a provider sees it.
pub struct ProviderCall<'a> {
    /// The input, with the values of secrets in place of references to them.
    pub input: &'a Value,
    /// A text that names this call in its run and no other, attempts included.
    pub key: &'a str,
    /// A text that names what is to be done: the same for every attempt, so that doing it twice can be noticed.
    pub idempotency_key: &'a str,
    /// How long the call may take.
    pub timeout: Duration,
    /// How much the provider may take in as output.
    pub output_bytes_max: u64,
    /// The schema of the output, if the capability declares one.
    pub output_schema: Option<&'a Value>,
    /// The values of the secrets the declaration of this capability names.
    pub secrets: &'a dyn SecretValues,
}

/// Gives the values of secrets.
pub trait SecretValues {
    /// Returns the value of a secret.
    ///
    /// # Errors
    /// [`CallError::Failed`] of class `SecretMissing` when it cannot be had.
    fn value(&self, name: &str) -> Result<Arc<str>, CallError>;
}

/// A kind of provider: reads its members from a declaration's `provider` object.
pub trait ProviderKind: Send + Sync {
    /// Returns the word that stands for it as `kind`.
    fn name(&self) -> &'static str;

    /// Reads the members of a `provider` object besides `kind`. Findings go to `members`; `None` when the provider
    /// cannot be made.
    fn read(&self, members: &mut Members<'_, '_>) -> Option<Arc<dyn Provider>>;

    /// Returns what calls do to the world unless a declaration says otherwise. What does nothing is deterministic.
    fn effects(&self) -> Effects {
        Effects::Writes
    }

    /// Returns the JSON Schema of those members: an object with `properties` and `required`, `kind` left out.
    fn schema(&self) -> Value;
}

/// The kinds of providers that a capabilities file may name.
#[derive(Clone)]
pub struct Kinds(BTreeMap<&'static str, Arc<dyn ProviderKind>>);

impl Kinds {
    /// Returns the kinds of this crate.
    pub fn standard() -> Self {
        let none = Self(BTreeMap::new());
        none.with(crate::command::CommandKind).with(crate::http::HttpKind).with(crate::ruling::RulesKind)
    }

    /// Adds a kind, in the place of one with the same name.
    #[must_use]
    pub fn with(mut self, kind: impl ProviderKind + 'static) -> Self {
        self.0.insert(kind.name(), Arc::new(kind));
        self
    }

    /// Returns the kind of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn ProviderKind>> {
        self.0.get(name)
    }

    /// Iterates over the kinds by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn ProviderKind>> {
        self.0.values()
    }

    /// Returns the names, for messages.
    pub(crate) fn names(&self) -> String {
        self.0.keys().copied().collect::<Vec<_>>().join(", ")
    }
}
