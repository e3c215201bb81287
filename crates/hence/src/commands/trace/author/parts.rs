//! The other parts of a trace: artifacts, references, observations, links, gaps and the end.

use hence_canon::{Digest, Object, Value};
use hence_review::authoring::{Change, Draft};
use hence_review::model::{
    ActionId, LinkId, Observation, Outcome, ReferenceArtifact, ReferenceArtifactId, ReferenceGoal, Residual,
    ResidualId, Text as Words, TraceId, TraceLink, decode_artifact,
};
use hence_review::vocabulary::{ResidualSource, ResidualStatus};

use super::{json, recorder};
use crate::args::{
    TraceArtifactArgs, TraceCompleteArgs, TraceLinkArgs, TraceObserveArgs, TraceReferenceArgs,
    TraceResidualArgs,
};
use crate::input;
use crate::prelude::*;

/// Returns the members of an artifact that is in a file: where it is, and the digest and the size of its content.
pub(super) fn file_members(file: &str) -> Result<Vec<(&'static str, Value)>, CliError> {
    let bytes = input::read_text(file)?;
    let metadata =
        Object::from_iter([("sha256", Value::from(Digest::of(&bytes))), ("bytes", bytes.len().into())]);
    Ok(vec![("content_ref", file.into()), ("metadata", metadata.into())])
}

/// Returns the file of an argument that is `@FILE`.
fn file_of(given: &str) -> Result<&str, CliError> {
    given.strip_prefix('@').filter(|file| !file.is_empty()).ok_or_else(|| {
        let message = format!("--content: expected @FILE, as @ledger.py, found {given:?}");
        CliError::new(Code::TraceRefused, message)
    })
}

fn text(given: &Option<String>) -> Option<Words> {
    given.as_deref().map(Into::into)
}

pub(in crate::commands::trace) fn artifact(
    context: &Context,
    args: &TraceArtifactArgs,
) -> Result<Exit, CliError> {
    let recorded = recorder::append(context, &args.target, |draft, _| new_artifact(draft, args))?;
    let made = recorded.draft().artifacts().last().map(|made| &made.common);
    let (action, id) =
        (made.and_then(|made| made.producer_action_id), made.map(|made| made.artifact_id.to_string()));
    recorded.report(context, action, id.into_iter().collect())
}

fn new_artifact(draft: &Draft, args: &TraceArtifactArgs) -> Result<Change, CliError> {
    let replaced = args.supersedes.as_deref().and_then(|id| draft.artifact(id));
    let revision = replaced.map_or(1, |replaced| replaced.common.revision.unwrap_or(1).saturating_add(1));
    let action = args.by.map_or(draft.last_action(), ActionId);
    let id = args.id.clone().unwrap_or_else(|| draft.free_artifact_id());
    let mut members = vec![
        ("artifact_id", Value::from(id)),
        ("artifact_type", args.kind.as_str().into()),
        ("revision", revision.into()),
        ("producer_action_id", action.0.into()),
        ("derived_from", args.sources.iter().map(String::as_str).collect()),
    ];
    let texts = [
        ("artifact_role", &args.role),
        ("format", &args.format),
        ("summary", &args.summary),
        ("supersedes", &args.supersedes),
    ];
    members.extend(texts.into_iter().filter_map(|(key, text)| Some((key, text.as_deref()?.into()))));
    let file = args.content.as_deref().map(file_of).transpose()?;
    members.extend(args.name.as_deref().or(file).map(|name| ("name", name.into())));
    if let Some(file) = file {
        members.extend(file_members(file)?);
    }
    members.extend(args.payload.as_deref().map(json).transpose()?.map(|payload| ("payload", payload)));
    let artifact = decode_artifact(&Object::from_iter(members).into()).map_err(|error| {
        let findings: Vec<String> = error
            .findings
            .iter()
            .map(|finding| format!("{}: {}", finding.pointer, finding.message()))
            .collect();
        let message = format!("an artifact of the kind {} cannot be made of this", args.kind);
        CliError::new(Code::TraceRefused, message).with_findings(findings).with_hint(hint::TRACE_SCHEMA)
    })?;
    Ok(Change::Artifact(Box::new(artifact)))
}

pub(in crate::commands::trace) fn reference(
    context: &Context,
    args: &TraceReferenceArgs,
) -> Result<Exit, CliError> {
    let file = args.content.as_deref().map(file_of).transpose()?;
    let payload = file.map(file_members).transpose()?.map(|members| Value::from(Object::from_iter(members)));
    let goal = |goal: &crate::args::NewGoal| ReferenceGoal {
        vg_id: goal.id.as_str().into(),
        description: goal.text.as_str().into(),
        kind: goal.kind,
        src: goal.text.as_str().into(),
        extra: Object::new(),
    };
    let reference = ReferenceArtifact {
        reference_artifact_id: ReferenceArtifactId::new(args.id.as_str()),
        name: args.name.as_str().into(),
        description: text(&args.description),
        domain: args.domain.as_str().into(),
        version: text(&args.version),
        source: text(&args.source),
        artifact_type: args.kind.as_str().into(),
        format: None,
        content_ref: file.map(Into::into),
        payload,
        verification_goals: args.goals.iter().map(goal).collect(),
        extra: Object::new(),
    };
    let recorded =
        recorder::append(context, &args.target, |_, _| Ok(Change::Reference(Box::new(reference))))?;
    recorded.report(context, None, vec![args.id.clone()])
}

pub(in crate::commands::trace) fn observe(
    context: &Context,
    args: &TraceObserveArgs,
) -> Result<Exit, CliError> {
    let mut about = None;
    let recorded = recorder::append(context, &args.target, |draft, _| {
        let action = args.on.map_or(draft.last_action(), ActionId);
        about = Some(action);
        let observation = Observation {
            observation_id: None,
            derived_from: args.sources.iter().map(|id| id.as_str().into()).collect(),
            statement: args.statement.as_str().into(),
            confidence: Some(args.confidence),
            extra: Object::new(),
        };
        Ok(Change::Observe { action, observation: Box::new(observation) })
    })?;
    recorded.report(context, about, Vec::new())
}

pub(in crate::commands::trace) fn link(context: &Context, args: &TraceLinkArgs) -> Result<Exit, CliError> {
    let recorded = recorder::append(context, &args.target, |draft, at| {
        let link = TraceLink {
            link_id: LinkId::new(draft.free_link_id()),
            from_trace_id: TraceId::new(draft.trace_id().clone()),
            to_trace_id: TraceId::new(args.to.as_str()),
            relationship: args.relation,
            created_at: Some(at.to_string().into()),
            created_by: draft.agent().map(|agent| agent.assistant.clone()),
            note: text(&args.note),
            extra: Object::new(),
        };
        Ok(Change::Link(Box::new(link)))
    })?;
    let id = recorded.draft().links().last().map(|link| link.link_id.to_string());
    recorded.report(context, None, id.into_iter().collect())
}

pub(in crate::commands::trace) fn residual(
    context: &Context,
    args: &TraceResidualArgs,
) -> Result<Exit, CliError> {
    let action = args.by.map(ActionId);
    let mut about = String::new();
    let recorded = recorder::append(context, &args.target, |draft, _| {
        about = args.id.clone().unwrap_or_else(|| draft.free_residual_id());
        let residual_id = ResidualId::new(about.as_str());
        if let Some(status) = args.status {
            return Ok(Change::Status { residual: residual_id, status, action, note: text(&args.note) });
        }
        let (Some(kind), Some(statement)) = (args.kind, args.statement.as_deref()) else {
            return Err(CliError::new(Code::TraceRefused, "expected a statement with --kind and --severity"));
        };
        Ok(Change::Residual(Box::new(Residual {
            residual_id,
            kind,
            statement: statement.into(),
            severity: args.severity,
            target: args.on.as_ref().map(|part| part.0.clone()),
            related_artifact_ids: Vec::new(),
            rationale: text(&args.rationale),
            suggested_check: text(&args.check),
            source: Some(ResidualSource::AgentDeclared),
            status: Some(ResidualStatus::Open),
            introduced_by_action_id: action,
            tags: Vec::new(),
            extra: Object::new(),
        })))
    })?;
    recorded.report(context, action, vec![about])
}

pub(in crate::commands::trace) fn complete(
    context: &Context,
    args: &TraceCompleteArgs,
) -> Result<Exit, CliError> {
    let outcome = Outcome {
        event_type: args.end.into(),
        description: None,
        summary: Some(args.summary.as_str().into()),
        from_user: None,
        reason: text(&args.reason),
        extra: Object::new(),
    };
    let recorded = recorder::append(context, &args.target, |_, _| Ok(Change::Complete(Box::new(outcome))))?;
    recorded.report(context, None, Vec::new())
}
