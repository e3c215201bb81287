//! From documents to canonical values and back.

use std::fmt;

use hence_canon::{JsonPointer, Value};

use super::action::Action;
use super::artifact::Artifact;
use super::field::{Defects, Field, Path};
use super::trace::Trace;
use super::upgrade::upgrade;

/// A place where a document cannot inhabit the canonical model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The place.
    pub pointer: JsonPointer,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for Defect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}`: {}", self.pointer, self.message)
    }
}

/// A document that is not a canonical trace; all its defects, never just the first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a canonical trace: {} defects, first at {}", defects.len(), defects.first().map_or_else(String::new, ToString::to_string))]
pub struct DecodeError {
    /// The defects, in document order of their objects.
    pub defects: Vec<Defect>,
}

/// Decodes a document of any version into the canonical model.
///
/// Older names and places are read as what they became; pointers in errors are those of the upgraded document,
/// which differ only where a version moved something.
///
/// # Errors
/// [`DecodeError`] with every place that does not fit.
pub fn decode(value: &Value) -> Result<Trace, DecodeError> {
    let mut defects = Defects::default();
    match Trace::decode(&upgrade(value), &Path::ROOT, &mut defects) {
        Some(trace) if defects.0.is_empty() => Ok(trace),
        _ => Err(DecodeError { defects: defects.0 }),
    }
}

/// Decodes one artifact of the current version as it stands in a document.
///
/// # Errors
/// [`DecodeError`] with every place that does not fit.
pub fn decode_artifact(value: &Value) -> Result<Artifact, DecodeError> {
    let mut defects = Defects::default();
    match Artifact::decode(value, &Path::ROOT, &mut defects) {
        Some(artifact) if defects.0.is_empty() => Ok(artifact),
        _ => Err(DecodeError { defects: defects.0 }),
    }
}

/// Encodes one action as it stands in a document.
pub fn encode_action(action: &Action) -> Value {
    action.encode().unwrap_or_default()
}

/// Encodes one artifact as it stands in a document.
pub fn encode_artifact(artifact: &Artifact) -> Value {
    artifact.encode().unwrap_or_default()
}

/// Encodes a trace as a document: version 1.7 when it has goals, else 1.6. Lists are always written.
pub fn encode(trace: &Trace) -> Value {
    trace.encode().unwrap_or_default()
}
