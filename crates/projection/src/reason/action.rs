//! Actions and artifacts of the records of a policy's run.

use hence_canon::{Canonical, Object, Value};
use hence_engine::{CALL_MEMBER, referenced, resolve};
use hence_journal::{LoopAction, LoopControl, RecordIndex};
use hence_review::model::{
    Action, ActionCommon, ActionId, ActionPayload, ActionStep, Artifact, ArtifactContent, ArtifactId,
    DecisionOption, GatewayPayload,
};
use hence_review::vocabulary::{
    ActionType, ActivityType, ArtifactType, Determinism as Repeatability, GatewayType, GovernanceType,
};
use hence_state::{Outcome, StepResult, StepsRule};

use super::{Fact, ReasonView, command};
use crate::artifacts::{NewArtifact, NewArtifacts, PROBLEM, Succession, problem_artifact};
use crate::delta::{Achieved, Facts, TraceDelta, UnitHead};
use crate::run_info::{action_common, action_step, call_again, repeatability};
use crate::skill::facts;
use crate::view::Context;
use crate::{ProjectError, text};

/// Returns the delta of the header, whose action binds the run to its problem.
pub(crate) fn begin(context: &Context<'_>, unit: UnitHead) -> TraceDelta {
    let run = context.run;
    let problem = problem_artifact(run, context.next);
    let common = ActionCommon {
        outputs: vec![problem.common.artifact_id.clone()],
        evidence: vec![run.evidence(RecordIndex::HEADER)],
        execution: Some(run.execution("intake", Repeatability::Deterministic)),
        ..action_common(
            context.next,
            "Take in the problem",
            "The run is bound to one problem by its digest before anything else happens.",
        )
    };
    let summary = format!("problem {} taken in", run.header.problem_spec_hash.short());
    let payload = ActionPayload { result_summary: Some(summary.into()), ..ActionPayload::default() };
    let step = ActionStep::Activity(ActivityType::ReadDocumentation, payload);
    let actions = vec![Action { common, step, extra: Object::new() }];
    let delta = TraceDelta::empty(unit, Facts::Nothing);
    TraceDelta { actions, artifacts: vec![problem], achieved: Achieved::Yes, ..delta }.in_unit()
}

/// Returns the actions, the artifacts and the facts of a step. What the commands of a bound step do comes before the step
/// itself, which has its result.
pub(super) fn step(
    reason: &ReasonView,
    context: &Context<'_>,
    index: RecordIndex,
    result: &StepResult,
) -> Result<(Vec<Action>, Vec<Artifact>, Fact), ProjectError> {
    let run = context.run;
    let name = result.step();
    let known = built_in(name, run.profile.steps);
    let bound = reason.capability(name);
    let kind = known.unwrap_or_else(unknown);
    let kind = if bound.is_some() { bound_kind(kind) } else { kind };
    let kind = reason.deed_kind(name, result).map_or(kind, |action| StepKind { action, ..kind });
    let inputs = read(context, kind.reads);
    let deeds = command::deeds(reason, run, result, kind.action)?;
    let mut actions = deeds.beside(context, index, name, &inputs);
    let id = context.action(actions.len());
    let mut new = NewArtifacts::after(context.artifacts);
    let (mut outputs, mut failed, mut verified, mut concluded) = (Vec::new(), None, None, None);
    let mut undecided = None;
    let summary = match result.outcome() {
        Outcome::Success(recorded) => {
            let output = resolve(recorded, run.blobs)?;
            let made = new_artifact(reason, id, index, result, &kind, &inputs, recorded, &output);
            outputs.push(new.make(made));
            let summary = text::summary(&output);
            if &**name == "Verify" {
                verified = Some((id, output.clone()));
            }
            if &**name == "Compute" {
                concluded = Some(output);
            }
            summary
        }
        Outcome::Failed(errors) => {
            let texts: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect();
            let messages: Vec<&str> = errors.iter().map(|error| &*error.message).collect();
            failed = Some(format!("step {name} failed: {}", messages.join("; ")));
            if reason.is_undecided(result) {
                undecided = Some(text::shortened(&messages.join("; ")));
            }
            let how = if undecided.is_some() { "not known whether it happened" } else { "failed" };
            text::shortened(&format!("{how}: {}", texts.join("; ")))
        }
        Outcome::Skipped => "skipped".to_owned(),
    };
    let (label, rationale, detail) = words(reason, name, known.as_ref());
    let determinism = reason.determinism(name);
    let mut execution = run.execution(name, repeatability(determinism));
    if let Some(capability) = bound {
        (execution.tool, execution.version) = (Some(text::shortened(capability).into()), None);
    }
    let calls: Vec<String> =
        bound.iter().map(|capability| call_again(run, index, capability, None)).collect();
    let metrics = result.others().get("metrics");
    let common = ActionCommon {
        detail,
        evidence: vec![run.evidence_with_exchanges(index, metrics)],
        execution: Some(execution),
        reproducibility: Some(run.reproducibility(determinism, &calls, &inputs, &outputs)),
        inputs,
        outputs,
        ..action_common(id, &label, &rationale)
    };
    let called = result.others().get(CALL_MEMBER).and_then(|call| call.get("input"));
    let asked = called.map(facts::request).unwrap_or_default();
    let sha256 = [("input_sha256", Value::from(result.input_hash()))];
    let secret = called.filter(|input| facts::has_secret(input)).map(|_| ("contains_secret", true.into()));
    let request: Object = sha256.into_iter().chain(asked).chain(secret).collect();
    let status = verified.as_ref().and_then(|(_, output): &(_, Value)| output.get("status").cloned());
    let is_worked = run.profile.steps == StepsRule::Worked;
    let ending = status.filter(|_| is_worked).map(|status| Object::from_iter([("status", status)]));
    let ending = undecided.map_or(ending, |why: String| {
        Some(Object::from_iter([("status", "unknown"), ("undecided", why.as_str())]))
    });
    let (request, tags) = deeds.of_call(request);
    let extra = if tags.is_empty() { Object::new() } else { Object::new().with("tags", tags) };
    let payload =
        ActionPayload { request: Some(request), result: ending, result_summary: Some(summary.into()) };
    actions.push(Action { common, step: action_step(kind.action, payload), extra });
    let fact = Fact::Step { name: name.clone(), failed, verified, concluded };
    Ok((actions, new.into_vec(), fact))
}

#[expect(clippy::too_many_arguments, reason = "one place that knows all of a step")]
fn new_artifact(
    reason: &ReasonView,
    id: ActionId,
    index: RecordIndex,
    result: &StepResult,
    kind: &StepKind,
    inputs: &[ArtifactId],
    recorded: &Canonical,
    output: &Value,
) -> NewArtifact {
    let key = reason.artifact_key(result.step());
    // A later batch of evidence adds to the earlier ones; every other output replaces the one under its key.
    let accumulates = kind.artifact == ArtifactType::SearchResults && output.as_array().is_some();
    let content_ref = match referenced(recorded.value()) {
        Some(digest) => format!("blob:{digest}"),
        None => format!("journal:{}/result/output", index.get()),
    };
    let payload = || (!recorded.value().is_null()).then(|| recorded.value().clone());
    NewArtifact {
        name: key.clone(),
        key,
        role: kind.role,
        action: id,
        sources: inputs.to_vec(),
        succession: if accumulates { Succession::Adds } else { Succession::Replaces },
        content: match kind.artifact {
            ArtifactType::Plan => ArtifactContent::Plan,
            ArtifactType::SearchResults => ArtifactContent::SearchResults,
            ArtifactType::CommandResult => ArtifactContent::CommandResult(payload()),
            _ => ArtifactContent::AnalysisNote,
        },
        content_ref,
        summary: format!("{}: {}", result.step(), text::summary(output)),
        metadata: [("sha256", Value::from(recorded.digest())), ("record", index.get().into())]
            .into_iter()
            .chain(about_conclusions(output))
            .collect(),
    }
}

/// Returns the evidence that conclusions cite, by task, and the number of claims that a verification rejected.
fn about_conclusions(output: &Value) -> Vec<(&'static str, Value)> {
    let cites = output.get("conclusions").and_then(Value::as_array).map(|conclusions| {
        let cited = |conclusion: &Value| {
            let task = conclusion.get("task")?.as_str()?.to_owned();
            Some((task, conclusion.get("evidence").cloned().unwrap_or_default()))
        };
        ("cites", Value::from(conclusions.iter().filter_map(cited).collect::<Object>()))
    });
    let rejected = output.get("rejected").and_then(Value::as_array);
    cites.into_iter().chain(rejected.map(|rejected| ("rejected_claims", rejected.len().into()))).collect()
}

/// Returns the artifacts a step read, in the order it reads, each once.
fn read(context: &Context<'_>, reads: &[Read]) -> Vec<ArtifactId> {
    let mut found: Vec<ArtifactId> = Vec::new();
    let mut add = |id: &ArtifactId| {
        if !found.contains(id) {
            found.push(id.clone());
        }
    };
    for read in reads {
        match read {
            Read::Problem => add(&ArtifactId::new(PROBLEM)),
            Read::Newest(key) => context.artifacts.newest(key).into_iter().for_each(&mut add),
            Read::Everything => context.artifacts.all_newest().for_each(&mut add),
        }
    }
    found
}

/// Returns label, rationale and detail of a step.
fn words(
    reason: &ReasonView,
    step: &str,
    known: Option<&StepKind>,
) -> (String, String, Option<std::sync::Arc<str>>) {
    match (known, reason.capability(step)) {
        (Some(kind), Some(capability)) => (
            kind.label.to_owned(),
            format!(
                "The settings of the problem bind this step to the capability {}: what it gave stands in the place of \
                 the step's own work.",
                text::shortened(capability)
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

/// Returns the gateway of a loop's decision: repeat, leave, or give up.
pub(super) fn decision(
    reason: &ReasonView,
    context: &Context<'_>,
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
        ..DecisionOption::default()
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
        .and_then(|key| context.artifacts.newest(key).cloned())
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
        evidence: vec![context.run.evidence(index)],
        execution: Some(context.run.execution("loop", Repeatability::Deterministic)),
        ..action_common(
            context.next,
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
    text::shortened(&format!("{} {} {}", text("path"), text("operator"), text("value")))
}

/// Returns the key of the artifact a stop condition reads: `artifacts.KEY.…`.
fn judged_key(condition: &Value) -> Option<&str> {
    condition.get("path")?.as_str()?.strip_prefix("artifacts.")?.split('.').next()
}

/// Something a step reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Read {
    /// The problem.
    Problem,
    /// The newest output under a key.
    Newest(&'static str),
    /// The newest output under every key there is.
    Everything,
}

/// The appearance of a step to a reviewer: the type of its action and output, its texts, and its reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepKind {
    action: ActionType,
    artifact: ArtifactType,
    role: Option<&'static str>,
    label: &'static str,
    rationale: &'static str,
    reads: &'static [Read],
}

const fn activity(word: ActivityType) -> ActionType {
    ActionType::Activity(word)
}

/// Returns the kind of a built-in step.
///
/// The step Verify is a `RunTests` action, not a `Verify` one: it proves nothing about a formal model.
pub(super) fn built_in(step: &str, steps: StepsRule) -> Option<StepKind> {
    let kind = counting(step)?;
    let (label, rationale, reads): (_, _, &[Read]) = match (step, steps) {
        ("Compute", StepsRule::Worked) => (
            "Work the tasks out",
            "Each task gets the value of its declared method and the evidence it stands on, or stays undecided.",
            &[Read::Problem, Read::Newest("decomposition"), Read::Newest("evidence")],
        ),
        ("Verify", StepsRule::Worked) => (
            "Verify the conclusions",
            "Paths and constraints are checked by their own expressions; what checks nothing passes nothing.",
            &[Read::Problem, Read::Newest("computation"), Read::Newest("evidence")],
        ),
        ("Synthesize", StepsRule::Worked) => (
            "Synthesize the answer",
            "The answer says what was concluded, on which evidence, and what was not established.",
            &[Read::Newest("computation"), Read::Newest("verification")],
        ),
        ("AcquireEvidence", StepsRule::Worked) => (
            kind.label,
            kind.rationale,
            &[Read::Problem, Read::Newest("decomposition"), Read::Newest("evidence")],
        ),
        _ => return Some(kind),
    };
    Some(StepKind { label, rationale, reads, ..kind })
}

/// Returns the kind of a built-in step in profiles whose steps only count.
fn counting(step: &str) -> Option<StepKind> {
    let note = ArtifactType::AnalysisNote;
    let (action, artifact, role, label, rationale, reads): (_, _, _, _, _, &[Read]) = match step {
        "Normalize" => (
            activity(ActivityType::ReadDocumentation),
            note,
            None,
            "Normalize the prompt",
            "Every later step works on one spelling of the prompt, so needless white space is taken out first.",
            &[Read::Problem],
        ),
        "Decompose" => (
            activity(ActivityType::DecomposeTask),
            ArtifactType::Plan,
            None,
            "Decompose the problem into tasks",
            "The goals of the problem are the tasks of the run; without goals the prompt itself is the only task.",
            &[Read::Problem, Read::Newest("normalized")],
        ),
        "AcquireEvidence" => (
            activity(ActivityType::ReadDocumentation),
            ArtifactType::SearchResults,
            None,
            "Acquire evidence",
            "What is concluded must rest on the evidence the problem brings, taken in the batches its settings ask for.",
            // A batch begins where the one before it ended, so all batches are its ancestors.
            &[Read::Problem, Read::Newest("evidence")],
        ),
        "Compute" => (
            activity(ActivityType::EstimateImpact),
            note,
            None,
            "Compute over the tasks",
            "The synthesis states how much was processed, so the tasks are counted before it.",
            &[Read::Newest("decomposition")],
        ),
        "Verify" => (
            activity(ActivityType::RunTests),
            ArtifactType::CommandResult,
            Some("reasoning_result"),
            "Verify tasks and evidence",
            "A conclusion without tasks, or without the evidence its settings require, must not pass unnoticed.",
            &[Read::Newest("decomposition"), Read::Newest("evidence")],
        ),
        "Synthesize" => (
            activity(ActivityType::Explain),
            note,
            Some("reasoning_result"),
            "Synthesize the answer",
            "The run ends in one answer that says what was done, so that a reader need not collect it from the steps.",
            &[Read::Newest("computation")],
        ),
        "Audit" => (
            ActionType::Governance(GovernanceType::RecordAudit),
            note,
            Some("audit_evidence"),
            "Record the audit",
            "Whoever reads the record later finds in one place what the run consisted of and how verification ended.",
            &[Read::Problem, Read::Everything],
        ),
        _ => return None,
    };
    Some(StepKind { action, artifact, role, label, rationale, reads })
}

/// Returns the kind of a built-in step that a capability carries out. It may read anything.
fn bound_kind(kind: StepKind) -> StepKind {
    StepKind { reads: &[Read::Problem, Read::Everything], ..kind }
}

/// Returns the kind of a step that the engine does not know. It may read anything.
fn unknown() -> StepKind {
    StepKind {
        action: activity(ActivityType::RunCommand),
        artifact: ArtifactType::CommandResult,
        role: None,
        label: "",
        rationale: "",
        reads: &[Read::Problem, Read::Everything],
    }
}
