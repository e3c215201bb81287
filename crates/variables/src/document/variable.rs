//! The document form of a variable, also used inside events.

use hence_canon::read::{Finding, Reader};
use hence_canon::{Digest, JsonPointer, Object, Value};

use crate::members::{Members, whole_count};
use crate::stored::Spill;
use crate::{Name, Scope, StorePath, Stored, ValueType, Variable};

/// Returns the document form. `scope` is absent for the special variables, which have none.
pub(crate) fn encode(variable: &Variable, scope: Option<Scope>) -> Object {
    Members::default()
        .set("name", variable.name.as_str())
        .set("value", variable.stored.shown())
        .set("type", variable.stored.shown_type())
        .some("description", variable.description.clone())
        .some("source", variable.source.clone())
        .some("created_at", variable.created_at)
        .some("updated_at", variable.updated_at)
        .set("access_count", variable.access_count)
        .non_empty("metadata", metadata(variable, scope))
        .rest(&variable.extra)
        .object()
}

fn metadata(variable: &Variable, scope: Option<Scope>) -> Object {
    let spill = match &variable.stored {
        Stored::Spilled(spill) => Some(spill),
        _ => None,
    };
    Members::default()
        .some("read_only", (scope.is_some() || variable.read_only).then_some(variable.read_only))
        .some("scope", scope)
        .some("ttl_seconds", variable.ttl_seconds)
        .some("spilled", spill.map(|_| true))
        .some("logical_type", spill.map(|spill| spill.logical_type))
        .some("size_bytes", spill.map(|spill| spill.size_bytes))
        .some("sha256", spill.map(|spill| spill.sha256))
        .rest(&variable.metadata_extra)
        .object()
}

/// Reads the document form; returns the scope it names, if it names one.
pub(crate) fn decode(value: &Value) -> Result<(Variable, Option<Scope>), Finding> {
    let mut reader = Reader::new(value)?;
    let empty = Object::new();
    let metadata = reader.optional_object("metadata")?;
    let mut metadata = metadata.unwrap_or_else(|| Reader::of(&empty, JsonPointer::root().child("metadata")));
    let name: Name = reader.parsed("name")?;
    let stored = match spill(&mut reader, &mut metadata)? {
        Some(spill) => Stored::Spilled(spill),
        None => stored(&mut reader)?,
    };
    let scope = metadata.optional_parsed("scope")?;
    let variable = Variable {
        stored,
        description: reader.optional_text("description")?,
        source: reader.optional_text("source")?,
        created_at: reader.optional_parsed("created_at")?,
        updated_at: reader.optional_parsed("updated_at")?,
        access_count: reader.optional("access_count", whole_count)?.unwrap_or(0),
        // The prompt is read-only whether a document states it or not.
        read_only: metadata.optional_bool("read_only")?.unwrap_or(false) || name.is_prompt(),
        ttl_seconds: metadata.optional("ttl_seconds", whole_count)?,
        extra: reader.rest(),
        metadata_extra: metadata.rest(),
        name,
    };
    Ok((variable, scope))
}

fn stored(reader: &mut Reader<'_>) -> Result<Stored, Finding> {
    let value_type: ValueType = reader.parsed("type")?;
    reader.required("value", |value| match value {
        value if !value_type.admits(value) => {
            Err(Finding::other(format_args!("value is {}, which is not {value_type}", value.kind())))
        }
        Value::String(text) if value_type == ValueType::FilePath => {
            StorePath::from_reference(text).map(Stored::Reference).map_err(Finding::other)
        }
        value => Ok(Stored::Inline { value_type, value: value.clone() }),
    })
}

/// Reads the reference to a large value, if the metadata describes one.
pub(crate) fn spill(variable: &mut Reader<'_>, metadata: &mut Reader<'_>) -> Result<Option<Spill>, Finding> {
    if metadata.source().get("spilled") != Some(&Value::Bool(true)) {
        return Ok(None);
    }
    metadata.value("spilled");
    let value_type: ValueType = variable.parsed("type")?;
    let logical_type: ValueType = metadata.parsed("logical_type")?;
    if value_type != ValueType::FilePath {
        let message = format_args!("a spilled value is shown as file_path, found {value_type}");
        return Err(variable.finding("type", message));
    }
    if !logical_type.spills() {
        let message = format_args!("a value of type {logical_type} never spills");
        return Err(metadata.finding("logical_type", message));
    }
    let reference = variable.text("value")?;
    let path = StorePath::from_reference(&reference).map_err(|error| variable.finding("value", error))?;
    let sha256: Digest = metadata.parsed("sha256")?;
    Ok(Some(Spill { path, logical_type, size_bytes: metadata.required("size_bytes", whole_count)?, sha256 }))
}
