//! Gaps of a run of a policy: results that no step checks, failed steps, skipped steps, steps never reached.

use hence_canon::Value;
use hence_engine::Determinism;
use hence_journal::{LoopAction, LoopControl};
use hence_review::model::{Residual, TargetPart};
use hence_review::vocabulary::ResidualKind::{Assumption, Limitation, OutOfScope, Unverified};
use hence_review::vocabulary::ResidualSeverity::{High, Low, Medium};
use hence_state::{Outcome, StepResult, StepsRule};

use super::ReasonView;
use super::action::{built_in, condition};
use crate::artifacts::PROBLEM;
use crate::gaps::{GapMembers as _, gap, not_run, unfinished};
use crate::run_info::RunInfo;
use crate::text::shortened;
use crate::view::{Context, Ending};

/// Returns the gap of a step, if it has one.
pub(super) fn of_step(reason: &ReasonView, context: &Context<'_>, result: &StepResult) -> Option<Residual> {
    let (name, id) = (result.step(), context.next);
    let found = match result.outcome() {
        Outcome::Failed(errors) => {
            let messages: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect();
            let statement = format!("Step {name} failed: {}", shortened(&messages.join("; ")));
            let check = "Mend what the error names and run the problem again.";
            gap(format!("failed-{id}"), Limitation, High, statement, check)
        }
        Outcome::Skipped => {
            let statement = format!("Step {name} was skipped: it had nothing to do.");
            let check = "Confirm that the step was not needed.";
            gap(format!("skipped-{id}"), OutOfScope, Low, statement, check)
        }
        Outcome::Success(_) if reason.determinism(name) == Determinism::Recorded => {
            let statement = format!("The result of step {name} is on record and cannot be computed again.");
            let check = format!("{} compares everything else", context.run.replay_command());
            gap(format!("recorded-{id}"), Limitation, Low, statement, check)
        }
        Outcome::Success(_) => return None,
    };
    Some(found.of_action(id))
}

/// Returns the gap of a loop that ended at its limit.
pub(super) fn of_loop(context: &Context<'_>, control: &LoopControl) -> Option<Residual> {
    let statement = format!(
        "The loop over {} … {} ended at its limit after iteration {}; its condition {} was never met.",
        control.start_step,
        control.end_step,
        control.loop_iteration,
        condition(&control.stop_condition),
    );
    let check = "Raise settings.loop.max_iterations, or ask why the condition is not met.";
    let found = gap("loop-limit", Limitation, High, statement, check).of_action(context.next);
    Some(found).filter(|_| control.action == LoopAction::MaxIterationsReached)
}

/// Returns the gaps of the run as a whole.
pub(super) fn of_whole(reason: &ReasonView, context: &Context<'_>) -> Vec<Residual> {
    let mut gaps = Vec::new();
    let items = reason.problem.evidence().len();
    if reason.executed.contains("AcquireEvidence") && items > 0 {
        let statement = format!(
            "The evidence ({items} items) is taken as the problem states it; no step examined a source."
        );
        let check = "Open the source of each item and compare it with what the item claims.";
        gaps.push(gap("evidence-as-given", Assumption, Medium, statement, check).on_artifact(PROBLEM));
    }
    let steps = context.run.profile.steps;
    if steps == StepsRule::Worked {
        for (place, assumption) in (1..).zip(reason.problem.assumptions().iter()) {
            let statement = format!("It is assumed, not checked: {}", shortened(assumption));
            let check = "Ask whoever stated the problem why this may be assumed.";
            let id = format!("assumption-{place}");
            gaps.push(gap(id, Assumption, Medium, statement, check).on_artifact(PROBLEM));
        }
        undecided(reason, context, &mut gaps);
        judged(reason, context, &mut gaps);
        return gaps;
    }
    // A step that the engine does not know may check the constraints.
    if reason.executed.iter().all(|step| built_in(step, steps).is_some()) {
        for (place, constraint) in (1..).zip(reason.problem.constraints().iter()) {
            let statement = format!("No step checks the constraint: {}", shortened(constraint));
            let check = "Check the answer against the constraint by hand, or add a step that does.";
            let id = format!("constraint-{place}");
            gaps.push(gap(id, Unverified, Medium, statement, check).on_artifact(PROBLEM));
        }
    }
    verification(reason, context, &mut gaps);
    gaps
}

/// Adds a gap for each task that is undecided.
fn undecided(reason: &ReasonView, context: &Context<'_>, gaps: &mut Vec<Residual>) {
    let Some((action, output)) = &reason.computation else { return };
    let Some(artifact) = context.artifacts.newest("computation") else { return };
    let conclusions = output.get("conclusions").and_then(Value::as_array).unwrap_or_default();
    let text =
        |value: &Value, key: &str| shortened(value.get(key).and_then(Value::as_str).unwrap_or_default());
    for conclusion in conclusions.iter().filter(|conclusion| text(conclusion, "status") == "undecided") {
        let task = text(conclusion, "task");
        let statement = format!("Task {task} is undecided: {}.", text(conclusion, "reason"));
        let check = "Bring the evidence or the method that is missing and run the problem again.";
        let found = gap(format!("undecided-{task}"), Unverified, High, statement, check);
        gaps.push(found.on(TargetPart::Artifact(artifact.clone())).by(*action));
    }
}

/// Adds a gap for each check that failed or judged nothing, and for each claim that was rejected.
fn judged(reason: &ReasonView, context: &Context<'_>, gaps: &mut Vec<Residual>) {
    let Some((action, output)) = &reason.verification else {
        let check = "Run a policy that verifies, or judge the answer by hand.";
        let found = gap("no-verification", Unverified, High, "No verification step ran.", check);
        return gaps.push(found.on(TargetPart::Trace));
    };
    let Some(output) = output else { return };
    let Some(artifact) = context.artifacts.newest("verification") else { return };
    let list = |key: &str| output.get(key).and_then(Value::as_array).unwrap_or_default();
    let text =
        |value: &Value, key: &str| shortened(value.get(key).and_then(Value::as_str).unwrap_or_default());
    let statement = "The checks are those that the problem declares; no step says whether they suffice.";
    let advice = "Read the declared checks against the question.";
    let found = gap("verification-as-declared", Limitation, Medium, statement, advice);
    gaps.push(found.on(TargetPart::Artifact(artifact.clone())).by(*action));
    let mut declare = |id: String, severity, statement: String, check: &str| {
        let found = gap(id, Unverified, severity, statement, check);
        gaps.push(found.on(TargetPart::Artifact(artifact.clone())).by(*action));
    };
    if list("paths").is_empty() && list("constraints").is_empty() {
        let statement =
            "The problem declares no verification path and no constraint, so nothing was verified.";
        let check = "Declare what a right answer must fulfil and run the problem again.";
        declare("nothing-verified".to_owned(), High, statement.to_owned(), check);
    }
    for (kind, name) in [("path", "name"), ("constraint", "constraint")] {
        for (place, check) in (1..).zip(list(&format!("{kind}s"))) {
            let (subject, why) = (text(check, name), text(check, "reason"));
            match &*text(check, "status") {
                "failed" | "broken" => {
                    let statement = format!("The {kind} {subject:?} does not hold: {why}.");
                    let advice = "Correct the conclusion, or the problem, and run it again.";
                    declare(format!("{kind}-{place}-fails"), High, statement, advice);
                }
                "unjudged" => {
                    let statement = format!("The {kind} {subject:?} was not judged: {why}.");
                    let advice = "Give it an expression and evidence, or judge it by hand.";
                    declare(format!("{kind}-{place}-unjudged"), Medium, statement, advice);
                }
                _ => {}
            }
        }
    }
    for (place, rejected) in (1..).zip(list("rejected")) {
        let statement = format!(
            "The claim about task {} is rejected: {}.",
            text(rejected, "task"),
            text(rejected, "reason")
        );
        let check = "Read the rejected claim in the record and bring evidence for it, or leave it out.";
        declare(format!("rejected-{place}"), High, statement, check);
    }
}

/// Adds the failures of verification and its limits, in profiles whose steps only count.
fn verification(reason: &ReasonView, context: &Context<'_>, gaps: &mut Vec<Residual>) {
    let Some((action, output)) = &reason.verification else {
        let check = "Run a policy that verifies, or judge the answer by hand.";
        let found = gap("no-verification", Unverified, High, "No verification step ran.", check);
        return gaps.push(found.on(TargetPart::Trace));
    };
    let Some(output) = output else { return };
    let Some(artifact) = context.artifacts.newest("verification") else { return };
    let target = || TargetPart::Artifact(artifact.clone());
    let statement = "Verification checks that tasks and required evidence are present, not that the answer follows from them.";
    let check = "Read the answer against the evidence.";
    gaps.push(gap("verification-of-presence", Limitation, Medium, statement, check).on(target()).by(*action));
    let failed = |value: &Value| value.get("status").and_then(Value::as_str) == Some("failed");
    if !failed(output) {
        return;
    }
    let mut declare = |id: String, statement: String| {
        let check = "Bring the evidence that is missing and run the problem again.";
        gaps.push(gap(id, Unverified, High, statement, check).on(target()).by(*action));
    };
    let paths = output.get("paths").and_then(Value::as_array).unwrap_or_default();
    let unmet: Vec<(usize, &Value)> = (1..).zip(paths).filter(|(_, path)| failed(path)).collect();
    if unmet.is_empty() {
        declare("verification-failed".to_owned(), "Verification failed.".to_owned());
    }
    for (place, path) in unmet {
        let name = path.get("name").and_then(Value::as_str).unwrap_or("");
        let statement = format!("Verification failed along the path {}.", shortened(name));
        declare(format!("verification-path-{place}"), statement);
    }
}

/// Returns the gaps that the end of the journal shows: steps without a record, and a run that has not ended.
pub(super) fn of_end(reason: &ReasonView, run: &RunInfo<'_>, ending: &Ending) -> Vec<Residual> {
    let mut gaps = Vec::new();
    let steps = reason.outline.iter().map(|step| &step.name);
    let never: Vec<&str> =
        steps.filter(|name| !reason.executed.contains(*name)).map(|name| &**name).collect();
    if !never.is_empty() {
        let statement = format!("These steps of the plan have no result on record: {}.", never.join(", "));
        gaps.push(not_run(statement, "Do not take the answer for more than the steps that ran."));
    }
    if *ending == Ending::Unfinished {
        gaps.push(unfinished(run.resume_command()));
    }
    gaps
}
