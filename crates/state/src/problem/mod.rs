//! The problem of a run and its settings.

mod binding;
mod decode;
mod loop_settings;
mod settings;
mod task;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use hence_canon::{Canonical, Lenient, Value};

pub use binding::{Binding, BindingInput, BindingMember};
pub use loop_settings::{LoopSettings, Operator, StopCondition};
pub use settings::{MaxSteps, ModelRequest, Settings, VerificationPath};
pub use task::{ConstraintCheck, MethodSpec, TaskSpec};

use crate::{Findings, Profile, Timestamp};

/// The deepest nesting of a problem or an output.
///
/// Both are stored inside a state and inside records, a few levels further down; what is stored must still be
/// readable.
pub const NESTING_MAX: usize = 500;
const _: () = assert!(NESTING_MAX + 8 <= hence_canon::DEPTH_MAX);

/// A decoded problem.
///
/// The original document is stored and hashed ([`ProblemSpec::canonical`]): nothing is filled in, trimmed or
/// coerced. The typed fields are read from it.
#[derive(Clone, Debug)]
pub struct ProblemSpec {
    canonical: Canonical,
    id: Arc<str>,
    created_at: Timestamp,
    prompt: Arc<str>,
    constraints: Vec<Arc<str>>,
    goals: Vec<Arc<str>>,
    evidence: Vec<Value>,
    assumptions: Vec<Arc<str>>,
    tasks: Vec<TaskSpec>,
    constraint_checks: Vec<ConstraintCheck>,
    settings: Settings,
}

impl ProblemSpec {
    /// Decodes a problem, with every rule of the profile checked.
    ///
    /// # Errors
    /// [`Findings`]: everything that is wrong, in the order of the schema.
    pub fn decode(value: &Value, profile: &Profile) -> Result<Self, Findings> {
        decode::decode(value, &[], profile)
    }

    /// Decodes a problem from a document that may hold what cannot be hashed.
    ///
    /// # Errors
    /// [`Findings`] as from [`decode`](Self::decode); a document that passes every rule but has no canonical form
    /// is refused at [`Stage::Hashing`](crate::Stage::Hashing).
    pub fn decode_lenient(document: &Lenient, profile: &Profile) -> Result<Self, Findings> {
        decode::decode(&document.value, &document.defects, profile)
    }

    /// Returns the JSON Schema of a problem, for editors: every document that it refuses is refused by decoding too.
    pub fn json_schema() -> Value {
        hence_canon::parse(include_bytes!("problem.schema.json")).expect("the schema is JSON")
    }

    /// Returns the original document.
    pub fn canonical(&self) -> &Canonical {
        &self.canonical
    }

    /// Returns the request's id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Returns the creation time of the problem.
    pub fn created_at(&self) -> &Timestamp {
        &self.created_at
    }

    /// Returns the prompt, untouched.
    pub fn prompt(&self) -> &Arc<str> {
        &self.prompt
    }

    /// Returns the constraints; none when absent.
    pub fn constraints(&self) -> &[Arc<str>] {
        &self.constraints
    }

    /// Returns the goals; none when absent.
    pub fn goals(&self) -> &[Arc<str>] {
        &self.goals
    }

    /// Returns the evidence under `inputs.context.evidence`; none when absent.
    pub fn evidence(&self) -> &[Value] {
        &self.evidence
    }

    /// Returns the assumptions; none when absent, and none in profiles whose steps only count.
    pub fn assumptions(&self) -> &[Arc<str>] {
        &self.assumptions
    }

    /// Returns the tasks that the problem declares; none in profiles whose steps only count.
    pub fn tasks(&self) -> &[TaskSpec] {
        &self.tasks
    }

    /// Returns the checks of constraints; none in profiles whose steps only count.
    pub fn constraint_checks(&self) -> &[ConstraintCheck] {
        &self.constraint_checks
    }

    /// Returns the settings that nothing reads, by name.
    pub fn unread_settings(&self) -> Vec<Arc<str>> {
        let settings = self.canonical.value().get("settings").and_then(Value::as_object);
        let keys = settings.into_iter().flat_map(|settings| settings.keys());
        keys.filter(|key| !Settings::KEYS.contains(&&***key)).cloned().collect()
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
