//! Rules of artifacts and their derivation.

use std::collections::BTreeSet;
use std::fmt;

use hence_canon::{Object, Value};

use crate::lineage::{Node, node_of_artifact};
use crate::vocabulary::{ArtifactType, VerificationStatus};
use crate::wire::{Artifact, Position};

use super::action::items;
use super::check::{ArtifactFacts, Check, Place, shown};
use super::rule::Rule;

/// An artifact as findings name it: by its id, or by its index when it has none.
pub(super) struct Subject<'a>(pub(super) &'a Artifact);

impl fmt::Display for Subject<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.id() {
            Some(id) => out.write_str(id),
            None => write!(out, "#{}", self.0.index()),
        }
    }
}

/// Returns whether an artifact type requires a payload (§7.1). The payload of a command result may be absent.
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
        self.objects_only("artifacts", "an artifact", Rule::ArtifactType);
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

impl Check<'_> {
    pub(super) fn derivation(&mut self) {
        let facts = std::mem::take(&mut self.artifact_facts);
        for (place, (artifact, facts)) in self.trace.artifacts().iter().zip(&facts).enumerate() {
            if !self.is_derivation_sound(place, facts) {
                self.derived_from(place, artifact);
            }
            self.supersedes(facts.supersedes, artifact);
            self.reasoning_lineage(facts.artifact_type, artifact);
        }
        for cycle in self.flow.cycles() {
            let Some(first) = cycle.first().and_then(|id| self.trace.artifact_by_id(id)) else { continue };
            let ids: Vec<String> = cycle.iter().take(5).map(|id| shown(&(*id).into())).collect();
            let message =
                format!("{} artifacts derive from themselves, among them {}", cycle.len(), ids.join(", "));
            let at = Place::of("artifacts", first).child("derived_from");
            self.find(Rule::LineageCycle, at, Subject(first), message);
        }
    }

    /// Returns whether every source is known and older. Most are, and this test looks up no id.
    fn is_derivation_sound(&self, place: usize, facts: &ArtifactFacts<'_>) -> bool {
        let sources = self.flow.sources(place);
        let made = self.made(place);
        let is_earlier = |source: &Node| match (made, self.flow.producer(*source)) {
            (Some(made), Some(source_made)) => source_made <= made,
            _ => true,
        };
        sources.len() == facts.sources
            && sources.iter().all(|source| self.flow.graph.is_artifact(*source) && is_earlier(source))
    }

    /// Returns the action that produced the artifact at a place.
    fn made(&self, place: usize) -> Option<Position> {
        self.flow.producer(node_of_artifact(self.trace, place)?)
    }

    fn derived_from(&mut self, place: usize, artifact: &Artifact) {
        let made = self.made(place);
        for (index, item) in artifact.items("derived_from").iter().enumerate() {
            let at = || Place::of("artifacts", artifact).child("derived_from").child(index);
            let Some(source) = item.as_str().filter(|id| self.is_artifact_or_reference(id)) else {
                let id = item.as_str().map_or_else(|| shown(item), str::to_owned);
                let subject = format!("{}:{id}", Subject(artifact));
                self.unknown(Rule::RefDerivedFrom, at(), subject, "artifact", item);
                continue;
            };
            let source_made = self.flow.graph.find(source).and_then(|node| self.flow.producer(node));
            if let (Some(made), Some(source_made)) = (made, source_made)
                && source_made > made
            {
                let message = "an artifact derives from one that was produced later";
                self.find(Rule::LineageOrder, at(), format!("{}:{source}", Subject(artifact)), message);
            }
        }
    }

    fn supersedes(&mut self, written: Option<&Value>, artifact: &Artifact) {
        let Some(member) = written else { return };
        let at = Place::of("artifacts", artifact).child("supersedes");
        match member.as_str() {
            Some(id) if artifact.id() == Some(id) => {
                let message = "an artifact cannot replace itself";
                self.find(Rule::LineageSupersedes, at, Subject(artifact), message);
            }
            Some(id) if self.trace.artifact_by_id(id).is_some() => {}
            _ => self.unknown(Rule::RefSupersedes, at, Subject(artifact), "artifact", member),
        }
    }

    /// Checks that results derive from goals, and goals from models or target one.
    fn reasoning_lineage(&mut self, artifact_type: Option<ArtifactType>, artifact: &Artifact) {
        let is = |id: &str, fits: fn(ArtifactType) -> bool| {
            self.trace.artifact_by_id(id).and_then(Artifact::artifact_type).is_some_and(fits)
        };
        let at = || Place::of("artifacts", artifact).child("derived_from");
        match artifact_type {
            Some(ArtifactType::VerificationResult)
                if !artifact
                    .derived_from()
                    .any(|id| is(id, |kind| kind == ArtifactType::VerificationGoal)) =>
            {
                let message = "a verification result derives from a verification goal";
                self.find(Rule::LineageResultGoal, at(), Subject(artifact), message);
            }
            Some(ArtifactType::VerificationGoal)
                if !artifact
                    .derived_from()
                    .chain(artifact.payload_text("target_artifact_id"))
                    .any(|id| is(id, ArtifactType::is_model)) =>
            {
                let message = "a verification goal derives from a formal model or targets one";
                self.find(Rule::LineageGoalModel, at(), Subject(artifact), message);
            }
            _ => {}
        }
    }
}

/// The members of an artifact, found in one pass; a member that is null counts as missing.
#[derive(Clone, Copy, Default)]
struct ArtifactMembers<'a> {
    id: Option<&'a Value>,
    word: Option<&'a Value>,
    revision: Option<&'a Value>,
    payload: Option<&'a Value>,
    derived_from: Option<&'a Value>,
    supersedes: Option<&'a Value>,
    producer: Option<&'a Value>,
}

impl<'a> ArtifactMembers<'a> {
    fn of(artifact: &'a Object) -> Self {
        let mut found = Self::default();
        for (key, value) in artifact.iter().filter(|(_, value)| !value.is_null()) {
            let slot = match &**key {
                "artifact_id" => &mut found.id,
                "artifact_type" => &mut found.word,
                "revision" => &mut found.revision,
                "payload" => &mut found.payload,
                "derived_from" => &mut found.derived_from,
                "supersedes" => &mut found.supersedes,
                "producer_action_id" => &mut found.producer,
                _ => continue,
            };
            *slot = Some(value);
        }
        found
    }
}
