//! Artifacts that a session implies: versions of files, results of tests, commits.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::{Object, Value};

use crate::vocabulary::{ActionType, ActivityType, ArtifactType};

use super::text::base_name;

/// Makes artifacts from actions, in their order.
#[derive(Default)]
pub(super) struct ArtifactBuilder {
    artifacts: Vec<Value>,
    instructions: Vec<Value>,
    /// The newest version of each file.
    versions: BTreeMap<String, String>,
    /// Files edited since the last commit, in the order of their first edit, and as a set for lookups.
    working_order: Vec<String>,
    working_set: BTreeSet<String>,
}

/// The file that an action touched, and its new name if it was renamed.
pub(super) struct Touched<'a> {
    pub(super) file: Option<&'a str>,
    pub(super) renamed_to: Option<&'a str>,
    /// Whether the action had its effect.
    pub(super) happened: bool,
    /// Whether it ran at all.
    pub(super) ran: bool,
    /// Whether the text it wrote holds a secret, if the log has the text.
    pub(super) contains_secret: Option<bool>,
}

/// The artifacts an action consumed and produced.
#[derive(Default)]
pub(super) struct Exchange {
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
}

impl ArtifactBuilder {
    /// Adds the artifacts of an action with its file, label and result.
    pub(super) fn add_action(
        &mut self,
        action_type: ActionType,
        action_id: usize,
        touched: &Touched<'_>,
        label: &str,
        result: Option<&str>,
    ) -> Exchange {
        let file = touched.file;
        let ActionType::Activity(activity) = action_type else { return Exchange::default() };
        // A failed test run has a result; whatever else failed, or did not run, made nothing.
        let made = if activity == ActivityType::RunTests { touched.ran } else { touched.happened };
        if !made {
            return Exchange::default();
        }
        match (activity, file) {
            (ActivityType::EditFile | ActivityType::CreateFile, Some(file)) => {
                self.version(action_id, file, touched.contains_secret)
            }
            (ActivityType::RenameFile, Some(file)) => match touched.renamed_to {
                Some(to) => self.rename(action_id, file, to),
                None => Exchange::default(),
            },
            (ActivityType::DeleteFile, Some(file)) => {
                self.versions.remove(file);
                Exchange::default()
            }
            (ActivityType::RunTests, _) => {
                self.consume(action_id, ArtifactType::CommandResult, label, result)
            }
            (ActivityType::GitCommit, _) => {
                let exchange = self.consume(action_id, ArtifactType::Commit, label, None);
                self.working_order.clear();
                self.working_set.clear();
                exchange
            }
            _ => Exchange::default(),
        }
    }

    fn version(&mut self, action_id: usize, file: &str, contains_secret: Option<bool>) -> Exchange {
        let previous: Vec<String> = self.versions.get(file).cloned().into_iter().collect();
        let id = self.add(action_id, ArtifactType::SourceCode, base_name(file), &previous, None);
        if let (Some(found), Some(Value::Object(artifact))) = (contains_secret, self.artifacts.last_mut()) {
            *artifact = artifact.with("metadata", Object::from_iter([("contains_secret", found)]));
        }
        self.versions.insert(file.to_owned(), id.clone());
        if self.working_set.insert(file.to_owned()) {
            self.working_order.push(file.to_owned());
        }
        Exchange { inputs: Vec::new(), outputs: vec![id] }
    }

    /// Makes the file under its new name from the one under its old name.
    fn rename(&mut self, action_id: usize, file: &str, to: &str) -> Exchange {
        let inputs: Vec<String> = self.versions.remove(file).into_iter().collect();
        let id = self.add(action_id, ArtifactType::SourceCode, base_name(to), &inputs, None);
        self.versions.insert(to.to_owned(), id.clone());
        self.working_order.retain(|known| known != file && known != to);
        self.working_order.push(to.to_owned());
        self.working_set.remove(file);
        self.working_set.insert(to.to_owned());
        Exchange { inputs, outputs: vec![id] }
    }

    fn consume(
        &mut self,
        action_id: usize,
        kind: ArtifactType,
        label: &str,
        summary: Option<&str>,
    ) -> Exchange {
        let inputs = self.working_versions();
        let id = self.add(action_id, kind, label, &inputs, summary);
        Exchange { inputs, outputs: vec![id] }
    }

    fn working_versions(&self) -> Vec<String> {
        self.working_order.iter().filter_map(|file| self.versions.get(file).cloned()).collect()
    }

    /// Adds what the user asked for.
    pub(super) fn add_instruction(&mut self, number: usize, name: String, text: String, at: Option<&str>) {
        let mut artifact = vec![
            ("artifact_id", Value::from(format!("instruction{number}"))),
            ("artifact_type", ArtifactType::UserInstruction.into()),
            ("name", name.into()),
            ("summary", text.into()),
        ];
        artifact.extend(at.map(|at| ("metadata", Object::from_iter([("timestamp", at)]).into())));
        self.instructions.push(Object::from_iter(artifact).into());
    }

    /// Returns all artifacts: what was made, then what was asked for.
    pub(super) fn finish(mut self) -> Value {
        self.artifacts.append(&mut self.instructions);
        self.artifacts.into()
    }

    fn add(
        &mut self,
        action_id: usize,
        kind: ArtifactType,
        name: &str,
        from: &[String],
        summary: Option<&str>,
    ) -> String {
        let id = format!("art{}", self.artifacts.len() + 1);
        let mut artifact = vec![
            ("artifact_id", Value::from(id.as_str())),
            ("artifact_type", kind.into()),
            ("name", name.into()),
            ("producer_action_id", action_id.into()),
            ("derived_from", from.iter().map(String::as_str).collect()),
        ];
        artifact.extend(summary.map(|summary| ("summary", summary.into())));
        self.artifacts.push(Object::from_iter(artifact).into());
        id
    }
}
