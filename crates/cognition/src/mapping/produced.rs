//! Which part of a step's output a mapping entry means.

use std::fmt;
use std::sync::Arc;

use hence_canon::{Object, Value};

use crate::reference::{Namespace, Reference, descend};
use crate::state::Memory;

/// The left side of an output mapping entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProducedField {
    /// A value of `inputs`, `vars` or `outputs`, copied from memory instead of taken from the output.
    Memory(Reference),
    /// A member of the output, by its whole name or, failing that, by a path through maps and lists.
    Member(Arc<str>),
}

impl ProducedField {
    /// Reads a field name.
    pub fn parse(text: &str) -> Self {
        match Reference::parse(text) {
            Some(reference)
                if matches!(
                    reference.namespace(),
                    Namespace::Inputs | Namespace::Vars | Namespace::Outputs
                ) =>
            {
                Self::Memory(reference)
            }
            _ => Self::Member(text.into()),
        }
    }

    /// Returns the value, if it is there.
    pub fn find(&self, produced: &Object, memory: &Memory) -> Option<Value> {
        match self {
            Self::Memory(reference) => reference.find(memory),
            Self::Member(name) => produced.get(name).or_else(|| walk(produced, name)).cloned(),
        }
    }
}

fn walk<'a>(produced: &'a Object, path: &str) -> Option<&'a Value> {
    if path.split('.').any(str::is_empty) {
        return None;
    }
    let (first, rest) = path.split_once('.')?;
    rest.split('.').try_fold(produced.get(first)?, descend)
}

impl fmt::Display for ProducedField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(reference) => write!(out, "{reference}"),
            Self::Member(name) => out.write_str(name),
        }
    }
}
