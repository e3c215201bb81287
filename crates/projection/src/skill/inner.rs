//! The calls of nested skills and of gates, as actions of the run around them.
//!
//! A policy of a run is about everything the run does. So what a nested skill does is in the trace of the run that nests
//! it, too, with the type that the nested skill gives it, and a gate judges it before it happens.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::approval::Stance;
use hence_cognition::failure::{ErrorClass, Failure};
use hence_cognition::run::{MadeCall, MadePlace, StepOutcome, blank, is_proposed};
use hence_cognition::skill::{DependsOn, Skill, Step};
use hence_cognition::state::StepStatus;
use hence_journal::RecordIndex;
use hence_review::model::{
    Action, ActionCommon, ActionId, ActionPayload, ActionStep, ArtifactContent, ArtifactId,
};
use hence_review::secret;
use hence_review::vocabulary::{ActivityType, Determinism as Repeatability, GovernanceType};
use hence_skills::{Effect, Host};
use hence_state::StepResult;

use super::action::{Call, CallExtent, call_actions};
use super::kind::Kinds;
use super::{SKILL, SkillView, approval, decision};
use crate::artifacts::{NewArtifact, NewArtifacts, Succession};
use crate::run_info::action_common;
use crate::text;
use crate::view::Context;

/// The record and the step that the calls are inside of.
pub(super) struct Around<'c> {
    pub(super) view: &'c SkillView<'c>,
    pub(super) context: &'c Context<'c>,
    pub(super) index: RecordIndex,
    pub(super) result: &'c StepResult,
    pub(super) step: &'c Step,
    pub(super) outcome: &'c StepOutcome,
}

/// The calls inside a step that nested skills and gates made, in order.
pub(super) struct InnerCalls {
    entries: Vec<Entry>,
    /// Whether the last call of the step is one of them.
    pub(super) is_last: bool,
    answers: Vec<Answered>,
}

#[derive(Clone)]
struct Entry {
    call: MadeCall,
    place: MadePlace,
    /// The nested skill that makes the call; `None` for a gate of the run's own.
    skill: Option<Arc<Skill>>,
}

/// An answer of a person inside a nested skill.
struct Answered {
    call: MadeCall,
    place: MadePlace,
    stance: Stance,
    artifact: ArtifactId,
}

/// A call inside a step.
pub(super) struct Inner<'c> {
    pub(super) call: &'c MadeCall,
    place: &'c MadePlace,
    skill: &'c Skill,
    step: &'c Step,
    host: &'c dyn Host,
    /// The number of runs around the run that is projected.
    depth: usize,
    /// The decisions of people about the call in the nested run.
    decided: Vec<(ArtifactId, Stance)>,
}

impl Inner<'_> {
    /// Returns the name of the call for people.
    pub(super) fn name(&self) -> String {
        let nested = self.place.nested.iter().skip(self.depth);
        let around: String = nested.map(|(step, skill)| format!("{step} > skill:{skill} > ")).collect();
        format!("{around}{}{}", self.place.step, if self.call.is_of_gate() { " > gate" } else { "" })
    }

    pub(super) fn rationale(&self, outer: &str) -> String {
        let step = &self.place.step;
        match (self.call.is_of_gate(), self.place.nested.last()) {
            (true, _) => format!("The capability that {step} calls has this gate around it."),
            (false, Some((_, skill))) => {
                format!("The skill {skill}, which {outer} nests, runs {step} at this place.")
            }
            (false, None) => format!("The step {outer} makes this call."),
        }
    }

    /// Returns the tags that the nested skill gives to the step.
    pub(super) fn tags(&self) -> Vec<Value> {
        Kinds { skill: self.skill, host: self.host }.tags(self.step)
    }

    /// Adds what people decided about the call in the nested run. A rejection wins over approvals.
    pub(super) fn decide(&self, mut inputs: Vec<ArtifactId>, context: &Context<'_>) -> Vec<ArtifactId> {
        let is_rejected = self.decided.iter().any(|(_, stance)| *stance == Stance::Rejected);
        let decisive = if is_rejected { Stance::Rejected } else { Stance::Approved };
        if is_rejected {
            let is_approval = |id: &ArtifactId| {
                let found = context.artifacts.artifact(id);
                found.is_some_and(|found| matches!(found.content, ArtifactContent::UserApproval))
            };
            inputs.retain(|id| !is_approval(id));
        }
        let decided = self.decided.iter().filter(|(_, stance)| *stance == decisive);
        inputs.extend(decided.map(|(id, _)| id.clone()));
        inputs
    }
}

impl InnerCalls {
    pub(super) fn of(view: &SkillView<'_>, outcome: &StepOutcome) -> Self {
        let depth = view.depth();
        let is_inner = |call: &MadeCall| call.is_of_gate() || call.place().nested.len() > depth;
        let listed = if is_proposed(outcome) { outcome.calls.as_slice() } else { outcome.listed_calls() };
        let entry = |call: MadeCall| {
            let place = call.place();
            let skill = place.nested.get(depth..).and_then(<[_]>::last).map(|(_, skill)| skill.as_str());
            let skill = skill.and_then(|skill| view.host.skill(skill));
            // A gate of a confirmation is none.
            (skill.is_some() || call.is_of_gate()).then_some(Entry { call, place, skill })
        };
        let made = listed.iter().filter(|call| is_inner(call)).flat_map(MadeCall::each_begun);
        Self {
            entries: made.filter_map(entry).collect(),
            is_last: listed.last().is_some_and(is_inner),
            answers: Vec::new(),
        }
    }

    /// Adds the actions of the calls: of all, or of those of a branch. Returns the place of the first action of the last.
    pub(super) fn add(
        &mut self,
        around: &Around<'_>,
        branch: Option<&Arc<str>>,
        actions: &mut Vec<Action>,
        new: &mut NewArtifacts<'_>,
    ) -> usize {
        let depth = around.view.depth();
        let belongs = |entry: &Entry| match (branch, entry.place.nested.get(depth)) {
            (Some(branch), Some((_, skill))) => branch.strip_prefix("skill:") == Some(skill),
            _ => true,
        };
        let (mine, rest) = std::mem::take(&mut self.entries).into_iter().partition(belongs);
        self.entries = rest;
        let mut happened = 0;
        for entry in mine {
            happened = actions.len();
            self.add_one(around, &entry, actions, new);
        }
        happened
    }

    fn add_one(
        &mut self,
        around: &Around<'_>,
        entry: &Entry,
        actions: &mut Vec<Action>,
        new: &mut NewArtifacts<'_>,
    ) {
        let view = around.view;
        let skill = entry.skill.as_deref().unwrap_or_else(|| view.skill());
        let Some(step) = skill.step(&entry.place.step) else { return };
        let call = &entry.call;
        let inner = Inner {
            call,
            place: &entry.place,
            skill,
            step,
            host: view.host,
            depth: view.depth(),
            decided: self.decided(entry, skill, step, view.host),
        };
        let id = around.context.action(actions.len());
        if call.effect == Effect::Asks {
            let (stance, rationale) = (stance_of(call), inner.rationale(&around.step.id));
            let asked = Asked { call, id, key: call.key.clone(), subject: inner.name(), rationale, stance };
            let action = asked.action(around.context, around.index, new);
            let made = action.common.outputs.first().cloned();
            let answered = made.map(|artifact| Answered {
                call: call.clone(),
                place: entry.place.clone(),
                stance,
                artifact,
            });
            self.answers.extend(answered);
            actions.push(action);
            return;
        }
        let outcome = outcome_of(call, step, around.outcome);
        let kinds = Kinds { skill, host: view.host };
        let kind = match call.is_of_gate() {
            true => kinds.of_gate(&call.capability),
            false => kinds.kind(step, Some(&outcome)),
        };
        let deeds = view.deeds_as(kind, step, &outcome);
        let (context, index, result) = (around.context, around.index, around.result);
        let make = |deed, place| Call {
            view,
            context,
            index,
            result,
            step: around.step,
            kind,
            id: context.action(place),
            deed,
            extent: CallExtent::OneOfSeveral,
            inner: Some(&inner),
        };
        let mut own = call_actions(&make, &deeds, &outcome, None, &[], actions.len(), new);
        for action in &mut own {
            action.common.detail = Some(format!("the call {}", call.key).into());
        }
        actions.extend(own);
    }

    /// Returns the decisions of people about a call: its confirmation, and the answers that its step waited for or reads.
    fn decided(
        &self,
        entry: &Entry,
        skill: &Skill,
        step: &Step,
        host: &dyn Host,
    ) -> Vec<(ArtifactId, Stance)> {
        if entry.skill.is_none() {
            return Vec::new();
        }
        let asked = questions_before(skill, step, host);
        let call = &entry.call;
        let mut found: Vec<(ArtifactId, Stance)> = Vec::new();
        let same_run = self.answers.iter().filter(|answer| answer.place.path == entry.place.path);
        for answer in same_run.rev() {
            let confirms = answer.call.is_confirmation()
                && answer.place.step == entry.place.step
                && (answer.call.iteration, answer.call.item) == (call.iteration, call.item);
            if confirms || !answer.call.is_confirmation() && asked.contains(&&*answer.place.step) {
                found.push((answer.artifact.clone(), answer.stance));
            }
        }
        found
    }
}

/// Returns the questions that decide about a step: those it waits for, or else those declared directly before it, and
/// those whose answers it reads.
fn questions_before<'s>(skill: &'s Skill, step: &Step, host: &dyn Host) -> Vec<&'s str> {
    let kinds = Kinds { skill, host };
    let is_asked = |step: &&Step| approval::is_question(kinds.kind(step, None));
    let mut found: Vec<&Step> = match &step.depends_on {
        DependsOn::Steps(ids) => ids.iter().filter_map(|id| skill.step(id)).filter(is_asked).collect(),
        DependsOn::Previous | DependsOn::Malformed => {
            let place = skill.steps.iter().position(|other| other.id == step.id).unwrap_or_default();
            skill.steps.iter().take(place).rev().take_while(is_asked).collect()
        }
    };
    let read = blank(step);
    let reads = |target: &Arc<str>| {
        let covers = |read: &Arc<str>| read.starts_with(&**target) || target.starts_with(&**read);
        read.reads.iter().chain(read.control_reads.iter()).any(covers)
    };
    let is_read = |step: &&Step| step.output.as_ref().is_ok_and(|output| output.targets().iter().any(reads));
    found.extend(skill.steps.iter().filter(is_asked).filter(is_read));
    found.into_iter().map(|step| &*step.id).collect()
}

/// Returns the meaning of the answer to a call that asks a person. Of a confirmation, anything but a plain yes is a denial.
fn stance_of(call: &MadeCall) -> Stance {
    let output = call.reply.as_ref().map(|reply| reply.output.clone()).unwrap_or_default();
    match decision::answer_in(&output).map(|answer| Stance::of(&call.input, answer)) {
        Some(Stance::Approved) => Stance::Approved,
        _ if call.is_confirmation() => Stance::Rejected,
        stance => stance.unwrap_or(Stance::Informed),
    }
}

/// Returns a call as the outcome of a step that makes no other.
fn outcome_of(call: &MadeCall, step: &Step, around: &StepOutcome) -> StepOutcome {
    let failure = call.reply.as_ref().err().map(|error| {
        Failure::new(ErrorClass::CapabilityExecution, format_args!("`{}`: {error}", call.capability))
    });
    let reported =
        call.reply.as_ref().ok().and_then(|reply| Some(("action", reply.meta.get("action")?.clone())));
    StepOutcome {
        uses: call.capability.clone(),
        status: if failure.is_some() { StepStatus::Failed } else { StepStatus::Completed },
        input: call.input.clone(),
        produced: call.reply.as_ref().ok().map(|reply| reply.output.clone()),
        reads: around.reads.clone(),
        control_reads: around.control_reads.clone(),
        meta: reported.into_iter().collect(),
        called: [(call.capability.clone(), 1)].into(),
        calls: vec![call.clone()],
        failure,
        ..blank(step)
    }
}

/// A call that asked a person.
pub(super) struct Asked<'c> {
    pub(super) call: &'c MadeCall,
    pub(super) id: ActionId,
    /// The key of the artifact of the answer.
    pub(super) key: Arc<str>,
    /// The name of the step that asks.
    pub(super) subject: String,
    pub(super) rationale: String,
    pub(super) stance: Stance,
}

impl Asked<'_> {
    /// Returns the action of the person who answered.
    pub(super) fn action(
        &self,
        context: &Context<'_>,
        index: RecordIndex,
        new: &mut NewArtifacts<'_>,
    ) -> Action {
        let Self { call, id, key, subject, rationale, stance } = self;
        let output = call.reply.as_ref().map(|reply| reply.output.clone()).unwrap_or_default();
        let answer = decision::answer_in(&output).cloned().unwrap_or_default();
        let by = output.get("by").and_then(Value::as_str);
        let word = stance.word().unwrap_or("answered");
        let decision = stance.word().map(|word| ("decision", Value::from(word)));
        let inputs = vec![ArtifactId::new(SKILL)];
        let record = ("record", Value::from(index.get()));
        let made = new.make(NewArtifact {
            key: key.clone(),
            name: key.clone(),
            role: None,
            action: *id,
            sources: inputs.clone(),
            succession: Succession::Adds,
            content: approval::artifact(*stance),
            content_ref: format!("journal:{}/result", index.get()),
            summary: secret::without_secrets(&format!("{word}: {}", text::summary(&output))),
            metadata: decision.clone().into_iter().chain([record]).collect(),
        });
        let question = decision::question(&call.input).unwrap_or_else(|| format!("May {subject} act?"));
        let common = ActionCommon {
            inputs,
            outputs: vec![made],
            evidence: vec![context.run.evidence(index)],
            execution: Some(context.run.execution(subject, Repeatability::Nondeterministic)),
            ..action_common(*id, &question, rationale)
        };
        let payload = ActionPayload {
            request: Some(Object::from_iter([("question", Value::from(question.as_str()))])),
            result: Some(decision.into_iter().chain([("answer", answer)]).collect()),
            result_summary: Some(
                format!("{word}{}", by.map(|by| format!(" by {by}")).unwrap_or_default()).into(),
            ),
        };
        let extra = by.map(|by| ("agent", Value::from(by))).into_iter().collect();
        let step = match stance {
            Stance::Approved => ActionStep::Governance(GovernanceType::Approve, payload),
            Stance::Rejected => ActionStep::Governance(GovernanceType::Reject, payload),
            Stance::Informed => ActionStep::Activity(ActivityType::AskUser, payload),
        };
        Action { common, step, extra }
    }
}

impl Call<'_> {
    /// Returns the action of a person who was asked whether a call of the step may be made.
    pub(super) fn confirmation(&self, asked: &MadeCall, new: &mut NewArtifacts<'_>) -> Action {
        let step = &self.step.id;
        let asked = Asked {
            call: asked,
            id: self.id,
            key: format!("{step} confirmation").into(),
            subject: step.to_string(),
            rationale: format!("The capability that {step} calls needs the confirmation of a person."),
            stance: stance_of(asked),
        };
        asked.action(self.context, self.index, new)
    }
}
