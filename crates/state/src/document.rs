//! Checking a state that comes as a document, from a file or another engine.

use hence_canon::{Object, Value};

use crate::blank::is_blank;
use crate::walk::{Presence, Walk, expected};
use crate::{Category, FieldPath, Findings, Profile, Status, StepError, Typing, Version};

/// Checks a document against every rule of the ReasoningState.
///
/// # Errors
/// [`Findings`]: everything that is wrong.
pub fn check_state(document: &Value, profile: &Profile) -> Result<(), Findings> {
    let mut walk = Walk::new(profile.typing, &[]);
    let root = FieldPath::root();
    if let Some(object) = walk.object(document, &root, Category::ModelType) {
        check(&mut walk, object, &root);
    }
    Findings::some(walk.into_findings()).map_or(Ok(()), Err)
}

fn check(walk: &mut Walk<'_>, object: &Object, root: &FieldPath) {
    if let Some(value) = walk.member(object, root, "version", Presence::Required) {
        let path = root.child("version");
        if let Some(Err(error)) = walk.text(value, &path).map(|text| Version::parse(&text)) {
            walk.report(&path, Category::ValueError, error.to_string());
        }
    }
    if let Some(value) = walk.member(object, root, "problem", Presence::Required) {
        walk.object(value, &root.child("problem"), Category::ModelType);
    }
    if let Some(value) = walk.member(object, root, "step_index", Presence::Required) {
        walk.integer_above(value, &root.child("step_index"), -1, Category::GreaterThanEqual);
    }
    let status = walk.member(object, root, "status", Presence::Required);
    if let Some(value) = status
        && value.as_str().and_then(Status::from_word).is_none()
    {
        let message = expected("one of pending, running, failed, completed", value);
        walk.report(&root.child("status"), Category::LiteralError, message);
    }
    for key in ["assumptions", "constraints"] {
        texts(walk, object, root, key);
    }
    errors(walk, object, root);
    metadata(walk, object, root);
    artifacts(walk, object, root);
}

fn texts(walk: &mut Walk<'_>, object: &Object, root: &FieldPath, key: &str) {
    let Some(value) = walk.member(object, root, key, Presence::Optional) else { return };
    let path = root.child(key);
    for (index, item) in walk.list(value, &path).unwrap_or_default().iter().enumerate() {
        let path = path.child(index);
        if walk.text(item, &path).is_some_and(|text| is_blank(&text)) {
            walk.report(&path, Category::ValueError, "expected a text that is not blank");
        }
    }
}

fn errors(walk: &mut Walk<'_>, object: &Object, root: &FieldPath) {
    let Some(value) = walk.member(object, root, "errors", Presence::Optional) else { return };
    let path = root.child("errors");
    for (index, item) in walk.list(value, &path).unwrap_or_default().iter().enumerate() {
        if StepError::decode(item).is_none() {
            walk.report(
                &path.child(index),
                Category::ValueError,
                expected("an error with code and message", item),
            );
        }
    }
}

fn metadata(walk: &mut Walk<'_>, object: &Object, root: &FieldPath) {
    let Some(value) = walk.member(object, root, "metadata", Presence::Required) else { return };
    let path = root.child("metadata");
    let Some(metadata) = walk.object(value, &path, Category::DictType) else { return };
    if let Some(value) = walk.member(metadata, &path, "trace_id", Presence::Required) {
        walk.text(value, &path.child("trace_id"));
    }
    for key in ["created_at", "updated_at"] {
        if let Some(value) = walk.member(metadata, &path, key, Presence::Required) {
            walk.timestamp(value, &path.child(key));
        }
    }
}

/// Checks the artifacts whose shape the document fixes.
fn artifacts(walk: &mut Walk<'_>, object: &Object, root: &FieldPath) {
    let Some(value) = walk.member(object, root, "artifacts", Presence::Optional) else { return };
    let path = root.child("artifacts");
    let Some(artifacts) = walk.object(value, &path, Category::DictType) else { return };
    for key in ["normalized", "decomposition", "computation", "verification", "synthesis"] {
        if let Some(value) = walk.member(artifacts, &path, key, Presence::Optional) {
            walk.object(value, &path.child(key), Category::DictType);
        }
    }
    if walk.typing == Typing::Strict
        && let Some(value) = walk.member(artifacts, &path, "evidence", Presence::Optional)
        && !is_reference(value)
    {
        let path = path.child("evidence");
        for (index, item) in walk.list(value, &path).unwrap_or_default().iter().enumerate() {
            walk.object(item, &path.child(index), Category::DictType);
        }
    }
    if let Some(value) = walk.member(artifacts, &path, "audit", Presence::Optional) {
        audit(walk, value, &path.child("audit"));
    }
}

/// A large output stands in the state as the name of its bytes.
fn is_reference(value: &Value) -> bool {
    value.get("$blob").is_some()
}

fn audit(walk: &mut Walk<'_>, value: &Value, path: &FieldPath) {
    let Some(audit) = walk.object(value, path, Category::DictType) else { return };
    let Some(report) = walk.member(audit, path, "report", Presence::Optional) else { return };
    let path = path.child("report");
    let Some(report) = walk.object(report, &path, Category::DictType) else { return };
    section(walk, report, &path, "inputs", &["prompt_length", "has_constraints", "constraint_count"]);
    section(walk, report, &path, "steps", &["step_index", "artifact_keys", "artifact_count"]);
    section(walk, report, &path, "verification", &["status"]);
    section(walk, report, &path, "timestamps", &["created_at", "updated_at"]);
    if walk.member(report, &path, "notes", Presence::Optional).is_some() {
        texts(walk, report, &path, "notes");
    }
}

/// Checks a section of the audit report: present, with members of the types their names imply.
fn section(walk: &mut Walk<'_>, report: &Object, path: &FieldPath, name: &str, members: &[&str]) {
    let Some(value) = walk.member(report, path, name, Presence::Required) else { return };
    let path = path.child(name);
    let Some(section) = walk.object(value, &path, Category::DictType) else { return };
    for key in members {
        let Some(value) = walk.member(section, &path, key, Presence::Required) else { continue };
        let path = path.child(key);
        match *key {
            "has_constraints" => drop(walk.boolean(value, &path)),
            "artifact_keys" => drop(walk.list(value, &path)),
            "created_at" | "updated_at" => drop(walk.timestamp(value, &path)),
            "status" => drop(walk.text(value, &path)),
            _ => drop(walk.integer_above(value, &path, -1, Category::GreaterThanEqual)),
        }
    }
}
