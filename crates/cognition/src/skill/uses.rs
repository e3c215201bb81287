//! What a step calls.

use std::fmt;
use std::sync::Arc;

/// What a step, a route or a branch calls.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Uses {
    /// A capability by its id.
    Capability(Arc<str>),
    /// A nested skill by its id: `skill:<id>`.
    Skill(Arc<str>),
}

impl Uses {
    /// Reads the text of `uses`.
    pub fn parse(text: &str) -> Self {
        match text.strip_prefix("skill:") {
            Some(id) => Self::Skill(id.trim().into()),
            None => Self::Capability(text.into()),
        }
    }
}

impl fmt::Display for Uses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capability(id) => out.write_str(id),
            Self::Skill(id) => write!(out, "skill:{id}"),
        }
    }
}
