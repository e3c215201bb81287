//! From documents to canonical values and back.

use std::fmt;

use hence_canon::{JsonPointer, Value};

use super::action::Action;
use super::artifact::Artifact;
use super::field::{Defects, Field, Path};
use super::record::encoded;
use super::review::Policy;
use super::trace::Trace;
use super::upgrade::{policy, upgrade};

encoded!(Action, Artifact, Trace);

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
    decode_field(&upgrade(value))
}

/// Decodes one artifact of the current version.
///
/// # Errors
/// [`DecodeError`] with every place that does not fit.
pub fn decode_artifact(value: &Value) -> Result<Artifact, DecodeError> {
    decode_field(value)
}

/// Decodes one policy of any version.
///
/// # Errors
/// [`DecodeError`] with every place that does not fit.
pub fn decode_policy(value: &Value) -> Result<Policy, DecodeError> {
    decode_field(&policy(value))
}

pub(crate) fn decode_field<T: Field>(value: &Value) -> Result<T, DecodeError> {
    let mut defects = Defects::default();
    match T::decode(value, &Path::ROOT, &mut defects) {
        Some(found) if defects.0.is_empty() => Ok(found),
        _ => Err(DecodeError { defects: defects.0 }),
    }
}

/// Encodes a trace as a document: version 1.7 when it has goals, else 1.6. Lists are always written.
pub fn encode(trace: &Trace) -> Value {
    Value::from(trace)
}
