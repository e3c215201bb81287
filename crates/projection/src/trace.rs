//! The trace as a whole.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_engine::{Determinism, Engine};
use hence_review::model::{
    Action, ActionStep, ArtifactId, EnvironmentComponent, EnvironmentId, ExecutionEnvironment, Metrics,
    Outcome, OutcomeType, Trace, TraceId, TraceMembers, TraceReproducibility, Trigger, TriggerType,
};
use hence_review::vocabulary::{EnvironmentKind, ReproducibilityStatus};

use crate::action::{ENGINE, actions, replay_command};
use crate::artifact::{PROBLEM, Shelf};
use crate::ending::Ending;
use crate::gap::gaps;
use crate::source::{RecordedRun, Source};
use crate::unit::units;
use crate::{ProjectError, word};

/// The member that names the journal a trace was derived from: its head, its profile and the problem's digest.
pub const JOURNAL_MEMBER: &str = "derived_from_journal";

/// Shows a run as a trace. The same run gives the same trace.
///
/// # Errors
/// [`ProjectError`] when the journal does not hold, names another problem, or lacks a large value.
pub fn trace_of_run(engine: &Engine, run: &RecordedRun<'_>) -> Result<Trace, ProjectError> {
    let source = Source::read(engine, run)?;
    let mut shelf = Shelf::default();
    let mut actions = actions(&source, &mut shelf)?;
    let ending = Ending::of(&source);
    let residuals = gaps(&source, &shelf, &ending)?;
    let meta_actions = units(&source, &mut actions, &residuals);
    let members = TraceMembers {
        trace_id: TraceId::new(source.header.trace_id.clone()),
        assistant: "hence".into(),
        model: model(&source),
        timestamp: source.header.created_at.as_str().into(),
        trigger: trigger(&source),
        outcome: outcome(&source, &ending),
        artifacts: shelf.artifacts,
        reference_artifacts: Vec::new(),
        policies: Vec::new(),
        policy_evaluations: Vec::new(),
        execution_environments: vec![environment(&source)],
        reproducibility: Some(reproducibility(&source)),
        comments: Vec::new(),
        review_items: Vec::new(),
        residuals,
        trace_links: Vec::new(),
        trace_lineage: None,
        files_modified: Vec::new(),
        metrics: Some(metrics(&source, &actions, meta_actions.len())),
        actions,
        meta_actions,
    };
    Ok(Trace { members, goals: Vec::new(), extra: journal(&source) })
}

fn model(source: &Source<'_>) -> Arc<str> {
    match &source.problem.settings().model {
        Some(model) => format!("{}/{}", model.provider, model.name).into(),
        None => "none".into(),
    }
}

fn trigger(source: &Source<'_>) -> Trigger {
    Trigger {
        event_type: TriggerType::TaskReceived,
        description: Some(source.problem.prompt().clone()),
        summary: Some(word::shortened(source.problem.prompt()).into()),
        from_user: None,
        reason: None,
        extra: Object::new(),
    }
}

fn outcome(source: &Source<'_>, ending: &Ending) -> Outcome {
    let records = source.records.len();
    let (event_type, summary, reason) = match ending {
        Ending::Completed => {
            (OutcomeType::ProcessCompleted, format!("The run completed after {records} records."), None)
        }
        Ending::Failed(reason) => (
            OutcomeType::ProcessAborted,
            format!("The run failed after {records} records: {}.", word::shortened(reason)),
            Some(reason.as_str().into()),
        ),
        Ending::Unfinished => (
            OutcomeType::ProcessInterrupted,
            format!("The record ends after {records} records, before the run does."),
            None,
        ),
    };
    Outcome {
        event_type,
        description: None,
        summary: Some(summary.into()),
        from_user: None,
        reason,
        extra: Object::new(),
    }
}

fn environment(source: &Source<'_>) -> ExecutionEnvironment {
    let component = EnvironmentComponent {
        name: "hence-engine".into(),
        version: Some(source.header.engine_version.clone()),
        extra: Object::new(),
    };
    let configuration = Object::from_iter([
        ("profile", Value::from(source.header.profile.to_string())),
        ("policy", source.policy().into()),
    ]);
    ExecutionEnvironment {
        environment_id: EnvironmentId::new(ENGINE),
        kind: EnvironmentKind::Toolchain,
        name: "hence engine".into(),
        components: vec![component],
        configuration: Some(configuration),
        notes: None,
        extra: Object::new(),
    }
}

fn reproducibility(source: &Source<'_>) -> TraceReproducibility {
    let recorded: Vec<&str> = source
        .outline
        .iter()
        .filter(|step| step.determinism == Determinism::Recorded)
        .map(|step| &*step.name)
        .collect();
    let is_whole = recorded.is_empty() && !source.outline.is_empty();
    let limitations = if is_whole {
        Vec::new()
    } else if source.outline.is_empty() {
        vec![format!("this engine does not know the policy {}", source.policy()).into()]
    } else {
        vec![format!("a replay reads these results from the journal: {}", recorded.join(", ")).into()]
    };
    TraceReproducibility {
        status: if is_whole {
            ReproducibilityStatus::Reproducible
        } else {
            ReproducibilityStatus::PartiallyReproducible
        },
        entrypoints: vec![
            replay_command(source).into(),
            format!("hence verify {} --anchor {}", word::shell_word(source.run_id()), source.head).into(),
        ],
        required_artifact_ids: vec![ArtifactId::new(PROBLEM)],
        required_environment_ids: vec![EnvironmentId::new(ENGINE)],
        limitations,
        notes: None,
        extra: Object::new(),
    }
}

fn metrics(source: &Source<'_>, actions: &[Action], units: usize) -> Metrics {
    let count = |count: usize| i64::try_from(count).ok();
    let decisions = actions.iter().filter(|action| matches!(action.step, ActionStep::Gateway(..))).count();
    Metrics {
        total_actions: count(actions.len()),
        decision_points: count(decisions),
        parallel_blocks: Some(0),
        loops: Some(i64::from(source.loop_settings().is_some())),
        max_loop_iterations: count(decisions),
        meta_action_count: count(units),
        extra: Object::new(),
    }
}

fn journal(source: &Source<'_>) -> Object {
    let about = Object::from_iter([
        ("head", Value::from(source.head.to_string())),
        ("records", source.head.records.get().into()),
        ("profile", source.header.profile.to_string().into()),
        ("problem_sha256", source.header.problem_spec_hash.into()),
    ]);
    Object::from_iter([(JOURNAL_MEMBER, about)])
}
