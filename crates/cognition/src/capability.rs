//! Capabilities as a plan and a run see them: contracts, hints and safety rules, but never how they work.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{JsonPointer, Kind, Object, Value};

use crate::mapping::KnownInput;
use crate::secret::secret_reference;
use crate::skill::{
    Fields, Findings, Need, ORDER_KEY, Skill, SkillFinding, TypeName, Uses, fields, sorted_as, unsorted,
};

/// The member of hints that lists what is produced.
const PRODUCES: &str = "produces";

/// The declared properties of a capability.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CapabilitySpec {
    /// The declared inputs.
    pub inputs: Fields,
    /// The declared outputs.
    pub outputs: Fields,
    /// Whether it takes no inputs but the declared ones.
    pub takes_only_declared: bool,
    /// Whether it gives no outputs but the declared ones.
    pub gives_only_declared: bool,
    /// The safety rules: required trust, confirmation and gates.
    pub safety: Safety,
    /// The hints about the knowledge it works on.
    pub hints: CognitiveHints,
    /// The type of action that a reviewer sees for a call, such as `RunTests` or `AskUser`.
    pub action: Option<Arc<str>>,
    /// The action types that its file declares besides the known ones.
    pub custom_actions: Vec<Arc<str>>,
}

/// An input that does not fit a contract.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ContractBreach {
    /// A required input is not there.
    #[error("the required input `{0}` is missing")]
    Missing(Arc<str>),
    /// An input has another type.
    #[error("input `{name}` is {expected}, found {found}")]
    Type {
        /// The input.
        name: Arc<str>,
        /// The declared type.
        expected: Arc<str>,
        /// The kind of the given value.
        found: Kind,
    },
}

impl ContractBreach {
    /// Describes the breach of a contract of outputs.
    pub fn of_output(&self) -> String {
        match self {
            Self::Missing(name) => format!("the required output `{name}` is missing"),
            Self::Type { name, expected, found } => format!("output `{name}` is {expected}, found {found}"),
        }
    }
}

impl CapabilitySpec {
    /// Reads a contract from an object with `inputs`, `outputs`, `safety`, `cognitive_hints` and `action`, all
    /// optional.
    pub fn read(value: &Value) -> (Self, Vec<SkillFinding>) {
        let mut findings = Findings::default();
        let mut declared = |key: &str| match value.get(key) {
            Some(Value::Object(object)) => fields(object, &JsonPointer::root().child(key), &mut findings),
            _ => Fields::new(),
        };
        let spec = Self {
            inputs: declared("inputs"),
            outputs: declared("outputs"),
            takes_only_declared: false,
            gives_only_declared: false,
            safety: value.get("safety").map(Safety::read).unwrap_or_default(),
            hints: value.get("cognitive_hints").map(CognitiveHints::read).unwrap_or_default(),
            action: value.get("action").and_then(Value::as_str).map(Arc::from),
            custom_actions: Vec::new(),
        };
        (spec, findings.into_vec())
    }
}

/// Returns the first way in which values do not fit declared fields. `null` fits every type, and so does a reference to
/// a secret; undeclared members and type names outside [`TypeName`] are not looked at.
pub fn breach(fields: &Fields, values: &Object) -> Option<ContractBreach> {
    fields.iter().find_map(|(name, field)| match (values.get(name), TypeName::find(&field.kind)) {
        (None, _) if field.need == Need::Required => Some(ContractBreach::Missing(name.clone())),
        (Some(value), Some(kind)) if !kind.admits(value) && secret_reference(value).is_none() => {
            Some(ContractBreach::Type {
                name: name.clone(),
                expected: field.kind.clone(),
                found: value.kind(),
            })
        }
        _ => None,
    })
}

/// The capabilities and skills that can be called.
pub trait Registry {
    /// Returns a capability's contract.
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>>;

    /// Returns a skill that can be nested.
    fn skill(&self, id: &str) -> Option<Arc<Skill>>;

    /// Returns how what is known of an input breaks what a capability demands beyond the types of its fields, each with
    /// its place in the input. Members that are not given are not missed; the fixed ones have the declared types.
    fn input_mismatches(&self, _capability: &str, _input: &KnownInput) -> Vec<(JsonPointer, String)> {
        Vec::new()
    }

    /// Returns the names that `uses` may have, for advice about a misspelt one.
    fn callees(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// Returns the vocabulary of types of knowledge.
    fn cognitive_types(&self) -> CognitiveTypes {
        CognitiveTypes::default()
    }

    /// Returns the targets that steps without a mapping write through their capabilities' hints.
    fn wired_targets(&self, skill: &Skill) -> BTreeSet<Arc<str>> {
        let types = self.cognitive_types();
        let unmapped =
            skill.steps.iter().filter(|step| step.output.as_ref().is_ok_and(|output| output.is_empty()));
        let specs = unmapped.filter_map(|step| match &step.uses {
            Uses::Capability(id) => self.capability(id),
            Uses::Skill(_) => None,
        });
        let mappings = specs.filter_map(|spec| auto_wire(&spec.hints, &types));
        mappings
            .flat_map(|mapping| {
                mapping.iter().filter_map(|(_, target)| target_text(target)).collect::<Vec<_>>()
            })
            .collect()
    }
}

fn target_text(target: &Value) -> Option<Arc<str>> {
    target.as_str().map(Arc::from)
}

/// The hints of a capability about the knowledge it works on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CognitiveHints {
    /// The role, in the vocabulary of its author.
    pub role: Vec<Arc<str>>,
    /// The types of knowledge it needs.
    pub consumes: Vec<Arc<str>>,
    /// The type of knowledge of each output member and, optionally, its target.
    pub produces: Vec<(Arc<str>, Produced)>,
}

/// The hint of a capability about one member of its output.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Produced {
    /// The type of knowledge.
    pub kind: Option<Arc<str>>,
    /// The target.
    pub target: Option<Arc<str>>,
}

/// The vocabulary of types of knowledge with the slot each goes to by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CognitiveTypes(Vec<(Arc<str>, Arc<str>)>);

impl CognitiveHints {
    /// Reads hints; what is not understood is left out, since hints promise nothing.
    pub fn read(value: &Value) -> Self {
        let texts = |key: &str| match value.get(key) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => items.iter().filter_map(text).collect(),
            _ => Vec::new(),
        };
        let produced = |(field, value): (&Arc<str>, &Value)| {
            value.as_object()?;
            let member = |key: &str| value.get(key).and_then(text).filter(|text| !text.is_empty());
            Some((field.clone(), Produced { kind: member("type"), target: member("target") }))
        };
        let produces = value.get(PRODUCES).and_then(Value::as_object);
        let order = value.get(ORDER_KEY).and_then(Value::as_array).unwrap_or_default();
        let order: Vec<&str> = order.iter().filter_map(Value::as_str).collect();
        let produces = produces.map(|members| sorted_as(members, &order).unwrap_or_else(|| members.clone()));
        Self {
            role: texts("role"),
            consumes: texts("consumes"),
            produces: produces.iter().flat_map(Object::iter).filter_map(produced).collect(),
        }
    }

    /// Returns hints whose canonical form keeps the order in which they list what is produced.
    pub fn with_order(hints: &Value) -> Value {
        let Some(object) = hints.as_object().filter(|hints| !hints.contains_key(ORDER_KEY)) else {
            return hints.clone();
        };
        let produces = object.get(PRODUCES).and_then(Value::as_object);
        match produces.and_then(|produces| unsorted(produces.keys())) {
            Some(order) => object.with(ORDER_KEY, order).into(),
            None => hints.clone(),
        }
    }
}

impl CognitiveTypes {
    /// Reads a vocabulary of the form `{"types": {name: {"default_slot": target}}}`.
    pub fn read(value: &Value) -> Self {
        let types = value.get("types").and_then(Value::as_object);
        let slot = |(name, entry): (&Arc<str>, &Value)| {
            Some((name.clone(), entry.get("default_slot").and_then(text).filter(|slot| !slot.is_empty())?))
        };
        Self(types.into_iter().flat_map(Object::iter).filter_map(slot).collect())
    }

    fn default_slot(&self, kind: &str) -> Option<&Arc<str>> {
        self.0.iter().find(|(name, _)| &**name == kind).map(|(_, slot)| slot)
    }
}

fn text(value: &Value) -> Option<Arc<str>> {
    value.as_str().map(Arc::from)
}

/// Returns the output mapping that the hints describe, if they name any target.
pub fn auto_wire(hints: &CognitiveHints, types: &CognitiveTypes) -> Option<Object> {
    let target = |produced: &Produced| {
        let by_type = || types.default_slot(produced.kind.as_deref()?).cloned();
        produced.target.clone().or_else(by_type)
    };
    let wired =
        hints.produces.iter().filter_map(|(field, produced)| Some((field.clone(), target(produced)?)));
    Some(wired.collect::<Object>()).filter(|mapping| !mapping.is_empty())
}

/// A type of knowledge that a step consumes before any earlier step produces it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consumed {
    /// The step.
    pub step_id: Arc<str>,
    /// The type of knowledge.
    pub kind: Arc<str>,
}

/// Returns what is consumed too early, walking the steps as declared.
pub fn consumed_too_early<'a>(
    steps: impl IntoIterator<Item = (&'a Arc<str>, &'a Uses)>,
    registry: &dyn Registry,
) -> Vec<Consumed> {
    let mut produced = BTreeSet::new();
    let mut early = Vec::new();
    for (step_id, uses) in steps {
        let Uses::Capability(id) = uses else { continue };
        let Some(spec) = registry.capability(id) else { continue };
        let missing = spec.hints.consumes.iter().filter(|kind| !produced.contains(*kind));
        early.extend(missing.map(|kind| Consumed { step_id: step_id.clone(), kind: kind.clone() }));
        produced.extend(spec.hints.produces.iter().filter_map(|(_, produced)| produced.kind.clone()));
    }
    early
}

impl Skill {
    /// Returns what the steps consume before any earlier one produces it.
    pub fn consumed_too_early(&self, registry: &dyn Registry) -> Vec<Consumed> {
        consumed_too_early(self.steps.iter().map(|step| (&step.id, &step.uses)), registry)
    }
}

/// The trust in a caller, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[expect(missing_docs, reason = "the names are the levels")]
pub enum TrustLevel {
    Sandbox,
    #[default]
    Standard,
    Elevated,
    Privileged,
}

impl TrustLevel {
    /// Returns the level of that name.
    pub fn find(name: &str) -> Option<Self> {
        Some(match name {
            "sandbox" => Self::Sandbox,
            "standard" => Self::Standard,
            "elevated" => Self::Elevated,
            "privileged" => Self::Privileged,
            _ => return None,
        })
    }

    /// Returns the level's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Standard => "standard",
            Self::Elevated => "elevated",
            Self::Privileged => "privileged",
        }
    }
}

/// The trust a capability demands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum RequiredTrust {
    /// Anyone may call it.
    #[default]
    None,
    /// Callers of at least this level may.
    AtLeast(TrustLevel),
    /// An unknown level: no caller has it.
    Unknown(Arc<str>),
}

/// A capability that must agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gate {
    /// The capability that is asked.
    pub capability: Arc<str>,
    /// The consequence of a denial.
    pub on_denied: OnDenied,
}

/// The consequence of a denial by a gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnDenied {
    /// The run stops.
    #[default]
    Block,
    /// The run stops until a person has confirmed.
    RequireHuman,
    /// A warning event, nothing else.
    Warn,
    /// The step produces nothing, and the run continues.
    Degrade,
}

/// The safety rules of a capability.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Safety {
    /// The trust it demands.
    pub trust: RequiredTrust,
    /// The need for a person to confirm the capability for this run.
    pub confirmation: Confirmation,
    /// The gates asked before the call, with its input.
    pub before: Vec<Gate>,
    /// The gates asked after the call, with its output.
    pub after: Vec<Gate>,
}

/// The need for a confirmation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Confirmation {
    /// No confirmation is needed.
    #[default]
    NotNeeded,
    /// A person must have confirmed it.
    Needed,
}

impl Safety {
    /// Reads safety rules. What is not understood is read as the strictest it could mean.
    pub fn read(value: &Value) -> Self {
        let trust = match value.get("trust_level") {
            None | Some(Value::Null) => RequiredTrust::None,
            Some(Value::String(name)) => TrustLevel::find(name)
                .map_or_else(|| RequiredTrust::Unknown(name.clone()), RequiredTrust::AtLeast),
            Some(other) => RequiredTrust::Unknown(other.to_string().into()),
        };
        let confirmation = match value.get("requires_confirmation") {
            None | Some(Value::Null | Value::Bool(false)) => Confirmation::NotNeeded,
            Some(_) => Confirmation::Needed,
        };
        let gates = |key: &str| match value.get(key) {
            Some(Value::Array(items)) => items.iter().map(gate).collect(),
            _ => Vec::new(),
        };
        Self {
            trust,
            confirmation,
            before: gates("mandatory_pre_gates"),
            after: gates("mandatory_post_gates"),
        }
    }
}

/// A gate that cannot be read is one that cannot be asked, and so fails closed.
fn gate(value: &Value) -> Gate {
    let capability =
        value.as_str().or_else(|| value.get("capability").and_then(Value::as_str)).unwrap_or_default();
    let on_denied = match value.get("on_fail").and_then(Value::as_str) {
        Some("require_human") => OnDenied::RequireHuman,
        Some("warn") => OnDenied::Warn,
        Some("degrade") => OnDenied::Degrade,
        _ => OnDenied::Block,
    };
    Gate { capability: capability.into(), on_denied }
}
