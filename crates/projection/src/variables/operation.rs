//! Operations on variables as actions.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_engine::Determinism;
use hence_journal::RecordIndex;
use hence_review::model::{
    Action, ActionCommon, ActionPayload, ActionStep, ArtifactContent, ArtifactId, DecisionOption,
    GatewayPayload,
};
use hence_review::vocabulary::{ActionType, ActivityType, GatewayType, GovernanceType};
use hence_state::StepResult;
use hence_variables::{Action as Asked, Change, Event, Stored, Variable};

use super::VariablesView;
use crate::artifacts::{NewArtifact, NewArtifacts, PROBLEM, Succession};
use crate::delta::{Achieved, Facts, TraceDelta};
use crate::run_info::{action_common, action_step, repeatability};
use crate::text;
use crate::view::Context;

/// Returns the delta of an operation.
pub(super) fn delta(
    view: &VariablesView,
    context: &Context<'_>,
    index: RecordIndex,
    result: &StepResult,
    event: Event,
) -> TraceDelta {
    let unit = view.unit(event.state, &event, context.units);
    let mut new = NewArtifacts::after(context.artifacts);
    let (inputs, outputs) = flow(view, context, index, &event, &mut new);
    let determinism = Determinism::Recorded;
    let words = Words::of(&event);
    let common = ActionCommon {
        evidence: vec![context.run.evidence(index)],
        execution: Some(context.run.execution(result.step(), repeatability(determinism))),
        reproducibility: Some(context.run.reproducibility(determinism, &[], &inputs, &outputs)),
        meta_action_id: Some(unit.id.clone()),
        inputs: inputs.clone(),
        outputs,
        ..action_common(context.next, &words.label, &words.rationale)
    };
    let step = match event.action {
        Asked::Rollback => {
            ActionStep::Gateway(GatewayType::ExclusiveDecision, rollback_decision(&words, inputs))
        }
        action => {
            let request = Object::from_iter([
                ("action", Value::from(action.as_str())),
                ("state", event.state.to_string().into()),
                ("input_sha256", result.input_hash().into()),
            ]);
            let summary = text::shortened(&words.result);
            action_step(
                kind(&event),
                ActionPayload { request: Some(request), result: None, result_summary: Some(summary.into()) },
            )
        }
    };
    let achieved = match event.action {
        Asked::Fail | Asked::Cancel => Achieved::No,
        Asked::Get | Asked::Expire => Achieved::Unknown,
        _ => Achieved::Yes,
    };
    let action = Action { common, step, extra: Object::new() };
    TraceDelta {
        actions: vec![action],
        artifacts: new.into_vec(),
        residuals: Vec::new(),
        happened: 0,
        unit,
        achieved,
        facts: Facts::Event(Box::new(event)),
    }
}

/// Returns the action type of an operation.
fn kind(event: &Event) -> ActionType {
    let answers = || {
        event
            .changes
            .iter()
            .any(|change| matches!(change, Change::Write { variable, .. } if variable.name.is_final()))
    };
    match event.action {
        Asked::Init | Asked::Get => ActivityType::ReadDocumentation.into(),
        Asked::Import => ActivityType::ReadFile.into(),
        Asked::Checkpoint => GovernanceType::CreateSnapshot.into(),
        Asked::Set if answers() => ActivityType::Explain.into(),
        _ => ActivityType::ReportProgress.into(),
    }
}

/// Returns the decision of a rollback: the state returned to a checkpoint instead of continuing.
fn rollback_decision(words: &Words, supporting_inputs: Vec<ArtifactId>) -> GatewayPayload {
    let option = |label: &str, because: Option<&str>| DecisionOption {
        label: label.into(),
        chosen: because.is_none(),
        rejected_because: because.map(Into::into),
        ..DecisionOption::default()
    };
    GatewayPayload {
        decision_basis: Some(words.result.as_str().into()),
        supporting_inputs,
        options: vec![
            option("return to the checkpoint", None),
            option("go on from here", Some("whoever drives the run asked to return")),
        ],
    }
}

/// Returns the artifacts an operation used and made.
fn flow(
    view: &VariablesView,
    context: &Context<'_>,
    index: RecordIndex,
    event: &Event,
    new: &mut NewArtifacts<'_>,
) -> (Vec<ArtifactId>, Vec<ArtifactId>) {
    let state = event.state;
    let mut inputs: Vec<ArtifactId> = Vec::new();
    for change in &event.changes {
        if let Change::Read { place, name }
        | Change::Delete { place, name, .. }
        | Change::Rename { place, name, .. } = change
        {
            let newest = context.artifacts.newest(&view.key(state, *place, name)).cloned();
            inputs.extend(newest.filter(|id| !inputs.contains(id)));
        }
    }
    let task = view.tasks.get(&state);
    let writes =
        event.changes.iter().any(|change| matches!(change, Change::Write { .. } | Change::Imported(_)));
    if writes && event.action != Asked::Rollback {
        inputs.extend(task.into_iter().flat_map(|task| task.read.iter().cloned()));
    }
    if inputs.is_empty() {
        inputs.push(ArtifactId::new(PROBLEM));
    }
    let mut outputs = Vec::new();
    for change in &event.changes {
        let (key, name, content_ref, value) = match change {
            Change::Write { place, variable, .. } => {
                let key = view.key(state, *place, &variable.name);
                (key, variable.name.shared(), content_ref(variable, index), variable.stored.shown())
            }
            Change::Rename { place, to, .. } => {
                let content = format!("journal:{}/result/output", index.get());
                (view.key(state, *place, to), to.shared(), content, Value::from("renamed"))
            }
            Change::Imported(_) => {
                let content = format!("journal:{}/result/output", index.get());
                (format!("{state}/document"), Arc::from("document"), content, Value::from("a state document"))
            }
            _ => continue,
        };
        let sha256 = Canonical::of(&value).digest();
        outputs.push(new.make(NewArtifact {
            key: key.into(),
            content: if &*name == "prompt" {
                ArtifactContent::UserInstruction
            } else {
                ArtifactContent::AnalysisNote
            },
            summary: text::shortened(&format!("{name}: {}", text::summary(&value))),
            name,
            role: None,
            action: context.next,
            sources: inputs.clone(),
            succession: Succession::Replaces,
            content_ref,
            metadata: Object::from_iter([("sha256", Value::from(sha256)), ("record", index.get().into())]),
        }));
    }
    (inputs, outputs)
}

fn content_ref(variable: &Variable, index: RecordIndex) -> String {
    match &variable.stored {
        Stored::Spilled(spill) => format!("blob:{}", spill.sha256),
        _ => format!("journal:{}/result/output", index.get()),
    }
}

/// The texts of an operation's action.
struct Words {
    label: String,
    rationale: String,
    result: String,
}

impl Words {
    fn of(event: &Event) -> Self {
        let names: Vec<String> = event.changes.iter().filter_map(named).collect();
        let listed = if names.is_empty() { String::new() } else { format!(" {}", names.join(", ")) };
        let why = event.changes.iter().find_map(reason_of);
        let (verb, state) = (event.action.as_str(), event.state);
        let rationale = match why {
            Some(why) => why,
            None => format!("Whoever drives the run asked {state} to {verb}{listed}."),
        };
        let status = event.changes.iter().find_map(|change| match change {
            Change::Status { status, .. } => Some(format!("; the task is {status}")),
            _ => None,
        });
        let values: Vec<String> = event.changes.iter().filter_map(value_of).collect();
        let done = if values.is_empty() { format!("{verb}{listed}") } else { values.join("; ") };
        Self {
            label: text::shortened(&format!("{verb}{listed} in {state}")),
            rationale: text::shortened(&rationale),
            result: format!("{done}{}", status.unwrap_or_default()),
        }
    }
}

/// Returns the name of the variable or checkpoint that a change is about.
fn named(change: &Change) -> Option<String> {
    match change {
        Change::Write { variable, .. } => Some(variable.name.to_string()),
        Change::Delete { name, .. } | Change::Read { name, .. } => Some(name.to_string()),
        Change::Rename { name, to, .. } => Some(format!("{name} to {to}")),
        Change::Checkpoint { name, .. } => Some(name.to_string()),
        Change::RolledBack { to } => Some(format!("to {to}")),
        _ => None,
    }
}

fn value_of(change: &Change) -> Option<String> {
    match change {
        Change::Write { variable, .. } => {
            Some(format!("{} = {}", variable.name, text::summary(&variable.stored.shown())))
        }
        _ => None,
    }
}

/// Returns the reason of a change, if its author gave one.
fn reason_of(change: &Change) -> Option<String> {
    let (Change::Write { entry, .. } | Change::Delete { entry, .. } | Change::Rename { entry, .. }) = change
    else {
        return match change {
            Change::Status { reason: Some(reason), .. } => Some(reason.to_string()),
            Change::Checkpoint { description: Some(description), .. } => Some(description.to_string()),
            _ => None,
        };
    };
    let reason = entry.metadata.get("reason").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    reason.map(str::to_owned)
}
