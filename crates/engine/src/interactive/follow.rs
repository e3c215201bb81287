//! Following a journal of an interactive run: any operation may come, and each must follow from those before.

use std::sync::Arc;

use hence_canon::Canonical;
use hence_journal::verify::{Completeness, Follower, Program, Reason, ReasonCode};
use hence_journal::{Control, Header, RecordIndex, StepRecord};
use hence_state::{ProblemSpec, ReasoningState};
use hence_variables::{State, Workspace, apply};

use super::load::{NoEvent, event_of};
use super::{ARTIFACT, STEP_PREFIX, input_of};
use crate::blob::Blobs;

/// The program of interactive runs.
pub(crate) struct InteractiveProgram<'a> {
    pub(crate) blobs: &'a dyn Blobs,
}

impl Program for InteractiveProgram<'_> {
    fn follow<'s>(&'s self, _: &Header, _: Option<&Arc<ProblemSpec>>) -> Box<dyn Follower + 's> {
        let workspace = Some(Workspace::new());
        Box::new(InteractiveFollower { blobs: self.blobs, workspace, unchecked: Vec::new() })
    }
}

struct InteractiveFollower<'a> {
    blobs: &'a dyn Blobs,
    /// The variables so far; nothing once an event could not be had, because no later one can be judged then.
    workspace: Option<Workspace>,
    unchecked: Vec<String>,
}

impl Follower for InteractiveFollower<'_> {
    fn step(&mut self, record: &StepRecord) -> Vec<Reason> {
        let result = &record.result;
        let refused =
            |reason: String| Reason { found: Some(reason), ..Reason::new(ReasonCode::ResultRefused) };
        let event = match event_of(result, self.blobs) {
            Ok(event) => event,
            Err(NoEvent::Invalid(_)) if !result.step().starts_with(STEP_PREFIX) => {
                return vec![Reason::mismatch(ReasonCode::FlowViolation, "vars.*", result.step())];
            }
            Err(NoEvent::Invalid(reason)) => return vec![refused(reason)],
            Err(NoEvent::Blob(error)) => {
                let step = record.step_index;
                let lost = self.workspace.take().map_or("", |_| ", nor whether later steps follow");
                self.unchecked.push(format!("event of step {step}{lost} ({error})"));
                return Vec::new();
            }
        };
        let expected = Canonical::of(&input_of(&event)).digest();
        let input = Reason::unless_equal(ReasonCode::InputHashMismatch, expected, result.input_hash());
        let applied = self.workspace.as_mut().map_or(Ok(()), |workspace| apply(workspace, &event));
        input.into_iter().chain(applied.err().map(|misfit| refused(misfit.to_string()))).collect()
    }

    fn control(&mut self, _: &Control) -> Vec<Reason> {
        // Nothing but operations drives such a run, so there is nothing to decide and no end to record.
        vec![Reason::new(ReasonCode::FlowViolation)]
    }

    /// Variables return to checkpoints of their own, by steps.
    fn keep(&mut self, _: RecordIndex) {}

    fn artifact_key(&self, _: &StepRecord) -> Arc<str> {
        ARTIFACT.into()
    }

    fn state(&mut self, _: &ReasoningState) {}

    /// The run is complete when every task that nobody spawned is over.
    fn completeness(&self) -> Completeness {
        let is_over = |state: &State| state.parent().is_some() || state.status().is_terminal();
        match &self.workspace {
            Some(workspace) if workspace.states().len() > 0 && workspace.states().all(is_over) => {
                Completeness::Complete
            }
            _ => Completeness::Incomplete,
        }
    }

    fn unchecked(&self) -> Vec<String> {
        self.unchecked.clone()
    }
}
