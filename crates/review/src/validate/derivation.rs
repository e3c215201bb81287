//! Rules of artifact lineage.

use crate::vocabulary::ArtifactType;
use crate::wire::Artifact;

use super::artifact::subject_of;
use super::check::{Check, shown};
use super::place::Place;
use super::rule::Rule;

impl Check<'_> {
    pub(super) fn derivation(&mut self) {
        for artifact in self.trace.artifacts() {
            self.derived_from(artifact);
            self.supersedes(artifact);
            self.reasoning_lineage(artifact);
        }
        for cycle in self.lineage.cycles() {
            let Some(first) = cycle.first().and_then(|id| self.trace.artifact_by_id(id)) else { continue };
            let ids: Vec<String> = cycle.iter().take(5).map(|id| shown(&(*id).into())).collect();
            let message =
                format!("{} artifacts derive from themselves, among them {}", cycle.len(), ids.join(", "));
            self.find(
                Rule::LineageCycle,
                Place::of("artifacts", first).child("derived_from"),
                subject_of(first),
                message,
            );
        }
    }

    fn derived_from(&mut self, artifact: &Artifact) {
        let made = artifact.id().and_then(|id| self.lineage.producer(id));
        for (index, item) in artifact.items("derived_from").iter().enumerate() {
            let at = || Place::of("artifacts", artifact).child("derived_from").child(index);
            let Some(source) = item.as_str().filter(|id| self.is_artifact_or_reference(id)) else {
                let id = item.as_str().map_or_else(|| shown(item), str::to_owned);
                let message = format!("no artifact has the id {}", shown(item));
                self.find(Rule::RefDerivedFrom, at(), format!("{}:{id}", subject_of(artifact)), message);
                continue;
            };
            if let (Some(made), Some(source_made)) = (made, self.lineage.producer(source))
                && source_made > made
            {
                let message = "an artifact derives from one that was produced later";
                self.find(Rule::LineageOrder, at(), format!("{}:{source}", subject_of(artifact)), message);
            }
        }
    }

    fn supersedes(&mut self, artifact: &Artifact) {
        let Some(member) = artifact.member("supersedes") else { return };
        let at = Place::of("artifacts", artifact).child("supersedes");
        match member.as_str() {
            Some(id) if artifact.id() == Some(id) => {
                self.find(
                    Rule::LineageSupersedes,
                    at,
                    subject_of(artifact),
                    "an artifact cannot replace itself",
                );
            }
            Some(id) if self.trace.artifact_by_id(id).is_some() => {}
            _ => {
                let message = format!("no artifact has the id {}", shown(member));
                self.find(Rule::RefSupersedes, at, subject_of(artifact), message);
            }
        }
    }

    /// Results answer goals, goals are about models: by an immediate input, for goals also by their target.
    fn reasoning_lineage(&mut self, artifact: &Artifact) {
        let is = |id: &str, fits: fn(ArtifactType) -> bool| {
            self.trace.artifact_by_id(id).and_then(Artifact::artifact_type).is_some_and(fits)
        };
        let at = Place::of("artifacts", artifact).child("derived_from");
        match artifact.artifact_type() {
            Some(ArtifactType::VerificationResult)
                if !artifact
                    .derived_from()
                    .any(|id| is(id, |kind| kind == ArtifactType::VerificationGoal)) =>
            {
                let message = "a verification result derives from a verification goal";
                self.find(Rule::LineageResultGoal, at, subject_of(artifact), message);
            }
            Some(ArtifactType::VerificationGoal)
                if !artifact
                    .derived_from()
                    .chain(artifact.payload_text("target_artifact_id"))
                    .any(|id| is(id, ArtifactType::is_model)) =>
            {
                let message = "a verification goal derives from a formal model or targets one";
                self.find(Rule::LineageGoalModel, at, subject_of(artifact), message);
            }
            _ => {}
        }
    }
}
