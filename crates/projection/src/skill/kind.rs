//! What a step of a skill is to a reviewer.

use std::sync::Arc;

use hence_canon::Value;
use hence_cognition::run::StepOutcome;
use hence_cognition::skill::{Flow, Step, Uses};
use hence_review::model::ArtifactContent;
use hence_review::vocabulary::{ActionType, ActivityType, GovernanceType, ReasoningType};

use super::SkillView;

/// The member of a skill's metadata that says what its steps, or what they call, are to a reviewer.
const ACTIONS_MEMBER: &str = "actions";
/// The member of a provider's report that says it, too.
const REPORTED: &str = "action";
/// How the ids of capabilities that ask a person begin.
const PERSON: &str = "human";

impl SkillView<'_> {
    /// Returns the type of action a step is: what the skill says, else what was reported with the result, else what
    /// the capability declares.
    pub(super) fn kind(&self, step: &Step, outcome: Option<&StepOutcome>) -> ActionType {
        let metadata = self.prepared.skill().metadata.get(ACTIONS_MEMBER);
        let said = |key: &str| metadata.and_then(|actions| actions.get(key)).and_then(word);
        let reported = outcome.and_then(|outcome| outcome.meta.get(REPORTED)).and_then(word);
        if let Some(kind) = said(&step.id).or(reported) {
            return kind;
        }
        let mut kinds = called(step, outcome)
            .into_iter()
            .map(|uses| said(&uses.to_string()).unwrap_or_else(|| self.declared(&uses)));
        let first = kinds.next().unwrap_or(RUN);
        if kinds.all(|kind| kind == first) { first } else { RUN }
    }

    fn declared(&self, uses: &Uses) -> ActionType {
        match uses {
            Uses::Skill(_) => ActivityType::DecomposeTask.into(),
            Uses::Capability(id) => {
                let spec = self.host.capability(id);
                let declared = spec.and_then(|spec| ActionType::from_word(spec.action.as_deref()?));
                let asks =
                    &**id == PERSON || id.strip_prefix(PERSON).is_some_and(|rest| rest.starts_with('.'));
                declared.unwrap_or(if asks { ActivityType::AskUser.into() } else { RUN })
            }
        }
    }
}

/// What can be said of anything: it was run, and this is its result.
const RUN: ActionType = ActionType::Activity(ActivityType::RunCommand);

fn word(value: &Value) -> Option<ActionType> {
    ActionType::from_word(value.as_str()?)
}

/// Returns what a step called, or what it may call when nobody has seen it run.
pub(super) fn called(step: &Step, outcome: Option<&StepOutcome>) -> Vec<Uses> {
    if let Flow::Scatter(scatter) = &step.control.flow {
        return scatter.branches.clone();
    }
    match &step.control.router {
        None => vec![step.uses.clone()],
        Some(router) => match outcome.and_then(|outcome| matched(step, outcome)) {
            Some((_, uses)) => vec![uses],
            None => router.cases.iter().map(|(_, uses)| uses.clone()).chain(router.default.clone()).collect(),
        },
    }
}

/// Returns the case a router chose and what it calls: what is recorded, or what the only call made tells.
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
pub(super) fn checks(kind: ActionType) -> bool {
    match kind {
        ActionType::Activity(word) => matches!(
            word,
            ActivityType::RunTests
                | ActivityType::TypeCheck
                | ActivityType::Lint
                | ActivityType::ManualVerification
        ),
        ActionType::Reasoning(word) => matches!(
            word,
            ReasoningType::Verify | ReasoningType::ConformanceCheck | ReasoningType::CoSimulate
        ),
        ActionType::Gateway(_) | ActionType::Governance(_) => false,
    }
}

/// Returns the artifact an action's output is, and its role. What formal reasoning gives is a note unless it has all
/// that one of [the forms](super::formal) demands.
pub(super) fn artifact(kind: ActionType, produced: &Value) -> (ArtifactContent, Option<&'static str>) {
    use ActivityType as A;
    let payload = || (!produced.is_null()).then(|| produced.clone());
    match kind {
        ActionType::Activity(word) => match word {
            A::ReadFile | A::ReadDocumentation => (ArtifactContent::Documentation, None),
            A::SearchCode | A::SearchWeb | A::ExploreDirectory => (ArtifactContent::SearchResults, None),
            A::EditFile | A::CreateFile | A::RenameFile => (ArtifactContent::SourceCode, None),
            A::GitDiff => (ArtifactContent::Diff, None),
            A::GitCommit => (ArtifactContent::Commit, None),
            A::AskUser => (ArtifactContent::UserApproval, None),
            A::FormulatePlan | A::DecomposeTask => (ArtifactContent::Plan, None),
            A::AnalyzeCode | A::Explain | A::EstimateImpact | A::ReportProgress => {
                (ArtifactContent::AnalysisNote, None)
            }
            A::RunTests | A::TypeCheck | A::Lint | A::ManualVerification => {
                (ArtifactContent::CommandResult(payload()), Some("reasoning_result"))
            }
            A::RunCommand | A::GitStatus | A::DeleteFile => (ArtifactContent::CommandResult(payload()), None),
        },
        ActionType::Gateway(_) => (ArtifactContent::UserApproval, None),
        ActionType::Reasoning(_) => (ArtifactContent::AnalysisNote, Some("reasoning_result")),
        ActionType::Governance(word) => match word {
            GovernanceType::RequestApproval | GovernanceType::Approve | GovernanceType::Reject => {
                (ArtifactContent::UserApproval, None)
            }
            _ => (ArtifactContent::AnalysisNote, Some("audit_evidence")),
        },
    }
}
