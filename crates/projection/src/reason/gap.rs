//! Gaps of a run of a policy: results that no step checks, failed steps, skipped steps, steps never reached.

use hence_canon::Value;
use hence_engine::Determinism;
use hence_journal::{LoopAction, LoopControl};
use hence_review::model::{ArtifactId, Residual, TargetPart};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity};
use hence_state::{Outcome, StepResult};

use super::ReasonView;
use super::action::{built_in, condition};
use crate::artifacts::PROBLEM;
use crate::gaps::{gap, unfinished};
use crate::run_info::RunInfo;
use crate::text;
use crate::view::{Context, Ending};

/// Returns the gaps of a step.
pub(super) fn of_step(reason: &ReasonView, context: &Context<'_>, result: &StepResult) -> Vec<Residual> {
    let (name, id) = (result.step(), context.next);
    let found = match result.outcome() {
        Outcome::Failed(errors) => {
            let messages: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect();
            let statement = format!("Step {name} failed: {}", text::shortened(&messages.join("; ")));
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
                .check(&format!("{} compares everything else", context.run.replay_command()))
        }
        Outcome::Success(_) => return Vec::new(),
    };
    vec![found.of_action(id).build()]
}

/// Returns the gap of a loop that ended at its limit.
pub(super) fn of_loop(context: &Context<'_>, control: &LoopControl) -> Vec<Residual> {
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
        .of_action(context.next);
    vec![found.build()]
}

/// Returns the gaps of the run as a whole.
pub(super) fn of_whole(reason: &ReasonView, context: &Context<'_>) -> Vec<Residual> {
    let mut gaps = Vec::new();
    frame(reason, &mut gaps);
    verification(reason, context, &mut gaps);
    gaps
}

/// Adds the parts of the problem that no built-in step examines.
fn frame(reason: &ReasonView, gaps: &mut Vec<Residual>) {
    let only_built_in = reason.executed.iter().all(|step| built_in(step).is_some());
    let problem = || TargetPart::Artifact(ArtifactId::new(PROBLEM));
    let items = reason.problem.evidence().len();
    if reason.executed.contains("AcquireEvidence") && items > 0 {
        let statement = format!(
            "The evidence ({items} items) is taken as the problem states it; no step examined a source."
        );
        let found = gap("evidence-as-given", ResidualKind::Assumption, ResidualSeverity::Medium, statement)
            .check("Open the source of each item and compare it with what the item claims.")
            .on(problem());
        gaps.push(found.build());
    }
    if !only_built_in {
        return;
    }
    for (place, constraint) in reason.problem.constraints().iter().enumerate() {
        let statement = format!("No step checks the constraint: {}", text::shortened(constraint));
        let id = format!("constraint-{}", place + 1);
        let found = gap(&id, ResidualKind::Unverified, ResidualSeverity::Medium, statement)
            .check("Check the answer against the constraint by hand, or add a step that does.")
            .on(problem());
        gaps.push(found.build());
    }
}

/// Adds the failures of verification and its limits.
fn verification(reason: &ReasonView, context: &Context<'_>, gaps: &mut Vec<Residual>) {
    let Some((action, output)) = &reason.verification else {
        let statement = "No verification step ran.".to_owned();
        let found = gap("no-verification", ResidualKind::Unverified, ResidualSeverity::High, statement)
            .check("Run a policy that verifies, or judge the answer by hand.")
            .on(TargetPart::Trace);
        return gaps.push(found.build());
    };
    let Some(output) = output else { return };
    let Some(artifact) = context.artifacts.newest("verification") else { return };
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
    gaps.push(presence.build());
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
        gaps.push(found.build());
    };
    if unmet.is_empty() {
        declare("verification-failed".to_owned(), "Verification failed.".to_owned());
    }
    for (place, path) in unmet {
        let name = path.get("name").and_then(Value::as_str).unwrap_or("");
        let statement = format!("Verification failed along the path {}.", text::shortened(name));
        declare(format!("verification-path-{}", place + 1), statement);
    }
}

/// Returns the gaps that the end of the journal shows: steps that never ran, and a run that has not ended.
pub(super) fn of_end(reason: &ReasonView, run: &RunInfo<'_>, ending: &Ending) -> Vec<Residual> {
    let mut gaps = Vec::new();
    let steps = reason.outline.iter().map(|step| &step.name);
    let never: Vec<&str> =
        steps.filter(|name| !reason.executed.contains(*name)).map(|name| &**name).collect();
    if !never.is_empty() {
        let statement = format!("These steps of the plan did not run: {}.", never.join(", "));
        let found = gap("not-run", ResidualKind::OutOfScope, ResidualSeverity::Medium, statement)
            .check("Do not take the answer for more than the steps that ran.")
            .on(TargetPart::Trace);
        gaps.push(found.build());
    }
    if *ending == Ending::Unfinished {
        gaps.push(unfinished(&run.resume_command()));
    }
    gaps
}
