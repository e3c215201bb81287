//! `hence trace act`: an action of the agent.

use hence_canon::{Object, Value, parse};
use hence_review::authoring::{Change, Draft};
use hence_review::model::{
    Action, ActionCommon, ActionId, ActionPayload, ActionReproducibility, ActionStep, Artifact, ArtifactId,
    DecisionOption, Evidence, ExecutionMetadata, ExpectedOutput, GatewayPayload, Number,
    ReproductionProcedure, Text as Words, decode_artifact,
};
use hence_review::vocabulary::{
    ActionType, EvidenceType, GatewayType, ProcedureKind, ReproducibilityStatus, ReproductionKind,
};

use super::parts::file_members;
use super::{recorder, text_argument};
use crate::args::{NewOutput, TraceActArgs};
use crate::prelude::*;

pub(in crate::commands::trace) fn act(context: &Context, args: &TraceActArgs) -> Result<Exit, CliError> {
    let recorded = recorder::append(context, &args.target, |draft, _| change(draft, args))?;
    let action = recorded.draft().last_action();
    recorded.report(context, Some(action), args.outputs.iter().map(|output| output.id.clone()).collect())
}

fn change(draft: &Draft, args: &TraceActArgs) -> Result<Change, CliError> {
    let id = draft.next_action();
    let inputs: Vec<ArtifactId> = args.inputs.iter().map(|id| ArtifactId::new(id.as_str())).collect();
    let artifacts =
        args.outputs.iter().map(|output| made(output, id, &inputs)).collect::<Result<Vec<_>, _>>()?;
    let result = args.result.as_deref().map(text_argument).transpose()?;
    let common = ActionCommon {
        id,
        label: args.label.as_str().into(),
        rationale: args.why.as_str().into(),
        detail: detail(args)?,
        outputs: artifacts.iter().map(|artifact| artifact.common.artifact_id.clone()).collect(),
        evidence: evidence(args),
        observations: Vec::new(),
        execution: execution(args)?,
        reproducibility: reproducibility(args, result.as_deref(), &inputs, &artifacts),
        meta_action_id: None,
        inputs: inputs.clone(),
    };
    let action = Action { common, step: step(args, inputs, result.as_deref())?, extra: Object::new() };
    Ok(Change::Act { action: Box::new(action), artifacts, unit: args.unit.as_deref().map(Into::into) })
}

/// Returns the action in full: as it was described, or else its command.
fn detail(args: &TraceActArgs) -> Result<Option<Words>, CliError> {
    let detail = args.detail.as_deref().map(text_argument).transpose()?;
    Ok(detail.or_else(|| args.command.clone()).map(Into::into))
}

/// Makes an artifact that is no result of a formal tool.
fn made(output: &NewOutput, action: ActionId, inputs: &[ArtifactId]) -> Result<Artifact, CliError> {
    let mut members = vec![
        ("artifact_id", Value::from(output.id.as_str())),
        ("artifact_type", output.kind.as_str().into()),
        ("revision", 1.into()),
        ("producer_action_id", action.0.into()),
        ("derived_from", inputs.iter().map(ArtifactId::as_str).collect()),
    ];
    match &output.file {
        Some(file) => {
            members.push(("name", file.as_str().into()));
            members.extend(file_members(file)?);
        }
        None => members.push(("name", output.id.as_str().into())),
    }
    decode_artifact(&Object::from_iter(members).into()).map_err(|error| {
        let message =
            format!("--output {}: an artifact of the kind {} has a payload", output.id, output.kind);
        CliError::new(Code::TraceRefused, message).with_source(error).with_hint(hint::ARTIFACT_WITH_PAYLOAD)
    })
}

fn evidence(args: &TraceActArgs) -> Vec<Evidence> {
    let evidence = |evidence_type: EvidenceType, reference: &String, exit_code: Option<i64>| Evidence {
        evidence_type,
        reference: reference.as_str().into(),
        exit_code,
        extra: Object::new(),
    };
    let files = args.files.iter().map(|file| evidence(EvidenceType::FileRef, file, None));
    let urls = args.urls.iter().map(|url| evidence(EvidenceType::UrlRef, url, None));
    let command = args.command.iter().map(|line| evidence(EvidenceType::CommandOutput, line, args.exit_code));
    files.chain(urls).chain(command).collect()
}

fn execution(args: &TraceActArgs) -> Result<Option<ExecutionMetadata>, CliError> {
    let mut extra = Object::new();
    for (key, count) in [("tokens_in", args.tokens_in), ("tokens_out", args.tokens_out)] {
        if let Some(count) = count {
            extra = extra.with(key, u64::from(count));
        }
    }
    let tokens = [args.tokens_in, args.tokens_out].into_iter().flatten().map(u64::from).reduce(|a, b| a + b);
    if let Some(tokens) = tokens {
        extra = extra.with("tokens", tokens);
    }
    let mut cost = None;
    if let Some(money) = &args.cost {
        extra = extra.with("currency", money.0.clone());
        cost = match parse(money.1.to_string().as_bytes()) {
            Ok(Value::Int(amount)) => Some(Number::Int(amount)),
            Ok(Value::Float(amount)) => Some(Number::Float(amount)),
            _ => return Err(CliError::new(Code::TraceRefused, "--cost is no number")),
        };
    }
    let tool = args.tool.as_deref().or(args.command.as_ref().map(|_| "shell"));
    let text = |given: &Option<String>| given.as_deref().map(Words::from);
    let execution = ExecutionMetadata {
        tool: tool.map(Into::into),
        version: text(&args.tool_version),
        method: text(&args.method),
        determinism: args.determinism,
        duration_ms: args.duration_ms.map(i64::from),
        cost,
        extra,
    };
    Ok((execution != ExecutionMetadata::default()).then_some(execution))
}

/// Returns how the result of a command can be checked: by running the command again, whose effects nobody examined.
fn reproducibility(
    args: &TraceActArgs,
    result: Option<&str>,
    inputs: &[ArtifactId],
    made: &[Artifact],
) -> Option<ActionReproducibility> {
    let command = args.command.as_deref()?;
    Some(ActionReproducibility {
        status: ReproducibilityStatus::PartiallyReproducible,
        reproduction_kind: ReproductionKind::ToolReexecution,
        input_artifact_ids: inputs.to_vec(),
        environment_id: None,
        procedure: ReproductionProcedure {
            kind: ProcedureKind::Command,
            command: Some(command.into()),
            working_directory: None,
            arguments: Vec::new(),
            steps: Vec::new(),
            reference: None,
            extra: Object::new(),
        },
        expected_output: Some(ExpectedOutput {
            artifact_ids: made.iter().map(|artifact| artifact.common.artifact_id.clone()).collect(),
            result_summary: result.map(Into::into),
            ..ExpectedOutput::default()
        }),
        limitations: vec!["the agent reported the command; nobody examined what else it changes".into()],
        notes: None,
        extra: Object::new(),
    })
}

fn step(args: &TraceActArgs, inputs: Vec<ArtifactId>, result: Option<&str>) -> Result<ActionStep, CliError> {
    let payload = || {
        let status = args
            .status
            .map(|status| status.as_str())
            .or_else(|| args.exit_code.map(|code| if code == 0 { "completed" } else { "failed" }));
        let request = args.command.as_deref().map(|command| Object::from_iter([("command", command)]));
        let mut outcome: Vec<(&str, Value)> =
            status.map(|status| ("status", status.into())).into_iter().collect();
        outcome.extend(args.exit_code.map(|code| ("exit_code", code.into())));
        let outcome = (!outcome.is_empty()).then(|| Object::from_iter(outcome));
        ActionPayload { request, result: outcome, result_summary: result.map(Into::into) }
    };
    let is_decision = matches!(args.action_type, ActionType::Gateway(_));
    let has_options = !args.choose.is_empty() || !args.reject.is_empty();
    if !is_decision && has_options {
        let message = format!("--choose and --reject are for decisions, found {}", args.action_type.as_str());
        let decisions = GatewayType::WORDS.join(", ");
        return Err(CliError::new(Code::TraceRefused, message)
            .with_findings([format!("expected one of {decisions}")]));
    }
    Ok(match args.action_type {
        ActionType::Activity(word) => ActionStep::Activity(word, payload()),
        ActionType::Reasoning(word) => ActionStep::Reasoning(word, payload()),
        ActionType::Governance(word) => ActionStep::Governance(word, payload()),
        ActionType::Custom(word) => ActionStep::Custom(word, payload()),
        ActionType::Gateway(word) => ActionStep::Gateway(word, decision(args, inputs)?),
    })
}

fn decision(args: &TraceActArgs, supporting_inputs: Vec<ArtifactId>) -> Result<GatewayPayload, CliError> {
    if args.choose.is_empty() {
        let message =
            format!("{} is a decision: expected the option with --choose", args.action_type.as_str());
        return Err(CliError::new(Code::TraceRefused, message));
    }
    let mut options: Vec<DecisionOption> = Vec::new();
    for label in &args.choose {
        options.push(DecisionOption {
            label: label.as_str().into(),
            chosen: true,
            ..DecisionOption::default()
        });
    }
    for rejected in &args.reject {
        let Some((label, reason)) = rejected.split_once('=').filter(|(label, _)| !label.is_empty()) else {
            let message = format!("--reject: expected OPTION=REASON, found {rejected:?}");
            return Err(CliError::new(Code::TraceRefused, message));
        };
        if args.choose.iter().any(|chosen| chosen == label) {
            let message = format!("--reject: {label:?} is also chosen");
            return Err(CliError::new(Code::TraceRefused, message));
        }
        options.push(DecisionOption {
            label: label.into(),
            chosen: false,
            rejected_because: Some(reason.into()),
            ..DecisionOption::default()
        });
    }
    let decision_basis = args.detail.as_deref().unwrap_or(&args.why);
    Ok(GatewayPayload { decision_basis: Some(decision_basis.into()), supporting_inputs, options })
}
