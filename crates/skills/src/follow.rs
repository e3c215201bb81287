//! Following a skill's journal: which step may come, what it was given, and whether its writes fit.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_cognition::capability::Registry;
use hence_cognition::run::{NESTED_RUNS_KEY, Prepared, Progress, StepOutcome};
use hence_cognition::skill::Step;
use hence_engine::{
    Blobs, POLICIES_STEP, PolicyState, Role, VERDICTS_STEP, attempt, recorded_outcome_key, was_started,
};
use hence_journal::verify::{Completeness, Follower, Program, Reason, ReasonCode};
use hence_journal::{Control, Header, RecordIndex, StepRecord};
use hence_state::{ProblemSpec, ReasoningState, StepResult, StepStatus, Timestamp};

use crate::kept;
use crate::pinned::Pinned;
use crate::run::OUTPUTS_STEP;
use crate::variables::SkillVariables;

/// A skill as a program whose journals can be verified.
pub struct SkillProgram<'a> {
    /// The skill.
    pub prepared: &'a Prepared,
    /// The digest of its document, which the problem must pin.
    pub source: &'a Canonical,
    /// The contracts of what it calls.
    pub registry: &'a dyn Registry,
    /// Where large values are.
    pub blobs: &'a dyn Blobs,
    /// Who compares the run with those it is linked to.
    pub linked: LinkedRuns,
}

/// Who compares a run with the one it was forked from and those it nests. One journal alone cannot tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkedRuns {
    /// Nobody: that they were not compared is said.
    NotCompared,
    /// The caller, who says what was found.
    ComparedByCaller,
}

impl Program for SkillProgram<'_> {
    fn follow<'s>(&'s self, _: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 's> {
        let mut unchecked = Vec::new();
        let progress = problem.and_then(|problem| self.begin(problem, &mut unchecked));
        if problem.is_none() {
            unchecked.push("the order of steps (the problem is not known)".to_owned());
        }
        let policy_state = problem.map(|problem| PolicyState::of(problem));
        let (kept, declared) = (BTreeMap::new(), SkillVariables::are_declared(self.prepared.skill()));
        let variables = problem.filter(|_| declared).and_then(|problem| SkillVariables::begin(problem).ok());
        Box::new(SkillFollower {
            progress,
            policy_state,
            blobs: self.blobs,
            linked: self.linked,
            ended: false,
            unchecked,
            kept,
            variables,
            steps: 0,
        })
    }
}

impl SkillProgram<'_> {
    fn begin(&self, problem: &ProblemSpec, unchecked: &mut Vec<String>) -> Option<Progress<'_>> {
        let pinned = Pinned::of(problem).filter(|pinned| pinned.digest == self.source.digest());
        let origin = pinned.as_ref().and_then(|pinned| pinned.links.origin.as_ref());
        if let Some(origin) = origin.filter(|_| self.linked == LinkedRuns::NotCompared) {
            unchecked.push(format!(
                "that what was carried over is what run {} recorded up to record {} ({})",
                origin.run,
                origin.record,
                origin.hash.short()
            ));
        }
        let request = pinned.and_then(|pinned| pinned.request(problem.id()).ok());
        let progress =
            request.and_then(|request| Progress::begin(self.prepared, &request, self.registry).ok());
        if progress.is_none() {
            unchecked
                .push("the order of steps (the skill at hand is not the one the problem pins)".to_owned());
        }
        progress
    }
}

struct SkillFollower<'a> {
    progress: Option<Progress<'a>>,
    /// Where the run stands with its policies; the problem says whether it has any.
    policy_state: Option<PolicyState>,
    blobs: &'a dyn Blobs,
    linked: LinkedRuns,
    ended: bool,
    unchecked: Vec<String>,
    /// What was known behind the records that something returns to.
    kept: BTreeMap<RecordIndex, Known<'a>>,
    /// The variables, where the skill declares any.
    variables: Option<SkillVariables>,
    steps: u64,
}

/// What a rollback returns to.
#[derive(Clone)]
struct Known<'a> {
    progress: Option<Progress<'a>>,
    ended: bool,
    variables: Option<SkillVariables>,
    policy_state: Option<PolicyState>,
}

impl SkillFollower<'_> {
    /// Follows the variables through the writes of a step that was just taken in.
    fn follow_variables(&mut self, step: &Step, outcome: &StepOutcome, at: &Timestamp) -> Option<Reason> {
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
}

impl SkillFollower<'_> {
    /// The verdicts come when no step is left.
    fn end_of_steps(&self) -> Vec<Reason> {
        let left = self.progress.as_ref().and_then(|progress| progress.due());
        left.map(|step| Reason::mismatch(ReasonCode::FlowViolation, &step.id, VERDICTS_STEP))
            .into_iter()
            .collect()
    }

    /// A blocked attempt is one of the step that is due.
    fn other_step_is_due(&self, found: &str) -> Option<Reason> {
        let due = self.progress.as_ref()?.due().map_or("nothing", |step| &*step.id);
        (due != found).then(|| Reason::mismatch(ReasonCode::FlowViolation, due, found))
    }
}

/// Without the problem nobody knows whether there are policies; the record reads as if there were.
fn role_without_problem(result: &StepResult) -> Role {
    if result.outcome().is_blocked() { Role::Blocked } else { Role::Own }
}

impl Follower for SkillFollower<'_> {
    fn step(&mut self, record: &StepRecord) -> Vec<Reason> {
        let recorded = &record.result;
        let role =
            match self.policy_state.as_mut().map(|policy_state| policy_state.take(recorded)).transpose() {
                Ok(role) => role.unwrap_or_else(|| role_without_problem(recorded)),
                Err(untimely) => {
                    let found = Some(untimely.to_string());
                    return vec![Reason { found, ..Reason::new(ReasonCode::FlowViolation) }];
                }
            };
        self.ended |= role == Role::Own && recorded.outcome().status() == StepStatus::Failed;
        match &**recorded.step() {
            OUTPUTS_STEP | POLICIES_STEP => return Vec::new(),
            VERDICTS_STEP => return self.end_of_steps(),
            _ => {}
        }
        if !was_started(recorded) {
            return self.other_step_is_due(recorded.step()).into_iter().collect();
        }
        let result = &attempt(recorded);
        let outcome = match kept::read(result, self.blobs) {
            Ok(outcome) => outcome,
            Err(kept::RecordedOutcomeError::Blob(error)) => {
                self.unchecked.push(format!("step {} ({error})", result.step()));
                self.progress = None;
                return Vec::new();
            }
            Err(error) => return vec![refused(&error)],
        };
        let nested = outcome.meta.get(NESTED_RUNS_KEY).and_then(Value::as_array);
        if let Some(nested) = nested.filter(|_| self.linked == LinkedRuns::NotCompared) {
            let count = nested.len();
            self.unchecked.push(format!(
                "the {count} nested runs of step {} (each is verified by itself)",
                result.step()
            ));
        }
        let expected = Canonical::of(&outcome.input).digest();
        let mut reasons: Vec<Reason> =
            Reason::unless_equal(ReasonCode::InputHashMismatch, expected, result.input_hash())
                .into_iter()
                .collect();
        if outcome.step_id != *result.step() {
            reasons.push(Reason::mismatch(ReasonCode::FlowViolation, result.step(), &outcome.step_id));
        }
        if role == Role::Blocked {
            reasons.extend(self.other_step_is_due(result.step()));
        } else if let Some(progress) = &mut self.progress {
            let step = progress.due();
            match progress.take_in(outcome).cloned() {
                Ok(settled) => {
                    let at = result.finished_at();
                    reasons.extend(step.and_then(|step| self.follow_variables(step, &settled, at)));
                }
                Err(error @ hence_cognition::run::FoldError::Write { .. }) => reasons.push(refused(&error)),
                Err(error) => {
                    let found = Some(error.to_string());
                    reasons.push(Reason { found, ..Reason::new(ReasonCode::FlowViolation) });
                }
            }
        }
        reasons
    }

    fn control(&mut self, control: &Control) -> Vec<Reason> {
        let left = self.progress.as_ref().is_some_and(|progress| progress.due().is_some())
            || self.policy_state.as_ref().is_some_and(PolicyState::needs_verdicts);
        match control {
            Control::Complete { .. } if !left && !self.ended => {
                self.ended = true;
                Vec::new()
            }
            Control::Checkpoint(_) => Vec::new(),
            Control::Rollback(control) => {
                if let Some(known) = self.kept.get(&control.to).cloned() {
                    // Once a step could not be followed, no later one can be: going back mends that.
                    (self.progress, self.ended) = (known.progress, known.ended);
                    (self.variables, self.policy_state) = (known.variables, known.policy_state);
                }
                Vec::new()
            }
            _ => vec![Reason::new(ReasonCode::FlowViolation)],
        }
    }

    fn keep(&mut self, index: RecordIndex) {
        let (progress, ended) = (self.progress.clone(), self.ended);
        let (variables, policy_state) = (self.variables.clone(), self.policy_state.clone());
        self.kept.insert(index, Known { progress, ended, variables, policy_state });
    }

    fn artifact_key(&self, record: &StepRecord) -> Arc<str> {
        recorded_outcome_key(record)
    }

    fn state(&mut self, _: &ReasoningState) {}

    fn completeness(&self) -> Completeness {
        if self.ended { Completeness::Complete } else { Completeness::Incomplete }
    }

    fn unchecked(&self) -> Vec<String> {
        self.unchecked.clone()
    }
}

fn refused(error: &dyn std::error::Error) -> Reason {
    Reason { found: Some(error.to_string()), ..Reason::new(ReasonCode::ResultRefused) }
}
