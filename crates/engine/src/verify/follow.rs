//! Following a journal of the built-in skill: which step may come, and what it was given.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_journal::verify::{Completeness, Follower, Program, Reason, ReasonCode};
use hence_journal::{Control, Header, RecordIndex, StepRecord};
use hence_state::{Artifacts, Metadata, ProblemSpec, Produced, Profile, ReasoningState, StepIndex};

use crate::blob::Blobs;
use crate::cursor::{Cursor, Misstep};
use crate::step::{Step, Tally, Unseen, View};
use crate::{Engine, blob};

pub(super) struct ReasonProgram<'a> {
    pub(super) engine: &'a Engine,
    /// The policy the problem asks for; the default one when there is no problem to ask.
    pub(super) policy: &'a str,
    pub(super) blobs: &'a dyn Blobs,
}

impl Program for ReasonProgram<'_> {
    fn follow<'s>(&'s self, header: &Header, problem: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 's> {
        let profile = Profile::named(header.profile);
        let steps = self.engine.policies.policy(self.policy).unwrap_or_default();
        Box::new(ReasonFollower {
            profile,
            problem: problem.cloned(),
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
}

impl ReasonFollower<'_> {
    fn find(&self, name: &str) -> Option<&Arc<dyn Step>> {
        self.steps.iter().find(|step| step.name() == name)
    }

    /// Returns what the step was given, as far as it can be known here.
    fn input(&self, step: &dyn Step, output: Option<&Canonical>) -> Result<Value, Unseen> {
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
        }
    }

    fn judge_input(&mut self, step: &dyn Step, record: &StepRecord) -> Option<Reason> {
        let result = &record.result;
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
        if self.cursor.step(result.step(), result.outcome().status()).is_err() {
            let expected = self.cursor.next_step().and_then(|at| self.steps.get(at));
            let expected = expected.map_or("nothing", |step| step.name());
            reasons.push(Reason::mismatch(ReasonCode::FlowViolation, expected, result.step()));
        }
        let Some(step) = self.find(result.step()).cloned() else {
            self.unchecked.push(format!("step {:?} is unknown here", result.step()));
            return reasons;
        };
        reasons.extend(self.judge_input(&*step, record));
        if let Some(output) = result.outcome().output() {
            // A large value that is not at hand leaves its items uncounted; what depends on them says so itself.
            let _ = self.tally.note(step.artifact_key(), output, self.blobs);
            self.artifacts.insert(
                self.profile.artifacts,
                Produced {
                    key: step.artifact_key().into(),
                    step: result.step().clone(),
                    step_index: record.step_index,
                    output: output.clone(),
                },
            );
        }
        self.step_index = StepIndex::new(record.step_index.get() + 1);
        reasons
    }

    fn control(&mut self, control: &Control) -> Vec<Reason> {
        let taken = match control {
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
            (Err(Misstep::Iteration { expected }), Control::Loop(control)) => {
                vec![Reason::mismatch(ReasonCode::LoopIterationMismatch, expected, control.loop_iteration)]
            }
            (Err(_), _) => vec![Reason::new(ReasonCode::FlowViolation)],
        }
    }

    fn keep(&mut self, index: RecordIndex) {
        let (cursor, artifacts, tally) = (self.cursor.clone(), self.artifacts.clone(), self.tally.clone());
        self.kept.insert(index, Known { cursor, artifacts, tally, step_index: self.step_index });
    }

    fn artifact_key(&self, step: &str) -> Arc<str> {
        self.find(step).map_or_else(|| step.into(), |step| step.artifact_key().into())
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
