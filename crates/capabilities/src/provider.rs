//! Providers, which execute the calls of declared capabilities.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::Value;
use hence_cognition::budget::Most;
use hence_cognition::run::{CallError, Reply};

use crate::registry::{Effects, Members};

/// The executor of the calls of one declared capability.
///
/// The caller handles safety rules, contracts, limits and secrets: a provider receives an input that matches the
/// contract and contains the values of secrets, and its output and messages are checked and redacted before they are
/// recorded or shown.
pub trait Provider: Send + Sync {
    /// Executes one call and returns in time: a call that exceeds `call.timeout` is [`CallError::TimedOut`].
    ///
    /// # Errors
    /// [`CallError`] when there is no reply. Retry rules name the class of a failure.
    fn call(&self, call: &ProviderCall<'_>) -> Result<Reply, CallError>;

    /// Executes one call as [`call`](Self::call) does, and returns also what was sent and received, as data. They are
    /// redacted, cut and stored before anything is recorded.
    fn call_recorded(&self, call: &ProviderCall<'_>) -> (Result<Reply, CallError>, Option<Value>) {
        (self.call(call), None)
    }

    /// Describes the call it makes, for people who want to check a result: as declared, without input and secrets.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Returns the program it starts, with its arguments; `None` when it starts none.
    fn program(&self) -> Option<Vec<String>> {
        None
    }

    /// Returns what this machine lacks to start the program; `None` when nothing is missing, or when it starts none.
    fn missing_program(&self) -> Option<String> {
        None
    }

    /// Returns the members of the input that its texts name, each with the member of the declaration that holds the text.
    fn named_inputs(&self) -> Vec<(&'static str, Arc<str>)> {
        Vec::new()
    }

    /// Returns whether the service recognises a repeated call by its idempotency key, so that a call which may have taken
    /// effect can be repeated without a question.
    fn knows_repeated_calls(&self) -> bool {
        false
    }

    /// Returns whether calls can succeed at all: a contract without a provider cannot be called.
    fn is_bound(&self) -> bool {
        true
    }

    /// Returns what a call with an input may use at most. A provider that knows nothing of tokens and money uses none.
    fn most(&self, _input: &Value, _output_schema: Option<&Value>) -> Most {
        Most::one_call()
    }
}

/// One call of a provider.
pub struct ProviderCall<'a> {
    /// The input, with the values of secrets in place of references to them.
    pub input: &'a Value,
    /// A text that identifies this call and its attempt in the run.
    pub key: &'a str,
    /// A text that identifies the intended effect: the same for every attempt, so that a repeated effect can be
    /// detected.
    pub idempotency_key: &'a str,
    /// The effects of a call, as declared. A call that acts and whose end nobody saw is [`CallError::Undecided`].
    pub effects: Effects,
    /// The time limit of the call.
    pub timeout: Duration,
    /// The maximum number of bytes of output that the provider may read.
    pub output_bytes_max: u64,
    /// The schema of the output, if the capability declares one.
    pub output_schema: Option<&'a Value>,
    /// The values of the secrets that the declaration's provider names.
    pub secrets: &'a dyn SecretValues,
}

/// A source of the values of secrets.
pub trait SecretValues {
    /// Returns the value of a secret.
    ///
    /// # Errors
    /// [`CallError::Failed`] of class `SecretMissing` when the secret is missing or not declared for this provider.
    fn value(&self, name: &str) -> Result<Arc<str>, CallError>;
}

/// A kind of provider, which reads its own members of a declaration's `provider` object.
pub trait ProviderKind: Send + Sync {
    /// Returns the value of `kind` that selects this kind.
    fn name(&self) -> &'static str;

    /// Reads the members of a `provider` object except `kind`. Findings are added to `members`; `None` when the
    /// provider cannot be built.
    fn read(&self, members: &mut Members<'_, '_>) -> Option<Arc<dyn Provider>>;

    /// Returns the effects of calls, unless a declaration states others. A kind without effects is deterministic.
    fn effects(&self) -> Effects {
        Effects::Writes
    }

    /// Returns the JSON Schema of those members: an object with `properties` and `required`, without `kind`.
    fn schema(&self) -> Value;
}

/// The kinds of providers that a capabilities file may name.
#[derive(Clone)]
pub struct Kinds(BTreeMap<&'static str, Arc<dyn ProviderKind>>);

impl Kinds {
    /// Returns the kinds of this crate.
    pub fn standard() -> Self {
        let none = Self(BTreeMap::new());
        none.with(crate::command::CommandKind)
            .with(crate::http::HttpKind)
            .with(crate::ruling::RulesKind)
            .with(crate::unbound::UnboundKind)
    }

    /// Adds a kind, and replaces one with the same name.
    #[must_use]
    pub fn with(mut self, kind: impl ProviderKind + 'static) -> Self {
        self.0.insert(kind.name(), Arc::new(kind));
        self
    }

    /// Returns the kind with a name.
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
