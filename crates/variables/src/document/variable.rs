//! The document form of a variable, also used inside events.

use hence_canon::{Digest, Object, Value};

use crate::fields::{Fields, Malformed, Members};
use crate::stored::Spill;
use crate::{Name, Scope, StorePath, Stored, ValueType, Variable};

const KNOWN: &[&str] = &[
    "name",
    "value",
    "type",
    "description",
    "source",
    "created_at",
    "updated_at",
    "access_count",
    "metadata",
];
const KNOWN_METADATA: &[&str] = &["read_only", "scope", "ttl_seconds"];
const KNOWN_SPILL: &[&str] = &["spilled", "logical_type", "size_bytes", "sha256"];

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
pub(crate) fn decode(fields: &Fields<'_>) -> Result<(Variable, Option<Scope>), Malformed> {
    let name: Name = fields.parsed("name")?;
    let metadata = fields.optional_object("metadata")?;
    let spill = metadata.as_ref().map(|metadata| spill(fields, metadata)).transpose()?.flatten();
    let known_metadata: Vec<&str> = match &spill {
        Some(_) => [KNOWN_METADATA, KNOWN_SPILL].concat(),
        None => KNOWN_METADATA.to_vec(),
    };
    let stored = match spill {
        Some(spill) => Stored::Spilled(spill),
        None => stored(fields)?,
    };
    let from_metadata = metadata.as_ref();
    let read_only = from_metadata.map(|metadata| metadata.optional_bool("read_only")).transpose()?.flatten();
    let scope = from_metadata.map(|metadata| metadata.optional_parsed("scope")).transpose()?.flatten();
    let ttl_seconds =
        from_metadata.map(|metadata| metadata.optional_count("ttl_seconds")).transpose()?.flatten();
    let variable = Variable {
        stored,
        description: fields.optional_text("description")?,
        source: fields.optional_text("source")?,
        created_at: fields.optional_parsed("created_at")?,
        updated_at: fields.optional_parsed("updated_at")?,
        access_count: fields.optional_count("access_count")?.unwrap_or(0),
        // The prompt is read-only whether a document says so or not.
        read_only: read_only.unwrap_or(false) || name.is_prompt(),
        ttl_seconds,
        extra: fields.rest(KNOWN),
        metadata_extra: from_metadata.map(|metadata| metadata.rest(&known_metadata)).unwrap_or_default(),
        name,
    };
    Ok((variable, scope))
}

fn stored(fields: &Fields<'_>) -> Result<Stored, Malformed> {
    let value_type: ValueType = fields.parsed("type")?;
    let value = fields.required("value")?;
    if !value_type.admits(value) {
        let reason = format!("value is {}, which is not {value_type}", value.kind());
        return Err(fields.wrong("value", reason));
    }
    match value {
        Value::String(text) if value_type == ValueType::FilePath => {
            let path = StorePath::from_reference(text);
            Ok(Stored::Reference(path.map_err(|error| fields.wrong("value", error))?))
        }
        value => Ok(Stored::Inline { value_type, value: value.clone() }),
    }
}

/// Reads the reference to a large value, if the metadata says there is one.
pub(crate) fn spill(fields: &Fields<'_>, metadata: &Fields<'_>) -> Result<Option<Spill>, Malformed> {
    if metadata.optional("spilled") != Some(&Value::Bool(true)) {
        return Ok(None);
    }
    let value_type: ValueType = fields.parsed("type")?;
    let logical_type: ValueType = metadata.parsed("logical_type")?;
    if value_type != ValueType::FilePath {
        return Err(
            fields.wrong("type", format!("a spilled value is shown as file_path, found {value_type}"))
        );
    }
    if !logical_type.spills() {
        return Err(metadata.wrong("logical_type", format!("a value of type {logical_type} never spills")));
    }
    let reference = fields.text("value")?;
    let path = StorePath::from_reference(&reference).map_err(|error| fields.wrong("value", error))?;
    let sha256: Digest = metadata.parsed("sha256")?;
    Ok(Some(Spill { path, logical_type, size_bytes: metadata.count("size_bytes")?, sha256 }))
}
