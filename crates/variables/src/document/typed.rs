//! A document as a typed value: read strictly, written back with everything it carried.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::read::{Finding, Reader};
use hence_canon::{JsonPointer, Object, Value};

use crate::document::{Verdict, history, variable};
use crate::members::{Members, whole_count};
use crate::name::FINAL;
use crate::{
    Checkpoint, DocumentExtra, ExecutionConfig, Mutation, Name, Scope, StateId, Status, Timestamp, TreeId,
    Variable,
};

/// A state document without defects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    /// The version of the form.
    pub version: Arc<str>,
    /// The state.
    pub state_id: StateId,
    /// The session; any text, as documents allow.
    pub session_id: Option<Arc<str>>,
    /// The task tree.
    pub tree_id: Option<TreeId>,
    /// The variables by name, with the scope they name. A bare null under `Final` is left out.
    pub variables: BTreeMap<Name, (Variable, Option<Scope>)>,
    /// The newest log entries, oldest first.
    pub mutations: Vec<Mutation>,
    /// The checkpoints, without snapshots.
    pub checkpoints: Vec<Checkpoint>,
    /// The time the state was created.
    pub created_at: Option<Timestamp>,
    /// The time of the last change.
    pub last_updated_at: Option<Timestamp>,
    /// The number of mutations there have ever been, if the document states it.
    pub mutation_count: Option<u64>,
    /// The execution configuration.
    pub execution_config: Option<ExecutionConfig>,
    /// The status, if the document states it.
    pub completion_status: Option<Status>,
    /// Members this crate does not know.
    pub extra: DocumentExtra,
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// The [`Verdict`], with everything that is wrong.
    pub fn from_value(value: &Value) -> Result<Self, Verdict> {
        let mut verdict = Verdict::of(value);
        if !verdict.is_valid() {
            return Err(verdict);
        }
        decode(value).map_err(|finding| {
            verdict.unrepresentable = Some(Box::new(finding));
            verdict
        })
    }

    /// Returns the document as a value. [`Document::from_value`] reads it back.
    pub fn to_value(&self) -> Value {
        let variables: Object = self
            .variables
            .iter()
            .map(|(name, (variable, scope))| (name.shared(), variable::encode(variable, *scope)))
            .collect();
        let mutations: Value = self.mutations.iter().map(history::encode_mutation).collect();
        let checkpoints: Value = self.checkpoints.iter().map(history::encode_checkpoint).collect();
        // A list that is not there is not an empty list: counts are only held against lists that are.
        let lists = Members::default()
            .some("mutations", Some(mutations).filter(|_| !self.mutations.is_empty()))
            .some("checkpoints", Some(checkpoints).filter(|_| !self.checkpoints.is_empty()));
        Members::default()
            .set("version", self.version.clone())
            .set("state_id", self.state_id)
            .some("session_id", self.session_id.clone())
            .some("tree_id", self.tree_id)
            .set("variables", variables)
            .non_empty("history", lists.rest(&self.extra.history).object())
            .non_empty("metadata", self.metadata())
            .rest(&self.extra.document)
            .object()
            .into()
    }

    fn metadata(&self) -> Object {
        Members::default()
            .some("created_at", self.created_at)
            .some("last_updated_at", self.last_updated_at)
            .some("mutation_count", self.mutation_count)
            .some("execution_config", self.execution_config.as_ref().map(|config| config.members().clone()))
            .some("completion_status", self.completion_status)
            .rest(&self.extra.metadata)
            .object()
    }

    /// Returns the status, which follows from `Final` where the document does not state it.
    pub fn status(&self) -> Status {
        let answer = self.variables.get(FINAL).map(|(variable, _)| variable);
        let answered = answer.is_some_and(|answer| !answer.stored.is_null());
        self.completion_status.unwrap_or(if answered { Status::Complete } else { Status::Incomplete })
    }
}

fn decode(value: &Value) -> Result<Document, Finding> {
    let mut reader = Reader::new(value)?;
    let empty = Object::new();
    let none = |key: &str| Reader::of(&empty, JsonPointer::root().child(key));
    let mut history = reader.optional_object("history")?.unwrap_or_else(|| none("history"));
    let mut metadata = reader.optional_object("metadata")?.unwrap_or_else(|| none("metadata"));
    let document = Document {
        version: reader.text("version")?,
        state_id: reader.parsed("state_id")?,
        session_id: reader.optional_text("session_id")?,
        tree_id: match reader.value("tree_id") {
            None | Some(Value::Null) => None,
            Some(_) => reader.optional_parsed("tree_id")?,
        },
        variables: reader.required("variables", decode_variables)?,
        mutations: history.list("mutations", history::decode_mutation)?,
        checkpoints: history.list("checkpoints", history::decode_checkpoint)?,
        created_at: metadata.optional_parsed("created_at")?,
        last_updated_at: metadata.optional_parsed("last_updated_at")?,
        mutation_count: metadata.optional("mutation_count", whole_count)?,
        execution_config: metadata.optional("execution_config", ExecutionConfig::decode)?,
        completion_status: metadata.optional_parsed("completion_status")?,
        extra: DocumentExtra::default(),
    };
    // Counts follow from the rest of a document; they are checked and not stored.
    for count in ["variable_count", "checkpoint_count", "total_size_bytes"] {
        metadata.value(count);
    }
    let extra = DocumentExtra { document: reader.rest(), history: history.rest(), metadata: metadata.rest() };
    Ok(Document { extra, ..document })
}

fn decode_variables(value: &Value) -> Result<BTreeMap<Name, (Variable, Option<Scope>)>, Finding> {
    let written = hence_canon::read::object(value)?.iter().filter(|(_, value)| !value.is_null());
    let decode = |(key, value): (&Arc<str>, &Value)| {
        let (variable, scope) =
            variable::decode(value).map_err(|finding| finding.under(&JsonPointer::root().child(key)))?;
        let scope = if variable.name.is_special() { None } else { Some(scope.unwrap_or(Scope::Session)) };
        Ok((variable.name.clone(), (variable, scope)))
    };
    written.map(decode).collect()
}
