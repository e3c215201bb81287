//! Calls that act and that no record covers yet, as actions at the end of a trace.
//!
//! A run that waits, was stopped or was killed may have begun calls of a step that has no record. Rules about deeds must
//! apply to them: what may have happened is not absent. A gate does not see these actions; it judges such calls itself.

use std::collections::BTreeMap;

use hence_canon::{Object, Value};
use hence_journal::RecordIndex;
use hence_review::model::{Action, ActionId, ActionStep, Artifact, Evidence};
use hence_review::vocabulary::EvidenceType;
use hence_skills::CallHistory;
use hence_state::StepResult;

use crate::ProjectError;
use crate::artifacts::ArtifactIndex;
use crate::delta::{TraceDelta, Units};
use crate::run_info::RunInfo;
use crate::text::shell_word;
use crate::view::{Context, RunView};

/// The note on an action that no record has.
const DETAIL: &str = "no record has this call yet: the call log next to the journal does";

/// A trace that grows beyond its records.
pub(crate) struct Unrecorded<'t> {
    pub(crate) run: &'t RunInfo<'t>,
    pub(crate) view: &'t (dyn RunView + 't),
    pub(crate) actions: Vec<Action>,
    pub(crate) artifacts: ArtifactIndex,
    pub(crate) units: Units,
}

/// The result that a call would have if it were the only one of its step.
pub(crate) struct BegunCall {
    pub(crate) result: StepResult,
    /// The record that has the call, where one does: policies blocked the step after its calls were made.
    pub(crate) record: Option<RecordIndex>,
}

impl Unrecorded<'_> {
    /// Adds the calls that no record covers.
    pub(crate) fn add(&mut self, calls: Option<&CallHistory>) -> Result<(), ProjectError> {
        let mut last = None;
        for call in self.view.begun_calls(self.run, calls)? {
            let step = call.result.step().clone();
            let is_first = last.as_ref() != Some(&step);
            let next = i64::try_from(self.actions.len()).unwrap_or(i64::MAX - 1) + 1;
            let context = Context {
                run: self.run,
                artifacts: &self.artifacts,
                units: &self.units,
                next: ActionId(next),
            };
            let index = call.record.unwrap_or(RecordIndex::HEADER);
            let delta = self.view.step(&context, index, &call.result)?;
            let mut delta = only_call(delta, &step, is_first, next);
            if call.record.is_none() {
                self.name_log(&mut delta);
            }
            self.units.apply(&delta);
            self.artifacts.apply(delta.artifacts);
            self.actions.extend(delta.actions);
            last = Some(step);
        }
        Ok(())
    }

    /// Names the call log as the source of the actions: no record shows them.
    fn name_log(&self, delta: &mut TraceDelta) {
        let evidence = Evidence {
            evidence_type: EvidenceType::CommandOutput,
            reference: format!("hence why {}", shell_word(self.run.id())).into(),
            exit_code: None,
            extra: Object::new(),
        };
        for action in &mut delta.actions {
            // The first piece of evidence is the record.
            let record = action.common.evidence.first_mut();
            record.into_iter().for_each(|record| *record = evidence.clone());
            action.common.reproducibility = None;
            action.common.detail = Some(DETAIL.into());
        }
        for artifact in &mut delta.artifacts {
            artifact.common.content_ref = None;
            artifact.common.metadata =
                artifact.common.metadata.take().map(|metadata| metadata.with("record", Value::Null));
        }
    }
}

/// Returns the delta of a call without what other calls of the step add already, and without the output of the step, which
/// has not ended.
fn only_call(delta: TraceDelta, step: &str, is_first: bool, next: i64) -> TraceDelta {
    let is_output = |artifact: &Artifact| artifact.common.name.as_deref() == Some(step);
    let (outputs, mut artifacts): (Vec<Artifact>, Vec<Artifact>) =
        delta.artifacts.into_iter().partition(is_output);
    let happened = delta.happened;
    let is_kept = |(place, action): &(usize, Action)| match action.step {
        ActionStep::Gateway(..) => is_first,
        _ => *place >= happened,
    };
    let mut numbers: BTreeMap<ActionId, ActionId> = BTreeMap::new();
    let mut actions: Vec<Action> = Vec::new();
    for (_, mut action) in delta.actions.into_iter().enumerate().filter(is_kept) {
        let number = ActionId(next.saturating_add(i64::try_from(actions.len()).unwrap_or(i64::MAX)));
        numbers.insert(action.common.id, number);
        action.common.id = number;
        let is_made = |id: &_| !outputs.iter().any(|output| output.common.artifact_id == *id);
        action.common.outputs.retain(is_made);
        actions.push(action);
    }
    artifacts.retain_mut(|artifact| {
        let number = artifact.common.producer_action_id.and_then(|id| numbers.get(&id)).copied();
        artifact.common.producer_action_id = number;
        number.is_some()
    });
    TraceDelta { actions, artifacts, residuals: Vec::new(), ..delta }
}
