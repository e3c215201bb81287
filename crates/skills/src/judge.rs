//! Judges the records of a skill for a verification: the order of steps, their inputs and their writes.

use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_cognition::run::{FoldError, NESTED_RUNS_KEY, Prepared, Progress, StepOutcome};
use hence_cognition::skill::Step;
use hence_engine::{
    Blobs, Evidence, Judge, OUTPUTS_STEP, POLICIES_STEP, ProgramFollower, ResumeError, Role, RunError,
    VERDICTS_STEP, attempt, recorded_outcome_key, was_started,
};
use hence_journal::verify::{Completeness, Follower, LevelReport, Reason as Finding, ReasonCode, Verifiable};
use hence_journal::{Control, Header, RecordIndex, StepRecord};
use hence_state::{ProblemSpec, StepStatus, Timestamp};

use crate::host::Host;
use crate::pinned::Pinned;
use crate::program::SkillProgram;
use crate::recorded_outcome::{self, RecordedOutcomeError};
use crate::variables::SkillVariables;

/// A journal of a skill, to be verified.
pub struct SkillJournal<'a, 'e> {
    /// The problem that pins the skill.
    pub problem: &'a Arc<ProblemSpec>,
    /// The skill.
    pub prepared: &'a Prepared,
    /// The document of the skill, whose digest the problem must pin.
    pub source: &'a Canonical,
    /// The capabilities its steps can call.
    pub host: &'a dyn Host,
    /// The journal and what belongs to it.
    pub evidence: &'a Evidence<'e>,
    /// Whether the caller compares the run with the runs it is linked to.
    pub linked: LinkedRuns,
}

/// Whether a run is compared with its origin and its nested runs. That needs more than one journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkedRuns {
    /// They are not compared, and the report says so.
    NotCompared,
    /// The caller compares them and reports the result.
    ComparedByCaller,
}

impl Verifiable for SkillJournal<'_, '_> {
    fn follow<'s>(&'s self, _: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 's> {
        Box::new(ProgramFollower::new(SkillJudge::new(self, problem), problem))
    }

    fn replay(&self) -> LevelReport {
        let program = SkillProgram::new(self.problem.clone(), self.prepared, self.source, self.host);
        self.evidence.replay(program.map_err(|error| ResumeError::Run(RunError::from(error))))
    }
}

#[derive(Clone)]
struct SkillJudge<'a> {
    /// The position in the skill; `None` when it is not known, because no later step can be judged then.
    progress: Option<Progress<'a>>,
    /// The variables, where the skill declares any.
    variables: Option<SkillVariables>,
    blobs: &'a dyn Blobs,
    linked: LinkedRuns,
    ended: bool,
    steps: u64,
    unchecked: Vec<String>,
}

impl<'a> SkillJudge<'a> {
    fn new(journal: &'a SkillJournal<'_, '_>, problem: Option<&Arc<ProblemSpec>>) -> Self {
        let mut unchecked = Vec::new();
        let progress = problem.and_then(|problem| begin(journal, problem, &mut unchecked));
        if problem.is_none() {
            unchecked.push("the order of steps (the problem is not known)".to_owned());
        }
        let settings = problem.and_then(|problem| problem.canonical().value().get("settings"));
        if settings.is_some_and(|settings| settings.get("shared").is_some()) {
            unchecked.push("the values of shared scopes at the beginning (settings.shared)".to_owned());
        }
        let declared = SkillVariables::are_declared(journal.prepared.skill());
        let skill = journal.prepared.skill();
        let variables = problem.filter(|_| declared);
        let variables = variables.and_then(|problem| SkillVariables::begin(problem, skill).ok());
        let (blobs, linked) = (journal.evidence.blobs, journal.linked);
        Self { progress, variables, blobs, linked, ended: false, steps: 0, unchecked }
    }

    /// Follows the variables through the writes of a step that was just applied.
    fn follow_variables(&mut self, step: &Step, outcome: &StepOutcome, at: &Timestamp) -> Option<Finding> {
        let (progress, variables) = (self.progress.as_mut()?, self.variables.take()?);
        self.steps += 1;
        let memory = &progress.state().memory;
        match variables.after(step, outcome, memory, at, RecordIndex::new(self.steps)) {
            Ok(after) => {
                variables.gone_in(&after).iter().for_each(|name| progress.forget(name.as_str()));
                self.variables = Some(after);
                None
            }
            Err(refusal) => Some(refused(&refusal)),
        }
    }

    /// Verdicts come when no step is left.
    fn verdicts(&self) -> Vec<Finding> {
        let left = self.progress.as_ref().and_then(|progress| progress.due());
        left.map(|step| Finding::mismatch(ReasonCode::FlowViolation, &step.id, VERDICTS_STEP))
            .into_iter()
            .collect()
    }

    /// A blocked attempt is one of the step that is due.
    fn other_step_due(&self, found: &str) -> Option<Finding> {
        let due = self.progress.as_ref()?.due().map_or("nothing", |step| &*step.id);
        (due != found).then(|| Finding::mismatch(ReasonCode::FlowViolation, due, found))
    }

    fn apply(&mut self, outcome: StepOutcome, at: &Timestamp) -> Option<Finding> {
        let progress = self.progress.as_mut()?;
        let step = progress.due();
        match progress.take_in(outcome).cloned() {
            Ok(settled) => step.and_then(|step| self.follow_variables(step, &settled, at)),
            Err(error @ FoldError::Write { .. }) => Some(refused(&error)),
            Err(error) => {
                Some(Finding { found: Some(error.to_string()), ..Finding::new(ReasonCode::FlowViolation) })
            }
        }
    }
}

fn begin<'a>(
    journal: &SkillJournal<'a, '_>,
    problem: &ProblemSpec,
    unchecked: &mut Vec<String>,
) -> Option<Progress<'a>> {
    let pinned = Pinned::of(problem).filter(|pinned| pinned.digest == journal.source.digest());
    let origin = pinned.as_ref().and_then(|pinned| pinned.links.origin.as_ref());
    if let Some(origin) = origin.filter(|_| journal.linked == LinkedRuns::NotCompared) {
        unchecked.push(format!(
            "that what was carried over is what run {} recorded up to record {} ({})",
            origin.run,
            origin.record,
            origin.hash.short()
        ));
    }
    let request = pinned.and_then(|pinned| pinned.request(problem.id()).ok());
    let progress = request.and_then(|request| Progress::begin(journal.prepared, &request, journal.host).ok());
    if progress.is_none() {
        unchecked.push("the order of steps (the given skill is not the one the problem pins)".to_owned());
    }
    progress
}

impl Judge for SkillJudge<'_> {
    fn step(&mut self, role: Role, record: &StepRecord, unchecked: &mut Vec<String>) -> Vec<Finding> {
        let recorded = &record.result;
        self.ended |= role == Role::Own && recorded.outcome().status() == StepStatus::Failed;
        match &**recorded.step() {
            OUTPUTS_STEP | POLICIES_STEP => return Vec::new(),
            VERDICTS_STEP => return self.verdicts(),
            _ => {}
        }
        if !was_started(recorded) {
            return self.other_step_due(recorded.step()).into_iter().collect();
        }
        let result = &attempt(recorded);
        let outcome = match recorded_outcome::read(result, self.blobs) {
            Ok(outcome) => outcome,
            Err(RecordedOutcomeError::Blob(error)) => {
                unchecked.push(format!("step {} ({error})", result.step()));
                self.progress = None;
                return Vec::new();
            }
            Err(error) => return vec![refused(&error)],
        };
        let nested = outcome.meta.get(NESTED_RUNS_KEY).and_then(Value::as_array);
        if let Some(nested) = nested.filter(|_| self.linked == LinkedRuns::NotCompared) {
            let count = nested.len();
            unchecked.push(format!(
                "the {count} nested runs of step {} (each is verified by itself)",
                result.step()
            ));
        }
        let expected = Canonical::of(&outcome.input).digest();
        let input = Finding::unless_equal(ReasonCode::InputHashMismatch, expected, result.input_hash());
        let mut findings: Vec<Finding> = input.into_iter().collect();
        if outcome.step_id != *result.step() {
            findings.push(Finding::mismatch(ReasonCode::FlowViolation, result.step(), &outcome.step_id));
        }
        findings.extend(match role {
            Role::Blocked => self.other_step_due(result.step()),
            _ => self.apply(outcome, result.finished_at()),
        });
        findings
    }

    fn control(&mut self, control: &Control) -> Vec<Finding> {
        let is_left = self.progress.as_ref().is_some_and(|progress| progress.due().is_some());
        match control {
            Control::Complete { .. } if !is_left && !self.ended => {
                self.ended = true;
                Vec::new()
            }
            _ => vec![Finding::new(ReasonCode::FlowViolation)],
        }
    }

    fn artifact_key(&self, record: &StepRecord) -> Arc<str> {
        recorded_outcome_key(record)
    }

    fn unchecked_at_start(&self) -> Vec<String> {
        self.unchecked.clone()
    }

    fn completeness(&self) -> Completeness {
        if self.ended { Completeness::Complete } else { Completeness::Incomplete }
    }
}

fn refused(error: &dyn std::error::Error) -> Finding {
    Finding { found: Some(error.to_string()), ..Finding::new(ReasonCode::ResultRefused) }
}
