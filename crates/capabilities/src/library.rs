//! The library of all capabilities that a skill can call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use hence_canon::{JsonPointer, Object, Value};
use hence_cognition::budget::Most;
use hence_cognition::capability::{CapabilitySpec, Registry};
use hence_cognition::mapping::KnownInput;
use hence_cognition::run::Capabilities;
use hence_cognition::skill::{Recovery, Skill};
use hence_skills::{Determinism, Effect, Host, is_timer};

use crate::arguments::Arguments;
use crate::builtin::BuiltIn;
use crate::contract::in_a_line;
use crate::exchange::{ExchangeStore, Exchanges};
use crate::families::FAMILIES;
use crate::fixed_input;
use crate::human;
use crate::refusal::Refusal;
use crate::registry::{Declarations, Effects};
use crate::secret::{MARK, MissingSecret, Redactor, Vault};
use crate::wait;
use crate::worker::Worker;

/// The capabilities that a skill can call: built-in and declared ones.
pub struct Library {
    built_in: BTreeMap<&'static str, (&'static BuiltIn, Arc<CapabilitySpec>)>,
    human: Arc<CapabilitySpec>,
    declared: Declarations,
    /// The values of secrets, read when the first of them is needed: whoever only reads a record of a stranger must not
    /// read the files and variables that it names.
    vault: OnceLock<Vault>,
    /// The secrets that no file declares, or the reasons why they are missing.
    held: Vec<(String, Result<String, String>)>,
    skills: BTreeMap<Arc<str>, Arc<Skill>>,
    /// Whether a replay may call declared capabilities that are deterministic.
    replays_declared: bool,
    exchanges: Exchanges,
    /// How often each declared capability was called in this process.
    calls: Mutex<BTreeMap<String, u64>>,
    started: Instant,
}

impl Library {
    /// Returns the built-in capabilities.
    pub fn built_in() -> Self {
        Self::with(Declarations::default())
    }

    /// Returns the built-in capabilities and the declared ones. No declared id may be that of a built-in capability.
    pub fn with(declared: Declarations) -> Self {
        let all = FAMILIES.into_iter().flatten();
        let built_in = all.map(|one| (one.id, (*one, Arc::new(one.spec())))).collect();
        Self {
            built_in,
            human: Arc::new(human::spec()),
            declared,
            vault: OnceLock::new(),
            held: Vec::new(),
            skills: BTreeMap::new(),
            replays_declared: false,
            exchanges: Exchanges::default(),
            calls: Mutex::default(),
            started: Instant::now(),
        }
    }

    /// Lets a replay call declared capabilities that say they are deterministic. Whoever verifies a record runs the
    /// programs of its author then, so only a user can allow it.
    #[must_use]
    pub fn with_declared_replayed(self) -> Self {
        Self { replays_declared: true, ..self }
    }

    /// Stores what is exchanged with models from here on, so that records can name it. The first place counts.
    pub fn store_exchanges_in(&self, store: Arc<dyn ExchangeStore>) {
        self.exchanges.store_in(store);
    }

    /// Adds skills that other skills may call as steps.
    #[must_use]
    pub fn with_skills(mut self, skills: impl IntoIterator<Item = Arc<Skill>>) -> Self {
        self.skills.extend(skills.into_iter().map(|skill| (skill.id.clone(), skill)));
        self
    }

    /// Iterates over the built-in capabilities by id, each with a one-line description.
    pub fn descriptions(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.built_in.values().map(|(one, _)| (one.id, one.does))
    }

    /// Returns an input with which a built-in capability, a timer or `human.ask` can be called; `None` for what a file
    /// declares.
    pub fn example(&self, id: &str) -> Option<Value> {
        let is_declared = self.declared.iter().any(|(declared, _)| **declared == *id);
        if is_declared { None } else { crate::examples::example(id) }
    }

    /// Returns the only words that an input of a built-in capability allows; none if every text is allowed.
    pub fn choices(&self, id: &str, input: &str) -> &'static [&'static str] {
        let built_in = self.built_in.get(id).map(|(one, _)| *one);
        let words = built_in.and_then(|one| one.choices().find(|(name, _)| *name == input));
        words.map_or(&[], |(_, words)| words)
    }

    /// Calls a built-in capability; `None` when no built-in capability has the id.
    pub fn call_built_in(&self, id: &str, input: &Value) -> Option<Result<Object, Refusal>> {
        let (built_in, _) = self.built_in.get(id)?;
        let Value::Object(object) = input else {
            return Some(Err(Refusal::input(format_args!("an input is an object, found {}", input.kind()))));
        };
        Some((built_in.call)(&Arguments(object)))
    }

    /// Notes that a declared capability is called.
    pub(crate) fn note_call(&self, id: &str) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        *calls.entry(id.to_owned()).or_default() += 1;
    }

    /// Returns how often each declared capability was called in this process.
    pub fn declared_calls(&self) -> BTreeMap<String, u64> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the declarations.
    pub fn declarations(&self) -> &Declarations {
        &self.declared
    }

    /// Returns the effects of calls of a capability. An unknown capability may do anything.
    pub fn effects(&self, id: &str) -> Effects {
        if self.built_in.contains_key(id) {
            return Effects::None;
        }
        self.declared.get(id).map_or(Effects::Writes, |declared| declared.effects)
    }

    /// Adds the value of a secret that no file declares, or the reason why it is missing.
    pub fn hold_secret(&mut self, name: &str, value: Result<String, String>) {
        self.held.push((name.to_owned(), value));
        self.vault = OnceLock::new();
    }

    /// Returns the redactor, which removes the values of secrets from texts.
    pub fn redactor(&self) -> &Redactor {
        self.vault().redactor()
    }

    /// Returns the missing secrets that calls of a capability need: those its provider names, and those of its file
    /// that its input may contain.
    pub fn missing_secrets(&self, id: &str) -> Vec<MissingSecret> {
        let Some(declared) = self.declared.get(id) else { return Vec::new() };
        let given = declared.given.iter().filter(|name| self.declared.secrets().contains(name));
        declared.secrets.iter().chain(given).filter_map(|name| self.vault().value(name).err()).collect()
    }

    /// Describes what this machine lacks to start the program of a capability; `None` when nothing is missing.
    pub fn missing_program(&self, id: &str) -> Option<String> {
        let missing = self.declared.get(id)?.provider.missing_program()?;
        Some(format!("{id}: {missing}"))
    }

    /// Returns a missing secret that a value refers to, if there is one.
    pub fn missing_in(&self, value: &Value) -> Option<MissingSecret> {
        self.vault().resolve(value, &|_| true).err()
    }

    pub(crate) fn exchanges(&self) -> &Exchanges {
        &self.exchanges
    }

    pub(crate) fn vault(&self) -> &Vault {
        self.vault.get_or_init(|| {
            let mut vault = Vault::open(self.declared.secrets());
            self.held.iter().for_each(|(name, value)| vault.hold(name, value.clone()));
            vault
        })
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }
}

impl Registry for Library {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        if id == human::HUMAN_ASK {
            return Some(self.human.clone());
        }
        if is_timer(id) {
            return wait::spec(id).map(Arc::new);
        }
        let built_in = self.built_in.get(id).map(|(_, spec)| spec.clone());
        built_in.or_else(|| self.declared.get(id).map(|declared| declared.spec.clone()))
    }

    fn input_mismatches(&self, id: &str, input: &KnownInput) -> Vec<(JsonPointer, String)> {
        let given = &input.fixed;
        if id == human::HUMAN_ASK {
            return human::defects(given);
        }
        if let Some((built_in, _)) = self.built_in.get(id) {
            return fixed_input::mismatches(built_in, input);
        }
        let schema = self.declared.get(id).and_then(|declared| declared.input.as_ref());
        let Some(schema) = schema.filter(|_| !given.is_empty()) else { return Vec::new() };
        let found = schema.check(&given.clone().into()).into_iter();
        // A mismatch of the whole object may be resolved by members that are not fixed yet.
        let inside = found.filter(|mismatch| !mismatch.pointer.is_root());
        inside.map(|mismatch| (mismatch.pointer, mismatch.message)).collect()
    }

    fn callees(&self) -> Vec<Arc<str>> {
        let built_in = self.built_in.keys().map(|id| Arc::from(*id)).chain([human::HUMAN_ASK.into()]);
        let built_in = built_in.chain(wait::TIMERS.map(|(id, _)| id.into()));
        let declared = self.declared.iter().map(|(id, _)| id.clone());
        let skills = self.skills.keys().map(|id| format!("skill:{id}").into());
        built_in.chain(declared).chain(skills).collect()
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        self.skills.get(id).cloned()
    }
}

impl Host for Library {
    fn determinism(&self, capability: &str) -> Determinism {
        if self.built_in.contains_key(capability) {
            return Determinism::Deterministic;
        }
        self.declared.get(capability).map_or(Determinism::Recorded, |declared| declared.determinism)
    }

    fn is_recomputed(&self, capability: &str) -> bool {
        match self.declared.get(capability) {
            None => self.built_in.contains_key(capability),
            Some(declared) => {
                declared.determinism == Determinism::Deterministic
                    && (declared.is_computed_here || self.replays_declared)
            }
        }
    }

    fn effect(&self, capability: &str) -> Effect {
        match (self.determinism(capability), self.effects(capability)) {
            _ if capability == human::HUMAN_ASK || is_timer(capability) => Effect::Asks,
            (Determinism::Deterministic, _) => Effect::Pure,
            (Determinism::Recorded, Effects::None | Effects::Reads) => Effect::Reads,
            (Determinism::Recorded, Effects::Writes) => Effect::Acts,
        }
    }

    fn refused_reply(&self, capability: &str, input: &Value, output: &Value) -> Option<String> {
        // The contract was checked before the values of secrets became names.
        if output.to_string().contains(MARK) {
            return None;
        }
        if capability == human::HUMAN_ASK {
            let answer = output.get("value").unwrap_or(&Value::Null);
            return human::check_answer(input, answer).err().map(|refusal| refusal.message.to_string());
        }
        let schema = self.declared.get(capability)?.output.as_ref()?;
        let mismatches = schema.check(output);
        (!mismatches.is_empty()).then(|| in_a_line(&mismatches))
    }

    fn recovery(&self, capability: &str) -> Recovery {
        if self.built_in.contains_key(capability) {
            return Recovery::Retry;
        }
        self.declared.get(capability).map_or(Recovery::Ask, |declared| declared.recovery)
    }

    fn knows_repeated_calls(&self, capability: &str) -> bool {
        self.declared.get(capability).is_some_and(|declared| declared.provider.knows_repeated_calls())
    }

    fn most(&self, capability: &str, input: &Value) -> Most {
        self.declared.get(capability).map_or_else(Most::one_call, |declared| declared.most(input))
    }

    fn provider_call(&self, capability: &str) -> Option<String> {
        self.declared.get(capability)?.provider.describe()
    }

    fn program(&self, capability: &str) -> Option<Vec<String>> {
        self.declared.get(capability)?.provider.program()
    }

    fn take_failed_exchange(&self, key: &str) -> Option<Value> {
        self.exchanges.take_failed(key)
    }

    fn elapsed_seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn worker(&self) -> Box<dyn Capabilities + Send + '_> {
        Box::new(Worker(self))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use hence_cognition::capability::breach;
    use proptest::prelude::*;

    #[test]
    fn every_capability_has_an_id_of_its_own_and_says_what_it_does() {
        let all: Vec<&BuiltIn> = FAMILIES.into_iter().flatten().copied().collect();
        let ids: BTreeSet<&str> = all.iter().map(|one| one.id).collect();
        assert_eq!(ids.len(), all.len());
        assert!(all.iter().all(|one| one.id.contains('.') && !one.does.ends_with('.')));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>()
                .prop_filter_map("finite", |real| hence_canon::Float::new(real).ok())
                .prop_map(Value::from),
            "[a-z/~{}.,\n0-9é]{0,12}".prop_map(Value::from),
            Just(Value::from("inputs.a == 1")),
            Just(Value::from("a")),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-d]|name|weight|better|id|expect", inner), 0..4)
                    .prop_map(|members| members.into_iter().collect::<Object>().into()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// A capability refuses its input or returns an output that matches its contract.
        #[test]
        fn nothing_panics_and_outputs_keep_their_contract(values in prop::collection::vec(any_value(), 8)) {
            let library = Library::built_in();
            for (id, (_, spec)) in &library.built_in {
                let names = spec.inputs.iter().map(|(name, _)| name.clone());
                let input: Object = names.zip(values.iter().cloned()).collect();
                if let Some(Ok(output)) = library.call_built_in(id, &input.into()) {
                    prop_assert_eq!(breach(&spec.outputs, &output), None, "{}", id);
                }
            }
        }
    }
}
