//! Records of a skill's run as actions.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_cognition::run::StepOutcome;
use hence_cognition::skill::Step;
use hence_cognition::state::StepStatus;
use hence_engine::{Determinism, referenced};
use hence_journal::RecordIndex;
use hence_review::model::{
    Action, ActionCommon, ActionId, ActionPayload, ActionStep, Artifact, ArtifactCommon, ArtifactContent,
    ArtifactId, ExecutionMetadata, Observation,
};
use hence_review::vocabulary::{ActionType, ActivityType, Determinism as Repeatability};
use hence_state::StepResult;

use super::formal::{self, Around};
use super::gateway::{self, Decision};
use super::{SKILL, SkillView, gap, group, kind, person, told};
use crate::base::{common, family, repeatability};
use crate::piece::{Achieved, Facts, Piece, UnitHead};
use crate::shelf::{self, Bench, Made, PROBLEM, Succession};
use crate::view::Scene;
use crate::word;

/// Takes the problem and the skill in: the header's action.
pub(super) fn take_in(view: &SkillView<'_>, scene: &Scene<'_>) -> Piece {
    let base = scene.base;
    let problem = shelf::problem(base, scene.next);
    let skill = skill_artifact(view, scene.next);
    let common = ActionCommon {
        outputs: vec![problem.common.artifact_id.clone(), skill.common.artifact_id.clone()],
        evidence: vec![base.evidence(RecordIndex::HEADER)],
        execution: Some(base.execution("intake", Repeatability::Deterministic)),
        ..common(
            scene.next,
            "Take in the problem and its skill",
            "The run is bound by digest to one problem, and through it to one skill, before anything else happens.",
        )
    };
    let told = format!(
        "problem {} taken in, skill {} {} pinned",
        base.header.problem_spec_hash.short(),
        view.pinned.id,
        view.pinned.version
    );
    let payload = ActionPayload { request: None, result: None, result_summary: Some(told.into()) };
    let step = ActionStep::Activity(ActivityType::ReadDocumentation, payload);
    let action = Action { common, step, extra: Object::new() };
    let unit = group::plan(view.skill());
    in_unit(vec![action], vec![problem, skill], Vec::new(), unit, Achieved::Yes, Facts::Nothing)
}

fn skill_artifact(view: &SkillView<'_>, action: ActionId) -> Artifact {
    let skill = view.skill();
    let metadata = Object::from_iter([
        ("sha256", Value::from(view.pinned.digest)),
        ("version", skill.version.clone().into()),
        ("steps", skill.steps.len().into()),
    ]);
    let common = ArtifactCommon {
        name: Some(format!("skill {}", skill.id).into()),
        format: Some("application/json".into()),
        producer_action_id: Some(action),
        content_ref: Some("skill.json".into()),
        summary: Some(word::shortened(&skill.description).into()),
        metadata: Some(metadata),
        ..shelf::common(ArtifactId::new(SKILL))
    };
    Artifact { common, content: ArtifactContent::Plan, extra: Object::new() }
}

fn in_unit(
    mut actions: Vec<Action>,
    artifacts: Vec<Artifact>,
    residuals: Vec<hence_review::model::Residual>,
    unit: UnitHead,
    achieved: Achieved,
    facts: Facts,
) -> Piece {
    for action in &mut actions {
        action.common.meta_action_id = Some(unit.id.clone());
    }
    Piece { actions, artifacts, residuals, unit, achieved, facts }
}

/// A record that adds no action.
pub(super) fn nothing(view: &SkillView<'_>, facts: Facts) -> Piece {
    let unit = group::plan(view.skill());
    in_unit(Vec::new(), Vec::new(), Vec::new(), unit, Achieved::Silent, facts)
}

/// The record that says which declared outputs nobody wrote.
pub(super) fn outputs(scene: &Scene<'_>, index: RecordIndex, result: &StepResult) -> Piece {
    let told = told(result);
    let inputs = vec![ArtifactId::new(SKILL)];
    let common = ActionCommon {
        evidence: vec![scene.base.evidence(index)],
        execution: Some(scene.base.execution("outputs", Repeatability::Deterministic)),
        reproducibility: Some(scene.base.reproducibility(Determinism::Deterministic, &inputs, &[])),
        inputs,
        ..common(
            scene.next,
            "Check the outputs the skill declares",
            "A run that did not give what its skill promises must not pass for one that did.",
        )
    };
    let summary = word::shortened(&format!("failed: {told}"));
    let payload = ActionPayload { request: None, result: None, result_summary: Some(summary.into()) };
    let step = ActionStep::Activity(ActivityType::RunTests, payload);
    let action = Action { common, step, extra: Object::new() };
    let gaps = vec![gap::missing_outputs(&told, scene.next)];
    let facts = Facts::MissingOutputs(format!("the skill's outputs are missing: {told}"));
    in_unit(vec![action], Vec::new(), gaps, group::conclusion(), Achieved::No, facts)
}

/// An outcome: decisions before the call, the call, the decision behind it.
pub(super) fn shown(
    view: &SkillView<'_>,
    scene: &Scene<'_>,
    index: RecordIndex,
    result: &StepResult,
    outcome: StepOutcome,
) -> Piece {
    let Some(step) = view.step_of(&outcome.step_id) else {
        // Taking it in says that it does not follow from the skill.
        return nothing(view, Facts::Outcome(index, Box::new(outcome)));
    };
    let kind = view.kind(step, Some(&outcome));
    let control_inputs = view.sources(&outcome.control_reads);
    let mut actions: Vec<Action> = Vec::new();
    let decide = |decision: Decision, place: usize, inputs: &[ArtifactId]| {
        decision.action(scene, scene.action(place), index, &step.id, inputs)
    };
    for decision in gateway::before(step, &outcome) {
        actions.push(decide(decision, actions.len(), &control_inputs));
    }
    let mut bench = Bench::beside(scene.shelf);
    let is_shown = outcome.status != StepStatus::Skipped || actions.is_empty();
    if is_shown {
        let id = scene.action(actions.len());
        let call = Call { view, scene, index, result, step, kind, id };
        actions.push(call.action(&outcome, &mut bench));
    }
    if let Some(decision) = gateway::behind(step, &outcome) {
        // A loop is left because of what its last call gave.
        let made = actions.iter().flat_map(|action| action.common.outputs.iter().cloned());
        let inputs: Vec<ArtifactId> = control_inputs.iter().cloned().chain(made).collect();
        actions.push(decide(decision, actions.len(), &inputs));
    }
    let subject = actions.iter().find(|action| !action.common.outputs.is_empty()).or(actions.last());
    let subject = subject.map_or(scene.next, |action| action.common.id);
    let artifacts = bench.finished();
    let gaps = gap::of_step(step, kind, &outcome, subject, &artifacts);
    let achieved = match outcome.status {
        StepStatus::Completed => Achieved::Yes,
        _ => Achieved::No,
    };
    let unit = view.groups.unit(step, scene.units);
    in_unit(actions, artifacts, gaps, unit, achieved, Facts::Outcome(index, Box::new(outcome)))
}

/// A step that was called.
struct Call<'c> {
    view: &'c SkillView<'c>,
    scene: &'c Scene<'c>,
    index: RecordIndex,
    result: &'c StepResult,
    step: &'c Step,
    kind: ActionType,
    id: ActionId,
}

impl Call<'_> {
    fn action(&self, outcome: &StepOutcome, bench: &mut Bench<'_>) -> Action {
        let base = self.scene.base;
        let inputs = self.inputs(outcome);
        let outputs: Vec<ArtifactId> =
            outcome.produced.iter().map(|produced| bench.make(self.made(produced, &inputs))).collect();
        let determinism = self.view.determinism(outcome);
        let common = ActionCommon {
            detail: self.detail(outcome),
            evidence: vec![base.evidence(self.index)],
            observations: outcome.notes.iter().map(|note| observation(&note.message)).collect(),
            execution: Some(self.execution(outcome, determinism)),
            reproducibility: Some(base.reproducibility(determinism, &inputs, &outputs)),
            inputs: inputs.clone(),
            outputs,
            ..common(self.id, &self.label(outcome), &self.rationale(outcome))
        };
        let decided = Some(self.kind)
            .filter(|kind| kind::asks_a_person(*kind))
            .and_then(|kind| person::decision(&self.step.id, kind, outcome));
        if let Some(decision) = decided {
            let label = decision.label.as_str().into();
            let mut action = decision.action(self.scene, self.id, self.index, &self.step.id, &inputs);
            action.common = ActionCommon { label, ..common };
            return action;
        }
        let request = Object::from_iter([
            ("uses", Value::from(outcome.uses.clone())),
            ("input_sha256", self.result.input_hash().into()),
        ]);
        let summary = summary(outcome);
        let payload =
            ActionPayload { request: Some(request), result: None, result_summary: Some(summary.into()) };
        Action { common, step: family(self.kind, payload), extra: Object::new() }
    }

    /// What it read, also to decide. What reads nothing works on what the skill itself holds.
    fn inputs(&self, outcome: &StepOutcome) -> Vec<ArtifactId> {
        let references: Vec<Arc<str>> =
            outcome.reads.iter().chain(outcome.control_reads.iter()).cloned().collect();
        let inputs = self.view.sources(&references);
        if inputs.is_empty() { vec![ArtifactId::new(SKILL)] } else { inputs }
    }

    fn made(&self, produced: &Value, inputs: &[ArtifactId]) -> Made {
        let (content, role) = self.content(produced, inputs);
        let blob = self.result.outcome().output().and_then(|output| referenced(output.value()));
        let content_ref = match blob {
            Some(digest) => format!("blob:{digest}/produced"),
            None => format!("journal:{}/result/output/produced", self.index.get()),
        };
        let metadata = Object::from_iter([
            ("sha256", Value::from(Canonical::of(produced).digest())),
            ("record", self.index.get().into()),
        ]);
        Made {
            key: self.step.id.clone(),
            name: self.step.id.clone(),
            role,
            action: self.id,
            sources: inputs.to_vec(),
            succession: Succession::Replaces,
            content,
            content_ref,
            summary: format!("{}: {}", self.step.id, word::summary(produced)),
            metadata,
        }
    }

    fn content(&self, produced: &Value, inputs: &[ArtifactId]) -> (ArtifactContent, Option<&'static str>) {
        if let ActionType::Reasoning(word) = self.kind {
            let around = Around {
                sources: inputs.iter().filter_map(|id| self.scene.shelf.artifact(id)).collect(),
                engine: &self.step.uses.to_string(),
                number: self.id.0,
            };
            if let Some((content, role)) = formal::content(word, produced, &around) {
                return (content, Some(role));
            }
        }
        kind::artifact(self.kind, produced)
    }

    fn label(&self, outcome: &StepOutcome) -> String {
        let called: Vec<String> =
            kind::called(self.step, Some(outcome)).iter().map(ToString::to_string).collect();
        word::shortened(&format!("{}: {}", self.step.id, called.join(", ")))
    }

    fn rationale(&self, outcome: &StepOutcome) -> String {
        let listed = |words: &[Arc<str>]| {
            let list: Vec<&str> = words.iter().map(|word| &**word).collect();
            if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
        };
        let (skill, step) = (&self.view.pinned.id, &self.step.id);
        let (reads, writes) = (listed(&outcome.reads), listed(&outcome.writes));
        word::shortened(&format!(
            "The skill {skill} runs {step} at this place: it reads {reads} and writes {writes}."
        ))
    }

    fn detail(&self, outcome: &StepOutcome) -> Option<Arc<str>> {
        if let Some(origin) = self.view.pinned.links.origin.as_ref().filter(|_| self.view.carrying) {
            return Some(format!("carried over from the run {}", origin.run).into());
        }
        let calls: u64 = outcome.called.values().sum();
        (calls > 1).then(|| format!("{calls} calls").into())
    }

    fn execution(&self, outcome: &StepOutcome, determinism: Determinism) -> ExecutionMetadata {
        let called = kind::called(self.step, Some(outcome));
        let tool = match called.as_slice() {
            [only] => only.to_string(),
            several => several.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        let base = self.scene.base.execution(&self.step.id, repeatability(determinism));
        // Only what the engine computes itself has the engine's version.
        let version = base.version.clone().filter(|_| determinism == Determinism::Deterministic);
        ExecutionMetadata { tool: Some(word::shortened(&tool).into()), version, ..base }
    }
}

/// Returns how a step ended, in a line.
fn summary(outcome: &StepOutcome) -> String {
    match (outcome.status, &outcome.failure, &outcome.produced) {
        (StepStatus::Failed, Some(failure), _) => word::shortened(&format!("failed: {failure}")),
        (_, _, Some(produced)) => word::summary(produced),
        (status, ..) => status.name().to_owned(),
    }
}

fn observation(statement: &str) -> Observation {
    Observation {
        observation_id: None,
        derived_from: Vec::new(),
        statement: word::shortened(statement).into(),
        confidence: None,
        extra: Object::new(),
    }
}

/// The id under which the problem lies on the shelf, for those who look for it.
pub(super) fn problem() -> ArtifactId {
    ArtifactId::new(PROBLEM)
}
