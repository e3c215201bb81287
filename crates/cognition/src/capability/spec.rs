//! The contract of a capability.

use std::sync::Arc;

use hence_canon::{JsonPointer, Kind, Object, Value};

use super::{CognitiveHints, Safety};
use crate::secret::secret_reference;
use crate::skill::{Fields, Need, Problem, Problems, TypeName, fields};

/// What is known about a capability before it is called.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CapabilitySpec {
    /// What it takes.
    pub inputs: Fields,
    /// What it gives.
    pub outputs: Fields,
    /// Who may call it, and what must agree.
    pub safety: Safety,
    /// What it says about the knowledge it works on.
    pub hints: CognitiveHints,
    /// What calling it is to a reviewer: a type of action, such as `RunTests` or `AskUser`.
    pub action: Option<Arc<str>>,
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
        /// What was given.
        found: Kind,
    },
}

impl CapabilitySpec {
    /// Reads a contract from an object with `inputs`, `outputs`, `safety`, `cognitive_hints` and `action`, all
    /// optional.
    pub fn read(value: &Value) -> (Self, Vec<Problem>) {
        let mut problems = Problems::default();
        let mut declared = |key: &str| match value.get(key) {
            Some(Value::Object(object)) => fields(object, &JsonPointer::root().child(key), &mut problems),
            _ => Fields::new(),
        };
        let spec = Self {
            inputs: declared("inputs"),
            outputs: declared("outputs"),
            safety: value.get("safety").map(Safety::read).unwrap_or_default(),
            hints: value.get("cognitive_hints").map(CognitiveHints::read).unwrap_or_default(),
            action: value.get("action").and_then(Value::as_str).map(Arc::from),
        };
        (spec, problems.into_vec())
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
