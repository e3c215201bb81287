//! A workspace as a value, to be continued later: everything a next event depends on.
//!
//! It is a cache of a journal and never leaves its store. The log entries stay in the journal: no event depends on
//! them. Variables that checkpoints share with their state are written once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hence_canon::read::{self, Finding, Reader};
use hence_canon::{Object, Value};

use crate::document::{history, variable};
use crate::event::{decode_spawner, encode_spawner};
use crate::layer::{Author, Layer, Variables};
use crate::members::{Members, by_key, whole_count};
use crate::state::{Checkpoint, DocumentExtra, Log, SeenLayer, Snapshot};
use crate::{ExecutionConfig, Scope, SessionId, State, StateId, Timestamp, TreeId, Variable, Workspace};

/// The word for an author of another run.
const ELSEWHERE: &str = "elsewhere";

impl Workspace {
    /// Returns the workspace as a value, without log entries. [`Workspace::from_value`] reads it back.
    pub fn to_value(&self) -> Value {
        let mut shelf = Shelf::default();
        let sessions: Object =
            self.sessions.iter().map(|(id, layer)| (id.as_str(), shelf.layer(layer))).collect();
        let trees: Object =
            self.trees.iter().map(|(id, layer)| (id.to_string(), shelf.layer(layer))).collect();
        let global = shelf.layer(&self.global);
        let states: Value = self.states.values().map(|state| shelf.state(state)).collect();
        Members::default()
            .set("global", global)
            .set("sessions", sessions)
            .set("trees", trees)
            .set("states", states)
            .set("sets", Value::from_iter(shelf.sets))
            .set("variables", Value::from_iter(shelf.variables))
            .object()
            .into()
    }

    /// Reads a workspace back. Its states have no log entries but know how many there are.
    ///
    /// # Errors
    /// The first [`Finding`].
    pub fn from_value(value: &Value) -> Result<Self, Finding> {
        let mut reader = Reader::new(value)?;
        let decode = |value: &Value| variable::decode(value).map(|(variable, _)| Arc::new(variable));
        let variables: Vec<Arc<Variable>> = reader.list("variables", decode)?;
        let sets = reader.list("sets", |value| set(value, &variables))?;
        let held = Held { variables, sets };
        let states = reader.list("states", |value| held.state(value))?;
        Ok(Self {
            global: reader.required("global", |value| held.layer(value))?,
            sessions: reader.required("sessions", |value| held.layers(value))?,
            trees: reader.required("trees", |value| held.layers(value))?,
            states: states.into_iter().map(|state| (state.id, state)).collect(),
        })
    }
}

/// The variables and the sets of variables that were written, each once however many share it.
#[derive(Default)]
struct Shelf {
    variables: Vec<Value>,
    places: HashMap<*const Variable, usize>,
    sets: Vec<Value>,
    set_places: HashMap<*const (), usize>,
}

impl Shelf {
    fn variable(&mut self, variable: &Arc<Variable>) -> Value {
        let place = *self.places.entry(Arc::as_ptr(variable)).or_insert_with(|| {
            self.variables.push(variable::encode(variable, None).into());
            self.variables.len() - 1
        });
        place.into()
    }

    fn set(&mut self, variables: &Variables) -> Value {
        let address = Arc::as_ptr(variables).cast::<()>();
        if let Some(place) = self.set_places.get(&address) {
            return (*place).into();
        }
        let members: Value = variables.values().map(|variable| self.variable(variable)).collect();
        self.sets.push(members);
        let place = self.sets.len() - 1;
        self.set_places.insert(address, place);
        place.into()
    }

    fn layer(&mut self, layer: &Layer) -> Value {
        let writers: Object = layer
            .writers()
            .iter()
            .map(|(name, writers)| {
                let writers: Object =
                    writers.iter().map(|(author, at)| (author_word(*author), *at)).collect();
                (name.shared(), writers)
            })
            .collect();
        let set = self.set(layer.variables());
        Members::default()
            .set("set", set)
            .set("revision", layer.revision())
            .non_empty("writers", writers)
            .non_empty(
                "published",
                layer.published().iter().map(|(run, last)| (run.clone(), *last)).collect(),
            )
            .object()
            .into()
    }

    fn state(&mut self, state: &State) -> Value {
        let prompt = state.prompt.as_ref().map(|prompt| self.variable(prompt));
        let final_answer = self.variable(&state.final_answer);
        let (temporary, session) = (self.layer(&state.temporary), self.layer(&state.private_session));
        let checkpoints: Value =
            state.checkpoints.iter().map(|checkpoint| self.checkpoint(checkpoint)).collect();
        let extra = &state.extra;
        Members::default()
            .set("state_id", state.id)
            .set("version", state.version.clone())
            .some("session_id", state.session.as_ref())
            .some("tree_id", state.tree)
            .some("parent", state.parent)
            .set("depth", u64::from(state.depth))
            .set("children", state.children.iter().map(|child| Value::from(*child)).collect::<Value>())
            .some("execution_config", state.config.as_ref().map(|config| config.members().clone()))
            .some("lives_in", state.lives_in.clone())
            .some("spawned_by", state.spawned_by.as_ref().map(encode_spawner))
            .some("created_at", state.created_at)
            .some("last_updated_at", state.last_updated_at)
            .set("clock", state.clock)
            .set("status", state.status)
            .some("prompt", prompt)
            .set("final", final_answer)
            .set("temporary", temporary)
            .set("private_session", session)
            .set("log_entries", state.log.len())
            .some("last_logged_at", state.log.last_at())
            .set("mutation_count", state.mutation_count)
            .set("last_mutation", state.last_mutation)
            .set("checkpoints", checkpoints)
            .set("last_checkpoint", u64::from(state.last_checkpoint))
            .non_empty("extra_document", extra.document.clone())
            .non_empty("extra_history", extra.history.clone())
            .non_empty("extra_metadata", extra.metadata.clone())
            .object()
            .into()
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Value {
        let snapshot = checkpoint.snapshot.as_ref().map(|snapshot| self.snapshot(snapshot));
        Members::default()
            .set("checkpoint", history::encode_checkpoint(checkpoint))
            .some("snapshot", snapshot)
            .object()
            .into()
    }

    fn snapshot(&mut self, snapshot: &Snapshot) -> Value {
        let layers: Object = snapshot
            .layers
            .iter()
            .map(|(scope, seen)| {
                let set = self.set(&seen.variables);
                let layer = Members::default().set("set", set).set("revision", seen.revision).object();
                (scope.as_str(), layer)
            })
            .collect();
        Members::default()
            .set("status", snapshot.status)
            .set("final", self.variable(&snapshot.final_answer))
            .set("layers", layers)
            .object()
            .into()
    }
}

/// The variables and sets that were read, by their places.
struct Held {
    variables: Vec<Arc<Variable>>,
    sets: Vec<Variables>,
}

fn place<'a, T>(value: &Value, held: &'a [T]) -> Result<&'a T, Finding> {
    let place = usize::try_from(whole_count(value)?).ok();
    place.and_then(|place| held.get(place)).ok_or_else(|| Finding::expected("a place that exists", value))
}

fn set(value: &Value, variables: &[Arc<Variable>]) -> Result<Variables, Finding> {
    let places = value.as_array().ok_or_else(|| Finding::expected("a list", value))?;
    let named = |value: &Value| place(value, variables).map(|found| (found.name.clone(), found.clone()));
    Ok(Arc::new(places.iter().map(named).collect::<Result<_, Finding>>()?))
}

impl Held {
    fn layers<K: Ord + std::str::FromStr>(&self, value: &Value) -> Result<BTreeMap<K, Layer>, Finding>
    where
        K::Err: std::fmt::Display,
    {
        by_key(value, str::parse, |value| self.layer(value))
    }

    fn layer(&self, value: &Value) -> Result<Layer, Finding> {
        let mut reader = Reader::new(value)?;
        let authors = |value: &Value| by_key(value, author, whole_count);
        let writers = |value: &Value| by_key(value, str::parse, authors);
        let published = |value: &Value| by_key(value, |run| Ok::<_, Finding>(Arc::from(run)), whole_count);
        Ok(Layer::from_parts(
            reader.required("set", |value| place(value, &self.sets).cloned())?,
            reader.required("revision", whole_count)?,
            reader.optional("writers", writers)?.unwrap_or_default(),
            reader.optional("published", published)?.unwrap_or_default(),
        ))
    }

    fn variable(&self, value: &Value) -> Result<Arc<Variable>, Finding> {
        place(value, &self.variables).cloned()
    }

    fn state(&self, value: &Value) -> Result<State, Finding> {
        let mut reader = Reader::new(value)?;
        let reader = &mut reader;
        let extra = |reader: &mut Reader<'_>, key: &'static str| -> Result<Object, Finding> {
            Ok(reader.optional(key, read::object)?.cloned().unwrap_or_default())
        };
        let session: Option<SessionId> = reader.optional_parsed("session_id")?;
        let tree: Option<TreeId> = reader.optional_parsed("tree_id")?;
        let parent: Option<StateId> = reader.optional_parsed("parent")?;
        let last_logged_at: Option<Timestamp> = reader.optional_parsed("last_logged_at")?;
        Ok(State {
            id: reader.parsed("state_id")?,
            version: reader.text("version")?,
            session,
            tree,
            parent,
            depth: reader.required("depth", small)?,
            children: reader.list("children", read::parsed)?,
            config: reader.optional("execution_config", ExecutionConfig::decode)?,
            lives_in: reader.optional_text("lives_in")?,
            spawned_by: reader.optional("spawned_by", decode_spawner)?,
            created_at: reader.optional_parsed("created_at")?,
            last_updated_at: reader.optional_parsed("last_updated_at")?,
            clock: reader.parsed("clock")?,
            status: reader.parsed("status")?,
            prompt: reader.optional("prompt", |value| self.variable(value))?,
            final_answer: reader.required("final", |value| self.variable(value))?,
            temporary: reader.required("temporary", |value| self.layer(value))?,
            private_session: reader.required("private_session", |value| self.layer(value))?,
            log: Log::omitted(reader.required("log_entries", small)?, last_logged_at),
            mutation_count: reader.required("mutation_count", whole_count)?,
            last_mutation: reader.required("last_mutation", whole_count)?,
            checkpoints: reader.list("checkpoints", |value| self.checkpoint(value))?,
            last_checkpoint: reader.required("last_checkpoint", small)?,
            extra: DocumentExtra {
                document: extra(reader, "extra_document")?,
                history: extra(reader, "extra_history")?,
                metadata: extra(reader, "extra_metadata")?,
            },
        })
    }

    fn checkpoint(&self, value: &Value) -> Result<Checkpoint, Finding> {
        let mut reader = Reader::new(value)?;
        let checkpoint = reader.required("checkpoint", history::decode_checkpoint)?;
        let snapshot = reader.optional("snapshot", |value| self.snapshot(value))?;
        Ok(Checkpoint { snapshot, ..checkpoint })
    }

    fn snapshot(&self, value: &Value) -> Result<Snapshot, Finding> {
        let mut reader = Reader::new(value)?;
        let seen = |value: &Value| {
            let mut reader = Reader::new(value)?;
            Ok(SeenLayer {
                revision: reader.required("revision", whole_count)?,
                variables: reader.required("set", |value| place(value, &self.sets).cloned())?,
            })
        };
        Ok(Snapshot {
            status: reader.parsed("status")?,
            final_answer: reader.required("final", |value| self.variable(value))?,
            layers: reader.required("layers", |value| by_key(value, str::parse::<Scope>, seen))?,
        })
    }
}

fn small<N: TryFrom<u64>>(value: &Value) -> Result<N, Finding> {
    N::try_from(whole_count(value)?).map_err(|_| Finding::expected("a smaller number", value))
}

fn author_word(author: Author) -> String {
    match author {
        Author::State(state) => state.to_string(),
        Author::Elsewhere => ELSEWHERE.to_owned(),
    }
}

fn author(word: &str) -> Result<Author, crate::ids::InvalidId> {
    if word == ELSEWHERE { Ok(Author::Elsewhere) } else { word.parse().map(Author::State) }
}
