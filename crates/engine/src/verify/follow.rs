//! Following a journal of the built-in skill: which step may come, and what it was given.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_journal::verify::{Completeness, Follower, Program, Reason, ReasonCode};
use hence_journal::{Control, Header, RecordIndex, StepRecord};
use hence_state::{
    Artifacts, Metadata, ProblemSpec, Produced, Profile, ReasoningState, StepIndex, StepResult,
};

use crate::blob;
use crate::blob::Blobs;
use crate::cursor::{Cursor, FlowError};
use crate::step::{InputUnavailable, Step, Tally, View};
use crate::{POLICIES_STEP, PolicyState, Role, VERDICTS_STEP};

pub(super) struct ReasonProgram<'a> {
    /// The steps the problem asks for; those of the default policy when there is no problem to ask.
    pub(super) steps: Vec<Arc<dyn Step>>,
    pub(super) blobs: &'a dyn Blobs,
}

impl Program for ReasonProgram<'_> {
    fn follow<'s>(&'s self, header: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 's> {
        let profile = Profile::named(header.profile);
        let steps = &*self.steps;
        Box::new(ReasonFollower {
            profile,
            problem: problem.cloned(),
            policy_state: problem.map(|problem| PolicyState::of(problem)),
            cursor: Cursor::new(steps.iter().map(|step| Arc::from(step.name())).collect(), profile),
            steps,
            blobs: self.blobs,
            artifacts: Artifacts::default(),
            metadata: None,
            tally: Tally::default(),
            step_index: StepIndex::default(),
            unchecked: Vec::new(),
            kept: BTreeMap::new(),
        })
    }
}

struct ReasonFollower<'a> {
    profile: Profile,
    problem: Option<Arc<ProblemSpec>>,
    steps: &'a [Arc<dyn Step>],
    blobs: &'a dyn Blobs,
    cursor: Cursor,
    /// Where the run stands with its policies; the problem says whether it has any.
    policy_state: Option<PolicyState>,
    /// What the journal says was produced, kept here because the linked level has no state.
    artifacts: Artifacts,
    metadata: Option<Metadata>,
    tally: Tally,
    step_index: StepIndex,
    unchecked: Vec<String>,
    /// What was known behind the records that something returns to.
    kept: BTreeMap<RecordIndex, Known>,
}

/// What a rollback returns to.
struct Known {
    cursor: Cursor,
    artifacts: Artifacts,
    tally: Tally,
    step_index: StepIndex,
    policy_state: Option<PolicyState>,
}

impl ReasonFollower<'_> {
    fn find(&self, name: &str) -> Option<&Arc<dyn Step>> {
        self.steps.iter().find(|step| step.name() == name)
    }

    /// Returns what the step was given, as far as it can be known here.
    fn input(&self, step: &dyn Step, output: Option<&Canonical>) -> Result<Value, InputUnavailable> {
        let told = match output {
            Some(output) => step.input_from_output(&blob::resolve(output, self.blobs)?),
            None => None,
        };
        if let Some(told) = told {
            return Ok(told);
        }
        step.input(&View {
            problem: self.problem.as_deref(),
            profile: &self.profile,
            artifacts: &self.artifacts,
            step_index: self.step_index,
            metadata: self.metadata.as_ref(),
            tally: &self.tally,
            blobs: self.blobs,
            model: None,
        })
    }

    fn return_to(&mut self, to: RecordIndex) {
        if let Some(known) = self.kept.get(&to) {
            self.cursor = known.cursor.clone();
            self.artifacts = known.artifacts.clone();
            self.tally = known.tally.clone();
            self.step_index = known.step_index;
            self.policy_state = known.policy_state.clone();
        }
    }

    /// Says what a result is to the policies of the run.
    fn role(&mut self, result: &StepResult) -> Result<Role, Reason> {
        match &mut self.policy_state {
            Some(policy_state) => policy_state.take(result).map_err(|untimely| Reason {
                found: Some(untimely.to_string()),
                ..Reason::new(ReasonCode::FlowViolation)
            }),
            // Without the problem nobody knows whether there are policies; the record reads as if there were.
            None if [POLICIES_STEP, VERDICTS_STEP].contains(&&**result.step()) => Ok(Role::Policies),
            None if result.outcome().is_blocked() => Ok(Role::Blocked),
            None => Ok(Role::Own),
        }
    }

    /// Counts a result and puts its output, if it has one, under its key.
    fn note(&mut self, key: &str, record: &StepRecord) {
        self.step_index = StepIndex::new(record.step_index.get() + 1);
        let Some(output) = record.result.outcome().output() else { return };
        self.artifacts.insert(
            self.profile.artifacts,
            Produced {
                key: key.into(),
                step: record.result.step().clone(),
                step_index: record.step_index,
                output: output.clone(),
            },
        );
    }

    /// Judges a result that does not move the program.
    fn aside(&mut self, role: Role, record: &StepRecord) -> Vec<Reason> {
        let result = &record.result;
        let due = self.cursor.next_step().and_then(|at| self.steps.get(at)).cloned();
        let is_due = match &**result.step() {
            POLICIES_STEP => true,
            VERDICTS_STEP => self.cursor.all_steps_done(),
            name => due.as_ref().is_some_and(|step| step.name() == name),
        };
        if !is_due {
            let expected = due.as_ref().map_or("nothing", |step| step.name());
            return vec![Reason::mismatch(ReasonCode::FlowViolation, expected, result.step())];
        }
        let is_attempt = role == Role::Blocked && &**result.step() != VERDICTS_STEP;
        let reasons = match due.filter(|_| is_attempt) {
            Some(step) => self.judge_input(&*step, &crate::attempt(result)).into_iter().collect(),
            None => Vec::new(),
        };
        self.note(result.step(), record);
        reasons
    }

    fn judge_input(&mut self, step: &dyn Step, result: &StepResult) -> Option<Reason> {
        match self.input(step, result.outcome().output()) {
            Ok(input) => {
                let expected = Canonical::of(&input).digest();
                Reason::unless_equal(ReasonCode::InputHashMismatch, expected, result.input_hash())
            }
            Err(unseen) => {
                self.unchecked.push(format!("input_hash of {} ({unseen})", step.name()));
                None
            }
        }
    }
}

impl Follower for ReasonFollower<'_> {
    fn step(&mut self, record: &StepRecord) -> Vec<Reason> {
        let result = &record.result;
        let mut reasons = Vec::new();
        match self.role(result) {
            Ok(Role::Own) => {}
            Ok(role) => return self.aside(role, record),
            Err(reason) => return vec![reason],
        }
        if self.cursor.step(result.step(), result.outcome().status()).is_err() {
            let expected = self.cursor.next_step().and_then(|at| self.steps.get(at));
            let expected = expected.map_or("nothing", |step| step.name());
            reasons.push(Reason::mismatch(ReasonCode::FlowViolation, expected, result.step()));
        }
        let Some(step) = self.find(result.step()).cloned() else {
            self.unchecked.push(format!("step {:?} is unknown here", result.step()));
            return reasons;
        };
        reasons.extend(self.judge_input(&*step, result));
        if let Some(output) = result.outcome().output() {
            // A large value that is not at hand leaves its items uncounted; what depends on them says so itself.
            let _ = self.tally.note(step.artifact_key(), output, self.blobs);
        }
        self.note(step.artifact_key(), record);
        reasons
    }

    fn control(&mut self, control: &Control) -> Vec<Reason> {
        let needs_verdicts = self.policy_state.as_ref().is_some_and(PolicyState::needs_verdicts);
        let taken = match control {
            Control::Complete { .. } if needs_verdicts => Err(FlowError::Flow),
            Control::Complete { .. } => self.cursor.complete(),
            Control::Checkpoint(_) => Ok(()),
            Control::Rollback(control) => {
                self.return_to(control.to);
                Ok(())
            }
            Control::Loop(control) => self.cursor.decision(
                control.action,
                control.loop_iteration,
                &control.start_step,
                &control.end_step,
            ),
        };
        match (taken, control) {
            (Ok(()), _) => Vec::new(),
            (Err(FlowError::Iteration { expected }), Control::Loop(control)) => {
                vec![Reason::mismatch(ReasonCode::LoopIterationMismatch, expected, control.loop_iteration)]
            }
            (Err(_), _) => vec![Reason::new(ReasonCode::FlowViolation)],
        }
    }

    fn keep(&mut self, index: RecordIndex) {
        let (cursor, artifacts, tally) = (self.cursor.clone(), self.artifacts.clone(), self.tally.clone());
        let (step_index, policy_state) = (self.step_index, self.policy_state.clone());
        self.kept.insert(index, Known { cursor, artifacts, tally, step_index, policy_state });
    }

    fn artifact_key(&self, record: &StepRecord) -> Arc<str> {
        let step = record.result.step();
        self.find(step).map_or_else(|| step.clone(), |step| step.artifact_key().into())
    }

    fn state(&mut self, state: &ReasoningState) {
        self.metadata = Some(state.metadata().clone());
        self.step_index = state.step_index();
    }

    fn completeness(&self) -> Completeness {
        if self.cursor.has_ended() { Completeness::Complete } else { Completeness::Incomplete }
    }

    fn unchecked(&self) -> Vec<String> {
        self.unchecked.clone()
    }
}
