//! Answers of people in a trace: approvals, rejections and information.

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::approval::{APPROVES, REJECTS, Stance};
use hence_cognition::run::{MadeCall, StepOutcome};
use hence_cognition::skill::{DependsOn, Flow, Foreach, ScatterMerge, Step};
use hence_cognition::state::StepStatus;
use hence_review::model::{Artifact, ArtifactContent};
use hence_review::vocabulary::{ActionType, ActivityType, GovernanceType};

use super::decision::answer_in;
use super::{SkillView, facts};

/// Returns whether an action of this type puts a question to a person, or is the answer to one.
pub(super) fn is_question(kind: ActionType) -> bool {
    matches!(
        kind,
        ActionType::Activity(ActivityType::AskUser)
            | ActionType::Gateway(_)
            | ActionType::Governance(
                GovernanceType::RequestApproval | GovernanceType::Approve | GovernanceType::Reject
            )
    )
}

/// Returns the type of a question's action once its answer is known. Only an answer that the question declares to
/// approve makes an approval, whatever the skill calls the step.
pub(super) fn answered(kind: ActionType, stance: Stance) -> ActionType {
    match (kind, stance) {
        (ActionType::Gateway(_), _) => kind,
        (_, Stance::Approved) => GovernanceType::Approve.into(),
        (_, Stance::Rejected) => GovernanceType::Reject.into(),
        (ActionType::Governance(_), Stance::Informed) => GovernanceType::RequestApproval.into(),
        (_, Stance::Informed) => kind,
    }
}

impl SkillView<'_> {
    /// Returns the steps that changed files since the last commit.
    pub(super) fn changed_since_commit(&self) -> Vec<Arc<str>> {
        let mut changed = Vec::new();
        for (step, kinds) in self.done.to_vec() {
            for kind in kinds {
                match *kind {
                    ActionType::Activity(ActivityType::GitCommit) => changed.clear(),
                    kind if facts::changes_files(kind) => changed.push(step.clone()),
                    _ => {}
                }
            }
        }
        changed
    }

    /// Returns the questions that a step waited for and that decided about it: those it names in `depends_on`, or else
    /// those declared directly before it. They are the ones that approved, or, if any rejected, the ones that did.
    pub(super) fn decisions_before(&self, step: &Step) -> Vec<Arc<str>> {
        let steps = &self.skill().steps;
        let is_asked = |step: &&Step| is_question(self.kind(step, None));
        let waited_for: Vec<&Step> = match &step.depends_on {
            DependsOn::Steps(ids) => ids.iter().filter_map(|id| self.step_of(id)).filter(is_asked).collect(),
            _ => {
                let place = self.places.get(&step.id).copied().unwrap_or_default();
                steps.iter().take(place).rev().take_while(is_asked).collect()
            }
        };
        let stances: Vec<(&Arc<str>, Stance)> = waited_for
            .into_iter()
            .filter_map(|asked| {
                let outcome =
                    self.progress.outcomes().iter().rev().find(|known| known.step_id == asked.id)?;
                Some((&asked.id, stance(asked, outcome)))
            })
            .collect();
        let is_rejected = stances.iter().any(|(_, stance)| *stance == Stance::Rejected);
        let decisive = if is_rejected { Stance::Rejected } else { Stance::Approved };
        let decided = stances.into_iter().filter(|(_, stance)| *stance == decisive);
        decided.map(|(id, _)| id.clone()).collect()
    }
}

/// Returns what people decided about the calls of a step, each with the call.
pub(super) fn decisions(outcome: &StepOutcome) -> Vec<Object> {
    let decision = |call: &MadeCall| {
        Some(Object::from_iter([
            ("call", Value::from(call.key.clone())),
            ("capability", call.capability.clone().into()),
            ("decided", call.decided()?.into()),
            ("decided_by", call.decided_by().map(str::to_owned).into()),
            ("item", call.item.into()),
            ("iteration", call.iteration.into()),
        ]))
    };
    outcome.listed_calls().iter().filter_map(decision).collect()
}

/// Returns whether an artifact is an answer that rejects.
pub(super) fn is_rejection(artifact: &Artifact) -> bool {
    let decision = artifact.common.metadata.as_ref().and_then(|metadata| metadata.get("decision")?.as_str());
    decision == Stance::Rejected.word()
}

/// Returns the artifact of an answer.
pub(super) fn artifact(stance: Stance) -> ArtifactContent {
    match stance {
        Stance::Approved => ArtifactContent::UserApproval,
        Stance::Rejected | Stance::Informed => ArtifactContent::UserInstruction,
    }
}

/// Returns whether an item replaces the declaration of what approves: it is a member of the input of its call, which the
/// outcome does not show for each item.
fn shadows_declaration(foreach: &Foreach) -> bool {
    let names = [Some(&foreach.item_name), foreach.index_name.as_ref()];
    names.into_iter().flatten().any(|name| matches!(&**name, APPROVES | REJECTS))
}

/// Returns the meaning of the answers that a step received. Answers of several items or branches approve only together.
pub(super) fn stance(step: &Step, outcome: &StepOutcome) -> Stance {
    if outcome.status != StepStatus::Completed {
        return Stance::Informed;
    }
    let Some(produced) = &outcome.produced else { return Stance::Informed };
    let of =
        |answer: Option<&Value>| answer.map_or(Stance::Informed, |answer| Stance::of(&outcome.input, answer));
    let of_items = || {
        let items = answer_in(produced).and_then(Value::as_array).unwrap_or_default();
        Stance::of_all(items.iter().map(|answer| of(Some(answer))))
    };
    match &step.control.flow {
        Flow::Foreach(foreach) if shadows_declaration(foreach) => Stance::Informed,
        Flow::Foreach(_) => of_items(),
        Flow::Scatter(scatter) => match scatter.merge {
            ScatterMerge::FirstSuccess => of(answer_in(produced)),
            ScatterMerge::Collect => {
                let branches = scatter.branches.iter().map(|uses| produced.get(&uses.to_string()));
                Stance::of_all(branches.map(|output| of(output.and_then(answer_in))))
            }
            // Joined lists do not show which branch gave which answer, so only a rejection is certain.
            ScatterMerge::ConcatLists => match of_items() {
                Stance::Rejected => Stance::Rejected,
                Stance::Approved | Stance::Informed => Stance::Informed,
            },
        },
        Flow::Once | Flow::While(_) => of(answer_in(produced)),
    }
}

/// Returns the people who answered, as they said, each once.
pub(super) fn people(outcome: &StepOutcome) -> Option<String> {
    let mut names = BTreeSet::new();
    collect_names(outcome.produced.as_ref()?, 0, &mut names);
    let names: Vec<String> = names.into_iter().collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Collects the names under `by`: of an answer, of the answers of items, or of the answers of branches.
fn collect_names(value: &Value, depth: usize, names: &mut BTreeSet<String>) {
    let Value::Object(object) = value else { return };
    match object.get("by") {
        Some(Value::String(name)) => drop(names.insert(name.to_string())),
        Some(Value::Array(items)) => {
            names.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        _ if depth == 0 => object.iter().for_each(|(_, branch)| collect_names(branch, depth + 1, names)),
        _ => {}
    }
}

/// Returns the members of a declared question that a reviewer needs to see why an answer counts.
pub(super) fn question_members(input: &Value) -> Vec<(&'static str, Value)> {
    let members = ["question", "options", "approves", "rejects", "context"];
    members.into_iter().filter_map(|key| Some((key, input.get(key)?.clone()))).collect()
}

/// Returns the result of a question's action: the answer, its meaning, and who gave it.
pub(super) fn result(outcome: &StepOutcome, stance: Stance) -> Object {
    let answer = outcome.produced.as_ref().and_then(answer_in);
    // The last round of a loop decides; who said what before it is on record, too.
    let round = |round: &Value| {
        let answer = answer_in(round)?;
        let decision = Stance::of(&outcome.input, answer).word();
        let by = round.get("by").and_then(Value::as_str);
        let members = [
            ("answer", Some(answer.clone())),
            ("by", by.map(Value::from)),
            ("decision", decision.map(Value::from)),
        ];
        Some(Value::from(
            members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Object>(),
        ))
    };
    let earlier: Vec<Value> = outcome.earlier_rounds().iter().filter_map(round).collect();
    let members = [
        (!earlier.is_empty()).then(|| ("earlier_answers", Value::from(earlier))),
        stance.word().map(|word| ("decision", Value::from(word))),
        answer.map(|answer| ("answer", answer.clone())),
        people(outcome).map(|by| ("by", by.into())),
    ];
    members.into_iter().flatten().collect()
}
