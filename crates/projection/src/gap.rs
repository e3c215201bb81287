//! What a run does not establish, as declared gaps.
//!
//! Each follows from the record: what no step checks, what failed, what was skipped, what was never reached.

use hence_canon::{Object, Value};
use hence_engine::{Determinism, resolve};
use hence_journal::{Control, LoopAction, Record, RecordIndex, StepRecord};
use hence_review::model::{ActionId, ArtifactId, Residual, ResidualId, Target, TargetPart};
use hence_review::vocabulary::{ResidualKind, ResidualSeverity, ResidualSource, ResidualStatus};
use hence_state::Outcome;

use crate::action::{action_id, condition, replay_command};
use crate::artifact::{PROBLEM, Shelf};
use crate::ending::Ending;
use crate::source::Source;
use crate::{ProjectError, kind, word};

/// Finds all gaps of a run.
pub(crate) fn gaps(
    source: &Source<'_>,
    shelf: &Shelf,
    ending: &Ending,
) -> Result<Vec<Residual>, ProjectError> {
    let mut gaps = Vec::new();
    frame(source, &mut gaps);
    verification(source, shelf, &mut gaps)?;
    for chained in &source.records {
        match &chained.record {
            Record::Step(record) => steps(source, chained.index, record, &mut gaps),
            Record::Control(Control::Loop(control)) if control.action == LoopAction::MaxIterationsReached => {
                let statement = format!(
                    "The loop over {} … {} ended at its limit after iteration {}; its condition {} was never met.",
                    control.start_step,
                    control.end_step,
                    control.loop_iteration,
                    condition(&control.stop_condition),
                );
                let gap = gap("loop-limit", ResidualKind::Limitation, ResidualSeverity::High, statement)
                    .check("Raise settings.loop.max_iterations, or ask why the condition is not met.")
                    .on(TargetPart::Action(action_id(chained.index)))
                    .by(action_id(chained.index));
                gaps.push(gap.0);
            }
            _ => {}
        }
    }
    unreached(source, ending, &mut gaps);
    Ok(gaps)
}

/// What the problem brings and no built-in step examines.
fn frame(source: &Source<'_>, gaps: &mut Vec<Residual>) {
    let executed = |name: &str| steps_of(source).any(|(_, step)| &**step.result.step() == name);
    let only_built_in = steps_of(source).all(|(_, step)| kind::built_in(step.result.step()).is_some());
    let problem = || TargetPart::Artifact(ArtifactId::new(PROBLEM));
    let items = source.problem.evidence().len();
    if executed("AcquireEvidence") && items > 0 {
        let statement = format!(
            "The evidence ({items} items) is taken as the problem states it; no step examined a source."
        );
        let gap = gap("evidence-as-given", ResidualKind::Assumption, ResidualSeverity::Medium, statement)
            .check("Open the source of each item and compare it with what the item claims.")
            .on(problem());
        gaps.push(gap.0);
    }
    if !only_built_in {
        return;
    }
    for (place, constraint) in source.problem.constraints().iter().enumerate() {
        let statement = format!("No step checks the constraint: {}", word::shortened(constraint));
        let id = format!("constraint-{}", place + 1);
        let gap = gap(&id, ResidualKind::Unverified, ResidualSeverity::Medium, statement)
            .check("Check the answer against the constraint by hand, or add a step that does.")
            .on(problem());
        gaps.push(gap.0);
    }
}

/// What verification said, and what it cannot say.
fn verification(source: &Source<'_>, shelf: &Shelf, gaps: &mut Vec<Residual>) -> Result<(), ProjectError> {
    let newest = steps_of(source).filter(|(_, step)| &**step.result.step() == "Verify").last();
    let Some((index, record)) = newest else {
        let statement = "No verification step ran.".to_owned();
        let gap = gap("no-verification", ResidualKind::Unverified, ResidualSeverity::High, statement)
            .check("Run a policy that verifies, or judge the answer by hand.")
            .on(TargetPart::Trace);
        gaps.push(gap.0);
        return Ok(());
    };
    let Outcome::Success(recorded) = record.result.outcome() else { return Ok(()) };
    let output = resolve(recorded, source.blobs)?;
    let Some(artifact) = shelf.newest("verification") else { return Ok(()) };
    let statement = "Verification checks that tasks and required evidence are present, not that the answer follows from them.";
    let presence = gap(
        "verification-of-presence",
        ResidualKind::Limitation,
        ResidualSeverity::Medium,
        statement.to_owned(),
    )
    .check("Read the answer against the evidence.")
    .on(TargetPart::Artifact(artifact.clone()))
    .by(action_id(index));
    gaps.push(presence.0);
    let failed = |value: &Value| value.get("status").and_then(Value::as_str) == Some("failed");
    if !failed(&output) {
        return Ok(());
    }
    let paths = output.get("paths").and_then(Value::as_array).unwrap_or_default();
    let unmet: Vec<(usize, &Value)> = paths.iter().enumerate().filter(|(_, path)| failed(path)).collect();
    let mut declare = |id: String, statement: String| {
        let gap = gap(&id, ResidualKind::Unverified, ResidualSeverity::High, statement)
            .check("Bring the evidence that is missing and run the problem again.")
            .on(TargetPart::Artifact(artifact.clone()))
            .by(action_id(index));
        gaps.push(gap.0);
    };
    if unmet.is_empty() {
        declare("verification-failed".to_owned(), "Verification failed.".to_owned());
    }
    for (place, path) in unmet {
        let name = path.get("name").and_then(Value::as_str).unwrap_or("");
        let statement = format!("Verification failed along the path {}.", word::shortened(name));
        declare(format!("verification-path-{}", place + 1), statement);
    }
    Ok(())
}

fn steps(source: &Source<'_>, index: RecordIndex, record: &StepRecord, gaps: &mut Vec<Residual>) {
    let (name, id) = (record.result.step(), action_id(index));
    match record.result.outcome() {
        Outcome::Failed(errors) => {
            let told: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect();
            let statement = format!("Step {name} failed: {}", word::shortened(&told.join("; ")));
            let gap =
                gap(&format!("failed-{id}"), ResidualKind::Limitation, ResidualSeverity::High, statement)
                    .check("Mend what the error names and run the problem again.")
                    .on(TargetPart::Action(id))
                    .by(id);
            gaps.push(gap.0);
        }
        Outcome::Skipped => {
            let statement = format!("Step {name} was skipped: it had nothing to do.");
            let gap =
                gap(&format!("skipped-{id}"), ResidualKind::OutOfScope, ResidualSeverity::Low, statement)
                    .check("Confirm that the step was not needed.")
                    .on(TargetPart::Action(id))
                    .by(id);
            gaps.push(gap.0);
        }
        Outcome::Success(_) if source.determinism(name) == Determinism::Recorded => {
            let statement = format!("The result of step {name} is on record and cannot be computed again.");
            let gap =
                gap(&format!("recorded-{id}"), ResidualKind::Limitation, ResidualSeverity::Low, statement)
                    .check(&format!("{} compares everything else", replay_command(source)))
                    .on(TargetPart::Action(id))
                    .by(id);
            gaps.push(gap.0);
        }
        Outcome::Success(_) => {}
    }
}

/// Steps of the plan that never ran.
fn unreached(source: &Source<'_>, ending: &Ending, gaps: &mut Vec<Residual>) {
    let never: Vec<&str> = source
        .outline
        .iter()
        .map(|step| &*step.name)
        .filter(|name| !steps_of(source).any(|(_, step)| &**step.result.step() == *name))
        .collect();
    if !never.is_empty() {
        let statement = format!("These steps of the plan did not run: {}.", never.join(", "));
        let gap = gap("not-run", ResidualKind::OutOfScope, ResidualSeverity::Medium, statement)
            .check("Do not take the answer for more than the steps that ran.")
            .on(TargetPart::Trace);
        gaps.push(gap.0);
    }
    if *ending == Ending::Unfinished {
        let statement = "The record ends before the run does.".to_owned();
        let gap = gap("unfinished", ResidualKind::Limitation, ResidualSeverity::High, statement)
            .check(&format!("hence resume {}", word::shell_word(source.run_id())))
            .on(TargetPart::Trace);
        gaps.push(gap.0);
    }
}

fn steps_of<'a>(source: &'a Source<'_>) -> impl Iterator<Item = (RecordIndex, &'a StepRecord)> {
    source.records.iter().filter_map(|chained| match &chained.record {
        Record::Step(step) => Some((chained.index, step)),
        _ => None,
    })
}

/// A gap being written down.
struct Gap(Residual);

fn gap(id: &str, kind: ResidualKind, severity: ResidualSeverity, statement: String) -> Gap {
    Gap(Residual {
        residual_id: ResidualId::new(id),
        kind,
        statement: statement.into(),
        severity: Some(severity),
        target: None,
        related_artifact_ids: Vec::new(),
        rationale: None,
        suggested_check: None,
        source: Some(ResidualSource::ToolInferred),
        status: Some(ResidualStatus::Open),
        introduced_by_action_id: None,
        tags: Vec::new(),
        extra: Object::new(),
    })
}

impl Gap {
    fn check(mut self, check: &str) -> Self {
        self.0.suggested_check = Some(check.into());
        self
    }

    fn on(mut self, part: TargetPart) -> Self {
        self.0.target = Some(Target::from(part));
        self
    }

    fn by(mut self, action: ActionId) -> Self {
        self.0.introduced_by_action_id = Some(action);
        self
    }
}
