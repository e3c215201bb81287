//! The settings of a problem.

use std::num::NonZeroU64;
use std::sync::Arc;

use hence_canon::{Digest, Int, JsonPointer, Value};

use super::LoopSettings;
use super::binding::{Binding, read_bindings};
use super::loop_settings::read_loop;
use super::task::read_names;
use crate::schema::{Node, Number, SchemaReader};
use crate::text::is_blank;
use crate::{Category, StepsRule, Typing};

/// The settings of a problem; everything has a default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether verification needs evidence.
    pub evidence_required: bool,
    /// The items of evidence in one acquisition; all of them when absent.
    pub evidence_batch: Option<NonZeroU64>,
    /// The budget of steps.
    pub max_steps: Option<MaxSteps>,
    /// The routing policy by name.
    pub policy_profile: Option<Arc<str>>,
    /// The model profile, for the record.
    pub model_profile: Option<Arc<str>>,
    /// The model that writes the synthesis, when one is requested and named.
    pub model: Option<ModelRequest>,
    /// Named ways to verify the result.
    pub verification_paths: Vec<VerificationPath>,
    /// The loop, when enabled.
    pub loop_settings: Option<LoopSettings>,
    /// Steps that capabilities execute. The compat profile has none.
    pub bindings: Vec<Binding>,
    /// The digest of the declared capabilities that bound steps may call.
    pub capabilities: Option<Digest>,
    /// The digest of the policies every step must follow; strict typing only.
    pub policies: Option<Digest>,
}

/// A budget of steps as the document spelled it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MaxSteps {
    /// A number.
    Number(Int),
    /// Lax typing only: digits in a text, which cannot be compared with a number.
    Text,
}

/// A language model that writes the synthesis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelRequest {
    /// The provider's name.
    pub provider: Arc<str>,
    /// The model's name.
    pub name: Arc<str>,
}

/// A named way to verify.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerificationPath {
    /// Its name.
    pub name: Arc<str>,
    /// Whether this path needs evidence; the general setting when absent.
    pub evidence_required: Option<bool>,
    /// The ids of the evidence that this path needs.
    pub evidence: Vec<Arc<str>>,
    /// The expression that must hold.
    pub expression: Option<Arc<str>>,
}

impl Settings {
    /// The names of all settings that something reads.
    pub const KEYS: [&'static str; 19] = [
        "bindings",
        "capabilities",
        "evidence_batch",
        "evidence_required",
        "limits",
        "loop",
        "max_steps",
        "model",
        "model_name",
        "model_profile",
        "model_provider",
        "orchestration_framework",
        "origin",
        "parent",
        "policies",
        "policy_profile",
        "skill",
        "structured_generation",
        "verification_paths",
    ];
}

pub(super) fn read_settings(
    reader: &mut SchemaReader<'_>,
    value: &Value,
    path: &JsonPointer,
) -> Option<Settings> {
    let node = &reader.model(value, path)?;
    let mark = reader.mark();
    let mut settings = Settings {
        evidence_required: read_flag(reader, node, "evidence_required"),
        max_steps: reader.optional(node, "max_steps", read_max_steps),
        policy_profile: reader.optional(node, "policy_profile", SchemaReader::text),
        model_profile: reader.optional(node, "model_profile", SchemaReader::text),
        ..Settings::default()
    };
    let provider = reader.optional(node, "model_provider", read_provider);
    let name = reader.optional(node, "model_name", SchemaReader::text);
    // Both accepted words run the same engine; others are refused.
    let frameworks = [("native", ()), ("langgraph", ())];
    reader.optional(node, "orchestration_framework", |reader, value, path| {
        reader.word(value, path, &frameworks)
    });
    let generate = read_flag(reader, node, "structured_generation");
    let paths = reader.optional(node, "verification_paths", |reader, value, path| {
        Some(reader.items(value, path, read_verification_path))
    });
    settings.verification_paths = paths.unwrap_or_default();
    settings.loop_settings = reader.optional(node, "loop", read_loop);
    if reader.typing == Typing::Strict {
        settings.evidence_batch = reader.optional(node, "evidence_batch", read_evidence_batch);
        settings.bindings = reader.optional(node, "bindings", read_bindings).unwrap_or_default();
        settings.capabilities = reader.optional(node, "capabilities", |reader, value, path| {
            let (pin, digest) = reader.pin(value, path, "a SHA-256 in hex")?;
            reader.refuse_unknown(&pin, &["sha256"]);
            digest
        });
        // Policies are pinned by their content, never by a name.
        settings.policies = reader.optional(node, "policies", |reader, value, path| {
            reader.pin(value, path, "64 lower-case hex digits")?.1
        });
    }
    if reader.schema_holds_since(mark) {
        profiles_are_not_blank(reader, &settings, name.as_ref(), path);
    }
    if generate && let (Some(provider), Some(name)) = (provider, name) {
        settings.model = Some(ModelRequest { provider, name });
    }
    Some(settings)
}

fn read_flag(reader: &mut SchemaReader<'_>, node: &Node<'_>, key: &str) -> bool {
    reader.optional(node, key, SchemaReader::boolean).unwrap_or(false)
}

fn read_max_steps(reader: &mut SchemaReader<'_>, value: &Value, path: &JsonPointer) -> Option<MaxSteps> {
    Some(match reader.integer_above(value, path, 0, Category::GreaterThan)? {
        Number::Int(int) | Number::Whole(int) => MaxSteps::Number(int),
        Number::Bool(flag) => MaxSteps::Number(Int::from(i64::from(flag))),
        Number::Text => MaxSteps::Text,
    })
}

fn read_evidence_batch(
    reader: &mut SchemaReader<'_>,
    value: &Value,
    path: &JsonPointer,
) -> Option<NonZeroU64> {
    reader.integer_above(value, path, 0, Category::GreaterThan)?;
    // A batch beyond u64 is a batch of everything.
    Some(value.as_u64().and_then(NonZeroU64::new).unwrap_or(NonZeroU64::MAX))
}

fn read_provider(reader: &mut SchemaReader<'_>, value: &Value, path: &JsonPointer) -> Option<Arc<str>> {
    match reader.typing {
        Typing::Strict => reader.non_empty_text(value, path),
        Typing::Lax => reader.word(value, path, &[("litellm", "litellm")]).map(Arc::from),
    }
}

fn read_verification_path(
    reader: &mut SchemaReader<'_>,
    value: &Value,
    path: &JsonPointer,
) -> Option<VerificationPath> {
    let node = reader.model(value, path)?;
    let name = reader.required(&node, "name", SchemaReader::non_empty_text);
    let evidence_required = reader.optional(&node, "evidence_required", SchemaReader::boolean);
    if reader.steps == StepsRule::Counted {
        reader.refuse_unknown(&node, &["name", "evidence_required"]);
        return Some(VerificationPath {
            name: name?,
            evidence_required,
            evidence: Vec::new(),
            expression: None,
        });
    }
    let evidence = reader.optional(&node, "evidence", read_names).unwrap_or_default();
    let expression = reader.optional(&node, "expression", SchemaReader::non_empty_text);
    reader.refuse_unknown(&node, &["name", "evidence_required", "evidence", "expression"]);
    Some(VerificationPath { name: name?, evidence_required, evidence, expression })
}

fn profiles_are_not_blank(
    reader: &mut SchemaReader<'_>,
    settings: &Settings,
    name: Option<&Arc<str>>,
    path: &JsonPointer,
) {
    let texts = [
        ("policy_profile", settings.policy_profile.as_ref()),
        ("model_profile", settings.model_profile.as_ref()),
        ("model_name", name),
    ];
    for (key, text) in texts {
        if let Some(text) = text.filter(|text| is_blank(text)) {
            let found = Value::String(text.clone());
            reader.mismatch(path, Category::ValueError, format!("a non-blank {key}"), &found);
            if reader.typing == Typing::Lax {
                return;
            }
        }
    }
}
