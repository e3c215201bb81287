//! The reasoning engine: canonical JSON, executions, refused requests, tampered journals.

use std::path::Path;
use std::sync::Arc;

use hence_canon::Value;
use hence_engine::{Engine, Model};
use hence_state::ModelRequest;

use crate::data::DataError;
use crate::report::Report;

mod canonical_json;
mod executions;
mod external;
mod invalid_specs;
mod tampered_traces;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    canonical_json::run(dir, report)?;
    executions::run(dir, report)?;
    invalid_specs::run(dir, report)?;
    tampered_traces::run(dir, report)
}

/// Runs the journals of the data against a verifier that is another program.
pub(crate) fn run_external(dir: &Path, verifier: &str, report: &mut Report) -> Result<(), DataError> {
    external::run(dir, verifier, report)
}

/// A model that always gives the reply of its case.
struct ScriptedModel(Result<String, String>);

impl Model for ScriptedModel {
    fn complete(&self, _: &ModelRequest, _: &str) -> Result<String, String> {
        self.0.clone()
    }
}

/// Makes the engine of a case: with its scripted model, if it has one.
fn engine(case: &Value) -> Engine {
    let reply = |key: &str| case.get("model")?.get(key)?.as_str().map(str::to_owned);
    let scripted = reply("content").map(Ok).or_else(|| reply("raise").map(Err));
    match scripted {
        Some(reply) => Engine::new().with_model(Arc::new(ScriptedModel(reply))),
        None => Engine::new(),
    }
}
