//! The document form of log entries and checkpoints.

use hence_canon::read::{self, Finding, Reader};
use hence_canon::{Object, Value};

use crate::members::Members;
use crate::{Checkpoint, Mutation};

/// Returns a log entry as documents and `history.jsonl` show it.
pub(crate) fn encode_mutation(mutation: &Mutation) -> Object {
    Members::default()
        .set("mutation_id", mutation.id)
        .set("operation", mutation.operation)
        .set("variable_name", mutation.variable_name.clone())
        .some("old_value", mutation.old_value.clone())
        .some("new_value", mutation.new_value.clone())
        .some("source", mutation.source.clone())
        .set("timestamp", mutation.timestamp)
        .non_empty("metadata", mutation.metadata.clone())
        .rest(&mutation.extra)
        .object()
}

pub(crate) fn decode_mutation(value: &Value) -> Result<Mutation, Finding> {
    let mut reader = Reader::new(value)?;
    Ok(Mutation {
        id: reader.parsed("mutation_id")?,
        operation: reader.parsed("operation")?,
        variable_name: reader.text("variable_name")?,
        old_value: reader.value("old_value").cloned(),
        new_value: reader.value("new_value").cloned(),
        source: reader.optional_text("source")?,
        timestamp: reader.parsed("timestamp")?,
        metadata: reader.optional("metadata", read::object)?.cloned().unwrap_or_default(),
        extra: reader.rest(),
    })
}

/// Returns a checkpoint as documents list it, without its snapshot.
pub(crate) fn encode_checkpoint(checkpoint: &Checkpoint) -> Object {
    Members::default()
        .set("checkpoint_id", checkpoint.id)
        .set("name", checkpoint.name.clone())
        .set("timestamp", checkpoint.timestamp)
        .some("snapshot_path", checkpoint.snapshot_path.as_ref().map(|path| path.as_str()))
        .some("description", checkpoint.description.clone())
        .rest(&checkpoint.extra)
        .object()
}

pub(crate) fn decode_checkpoint(value: &Value) -> Result<Checkpoint, Finding> {
    let mut reader = Reader::new(value)?;
    Ok(Checkpoint {
        id: reader.parsed("checkpoint_id")?,
        name: reader.text("name")?,
        timestamp: reader.parsed("timestamp")?,
        description: reader.optional_text("description")?,
        snapshot_path: reader.optional_parsed("snapshot_path")?,
        extra: reader.rest(),
        snapshot: None,
    })
}
