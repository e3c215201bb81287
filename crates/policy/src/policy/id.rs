//! Names of policies.

use std::fmt;
use std::sync::Arc;

/// The id of a policy: any text that is not empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PolicyId(Arc<str>);

impl PolicyId {
    /// Wraps an id, unless it is empty.
    pub fn new(id: &str) -> Option<Self> {
        (!id.trim().is_empty()).then(|| Self(id.into()))
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}
