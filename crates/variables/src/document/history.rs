//! The document form of log entries and checkpoints.

use hence_canon::Object;

use crate::fields::{Fields, Malformed, Members};
use crate::{Checkpoint, Mutation};

const KNOWN_MUTATION: &[&str] = &[
    "mutation_id",
    "operation",
    "variable_name",
    "old_value",
    "new_value",
    "source",
    "timestamp",
    "metadata",
];
const KNOWN_CHECKPOINT: &[&str] = &["checkpoint_id", "name", "timestamp", "snapshot_path", "description"];

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

pub(crate) fn decode_mutation(fields: &Fields<'_>) -> Result<Mutation, Malformed> {
    Ok(Mutation {
        id: fields.parsed("mutation_id")?,
        operation: fields.parsed("operation")?,
        variable_name: fields.text("variable_name")?,
        old_value: fields.optional("old_value").cloned(),
        new_value: fields.optional("new_value").cloned(),
        source: fields.optional_text("source")?,
        timestamp: fields.parsed("timestamp")?,
        metadata: fields.optional_object("metadata")?.map(|inner| inner.object.clone()).unwrap_or_default(),
        extra: fields.rest(KNOWN_MUTATION),
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

pub(crate) fn decode_checkpoint(fields: &Fields<'_>) -> Result<Checkpoint, Malformed> {
    Ok(Checkpoint {
        id: fields.parsed("checkpoint_id")?,
        name: fields.text("name")?,
        timestamp: fields.parsed("timestamp")?,
        description: fields.optional_text("description")?,
        snapshot_path: fields.optional_parsed("snapshot_path")?,
        extra: fields.rest(KNOWN_CHECKPOINT),
        snapshot: None,
    })
}
