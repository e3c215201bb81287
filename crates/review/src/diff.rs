//! The differences between two traces, by meaning.
//!
//! Ids are names, not meaning: a successor trace may number its actions anew. Actions are matched by type, label
//! and target, artifacts by type and name, and references are compared by what they lead to. Residuals, goals and
//! evaluations keep their ids across a chain, so there ids count.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::{Object, Value};

use crate::lineage::Lineage;
use crate::wire::{Action, Artifact, Entry, Trace};

/// The part of a trace that differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the parts of a trace")]
pub enum Part {
    Trace,
    Action,
    Artifact,
    Residual,
    Evaluation,
    Goal,
    File,
}

/// The kind of a difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Only the right trace has it.
    Added,
    /// Only the left trace has it.
    Removed,
    /// Both have it, and these members differ.
    Changed(Vec<String>),
}

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The part.
    pub part: Part,
    /// The kind of a difference.
    pub change: Change,
    /// The part in words: a label, a name, or an id.
    pub title: String,
    /// Its id in the left trace.
    pub left: Option<String>,
    /// Its id in the right trace.
    pub right: Option<String>,
}

/// Compares two traces; equal meaning gives no difference.
pub fn diff(left: &Trace, right: &Trace) -> Vec<Difference> {
    let (left_lineage, right_lineage) = (Lineage::of(left), Lineage::of(right));
    let (left_keys, right_keys) = (Keys::of(left, &left_lineage), Keys::of(right, &right_lineage));
    let mut found = Vec::new();
    head(left, right, &mut found);
    pair(Part::Action, left_keys.actions(), right_keys.actions(), &mut found);
    pair(Part::Artifact, left_keys.artifacts(), right_keys.artifacts(), &mut found);
    for (part, list, id) in [
        (Part::Residual, "residuals", "residual_id"),
        (Part::Evaluation, "policy_evaluations", "policy_id"),
        (Part::Goal, "goals", "id"),
    ] {
        pair(part, by_id(left, list, id), by_id(right, list, id), &mut found);
    }
    files(left, right, &mut found);
    found
}

/// Something to be matched: what it is matched by, its id, a title, and what is compared.
struct Subject {
    key: String,
    id: String,
    title: String,
    content: Object,
}

/// Matches the n-th subject of a key on the left with the n-th on the right.
fn pair(part: Part, left: Vec<Subject>, right: Vec<Subject>, found: &mut Vec<Difference>) {
    let mut waiting: BTreeMap<String, Vec<Subject>> = BTreeMap::new();
    for subject in right.into_iter().rev() {
        waiting.entry(subject.key.clone()).or_default().push(subject);
    }
    for subject in left {
        let Some(other) = waiting.get_mut(&subject.key).and_then(Vec::pop) else {
            let (title, left) = (subject.title, Some(subject.id));
            found.push(Difference { part, change: Change::Removed, title, left, right: None });
            continue;
        };
        let members = differing(&subject.content, &other.content);
        if !members.is_empty() {
            let (left, right) = (Some(subject.id), Some(other.id));
            found.push(Difference {
                part,
                change: Change::Changed(members),
                title: other.title,
                left,
                right,
            });
        }
    }
    for subject in waiting.into_values().flat_map(|subjects| subjects.into_iter().rev()) {
        let (title, right) = (subject.title, Some(subject.id));
        found.push(Difference { part, change: Change::Added, title, left: None, right });
    }
}

/// Returns the names of members that differ; null, absent and an empty list are the same.
fn differing(left: &Object, right: &Object) -> Vec<String> {
    if left == right {
        return Vec::new();
    }
    let says = |object: &Object, key: &str| {
        let value = object.get(key).filter(|value| !value.is_null());
        value.filter(|value| value.as_array().is_none_or(|items| !items.is_empty())).cloned()
    };
    let keys: BTreeSet<&str> = left.keys().chain(right.keys()).map(|key| &**key).collect();
    keys.into_iter().filter(|key| says(left, key) != says(right, key)).map(str::to_owned).collect()
}

/// Members of the trace itself that carry meaning.
const HEAD: &[&str] = &["trigger", "outcome", "assistant", "model", "reproducibility", "high_stakes_paths"];

fn head(left: &Trace, right: &Trace, found: &mut Vec<Difference>) {
    let only = |trace: &Trace| -> Object {
        HEAD.iter().filter_map(|key| Some((*key, trace.source().get(key)?.clone()))).collect()
    };
    let members = differing(&only(left), &only(right));
    if !members.is_empty() {
        let id = |trace: &Trace| trace.trace_id().map(str::to_owned);
        let change = Change::Changed(members);
        found.push(Difference {
            part: Part::Trace,
            change,
            title: "trace".to_owned(),
            left: id(left),
            right: id(right),
        });
    }
}

fn by_id(trace: &Trace, list: &str, key: &str) -> Vec<Subject> {
    let subject = |entry: Entry| {
        let id = entry.text(key).map_or_else(|| format!("#{}", entry.index()), str::to_owned);
        let title = ["statement", "intent", "policy_id"]
            .iter()
            .find_map(|key| entry.text(key))
            .unwrap_or(&id)
            .to_owned();
        Subject { key: id.clone(), title, id, content: entry.source().clone() }
    };
    trace.entries(list).map(subject).collect()
}

fn files(left: &Trace, right: &Trace, found: &mut Vec<Difference>) {
    let paths = |trace: &Trace| -> Vec<Subject> {
        let paths: BTreeSet<&str> = trace.files_modified().collect();
        let subject = |path: &str| Subject {
            key: path.to_owned(),
            id: path.to_owned(),
            title: path.to_owned(),
            content: Object::from_iter([("path", Value::from(path))]),
        };
        paths.into_iter().map(subject).collect()
    };
    pair(Part::File, paths(left), paths(right), found);
}

/// Members that only number or place.
const NAMES_OF_ACTIONS: &[&str] = &["id", "meta_action_id", "timestamp"];
const NAMES_OF_ARTIFACTS: &[&str] = &["artifact_id"];

/// Meanings of the ids of one trace.
struct Keys<'a> {
    trace: &'a Trace,
    lineage: &'a Lineage,
    artifacts: BTreeMap<&'a str, String>,
}

impl<'a> Keys<'a> {
    fn of(trace: &'a Trace, lineage: &'a Lineage) -> Self {
        let named =
            trace.artifacts().iter().filter_map(|artifact| Some((artifact.id()?, artifact_key(artifact))));
        Self { trace, lineage, artifacts: named.collect() }
    }

    fn actions(&self) -> Vec<Subject> {
        let subject = |action: &Action| {
            let key = self.action_key(action);
            let id = action.id().map_or_else(|| format!("#{}", action.index()), |id| id.to_string());
            let title = if action.label().is_empty() { action.type_word() } else { action.label() };
            let content = self.by_meaning(action.source(), NAMES_OF_ACTIONS);
            Subject { key, id, title: title.to_owned(), content }
        };
        self.trace.actions().iter().map(subject).collect()
    }

    fn artifacts(&self) -> Vec<Subject> {
        let subject = |artifact: &Artifact| {
            let id = artifact.id().map_or_else(|| format!("#{}", artifact.index()), str::to_owned);
            let title = artifact.name().unwrap_or(&id).to_owned();
            let content = self.by_meaning(artifact.source(), NAMES_OF_ARTIFACTS);
            Subject { key: artifact_key(artifact), id, title, content }
        };
        self.trace.artifacts().iter().map(subject).collect()
    }

    fn action_key(&self, action: &Action) -> String {
        format!(
            "{}\u{1f}{}\u{1f}{}",
            action.type_word(),
            action.label(),
            self.lineage.target(action.position())
        )
    }

    /// Replaces ids by the keys of the parts they name.
    fn by_meaning(&self, object: &Object, left_out: &[&str]) -> Object {
        let kept = object.iter().filter(|(key, _)| !left_out.contains(&&***key));
        kept.map(|(key, value)| (key.clone(), self.meaning(key, value))).collect()
    }

    fn meaning(&self, key: &str, value: &Value) -> Value {
        match (key, value) {
            ("inputs" | "outputs" | "supporting_inputs" | "derived_from", Value::Array(items)) => {
                items.iter().map(|item| self.artifact_meaning(item)).collect()
            }
            ("supersedes", id) => self.artifact_meaning(id),
            ("producer_action_id", Value::Int(id)) => {
                let action = id.as_i64().and_then(|id| self.trace.action_by_id(id));
                action.map_or_else(|| value.clone(), |action| self.action_key(action).into())
            }
            _ => value.clone(),
        }
    }

    fn artifact_meaning(&self, id: &Value) -> Value {
        let key = id.as_str().and_then(|id| self.artifacts.get(id));
        key.map_or_else(|| id.clone(), |key| key.as_str().into())
    }
}

fn artifact_key(artifact: &Artifact) -> String {
    let kind = artifact.artifact_type().map_or(artifact.type_word(), |kind| kind.as_str());
    // An artifact without a name has nothing but its id to be known by.
    format!("{kind}\u{1f}{}", artifact.name().or(artifact.id()).unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    fn trace(text: &str) -> Trace {
        Trace::read(&parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn new_numbers_are_no_difference() {
        let left = trace(
            r#"{"actions": [{"id": 1, "type": "ReadFile", "label": "read", "outputs": ["a1"]}, {"id": 2, "type": "Lint", "label": "lint", "inputs": ["a1"]}],
                "artifacts": [{"artifact_id": "a1", "artifact_type": "SourceCode", "name": "x", "producer_action_id": 1}]}"#,
        );
        let right = trace(
            r#"{"actions": [{"id": 10, "type": "ReadFile", "label": "read", "outputs": ["b"]}, {"id": 20, "type": "Lint", "label": "lint", "inputs": ["b"], "evidence": []}],
                "artifacts": [{"artifact_id": "b", "artifact_type": "SourceCode", "name": "x", "producer_action_id": 10}]}"#,
        );
        assert_eq!(diff(&left, &right), []);
    }

    #[test]
    fn a_changed_part_is_named_with_both_ids() {
        let left = trace(
            r#"{"actions": [{"id": 1, "type": "RunTests", "label": "tests", "result_summary": "1 failed"}, {"id": 2, "type": "Lint", "label": "lint"}],
                "residuals": [{"residual_id": "r", "statement": "gap"}], "files_modified": ["a", "b"]}"#,
        );
        let right = trace(
            r#"{"actions": [{"id": 7, "type": "RunTests", "label": "tests", "result_summary": "1 passed"}, {"id": 8, "type": "TypeCheck", "label": "types"}],
                "residuals": [{"residual_id": "r", "statement": "gap", "status": "addressed"}], "files_modified": ["a"]}"#,
        );
        let found: Vec<String> = diff(&left, &right)
            .into_iter()
            .map(|found| {
                format!(
                    "{:?} {:?} {} {:?} {:?}",
                    found.part, found.change, found.title, found.left, found.right
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                r#"Action Changed(["result_summary"]) tests Some("1") Some("7")"#,
                r#"Action Removed lint Some("2") None"#,
                r#"Action Added types None Some("8")"#,
                r#"Residual Changed(["status"]) gap Some("r") Some("r")"#,
                r#"File Removed b Some("b") None"#,
            ]
        );
    }

    #[test]
    fn a_reference_to_something_else_is_a_difference() {
        let artifacts = r#""artifacts": [{"artifact_id": "a", "artifact_type": "Plan", "name": "p"}, {"artifact_id": "b", "artifact_type": "Plan", "name": "q"}]"#;
        let left =
            trace(&format!(r#"{{"actions": [{{"id": 1, "type": "Lint", "inputs": ["a"]}}], {artifacts}}}"#));
        let right =
            trace(&format!(r#"{{"actions": [{{"id": 1, "type": "Lint", "inputs": ["b"]}}], {artifacts}}}"#));
        let found = diff(&left, &right);
        assert_eq!(found.len(), 1);
        assert!(matches!(&found[0].change, Change::Changed(members) if *members == ["inputs"]));
    }
}
