//! Declared capabilities.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hence_canon::{JsonPointer, Value, did_you_mean, meant};
use hence_cognition::budget::{Costs, Most, PriceKnown, read_amount};
use hence_cognition::capability::{
    CapabilitySpec, CognitiveHints, Confirmation, Gate, OnDenied, RequiredTrust, Safety, TrustLevel,
};
use hence_cognition::secret::INPUT_PREFIX;
use hence_cognition::skill::{Fields, Recovery};
use hence_skills::Determinism;

use super::{Findings, Members, fields};
use crate::contract::Schema;
use crate::provider::{Kinds, Provider};

/// The maximum number of bytes of output that a provider reads, unless its declaration states another.
pub const OUTPUT_BYTES_DEFAULT: u64 = 16 * 1024 * 1024;

/// The largest output limit that a declaration may state: the whole output is held in memory.
pub const OUTPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;
const _: () = assert!(OUTPUT_BYTES_DEFAULT <= OUTPUT_BYTES_MAX);

/// The effects of a call outside the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effects {
    /// A call has no effects and reads nothing that may change.
    None,
    /// A call reads something that may change.
    Reads,
    /// A call changes something; a repeated call may matter.
    Writes,
}

/// A capability as a file declares it.
#[derive(Clone)]
pub struct Declared {
    /// A one-line description.
    pub description: Arc<str>,
    /// Contract, safety rules and hints, as plans and runs see them.
    pub spec: Arc<CapabilitySpec>,
    /// Whether the same input always gives the same output.
    pub determinism: Determinism,
    /// Whether its kind of provider computes the output in this process and has no effects, like rules.
    pub is_computed_here: bool,
    /// The effects of a call.
    pub effects: Effects,
    /// The recovery of an undecided call, unless a step states another.
    pub recovery: Recovery,
    /// The schema of inputs.
    pub input: Option<Schema>,
    /// The schema of outputs.
    pub output: Option<Schema>,
    /// The time limit of a call, if shorter than that of its step.
    pub timeout: Option<Duration>,
    /// The maximum number of bytes of output.
    pub output_bytes_max: u64,
    /// The most tokens that a call may use, if the declaration states them.
    pub max_tokens: Option<u64>,
    /// The most money that a call may cost, if the declaration states it.
    pub max_cost: Costs,
    /// The secrets that the provider names.
    pub secrets: Vec<Arc<str>>,
    /// The secrets that the input may contain; `inputs.*` means all secret inputs of skills.
    pub given: Vec<Arc<str>>,
    /// The provider that executes calls.
    pub provider: Arc<dyn Provider>,
}

impl std::fmt::Debug for Declared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Declared").field("description", &self.description).finish_non_exhaustive()
    }
}

/// Reads one declaration, given the folder of its file and the action types that the file declares.
pub(super) fn read(
    value: &Value,
    place: &JsonPointer,
    (base, custom_actions): (&Path, &[Arc<str>]),
    kinds: &Kinds,
    findings: &mut Findings,
) -> Option<Declared> {
    let before = findings.secrets_count();
    let provider = provider(value, place, base, kinds, findings);
    let name = value.get("provider").and_then(|provider| provider.get("kind")).and_then(Value::as_str);
    let usual = name.and_then(|name| kinds.get(name)).map_or(Effects::Writes, |kind| kind.effects());
    let secrets = findings.secrets_since(before);
    let mut members = Members::of(value, place.clone(), base, findings)?;
    let _ = members.value("provider");
    let description = members.required_text("description");
    let input = schema(&mut members, "input");
    let output = schema(&mut members, "output");
    let fields = |schema: &Option<Schema>| schema.as_ref().map(|schema| fields::of_schema(schema.source()));
    let (inputs, outputs) = (fields(&input).unwrap_or_default(), fields(&output).unwrap_or_default());
    let hints = members.value(super::HINTS).map(CognitiveHints::read).unwrap_or_default();
    let safety = safety(&mut members);
    let action = members.text("action");
    let (determinism, effects, recovery) = class(&mut members, usual);
    if let Some(word) = action.as_deref().filter(|word| effects != Effects::Writes && ACTING.contains(word)) {
        let message =
            format!("an action `{word}` changes something: declare `effects: writes`, or another action");
        members.refuse("effects", &message);
    }
    let given = given(&mut members);
    if determinism == Determinism::Deterministic && !(secrets.is_empty() && given.is_empty()) {
        let message = "a deterministic capability has no secrets: a replay calls it again without them";
        members.refuse("determinism", message);
    }
    let timeout = members.seconds("timeout_seconds");
    let output_bytes_max =
        members.count("output_bytes_max", 1..=OUTPUT_BYTES_MAX).unwrap_or(OUTPUT_BYTES_DEFAULT);
    let max_tokens = members.count("max_tokens", 0..=u64::MAX);
    let max_cost = max_cost(&mut members);
    members.finish();
    let takes_only_declared = input.as_ref().is_some_and(fields::is_complete);
    if let (Some(provider), Some(_)) = (&provider, &input) {
        check_named_inputs(&**provider, &inputs, takes_only_declared, &place.child("provider"), findings);
    }
    Some(Declared {
        description: description?,
        spec: Arc::new(CapabilitySpec {
            takes_only_declared,
            gives_only_declared: output.as_ref().is_some_and(fields::is_complete),
            inputs,
            outputs,
            safety,
            hints,
            action,
            custom_actions: custom_actions.to_vec(),
        }),
        determinism,
        is_computed_here: usual == Effects::None,
        effects,
        recovery,
        input,
        output,
        timeout,
        output_bytes_max,
        max_tokens,
        max_cost,
        secrets,
        given,
        provider: provider?,
    })
}

/// Refuses texts that name members of the input which a call cannot have. An input that may have other members than the
/// declared ones is believed, unless the name is a declared one misspelt.
fn check_named_inputs(
    provider: &dyn Provider,
    inputs: &Fields,
    takes_only_declared: bool,
    place: &JsonPointer,
    findings: &mut Findings,
) {
    for (member, name) in provider.named_inputs() {
        let known = || inputs.iter().map(|(known, _)| &**known);
        let is_known = known().any(|known| known == &*name);
        if is_known || !takes_only_declared && meant(&name, known()).is_none() {
            continue;
        }
        let guess = did_you_mean(&name, known());
        let message = format_args!("`{name}` is no member of `input`{guess}");
        findings.add(place.child(member), message);
    }
}

/// Reads the most that a call may cost.
fn max_cost(members: &mut Members<'_, '_>) -> Costs {
    match members.value("max_cost").map(read_amount) {
        None => Costs::new(),
        Some(Ok(amount)) => Costs::from([amount]),
        Some(Err(message)) => {
            members.refuse("max_cost", message);
            Costs::new()
        }
    }
}

impl Declared {
    /// Returns what a call may use at most: what the declaration states, or else what the provider knows.
    pub fn most(&self, input: &Value) -> Most {
        let schema = self.output.as_ref().map(|schema| schema.source());
        let mut most = self.provider.most(input, schema);
        if let Some(tokens) = self.max_tokens {
            most.usage.tokens_in = 0;
            most.usage.tokens_out = tokens;
        }
        if !self.max_cost.is_empty() {
            most.usage.cost.clone_from(&self.max_cost);
            most.price = PriceKnown::Yes;
        }
        most
    }
}

fn schema(members: &mut Members<'_, '_>, key: &'static str) -> Option<Schema> {
    let value = members.value(key)?;
    match Schema::read(value) {
        Ok(schema) => Some(schema),
        Err(error) => {
            let place = members.place(key).join(&error.pointer);
            members.findings().add(place, error.message);
            None
        }
    }
}

/// Reads the names of the secrets that the input may contain. A skill declares its own; the others are declared here.
fn given(members: &mut Members<'_, '_>) -> Vec<Arc<str>> {
    let given = members.texts("secrets");
    for (index, name) in given.iter().enumerate() {
        if !name.starts_with(INPUT_PREFIX) {
            let place = members.place("secrets").child(index);
            members.findings().needs_secret(place, name.clone());
        }
    }
    given
}

fn provider(
    value: &Value,
    place: &JsonPointer,
    base: &Path,
    kinds: &Kinds,
    findings: &mut Findings,
) -> Option<Arc<dyn Provider>> {
    let Some(declared) = value.get("provider") else {
        if value.as_object().is_some() {
            findings.add(place.clone(), "`provider` is missing");
        }
        return None;
    };
    let mut members = Members::of(declared, place.child("provider"), base, findings)?;
    let name = members.required_text("kind")?;
    let Some(kind) = kinds.get(&name) else {
        members.refuse("kind", format_args!("expected one of {}, found {name:?}", kinds.names()));
        return None;
    };
    let provider = kind.read(&mut members);
    members.finish();
    provider
}

/// Action types that change something by their nature: what only reads cannot be one.
const ACTING: &[&str] = &[
    "EditFile",
    "CreateFile",
    "DeleteFile",
    "RenameFile",
    "GitCommit",
    "GitPush",
    "Deploy",
    "Release",
    "Distribution",
    "Change",
];

/// Reads determinism, effects and recovery. Missing members get the strictest meaning that the provider allows.
fn class(members: &mut Members<'_, '_>, usual: Effects) -> (Determinism, Effects, Recovery) {
    let effects = match members.word("effects", &["none", "reads", "writes"]) {
        Some("none") => Effects::None,
        Some("reads") => Effects::Reads,
        Some(_) => Effects::Writes,
        None => usual,
    };
    let determinism = match members.word("determinism", &["recorded", "deterministic"]) {
        Some("deterministic") => Determinism::Deterministic,
        Some(_) => Determinism::Recorded,
        None if usual == Effects::None && effects == Effects::None => Determinism::Deterministic,
        None => Determinism::Recorded,
    };
    if determinism == Determinism::Deterministic && effects != Effects::None {
        let message = "a deterministic capability has `effects: none`: a replay calls it again";
        members.refuse("determinism", message);
    }
    let recovery = match members.word("recovery", &Recovery::ALL.map(Recovery::name)) {
        Some(name) => Recovery::find(name).unwrap_or(Recovery::Ask),
        None if effects == Effects::Writes => Recovery::Ask,
        None => Recovery::Retry,
    };
    (determinism, effects, recovery)
}

fn safety(members: &mut Members<'_, '_>) -> Safety {
    let trust = members.word("trust", &["sandbox", "standard", "elevated", "privileged"]);
    let confirmation = match members.word("confirmation", &["none", "required"]) {
        Some("required") => Confirmation::Needed,
        _ => Confirmation::NotNeeded,
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    if let Some(value) = members.value("gates") {
        let (place, base) = (members.place("gates"), members.base());
        if let Some(mut gates) = Members::of(value, place, base, members.findings()) {
            before = read_gates(&mut gates, "before");
            after = read_gates(&mut gates, "after");
            gates.finish();
        }
    }
    let trust = trust.and_then(TrustLevel::find).map_or(RequiredTrust::None, RequiredTrust::AtLeast);
    Safety { trust, confirmation, before, after }
}

/// Reads gates, each the id of a capability or `{capability, on_denied}`.
fn read_gates(members: &mut Members<'_, '_>, key: &'static str) -> Vec<Gate> {
    let Some(value) = members.value(key) else { return Vec::new() };
    let Some(items) = value.as_array() else {
        members.refuse(key, format_args!("expected a list of gates, found {}", value.kind()));
        return Vec::new();
    };
    let (place, base) = (members.place(key), members.base());
    let mut gates = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if let Value::String(capability) = item {
            gates.push(Gate { capability: capability.clone(), on_denied: OnDenied::Block });
            continue;
        }
        let Some(mut gate) = Members::of(item, place.child(index), base, members.findings()) else {
            continue;
        };
        let capability = gate.required_text("capability");
        let on_denied = match gate.word("on_denied", &["block", "require_human", "warn", "degrade"]) {
            Some("require_human") => OnDenied::RequireHuman,
            Some("warn") => OnDenied::Warn,
            Some("degrade") => OnDenied::Degrade,
            _ => OnDenied::Block,
        };
        gate.finish();
        gates.extend(capability.map(|capability| Gate { capability, on_denied }));
    }
    gates
}
