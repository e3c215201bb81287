//! Records of a policy's run as actions.

use hence_canon::{Canonical, Object, Value};
use hence_engine::{referenced, resolve};
use hence_journal::{LoopAction, LoopControl, RecordIndex};
use hence_review::model::{
    Action, ActionCommon, ActionPayload, ActionStep, Artifact, ArtifactContent, ArtifactId, DecisionOption,
    GatewayPayload,
};
use hence_review::vocabulary::{ActivityType, ArtifactType, Determinism as Repeatability, GatewayType};
use hence_state::{Outcome, StepResult};

use super::kind::{self, Read, StepKind};
use super::{Fact, Reason};
use crate::base::{common, family, repeatability};
use crate::shelf::{self, Bench, Made, PROBLEM, Succession};
use crate::view::Scene;
use crate::{ProjectError, word};

/// Takes the problem in: the header's action.
pub(crate) fn take_in(scene: &Scene<'_>) -> (Vec<Action>, Vec<Artifact>) {
    let base = scene.base;
    let problem = shelf::problem(base, scene.next);
    let common = ActionCommon {
        outputs: vec![problem.common.artifact_id.clone()],
        evidence: vec![base.evidence(RecordIndex::HEADER)],
        execution: Some(base.execution("intake", Repeatability::Deterministic)),
        ..common(
            scene.next,
            "Take in the problem",
            "The run is bound to one problem by its digest before anything else happens.",
        )
    };
    let payload = ActionPayload {
        request: None,
        result: None,
        result_summary: Some(format!("problem {} taken in", base.header.problem_spec_hash.short()).into()),
    };
    let step = ActionStep::Activity(ActivityType::ReadDocumentation, payload);
    (vec![Action { common, step, extra: Object::new() }], vec![problem])
}

/// What a step's record becomes.
pub(super) struct Stepped {
    pub(super) actions: Vec<Action>,
    pub(super) artifacts: Vec<Artifact>,
    pub(super) fact: Fact,
}

pub(super) fn step(
    reason: &Reason,
    scene: &Scene<'_>,
    index: RecordIndex,
    result: &StepResult,
) -> Result<Stepped, ProjectError> {
    let base = scene.base;
    let name = result.step();
    let known = kind::built_in(name);
    let bound = reason.capability(name);
    let kind = known.unwrap_or_else(kind::unknown);
    let kind = if bound.is_some() { kind::bound(kind) } else { kind };
    let inputs = read(scene, kind.reads);
    let mut bench = Bench::beside(scene.shelf);
    let (mut outputs, mut failed, mut verified) = (Vec::new(), None, None);
    let told = match result.outcome() {
        Outcome::Success(recorded) => {
            let output = resolve(recorded, base.blobs)?;
            let made = made(reason, scene, index, result, &kind, &inputs, recorded, &output);
            outputs.push(bench.make(made));
            let told = word::summary(&output);
            if &**name == "Verify" {
                verified = Some((scene.next, output));
            }
            told
        }
        Outcome::Failed(errors) => {
            let told: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect();
            let messages: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
            failed = Some(format!("step {name} failed: {}", messages.join("; ")));
            word::shortened(&format!("failed: {}", told.join("; ")))
        }
        Outcome::Skipped => "skipped".to_owned(),
    };
    let (label, rationale, detail) = words(reason, name, known.as_ref());
    let determinism = reason.determinism(name);
    let mut execution = base.execution(name, repeatability(determinism));
    if let Some(capability) = bound {
        (execution.tool, execution.version) = (Some(word::shortened(capability).into()), None);
    }
    let common = ActionCommon {
        detail,
        evidence: vec![base.evidence(index)],
        execution: Some(execution),
        reproducibility: Some(base.reproducibility(determinism, &inputs, &outputs)),
        inputs,
        outputs,
        ..common(scene.next, &label, &rationale)
    };
    let request = Object::from_iter([("input_sha256", Value::from(result.input_hash()))]);
    let payload = ActionPayload { request: Some(request), result: None, result_summary: Some(told.into()) };
    let action = Action { common, step: family(kind.action, payload), extra: Object::new() };
    let fact = Fact::Step { name: name.clone(), failed, verified };
    Ok(Stepped { actions: vec![action], artifacts: bench.finished(), fact })
}

#[expect(clippy::too_many_arguments, reason = "one place that knows all of a step")]
fn made(
    reason: &Reason,
    scene: &Scene<'_>,
    index: RecordIndex,
    result: &StepResult,
    kind: &StepKind,
    inputs: &[ArtifactId],
    recorded: &Canonical,
    output: &Value,
) -> Made {
    let key = reason.artifact_key(result.step());
    // A later batch of evidence adds to the earlier ones; every other output replaces what stood under its key.
    let accumulates = kind.artifact == ArtifactType::SearchResults && output.as_array().is_some();
    let content_ref = match referenced(recorded.value()) {
        Some(digest) => format!("blob:{digest}"),
        None => format!("journal:{}/result/output", index.get()),
    };
    let payload = || (!recorded.value().is_null()).then(|| recorded.value().clone());
    Made {
        name: key.clone(),
        key,
        role: kind.role,
        action: scene.next,
        sources: inputs.to_vec(),
        succession: if accumulates { Succession::Adds } else { Succession::Replaces },
        content: match kind.artifact {
            ArtifactType::Plan => ArtifactContent::Plan,
            ArtifactType::SearchResults => ArtifactContent::SearchResults,
            ArtifactType::CommandResult => ArtifactContent::CommandResult(payload()),
            _ => ArtifactContent::AnalysisNote,
        },
        content_ref,
        summary: format!("{}: {}", result.step(), word::summary(output)),
        metadata: Object::from_iter([
            ("sha256", Value::from(recorded.digest())),
            ("record", index.get().into()),
        ]),
    }
}

/// Returns what a step read, in the order it reads, each once.
fn read(scene: &Scene<'_>, reads: &[Read]) -> Vec<ArtifactId> {
    let mut found: Vec<ArtifactId> = Vec::new();
    let mut add = |id: &ArtifactId| {
        if !found.contains(id) {
            found.push(id.clone());
        }
    };
    for read in reads {
        match read {
            Read::Problem => add(&ArtifactId::new(PROBLEM)),
            Read::Newest(key) => scene.shelf.newest(key).into_iter().for_each(&mut add),
            Read::Everything => scene.shelf.all_newest().for_each(&mut add),
        }
    }
    found
}

/// Returns label, reason and detail of a step.
fn words(
    reason: &Reason,
    step: &str,
    known: Option<&StepKind>,
) -> (String, String, Option<std::sync::Arc<str>>) {
    match (known, reason.capability(step)) {
        (Some(kind), Some(capability)) => (
            kind.label.to_owned(),
            format!(
                "The settings of the problem bind this step to the capability {}: what it gave stands in the place of \
                 the step's own work.",
                word::shortened(capability)
            ),
            Some(
                "a bound step can see the problem and everything made before it, so all of it counts as read"
                    .into(),
            ),
        ),
        (Some(kind), None) => (kind.label.to_owned(), kind.rationale.to_owned(), None),
        (None, _) => (
            format!("Run the step {step}"),
            format!("The plan of policy {} runs {step} at this place.", reason.policy()),
            Some("the step does not declare what it reads; everything made before it counts as read".into()),
        ),
    }
}

/// A loop's decision: once more, on, or given up.
pub(super) fn decision(
    reason: &Reason,
    scene: &Scene<'_>,
    index: RecordIndex,
    control: &LoopControl,
) -> Action {
    let condition = condition(&control.stop_condition);
    let limit =
        reason.loop_settings().map(|settings| settings.max_iterations_text.clone()).unwrap_or_default();
    let is_met = control.action == LoopAction::Stop;
    let option = |action: LoopAction, label: &str, why_not: String| DecisionOption {
        label: label.into(),
        chosen: control.action == action,
        rejected_because: (control.action != action).then(|| why_not.into()),
        next_action_id: None,
        extra: Object::new(),
    };
    let met = if is_met { "is met" } else { "is not met" };
    let because_met = format!("the condition {condition} is met");
    let why_no_repeat = if is_met {
        because_met.clone()
    } else {
        format!("iteration {} is the last of {limit}", control.loop_iteration)
    };
    let why_not_given_up = if is_met { because_met } else { format!("of {limit} iterations some are left") };
    let options = vec![
        option(LoopAction::Repeat, "repeat the segment", why_no_repeat),
        option(LoopAction::Stop, "leave the loop", format!("the condition {condition} is not met")),
        option(LoopAction::MaxIterationsReached, "give up", why_not_given_up),
    ];
    let judged: Vec<ArtifactId> = judged_key(&control.stop_condition)
        .and_then(|key| scene.shelf.newest(key).cloned())
        .into_iter()
        .collect();
    let payload = GatewayPayload {
        decision_basis: Some(
            format!("after iteration {} the condition {condition} {met}", control.loop_iteration).into(),
        ),
        supporting_inputs: judged.clone(),
        options,
    };
    let label = format!(
        "Decide on iteration {} of {} … {}",
        control.loop_iteration, control.start_step, control.end_step
    );
    let common = ActionCommon {
        inputs: judged,
        evidence: vec![scene.base.evidence(index)],
        execution: Some(scene.base.execution("loop", Repeatability::Deterministic)),
        ..common(
            scene.next,
            &label,
            "The settings of the problem say how often the segment may run and when it is enough.",
        )
    };
    Action { common, step: ActionStep::Gateway(GatewayType::LoopGateway, payload), extra: Object::new() }
}

/// Returns a stop condition in words.
pub(super) fn condition(condition: &Value) -> String {
    let text = |key: &str| match condition.get(key) {
        Some(Value::String(text)) => text.to_string(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    word::shortened(&format!("{} {} {}", text("path"), text("operator"), text("value")))
}

/// Returns the artifact a stop condition looks at: `artifacts.KEY.…`.
fn judged_key(condition: &Value) -> Option<&str> {
    condition.get("path")?.as_str()?.strip_prefix("artifacts.")?.split('.').next()
}
