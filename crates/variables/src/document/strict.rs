//! The strict rules: what must agree with what, once everything is the right kind of thing.

use std::collections::BTreeSet;

use hence_canon::read::Reader;
use hence_canon::{JsonPointer, Object, Value, words};

use crate::document::export::{ENDED_BY, ENDED_BY_RUN};
use crate::document::variable;
use crate::limits::{
    CHECKPOINTS_MAX, HISTORY_ENTRIES_MAX, INLINE_VALUE_BYTES_MAX, NAME_BYTES_MAX, VARIABLES_MAX,
};
use crate::members::whole_count;
use crate::name::{FINAL, PROMPT};
use crate::words::size_bytes;
use crate::{Name, Operation, Scope, Status, StorePath, Timestamp, ValueType};

words! {
    /// The strict rule that a document breaks.
    pub enum StrictCode {
        /// The key of a variable is not an identifier.
        InvalidKey = "invalid_key",
        /// The key of a variable is too long.
        NameTooLong = "name_too_long",
        /// A variable has another name than its key.
        KeyNameMismatch = "key_name_mismatch",
        /// A value is not of its type.
        TypeMismatch = "type_mismatch",
        /// A path or reference leaves the store.
        InvalidPath = "invalid_path",
        /// A value is too large to be inside a document.
        InlineTooLarge = "inline_too_large",
        /// A large value's reference lacks what is needed to check it.
        InvalidSpill = "invalid_spill",
        /// Time goes back.
        TimeOrder = "time_order",
        /// A time to live outside the temporary scope.
        TtlScope = "ttl_scope",
        /// A tree variable in a state without a tree.
        ScopeUnavailable = "scope_unavailable",
        /// A special variable with a scope of its own.
        SpecialVariable = "special_variable",
        /// A prompt that claims to be writable.
        PromptWritable = "prompt_writable",
        /// An id that occurs twice.
        DuplicateId = "duplicate_id",
        /// A checkpoint name that occurs twice.
        DuplicateCheckpoint = "duplicate_checkpoint",
        /// A log entry without the value before.
        MissingOldValue = "missing_old_value",
        /// A log entry without the value after.
        MissingNewValue = "missing_new_value",
        /// A log entry about something that cannot be a variable.
        InvalidName = "invalid_name",
        /// A count that is not the number of things counted.
        CountMismatch = "count_mismatch",
        /// A status that contradicts `Final`.
        StatusMismatch = "status_mismatch",
        /// Too many variables.
        LimitVariables = "limit_variables",
        /// Too many log entries.
        LimitHistory = "limit_history",
        /// Too many checkpoints.
        LimitCheckpoints = "limit_checkpoints",
    }
}

/// Something in a document that contradicts something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pointer}`: {reason}")]
pub struct StrictError {
    /// The place of the contradiction.
    pub pointer: JsonPointer,
    /// The rule it breaks.
    pub code: StrictCode,
    /// The expected and the found value, in words.
    pub reason: String,
}

/// Returns everything in `document` that breaks a strict rule. The document must have passed
/// [`check_schema`](crate::document::check_schema); anything of the wrong kind is passed over here.
pub fn check_strict(document: &Value) -> Vec<StrictError> {
    let mut findings = Findings(Vec::new());
    let Value::Object(document) = document else { return findings.0 };
    let root = JsonPointer::root();
    let has_tree = document.get("tree_id").is_some_and(|tree| !tree.is_null());
    if let Some(Value::Object(variables)) = document.get("variables") {
        findings.variables(variables, &root.child("variables"), has_tree);
    }
    if let Some(Value::Object(history)) = document.get("history") {
        findings.history(history, &root.child("history"));
    }
    if let Some(Value::Object(metadata)) = document.get("metadata") {
        findings.metadata(metadata, document, &root.child("metadata"));
    }
    findings.0
}

struct Findings(Vec<StrictError>);

impl Findings {
    fn add(&mut self, pointer: JsonPointer, code: StrictCode, reason: impl ToString) {
        self.0.push(StrictError { pointer, code, reason: reason.to_string() });
    }

    fn limit(&mut self, found: usize, limit: usize, pointer: &JsonPointer, code: StrictCode) {
        if found > limit {
            self.add(pointer.clone(), code, format!("{found} entries, limit is {limit}"));
        }
    }

    fn variables(&mut self, variables: &Object, pointer: &JsonPointer, has_tree: bool) {
        self.limit(variables.len(), VARIABLES_MAX, pointer, StrictCode::LimitVariables);
        for (key, value) in variables.iter() {
            let at = pointer.child(key);
            if !Name::is_identifier(key) {
                self.add(at.clone(), StrictCode::InvalidKey, "the key is not an identifier");
            } else if key.len() > NAME_BYTES_MAX {
                let reason = format!("name has {} characters, limit is {NAME_BYTES_MAX}", key.len());
                self.add(at.clone(), StrictCode::NameTooLong, reason);
            }
            if let Value::Object(variable) = value {
                self.variable(key, &mut Reader::of(variable, at), has_tree);
            }
        }
    }

    fn variable(&mut self, key: &str, variable: &mut Reader<'_>, has_tree: bool) {
        let name = variable.value("name").and_then(Value::as_str);
        if let Some(name) = name.filter(|name| *name != key) {
            self.add(
                variable.pointer_to("name"),
                StrictCode::KeyNameMismatch,
                format!("found {name:?} under {key:?}"),
            );
        }
        self.value(variable);
        let (created, updated) = (moment(variable, "created_at"), moment(variable, "updated_at"));
        if let (Some(created), Some(updated)) = (created, updated)
            && updated < created
        {
            let reason = format!("updated at {updated}, created at {created}");
            self.add(variable.pointer_to("updated_at"), StrictCode::TimeOrder, reason);
        }
        if let Ok(Some(mut metadata)) = variable.optional_object("metadata") {
            self.variable_metadata(key, variable, &mut metadata, has_tree);
        }
    }

    fn value(&mut self, variable: &mut Reader<'_>) {
        let Ok(value_type) = variable.parsed::<ValueType>("type") else { return };
        let Some(value) = variable.value("value") else { return };
        let at = || variable.pointer_to("value");
        if !value_type.admits(value) {
            let reason = format!("value is {}, which is not {value_type}", value.kind());
            return self.add(at(), StrictCode::TypeMismatch, reason);
        }
        let size = size_bytes(value);
        if size > INLINE_VALUE_BYTES_MAX {
            let reason = format!("value is {size} bytes, limit is {INLINE_VALUE_BYTES_MAX}");
            return self.add(at(), StrictCode::InlineTooLarge, reason);
        }
        if value_type == ValueType::FilePath
            && let Some(Err(error)) = value.as_str().map(StorePath::from_reference)
        {
            self.add(at(), StrictCode::InvalidPath, error);
        }
    }

    fn variable_metadata(
        &mut self,
        key: &str,
        variable: &mut Reader<'_>,
        metadata: &mut Reader<'_>,
        has_tree: bool,
    ) {
        let scope = metadata.optional_parsed("scope").ok().flatten().unwrap_or(Scope::Session);
        let special = matches!(key, FINAL | PROMPT);
        if scope == Scope::Tree && !has_tree {
            self.add(
                metadata.pointer_to("scope"),
                StrictCode::ScopeUnavailable,
                "scope `tree` needs a tree_id",
            );
        }
        if special && scope != Scope::Session {
            let reason = format!("`{key}` belongs to its own state, found scope {scope}");
            self.add(metadata.pointer_to("scope"), StrictCode::SpecialVariable, reason);
        }
        if metadata.value("ttl_seconds").is_some() && scope != Scope::Temporary {
            let reason = format!("a time to live is for temporary variables, this one is in scope {scope}");
            self.add(metadata.pointer_to("ttl_seconds"), StrictCode::TtlScope, reason);
        }
        if key == PROMPT && metadata.value("read_only") == Some(&Value::Bool(false)) {
            self.add(metadata.pointer_to("read_only"), StrictCode::PromptWritable, "the prompt is read-only");
        }
        let invalid_path = self.0.last().is_some_and(|last| last.pointer == variable.pointer_to("value"));
        if let Err(error) = variable::spill(variable, metadata)
            && !invalid_path
        {
            let message = error.message();
            self.add(error.pointer, StrictCode::InvalidSpill, message);
        }
    }

    fn history(&mut self, history: &Object, pointer: &JsonPointer) {
        if let Some(Value::Array(mutations)) = history.get("mutations") {
            let at = pointer.child("mutations");
            self.limit(mutations.len(), HISTORY_ENTRIES_MAX, &at, StrictCode::LimitHistory);
            self.mutations(mutations, &at);
        }
        if let Some(Value::Array(checkpoints)) = history.get("checkpoints") {
            let at = pointer.child("checkpoints");
            self.limit(checkpoints.len(), CHECKPOINTS_MAX, &at, StrictCode::LimitCheckpoints);
            self.checkpoints(checkpoints, &at);
        }
    }

    fn mutations(&mut self, mutations: &[Value], pointer: &JsonPointer) {
        let mut ids = BTreeSet::new();
        let mut last: Option<Timestamp> = None;
        for (index, mutation) in mutations.iter().enumerate() {
            let Ok(mut mutation) = Reader::at(mutation, pointer.child(index)) else { continue };
            self.unique(&mut ids, &mut mutation, "mutation_id", StrictCode::DuplicateId);
            let timestamp = moment(&mut mutation, "timestamp");
            if let (Some(last), Some(now)) = (last, timestamp)
                && now < last
            {
                let reason = format!("the log goes back from {last} to {now}");
                self.add(mutation.pointer_to("timestamp"), StrictCode::TimeOrder, reason);
            }
            last = timestamp.or(last);
            self.mutation(&mut mutation);
        }
    }

    fn mutation(&mut self, mutation: &mut Reader<'_>) {
        let Ok(operation) = mutation.parsed::<Operation>("operation") else { return };
        let needs_old = operation != Operation::Create;
        let needs_new = operation != Operation::Delete;
        let at = mutation.pointer().clone();
        if needs_old && mutation.value("old_value").is_none() {
            self.add(at.clone(), StrictCode::MissingOldValue, format!("{operation} needs old_value"));
        }
        if needs_new && mutation.value("new_value").is_none() {
            self.add(at, StrictCode::MissingNewValue, format!("{operation} needs new_value"));
        }
        let is_name = |value: &Value| value.as_str().is_some_and(Name::is_identifier);
        let mut check = |key: &'static str| {
            if let Some(value) = mutation.value(key).filter(|value| !is_name(value)) {
                let reason = format!("expected an identifier, found {}", value.kind());
                self.add(mutation.pointer_to(key), StrictCode::InvalidName, reason);
            }
        };
        check("variable_name");
        if operation == Operation::Rename {
            check("new_value");
        }
    }

    fn checkpoints(&mut self, checkpoints: &[Value], pointer: &JsonPointer) {
        let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
        for (index, checkpoint) in checkpoints.iter().enumerate() {
            let Ok(mut checkpoint) = Reader::at(checkpoint, pointer.child(index)) else { continue };
            self.unique(&mut ids, &mut checkpoint, "checkpoint_id", StrictCode::DuplicateId);
            self.unique(&mut names, &mut checkpoint, "name", StrictCode::DuplicateCheckpoint);
            let path = checkpoint.value("snapshot_path").and_then(Value::as_str);
            if let Some(Err(error)) = path.map(str::parse::<StorePath>) {
                self.add(checkpoint.pointer_to("snapshot_path"), StrictCode::InvalidPath, error);
            }
        }
    }

    fn unique<'a>(
        &mut self,
        seen: &mut BTreeSet<&'a str>,
        fields: &mut Reader<'a>,
        key: &'static str,
        code: StrictCode,
    ) {
        let Some(text) = fields.value(key).and_then(Value::as_str) else { return };
        if !seen.insert(text) {
            self.add(fields.pointer_to(key), code, format!("{text:?} occurs before"));
        }
    }

    /// Checks the counts and the status that a document claims.
    fn metadata(&mut self, metadata: &Object, document: &Object, pointer: &JsonPointer) {
        let metadata = &mut Reader::of(metadata, pointer.clone());
        let history = document.get("history").and_then(Value::as_object);
        let listed = |key: &str| Some(history?.get(key)?.as_array()?.len());
        let variables = document.get("variables").and_then(Value::as_object).map(Object::len);
        self.count(metadata, "variable_count", variables, Window::Whole);
        self.count(metadata, "mutation_count", listed("mutations"), Window::Newest);
        self.count(metadata, "checkpoint_count", listed("checkpoints"), Window::Whole);
        let Ok(Some(status)) = metadata.optional_parsed::<Status>("completion_status") else { return };
        let answer = document.get("variables").and_then(|variables| variables.get(FINAL));
        let value = answer.and_then(|answer| answer.get("value")).unwrap_or(&Value::Null);
        let is_ended_by_run = metadata.value(ENDED_BY).and_then(Value::as_str) == Some(ENDED_BY_RUN);
        if is_ended_by_run && status.is_terminal() {
            return;
        }
        if (status == Status::Complete) == value.is_null() {
            let found = if value.is_null() { "null" } else { "set" };
            let reason = format!("status is {status} while Final is {found}");
            self.add(metadata.pointer_to("completion_status"), StrictCode::StatusMismatch, reason);
        }
    }

    fn count(&mut self, metadata: &mut Reader<'_>, key: &'static str, listed: Option<usize>, window: Window) {
        let (Some(value), Some(listed)) = (metadata.value(key), listed) else { return };
        let claimed = whole_count(value).ok();
        let same = claimed == Some(listed as u64);
        // A count above 2^64 is still a larger count than any list has entries.
        let windowed = window == Window::Newest && listed == HISTORY_ENTRIES_MAX;
        let larger = claimed.is_none_or(|claimed| claimed > listed as u64);
        if !(same || windowed && larger) {
            let reason = format!("found {value}, counted {listed}");
            self.add(metadata.pointer_to(key), StrictCode::CountMismatch, reason);
        }
    }
}

/// The part of the counted things that a document lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Window {
    Whole,
    Newest,
}

fn moment(fields: &mut Reader<'_>, key: &'static str) -> Option<Timestamp> {
    fields.optional_parsed(key).ok().flatten()
}
