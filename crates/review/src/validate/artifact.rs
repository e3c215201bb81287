//! Rules of single artifacts.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::vocabulary::{ArtifactType, VerificationStatus};
use crate::wire::Artifact;

use super::check::{Check, shown};
use super::place::Place;
use super::rule::Rule;

/// Names an artifact by its id, or by its index when it has none.
pub(super) fn subject_of(artifact: &Artifact) -> String {
    artifact.id().map_or_else(|| format!("#{}", artifact.index()), str::to_owned)
}

/// Constructors that carry a payload (§7.1). The payload of a command result is open and may be absent.
const fn needs_payload(artifact_type: ArtifactType) -> bool {
    matches!(
        artifact_type,
        ArtifactType::Formalization
            | ArtifactType::FormalModel
            | ArtifactType::VerificationGoal
            | ArtifactType::VerificationResult
            | ArtifactType::StateSpaceAnalysisResult
            | ArtifactType::ConformanceResult
            | ArtifactType::CoSimulationResult
            | ArtifactType::GeneratedTests
            | ArtifactType::ReproductionBundle
    )
}

impl Check<'_> {
    pub(super) fn artifacts(&mut self) {
        let root = Place::root().child("artifacts");
        for (index, item) in self.trace.entry().items("artifacts").iter().enumerate() {
            if item.as_object().is_none() {
                let message = format!("an artifact is an object; found {}", shown(item));
                self.find(Rule::ArtifactType, root.child(index), index, message);
            }
        }
        let mut seen = BTreeSet::new();
        let mut vocabulary = BTreeSet::new();
        for artifact in self.trace.artifacts() {
            let at = Place::of("artifacts", artifact);
            self.artifact_id(artifact, &at, &mut seen);
            let word = artifact.type_word();
            if word.is_empty() {
                self.find(
                    Rule::ArtifactType,
                    at.child("artifact_type"),
                    subject_of(artifact),
                    "an artifact has a type",
                );
            } else if artifact.artifact_type().is_none() && vocabulary.insert(word) {
                let message = "the specification does not know this artifact type";
                self.find(Rule::ArtifactTypeUnknown, at.child("artifact_type"), word, message);
            }
            if let Some(revision) = artifact.member("revision").filter(|revision| revision.as_int().is_none())
            {
                let message = format!("a revision is an integer; found {}", shown(revision));
                self.find(Rule::ArtifactRevision, at.child("revision"), subject_of(artifact), message);
            }
            self.artifact_payload(artifact, &at);
        }
    }

    fn artifact_id<'a>(&mut self, artifact: &'a Artifact, at: &Place<'_>, seen: &mut BTreeSet<&'a str>) {
        let at = at.child("artifact_id");
        let Some(id) = artifact.id().filter(|id| !id.is_empty()) else {
            let found = artifact.member("artifact_id").map_or_else(|| "nothing".to_owned(), shown);
            let message = format!("an artifact id is a text that is not empty; found {found}");
            return self.find(Rule::ArtifactId, at, artifact.index(), message);
        };
        if !seen.insert(id) {
            self.find(Rule::ArtifactIdDuplicate, at, id, "another artifact has this id");
        } else if self.known.references.contains(id) {
            self.find(Rule::ArtifactIdDuplicate, at, id, "a reference artifact has this id");
        }
    }

    fn artifact_payload(&mut self, artifact: &Artifact, at: &Place<'_>) {
        let Some(artifact_type) = artifact.artifact_type() else { return };
        let at = at.child("payload");
        let Some(payload) = artifact.payload() else {
            if needs_payload(artifact_type) {
                let found = artifact.member("payload").map_or_else(|| "nothing".to_owned(), shown);
                let message = format!("{} carries a payload; found {found}", artifact.type_word());
                self.find(Rule::ArtifactPayload, at, subject_of(artifact), message);
            }
            return;
        };
        if artifact_type != ArtifactType::VerificationResult {
            return;
        }
        let written = payload.get("status").filter(|status| !status.is_null());
        let Some(status) = written.and_then(Value::as_str).and_then(VerificationStatus::from_word) else {
            let found = written.map_or_else(|| "nothing".to_owned(), shown);
            let message = format!("status is one of {}; found {found}", VerificationStatus::WORDS.join(", "));
            return self.find(Rule::VerificationStatus, at.child("status"), subject_of(artifact), message);
        };
        let Some(result) = payload.get("result").filter(|result| !result.is_null()) else { return };
        let tags: Vec<&str> =
            result.as_object().into_iter().flat_map(|result| result.keys()).map(|key| &**key).collect();
        if tags != [status.as_str()] {
            let message =
                format!("the result is tagged {:?}, as its status says; found {tags:?}", status.as_str());
            self.find(Rule::VerificationResult, at.child("result"), subject_of(artifact), message);
        }
    }
}
