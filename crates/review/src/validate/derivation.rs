//! Rules of artifact lineage.

use hence_canon::Value;

use crate::lineage::Node;
use crate::vocabulary::ArtifactType;
use crate::wire::{Artifact, Position};

use super::artifact::Subject;
use super::check::{ArtifactFacts, Check, shown};
use super::place::Place;
use super::rule::Rule;

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
            self.find(
                Rule::LineageCycle,
                Place::of("artifacts", first).child("derived_from"),
                Subject(first),
                message,
            );
        }
    }

    /// Returns whether every source is known and was there before; most are, and this looks no id up.
    fn is_derivation_sound(&self, place: usize, facts: &ArtifactFacts<'_>) -> bool {
        let sources = self.flow.sources(place);
        let made = self.made(place);
        let is_earlier = |source: &Node| match (made, self.flow.producer(*source)) {
            (Some(made), Some(source_made)) => source_made <= made,
            _ => true,
        };
        sources.len() == facts.sources
            && sources.iter().all(|source| self.flow.is_artifact(*source) && is_earlier(source))
    }

    /// Returns who made the artifact at a place.
    fn made(&self, place: usize) -> Option<Position> {
        self.flow.producer(self.flow.node_of_artifact(self.trace, place)?)
    }

    fn derived_from(&mut self, place: usize, artifact: &Artifact) {
        let made = self.made(place);
        for (index, item) in artifact.items("derived_from").iter().enumerate() {
            let at = || Place::of("artifacts", artifact).child("derived_from").child(index);
            let Some(source) = item.as_str().filter(|id| self.is_artifact_or_reference(id)) else {
                let id = item.as_str().map_or_else(|| shown(item), str::to_owned);
                let message = format!("no artifact has the id {}", shown(item));
                self.find(Rule::RefDerivedFrom, at(), format!("{}:{id}", Subject(artifact)), message);
                continue;
            };
            let source_made = self.flow.find(source).and_then(|node| self.flow.producer(node));
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
                self.find(
                    Rule::LineageSupersedes,
                    at,
                    Subject(artifact),
                    "an artifact cannot replace itself",
                );
            }
            Some(id) if self.trace.artifact_by_id(id).is_some() => {}
            _ => {
                let message = format!("no artifact has the id {}", shown(member));
                self.find(Rule::RefSupersedes, at, Subject(artifact), message);
            }
        }
    }

    /// Results answer goals, goals are about models: by an immediate input, for goals also by their target.
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
