//! Reads events from a journal.

use std::collections::BTreeMap;

use hence_canon::read::{self, Finding, Reader};
use hence_canon::{JsonPointer, Value};

use crate::decide::first_difference;
use crate::document::{Document, variable};
use crate::event::{Change, Creation, Entry, Event, Place, Spawner};
use crate::import::{Import, ImportedDocument};
use crate::members::{by_key, whole_count};
use crate::{CheckpointId, ExecutionConfig, PublishedRecord, Scope, Shared};

impl Event {
    /// Reads an event. It is written in one way only: with these members and no others.
    ///
    /// # Errors
    /// The first [`Finding`].
    pub fn from_value(value: &Value) -> Result<Self, Finding> {
        let mut reader = Reader::new(value)?;
        let event = Self {
            state: reader.parsed("state")?,
            at: reader.parsed("at")?,
            action: reader.parsed("action")?,
            changes: reader.list("changes", decode_change)?,
        };
        match first_difference(Some(&event.to_value()), Some(value), &JsonPointer::root()) {
            None => Ok(event),
            Some(difference) => Err(Finding::other(difference)),
        }
    }
}

fn decode_change(value: &Value) -> Result<Change, Finding> {
    let mut reader = Reader::new(value)?;
    let word = reader.text("change")?;
    let reader = &mut reader;
    Ok(match &*word {
        "born" => Change::Created(decode_creation(reader)?),
        "adopted" => Change::Imported(Box::new(decode_imported(reader)?)),
        "write" => {
            let (variable, _) = reader.required("variable", variable::decode)?;
            let old_value = reader.value("old_value").cloned();
            Change::Write { entry: entry(reader)?, place: place(reader)?, variable, old_value }
        }
        "delete" => Change::Delete {
            entry: entry(reader)?,
            place: place(reader)?,
            name: reader.parsed("name")?,
            old_value: reader.required("old_value", |value| Ok(value.clone()))?,
        },
        "rename" => Change::Rename {
            entry: entry(reader)?,
            place: place(reader)?,
            name: reader.parsed("name")?,
            to: reader.parsed("to")?,
        },
        "read" => Change::Read { place: place(reader)?, name: reader.parsed("name")? },
        "checkpoint" => Change::Checkpoint {
            id: reader.parsed("checkpoint_id")?,
            name: reader.text("name")?,
            description: reader.optional_text("description")?,
            seen: reader.required("seen", revisions)?,
        },
        "shared" => Change::Shared(Box::new(decode_shared(reader)?)),
        "rolled_back" => Change::RolledBack { to: reader.parsed("checkpoint_id")? },
        "status" => {
            Change::Status { status: reader.parsed("status")?, reason: reader.optional_text("reason")? }
        }
        other => return Err(reader.finding("change", format_args!("unknown change {other:?}"))),
    })
}

fn decode_shared(reader: &mut Reader<'_>) -> Result<Shared, Finding> {
    Ok(Shared {
        scope: reader.parsed("scope")?,
        seen: reader.required("seen", whole_count)?,
        revision: reader.required("revision", whole_count)?,
        variables: reader.list("variables", |value| variable::decode(value).map(|(variable, _)| variable))?,
        gone: reader.list("gone", read::parsed)?,
        by: reader.optional("by", decode_published)?,
    })
}

fn decode_published(value: &Value) -> Result<PublishedRecord, Finding> {
    let mut reader = Reader::new(value)?;
    Ok(PublishedRecord { run: reader.text("run")?, record: reader.required("record", whole_count)? })
}

fn decode_creation(reader: &mut Reader<'_>) -> Result<Creation, Finding> {
    let depth = |value: &Value| {
        let depth = whole_count(value)?;
        u8::try_from(depth).map_err(|_| Finding::other(format_args!("{depth} is too deep")))
    };
    Ok(Creation {
        session: reader.optional_parsed("session_id")?,
        tree: reader.optional_parsed("tree_id")?,
        parent: reader.optional_parsed("parent")?,
        depth: reader.required("depth", depth)?,
        config: reader.optional("execution_config", ExecutionConfig::decode)?,
        lives_in: reader.optional_text("lives_in")?,
        spawned_by: reader.optional("spawned_by", decode_spawner)?,
    })
}

pub(crate) fn decode_spawner(value: &Value) -> Result<Spawner, Finding> {
    let mut reader = Reader::new(value)?;
    Ok(Spawner { run: reader.text("run")?, state: reader.parsed("state")? })
}

fn decode_imported(reader: &mut Reader<'_>) -> Result<ImportedDocument, Finding> {
    let document = |value: &Value| {
        Document::from_value(value).map_err(|verdict| Finding::other(verdict.to_string().trim_end()))
    };
    let snapshots = |value| by_key(value, |key| key.parse::<CheckpointId>(), document);
    Ok(ImportedDocument {
        import: Import {
            document: reader.required("document", document)?,
            snapshots: reader.required("snapshots", snapshots)?,
        },
        seen: reader.required("seen", revisions)?,
        made: reader.required("made", revisions)?,
    })
}

fn entry(reader: &mut Reader<'_>) -> Result<Entry, Finding> {
    Ok(Entry {
        id: reader.parsed("mutation_id")?,
        timestamp: reader.parsed("timestamp")?,
        source: reader.optional_text("source")?,
        metadata: reader.optional("metadata", read::object)?.cloned().unwrap_or_default(),
    })
}

fn place(reader: &mut Reader<'_>) -> Result<Place, Finding> {
    match reader.optional_parsed("scope")? {
        None => Ok(Place::Special),
        Some(scope) => Ok(Place::Layer { scope, revision: reader.required("revision", whole_count)? }),
    }
}

fn revisions(value: &Value) -> Result<BTreeMap<Scope, u64>, Finding> {
    by_key(value, str::parse, whole_count)
}
