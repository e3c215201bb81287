//! Records as actions.

use hence_canon::{Object, Value};
use hence_engine::{Determinism, resolve};
use hence_journal::{Chained, Control, LoopAction, LoopControl, Record, RecordIndex, StepRecord};
use hence_review::model::{
    Action, ActionCommon, ActionId, ActionPayload, ActionReproducibility, ActionStep, ArtifactId,
    DecisionOption, EnvironmentId, Evidence, ExecutionMetadata, ExpectedOutput, GatewayPayload,
    ReproductionProcedure,
};
use hence_review::vocabulary::{
    ActionType, ActivityType, Determinism as Repeatability, EvidenceType, GatewayType, ProcedureKind,
    ReproducibilityStatus, ReproductionKind,
};
use hence_state::Outcome;

use crate::artifact::{Made, Shelf};
use crate::kind::{self, StepKind};
use crate::source::Source;
use crate::{ProjectError, word};

/// The id of the environment every step ran in.
pub(crate) const ENGINE: &str = "engine";

/// The action that takes in the problem: the header's.
const FIRST: ActionId = ActionId(1);

/// Returns the action a record becomes. Headers and completions have none of their own.
pub(crate) fn action_id(record: RecordIndex) -> ActionId {
    // A journal is far shorter than 2^62 records.
    ActionId(i64::try_from(record.get()).unwrap_or(i64::MAX - 1) + 1)
}

/// Makes all actions, and puts what they made on the shelf.
pub(crate) fn actions(source: &Source<'_>, shelf: &mut Shelf) -> Result<Vec<Action>, ProjectError> {
    let problem = shelf.put_problem(source, FIRST);
    let mut actions = vec![take_in(source, problem)];
    for (place, chained) in source.records.iter().enumerate() {
        let next = source.records.get(place + 1).filter(|next| has_action(next));
        match &chained.record {
            Record::Step(record) => actions.push(step(source, shelf, chained.index, record)?),
            Record::Control(Control::Loop(control)) => {
                actions.push(decision(source, shelf, chained.index, control, next));
            }
            // Names of positions and returns to them are told with the run; they do nothing that could be reviewed.
            Record::Header(_)
            | Record::Control(Control::Complete { .. } | Control::Checkpoint(_) | Control::Rollback(_)) => {}
        }
    }
    Ok(actions)
}

fn has_action(chained: &Chained) -> bool {
    matches!(&chained.record, Record::Step(_) | Record::Control(Control::Loop(_)))
}

fn take_in(source: &Source<'_>, problem: ArtifactId) -> Action {
    let common = ActionCommon {
        outputs: vec![problem],
        evidence: vec![evidence(source, RecordIndex::HEADER)],
        execution: Some(execution(source, "intake", Repeatability::Deterministic)),
        ..common(
            FIRST,
            "Take in the problem",
            "The run is bound to one problem by its digest before anything else happens.",
        )
    };
    let payload = ActionPayload {
        request: None,
        result: None,
        result_summary: Some(format!("problem {} taken in", source.header.problem_spec_hash.short()).into()),
    };
    Action {
        common,
        step: ActionStep::Activity(ActivityType::ReadDocumentation, payload),
        extra: Object::new(),
    }
}

fn step(
    source: &Source<'_>,
    shelf: &mut Shelf,
    index: RecordIndex,
    record: &StepRecord,
) -> Result<Action, ProjectError> {
    let result = &record.result;
    let name = result.step();
    let known = kind::built_in(name);
    let kind = known.unwrap_or_else(kind::unknown);
    let id = action_id(index);
    let inputs = shelf.read(kind.reads);
    let (outputs, told) = match result.outcome() {
        Outcome::Success(recorded) => {
            let output = resolve(recorded, source.blobs)?;
            let made = Made {
                kind: &kind,
                step: name,
                key: source.artifact_key(name),
                record: index,
                action: id,
                inputs: &inputs,
                recorded,
                output: &output,
            };
            (vec![shelf.put(&made)], word::summary(&output))
        }
        Outcome::Failed(errors) => {
            let told: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect();
            (Vec::new(), word::shortened(&format!("failed: {}", told.join("; "))))
        }
        Outcome::Skipped => (Vec::new(), "skipped".to_owned()),
    };
    let (label, rationale, detail) = words(source, name, known.as_ref());
    let determinism = source.determinism(name);
    let repeatability = match determinism {
        Determinism::Deterministic => Repeatability::Deterministic,
        Determinism::Recorded => Repeatability::Nondeterministic,
    };
    let reproducibility = reproducibility(source, determinism, &inputs, &outputs);
    let common = ActionCommon {
        detail,
        evidence: vec![evidence(source, index)],
        execution: Some(execution(source, name, repeatability)),
        reproducibility: Some(reproducibility),
        inputs,
        outputs,
        ..common(id, &label, &rationale)
    };
    let request = Object::from_iter([("input_sha256", Value::from(result.input_hash()))]);
    let payload = ActionPayload { request: Some(request), result: None, result_summary: Some(told.into()) };
    Ok(Action { common, step: family(kind.action, payload), extra: Object::new() })
}

/// Returns label, reason and detail of a step.
fn words(
    source: &Source<'_>,
    step: &str,
    known: Option<&StepKind>,
) -> (String, String, Option<std::sync::Arc<str>>) {
    match known {
        Some(kind) => (kind.label.to_owned(), kind.rationale.to_owned(), None),
        None => (
            format!("Run the step {step}"),
            format!("The plan of policy {} runs {step} at this place.", source.policy()),
            Some("the step does not declare what it reads; everything made before it counts as read".into()),
        ),
    }
}

fn family(action: ActionType, payload: ActionPayload) -> ActionStep {
    match action {
        ActionType::Activity(word) => ActionStep::Activity(word, payload),
        ActionType::Reasoning(word) => ActionStep::Reasoning(word, payload),
        ActionType::Governance(word) => ActionStep::Governance(word, payload),
        // No kind of step is a gateway; a decision has a record of its own.
        ActionType::Gateway(_) => ActionStep::Activity(ActivityType::RunCommand, payload),
    }
}

/// A loop's decision: once more, on, or given up.
fn decision(
    source: &Source<'_>,
    shelf: &Shelf,
    index: RecordIndex,
    control: &LoopControl,
    next: Option<&Chained>,
) -> Action {
    let id = action_id(index);
    let condition = condition(&control.stop_condition);
    let limit =
        source.loop_settings().map(|settings| settings.max_iterations_text.clone()).unwrap_or_default();
    let is_met = control.action == LoopAction::Stop;
    let option = |action: LoopAction, label: &str, why_not: String| DecisionOption {
        label: label.into(),
        chosen: control.action == action,
        rejected_because: (control.action != action).then(|| why_not.into()),
        next_action_id: next.filter(|_| control.action == action).map(|next| action_id(next.index)),
        extra: Object::new(),
    };
    let met = if is_met { "is met" } else { "is not met" };
    let why_no_repeat = if is_met {
        format!("the condition {condition} is met")
    } else {
        format!("iteration {} is the last of {limit}", control.loop_iteration)
    };
    let options = vec![
        option(LoopAction::Repeat, "repeat the segment", why_no_repeat),
        option(LoopAction::Stop, "leave the loop", format!("the condition {condition} is not met")),
        option(
            LoopAction::MaxIterationsReached,
            "give up",
            if is_met {
                format!("the condition {condition} is met")
            } else {
                format!("of {limit} iterations some are left")
            },
        ),
    ];
    let judged: Vec<ArtifactId> =
        judged_key(&control.stop_condition).and_then(|key| shelf.newest(key).cloned()).into_iter().collect();
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
        evidence: vec![evidence(source, index)],
        execution: Some(execution(source, "loop", Repeatability::Deterministic)),
        ..common(
            id,
            &label,
            "The settings of the problem say how often the segment may run and when it is enough.",
        )
    };
    Action { common, step: ActionStep::Gateway(GatewayType::LoopGateway, payload), extra: Object::new() }
}

/// Returns a stop condition in words.
pub(crate) fn condition(condition: &Value) -> String {
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

fn evidence(source: &Source<'_>, index: RecordIndex) -> Evidence {
    Evidence {
        evidence_type: EvidenceType::CommandOutput,
        reference: format!("hence show {} {}", word::shell_word(source.run_id()), index.get()).into(),
        exit_code: None,
        extra: Object::new(),
    }
}

fn execution(source: &Source<'_>, method: &str, determinism: Repeatability) -> ExecutionMetadata {
    ExecutionMetadata {
        tool: Some("hence-engine".into()),
        version: Some(source.header.engine_version.clone()),
        method: Some(method.into()),
        determinism: Some(determinism),
        duration_ms: None,
        cost: None,
        extra: Object::new(),
    }
}

fn reproducibility(
    source: &Source<'_>,
    determinism: Determinism,
    inputs: &[ArtifactId],
    outputs: &[ArtifactId],
) -> ActionReproducibility {
    let (status, reproduction_kind, limitations) = match determinism {
        Determinism::Deterministic => {
            (ReproducibilityStatus::Reproducible, ReproductionKind::DeterministicReplay, Vec::new())
        }
        Determinism::Recorded => (
            ReproducibilityStatus::PartiallyReproducible,
            ReproductionKind::ToolReexecution,
            vec!["a replay reads this result from the journal; what it came from is not asked again".into()],
        ),
    };
    ActionReproducibility {
        status,
        reproduction_kind,
        input_artifact_ids: inputs.to_vec(),
        environment_id: Some(EnvironmentId::new(ENGINE)),
        procedure: ReproductionProcedure {
            kind: ProcedureKind::Command,
            command: Some(replay_command(source).into()),
            working_directory: None,
            arguments: Vec::new(),
            steps: Vec::new(),
            reference: None,
            extra: Object::new(),
        },
        expected_output: Some(ExpectedOutput {
            artifact_ids: outputs.to_vec(),
            result_summary: Some("every byte is equal".into()),
            extra: Object::new(),
        }),
        limitations,
        notes: None,
        extra: Object::new(),
    }
}

/// Returns the command that runs the whole run again and compares every byte.
pub(crate) fn replay_command(source: &Source<'_>) -> String {
    format!("hence replay {}", word::shell_word(source.run_id()))
}

fn common(id: ActionId, label: &str, rationale: &str) -> ActionCommon {
    ActionCommon {
        id,
        label: label.into(),
        rationale: rationale.into(),
        detail: None,
        inputs: Vec::new(),
        outputs: Vec::new(),
        evidence: Vec::new(),
        observations: Vec::new(),
        execution: None,
        reproducibility: None,
        meta_action_id: None,
    }
}
