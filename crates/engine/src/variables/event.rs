//! Events as results of steps: reads them from a journal, and verifies them.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_journal::verify::{Completeness, Reason as Finding, ReasonCode};
use hence_journal::{Control, Reader, Record, RecordIndex, StepRecord};
use hence_state::StepResult;
use hence_variables::{Action, Event, State, Workspace};

use super::end::{End, VARIABLES_END_STEP, check_end};
use super::{ARTIFACT, Reasons, STEP_PREFIX, follow};
use crate::blob::{self, BlobError, Blobs};
use crate::gate::Role;
use crate::run::{ResumeError, RunError};
use crate::verify::Judge;

/// A result that is not an event.
pub(super) enum NoEvent {
    /// The event is stored outside the journal and is missing or damaged.
    Blob(BlobError),
    /// The result breaks a rule of events.
    Invalid(String),
}

/// Reads the event of a result, and checks that event and result agree on the action. The time of the event is the
/// caller's, that of the result the run's logical one.
pub(super) fn event_of(result: &StepResult, blobs: &dyn Blobs) -> Result<Event, NoEvent> {
    let invalid = |reason: String| Err(NoEvent::Invalid(reason));
    if !result.step().starts_with(STEP_PREFIX) {
        return invalid(format!("expected a step {STEP_PREFIX}…, found {:?}", result.step()));
    }
    let Some(output) = result.outcome().output() else {
        return invalid("a refused operation is not recorded, found a step without output".to_owned());
    };
    let value = blob::resolve(output, blobs).map_err(NoEvent::Blob)?;
    let event = Event::from_value(&value).map_err(|error| NoEvent::Invalid(error.to_string()))?;
    if step_name(event.action) != **result.step() {
        return invalid(format!("step {:?} tells of the action {}", result.step(), event.action.as_str()));
    }
    Ok(event)
}

/// Returns the name of the step that performs an action.
pub(super) fn step_name(action: Action) -> String {
    format!("{STEP_PREFIX}{}", action.as_str())
}

/// Returns the input of a step, as its event shows it: the state, the action and the time.
pub(super) fn input_of(event: &Event) -> Value {
    let members: [(&str, Value); 3] =
        [("action", event.action.as_str().into()), ("at", event.at.into()), ("state", event.state.into())];
    members.into_iter().collect::<Object>().into()
}

/// Returns every event of a run of variables with its record: the whole log, while a state holds only the newest part.
///
/// # Errors
/// [`ResumeError`] with the first record that is not an event.
pub fn events(journal: &[u8], blobs: &dyn Blobs) -> Result<Vec<(RecordIndex, Event)>, ResumeError> {
    let (_, reader) = Reader::open(journal)?;
    let mut events = Vec::new();
    for chained in reader {
        let chained = chained?;
        let index = chained.index;
        let step = match &chained.record {
            Record::Step(step) if &**step.result.step() == VARIABLES_END_STEP => continue,
            Record::Step(step) => step,
            Record::Control(Control::Complete { .. }) => continue,
            Record::Control(_) | Record::Header(_) => {
                let reason = "a run of variables has steps and a completion only";
                return Err(ResumeError::diverged(index, reason));
            }
        };
        match event_of(&step.result, blobs) {
            Ok(event) => events.push((index, event)),
            Err(NoEvent::Blob(error)) => return Err(RunError::from(error).into()),
            Err(NoEvent::Invalid(reason)) => return Err(ResumeError::Diverged { index, reason }),
        }
    }
    Ok(events)
}

/// The choices of whoever drives a run of variables, as far as the rules allow.
pub(super) const OPERATIONS: &str = "the operations that were asked for, with their values, scopes, times and sources, and what other runs wrote to shared scopes";

/// Verifies events: any operation is allowed, and each event must follow from those before it.
#[derive(Clone)]
pub(crate) struct VariablesJudge<'a> {
    blobs: &'a dyn Blobs,
    /// The variables so far; `None` after a missing event, because no later event can be verified then.
    workspace: Option<Workspace>,
    reasons: Reasons,
}

impl<'a> VariablesJudge<'a> {
    pub(crate) fn new(blobs: &'a dyn Blobs) -> Self {
        Self { blobs, workspace: Some(Workspace::new()), reasons: Reasons::new() }
    }

    /// Returns how the run ends here; `None` while a task goes on, `Err` when an event is missing.
    fn end(&self) -> Result<Option<End>, ()> {
        self.workspace.as_ref().map(|workspace| End::of(workspace, &self.reasons)).ok_or(())
    }

    fn follow(&mut self, event: &Event) -> Result<(), String> {
        let Some(workspace) = self.workspace.as_mut() else { return Ok(()) };
        follow(workspace, &mut self.reasons, event)
    }
}

impl Judge for VariablesJudge<'_> {
    fn step(&mut self, _: Role, record: &StepRecord, unchecked: &mut Vec<String>) -> Vec<Finding> {
        let result = &record.result;
        let refused =
            |reason: String| Finding { found: Some(reason), ..Finding::new(ReasonCode::ResultRefused) };
        if &**result.step() == VARIABLES_END_STEP {
            let checked = self.end().map_or(Ok(()), |end| check_end(end.as_ref(), result));
            return checked.err().map(refused).into_iter().collect();
        }
        let event = match event_of(result, self.blobs) {
            Ok(event) => event,
            Err(NoEvent::Invalid(_)) if !result.step().starts_with(STEP_PREFIX) => {
                return vec![Finding::mismatch(ReasonCode::FlowViolation, "vars.*", result.step())];
            }
            Err(NoEvent::Invalid(reason)) => return vec![refused(reason)],
            Err(NoEvent::Blob(error)) => {
                let step = record.step_index;
                let lost = self.workspace.take().map_or("", |_| ", nor whether later steps follow");
                unchecked.push(format!("event of step {step}{lost} ({error})"));
                return Vec::new();
            }
        };
        let expected = Canonical::of(&input_of(&event)).digest();
        let input = Finding::unless_equal(ReasonCode::InputHashMismatch, expected, result.input_hash());
        input.into_iter().chain(self.follow(&event).err().map(refused)).collect()
    }

    fn control(&mut self, control: &Control) -> Vec<Finding> {
        match (control, self.end()) {
            (Control::Complete { .. }, Ok(Some(End::Completed)) | Err(())) => Vec::new(),
            // Only operations change such a run, and it completes only when its tasks have.
            _ => vec![Finding::new(ReasonCode::FlowViolation)],
        }
    }

    fn has_checkpoints(&self) -> bool {
        false
    }

    /// Any operation is allowed, so whoever can write the journal can replace one by another.
    fn unchecked_at_start(&self) -> Vec<String> {
        vec![format!("{OPERATIONS}: read from the record")]
    }

    fn artifact_key(&self, _: &StepRecord) -> Arc<str> {
        ARTIFACT.into()
    }

    /// The run is complete when every task without a parent has ended.
    fn completeness(&self) -> Completeness {
        let is_over = |state: &State| state.parent().is_some() || state.status().is_terminal();
        match &self.workspace {
            Some(workspace) if workspace.states().len() > 0 && workspace.states().all(is_over) => {
                Completeness::Complete
            }
            _ => Completeness::Incomplete,
        }
    }
}
