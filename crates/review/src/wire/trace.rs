//! The trace itself, its parts, and the reasoning payloads of its actions.

use std::fmt;
use std::sync::OnceLock;

use hence_canon::{Object, Value};

use crate::model::TargetPart;
use crate::vocabulary::ArtifactType;

use super::ids::{ActionIds, ArtifactIndex};
use super::{
    Action, Artifact, Comment, Entry, Environment, Evaluation, Event, Goal, Link, MetaAction, Policy,
    ReferenceArtifact, Residual, ReviewItem,
};

/// The place of an action among the actions of its trace, from 0.
///
/// List order is the order of events; ids only name. Two positions compare as the actions happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position(usize);

impl Position {
    /// Wraps a place.
    pub const fn new(place: usize) -> Self {
        Self(place)
    }

    /// Returns the place, for indexing.
    pub const fn get(self) -> usize {
        self.0
    }
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// A trace as written, with its parts found once.
#[derive(Clone, Debug)]
pub struct Trace {
    source: Entry,
    actions: Vec<Action>,
    artifacts: Vec<Artifact>,
    action_ids: ActionIds,
    artifact_ids: ArtifactIndex,
    /// Only traces of version 1.0 name what they exchange, so names are looked at when somebody asks.
    artifact_names: OnceLock<ArtifactIndex>,
}

impl Trace {
    /// Reads any value; what is not an object reads as a trace without members.
    pub fn read(value: &Value) -> Self {
        let source = Entry::new(value.as_object().cloned().unwrap_or_default(), 0);
        let actions: Vec<Action> = source
            .entries("actions")
            .enumerate()
            .map(|(place, entry)| Action::new(entry, Position(place)))
            .collect();
        let artifacts: Vec<Artifact> = source.entries("artifacts").map(Artifact::from).collect();
        let action_ids = ActionIds::of(actions.iter().map(Action::id));
        let artifact_ids = ArtifactIndex::of(&artifacts, "artifact_id");
        Self { source, actions, artifacts, action_ids, artifact_ids, artifact_names: OnceLock::new() }
    }

    /// Returns the trace object with all its members.
    pub fn source(&self) -> &Object {
        self.source.source()
    }

    /// Returns the trace as an entry, for members without a method here.
    pub fn entry(&self) -> &Entry {
        &self.source
    }

    /// Returns the id.
    pub fn trace_id(&self) -> Option<&str> {
        self.source.text("trace_id")
    }

    /// Returns the event that began the process.
    pub fn trigger(&self) -> Option<Event> {
        self.source.object("trigger").map(|event| Event(Entry::new(event.clone(), 0)))
    }

    /// Returns the event that ended the process.
    pub fn outcome(&self) -> Option<Event> {
        self.source.object("outcome").map(|event| Event(Entry::new(event.clone(), 0)))
    }

    /// Returns the actions in the order they happened.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Returns the action at a position.
    pub fn action(&self, position: Position) -> Option<&Action> {
        self.actions.get(position.0)
    }

    /// Returns the first action with this id.
    pub fn action_by_id(&self, id: i64) -> Option<&Action> {
        self.actions.get(self.action_ids.find(id)?)
    }

    /// Returns the artifacts.
    pub fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }

    /// Returns the first artifact with this id.
    pub fn artifact_by_id(&self, id: &str) -> Option<&Artifact> {
        self.artifacts.get(self.artifact_ids.find(id)?)
    }

    /// Returns the first artifact with this id, or else with this name: traces of version 1.0 name theirs.
    pub fn artifact_by_id_or_name(&self, word: &str) -> Option<&Artifact> {
        self.artifact_by_id(word).or_else(|| {
            let names = self.artifact_names.get_or_init(|| ArtifactIndex::of(&self.artifacts, "name"));
            self.artifacts.get(names.find(word)?)
        })
    }

    /// Returns whether the ids of actions are as they should be: integers that rise from 0 or more.
    pub(crate) fn has_sound_action_ids(&self) -> bool {
        self.action_ids.are_sound()
    }

    /// Returns the ids of artifacts as numbers.
    pub(crate) fn artifact_ids(&self) -> &ArtifactIndex {
        &self.artifact_ids
    }

    /// Returns the meta-actions.
    pub fn meta_actions(&self) -> impl Iterator<Item = MetaAction> {
        self.source.entries("meta_actions").map(MetaAction::from)
    }

    /// Returns the reference artifacts, also those under their 1.1 name.
    pub fn reference_artifacts(&self) -> impl Iterator<Item = ReferenceArtifact> {
        let older = self.source.entries("reference_models");
        self.source.entries("reference_artifacts").chain(older).map(ReferenceArtifact::from)
    }

    /// Returns the embedded policies.
    pub fn policies(&self) -> impl Iterator<Item = Policy> {
        self.source.entries("policies").map(Policy::from)
    }

    /// Returns the recorded evaluations.
    pub fn policy_evaluations(&self) -> impl Iterator<Item = Evaluation> {
        self.source.entries("policy_evaluations").map(Evaluation::from)
    }

    /// Returns the execution environments.
    pub fn execution_environments(&self) -> impl Iterator<Item = Environment> {
        self.source.entries("execution_environments").map(Environment::from)
    }

    /// Returns the comments.
    pub fn comments(&self) -> impl Iterator<Item = Comment> {
        self.source.entries("comments").map(Comment::from)
    }

    /// Returns the review items.
    pub fn review_items(&self) -> impl Iterator<Item = ReviewItem> {
        self.source.entries("review_items").map(ReviewItem::from)
    }

    /// Returns the residuals.
    pub fn residuals(&self) -> impl Iterator<Item = Residual> {
        self.source.entries("residuals").map(Residual::from)
    }

    /// Returns the links to other traces.
    pub fn trace_links(&self) -> impl Iterator<Item = Link> {
        self.source.entries("trace_links").map(Link::from)
    }

    /// Returns the goals.
    pub fn goals(&self) -> impl Iterator<Item = Goal> {
        self.source.entries("goals").map(Goal::from)
    }

    /// Returns the objects in any list of the trace, by the key of the list.
    pub fn entries(&self, key: &str) -> impl Iterator<Item = Entry> {
        self.source.entries(key)
    }

    /// Returns the path fragments the trace declares as high stakes.
    pub fn high_stakes_paths(&self) -> impl Iterator<Item = &str> {
        self.source.texts("high_stakes_paths")
    }

    /// Returns the paths that the trace declares as changed.
    pub fn files_modified(&self) -> impl Iterator<Item = &str> {
        self.source.texts("files_modified")
    }
}

impl Trace {
    /// Returns whether the trace has a part.
    pub fn has_part(&self, part: &TargetPart) -> bool {
        match part {
            TargetPart::Trace => true,
            TargetPart::Action(id) => self.action_by_id(id.0).is_some(),
            TargetPart::Artifact(id) => self.artifact_by_id(id.as_str()).is_some(),
            TargetPart::Policy(id) => self.policies().any(|policy| policy.id() == Some(id.as_str())),
            TargetPart::PolicyEvaluation(id) => {
                self.policy_evaluations().any(|found| found.policy_id() == Some(id.as_str()))
            }
            TargetPart::ReferenceArtifact(id) => {
                self.reference_artifacts().any(|found| found.id() == Some(id.as_str()))
            }
        }
    }
}

/// A kind of reasoning payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the variants are the kinds of payload")]
pub enum ReasoningSlot {
    Formalization,
    VerificationGoal,
    VerificationResult,
    Decomposition,
    Conformance,
    CoSimulation,
    GeneratedTests,
}

impl ReasoningSlot {
    /// Every slot.
    pub const ALL: &'static [Self] = &[
        Self::Formalization,
        Self::VerificationGoal,
        Self::VerificationResult,
        Self::Decomposition,
        Self::Conformance,
        Self::CoSimulation,
        Self::GeneratedTests,
    ];

    /// Returns the member of an action that holds this payload in version 1.0.
    pub const fn member(self) -> &'static str {
        match self {
            Self::Formalization => "formalization",
            Self::VerificationGoal => "vg_defined",
            Self::VerificationResult => "vg_result",
            Self::Decomposition => "decomposition",
            Self::Conformance => "conformance",
            Self::CoSimulation => "cosimulation",
            Self::GeneratedTests => "generated_tests",
        }
    }

    /// Returns the slot an artifact of this type fills.
    pub const fn of(artifact_type: ArtifactType) -> Option<Self> {
        Some(match artifact_type {
            ArtifactType::Formalization | ArtifactType::FormalModel => Self::Formalization,
            ArtifactType::VerificationGoal => Self::VerificationGoal,
            ArtifactType::VerificationResult => Self::VerificationResult,
            ArtifactType::StateSpaceAnalysisResult => Self::Decomposition,
            ArtifactType::ConformanceResult => Self::Conformance,
            ArtifactType::CoSimulationResult => Self::CoSimulation,
            ArtifactType::GeneratedTests => Self::GeneratedTests,
            _ => return None,
        })
    }
}

impl Trace {
    /// Returns the payload in `slot` of an action: from its last output that has one, else from the action.
    pub fn reasoning_payload<'a>(&'a self, action: &'a Action, slot: ReasoningSlot) -> Option<&'a Value> {
        let from_outputs = action.outputs().rev().find_map(|output| {
            let artifact = self.artifact_by_id(output)?;
            let fills = artifact.artifact_type().and_then(ReasoningSlot::of) == Some(slot);
            if fills { artifact.0.member("payload") } else { None }
        });
        from_outputs.or_else(|| action.member(slot.member()))
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    fn read(text: &str) -> Trace {
        Trace::read(&parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn any_json_reads_as_a_trace() {
        for text in ["null", "[1]", r#""t""#, r#"{"actions": {}, "artifacts": [1, null], "goals": 3}"#] {
            let trace = read(text);
            assert!(trace.actions().is_empty() && trace.artifacts().is_empty());
            assert_eq!(trace.goals().count(), 0);
        }
    }

    #[test]
    fn positions_count_actions_and_indices_count_list_items() {
        let trace = read(r#"{"actions": ["junk", {"id": 7}, {"id": 7}]}"#);
        let seven = trace.action_by_id(7).unwrap();
        assert_eq!((seven.position().get(), seven.index()), (0, 1));
        assert_eq!(trace.actions().len(), 2);
    }

    #[test]
    fn reference_models_are_reference_artifacts() {
        let trace = read(r#"{"reference_models": [{"reference_model_id": "m"}]}"#);
        assert_eq!(trace.reference_artifacts().next().unwrap().id(), Some("m"));
    }

    #[test]
    fn a_payload_is_found_on_the_artifact_and_on_the_action() {
        let trace = Trace::read(
            &parse(
                br#"{"actions": [
                    {"id": 1, "outputs": ["r"], "vg_result": {"status": "unknown"}},
                    {"id": 2, "vg_result": {"status": "sat"}}
                ], "artifacts": [
                    {"artifact_id": "r", "artifact_type": "VerificationResult", "payload": {"status": "proved"}}
                ]}"#,
            )
            .unwrap(),
        );
        let status = |action: &Action| {
            let payload = trace.reasoning_payload(action, ReasoningSlot::VerificationResult);
            payload.and_then(|payload| payload.get("status")).and_then(Value::as_str).map(str::to_owned)
        };
        let found: Vec<_> = trace.actions().iter().map(status).collect();
        assert_eq!(found, [Some("proved".to_owned()), Some("sat".to_owned())]);
    }
}
