//! What becomes of a call of which nobody knows whether it happened.

use hence_canon::{JsonPointer, Object, Value};

use super::Rule;
use super::problem::Problems;

/// What a run does about a call that was begun and of which, after a crash, nobody knows whether it happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// Call again with the same idempotency key.
    Retry,
    /// Wait until a person has said what happened.
    Ask,
    /// Fail the call.
    Fail,
}

impl Recovery {
    /// Every recovery.
    pub const ALL: [Self; 3] = [Self::Retry, Self::Ask, Self::Fail];

    /// Returns the name used in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Ask => "ask",
            Self::Fail => "fail",
        }
    }

    /// Returns the recovery of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|recovery| recovery.name() == name)
    }

    pub(super) fn read(config: &Object, pointer: &JsonPointer, problems: &mut Problems) -> Option<Self> {
        let given = config.get("recovery")?;
        let recovery = given.as_str().and_then(Self::find);
        if recovery.is_none() {
            let found = match given {
                Value::String(text) => format!("{text:?}"),
                other => other.kind().to_string(),
            };
            let message = format_args!("a recovery is retry, ask or fail, found {found}");
            problems.add(Rule::Control, pointer.child("recovery"), message);
        }
        recovery
    }
}
