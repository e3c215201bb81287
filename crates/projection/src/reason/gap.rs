//! What a run of a policy does not establish, as declared gaps.
//!
//! Each follows from the record: what no step checks, what failed, what was skipped, what was never reached.

use hence_canon::Value;
use hence_engine::Determinism;
use hence_journal::{LoopAction, LoopControl};
use hence_review::model::{ArtifactId, Residual, TargetPart};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity};
use hence_state::{Outcome, StepResult};

use super::action::condition;
use super::{Reason, kind};
use crate::base::Base;
use crate::ending::Ending;
use crate::gap::gap;
use crate::shelf::PROBLEM;
use crate::view::Scene;
use crate::word;

/// What a single step leaves open.
pub(super) fn of_step(reason: &Reason, scene: &Scene<'_>, result: &StepResult) -> Vec<Residual> {
    let (name, id) = (result.step(), scene.next);
    let found = match result.outcome() {
        Outcome::Failed(errors) => {
            let told: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect();
            let statement = format!("Step {name} failed: {}", word::shortened(&told.join("; ")));
            gap(&format!("failed-{id}"), ResidualKind::Limitation, ResidualSeverity::High, statement)
                .check("Mend what the error names and run the problem again.")
        }
        Outcome::Skipped => {
            let statement = format!("Step {name} was skipped: it had nothing to do.");
            gap(&format!("skipped-{id}"), ResidualKind::OutOfScope, ResidualSeverity::Low, statement)
                .check("Confirm that the step was not needed.")
        }
        Outcome::Success(_) if reason.determinism(name) == Determinism::Recorded => {
            let statement = format!("The result of step {name} is on record and cannot be computed again.");
            gap(&format!("recorded-{id}"), ResidualKind::Limitation, ResidualSeverity::Low, statement)
                .check(&format!("{} compares everything else", scene.base.replay_command()))
        }
        Outcome::Success(_) => return Vec::new(),
    };
    vec![found.of_action(id).written()]
}

/// What a loop that ended at its limit leaves open.
pub(super) fn of_loop(scene: &Scene<'_>, control: &LoopControl) -> Vec<Residual> {
    if control.action != LoopAction::MaxIterationsReached {
        return Vec::new();
    }
    let statement = format!(
        "The loop over {} … {} ended at its limit after iteration {}; its condition {} was never met.",
        control.start_step,
        control.end_step,
        control.loop_iteration,
        condition(&control.stop_condition),
    );
    let found = gap("loop-limit", ResidualKind::Limitation, ResidualSeverity::High, statement)
        .check("Raise settings.loop.max_iterations, or ask why the condition is not met.")
        .of_action(scene.next);
    vec![found.written()]
}

/// What the run as a whole leaves open.
pub(super) fn of_whole(reason: &Reason, scene: &Scene<'_>) -> Vec<Residual> {
    let mut gaps = Vec::new();
    frame(reason, &mut gaps);
    verification(reason, scene, &mut gaps);
    gaps
}

/// What the problem brings and no built-in step examines.
fn frame(reason: &Reason, gaps: &mut Vec<Residual>) {
    let only_built_in = reason.executed.iter().all(|step| kind::built_in(step).is_some());
    let problem = || TargetPart::Artifact(ArtifactId::new(PROBLEM));
    let items = reason.problem.evidence().len();
    if reason.executed.contains("AcquireEvidence") && items > 0 {
        let statement = format!(
            "The evidence ({items} items) is taken as the problem states it; no step examined a source."
        );
        let found = gap("evidence-as-given", ResidualKind::Assumption, ResidualSeverity::Medium, statement)
            .check("Open the source of each item and compare it with what the item claims.")
            .on(problem());
        gaps.push(found.written());
    }
    if !only_built_in {
        return;
    }
    for (place, constraint) in reason.problem.constraints().iter().enumerate() {
        let statement = format!("No step checks the constraint: {}", word::shortened(constraint));
        let id = format!("constraint-{}", place + 1);
        let found = gap(&id, ResidualKind::Unverified, ResidualSeverity::Medium, statement)
            .check("Check the answer against the constraint by hand, or add a step that does.")
            .on(problem());
        gaps.push(found.written());
    }
}

/// What verification said, and what it cannot say.
fn verification(reason: &Reason, scene: &Scene<'_>, gaps: &mut Vec<Residual>) {
    let Some((action, output)) = &reason.verification else {
        let statement = "No verification step ran.".to_owned();
        let found = gap("no-verification", ResidualKind::Unverified, ResidualSeverity::High, statement)
            .check("Run a policy that verifies, or judge the answer by hand.")
            .on(TargetPart::Trace);
        return gaps.push(found.written());
    };
    let Some(output) = output else { return };
    let Some(artifact) = scene.shelf.newest("verification") else { return };
    let statement = "Verification checks that tasks and required evidence are present, not that the answer follows from them.";
    let presence = gap(
        "verification-of-presence",
        ResidualKind::Limitation,
        ResidualSeverity::Medium,
        statement.to_owned(),
    )
    .check("Read the answer against the evidence.")
    .on(TargetPart::Artifact(artifact.clone()))
    .by(*action);
    gaps.push(presence.written());
    let failed = |value: &Value| value.get("status").and_then(Value::as_str) == Some("failed");
    if !failed(output) {
        return;
    }
    let paths = output.get("paths").and_then(Value::as_array).unwrap_or_default();
    let unmet: Vec<(usize, &Value)> = paths.iter().enumerate().filter(|(_, path)| failed(path)).collect();
    let mut declare = |id: String, statement: String| {
        let found = gap(&id, ResidualKind::Unverified, ResidualSeverity::High, statement)
            .check("Bring the evidence that is missing and run the problem again.")
            .on(TargetPart::Artifact(artifact.clone()))
            .by(*action);
        gaps.push(found.written());
    };
    if unmet.is_empty() {
        declare("verification-failed".to_owned(), "Verification failed.".to_owned());
    }
    for (place, path) in unmet {
        let name = path.get("name").and_then(Value::as_str).unwrap_or("");
        let statement = format!("Verification failed along the path {}.", word::shortened(name));
        declare(format!("verification-path-{}", place + 1), statement);
    }
}

/// Steps of the plan that never ran, and a record that ends too early.
pub(super) fn of_end(reason: &Reason, base: &Base<'_>, ending: &Ending) -> Vec<Residual> {
    let mut gaps = Vec::new();
    let steps = reason.outline.iter().map(|step| &step.name);
    let never: Vec<&str> =
        steps.filter(|name| !reason.executed.contains(*name)).map(|name| &**name).collect();
    if !never.is_empty() {
        let statement = format!("These steps of the plan did not run: {}.", never.join(", "));
        let found = gap("not-run", ResidualKind::OutOfScope, ResidualSeverity::Medium, statement)
            .check("Do not take the answer for more than the steps that ran.")
            .on(TargetPart::Trace);
        gaps.push(found.written());
    }
    if *ending == Ending::Unfinished {
        let statement = "The record ends before the run does.".to_owned();
        let found = gap("unfinished", ResidualKind::Limitation, ResidualSeverity::High, statement)
            .check(&base.resume_command())
            .on(TargetPart::Trace);
        gaps.push(found.written());
    }
    gaps
}
