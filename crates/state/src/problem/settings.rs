//! Settings: how a run is to go about its problem.

use std::num::NonZeroU64;
use std::sync::Arc;

use hence_canon::{Digest, Int, Object, Value};

use super::LoopSettings;
use super::binding::{Binding, decode_bindings, decode_capabilities};
use super::loop_settings::decode_loop;
use crate::blank::is_blank;
use crate::walk::{Number, Presence, Walk, expected};
use crate::{Category, FieldPath, Typing};

/// The settings of a problem; everything has a default.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether verification needs evidence.
    pub evidence_required: bool,
    /// How many items of evidence one acquisition takes; all of them when absent.
    pub evidence_batch: Option<NonZeroU64>,
    /// The budget of steps.
    pub max_steps: Option<MaxSteps>,
    /// The routing policy by name.
    pub policy_profile: Option<Arc<str>>,
    /// The model profile, for the record.
    pub model_profile: Option<Arc<str>>,
    /// A model to write the synthesis, when one is asked for and named.
    pub model: Option<ModelRequest>,
    /// Named ways to verify.
    pub verification_paths: Vec<VerificationPath>,
    /// The loop, when enabled.
    pub loop_settings: Option<LoopSettings>,
    /// Steps that capabilities carry out. The compat profile knows none.
    pub bindings: Vec<Binding>,
    /// The digest of the declarations of what bound steps may call.
    pub capabilities: Option<Digest>,
    /// The digest of the policies every step must keep; strict typing only.
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

/// A language model that is to write the synthesis.
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
}

pub(super) fn decode_settings(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) -> Settings {
    let mark = walk.mark();
    let mut settings = Settings {
        evidence_required: flag(walk, object, path, "evidence_required"),
        max_steps: max_steps(walk, object, path),
        policy_profile: profile_text(walk, object, path, "policy_profile"),
        model_profile: profile_text(walk, object, path, "model_profile"),
        ..Settings::default()
    };
    let provider = provider(walk, object, path);
    let name = profile_text(walk, object, path, "model_name");
    framework(walk, object, path);
    let generate = flag(walk, object, path, "structured_generation");
    settings.verification_paths = verification_paths(walk, object, path);
    settings.loop_settings = decode_loop(walk, object, path);
    if walk.typing == Typing::Strict {
        settings.evidence_batch = evidence_batch(walk, object, path);
        settings.bindings = decode_bindings(walk, object, path);
        settings.capabilities = decode_capabilities(walk, object, path);
        settings.policies = policies(walk, object, path);
    }
    if walk.schema_holds_since(mark) {
        profiles_are_not_blank(walk, &settings, name.as_ref(), path);
    }
    if generate && let (Some(provider), Some(name)) = (provider, name) {
        settings.model = Some(ModelRequest { provider, name });
    }
    settings
}

fn flag(walk: &mut Walk<'_>, object: &Object, path: &FieldPath, key: &str) -> bool {
    let value = walk.member(object, path, key, Presence::Optional);
    value.and_then(|value| walk.boolean(value, &path.child(key))).unwrap_or(false)
}

fn max_steps(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) -> Option<MaxSteps> {
    let value = walk.member(object, path, "max_steps", Presence::Optional)?;
    let number = walk.integer_above(value, &path.child("max_steps"), 0, Category::GreaterThan)?;
    Some(match number {
        Number::Int(int) | Number::Whole(int) => MaxSteps::Number(int),
        Number::Bool(flag) => MaxSteps::Number(Int::from(i64::from(flag))),
        Number::Text => MaxSteps::Text,
    })
}

fn evidence_batch(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) -> Option<NonZeroU64> {
    let value = walk.member(object, path, "evidence_batch", Presence::Optional)?;
    walk.integer_above(value, &path.child("evidence_batch"), 0, Category::GreaterThan)?;
    // A batch beyond u64 is a batch of everything.
    Some(value.as_u64().and_then(NonZeroU64::new).unwrap_or(NonZeroU64::MAX))
}

/// Policies are pinned by what they say, never by a name.
fn policies(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) -> Option<Digest> {
    let value = walk.member(object, path, "policies", Presence::Optional)?;
    let path = path.child("policies");
    let pin = walk.object(value, &path, Category::ModelType)?;
    let digest = walk.member(pin, &path, "sha256", Presence::Required)?;
    let path = path.child("sha256");
    let text = walk.text(digest, &path)?;
    match text.parse() {
        Ok(digest) => Some(digest),
        Err(_) => {
            walk.report(&path, Category::ValueError, expected("64 lower-case hex digits", digest));
            None
        }
    }
}

fn profile_text(walk: &mut Walk<'_>, object: &Object, path: &FieldPath, key: &str) -> Option<Arc<str>> {
    let value = walk.member(object, path, key, Presence::Optional)?;
    walk.text(value, &path.child(key))
}

fn provider(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) -> Option<Arc<str>> {
    let value = walk.member(object, path, "model_provider", Presence::Optional)?;
    let path = path.child("model_provider");
    match walk.typing {
        Typing::Strict => walk.some_text(value, &path),
        Typing::Lax => walk.word(value, &path, &[("litellm", "litellm")]).map(Arc::from),
    }
}

/// Both accepted words run the same engine; others are refused.
fn framework(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) {
    if let Some(value) = walk.member(object, path, "orchestration_framework", Presence::Optional) {
        walk.word(value, &path.child("orchestration_framework"), &[("native", ()), ("langgraph", ())]);
    }
}

fn verification_paths(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) -> Vec<VerificationPath> {
    let Some(value) = walk.member(object, path, "verification_paths", Presence::Optional) else {
        return Vec::new();
    };
    let path = path.child("verification_paths");
    let items = walk.list(value, &path).unwrap_or_default();
    let decode = |(index, item)| verification_path(walk, item, &path.child(index));
    items.iter().enumerate().filter_map(decode).collect()
}

fn verification_path(walk: &mut Walk<'_>, item: &Value, path: &FieldPath) -> Option<VerificationPath> {
    let object = walk.object(item, path, Category::ModelType)?;
    let name = walk.member(object, path, "name", Presence::Required);
    let name = name.and_then(|name| walk.some_text(name, &path.child("name")));
    let evidence = walk.member(object, path, "evidence_required", Presence::Optional);
    let evidence_required = evidence.and_then(|value| walk.boolean(value, &path.child("evidence_required")));
    walk.no_others(object, path, &["name", "evidence_required"]);
    Some(VerificationPath { name: name?, evidence_required })
}

fn profiles_are_not_blank(
    walk: &mut Walk<'_>,
    settings: &Settings,
    name: Option<&Arc<str>>,
    path: &FieldPath,
) {
    let texts = [
        ("policy_profile", settings.policy_profile.as_ref()),
        ("model_profile", settings.model_profile.as_ref()),
        ("model_name", name),
    ];
    for (key, text) in texts {
        if let Some(text) = text.filter(|text| is_blank(text)) {
            let message = expected(&format!("a non-blank {key}"), &Value::String(text.clone()));
            walk.report(path, Category::ValueError, message);
            if walk.typing == Typing::Lax {
                return;
            }
        }
    }
}
