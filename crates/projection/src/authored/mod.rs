//! Traces that an agent of its own reports: its actions and artifacts as it reported them, with the gap that nothing
//! but its word shows them.

mod program;

use hence_canon::Value;
use hence_cognition::budget::Usage;
use hence_engine::Blobs;
use hence_journal::{Control, RecordIndex};
use hence_review::authoring::{Change, Draft, Operation};
use hence_review::model::{
    Action, ActionPayload, ActionStep, MetaActionId, OutcomeType, Residual, TargetPart, Trace, TraceId,
    TraceLineage, TraceLink,
};
use hence_review::vocabulary::ResidualKind::{Limitation, Unverified};
use hence_review::vocabulary::ResidualSeverity::{High, Medium};
use hence_review::vocabulary::{ChainStatus, Relationship};
use hence_state::StepResult;

use crate::ProjectError;
use crate::delta::{Achieved, Facts, TraceDelta, UnitHead};
use crate::gaps::{GapMembers as _, gap};
use crate::text;
use crate::view::{Conclusion, Context, Ending, RunView};

pub use program::{Authored, AuthoredJournal, AuthoredRun, append_end, append_operation, authored_problem};
use program::{TRACE_END_STEP, read_operation};

/// The title of the unit of actions that name none.
const UNIT: &str = "Work on the task";

/// The projection of a run in which an agent reports its work.
pub(crate) struct AuthoredView {
    draft: Draft,
    /// The title and the number of the present unit.
    unit: Option<(String, usize)>,
}

impl AuthoredView {
    pub(crate) fn new(trace_id: &str) -> Self {
        Self { draft: Draft::new(trace_id), unit: None }
    }

    /// Returns the unit of an action; coming back to a title begins another unit.
    fn unit(&self, title: Option<&str>) -> UnitHead {
        let title = title.unwrap_or(UNIT);
        let number = match &self.unit {
            Some((present, number)) if present == title => *number,
            present => present.as_ref().map_or(1, |(_, number)| number + 1),
        };
        UnitHead {
            id: MetaActionId::new(format!("unit-{number}")),
            title: title.into(),
            intent: title.into(),
            parent: None,
        }
    }
}

/// Returns whether an action achieved what it was for, as its agent reported it.
fn achieved(action: &Action) -> Achieved {
    let (ActionStep::Activity(_, payload)
    | ActionStep::Reasoning(_, payload)
    | ActionStep::Governance(_, payload)
    | ActionStep::Custom(_, payload)) = &action.step
    else {
        return Achieved::Yes;
    };
    match status(payload) {
        Some("completed") => Achieved::Yes,
        Some("failed" | "refused" | "cancelled") => Achieved::No,
        _ => Achieved::Unknown,
    }
}

fn status(payload: &ActionPayload) -> Option<&str> {
    payload.result.as_ref()?.get("status")?.as_str()
}

/// Returns the tokens and the cost that an operation reports.
pub(crate) fn usage_of(result: &StepResult, blobs: &dyn Blobs) -> Usage {
    match read_operation(result, blobs).map(|operation| operation.change) {
        Ok(Change::Act { action, .. }) => usage_of_action(&action),
        _ => Usage::default(),
    }
}

/// Returns the tokens and the cost that an action reports. It counts as one call if it reports any.
pub fn usage_of_action(action: &Action) -> Usage {
    let Some(execution) = &action.common.execution else { return Usage::default() };
    let count = |key: &str| execution.extra.get(key).and_then(Value::as_u64).unwrap_or(0);
    let mut usage =
        Usage { tokens_in: count("tokens_in"), tokens_out: count("tokens_out"), ..Usage::default() };
    let amount = execution.cost.clone().map(Value::from).map(|cost| cost.to_string());
    let currency = execution.extra.get("currency").and_then(Value::as_str);
    if let (Some(amount), Some(currency)) = (amount.and_then(|text| text.parse().ok()), currency) {
        usage.cost = [(currency.into(), amount)].into();
    }
    if !usage.is_empty() {
        usage.calls = 1;
    }
    usage
}

impl RunView for AuthoredView {
    fn begin(&self, context: &Context<'_>) -> TraceDelta {
        let unit = UnitHead {
            id: MetaActionId::new("begin"),
            title: "Receive the task".into(),
            intent: "Bind the record to its task".into(),
            parent: None,
        };
        crate::reason::begin(context, unit)
    }

    fn step(
        &self,
        context: &Context<'_>,
        index: RecordIndex,
        result: &StepResult,
    ) -> Result<TraceDelta, ProjectError> {
        if &**result.step() == TRACE_END_STEP {
            return Ok(TraceDelta::empty(self.unit(None), Facts::Nothing));
        }
        let operation = read_operation(result, context.run.blobs)
            .map_err(|error| ProjectError::Event { index, reason: error.to_string() })?;
        let title = match &operation.change {
            Change::Act { unit, .. } => unit.as_deref(),
            _ => None,
        };
        let mut delta = TraceDelta::empty(self.unit(title), Facts::Nothing);
        match &operation.change {
            Change::Act { action, artifacts, .. } => {
                let mut action = (**action).clone();
                action.common.evidence.push(context.run.evidence(index));
                action.common.meta_action_id = Some(delta.unit.id.clone());
                if !action.extra.contains_key("timestamp") {
                    action.extra = action.extra.with("timestamp", operation.at.to_string());
                }
                delta.achieved = achieved(&action);
                delta.actions = vec![action];
                delta.artifacts = artifacts.clone();
            }
            Change::Artifact(artifact) => delta.artifacts = vec![(**artifact).clone()],
            Change::Residual(residual) => delta.residuals = vec![(**residual).clone()],
            _ => {}
        }
        Ok(TraceDelta { facts: Facts::Reported(index, Box::new(operation)), ..delta })
    }

    fn control(&self, _: &Context<'_>, _: RecordIndex, _: &Control) -> TraceDelta {
        TraceDelta::empty(self.unit(None), Facts::Nothing)
    }

    fn apply(&mut self, delta: &TraceDelta) -> Result<(), ProjectError> {
        let Facts::Reported(index, operation) = &delta.facts else { return Ok(()) };
        let Operation { change, .. } = &**operation;
        self.draft
            .apply(operation)
            .map_err(|refusal| ProjectError::Event { index: *index, reason: refusal.to_string() })?;
        if let Change::Act { unit, .. } = change {
            let title = unit.as_deref().unwrap_or(UNIT);
            match &mut self.unit {
                Some((present, _)) if present == title => {}
                present => {
                    let number = present.as_ref().map_or(1, |(_, number)| number + 1);
                    *present = Some((title.to_owned(), number));
                }
            }
        }
        Ok(())
    }

    fn conclude(&self, context: &Context<'_>, _: &[Action]) -> Conclusion {
        let outcome = self.draft.outcome();
        let ending = match outcome.map(|outcome| outcome.event_type) {
            Some(OutcomeType::ProcessCompleted) => Ending::Completed,
            Some(OutcomeType::ProcessAborted | OutcomeType::ProcessInterrupted) => {
                let summary = outcome.and_then(|outcome| outcome.summary.as_deref());
                Ending::Failed(summary.unwrap_or("the agent did not complete its work").to_owned())
            }
            None => Ending::Unfinished,
        };
        let mut after = Vec::new();
        if ending == Ending::Unfinished {
            let statement = "The agent has not ended its work, or has not recorded the end.";
            let check = format!("hence trace complete {}", text::shell_word(context.run.id()));
            after.push(gap("unfinished", Limitation, High, statement, check).on(TargetPart::Trace));
        }
        Conclusion {
            before: gaps(&self.draft),
            after,
            ending,
            limitations: vec![
                "the agent reported every action: a replay reads the reports from the journal and folds them again"
                    .to_owned(),
            ],
            loops: 0,
            iterations_max: 0,
        }
    }

    fn finish(&self, trace: &mut Trace) {
        let members = &mut trace.members;
        if let Some(agent) = self.draft.agent() {
            members.assistant = agent.assistant.clone();
            members.model = agent.model.clone();
        }
        // Later operations add outputs and observations to an action, and change the status of a gap.
        for reported in self.draft.actions() {
            let place = members.actions.iter_mut().find(|action| action.common.id == reported.common.id);
            if let Some(action) = place {
                action.common.outputs = reported.common.outputs.clone();
                action.common.observations = reported.common.observations.clone();
            }
        }
        for unit in &mut members.meta_actions {
            let of_unit = members.actions.iter().filter(|action| unit.action_ids.contains(&action.common.id));
            unit.produced_artifact_ids =
                of_unit.flat_map(|action| action.common.outputs.iter().cloned()).collect();
            let made = unit.produced_artifact_ids.len();
            unit.outcome = Some(format!("{} actions, {made} artifacts", unit.action_ids.len()).into());
        }
        for declared in self.draft.residuals() {
            let place = members.residuals.iter_mut().find(|known| known.residual_id == declared.residual_id);
            if let Some(residual) = place {
                *residual = declared.clone();
            }
        }
        members.reference_artifacts = self.draft.references().to_vec();
        members.trace_links.extend(self.draft.links().iter().cloned());
        if members.trace_lineage.is_none() {
            members.trace_lineage = self.draft.links().iter().find_map(lineage);
        }
        if let Some(outcome) = self.draft.outcome() {
            members.outcome = outcome.clone();
        }
    }

    fn plan(&self) -> String {
        format!("skill {} {}", hence_engine::TRACE_SKILL, hence_engine::TRACE_SKILL_VERSION)
    }
}

/// Returns the position in a chain that a link states: a trace follows the one that it replaces, repeats or is made from.
fn lineage(link: &TraceLink) -> Option<TraceLineage> {
    let follows = match link.relationship {
        Relationship::Supersedes
        | Relationship::Reruns
        | Relationship::DerivedFrom
        | Relationship::PolicyRecheckOf
        | Relationship::ConformanceRecheckOf
        | Relationship::ForkedFrom => true,
        Relationship::SameTask | Relationship::SamePr | Relationship::RelatedTo => false,
    };
    follows.then(|| TraceLineage {
        parent_trace_id: Some(TraceId::new(link.to_trace_id.as_str())),
        chain_status: Some(ChainStatus::Active),
        ..TraceLineage::default()
    })
}

/// Returns the gap of every such trace.
fn gaps(draft: &Draft) -> Vec<Residual> {
    if draft.actions().is_empty() {
        return Vec::new();
    }
    let statement =
        "The agent reported its actions itself; nothing in the record shows that they happened as reported.";
    let check = "Compare the reported files, commands and results with what exists.";
    vec![gap("reported-by-the-agent", Unverified, Medium, statement, check).on(TargetPart::Trace)]
}
