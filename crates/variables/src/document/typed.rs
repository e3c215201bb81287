//! A document as a typed value: read strictly, written back with everything it carried.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value};

use crate::document::{Verdict, history, variable};
use crate::fields::{Fields, Malformed, Members};
use crate::name::FINAL;
use crate::{
    Checkpoint, DocumentExtra, ExecutionConfig, Mutation, Name, Scope, StateId, Status, Timestamp, TreeId,
    Variable,
};

const KNOWN: &[&str] = &["version", "state_id", "session_id", "tree_id", "variables", "history", "metadata"];
const KNOWN_HISTORY: &[&str] = &["mutations", "checkpoints"];
const KNOWN_METADATA: &[&str] = &[
    "created_at",
    "last_updated_at",
    "variable_count",
    "mutation_count",
    "checkpoint_count",
    "total_size_bytes",
    "execution_config",
    "completion_status",
];

/// A state document without defects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    /// The version of the form.
    pub version: Arc<str>,
    /// The state.
    pub state_id: StateId,
    /// Its session; any text, as documents allow.
    pub session_id: Option<Arc<str>>,
    /// Its task tree.
    pub tree_id: Option<TreeId>,
    /// Its variables by name, with the scope they name. A bare null under `Final` is left out.
    pub variables: BTreeMap<Name, (Variable, Option<Scope>)>,
    /// The newest log entries, oldest first.
    pub mutations: Vec<Mutation>,
    /// The checkpoints, without snapshots.
    pub checkpoints: Vec<Checkpoint>,
    /// When the state came to be.
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    pub last_updated_at: Option<Timestamp>,
    /// How many mutations there have ever been, where the document says.
    pub mutation_count: Option<u64>,
    /// How to execute.
    pub execution_config: Option<ExecutionConfig>,
    /// How far the state is, where the document says.
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
        decode(value).map_err(|malformed| {
            verdict.unrepresentable = Some(malformed);
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

    /// Returns the status, which `Final` decides where the document does not say.
    pub fn status(&self) -> Status {
        let answer = self.variables.get(FINAL).map(|(variable, _)| variable);
        let answered = answer.is_some_and(|answer| !answer.stored.is_null());
        self.completion_status.unwrap_or(if answered { Status::Complete } else { Status::Incomplete })
    }
}

fn decode(value: &Value) -> Result<Document, Malformed> {
    let fields = Fields::of(value, JsonPointer::root())?;
    let history = fields.optional_object("history")?;
    let metadata = fields.optional_object("metadata")?;
    let empty = Object::new();
    let none = |key: &str| Fields { object: &empty, pointer: fields.at(key) };
    let history_fields = history.clone().unwrap_or_else(|| none("history"));
    let metadata_fields = metadata.clone().unwrap_or_else(|| none("metadata"));
    let tree_id = fields.optional("tree_id").filter(|tree| !tree.is_null());
    Ok(Document {
        version: fields.text("version")?,
        state_id: fields.parsed("state_id")?,
        session_id: fields.optional_text("session_id")?,
        tree_id: tree_id.map(|_| fields.parsed("tree_id")).transpose()?,
        variables: decode_variables(&fields)?,
        mutations: decode_list(&history_fields, "mutations", history::decode_mutation)?,
        checkpoints: decode_list(&history_fields, "checkpoints", history::decode_checkpoint)?,
        created_at: metadata_fields.optional_parsed("created_at")?,
        last_updated_at: metadata_fields.optional_parsed("last_updated_at")?,
        mutation_count: metadata_fields.optional_count("mutation_count")?,
        execution_config: decode_config(&metadata_fields)?,
        completion_status: metadata_fields.optional_parsed("completion_status")?,
        extra: DocumentExtra {
            document: fields.rest(KNOWN),
            history: history_fields.rest(KNOWN_HISTORY),
            metadata: metadata_fields.rest(KNOWN_METADATA),
        },
    })
}

fn decode_variables(fields: &Fields<'_>) -> Result<BTreeMap<Name, (Variable, Option<Scope>)>, Malformed> {
    let variables = Fields::of(fields.required("variables")?, fields.at("variables"))?;
    let written = variables.object.iter().filter(|(_, value)| !value.is_null());
    written
        .map(|(key, value)| {
            let (variable, scope) = variable::decode(&Fields::of(value, variables.at(key))?)?;
            let scope = if variable.name.is_special() { None } else { Some(scope.unwrap_or(Scope::Session)) };
            Ok((variable.name.clone(), (variable, scope)))
        })
        .collect()
}

fn decode_list<'a, T>(
    fields: &Fields<'a>,
    key: &str,
    decode: impl Fn(&Fields<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let items = fields.list(key)?.iter().enumerate();
    items.map(|(index, item)| decode(&Fields::of(item, fields.at(key).child(index))?)).collect()
}

fn decode_config(metadata: &Fields<'_>) -> Result<Option<ExecutionConfig>, Malformed> {
    let config = metadata.optional("execution_config").map(ExecutionConfig::from_value).transpose();
    config.map_err(|errors| {
        let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
        metadata.wrong("execution_config", reasons.join("; "))
    })
}
