//! Bindings: steps of the built-in skill that a capability carries out.

use std::sync::Arc;
use std::time::Duration;

use hence_canon::{Digest, JsonPointer, Object, Value};

use crate::walk::{Presence, Walk, expected};
use crate::{Category, FieldPath};

/// How long a bound step may take unless its binding says otherwise.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);

/// A step and the capability it is bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    /// The step's name.
    pub step: Arc<str>,
    /// The capability's id.
    pub capability: Arc<str>,
    /// What the capability is given.
    pub input: BindingInput,
    /// Which part of what it gives becomes the step's output; the step knows, when nothing is said.
    pub output: Option<JsonPointer>,
    /// How long a call may take.
    pub timeout: Duration,
}

/// What a bound capability is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BindingInput {
    /// All a step can see.
    Everything,
    /// An object of chosen members.
    Members(Vec<(Arc<str>, BindingMember)>),
}

/// One member of what a bound capability is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BindingMember {
    /// A part of what the step can see.
    At(JsonPointer),
    /// A value of its own.
    Value(Value),
}

/// Decodes `bindings`, by the names of steps.
pub(super) fn decode_bindings(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) -> Vec<Binding> {
    let Some(value) = walk.member(object, path, "bindings", Presence::Optional) else { return Vec::new() };
    let path = path.child("bindings");
    let Some(bindings) = walk.object(value, &path, Category::ModelType) else { return Vec::new() };
    bindings.iter().filter_map(|(step, value)| binding(walk, step, value, &path.child(step))).collect()
}

fn binding(walk: &mut Walk<'_>, step: &Arc<str>, value: &Value, path: &FieldPath) -> Option<Binding> {
    let object = walk.object(value, path, Category::ModelType)?;
    let capability = walk.member(object, path, "capability", Presence::Required);
    let capability = capability.and_then(|value| walk.some_text(value, &path.child("capability")));
    let input = input(walk, object, path);
    let output = walk.member(object, path, "output", Presence::Optional);
    let output = output.and_then(|value| pointer(walk, value, &path.child("output")));
    let timeout = timeout(walk, object, path);
    walk.no_others(object, path, &["capability", "input", "output", "timeout_seconds"]);
    Some(Binding { step: step.clone(), capability: capability?, input, output, timeout })
}

fn input(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) -> BindingInput {
    let Some(value) = walk.member(object, path, "input", Presence::Optional) else {
        return BindingInput::Everything;
    };
    let path = path.child("input");
    let members = walk.object(value, &path, Category::ModelType).into_iter().flat_map(Object::iter);
    let members = members
        .filter_map(|(name, value)| Some((name.clone(), member(walk, value, &path.child(name))?)))
        .collect();
    BindingInput::Members(members)
}

/// Reads `{"at": POINTER}` or `{"value": ANYTHING}`.
fn member(walk: &mut Walk<'_>, value: &Value, path: &FieldPath) -> Option<BindingMember> {
    let only = value.as_object().filter(|object| object.len() == 1);
    match only.and_then(|object| object.iter().next()) {
        Some((key, value)) if &**key == "value" => Some(BindingMember::Value(value.clone())),
        Some((key, value)) if &**key == "at" => {
            pointer(walk, value, &path.child("at")).map(BindingMember::At)
        }
        _ => {
            walk.report(path, Category::ModelType, expected("an object with `at` or `value`", value));
            None
        }
    }
}

fn pointer(walk: &mut Walk<'_>, value: &Value, path: &FieldPath) -> Option<JsonPointer> {
    let text = walk.text(value, path)?;
    text.parse().map_err(|_| walk.report(path, Category::ValueError, expected("a JSON pointer", value))).ok()
}

fn timeout(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) -> Duration {
    let Some(value) = walk.member(object, path, "timeout_seconds", Presence::Optional) else {
        return TIMEOUT_DEFAULT;
    };
    let seconds = match value {
        Value::Int(int) => int.to_f64_lossy(),
        Value::Float(float) => float.get(),
        _ => f64::NAN,
    };
    let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|timeout| !timeout.is_zero());
    timeout.unwrap_or_else(|| {
        let message = expected("a number of seconds above 0", value);
        walk.report(&path.child("timeout_seconds"), Category::ValueError, message);
        TIMEOUT_DEFAULT
    })
}

/// Decodes `capabilities`, which pins the declarations of what bound steps may call.
pub(super) fn decode_capabilities(walk: &mut Walk<'_>, object: &Object, path: &FieldPath) -> Option<Digest> {
    let value = walk.member(object, path, "capabilities", Presence::Optional)?;
    let path = path.child("capabilities");
    let pin = walk.object(value, &path, Category::ModelType)?;
    let digest = walk.member(pin, &path, "sha256", Presence::Required);
    walk.no_others(pin, &path, &["sha256"]);
    let (digest, path) = (digest?, path.child("sha256"));
    let text = walk.text(digest, &path)?;
    text.parse()
        .map_err(|_| walk.report(&path, Category::ValueError, expected("a SHA-256 in hex", digest)))
        .ok()
}
