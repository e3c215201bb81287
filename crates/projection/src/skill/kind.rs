//! The appearance of a skill's steps to a reviewer: action types, artifact types and units.

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;
use hence_cognition::run::StepOutcome;
use hence_cognition::skill::{Flow, Skill, Step, Uses};
use hence_cognition::state::StepStatus;
use hence_review::model::{ArtifactContent, MetaActionId};
use hence_review::vocabulary::{ActionType, ActionTypes, ActivityType, GovernanceType, ReasoningType};
use hence_skills::{Effect, Host};

use super::{SkillView, approval};
use crate::delta::{UnitHead, Units};
use crate::text;

/// The member of a skill's metadata that sets the action types of its steps or of their capabilities.
pub const ACTIONS_MEMBER: &str = "actions";
/// The member of a skill's metadata that declares action types of its own.
pub const CUSTOM_ACTIONS_MEMBER: &str = "custom_actions";
/// The member of a skill's metadata that gives tags to steps: `{wipe: [destructive]}`.
pub const TAGS_MEMBER: &str = "tags";
/// The member of a provider's report that sets the action type.
const REPORTED: &str = "action";
/// The first word of the ids of capabilities that ask a person.
const PERSON: &str = "human";

impl SkillView<'_> {
    /// Returns the action types of the skill's own steps.
    pub(super) fn kinds(&self) -> Kinds<'_> {
        Kinds { skill: self.skill(), host: self.host }
    }

    /// Returns the action type of a step. The answer to a question decides whether it is an approval.
    pub(super) fn kind(&self, step: &Step, outcome: Option<&StepOutcome>) -> ActionType {
        self.kinds().kind(step, outcome)
    }
}

/// The action types of the steps of a skill: of the run's own, or of one that it nests.
#[derive(Clone, Copy)]
pub(super) struct Kinds<'a> {
    pub(super) skill: &'a Skill,
    pub(super) host: &'a dyn Host,
}

impl Kinds<'_> {
    /// Returns the action type of a step. The answer to a question decides whether it is an approval.
    pub(super) fn kind(&self, step: &Step, outcome: Option<&StepOutcome>) -> ActionType {
        let kind = self.said_kind(step, outcome);
        match outcome {
            Some(outcome) if approval::is_question(kind) => {
                approval::answered(kind, approval::stance(step, outcome))
            }
            _ => kind,
        }
    }

    /// Returns the action type of a step: from the skill, else from the report of its provider, else from the capability.
    fn said_kind(&self, step: &Step, outcome: Option<&StepOutcome>) -> ActionType {
        // What was not called did not happen: the confirmation or a gate denied it, or its input could not be made.
        if outcome.is_some_and(|outcome| is_uncalled(step, outcome)) {
            return RUN;
        }
        let types = self.types(step, outcome);
        if let Some(kind) = self.declared_deed(step, outcome, &types) {
            return kind;
        }
        let word = |value: &Value| types.read(value.as_str()?).ok();
        let metadata = self.skill.metadata.get(ACTIONS_MEMBER);
        let said = |key: &str| metadata.and_then(|actions| actions.get(key)).and_then(word);
        let reported = outcome.and_then(|outcome| outcome.meta.get(REPORTED)).and_then(word);
        if let Some(kind) = said(&step.id).or(reported) {
            return kind;
        }
        let mut kinds = called(step, outcome)
            .into_iter()
            .map(|uses| said(&uses.to_string()).unwrap_or_else(|| self.declared(&uses, &types)));
        let first = kinds.next().unwrap_or(RUN);
        if kinds.all(|kind| kind == first) { first } else { RUN }
    }

    /// Returns the action type that the file of a capability declares for a call that acts. Whoever operates the
    /// capability decided it; a skill cannot give the deed another name and so pass a rule about it.
    fn declared_deed(
        &self,
        step: &Step,
        outcome: Option<&StepOutcome>,
        types: &ActionTypes,
    ) -> Option<ActionType> {
        let called = called(step, outcome);
        let [Uses::Capability(id)] = called.as_slice() else { return None };
        let spec = self.host.capability(id).filter(|_| self.host.effect(id) == Effect::Acts)?;
        types.read(spec.action.as_deref()?).ok()
    }

    fn declared(&self, uses: &Uses, types: &ActionTypes) -> ActionType {
        match uses {
            Uses::Skill(_) => ActivityType::DecomposeTask.into(),
            Uses::Capability(id) => {
                let spec = self.host.capability(id);
                let declared = spec.and_then(|spec| types.read(spec.action.as_deref()?).ok());
                let asks =
                    &**id == PERSON || id.strip_prefix(PERSON).is_some_and(|rest| rest.starts_with('.'));
                declared.unwrap_or(if asks { ActivityType::AskUser.into() } else { RUN })
            }
        }
    }

    /// Returns the action types that a step may have: the vocabulary, and what its skill and its callees declare.
    fn types(&self, step: &Step, outcome: Option<&StepOutcome>) -> ActionTypes {
        let mut types = action_types_of_skill(self.skill);
        for uses in called(step, outcome) {
            if let Uses::Capability(id) = &uses
                && let Some(spec) = self.host.capability(id)
            {
                // Names that are none were refused when the file was read.
                spec.custom_actions.iter().for_each(|word| drop(types.declare(word)));
            }
        }
        types
    }

    /// Returns the action types that were said or reported of a step and that nothing declares.
    pub(super) fn unknown_types(&self, step: &Step, outcome: &StepOutcome) -> Vec<String> {
        let types = self.types(step, Some(outcome));
        let metadata = self.skill.metadata.get(ACTIONS_MEMBER);
        let said = metadata.and_then(|actions| actions.get(&step.id));
        let words = [said, outcome.meta.get(REPORTED)].into_iter().flatten();
        words.filter_map(Value::as_str).filter(|word| types.read(word).is_err()).map(str::to_owned).collect()
    }

    /// Returns the action type of a gate: what its file declares, or that it runs.
    pub(super) fn of_gate(&self, capability: &str) -> ActionType {
        let mut types = action_types_of_skill(self.skill);
        let Some(spec) = self.host.capability(capability) else { return RUN };
        spec.custom_actions.iter().for_each(|word| drop(types.declare(word)));
        spec.action.as_deref().and_then(|word| types.read(word).ok()).unwrap_or(RUN)
    }

    /// Returns the tags that the skill gives to a step.
    pub(super) fn tags(&self, step: &Step) -> Vec<Value> {
        let tags = self.skill.metadata.get(TAGS_MEMBER).and_then(|tags| tags.get(&step.id));
        tags.and_then(Value::as_array).unwrap_or_default().to_vec()
    }
}

/// Returns the action types that a skill may use: the vocabulary, and those of its `metadata.custom_actions`.
pub fn action_types_of_skill(skill: &Skill) -> ActionTypes {
    let mut types = ActionTypes::default();
    let declared = skill.metadata.get(CUSTOM_ACTIONS_MEMBER).and_then(Value::as_array).unwrap_or_default();
    for word in declared.iter().filter_map(Value::as_str) {
        drop(types.declare(word));
    }
    types
}

/// The action type of a step about which nothing is declared.
const RUN: ActionType = ActionType::Activity(ActivityType::RunCommand);

/// Returns whether a step failed or was degraded before any of its callees was called.
pub(super) fn is_uncalled(step: &Step, outcome: &StepOutcome) -> bool {
    let has_ended = matches!(outcome.status, StepStatus::Failed | StepStatus::Degraded);
    let is_called = |uses: &Uses| outcome.called.contains_key(&*uses.to_string());
    has_ended && !called(step, Some(outcome)).iter().any(is_called)
}

/// Returns the callees of a step: those it called, or those it may call if there is no outcome.
pub(super) fn called(step: &Step, outcome: Option<&StepOutcome>) -> Vec<Uses> {
    if let Flow::Scatter(scatter) = &step.control.flow {
        let is_called =
            |uses: &&Uses| outcome.is_none_or(|outcome| outcome.called.contains_key(&*uses.to_string()));
        let called: Vec<Uses> = scatter.branches.iter().filter(is_called).cloned().collect();
        return if called.is_empty() { scatter.branches.clone() } else { called };
    }
    match &step.control.router {
        None => vec![step.uses.clone()],
        Some(router) => match outcome.and_then(|outcome| matched(step, outcome)) {
            Some((_, uses)) => vec![uses],
            None => router.cases.iter().map(|(_, uses)| uses.clone()).chain(router.default.clone()).collect(),
        },
    }
}

/// Returns the case a router chose and its callee, from the record or from the only call that was made.
pub(super) fn matched(step: &Step, outcome: &StepOutcome) -> Option<(Option<Arc<str>>, Uses)> {
    let router = step.control.router.as_ref()?;
    let routes = || {
        let cases = router.cases.iter().map(|(case, uses)| (Some(case.clone()), uses.clone()));
        cases.chain(router.default.iter().map(|uses| (None, uses.clone())))
    };
    match outcome.meta.get("router_matched").and_then(Value::as_str) {
        Some(word) => {
            let case = routes().find(|(case, _)| case.as_deref() == Some(word));
            case.or_else(|| routes().find(|(case, _)| case.is_none()))
        }
        None => {
            let mut made = routes().filter(|(_, uses)| outcome.called.contains_key(&*uses.to_string()));
            made.next().filter(|_| made.next().is_none())
        }
    }
}

/// Returns whether an action of this type asks a person.
pub(super) fn asks_a_person(kind: ActionType) -> bool {
    matches!(
        kind,
        ActionType::Activity(ActivityType::AskUser)
            | ActionType::Gateway(_)
            | ActionType::Governance(GovernanceType::RequestApproval)
    )
}

/// Returns whether an action of this type checks something.
pub(crate) fn checks(kind: ActionType) -> bool {
    match kind {
        ActionType::Activity(word) => matches!(
            word,
            ActivityType::RunTests
                | ActivityType::TypeCheck
                | ActivityType::Lint
                | ActivityType::ManualVerification
                | ActivityType::Test
                | ActivityType::StaticAnalysis
                | ActivityType::CoverageAnalysis
        ),
        ActionType::Reasoning(word) => matches!(
            word,
            ReasoningType::Verify | ReasoningType::ConformanceCheck | ReasoningType::CoSimulate
        ),
        ActionType::Gateway(_) | ActionType::Governance(_) | ActionType::Custom(_) => false,
    }
}

/// Returns the artifact type and role of an action's output. A result of formal reasoning is a note unless it has
/// everything that one of [the forms](super::formal) demands.
pub(super) fn artifact(kind: ActionType, produced: &Value) -> (ArtifactContent, Option<&'static str>) {
    use ActivityType as A;
    let payload = || (!produced.is_null()).then(|| without_secrets(produced));
    match kind {
        ActionType::Activity(word) => match word {
            A::ReadFile | A::ReadDocumentation => (ArtifactContent::Documentation, None),
            A::SearchCode | A::SearchWeb | A::ExploreDirectory => (ArtifactContent::SearchResults, None),
            A::EditFile | A::CreateFile | A::RenameFile => (ArtifactContent::SourceCode, None),
            A::GitDiff => (ArtifactContent::Diff, None),
            A::GitCommit => (ArtifactContent::Commit, None),
            A::AskUser => (ArtifactContent::UserInstruction, None),
            A::FormulatePlan | A::DecomposeTask => (ArtifactContent::Plan, None),
            A::AnalyzeCode | A::Explain | A::EstimateImpact | A::ReportProgress => {
                (ArtifactContent::AnalysisNote, None)
            }
            A::RunTests | A::TypeCheck | A::Lint | A::ManualVerification => {
                (ArtifactContent::CommandResult(payload()), Some("reasoning_result"))
            }
            A::SourceCode => (ArtifactContent::SourceCode, None),
            A::Plan => (ArtifactContent::Plan, None),
            // Requirements, reports and findings are documents; everything else was carried out.
            A::Draft
            | A::Output
            | A::Recommendation
            | A::SystemRequirement
            | A::HighLevelRequirement
            | A::LowLevelRequirement
            | A::DerivedRequirement
            | A::ProblemReport
            | A::AccomplishmentSummary
            | A::ComplianceSummary
            | A::Directive
            | A::Finding => (ArtifactContent::Documentation, None),
            A::Retrieve => (ArtifactContent::SearchResults, None),
            A::CoverageAnalysis | A::StaticAnalysis | A::Test => {
                (ArtifactContent::CommandResult(payload()), Some("reasoning_result"))
            }
            A::RunCommand
            | A::GitStatus
            | A::DeleteFile
            | A::GitPush
            | A::Deploy
            | A::ToolCall
            | A::Compute
            | A::Release
            | A::Incident
            | A::Distribution
            | A::Change
            | A::Deviation => (ArtifactContent::CommandResult(payload()), None),
        },
        ActionType::Custom(_) => (ArtifactContent::CommandResult(payload()), None),
        ActionType::Gateway(_) => (ArtifactContent::UserInstruction, None),
        ActionType::Reasoning(_) => (ArtifactContent::AnalysisNote, Some("reasoning_result")),
        ActionType::Governance(word) => match word {
            // An approval is made of the answer that gives it.
            GovernanceType::RequestApproval | GovernanceType::Approve | GovernanceType::Reject => {
                (ArtifactContent::UserInstruction, None)
            }
            _ => (ArtifactContent::AnalysisNote, Some("audit_evidence")),
        },
    }
}

/// Returns an output with the texts that look like secrets replaced.
fn without_secrets(produced: &Value) -> Value {
    match produced {
        Value::String(text) => hence_review::secret::without_secrets(text).into(),
        Value::Array(items) => items.iter().map(without_secrets).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.clone(), without_secrets(value)));
            members.collect::<hence_canon::Object>().into()
        }
        other => other.clone(),
    }
}

/// The member of a skill's metadata that groups its steps: a list of `{id, title, intent, steps}`.
const GROUPS_MEMBER: &str = "groups";
/// The id of the unit of the run as a whole.
const PLAN: &str = "plan";
/// The id of the unit after the last step.
const CONCLUSION: &str = "conclusion";

/// The groups of a skill, with the units each has had.
#[derive(Default)]
pub(super) struct Groups {
    groups: Vec<Group>,
    of_step: BTreeMap<Arc<str>, usize>,
}

struct Group {
    id: Arc<str>,
    title: Arc<str>,
    intent: Arc<str>,
    /// The last unit of the group, and how many it has had.
    unit: Option<MetaActionId>,
    visits: usize,
}

impl Groups {
    /// Reads the groups a skill declares. Invalid entries are ignored, because metadata has no contract.
    pub(super) fn of(skill: &Skill) -> Self {
        let declared = skill.metadata.get(GROUPS_MEMBER).and_then(Value::as_array).unwrap_or_default();
        let mut groups = Self::default();
        for value in declared {
            let text =
                |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            let Some(id) = text("id") else { continue };
            let title = text("title").unwrap_or(id);
            let intent = text("intent").unwrap_or(title);
            let steps = value.get("steps").and_then(Value::as_array).unwrap_or_default();
            for step in steps.iter().filter_map(Value::as_str) {
                groups.of_step.entry(step.into()).or_insert(groups.groups.len());
            }
            groups.groups.push(Group {
                id: id.into(),
                title: text::shortened(title).into(),
                intent: text::shortened(intent).into(),
                unit: None,
                visits: 0,
            });
        }
        groups
    }

    /// Returns the unit of the next step. Coming back to a group begins another unit of the same title.
    pub(super) fn unit(&self, step: &Step, units: &Units) -> UnitHead {
        let parent = Some(MetaActionId::new(PLAN));
        let Some(group) = self.of_step.get(&step.id).and_then(|place| self.groups.get(*place)) else {
            let intent = format!("Call {}, as the skill declares", step.uses);
            let id = MetaActionId::new(format!("step:{}", step.id));
            return UnitHead { id, title: format!("Step {}", step.id).into(), intent: intent.into(), parent };
        };
        let id = match &group.unit {
            Some(unit) if units.last() == Some(unit) => unit.clone(),
            Some(_) => MetaActionId::new(format!("group:{}@{}", group.id, group.visits + 1)),
            None => MetaActionId::new(format!("group:{}", group.id)),
        };
        UnitHead { id, title: group.title.clone(), intent: group.intent.clone(), parent }
    }

    /// Remembers the unit of a step.
    pub(super) fn apply(&mut self, unit: &MetaActionId, step: &Arc<str>) {
        let group = self.of_step.get(step).and_then(|place| self.groups.get_mut(*place));
        if let Some(group) = group
            && group.unit.as_ref() != Some(unit)
        {
            group.unit = Some(unit.clone());
            group.visits += 1;
        }
    }
}

/// Returns the unit of the run as a whole.
pub(super) fn plan_unit(skill: &Skill) -> UnitHead {
    UnitHead {
        id: MetaActionId::new(PLAN),
        title: format!("Run the skill {}", skill.name).into(),
        intent: skill.description.clone(),
        parent: None,
    }
}

/// Returns the unit after the last step.
pub(super) fn conclusion_unit() -> UnitHead {
    UnitHead {
        id: MetaActionId::new(CONCLUSION),
        title: "Conclude".into(),
        intent: "See whether the run gave what the skill declares".into(),
        parent: Some(MetaActionId::new(PLAN)),
    }
}
