//! Following a skill's journal: which step may come, what it was given, and whether its writes fit.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Canonical;
use hence_cognition::capability::Registry;
use hence_cognition::run::{Prepared, Progress, StepOutcome};
use hence_cognition::skill::Step;
use hence_engine::Blobs;
use hence_journal::verify::{Completeness, Follower, Program, Reason, ReasonCode};
use hence_journal::{Control, Header, RecordIndex, StepRecord};
use hence_state::{ProblemSpec, ReasoningState, StepStatus, Timestamp};

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
}

impl Program for SkillProgram<'_> {
    fn follow<'s>(&'s self, _: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 's> {
        let mut unchecked = Vec::new();
        let progress = problem.and_then(|problem| self.begin(problem, &mut unchecked));
        if problem.is_none() {
            unchecked.push("the order of steps (the problem is not known)".to_owned());
        }
        let (kept, declared) = (BTreeMap::new(), SkillVariables::are_declared(self.prepared.skill()));
        let variables = problem.filter(|_| declared).and_then(|problem| SkillVariables::begin(problem).ok());
        Box::new(SkillFollower {
            progress,
            blobs: self.blobs,
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
    blobs: &'a dyn Blobs,
    ended: bool,
    unchecked: Vec<String>,
    /// What was known behind the records that something returns to.
    kept: BTreeMap<RecordIndex, (Option<Progress<'a>>, bool, Option<SkillVariables>)>,
    /// The variables, where the skill declares any.
    variables: Option<SkillVariables>,
    steps: u64,
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

impl Follower for SkillFollower<'_> {
    fn step(&mut self, record: &StepRecord) -> Vec<Reason> {
        let result = &record.result;
        self.ended |= result.outcome().status() == StepStatus::Failed;
        if &**result.step() == OUTPUTS_STEP {
            return Vec::new();
        }
        let outcome = match kept::read(result, self.blobs) {
            Ok(outcome) => outcome,
            Err(kept::KeptError::Blob(error)) => {
                self.unchecked.push(format!("step {} ({error})", result.step()));
                self.progress = None;
                return Vec::new();
            }
            Err(error) => return vec![refused(&error)],
        };
        let expected = Canonical::of(&outcome.input).digest();
        let mut reasons: Vec<Reason> =
            Reason::unless_equal(ReasonCode::InputHashMismatch, expected, result.input_hash())
                .into_iter()
                .collect();
        if outcome.step_id != *result.step() {
            reasons.push(Reason::mismatch(ReasonCode::FlowViolation, result.step(), &outcome.step_id));
        }
        if let Some(progress) = &mut self.progress {
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
        let left = self.progress.as_ref().is_some_and(|progress| progress.due().is_some());
        match control {
            Control::Complete { .. } if !left && !self.ended => {
                self.ended = true;
                Vec::new()
            }
            Control::Checkpoint(_) => Vec::new(),
            Control::Rollback(control) => {
                if let Some((progress, ended, variables)) = self.kept.get(&control.to) {
                    // Once a step could not be followed, no later one can be: going back mends that.
                    (self.progress, self.ended) = (progress.clone(), *ended);
                    self.variables = variables.clone();
                }
                Vec::new()
            }
            _ => vec![Reason::new(ReasonCode::FlowViolation)],
        }
    }

    fn keep(&mut self, index: RecordIndex) {
        self.kept.insert(index, (self.progress.clone(), self.ended, self.variables.clone()));
    }

    fn artifact_key(&self, step: &str) -> Arc<str> {
        step.into()
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
