//! What a run of a skill does not establish, as declared gaps.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::Value;
use hence_cognition::run::StepOutcome;
use hence_cognition::skill::{Flow, Step};
use hence_cognition::state::{Frame, StepStatus};
use hence_review::model::{ActionId, Artifact, ArtifactId, Residual, TargetPart};
use hence_review::vocabulary::{ActionType, ResidualKind, ResidualSeverity};

use super::step::problem;
use super::{SkillView, kind};
use crate::base::Base;
use crate::ending::Ending;
use crate::gap::{Gap, gap};
use crate::view::Scene;
use crate::word;

/// What a single step leaves open, told of the action that shows it best.
pub(super) fn of_step(
    step: &Step,
    kind: ActionType,
    outcome: &StepOutcome,
    action: ActionId,
    artifacts: &[Artifact],
) -> Vec<Residual> {
    let id = &step.id;
    let mut gaps: Vec<Gap> = Vec::new();
    match outcome.status {
        StepStatus::Failed => {
            let told = outcome.failure.as_ref().map_or_else(String::new, |failure| format!(": {failure}"));
            let statement = word::shortened(&format!("Step {id} failed{told}"));
            let found =
                gap(&format!("failed-{action}"), ResidualKind::Limitation, ResidualSeverity::High, statement);
            gaps.push(found.check("Mend what the error names and run the skill again."));
        }
        StepStatus::Skipped => {
            let statement = format!("Step {id} was skipped: its condition did not hold.");
            let found =
                gap(&format!("skipped-{action}"), ResidualKind::OutOfScope, ResidualSeverity::Low, statement);
            gaps.push(found.check("Confirm that the step was not needed."));
        }
        StepStatus::Degraded => {
            let statement =
                format!("Step {id} gave nothing: a gate denied it, and the run went on without it.");
            let found = gap(
                &format!("degraded-{action}"),
                ResidualKind::OutOfScope,
                ResidualSeverity::Medium,
                statement,
            );
            gaps.push(
                found.check("Ask why the gate denied, and whether the result stands without the step."),
            );
        }
        _ => {}
    }
    gaps.extend(limits(step, outcome, action));
    let ids: Vec<ArtifactId> = artifacts.iter().map(|artifact| artifact.common.artifact_id.clone()).collect();
    if let Some(unmet) = unmet(kind, outcome) {
        let statement = format!("The check {id} did not hold: {unmet}.");
        let found =
            gap(&format!("check-{action}"), ResidualKind::Unverified, ResidualSeverity::High, statement);
        gaps.push(
            found
                .check("Look at what the check found, and mend it or say why it does not matter.")
                .related(&ids),
        );
    }
    gaps.into_iter().map(|gap| gap.of_action(action).written()).collect()
}

/// Loops that ended at their limit, items and branches that failed, gates that only warned.
fn limits(step: &Step, outcome: &StepOutcome, action: ActionId) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut limit = |name: &str, severity: ResidualSeverity, statement: String, check: &str| {
        let found =
            gap(&format!("{name}-{action}"), ResidualKind::Limitation, severity, word::shortened(&statement));
        gaps.push(found.check(check));
    };
    let (id, meta) = (&step.id, &outcome.meta);
    if let Flow::While(whiles) = &step.control.flow
        && meta.get("while_exhausted") == Some(&Value::Bool(true))
    {
        let (made, condition) = (outcome.commits.len(), whiles.condition().text());
        let statement = format!(
            "The loop of {id} ended at its limit of {made} iterations; `{condition}` may still hold."
        );
        limit(
            "loop-limit",
            ResidualSeverity::High,
            statement,
            "Raise max_iterations, or ask why the condition stays.",
        );
    }
    let failed = meta.get("foreach_errors").and_then(Value::as_array).unwrap_or_default();
    if !failed.is_empty() {
        let statement = format!("{} items of {id} failed and are missing from its result.", failed.len());
        limit(
            "items-failed",
            ResidualSeverity::High,
            statement,
            "Look at the items by their index in the record.",
        );
    }
    if let Some(errors) = meta.get("scatter_errors").and_then(Value::as_object) {
        let told: Vec<String> = errors.iter().map(|(name, why)| format!("{name} ({})", shown(why))).collect();
        let statement =
            format!("These branches of {id} failed and have no part in its result: {}.", told.join(", "));
        limit(
            "branches-failed",
            ResidualSeverity::Medium,
            statement,
            "Ask whether the result stands without them.",
        );
    }
    for (place, note) in outcome.notes.iter().filter(|note| &*note.kind == "safety_gate_warning").enumerate()
    {
        let statement = format!("Step {id} ran against the advice of a gate: {}", note.message);
        let name = format!("gate-{}", place + 1);
        limit(&name, ResidualSeverity::Medium, statement, "Ask whether the gate is right.");
    }
    gaps
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a check says of itself when it did not find everything in order: in the words of tests, of verification, of
/// conformance and of co-simulation.
const UNMET: &[&str] = &["failed", "refuted", "unknown", "partial", "mismatched", "error"];

/// Returns what a check says that it did not find in order.
fn unmet(kind: ActionType, outcome: &StepOutcome) -> Option<String> {
    let produced = outcome.produced.as_ref().filter(|_| kind::checks(kind))?;
    let denied = ["holds", "passed", "valid", "ok", "success"]
        .into_iter()
        .find(|key| produced.get(key) == Some(&Value::Bool(false)))
        .map(|key| format!("{key} is false"));
    let failed = || {
        let status = produced.get("status")?.as_str()?;
        UNMET.contains(&status).then(|| format!("its status is {status}"))
    };
    let unsupported = || {
        let items = produced.get("unsupported")?.as_array().filter(|items| !items.is_empty())?;
        Some(format!("{} are unsupported", items.len()))
    };
    denied.or_else(failed).or_else(unsupported)
}

/// Outputs a skill declares and no step wrote.
pub(super) fn missing_outputs(told: &str, action: ActionId) -> Residual {
    let statement = word::shortened(&format!("The skill did not give what it declares: {told}"));
    gap("outputs-missing", ResidualKind::Limitation, ResidualSeverity::High, statement)
        .check("Ask which step should have written them, and why it did not.")
        .of_action(action)
        .written()
}

/// What the run as a whole leaves open.
pub(super) fn of_whole(view: &SkillView<'_>, scene: &Scene<'_>) -> Vec<Residual> {
    let mut gaps: Vec<Residual> = Vec::new();
    let frame = &view.progress.state().memory.frame().clone();
    for (place, assumption) in frame.assumptions.iter().enumerate() {
        let id = format!("assumption-{}", place + 1);
        let statement = format!("Taken for granted: {}", word::shortened(assumption));
        let found = gap(&id, ResidualKind::Assumption, ResidualSeverity::Medium, statement)
            .check("Establish it, or say what follows if it is wrong.")
            .on(TargetPart::Artifact(problem()))
            .declared();
        gaps.push(found.written());
    }
    gaps.extend(set_by_hand(view));
    gaps.extend(unread(view, frame));
    if !view.pinned.inputs.is_empty() {
        let names: Vec<&str> = view.pinned.inputs.keys().map(|name| &**name).collect();
        let statement =
            format!("The inputs are taken as they were given: {}", word::shortened(&names.join(", ")));
        let found = gap("inputs-as-given", ResidualKind::Assumption, ResidualSeverity::Low, statement)
            .check("Compare them with where they come from.")
            .on(TargetPart::Artifact(problem()));
        gaps.push(found.written());
    }
    gaps.extend(unchecked(view, scene).filter(|_| view.checked));
    if !view.checked {
        let statement = "No step of the skill checked a result.".to_owned();
        let found = gap("no-verification", ResidualKind::Unverified, ResidualSeverity::Medium, statement)
            .check("Add a step that checks, or judge the outputs by hand.")
            .on(TargetPart::Trace);
        gaps.push(found.written());
    }
    for (capability, (steps, first)) in &view.recorded {
        let statement = format!(
            "The results of {capability} ({steps} steps) are on record and cannot be computed again."
        );
        let id = format!("recorded-{capability}");
        let found = gap(&id, ResidualKind::Limitation, ResidualSeverity::Low, statement)
            .check(&format!("{} compares everything else", scene.base.replay_command()))
            .on(TargetPart::Action(*first));
        gaps.push(found.written());
    }
    gaps
}

/// What a fork sets before it goes its own way: no step gave it.
fn set_by_hand(view: &SkillView<'_>) -> Vec<Residual> {
    let set = view.pinned.links.origin.iter().flat_map(|origin| &origin.set);
    let told = set.enumerate().map(|(number, (target, value))| {
        let statement = format!("The fork sets {target} by hand: {}", word::shortened(&shown(value)));
        gap(&format!("set-{}", number + 1), ResidualKind::Assumption, ResidualSeverity::Medium, statement)
            .check("Ask why it was set, and what follows if it is not so.")
            .on(TargetPart::Artifact(problem()))
            .declared()
            .written()
    });
    told.collect()
}

/// Outputs that no check looked at, neither at them nor at anything made from them.
fn unchecked(view: &SkillView<'_>, scene: &Scene<'_>) -> Option<Residual> {
    let sources: BTreeMap<&ArtifactId, &[ArtifactId]> = scene
        .shelf
        .artifacts()
        .iter()
        .map(|artifact| (&artifact.common.artifact_id, artifact.common.derived_from.as_slice()))
        .collect();
    let mut covered: BTreeSet<&ArtifactId> = BTreeSet::new();
    let mut open: Vec<&ArtifactId> = view.looked_at.iter().collect();
    while let Some(id) = open.pop() {
        if covered.insert(id) {
            open.extend(sources.get(id).copied().unwrap_or_default());
        }
    }
    let outputs: Vec<ArtifactId> = view.outputs.iter().filter(|id| !covered.contains(id)).cloned().collect();
    let named: Vec<&str> = outputs.iter().map(ArtifactId::as_str).collect();
    let statement = format!("No step checked these outputs: {}", word::shortened(&named.join(", ")));
    let found = gap("outputs-unchecked", ResidualKind::Unverified, ResidualSeverity::Medium, statement)
        .check("Add a step that checks them, or judge them by hand.")
        .on(TargetPart::Trace)
        .related(&outputs);
    Some(found.written()).filter(|_| !outputs.is_empty())
}

/// Boundaries and criteria of the frame that no step even reads: nothing can have checked them.
fn unread(view: &SkillView<'_>, frame: &Frame) -> Vec<Residual> {
    let declared = [("constraints", &frame.constraints), ("success_criteria", &frame.success_criteria)];
    let mut gaps = Vec::new();
    for (field, object) in declared {
        for (place, (name, value)) in object.iter().enumerate() {
            let whole = format!("frame.{field}");
            let path = format!("{whole}.{name}");
            let reads = |text: &str| {
                text == "frame" || text == whole || text == path || text.starts_with(&format!("{path}."))
            };
            if view.frame_reads.iter().any(|text| reads(text)) {
                continue;
            }
            let said = format!("No step reads the frame's {field} {name}: {}", shown(value));
            let found = gap(
                &format!("{}-{}", field.replace('_', "-"), place + 1),
                ResidualKind::Unverified,
                ResidualSeverity::Medium,
                word::shortened(&said),
            )
            .check("Check the outputs against it by hand, or add a step that does.")
            .on(TargetPart::Artifact(problem()));
            gaps.push(found.written());
        }
    }
    gaps
}

/// Steps that never ran, a record that ends too early, and whoever it waits for.
pub(super) fn of_end(view: &SkillView<'_>, base: &Base<'_>, ending: &Ending) -> Vec<Residual> {
    let mut gaps = Vec::new();
    let steps = view.skill().steps.iter().map(|step| &step.id);
    let never: Vec<&str> = steps.filter(|id| !view.seen.contains(*id)).map(|id| &**id).collect();
    if !never.is_empty() {
        let statement = format!(
            "{} steps of the skill did not run: {}.",
            never.len(),
            word::shortened(&never.join(", "))
        );
        let found = gap("not-run", ResidualKind::OutOfScope, ResidualSeverity::Medium, statement)
            .check("Do not take the outputs for more than the steps that ran.")
            .on(TargetPart::Trace);
        gaps.push(found.written());
    }
    if *ending != Ending::Unfinished {
        return gaps;
    }
    let statement = "The record ends before the run does.".to_owned();
    let found = gap("unfinished", ResidualKind::Limitation, ResidualSeverity::High, statement)
        .check(&base.resume_command())
        .on(TargetPart::Trace);
    gaps.push(found.written());
    gaps
}
