//! Output mappings: a step's output becomes a new memory, or nothing does.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use hence_canon::{DEPTH_MAX, Kind, Object, Value};

use crate::mapping::merge::{MergeError, merge};
use crate::mapping::{InvalidTarget, MergeStrategy, Target, TargetPath, UnknownStrategy};
use crate::reference::{Namespace, Reference, descend};
use crate::state::{Memory, Names, Table};

/// The deepest nesting of a value in memory, counted from its namespace.
///
/// Records wrap states in a few more objects; the margin below [`DEPTH_MAX`] keeps every record readable.
pub const VALUE_DEPTH_MAX: usize = 96;
const _: () = assert!(VALUE_DEPTH_MAX + 16 < DEPTH_MAX);

/// The targets of the members of a step's output, in declared order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OutputMapping {
    entries: Box<[Entry]>,
    targets: Names,
    /// The first entry whose target an earlier one has.
    repeated: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    field: ProducedField,
    target: Target,
}

/// An output mapping that is malformed whatever the step produces.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidOutputMapping {
    /// An output mapping is an object.
    #[error("an output mapping is an object, found {0}")]
    NotAnObject(Kind),
    /// A target is a string.
    #[error("the target of `{field}` is a string, found {found}")]
    TargetKind {
        /// The produced field.
        field: Arc<str>,
        /// The kind of the value.
        found: Kind,
    },
    /// A target text that is no target.
    #[error("the target of `{field}`: {source}")]
    Target {
        /// The produced field.
        field: Arc<str>,
        /// The defect.
        source: InvalidTarget,
    },
}

/// A step output that cannot be written. The memory stays as it was.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OutputMappingError {
    /// The mapping itself is malformed.
    #[error(transparent)]
    Invalid(#[from] InvalidOutputMapping),
    /// The step's merge strategy is none of the four.
    #[error("merge strategy: {0}")]
    Strategy(#[from] UnknownStrategy),
    /// Outputs are objects.
    #[error("a step produces an object, found {0}")]
    NotAnObject(Kind),
    /// A mapped field that the output does not have.
    #[error("the output has no `{0}`")]
    MissingField(String),
    /// One target named twice in one mapping under `overwrite`.
    #[error("`{0}` is written twice by one step; say append, deep_merge or replace")]
    DuplicateTarget(Arc<str>),
    /// The strategy cannot bring the two sides together.
    #[error("`{target}`: {source}")]
    Merge {
        /// The target.
        target: Arc<str>,
        /// The two kinds that cannot be merged.
        source: MergeError,
    },
    /// A typed place and a value of another type.
    #[error("`{target}` holds {expected}, found {found}")]
    SlotType {
        /// The target.
        target: Arc<str>,
        /// The kind of the present value.
        expected: &'static str,
        /// The kind of the produced value.
        found: Kind,
    },
    /// A path through something that is not a map.
    #[error("`{target}`: `{key}` is {found}, not a map")]
    NotAMap {
        /// The target.
        target: Arc<str>,
        /// The key on the way.
        key: Arc<str>,
        /// The kind of the present value.
        found: Kind,
    },
    /// Nested deeper than [`VALUE_DEPTH_MAX`].
    #[error("`{target}`: nesting is deeper than {VALUE_DEPTH_MAX}")]
    TooDeep {
        /// The target.
        target: Arc<str>,
    },
}

impl OutputMapping {
    /// Reads a mapping.
    ///
    /// # Errors
    /// [`InvalidOutputMapping`] at the first entry that cannot be one.
    pub fn parse(mapping: &Value) -> Result<Self, InvalidOutputMapping> {
        let object = mapping.as_object().ok_or_else(|| InvalidOutputMapping::NotAnObject(mapping.kind()))?;
        let entry = |(field, target): (&Arc<str>, &Value)| {
            let text = target.as_str().ok_or_else(|| InvalidOutputMapping::TargetKind {
                field: field.clone(),
                found: target.kind(),
            })?;
            let target = Target::parse(text)
                .map_err(|source| InvalidOutputMapping::Target { field: field.clone(), source })?;
            Ok(Entry { field: ProducedField::parse(field), target })
        };
        let entries = object.iter().map(entry).collect::<Result<Box<[Entry]>, _>>()?;
        let targets = entries.iter().map(|entry| entry.target.text().clone()).collect();
        let mut seen = BTreeSet::new();
        let repeated = entries.iter().position(|entry| !seen.insert(entry.target.text()));
        Ok(Self { repeated, entries, targets })
    }

    /// Returns whether nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over fields and targets in declared order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&ProducedField, &Target)> {
        self.entries.iter().map(|entry| (&entry.field, &entry.target))
    }

    /// Returns the texts of the targets in declared order.
    pub fn targets(&self) -> &Names {
        &self.targets
    }

    /// Writes `produced` and returns the memory after it.
    ///
    /// Entries are applied in declared order, so a later one sees what an earlier one wrote; but the memory that
    /// comes back has all of them, and an error leaves none.
    ///
    /// # Errors
    /// [`OutputMappingError`] for the first entry that cannot be written.
    pub fn apply(
        &self,
        memory: &Memory,
        produced: &Value,
        strategy: MergeStrategy,
    ) -> Result<Memory, OutputMappingError> {
        let mut after = memory.clone();
        self.apply_to(&mut after, produced, strategy)?;
        Ok(after)
    }

    /// Writes `produced` to a memory. An error leaves the entries before it written, and nothing of its own.
    pub(crate) fn apply_to(
        &self,
        after: &mut Memory,
        produced: &Value,
        strategy: MergeStrategy,
    ) -> Result<(), OutputMappingError> {
        let produced =
            produced.as_object().ok_or_else(|| OutputMappingError::NotAnObject(produced.kind()))?;
        for (position, entry) in self.entries.iter().enumerate() {
            let target = entry.target.text();
            let value = entry
                .field
                .find(produced, after)
                .ok_or_else(|| OutputMappingError::MissingField(entry.field.to_string()))?;
            if strategy == MergeStrategy::Overwrite && self.repeated == Some(position) {
                return Err(OutputMappingError::DuplicateTarget(target.clone()));
            }
            set(after, &entry.target, value, strategy)?;
            after.written_targets.insert_mut(target.clone());
        }
        Ok(())
    }
}

/// Brings a value to a target.
pub(crate) fn set(
    memory: &mut Memory,
    target: &Target,
    value: Value,
    strategy: MergeStrategy,
) -> Result<(), OutputMappingError> {
    if value.depth() + target.depth() > VALUE_DEPTH_MAX {
        return Err(OutputMappingError::TooDeep { target: target.text().clone() });
    }
    write(memory, target, value, strategy)
}

fn write(
    memory: &mut Memory,
    target: &Target,
    value: Value,
    strategy: MergeStrategy,
) -> Result<(), OutputMappingError> {
    let given = value.clone();
    let merge = |existing: Option<&Value>| {
        merge(strategy, existing, given)
            .map_err(|source| OutputMappingError::Merge { target: target.text().clone(), source })
    };
    match target.path() {
        TargetPath::Slot(slot) if strategy == MergeStrategy::Append && value.as_array().is_some() => {
            memory.working.append(*slot, value.as_array().unwrap_or_default());
        }
        TargetPath::Var(key) => {
            let merged = merge(memory.vars.get(key))?;
            memory.vars.insert(key.clone(), merged);
        }
        TargetPath::Output(key) => {
            let merged = merge(memory.outputs.get(key))?;
            memory.outputs.insert(key.clone(), merged);
        }
        TargetPath::Slot(slot) => match merge(Some(&memory.working.list_value(*slot)))? {
            Value::Array(items) => memory.working.set_list(*slot, items),
            other => return Err(slot_type(target, "a list", &other)),
        },
        TargetPath::Text(field) => {
            match merge(memory.output.text(*field).cloned().map(Value::from).as_ref())? {
                Value::String(text) => memory.output.set_text(*field, Some(text)),
                Value::Null => memory.output.set_text(*field, None),
                other => return Err(slot_type(target, "a string", &other)),
            }
        }
        TargetPath::Artifact(keys) => match keys.split_first() {
            Some((first, rest)) => write_below(&mut memory.working.artifacts, first, rest, target, merge)?,
            None => match merge(Some(&memory.working.artifacts.to_object().into()))? {
                Value::Object(artifacts) => memory.working.artifacts = Table::from(&artifacts),
                other => return Err(slot_type(target, "an object", &other)),
            },
        },
        TargetPath::Extension(keys) => {
            if let Some((first, rest)) = keys.split_first() {
                write_below(&mut memory.extensions, first, rest, target, merge)?;
            }
        }
        TargetPath::Result(keys) => {
            // An unset result counts as absent: the document lets `output.*` create the maps on the way.
            let existing = Some(&memory.output.result).filter(|value| !value.is_null());
            memory.output.result = nested(existing, "result", keys, target, merge)?;
        }
    }
    Ok(())
}

fn write_below(
    table: &mut Table,
    first: &Arc<str>,
    rest: &[Arc<str>],
    target: &Target,
    merge: impl FnOnce(Option<&Value>) -> Result<Value, OutputMappingError>,
) -> Result<(), OutputMappingError> {
    let changed = nested(table.get(first), first, rest, target, merge)?;
    table.insert(first.clone(), changed);
    Ok(())
}

/// Returns `existing` with the value under `keys` merged, creating maps where nothing is.
fn nested(
    existing: Option<&Value>,
    at: &str,
    keys: &[Arc<str>],
    target: &Target,
    merge: impl FnOnce(Option<&Value>) -> Result<Value, OutputMappingError>,
) -> Result<Value, OutputMappingError> {
    let Some((key, rest)) = keys.split_first() else { return merge(existing) };
    let map = match existing {
        None => Object::new(),
        Some(Value::Object(map)) => map.clone(),
        Some(other) => {
            let (key, found) = (at.into(), other.kind());
            return Err(OutputMappingError::NotAMap { target: target.text().clone(), key, found });
        }
    };
    let below = nested(map.get(key), key, rest, target, merge)?;
    Ok(map.with(key.clone(), below).into())
}

fn slot_type(target: &Target, expected: &'static str, found: &Value) -> OutputMappingError {
    OutputMappingError::SlotType { target: target.text().clone(), expected, found: found.kind() }
}

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
