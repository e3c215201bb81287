//! Decoding and encoding whole documents, and the JSON Schema of the current version.

use hence_canon::read::Findings;
use hence_canon::{Object, Value};

use super::action::Action;
use super::artifact::Artifact;
use super::field::Field;
use super::record::{Definitions, encoded};
use super::review::Policy;
use super::trace::Trace;
use super::upgrade::{policy, upgrade};

encoded!(Action, Artifact, Trace);

/// A document that is not a canonical trace, with all its findings in document order of their objects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a canonical trace: {} defects, first at {}", findings.iter().len(), first(findings))]
pub struct DecodeError {
    /// The findings.
    pub findings: Findings,
}

fn first(findings: &Findings) -> String {
    let first = findings.iter().next();
    first.map_or_else(String::new, |finding| format!("`{}`: {}", finding.pointer, finding.message()))
}

/// Decodes a document of any version into the canonical model.
///
/// Older names and places are upgraded first; pointers in errors are those of the upgraded document, which differ only
/// where a version moved a member.
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
    T::decode(value).map_err(|findings| DecodeError { findings })
}

/// Encodes a trace as a document: version 1.7 when it has goals, else 1.6. Lists are always written.
pub fn encode(trace: &Trace) -> Value {
    Value::from(trace)
}

/// Returns the JSON Schema (2020-12) of a canonical trace, generated from the types.
pub fn json_schema() -> Value {
    let mut definitions = Definitions::default();
    let trace = Trace::schema(&mut definitions);
    let definitions: Object = definitions.0.into_iter().collect();
    Object::from_iter([
        ("$schema", Value::from("https://json-schema.org/draft/2020-12/schema")),
        ("title", "Ponens trace 1.7".into()),
        ("allOf", vec![trace].into()),
        ("$defs", definitions.into()),
    ])
    .into()
}
