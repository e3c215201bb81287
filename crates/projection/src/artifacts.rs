//! The artifacts made so far and the newest one under each key.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_review::model::{ActionId, Artifact, ArtifactCommon, ArtifactContent, ArtifactId};

use crate::run_info::RunInfo;
use crate::text;

/// The id of the problem's artifact. Ids of outputs contain `#`, so no key can collide with it.
pub(crate) const PROBLEM: &str = "problem";

/// The artifacts made so far, by key and revision.
#[derive(Clone, Default)]
pub(crate) struct ArtifactIndex {
    artifacts: Vec<Artifact>,
    /// The places of the revisions under each key.
    by_key: BTreeMap<Arc<str>, Vec<usize>>,
}

impl ArtifactIndex {
    /// Adds artifacts. The part of an id before its last `#` is its key.
    pub(crate) fn apply(&mut self, artifacts: Vec<Artifact>) {
        for artifact in artifacts {
            if let Some((key, _)) = artifact.common.artifact_id.as_str().rsplit_once('#') {
                match self.by_key.get_mut(key) {
                    Some(places) => places.push(self.artifacts.len()),
                    None => drop(self.by_key.insert(key.into(), vec![self.artifacts.len()])),
                }
            }
            self.artifacts.push(artifact);
        }
    }

    /// Returns all artifacts, oldest first.
    pub(crate) fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }

    /// Returns all artifacts, oldest first, and keeps none.
    pub(crate) fn into_vec(self) -> Vec<Artifact> {
        self.artifacts
    }

    /// Returns the artifact of an id, if it is a revision under a key.
    pub(crate) fn artifact(&self, id: &ArtifactId) -> Option<&Artifact> {
        let (key, revision) = id.as_str().rsplit_once('#')?;
        let place = revision.parse::<usize>().ok()?.checked_sub(1)?;
        self.artifacts.get(*self.by_key.get(key)?.get(place)?)
    }

    /// Returns the newest artifact under a key.
    pub(crate) fn newest(&self, key: &str) -> Option<&ArtifactId> {
        self.last(self.by_key.get(key)?)
    }

    /// Returns the newest artifact under every key.
    pub(crate) fn all_newest(&self) -> impl Iterator<Item = &ArtifactId> {
        self.by_key.values().filter_map(|places| self.last(places))
    }

    fn last(&self, places: &[usize]) -> Option<&ArtifactId> {
        places
            .last()
            .and_then(|place| self.artifacts.get(*place))
            .map(|artifact| &artifact.common.artifact_id)
    }

    fn revisions(&self, key: &str) -> usize {
        self.by_key.get(key).map_or(0, Vec::len)
    }
}

/// An artifact to make, without its revision.
pub(crate) struct NewArtifact {
    pub(crate) key: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) role: Option<&'static str>,
    pub(crate) action: ActionId,
    pub(crate) sources: Vec<ArtifactId>,
    pub(crate) succession: Succession,
    pub(crate) content: ArtifactContent,
    pub(crate) content_ref: String,
    pub(crate) summary: String,
    pub(crate) metadata: Object,
}

/// The relation of a new artifact to the one before it under its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Succession {
    /// It replaces the one before.
    Replaces,
    /// It adds to the one before.
    Adds,
}

/// The artifacts that one record makes after those of the index.
pub(crate) struct NewArtifacts<'a> {
    index: &'a ArtifactIndex,
    made: Vec<Artifact>,
}

impl<'a> NewArtifacts<'a> {
    pub(crate) fn after(index: &'a ArtifactIndex) -> Self {
        Self { index, made: Vec::new() }
    }

    /// Makes an artifact and returns its id.
    pub(crate) fn make(&mut self, made: NewArtifact) -> ArtifactId {
        let prefix = format!("{}#", made.key);
        let here: Vec<&ArtifactId> = self
            .made
            .iter()
            .map(|artifact| &artifact.common.artifact_id)
            .filter(|id| id.as_str().rsplit_once('#').is_some_and(|(key, _)| *key == *made.key))
            .collect();
        let revision = self.index.revisions(&made.key) + here.len() + 1;
        let before = here.last().copied().or_else(|| self.index.newest(&made.key)).cloned();
        let id = ArtifactId::new(format!("{prefix}{revision}"));
        let common = ArtifactCommon {
            artifact_role: made.role.map(Into::into),
            name: Some(made.name),
            format: Some("application/json".into()),
            revision: i64::try_from(revision).ok(),
            producer_action_id: Some(made.action),
            derived_from: made.sources,
            supersedes: before.filter(|_| made.succession == Succession::Replaces),
            content_ref: Some(made.content_ref.into()),
            summary: Some(made.summary.into()),
            metadata: Some(made.metadata),
            artifact_id: id.clone(),
        };
        self.made.push(Artifact { common, content: made.content, extra: Object::new() });
        id
    }

    pub(crate) fn into_vec(self) -> Vec<Artifact> {
        self.made
    }
}

/// Returns the problem as an artifact.
pub(crate) fn problem_artifact(run: &RunInfo<'_>, action: ActionId) -> Artifact {
    let metadata = Object::from_iter([
        ("sha256", Value::from(run.header.problem_spec_hash)),
        ("bytes", run.problem.canonical().bytes().len().into()),
    ]);
    let common = ArtifactCommon {
        name: Some(format!("problem {}", run.problem.id()).into()),
        format: Some("application/json".into()),
        producer_action_id: Some(action),
        content_ref: Some("problem.json".into()),
        summary: Some(text::shortened(run.problem.prompt()).into()),
        metadata: Some(metadata),
        artifact_id: ArtifactId::new(PROBLEM),
        ..ArtifactCommon::default()
    };
    Artifact { common, content: ArtifactContent::UserInstruction, extra: Object::new() }
}
