//! Judges the records of the built-in program for a verification: the order of steps and their input hashes.

use std::sync::Arc;

use hence_canon::{Canonical, Value};
use hence_journal::verify::{Completeness, Reason as Finding, ReasonCode};
use hence_journal::{Control, Header, StepRecord};
use hence_state::{
    Artifacts, Metadata, ProblemSpec, Produced, Profile, ReasoningState, StepIndex, StepResult,
};

use crate::blob::{self, Blobs};
use crate::cursor::{Cursor, FlowError};
use crate::gate::{POLICIES_STEP, Role, VERDICTS_STEP, attempt};
use crate::step::{InputUnavailable, Step, Tally, View};
use crate::verify::Judge;

/// The judge of the built-in program at one record of a journal.
#[derive(Clone)]
pub(crate) struct ReasonJudge<'a> {
    profile: Profile,
    problem: Option<Arc<ProblemSpec>>,
    steps: &'a [Arc<dyn Step>],
    blobs: &'a dyn Blobs,
    cursor: Cursor,
    /// The artifacts so far, collected here because the linked level has no state.
    artifacts: Artifacts,
    metadata: Option<Metadata>,
    tally: Tally,
}

impl<'a> ReasonJudge<'a> {
    pub(crate) fn new(
        steps: &'a [Arc<dyn Step>],
        header: &Header,
        problem: Option<&Arc<ProblemSpec>>,
        blobs: &'a dyn Blobs,
    ) -> Self {
        let profile = Profile::named(header.profile);
        Self {
            profile,
            problem: problem.cloned(),
            cursor: Cursor::new(steps.iter().map(|step| Arc::from(step.name())).collect(), profile),
            steps,
            blobs,
            artifacts: Artifacts::default(),
            metadata: None,
            tally: Tally::default(),
        }
    }

    fn find(&self, name: &str) -> Option<&'a Arc<dyn Step>> {
        self.steps.iter().find(|step| step.name() == name)
    }

    fn due(&self) -> Option<&'a Arc<dyn Step>> {
        self.cursor.next_step().and_then(|at| self.steps.get(at))
    }

    fn other_step_due(&self, found: &Arc<str>) -> Finding {
        let expected = self.due().map_or("nothing", |step| step.name());
        Finding::mismatch(ReasonCode::FlowViolation, expected, found)
    }

    /// Returns the input of the step that ran at `step_index`, as far as it can be known here.
    fn input(
        &self,
        step: &dyn Step,
        step_index: StepIndex,
        output: Option<&Canonical>,
    ) -> Result<Value, InputUnavailable> {
        let from_output = match output {
            Some(output) => step.input_from_output(&self.profile, &blob::resolve(output, self.blobs)?),
            None => None,
        };
        if let Some(input) = from_output {
            return Ok(input);
        }
        step.input(&View {
            problem: self.problem.as_deref(),
            profile: &self.profile,
            artifacts: &self.artifacts,
            step_index,
            position: self.cursor.position_in_effect(self.problem.as_deref()),
            metadata: self.metadata.as_ref(),
            tally: &self.tally,
            blobs: self.blobs,
            model: None,
            callees: None,
        })
    }

    /// Puts the output of a result, if it has one, under its key.
    fn note(&mut self, key: &str, record: &StepRecord) {
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

    /// Judges a result that does not move the cursor.
    fn policy_record(
        &mut self,
        role: Role,
        record: &StepRecord,
        unchecked: &mut Vec<String>,
    ) -> Vec<Finding> {
        let (result, due) = (&record.result, self.due());
        let is_due = match &**result.step() {
            POLICIES_STEP => true,
            VERDICTS_STEP => self.cursor.all_steps_done(),
            name => due.is_some_and(|step| step.name() == name),
        };
        if !is_due {
            return vec![self.other_step_due(result.step())];
        }
        let is_attempt = role == Role::Blocked && &**result.step() != VERDICTS_STEP;
        let findings = match due.filter(|_| is_attempt) {
            Some(step) => {
                let found = self.judge_input(&**step, record.step_index, &attempt(result), unchecked);
                found.into_iter().collect()
            }
            None => Vec::new(),
        };
        self.note(result.step(), record);
        findings
    }

    fn judge_input(
        &self,
        step: &dyn Step,
        step_index: StepIndex,
        result: &StepResult,
        unchecked: &mut Vec<String>,
    ) -> Option<Finding> {
        match self.input(step, step_index, result.outcome().output()) {
            Ok(input) => {
                let expected = Canonical::of(&input).digest();
                Finding::unless_equal(ReasonCode::InputHashMismatch, expected, result.input_hash())
            }
            Err(missing) => {
                unchecked.push(format!("input_hash of {} ({missing})", step.name()));
                None
            }
        }
    }
}

impl Judge for ReasonJudge<'_> {
    fn step(&mut self, role: Role, record: &StepRecord, unchecked: &mut Vec<String>) -> Vec<Finding> {
        if role != Role::Own {
            return self.policy_record(role, record, unchecked);
        }
        let (result, mut findings) = (&record.result, Vec::new());
        let step = self.find(result.step());
        // The input is that of the position before the step.
        let input = step.and_then(|step| self.judge_input(&**step, record.step_index, result, unchecked));
        if self.cursor.step(result.step(), result.outcome().status()).is_err() {
            findings.push(self.other_step_due(result.step()));
        }
        let Some(step) = step else {
            unchecked.push(format!("step {:?} is unknown here", result.step()));
            return findings;
        };
        findings.extend(input);
        if let Some(output) = result.outcome().output() {
            // A large value that is missing leaves its items uncounted; whatever depends on them reports that itself.
            let _ = self.tally.note(step.artifact_key(), output, self.blobs);
        }
        self.note(step.artifact_key(), record);
        findings
    }

    fn control(&mut self, control: &Control) -> Vec<Finding> {
        let taken = match control {
            Control::Complete { .. } => self.cursor.complete(),
            Control::Loop(control) => self.cursor.decision(
                control.action,
                control.loop_iteration,
                &control.start_step,
                &control.end_step,
            ),
            Control::Checkpoint(_) | Control::Rollback(_) => Ok(()),
        };
        match (taken, control) {
            (Ok(()), _) => Vec::new(),
            (Err(FlowError::Iteration { expected }), Control::Loop(control)) => {
                vec![Finding::mismatch(ReasonCode::LoopIterationMismatch, expected, control.loop_iteration)]
            }
            (Err(_), _) => vec![Finding::new(ReasonCode::FlowViolation)],
        }
    }

    fn artifact_key(&self, record: &StepRecord) -> Arc<str> {
        let step = record.result.step();
        self.find(step).map_or_else(|| step.clone(), |step| step.artifact_key().into())
    }

    fn observe_state(&mut self, state: &ReasoningState) {
        self.metadata = Some(state.metadata().clone());
    }

    fn completeness(&self) -> Completeness {
        if self.cursor.has_ended() { Completeness::Complete } else { Completeness::Incomplete }
    }
}
