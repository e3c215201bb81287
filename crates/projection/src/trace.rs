//! The trace as a whole.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_journal::Head;
use hence_review::model::{
    Action, ActionStep, Artifact, ArtifactId, EnvironmentComponent, EnvironmentId, ExecutionEnvironment,
    MetaAction, Metrics, Outcome, OutcomeType, Residual, Trace, TraceId, TraceMembers, TraceReproducibility,
    Trigger, TriggerType,
};
use hence_review::vocabulary::{EnvironmentKind, GatewayType, ReproducibilityStatus};

use crate::base::{Base, ENGINE};
use crate::ending::Ending;
use crate::link::{RunLink, links};
use crate::shelf::PROBLEM;
use crate::view::Conclusion;
use crate::word;

/// The member that names the journal a trace was derived from: its head, its profile and the problem's digest.
pub const JOURNAL_MEMBER: &str = "derived_from_journal";

/// Everything a trace is put together from.
pub(crate) struct Whole<'w> {
    pub(crate) base: &'w Base<'w>,
    pub(crate) plan: String,
    pub(crate) head: Head,
    pub(crate) links: &'w [RunLink],
    pub(crate) conclusion: Conclusion,
    pub(crate) actions: Vec<Action>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) meta_actions: Vec<MetaAction>,
    pub(crate) residuals: Vec<Residual>,
}

/// Puts a trace together.
pub(crate) fn assembled(whole: Whole<'_>) -> Trace {
    let base = whole.base;
    let (trace_links, trace_lineage) = links(base.run_id(), whole.links);
    let members = TraceMembers {
        trace_id: TraceId::new(base.header.trace_id.clone()),
        assistant: "hence".into(),
        model: model(base),
        timestamp: base.header.created_at.as_str().into(),
        trigger: trigger(base),
        outcome: outcome(&whole),
        reference_artifacts: Vec::new(),
        policies: Vec::new(),
        policy_evaluations: Vec::new(),
        execution_environments: vec![environment(&whole)],
        reproducibility: Some(reproducibility(&whole)),
        comments: Vec::new(),
        review_items: Vec::new(),
        trace_links,
        trace_lineage,
        files_modified: Vec::new(),
        metrics: Some(metrics(&whole)),
        artifacts: whole.artifacts,
        residuals: whole.residuals,
        actions: whole.actions,
        meta_actions: whole.meta_actions,
    };
    Trace { members, goals: Vec::new(), extra: journal(base, whole.head) }
}

fn model(base: &Base<'_>) -> Arc<str> {
    match &base.problem.settings().model {
        Some(model) => format!("{}/{}", model.provider, model.name).into(),
        None => "none".into(),
    }
}

fn trigger(base: &Base<'_>) -> Trigger {
    Trigger {
        event_type: TriggerType::TaskReceived,
        description: Some(base.problem.prompt().clone()),
        summary: Some(word::shortened(base.problem.prompt()).into()),
        from_user: None,
        reason: None,
        extra: Object::new(),
    }
}

fn outcome(whole: &Whole<'_>) -> Outcome {
    let records = whole.head.records.get().saturating_sub(1);
    let (event_type, summary, reason) = match &whole.conclusion.ending {
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

fn environment(whole: &Whole<'_>) -> ExecutionEnvironment {
    let header = &whole.base.header;
    let component = EnvironmentComponent {
        name: "hence-engine".into(),
        version: Some(header.engine_version.clone()),
        extra: Object::new(),
    };
    let configuration = Object::from_iter([
        ("profile", Value::from(header.profile.to_string())),
        ("policy", whole.plan.as_str().into()),
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

fn reproducibility(whole: &Whole<'_>) -> TraceReproducibility {
    let base = whole.base;
    let limitations = &whole.conclusion.limitations;
    TraceReproducibility {
        status: if limitations.is_empty() {
            ReproducibilityStatus::Reproducible
        } else {
            ReproducibilityStatus::PartiallyReproducible
        },
        entrypoints: vec![
            base.replay_command().into(),
            format!("hence verify {} --anchor {}", word::shell_word(base.run_id()), whole.head).into(),
        ],
        required_artifact_ids: vec![ArtifactId::new(PROBLEM)],
        required_environment_ids: vec![EnvironmentId::new(ENGINE)],
        limitations: limitations.iter().map(|text| text.as_str().into()).collect(),
        notes: None,
        extra: Object::new(),
    }
}

fn metrics(whole: &Whole<'_>) -> Metrics {
    let count = |count: usize| i64::try_from(count).ok();
    let gateways = || {
        whole.actions.iter().filter_map(|action| match &action.step {
            ActionStep::Gateway(word, _) => Some(*word),
            _ => None,
        })
    };
    Metrics {
        total_actions: count(whole.actions.len()),
        decision_points: count(gateways().count()),
        parallel_blocks: count(gateways().filter(|word| *word == GatewayType::ParallelSplit).count()),
        loops: count(whole.conclusion.loops),
        max_loop_iterations: count(whole.conclusion.iterations_max),
        meta_action_count: count(whole.meta_actions.len()),
        extra: Object::new(),
    }
}

fn journal(base: &Base<'_>, head: Head) -> Object {
    let about = Object::from_iter([
        ("head", Value::from(head.to_string())),
        ("records", head.records.get().into()),
        ("profile", base.header.profile.to_string().into()),
        ("problem_sha256", base.header.problem_spec_hash.into()),
    ]);
    Object::from_iter([(JOURNAL_MEMBER, about)])
}
