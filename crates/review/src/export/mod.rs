//! Traces for other tools: W3C PROV, in-toto, OpenTelemetry.
//!
//! Each exporter is a pure function of the trace. It carries what the other format can express.

mod otlp;
mod prov;

pub use otlp::otlp_json;
pub use prov::prov_json;

use hence_canon::{Object, Value};

use crate::ContentHash;

/// The type of the predicate, which is the whole trace.
const PREDICATE_TYPE: &str = "urn:ponens:trace";

/// Writes an unsigned in-toto statement about a trace: its subjects are the content of the trace and its commit.
///
/// A signature on it states that this trace belongs to these subjects, not that the trace is true.
pub fn in_toto_statement(trace: &Value) -> Value {
    let text = |key: &str| trace.get(key).and_then(Value::as_str);
    let subject = |name: &str, algorithm: &str, digest: &str| {
        let digest = Object::from_iter([(algorithm, digest)]);
        Object::from_iter([("name", Value::from(name)), ("digest", digest.into())])
    };
    let hash = ContentHash::of(trace).digest().to_string();
    let mut subjects = vec![subject(text("trace_id").unwrap_or("trace"), "sha256", &hash)];
    if let Some(commit) = text("commit_sha") {
        subjects.push(subject(text("repo").unwrap_or("repository"), "gitCommit", commit));
    }
    Object::from_iter([
        ("_type", Value::from("https://in-toto.io/Statement/v1")),
        ("subject", subjects.into()),
        ("predicateType", PREDICATE_TYPE.into()),
        ("predicate", trace.clone()),
    ])
    .into()
}

#[cfg(test)]
mod tests;
