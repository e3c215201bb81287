//! Rules of single artifacts.

use std::collections::BTreeSet;
use std::fmt;

use hence_canon::Value;

use crate::vocabulary::{ArtifactType, VerificationStatus};
use crate::wire::Artifact;

use super::check::{ArtifactFacts, Check, shown};
use super::members::{ArtifactMembers, items};
use super::place::Place;
use super::rule::Rule;

/// Names an artifact by its id, or by its index when it has none. Spelled out only in a finding.
pub(super) struct Subject<'a>(pub(super) &'a Artifact);

impl fmt::Display for Subject<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.id() {
            Some(id) => out.write_str(id),
            None => write!(out, "#{}", self.0.index()),
        }
    }
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
        let mut vocabulary = BTreeSet::new();
        for (place, artifact) in self.trace.artifacts().iter().enumerate() {
            let members = ArtifactMembers::of(artifact.source());
            let at = Place::of("artifacts", artifact);
            self.artifact_id(place, members.id, artifact);
            let word = members.word.and_then(Value::as_str).unwrap_or("");
            let artifact_type = ArtifactType::from_word(word);
            if word.is_empty() {
                let message = "an artifact has a type";
                self.find(Rule::ArtifactType, at.child("artifact_type"), Subject(artifact), message);
            } else if artifact_type.is_none() && vocabulary.insert(word) {
                let message = "the specification does not know this artifact type";
                self.find(Rule::ArtifactTypeUnknown, at.child("artifact_type"), word, message);
            }
            if let Some(revision) = members.revision.filter(|revision| revision.as_int().is_none()) {
                let message = format!("a revision is an integer; found {}", shown(revision));
                self.find(Rule::ArtifactRevision, at.child("revision"), Subject(artifact), message);
            }
            if let Some(artifact_type) = artifact_type {
                self.artifact_payload(artifact_type, members.payload, artifact, &at);
            }
            self.artifact_facts.push(ArtifactFacts {
                artifact_type,
                sources: items(members.derived_from).len(),
                supersedes: members.supersedes,
                producer: members.producer,
            });
        }
    }

    fn artifact_id(&mut self, place: usize, written: Option<&Value>, artifact: &Artifact) {
        let at = || Place::of("artifacts", artifact).child("artifact_id");
        let Some(id) = written.and_then(Value::as_str).filter(|id| !id.is_empty()) else {
            let found = written.map_or_else(|| "nothing".to_owned(), shown);
            let message = format!("an artifact id is a text that is not empty; found {found}");
            return self.find(Rule::ArtifactId, at(), artifact.index(), message);
        };
        let ids = self.trace.artifact_ids();
        let first = ids.number_at(place).and_then(|number| ids.first_place(number));
        if first != Some(place) {
            self.find(Rule::ArtifactIdDuplicate, at(), id, "another artifact has this id");
        } else if self.known.references.contains(id) {
            self.find(Rule::ArtifactIdDuplicate, at(), id, "a reference artifact has this id");
        }
    }

    fn artifact_payload(
        &mut self,
        artifact_type: ArtifactType,
        written: Option<&Value>,
        artifact: &Artifact,
        at: &Place<'_>,
    ) {
        let Some(payload) = written.and_then(Value::as_object) else {
            if needs_payload(artifact_type) {
                let found = written.map_or_else(|| "nothing".to_owned(), shown);
                let message = format!("{} carries a payload; found {found}", artifact.type_word());
                self.find(Rule::ArtifactPayload, at.child("payload"), Subject(artifact), message);
            }
            return;
        };
        if artifact_type != ArtifactType::VerificationResult {
            return;
        }
        let at = at.child("payload");
        let written = payload.get("status").filter(|status| !status.is_null());
        let Some(status) = written.and_then(Value::as_str).and_then(VerificationStatus::from_word) else {
            let found = written.map_or_else(|| "nothing".to_owned(), shown);
            let message = format!("status is one of {}; found {found}", VerificationStatus::WORDS.join(", "));
            return self.find(Rule::VerificationStatus, at.child("status"), Subject(artifact), message);
        };
        let Some(result) = payload.get("result").filter(|result| !result.is_null()) else { return };
        let tags: Vec<&str> =
            result.as_object().into_iter().flat_map(|result| result.keys()).map(|key| &**key).collect();
        if tags != [status.as_str()] {
            let message =
                format!("the result is tagged {:?}, as its status says; found {tags:?}", status.as_str());
            self.find(Rule::VerificationResult, at.child("result"), Subject(artifact), message);
        }
    }
}
