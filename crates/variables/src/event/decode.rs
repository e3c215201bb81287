//! Events read back from a journal.

use std::collections::BTreeMap;

use hence_canon::{JsonPointer, Value};

use crate::adopt::{Adoption, Import};
use crate::document::{Document, variable};
use crate::event::{Action, Birth, Change, Entry, Event, Place, Spawner};
use crate::fields::{Fields, Malformed};
use crate::{CheckpointId, ExecutionConfig, Scope, Shared};

/// A value that is not an event.
pub type InvalidEvent = Malformed;

impl Event {
    /// Reads an event.
    ///
    /// # Errors
    /// [`InvalidEvent`] with the place of what is wrong.
    pub fn from_value(value: &Value) -> Result<Self, InvalidEvent> {
        let fields = Fields::of(value, JsonPointer::root())?;
        let word = fields.text("action")?;
        let action = Action::WORDS.iter().find(|(_, known)| *known == &*word).map(|(action, _)| *action);
        let changes =
            fields.list("changes")?.iter().enumerate().map(|(index, change)| {
                decode_change(&Fields::of(change, fields.at("changes").child(index))?)
            });
        Ok(Self {
            state: fields.parsed("state")?,
            at: fields.parsed("at")?,
            action: action.ok_or_else(|| fields.wrong("action", format!("unknown action {word:?}")))?,
            changes: changes.collect::<Result<_, _>>()?,
        })
    }
}

fn decode_change(fields: &Fields<'_>) -> Result<Change, InvalidEvent> {
    let word = fields.text("change")?;
    Ok(match &*word {
        "born" => Change::Born(decode_birth(fields)?),
        "adopted" => Change::Adopted(Box::new(decode_adoption(fields)?)),
        "write" => {
            let inner = Fields::of(fields.required("variable")?, fields.at("variable"))?;
            let (variable, _) = variable::decode(&inner)?;
            let old_value = fields.optional("old_value").cloned();
            Change::Write { entry: entry(fields)?, place: place(fields)?, variable, old_value }
        }
        "delete" => Change::Delete {
            entry: entry(fields)?,
            place: place(fields)?,
            name: fields.parsed("name")?,
            old_value: fields.required("old_value")?.clone(),
        },
        "rename" => Change::Rename {
            entry: entry(fields)?,
            place: place(fields)?,
            name: fields.parsed("name")?,
            to: fields.parsed("to")?,
        },
        "read" => Change::Read { place: place(fields)?, name: fields.parsed("name")? },
        "checkpoint" => Change::Checkpoint {
            id: fields.parsed("checkpoint_id")?,
            name: fields.text("name")?,
            description: fields.optional_text("description")?,
            seen: revisions(fields, "seen")?,
        },
        "shared" => Change::Shared(Box::new(decode_shared(fields)?)),
        "rolled_back" => Change::RolledBack { to: fields.parsed("checkpoint_id")? },
        "status" => {
            Change::Status { status: fields.parsed("status")?, reason: fields.optional_text("reason")? }
        }
        other => return Err(fields.wrong("change", format!("unknown change {other:?}"))),
    })
}

fn decode_shared(fields: &Fields<'_>) -> Result<Shared, InvalidEvent> {
    let variables = fields.list("variables")?.iter().enumerate().map(|(index, value)| {
        let inner = Fields::of(value, fields.at("variables").child(index))?;
        variable::decode(&inner).map(|(variable, _)| variable)
    });
    let gone = fields.list("gone")?.iter().enumerate().map(|(index, value)| {
        let at = fields.at("gone").child(index);
        let name = value.as_str().ok_or_else(|| Malformed::new(at.clone(), "expected a name"))?;
        name.parse().map_err(|error: crate::InvalidName| Malformed::new(at, error))
    });
    Ok(Shared {
        scope: fields.parsed("scope")?,
        seen: fields.count("seen")?,
        revision: fields.count("revision")?,
        variables: variables.collect::<Result<_, _>>()?,
        gone: gone.collect::<Result<_, InvalidEvent>>()?,
    })
}

fn decode_spawner(fields: &Fields<'_>) -> Result<Option<Spawner>, InvalidEvent> {
    let Some(inner) = fields.optional_object("spawned_by")? else { return Ok(None) };
    Ok(Some(Spawner { run: inner.text("run")?, state: inner.parsed("state")? }))
}

fn decode_birth(fields: &Fields<'_>) -> Result<Birth, InvalidEvent> {
    let depth = fields.count("depth")?;
    let config = fields.optional("execution_config").map(ExecutionConfig::from_value).transpose();
    let config = config.map_err(|errors| {
        let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
        fields.wrong("execution_config", text.join("; "))
    });
    Ok(Birth {
        session: fields.optional_parsed("session_id")?,
        tree: fields.optional_parsed("tree_id")?,
        parent: fields.optional_parsed("parent")?,
        depth: u8::try_from(depth).map_err(|_| fields.wrong("depth", format!("{depth} is too deep")))?,
        config: config?,
        lives_in: fields.optional_text("lives_in")?,
        spawned_by: decode_spawner(fields)?,
    })
}

fn decode_adoption(fields: &Fields<'_>) -> Result<Adoption, InvalidEvent> {
    let document = |value: &Value, at: JsonPointer| {
        Document::from_value(value).map_err(|verdict| Malformed::new(at, verdict.to_string().trim_end()))
    };
    let snapshots = Fields::of(fields.required("snapshots")?, fields.at("snapshots"))?;
    let id = |key: &str| key.parse::<CheckpointId>().map_err(|error| snapshots.wrong(key, error));
    let decoded =
        snapshots.object.iter().map(|(key, value)| Ok((id(key)?, document(value, snapshots.at(key))?)));
    let snapshots = decoded.collect::<Result<_, InvalidEvent>>()?;
    let document = document(fields.required("document")?, fields.at("document"))?;
    Ok(Adoption {
        import: Import { document, snapshots },
        seen: revisions(fields, "seen")?,
        made: revisions(fields, "made")?,
    })
}

fn entry(fields: &Fields<'_>) -> Result<Entry, InvalidEvent> {
    Ok(Entry {
        id: fields.parsed("mutation_id")?,
        timestamp: fields.parsed("timestamp")?,
        source: fields.optional_text("source")?,
        metadata: fields.optional_object("metadata")?.map(|inner| inner.object.clone()).unwrap_or_default(),
    })
}

fn place(fields: &Fields<'_>) -> Result<Place, InvalidEvent> {
    match fields.optional_parsed("scope")? {
        None => Ok(Place::Special),
        Some(scope) => Ok(Place::Layer { scope, revision: fields.count("revision")? }),
    }
}

fn revisions(fields: &Fields<'_>, key: &str) -> Result<BTreeMap<Scope, u64>, InvalidEvent> {
    let seen = Fields::of(fields.required(key)?, fields.at(key))?;
    let scope = |key: &str| key.parse::<Scope>().map_err(|error| seen.wrong(key, error));
    seen.object.keys().map(|key| Ok((scope(key)?, seen.count(key)?))).collect()
}
