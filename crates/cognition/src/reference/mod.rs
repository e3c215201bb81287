//! References: names for values in the memory of a run, with one meaning in mappings and in expressions.

mod namespace;
mod resolve;

pub use namespace::{Access, Namespace, OnMissing};
pub use resolve::MissingReference;

use std::fmt;
use std::sync::Arc;

pub(crate) use resolve::descend;

/// A reference such as `working.entities.0.name`.
///
/// In `inputs`, `vars` and `outputs` the longest key that is present wins and the rest of the path descends
/// through maps, so that a key may contain dots and nested maps can be read. In `frame`, `working`, `output` and
/// `extensions` every segment is one step through fields, map keys and list indices.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    namespace: Namespace,
    path: Arc<str>,
}

impl Reference {
    /// Reads a text as a reference; anything that does not start with a namespace and a dot is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, path) = text.split_once('.')?;
        Some(Self { namespace: Namespace::find(first)?, path: path.into() })
    }

    /// Returns the reference to `path` in `namespace`.
    pub fn new(namespace: Namespace, path: impl Into<Arc<str>>) -> Self {
        Self { namespace, path: path.into() }
    }

    /// Returns the namespace.
    pub fn namespace(&self) -> Namespace {
        self.namespace
    }

    /// Returns everything behind the first dot.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.namespace, self.path)
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests;
