//! Outputs as artifacts, and which is the newest under each key.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_engine::referenced;
use hence_journal::RecordIndex;
use hence_review::model::{ActionId, Artifact, ArtifactCommon, ArtifactContent, ArtifactId};
use hence_review::vocabulary::ArtifactType;

use crate::kind::{Read, StepKind};
use crate::source::Source;
use crate::word;

/// The id of the artifact the problem becomes. Outputs have a `#` in theirs, so no key can collide with it.
pub(crate) const PROBLEM: &str = "problem";

/// Artifacts made so far.
#[derive(Default)]
pub(crate) struct Shelf {
    pub(crate) artifacts: Vec<Artifact>,
    by_key: BTreeMap<Arc<str>, Vec<ArtifactId>>,
}

/// An output on its way to the shelf.
pub(crate) struct Made<'a> {
    pub(crate) kind: &'a StepKind,
    pub(crate) step: &'a str,
    pub(crate) key: Arc<str>,
    pub(crate) record: RecordIndex,
    pub(crate) action: ActionId,
    pub(crate) inputs: &'a [ArtifactId],
    /// The output as it was recorded, perhaps a reference.
    pub(crate) recorded: &'a Canonical,
    /// The output itself.
    pub(crate) output: &'a Value,
}

impl Shelf {
    /// Puts the problem on the shelf.
    pub(crate) fn put_problem(&mut self, source: &Source<'_>, action: ActionId) -> ArtifactId {
        let id = ArtifactId::new(PROBLEM);
        let metadata = Object::from_iter([
            ("sha256", Value::from(source.header.problem_spec_hash)),
            ("bytes", source.problem.canonical().bytes().len().into()),
        ]);
        let common = ArtifactCommon {
            name: Some(format!("problem {}", source.problem.id()).into()),
            format: Some("application/json".into()),
            producer_action_id: Some(action),
            content_ref: Some("problem.json".into()),
            summary: Some(word::shortened(source.problem.prompt()).into()),
            metadata: Some(metadata),
            ..common(id.clone())
        };
        self.artifacts.push(Artifact {
            common,
            content: ArtifactContent::UserInstruction,
            extra: Object::new(),
        });
        id
    }

    /// Puts an output on the shelf.
    pub(crate) fn put(&mut self, made: &Made<'_>) -> ArtifactId {
        let earlier = self.by_key.entry(made.key.clone()).or_default();
        let revision = earlier.len() + 1;
        let id = ArtifactId::new(format!("{}#{revision}", made.key));
        // A later batch of evidence adds to the earlier ones; every other output replaces what stood under its key.
        let accumulates = made.kind.artifact == ArtifactType::SearchResults && made.recorded_list();
        let supersedes = earlier.last().filter(|_| !accumulates).cloned();
        earlier.push(id.clone());
        let blob = referenced(made.recorded.value());
        let content_ref = match &blob {
            Some(digest) => format!("blob:{digest}"),
            None => format!("journal:{}/result/output", made.record.get()),
        };
        let metadata = Object::from_iter([
            ("sha256", Value::from(made.recorded.digest())),
            ("record", made.record.get().into()),
        ]);
        let common = ArtifactCommon {
            artifact_role: made.kind.role.map(Into::into),
            name: Some(made.key.clone()),
            format: Some("application/json".into()),
            revision: i64::try_from(revision).ok(),
            producer_action_id: Some(made.action),
            derived_from: made.inputs.to_vec(),
            supersedes,
            content_ref: Some(content_ref.into()),
            summary: Some(format!("{}: {}", made.step, word::summary(made.output)).into()),
            metadata: Some(metadata),
            ..common(id.clone())
        };
        let content = match made.kind.artifact {
            ArtifactType::Plan => ArtifactContent::Plan,
            ArtifactType::SearchResults => ArtifactContent::SearchResults,
            ArtifactType::CommandResult => ArtifactContent::CommandResult(payload(made.recorded.value())),
            _ => ArtifactContent::AnalysisNote,
        };
        self.artifacts.push(Artifact { common, content, extra: Object::new() });
        id
    }

    /// Returns what a step read, in the order it reads, each once.
    pub(crate) fn read(&self, reads: &[Read]) -> Vec<ArtifactId> {
        let mut found: Vec<ArtifactId> = Vec::new();
        let mut add = |id: &ArtifactId| {
            if !found.contains(id) {
                found.push(id.clone());
            }
        };
        for read in reads {
            match read {
                Read::Problem => add(&ArtifactId::new(PROBLEM)),
                Read::Newest(key) => {
                    self.by_key.get(*key).and_then(|ids| ids.last()).into_iter().for_each(&mut add)
                }
                Read::Everything => self.by_key.values().filter_map(|ids| ids.last()).for_each(&mut add),
            }
        }
        found
    }

    /// Returns the newest artifact under a key.
    pub(crate) fn newest(&self, key: &str) -> Option<&ArtifactId> {
        self.by_key.get(key).and_then(|ids| ids.last())
    }
}

impl Made<'_> {
    fn recorded_list(&self) -> bool {
        self.output.as_array().is_some()
    }
}

/// A payload is absent where the output is null: the format writes absence so.
fn payload(output: &Value) -> Option<Value> {
    (!output.is_null()).then(|| output.clone())
}

fn common(artifact_id: ArtifactId) -> ArtifactCommon {
    ArtifactCommon {
        artifact_id,
        artifact_role: None,
        name: None,
        format: None,
        revision: None,
        producer_action_id: None,
        derived_from: Vec::new(),
        supersedes: None,
        content_ref: None,
        summary: None,
        metadata: None,
    }
}
