//! The trace so far.

use hence_canon::time::Instant;

use crate::model::{
    Action, ActionId, ActionStep, Artifact, ArtifactContent, ArtifactId, Outcome, ReferenceArtifact,
    Residual, ResidualId, TargetPart, Text, TraceLink,
};
use crate::vocabulary::ResidualStatus;

use super::operation::{Change, Operation};
use super::refusal::Refusal;

/// The action that receives the task, before the first one of the agent.
pub const TASK_ACTION: ActionId = ActionId(1);
/// The artifact that [`TASK_ACTION`] makes: the task.
pub const TASK_ARTIFACT: &str = "problem";

/// The agent whose work a trace records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub assistant: Text,
    /// Its model.
    pub model: Text,
}

/// A trace that is being written: the fold of its operations.
#[derive(Clone, Debug)]
pub struct Draft {
    trace_id: Text,
    agent: Option<Agent>,
    last: Option<Instant>,
    actions: Vec<Action>,
    artifacts: Vec<Artifact>,
    references: Vec<ReferenceArtifact>,
    residuals: Vec<Residual>,
    links: Vec<TraceLink>,
    outcome: Option<Outcome>,
}

impl Draft {
    /// Begins the draft of the trace with this id.
    pub fn new(trace_id: impl Into<Text>) -> Self {
        Self {
            trace_id: trace_id.into(),
            agent: None,
            last: None,
            actions: Vec::new(),
            artifacts: Vec::new(),
            references: Vec::new(),
            residuals: Vec::new(),
            links: Vec::new(),
            outcome: None,
        }
    }

    /// Returns the id of the trace.
    pub fn trace_id(&self) -> &Text {
        &self.trace_id
    }

    /// Returns the agent, once it is known.
    pub fn agent(&self) -> Option<&Agent> {
        self.agent.as_ref()
    }

    /// Returns the time of the last operation.
    pub fn last_time(&self) -> Option<Instant> {
        self.last
    }

    /// Returns the actions of the agent. The first has the number after [`TASK_ACTION`].
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Returns the artifacts of the agent.
    pub fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }

    /// Returns the reference artifacts.
    pub fn references(&self) -> &[ReferenceArtifact] {
        &self.references
    }

    /// Returns the declared gaps with their present status.
    pub fn residuals(&self) -> &[Residual] {
        &self.residuals
    }

    /// Returns the links to other traces.
    pub fn links(&self) -> &[TraceLink] {
        &self.links
    }

    /// Returns the end of the trace, once it has one.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Returns the number of the last action.
    pub fn last_action(&self) -> ActionId {
        self.actions.last().map_or(TASK_ACTION, |action| action.common.id)
    }

    /// Returns the number of the next action.
    pub fn next_action(&self) -> ActionId {
        ActionId(self.last_action().0.saturating_add(1))
    }

    /// Returns the artifact of an id; the task is none of the agent's.
    pub fn artifact(&self, id: &str) -> Option<&Artifact> {
        self.artifacts.iter().find(|artifact| artifact.common.artifact_id.as_str() == id)
    }

    /// Returns the gap of an id.
    pub fn residual(&self, id: &str) -> Option<&Residual> {
        self.residuals.iter().find(|residual| residual.residual_id.as_str() == id)
    }

    /// Returns the first free id of an artifact: `a1`, `a2`, …
    pub fn free_artifact_id(&self) -> String {
        free("a", self.artifacts.len(), |id| self.has_artifact(id))
    }

    /// Returns the first free id of a gap: `r1`, `r2`, …
    pub fn free_residual_id(&self) -> String {
        free("r", self.residuals.len(), |id| self.residual(id).is_some())
    }

    /// Returns the first free id of a link: `link-1`, `link-2`, …
    pub fn free_link_id(&self) -> String {
        free("link-", self.links.len(), |id| self.links.iter().any(|link| link.link_id.as_str() == id))
    }

    fn has_artifact(&self, id: &str) -> bool {
        id == TASK_ARTIFACT || self.artifact(id).is_some() || self.reference(id).is_some()
    }

    fn reference(&self, id: &str) -> Option<&ReferenceArtifact> {
        self.references.iter().find(|reference| reference.reference_artifact_id.as_str() == id)
    }

    /// Applies an operation.
    ///
    /// # Errors
    /// [`Refusal`]; the draft is as it was.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), Refusal> {
        let found = operation.change.kind().as_str();
        let is_init = matches!(operation.change, Change::Init { .. });
        match (&self.agent, &self.outcome) {
            (None, _) if !is_init => return Err(Refusal::NotBegun { found }),
            (_, Some(_)) => return Err(Refusal::Ended { found }),
            (Some(_), _) if is_init => return Err(Refusal::Begun),
            _ => {}
        }
        if let Some(last) = self.last.filter(|last| *last > operation.at) {
            return Err(Refusal::TimeGoesBack { last, found: operation.at });
        }
        self.change(&operation.change)?;
        self.last = Some(operation.at);
        Ok(())
    }

    fn change(&mut self, change: &Change) -> Result<(), Refusal> {
        match change {
            Change::Init { assistant, model } => {
                filled("the agent", assistant)?;
                filled("the model", model)?;
                self.agent = Some(Agent { assistant: assistant.clone(), model: model.clone() });
            }
            Change::Act { action, artifacts, unit } => {
                unit.as_ref().map_or(Ok(()), |unit| filled("the unit", unit))?;
                self.check_action(action, artifacts)?;
                self.actions.push((**action).clone());
                self.artifacts.extend(artifacts.iter().cloned());
            }
            Change::Artifact(artifact) => {
                let producer = artifact.common.producer_action_id.unwrap_or(ActionId(0));
                let place = self.agent_action(producer)?;
                self.check_artifact(artifact, &[])?;
                if let Some(action) = self.actions.get_mut(place) {
                    action.common.outputs.push(artifact.common.artifact_id.clone());
                }
                self.artifacts.push((**artifact).clone());
            }
            Change::Reference(reference) => {
                self.new_artifact_id(reference.reference_artifact_id.as_str())?;
                filled("the name", &reference.name)?;
                filled("the domain", &reference.domain)?;
                self.references.push((**reference).clone());
            }
            Change::Observe { action, observation } => {
                let place = self.agent_action(*action)?;
                filled("the statement", &observation.statement)?;
                for id in &observation.derived_from {
                    self.known_artifact(id)?;
                }
                if let Some(action) = self.actions.get_mut(place) {
                    action.common.observations.push((**observation).clone());
                }
            }
            Change::Link(link) => {
                self.check_link(link)?;
                self.links.push((**link).clone());
            }
            Change::Residual(residual) => {
                self.check_residual(residual)?;
                self.residuals.push((**residual).clone());
            }
            Change::Status { residual, status, action, note } => {
                self.change_status(residual, *status, *action, note.as_ref())?;
            }
            Change::Complete(outcome) => self.outcome = Some((**outcome).clone()),
        }
        Ok(())
    }

    fn check_action(&self, action: &Action, artifacts: &[Artifact]) -> Result<(), Refusal> {
        let common = &action.common;
        let (expected, found) = (self.next_action(), common.id);
        if found != expected {
            return Err(Refusal::ActionNumber { expected: expected.0, found: found.0 });
        }
        filled("the label", &common.label)?;
        filled("the rationale", &common.rationale)?;
        for input in &common.inputs {
            self.known_artifact(input.as_str())?;
        }
        if let ActionStep::Gateway(_, gateway) = &action.step {
            for input in &gateway.supporting_inputs {
                self.known_artifact(input.as_str())?;
            }
        }
        let duration = common.execution.as_ref().and_then(|execution| execution.duration_ms);
        if let Some(duration) = duration.filter(|duration| *duration < 0) {
            return Err(Refusal::Negative { member: "the duration", found: duration.to_string() });
        }
        let made: Vec<&ArtifactId> = artifacts.iter().map(|artifact| &artifact.common.artifact_id).collect();
        if made != common.outputs.iter().collect::<Vec<_>>() {
            let outputs: Vec<&str> = common.outputs.iter().map(ArtifactId::as_str).collect();
            return Err(Refusal::Outputs { found: outputs.join(", ") });
        }
        for (place, artifact) in artifacts.iter().enumerate() {
            if artifact.common.producer_action_id != Some(expected) {
                return Err(Refusal::Outputs { found: artifact.common.artifact_id.to_string() });
            }
            self.check_artifact(artifact, artifacts.get(..place).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Checks an artifact that comes after those of the draft and after `others`, which the same action made.
    fn check_artifact(&self, artifact: &Artifact, others: &[Artifact]) -> Result<(), Refusal> {
        let id = artifact.common.artifact_id.as_str();
        filled("the id of the artifact", id)?;
        self.new_artifact_id(id)?;
        if others.iter().any(|other| other.common.artifact_id == artifact.common.artifact_id) {
            return Err(Refusal::Taken { what: "an artifact", found: id.to_owned() });
        }
        for source in artifact.common.derived_from.iter().chain(&artifact.common.supersedes) {
            let is_here = others.iter().any(|other| other.common.artifact_id == *source);
            if !is_here {
                self.known_artifact(source.as_str())?;
            }
        }
        self.check_payload(&artifact.content)
    }

    /// Checks the artifacts that the result of a formal tool names.
    fn check_payload(&self, content: &ArtifactContent) -> Result<(), Refusal> {
        match content {
            ArtifactContent::VerificationGoal(goal) => self.known_artifact(goal.target_artifact_id.as_str()),
            ArtifactContent::VerificationResult(result) => {
                self.known_artifact(result.goal_artifact_id.as_str())
            }
            ArtifactContent::StateSpaceAnalysisResult(analysis) => {
                self.known_artifact(analysis.target_artifact_id.as_str())
            }
            ArtifactContent::ConformanceResult(result) => {
                let reference = result.reference_artifact_id.as_str();
                if self.reference(reference).is_none() {
                    let known =
                        self.references.iter().map(|reference| reference.reference_artifact_id.as_str());
                    return Err(Refusal::unknown("a reference artifact", reference, known));
                }
                self.known_artifact(result.target_artifact_id.as_str())
            }
            ArtifactContent::CoSimulationResult(result) => {
                self.known_artifact(result.target_artifact_id.as_str())?;
                result.input_artifact_ids.iter().try_for_each(|id| self.known_artifact(id.as_str()))
            }
            ArtifactContent::GeneratedTests(tests) => {
                self.known_artifact(tests.source_analysis_artifact_id.as_str())
            }
            _ => Ok(()),
        }
    }

    fn check_residual(&self, residual: &Residual) -> Result<(), Refusal> {
        let id = residual.residual_id.as_str();
        filled("the id of the gap", id)?;
        filled("the statement", &residual.statement)?;
        if self.residual(id).is_some() {
            return Err(Refusal::Taken { what: "a gap", found: id.to_owned() });
        }
        let status = residual.status.unwrap_or(ResidualStatus::Open);
        if status != ResidualStatus::Open {
            return Err(Refusal::Lifecycle {
                residual: id.to_owned(),
                from: ResidualStatus::Open,
                to: status,
                expected: "open when it is declared",
            });
        }
        for related in &residual.related_artifact_ids {
            self.known_artifact(related.as_str())?;
        }
        if let Some(action) = residual.introduced_by_action_id {
            self.known_action(action)?;
        }
        match residual.target.as_ref().map(|target| &target.part) {
            Some(TargetPart::Action(action)) => self.known_action(*action),
            Some(TargetPart::Artifact(artifact)) => self.known_artifact(artifact.as_str()),
            Some(TargetPart::ReferenceArtifact(artifact)) => self.known_artifact(artifact.as_str()),
            Some(TargetPart::Trace | TargetPart::Policy(_) | TargetPart::PolicyEvaluation(_)) | None => {
                Ok(())
            }
        }
    }

    fn change_status(
        &mut self,
        id: &ResidualId,
        to: ResidualStatus,
        action: Option<ActionId>,
        note: Option<&Text>,
    ) -> Result<(), Refusal> {
        use ResidualStatus::{Acknowledged, Addressed, Open, Waived};
        action.map_or(Ok(()), |action| self.known_action(action))?;
        let Some(place) = self.residuals.iter().position(|residual| residual.residual_id == *id) else {
            let known = self.residuals.iter().map(|residual| residual.residual_id.as_str());
            return Err(Refusal::unknown("a declared gap", id.as_str(), known));
        };
        let Some(residual) = self.residuals.get_mut(place) else { return Ok(()) };
        let from = residual.status.unwrap_or(Open);
        let (allowed, expected) = match from {
            Open => (matches!(to, Acknowledged | Addressed | Waived), "acknowledged, addressed, waived"),
            Acknowledged => (matches!(to, Open | Addressed | Waived), "open, addressed, waived"),
            Addressed | Waived => (to == Open, "open"),
        };
        if !allowed {
            return Err(Refusal::Lifecycle { residual: id.to_string(), from, to, expected });
        }
        if to == Addressed && action.is_none() {
            return Err(Refusal::AddressedByNothing { residual: id.to_string() });
        }
        residual.status = Some(to);
        residual.extra = residual.extra.without("addressed_by_action_id").without("status_note");
        if let Some(action) = action {
            residual.extra = residual.extra.with("addressed_by_action_id", action.0);
        }
        if let Some(note) = note {
            residual.extra = residual.extra.with("status_note", note.clone());
        }
        Ok(())
    }

    fn check_link(&self, link: &TraceLink) -> Result<(), Refusal> {
        filled("the id of the other trace", link.to_trace_id.as_str())?;
        if self.links.iter().any(|known| known.link_id == link.link_id) {
            return Err(Refusal::Taken { what: "a link", found: link.link_id.to_string() });
        }
        let (from, to) = (link.from_trace_id.as_str(), link.to_trace_id.as_str());
        if from != &*self.trace_id || to == &*self.trace_id {
            let expected = self.trace_id.to_string();
            return Err(Refusal::Link { expected, from: from.to_owned(), to: to.to_owned() });
        }
        Ok(())
    }

    fn known_action(&self, id: ActionId) -> Result<(), Refusal> {
        let last = self.last_action();
        if id < TASK_ACTION || id > last {
            return Err(Refusal::NoAction { first: TASK_ACTION.0, last: last.0, found: id.0 });
        }
        Ok(())
    }

    /// Returns the place of an action of the agent; the one that receives the task is none.
    fn agent_action(&self, id: ActionId) -> Result<usize, Refusal> {
        let place = usize::try_from(id.0.saturating_sub(TASK_ACTION.0 + 1)).ok();
        place.filter(|place| id > TASK_ACTION && *place < self.actions.len()).ok_or(Refusal::NoAction {
            first: TASK_ACTION.0 + 1,
            last: self.last_action().0,
            found: id.0,
        })
    }

    fn known_artifact(&self, id: &str) -> Result<(), Refusal> {
        if self.has_artifact(id) {
            return Ok(());
        }
        let made = self.artifacts.iter().map(|artifact| artifact.common.artifact_id.as_str());
        let references = self.references.iter().map(|reference| reference.reference_artifact_id.as_str());
        Err(Refusal::unknown("an artifact", id, made.chain(references).chain([TASK_ARTIFACT])))
    }

    fn new_artifact_id(&self, id: &str) -> Result<(), Refusal> {
        if self.has_artifact(id) {
            return Err(Refusal::Taken { what: "an artifact", found: id.to_owned() });
        }
        Ok(())
    }
}

fn filled(member: &'static str, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() { Err(Refusal::Empty { member }) } else { Ok(()) }
}

fn free(prefix: &str, count: usize, is_taken: impl Fn(&str) -> bool) -> String {
    let mut number = count.saturating_add(1);
    loop {
        let id = format!("{prefix}{number}");
        if !is_taken(&id) {
            return id;
        }
        number += 1;
    }
}
