//! `applies_when`: what a policy is about.

use hence_canon::{Object, Value};
use hence_review::vocabulary::{ActionType, ArtifactType};
use hence_review::wire::{Action, Artifact};

use super::glob::Glob;
use crate::eval::Subject;

/// What a trace must have for a policy to apply to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    action_type: Option<String>,
    category: Option<String>,
    artifact_type: Option<String>,
    artifact_role: Option<String>,
    /// Any one of these must match; none means any path will do.
    paths: Vec<Glob>,
}

/// A selector that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`applies_when{path}` is {found}; expected {expected}")]
pub struct SelectorFault {
    /// Which member, as `.key`, or empty for the selector itself.
    pub path: String,
    /// What is there.
    pub found: String,
    /// What may be.
    pub expected: &'static str,
}

impl Selector {
    /// Reads a selector.
    ///
    /// # Errors
    /// [`SelectorFault`] for a member that is unknown or not a text: a condition is never dropped.
    pub fn read(value: &Value) -> Result<Self, SelectorFault> {
        let fault = |path: &str, found: &Value, expected| SelectorFault {
            path: path.to_owned(),
            found: found.kind().to_string(),
            expected,
        };
        let object: &Object = value.as_object().ok_or_else(|| fault("", value, "an object"))?;
        let mut selector = Self::default();
        for (key, found) in object.iter().filter(|(_, found)| !found.is_null()) {
            let path = format!(".{key}");
            let text = || found.as_str().map(str::to_owned).ok_or_else(|| fault(&path, found, "a text"));
            match &**key {
                "action_type" => selector.action_type = Some(text()?),
                "category" => selector.category = Some(text()?),
                "artifact_type" => selector.artifact_type = Some(text()?),
                "artifact_role" => selector.artifact_role = Some(text()?),
                "path_matches" => selector.paths.push(Glob::new(&text()?)),
                "path_matches_any" => {
                    let items = found.as_array().ok_or_else(|| fault(&path, found, "a list of texts"))?;
                    for item in items {
                        let pattern = item.as_str().ok_or_else(|| fault(&path, item, "a text"))?;
                        selector.paths.push(Glob::new(pattern));
                    }
                }
                _ => {
                    return Err(SelectorFault {
                        path,
                        found: "unknown".to_owned(),
                        expected: "action_type, artifact_type, artifact_role, category, path_matches or path_matches_any",
                    });
                }
            }
        }
        Ok(selector)
    }

    /// Returns whether some action or artifact of the trace is what the policy is about.
    ///
    /// Conditions on actions must hold of one action, conditions on artifacts of one artifact; when both are
    /// given, of an action and something it produced.
    pub fn matches(&self, subject: &Subject) -> bool {
        let about_artifacts = self.artifact_type.is_some() || self.artifact_role.is_some();
        let about_actions = self.action_type.is_some() || self.category.is_some();
        let trace = subject.trace();
        if about_artifacts && !about_actions {
            return trace
                .artifacts()
                .iter()
                .any(|artifact| self.is_artifact(artifact) && self.is_path_of(artifact));
        }
        trace.actions().iter().any(|action| {
            let mut produced = action.outputs().filter_map(|output| trace.artifact_by_id_or_name(output));
            self.is_action(action)
                && (!about_artifacts || produced.any(|artifact| self.is_artifact(artifact)))
                && self.is_path_at(subject, action)
        })
    }

    fn is_action(&self, action: &Action) -> bool {
        let of_type = self.action_type.as_deref().is_none_or(|wanted| {
            let known = ActionType::from_word(wanted);
            wanted == action.type_word() || (known.is_some() && known == action.action_type())
        });
        let in_category =
            self.category.as_deref().is_none_or(|wanted| action.text("category") == Some(wanted));
        of_type && in_category
    }

    fn is_artifact(&self, artifact: &Artifact) -> bool {
        let of_type = self.artifact_type.as_deref().is_none_or(|wanted| {
            let known = ArtifactType::from_word(wanted);
            wanted == artifact.type_word() || (known.is_some() && known == artifact.artifact_type())
        });
        let in_role = self.artifact_role.as_deref().is_none_or(|wanted| artifact.role() == Some(wanted));
        of_type && in_role
    }

    fn is_path(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|glob| glob.matches(path))
    }

    fn is_path_of(&self, artifact: &Artifact) -> bool {
        let named = artifact.name().is_some_and(|name| self.is_path(name));
        self.paths.is_empty() || named || artifact.text("content_ref").is_some_and(|path| self.is_path(path))
    }

    fn is_path_at(&self, subject: &Subject, action: &Action) -> bool {
        self.is_path(subject.lineage().target(action.position()))
            || action.file_refs().any(|path| self.is_path(path))
            || action.inputs().chain(action.outputs()).any(|id| {
                let found = subject.trace().artifact_by_id_or_name(id);
                found.is_some_and(|artifact| self.is_path_of(artifact))
            })
    }
}
