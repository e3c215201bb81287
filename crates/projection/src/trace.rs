//! Assembling the trace from its parts.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_journal::Head;
use hence_review::model::{
    Action, ActionStep, Artifact, ArtifactId, EnvironmentComponent, EnvironmentId, ExecutionEnvironment,
    LinkId, MetaAction, Metrics, Outcome, OutcomeType, Residual, Trace, TraceId, TraceLineage, TraceLink,
    TraceMembers, TraceReproducibility, Trigger, TriggerType,
};
use hence_review::vocabulary::{
    ActivityType, ChainStatus, EnvironmentKind, EvidenceType, GatewayType, Relationship,
    ReproducibilityStatus,
};

use crate::artifacts::PROBLEM;
use crate::run_info::{ENGINE, RunInfo};
use crate::text;
use crate::view::{Conclusion, Ending};

/// The member that names the journal of a trace: its head, its profile and the problem's digest.
pub const JOURNAL_MEMBER: &str = "derived_from_journal";

/// The parts of a trace.
pub(crate) struct TraceParts<'w> {
    pub(crate) run: &'w RunInfo<'w>,
    pub(crate) plan: String,
    pub(crate) head: Head,
    pub(crate) links: &'w [RunLink],
    pub(crate) conclusion: Conclusion,
    pub(crate) actions: Vec<Action>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) meta_actions: Vec<MetaAction>,
    pub(crate) residuals: Vec<Residual>,
}

/// Assembles a trace.
pub(crate) fn assemble(parts: TraceParts<'_>) -> Trace {
    let run = parts.run;
    let (trace_links, trace_lineage) = links(run.id(), parts.links);
    let members = TraceMembers {
        trace_id: TraceId::new(run.header.trace_id.clone()),
        assistant: "hence".into(),
        model: model(run),
        timestamp: run.header.created_at.as_str().into(),
        trigger: trigger(run),
        outcome: outcome(&parts),
        reference_artifacts: Vec::new(),
        policies: Vec::new(),
        policy_evaluations: Vec::new(),
        execution_environments: vec![environment(&parts)],
        reproducibility: Some(reproducibility(&parts)),
        comments: Vec::new(),
        review_items: Vec::new(),
        trace_links,
        trace_lineage,
        files_modified: files_modified(&parts.actions),
        metrics: Some(metrics(&parts)),
        artifacts: parts.artifacts,
        residuals: parts.residuals,
        actions: parts.actions,
        meta_actions: parts.meta_actions,
    };
    Trace { members, goals: Vec::new(), extra: journal(run, parts.head) }
}

/// Returns the files that the actions changed, each once, in the order of their first change.
fn files_modified(actions: &[Action]) -> Vec<Arc<str>> {
    use ActivityType::{CreateFile, DeleteFile, EditFile};
    let changes =
        |action: &&Action| matches!(action.step, ActionStep::Activity(EditFile | CreateFile | DeleteFile, _));
    let mut files: Vec<Arc<str>> = Vec::new();
    for evidence in actions.iter().filter(changes).flat_map(|action| &action.common.evidence) {
        if evidence.evidence_type == EvidenceType::FileRef && !files.contains(&evidence.reference) {
            files.push(evidence.reference.clone());
        }
    }
    files
}

fn model(run: &RunInfo<'_>) -> Arc<str> {
    match &run.problem.settings().model {
        Some(model) => format!("{}/{}", model.provider, model.name).into(),
        None => solve_model(run.problem.canonical().value()).unwrap_or_else(|| "none".into()),
    }
}

/// Returns the model of the turns of a run of the loop, by the name that a person gave it.
fn solve_model(problem: &hence_canon::Value) -> Option<Arc<str>> {
    let solve = problem.get("settings")?.get("solve")?;
    Some(solve.get("model")?.get("name")?.as_str()?.into())
}

fn trigger(run: &RunInfo<'_>) -> Trigger {
    Trigger {
        event_type: TriggerType::TaskReceived,
        description: Some(run.problem.prompt().clone()),
        summary: Some(text::shortened(run.problem.prompt()).into()),
        from_user: None,
        reason: None,
        extra: Object::new(),
    }
}

fn outcome(parts: &TraceParts<'_>) -> Outcome {
    // The header is no record of what happened.
    let records = parts.head.records.get().saturating_sub(1);
    let (event_type, summary, reason) = match &parts.conclusion.ending {
        Ending::Completed => {
            (OutcomeType::ProcessCompleted, format!("The run completed after {records} records."), None)
        }
        Ending::Partial(reason) => (
            OutcomeType::ProcessCompleted,
            format!("The run completed in part after {records} records: {}.", text::shortened(reason)),
            Some(reason.as_str().into()),
        ),
        Ending::Failed(reason) => (
            OutcomeType::ProcessAborted,
            format!("The run failed after {records} records: {}.", text::shortened(reason)),
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

fn environment(parts: &TraceParts<'_>) -> ExecutionEnvironment {
    let header = &parts.run.header;
    let component = EnvironmentComponent {
        name: "hence-engine".into(),
        version: Some(header.engine_version.clone()),
        ..EnvironmentComponent::default()
    };
    let configuration = Object::from_iter([
        ("profile", Value::from(header.profile.to_string())),
        ("policy", parts.plan.as_str().into()),
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

fn reproducibility(parts: &TraceParts<'_>) -> TraceReproducibility {
    let run = parts.run;
    let limitations = &parts.conclusion.limitations;
    TraceReproducibility {
        status: if limitations.is_empty() {
            ReproducibilityStatus::Reproducible
        } else {
            ReproducibilityStatus::PartiallyReproducible
        },
        entrypoints: vec![
            run.replay_command().into(),
            format!("hence verify {} --anchor {}", text::shell_word(run.id()), parts.head).into(),
        ],
        required_artifact_ids: vec![ArtifactId::new(PROBLEM)],
        required_environment_ids: vec![EnvironmentId::new(ENGINE)],
        limitations: limitations.iter().map(|text| text.as_str().into()).collect(),
        notes: None,
        extra: Object::new(),
    }
}

fn metrics(parts: &TraceParts<'_>) -> Metrics {
    let count = |count: usize| i64::try_from(count).ok();
    let gateways = || {
        parts.actions.iter().filter_map(|action| match &action.step {
            ActionStep::Gateway(word, _) => Some(*word),
            _ => None,
        })
    };
    Metrics {
        total_actions: count(parts.actions.len()),
        decision_points: count(gateways().count()),
        parallel_blocks: count(gateways().filter(|word| *word == GatewayType::ParallelSplit).count()),
        loops: count(parts.conclusion.loops),
        max_loop_iterations: count(parts.conclusion.iterations_max),
        meta_action_count: count(parts.meta_actions.len()),
        ..Metrics::default()
    }
}

fn journal(run: &RunInfo<'_>, head: Head) -> Object {
    let about = Object::from_iter([
        ("head", Value::from(head.to_string())),
        ("records", head.records.get().into()),
        ("profile", run.header.profile.to_string().into()),
        ("problem_sha256", run.header.problem_spec_hash.into()),
    ]);
    Object::from_iter([(JOURNAL_MEMBER, about)])
}
/// A link from a run to a related run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunLink {
    /// The other run.
    pub run: Arc<str>,
    /// The relation.
    pub relation: RunRelation,
    /// The run at the root of the chain, if it is known.
    pub root: Option<Arc<str>>,
    /// A note for people: where in the other run.
    pub note: Option<Arc<str>>,
}

/// The relation of a run to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunRelation {
    /// It shares the other's records up to a step and then continues on its own.
    ForkedFrom,
    /// A step of the other started it.
    StartedBy,
    /// It runs the same again.
    Reruns,
    /// A step of this one started the other.
    Started,
}

/// Returns the links of a run in the trace format.
pub(crate) fn links(run: &str, links: &[RunLink]) -> (Vec<TraceLink>, Option<TraceLineage>) {
    let link = |(place, link): (usize, &RunLink)| TraceLink {
        link_id: LinkId::new(format!("link-{}", place + 1)),
        from_trace_id: TraceId::new(run),
        to_trace_id: TraceId::new(link.run.clone()),
        relationship: match link.relation {
            RunRelation::ForkedFrom => Relationship::ForkedFrom,
            RunRelation::StartedBy => Relationship::DerivedFrom,
            RunRelation::Reruns => Relationship::Reruns,
            RunRelation::Started => Relationship::RelatedTo,
        },
        created_at: None,
        created_by: None,
        note: link.note.clone(),
        extra: Object::new(),
    };
    // A run linked to itself would be its own ancestor.
    let others = || links.iter().filter(|link| &*link.run != run);
    let lineage = others().find(|link| link.relation != RunRelation::Started).map(|parent| TraceLineage {
        parent_trace_id: Some(TraceId::new(parent.run.clone())),
        root_trace_id: Some(TraceId::new(parent.root.clone().unwrap_or_else(|| parent.run.clone()))),
        chain_status: Some(ChainStatus::Active),
        ..TraceLineage::default()
    });
    (others().enumerate().map(link).collect(), lineage)
}
