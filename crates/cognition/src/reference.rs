//! References: names for values in the memory of a run, with one meaning in mappings and in expressions.

use std::fmt;
use std::sync::Arc;

use hence_canon::{Object, Value, words};

use crate::state::{Memory, OutputField, Slot, Table};

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
        Some(Self { namespace: first.parse().ok()?, path: path.into() })
    }

    /// Returns the reference to `path` in `namespace`.
    pub fn new(namespace: Namespace, path: impl Into<Arc<str>>) -> Self {
        Self { namespace, path: path.into() }
    }

    /// Returns the namespace.
    pub fn namespace(&self) -> Namespace {
        self.namespace
    }

    /// Returns everything after the first dot.
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

words! {
    /// A namespace that steps can read.
    #[expect(missing_docs, reason = "the names of the document's namespaces")]
    pub enum Namespace {
        Inputs = "inputs",
        Vars = "vars",
        Outputs = "outputs",
        Frame = "frame",
        Working = "working",
        Output = "output",
        Extensions = "extensions",
    }
}

/// The meaning of a reference that names nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnMissing {
    /// Its value is `null`.
    Null,
    /// Resolving it is an error.
    Error,
}

/// The meaning, in an expression, of a name under which memory holds nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissingName {
    /// Its value is `null`.
    Null,
    /// An error; but an input, a field of the frame or of the output that was not given is `null`.
    ErrorUnlessOptional,
    /// An error.
    Error,
}

/// The access of steps to a namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Steps read and write it.
    ReadWrite,
    /// Steps only read it, or do not even read it (`trace`).
    ReadOnly,
}

impl Namespace {
    /// Returns what a missing value means in an input mapping.
    pub fn on_missing(self) -> OnMissing {
        match self {
            Self::Inputs | Self::Frame | Self::Output | Self::Extensions => OnMissing::Null,
            Self::Vars | Self::Outputs | Self::Working => OnMissing::Error,
        }
    }

    /// Returns whether steps may write here.
    pub fn access(self) -> Access {
        match self {
            Self::Inputs | Self::Frame => Access::ReadOnly,
            Self::Vars | Self::Outputs | Self::Working | Self::Output | Self::Extensions => Access::ReadWrite,
        }
    }
}

/// A reference into a strict namespace that names nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{reference}` names nothing")]
pub struct MissingReference {
    /// The reference.
    pub reference: Reference,
}

impl Reference {
    /// Returns the value this names, or `null` where its namespace allows missing values.
    ///
    /// # Errors
    /// [`MissingReference`] when nothing is there and the namespace is strict.
    pub fn resolve(&self, memory: &Memory) -> Result<Value, MissingReference> {
        match (self.find(memory), self.namespace().on_missing()) {
            (Some(value), _) => Ok(value),
            (None, OnMissing::Null) => Ok(Value::Null),
            (None, OnMissing::Error) => Err(MissingReference { reference: self.clone() }),
        }
    }

    /// Returns the value this names in an expression.
    ///
    /// # Errors
    /// [`MissingReference`] when nothing is there and something must be.
    pub fn named(&self, memory: &Memory, missing: MissingName) -> Result<Value, MissingReference> {
        if let Some(value) = self.find(memory) {
            return Ok(value);
        }
        let may_be_missing = match missing {
            MissingName::Null => true,
            MissingName::ErrorUnlessOptional => self.was_not_given(memory),
            MissingName::Error => false,
        };
        if may_be_missing { Ok(Value::Null) } else { Err(MissingReference { reference: self.clone() }) }
    }

    /// Returns whether this leads into something optional that was not given: below a present value nothing is optional.
    fn was_not_given(&self, memory: &Memory) -> bool {
        let path = self.path();
        let first = split_first(path).0;
        match self.namespace() {
            Namespace::Inputs => {
                let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
                let mut given = ends.filter_map(|end| memory.inputs.get(path.get(..end)?));
                given.all(Value::is_null)
            }
            Namespace::Frame => memory.frame.field(first).is_some_and(|field| field.is_null()),
            Namespace::Output => {
                let field = first.parse::<OutputField>().ok();
                field.is_some_and(|field| memory.output.field(field).is_null())
            }
            Namespace::Vars | Namespace::Outputs | Namespace::Working | Namespace::Extensions => false,
        }
    }

    /// Returns the value this names, if there is one.
    pub fn find(&self, memory: &Memory) -> Option<Value> {
        let path = self.path();
        match self.namespace() {
            Namespace::Inputs => longest_key(|key| memory.inputs.get(key), path).cloned(),
            Namespace::Vars => longest_key(|key| memory.vars.get(key), path).cloned(),
            Namespace::Outputs => longest_key(|key| memory.outputs.get(key), path).cloned(),
            Namespace::Frame => in_block(path, |field| memory.frame.field(field)),
            Namespace::Working => in_working(memory, path),
            Namespace::Output => in_block(path, |field| {
                field.parse::<OutputField>().ok().map(|field| memory.output.field(field))
            }),
            Namespace::Extensions => in_table(&memory.extensions, path),
        }
    }
}

impl Namespace {
    /// Returns the whole namespace as an object.
    pub fn whole(self, memory: &Memory) -> Object {
        match self {
            Self::Inputs => memory.inputs.clone(),
            Self::Vars => memory.vars.to_object(),
            Self::Outputs => memory.outputs.to_object(),
            Self::Frame => memory.frame.to_object(),
            Self::Working => memory.working.to_object(),
            Self::Output => memory.output.to_object(),
            Self::Extensions => memory.extensions.to_object(),
        }
    }
}

fn in_working(memory: &Memory, path: &str) -> Option<Value> {
    let (first, rest) = split_first(path);
    match first.parse::<Slot>().ok()? {
        // The artifacts are the one slot that grows with the run: it is entered, not copied.
        Slot::Artifacts if rest.is_some() => in_table(&memory.working.artifacts, rest.unwrap_or_default()),
        slot => descend_all(memory.working.slot(slot), rest),
    }
}

fn in_block(path: &str, field: impl Fn(&str) -> Option<Value>) -> Option<Value> {
    let (first, rest) = split_first(path);
    descend_all(field(first)?, rest)
}

fn in_table(table: &Table, path: &str) -> Option<Value> {
    let (first, rest) = split_first(path);
    descend_all(table.get(first)?.clone(), rest)
}

fn split_first(path: &str) -> (&str, Option<&str>) {
    path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)))
}

fn descend_all(value: Value, rest: Option<&str>) -> Option<Value> {
    match rest {
        None => Some(value),
        Some(rest) => rest.split('.').try_fold(&value, descend).cloned(),
    }
}

/// Takes one step: a key of a map or an index of a list.
pub(crate) fn descend<'a>(value: &'a Value, segment: &str) -> Option<&'a Value> {
    match value {
        Value::Object(object) => object.get(segment),
        Value::Array(items) => items.get(list_index(segment)?),
        _ => None,
    }
}

/// Reads a segment as a list index: ASCII digits only, leading zeros allowed.
fn list_index(segment: &str) -> Option<usize> {
    let plain = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
    if plain { segment.parse().ok() } else { None }
}

/// Finds `path` in a flat namespace: the longest present key, then maps below it.
fn longest_key<'a>(get: impl Fn(&str) -> Option<&'a Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = get(path) {
        return Some(value);
    }
    let (value, rest) = path.rmatch_indices('.').find_map(|(at, _)| {
        let (key, rest) = path.split_at_checked(at)?;
        Some((get(key)?, rest.strip_prefix('.')?))
    })?;
    rest.split('.').try_fold(value, |value, segment| value.get(segment))
}
