//! Actions and artifacts of the records of a skill's run.
//!
//! One file, because the numbers of the actions of a record follow from the order in which the functions here add them.

use std::sync::Arc;

use hence_canon::{Canonical, Object, Value};
use hence_cognition::approval::Stance;
use hence_cognition::run::{MadeCall, StepOutcome, is_proposed};
use hence_cognition::skill::Step;
use hence_cognition::state::StepStatus;
use hence_engine::{Determinism, referenced};
use hence_journal::RecordIndex;
use hence_review::command::private_files_given;
use hence_review::model::{
    Action, ActionCommon, ActionId, ActionPayload, ActionStep, Artifact, ArtifactCommon, ArtifactContent,
    ArtifactId, Evidence, ExecutionMetadata, GatewayPayload, Observation,
};
use hence_review::secret;
use hence_review::vocabulary::{ActionType, ActivityType, Determinism as Repeatability};
use hence_skills::Effect;
use hence_state::{Outcome, StepResult};

use super::command::{Deed, Deeds, private_files_member};
use super::formal;
use super::inner::{Around, Inner, InnerCalls};
use super::kind::{self, conclusion_unit, plan_unit};
use super::{SKILL, SkillView, approval, decision, facts, gap};
use crate::artifacts::{NewArtifact, NewArtifacts, Succession, problem_artifact};
use crate::delta::{Achieved, Facts, TraceDelta};
use crate::run_info::{acted, action_common, action_step, call_again, repeatability};
use crate::text;
use crate::view::Context;

/// Returns the delta of the header, which binds the run to its problem and its skill.
pub(super) fn intake(view: &SkillView<'_>, context: &Context<'_>) -> TraceDelta {
    let run = context.run;
    let mut problem = problem_artifact(run, context.next);
    // Every step builds on the problem and the skill. With names, which are targets, all steps would share a target, and
    // an approval of one would count for all.
    problem.common.name = None;
    let skill = skill_artifact(view, context.next);
    let common = ActionCommon {
        outputs: vec![problem.common.artifact_id.clone(), skill.common.artifact_id.clone()],
        evidence: vec![run.evidence(RecordIndex::HEADER)],
        execution: Some(run.execution("intake", Repeatability::Deterministic)),
        ..action_common(
            context.next,
            "Take in the problem and its skill",
            "The run is bound by digest to one problem, and through it to one skill, before anything else happens.",
        )
    };
    let summary = format!(
        "problem {} taken in, skill {} {} pinned",
        run.header.problem_spec_hash.short(),
        view.pinned.id,
        view.pinned.version
    );
    let payload = ActionPayload { request: None, result: None, result_summary: Some(summary.into()) };
    let step = ActionStep::Activity(ActivityType::ReadDocumentation, payload);
    let action = Action { common, step, extra: Object::new() };
    let delta = TraceDelta {
        actions: vec![action],
        artifacts: vec![problem, skill],
        achieved: Achieved::Yes,
        ..TraceDelta::empty(plan_unit(view.skill()), Facts::Nothing)
    };
    delta.in_unit()
}

fn skill_artifact(view: &SkillView<'_>, action: ActionId) -> Artifact {
    let skill = view.skill();
    let metadata = Object::from_iter([
        ("sha256", Value::from(view.pinned.digest)),
        ("version", skill.version.clone().into()),
        ("steps", skill.steps.len().into()),
    ]);
    let common = ArtifactCommon {
        format: Some("application/json".into()),
        producer_action_id: Some(action),
        content_ref: Some("skill.json".into()),
        summary: Some(text::shortened(&skill.description).into()),
        metadata: Some(metadata),
        artifact_id: ArtifactId::new(SKILL),
        ..ArtifactCommon::default()
    };
    Artifact { common, content: ArtifactContent::Plan, extra: Object::new() }
}

/// Returns the delta of the record that lists the declared outputs no step wrote.
pub(super) fn missing_outputs(context: &Context<'_>, index: RecordIndex, result: &StepResult) -> TraceDelta {
    let missing = error_texts(result);
    let inputs = vec![ArtifactId::new(SKILL)];
    let common = ActionCommon {
        evidence: vec![context.run.evidence(index)],
        execution: Some(context.run.execution("outputs", Repeatability::Deterministic)),
        reproducibility: Some(context.run.reproducibility(Determinism::Deterministic, &[], &inputs, &[])),
        inputs,
        ..action_common(
            context.next,
            "Check the outputs the skill declares",
            "A run that did not give what its skill promises must not pass for one that did.",
        )
    };
    let summary = text::shortened(&format!("failed: {missing}"));
    let payload = ActionPayload { request: None, result: None, result_summary: Some(summary.into()) };
    let step = ActionStep::Activity(ActivityType::RunTests, payload);
    let action = Action { common, step, extra: Object::new() };
    let facts = Facts::MissingOutputs(format!("the skill's outputs are missing: {missing}"));
    let delta = TraceDelta {
        actions: vec![action],
        residuals: vec![gap::missing_outputs(&missing, context.next)],
        achieved: Achieved::No,
        ..TraceDelta::empty(conclusion_unit(), facts)
    };
    delta.in_unit()
}

/// Returns the delta of an outcome: the decisions before the call, the call, the decision after it.
pub(super) fn outcome_delta(
    view: &SkillView<'_>,
    context: &Context<'_>,
    index: RecordIndex,
    result: &StepResult,
    outcome: StepOutcome,
) -> TraceDelta {
    let Some(step) = view.step_of(&outcome.step_id) else {
        // Applying the outcome reports that it does not follow from the skill.
        return TraceDelta::empty(plan_unit(view.skill()), Facts::Outcome(index, Box::new(outcome)));
    };
    let deeds = view.deeds(step, &outcome);
    let kind = deeds.main().kind;
    let control_inputs = view.sources(&outcome.control_reads);
    let mut actions: Vec<Action> = Vec::new();
    let decide = |decision: decision::Decision, place: usize, inputs: &[ArtifactId]| {
        decision.action(context, context.action(place), index, &step.id, inputs)
    };
    for decision in decision::before(step, &outcome) {
        actions.push(decide(decision, actions.len(), &control_inputs));
    }
    let mut new = NewArtifacts::after(context.artifacts);
    // A step without a call is not an action, if a decision says why: it was skipped, or its loop had no items.
    let has_no_items = outcome.meta.get("foreach_count").and_then(Value::as_u64) == Some(0);
    let is_made = outcome.status != StepStatus::Skipped && !(has_no_items && outcome.called.is_empty());
    let is_shown = is_made || actions.is_empty();
    let singles = if is_made { view.single_calls(step, &outcome) } else { Vec::new() };
    let single_deeds: Vec<Deeds> = singles.iter().map(|single| view.deeds(step, single)).collect();
    let mut confirmed = Vec::new();
    let extent = if singles.is_empty() { CallExtent::Step } else { CallExtent::OneOfSeveral };
    let call = |deed, place| {
        let id = context.action(place);
        Call { view, context, index, result, step, kind, id, deed, extent, inner: None }
    };
    let is_own = |call: &&MadeCall| call.place().nested.len() == view.depth();
    for asked in outcome.listed_calls().iter().filter(|call| call.is_confirmation()).filter(is_own) {
        let call = call(deeds.main(), actions.len());
        let action = call.confirmation(asked, &mut new);
        confirmed.extend(action.common.outputs.iter().cloned());
        actions.push(action);
    }
    let mut happened = 0;
    let mut inside = InnerCalls::of(view, &outcome);
    let is_inner_call = is_proposed(&outcome) && inside.is_last;
    let around = Around { view, context, index, result, step, outcome: &outcome };
    if singles.is_empty() {
        happened = inside.add(&around, None, &mut actions, &mut new);
    }
    if is_shown && singles.is_empty() && !is_inner_call {
        actions.extend(call_actions(
            &call,
            &deeds,
            &outcome,
            Some(&outcome),
            &confirmed,
            actions.len(),
            &mut new,
        ));
    }
    for (place, (single, deeds)) in singles.iter().zip(&single_deeds).enumerate() {
        let is_last = place + 1 == singles.len();
        inside.add(&around, single.called.keys().next(), &mut actions, &mut new);
        // The output of the step is what the last of its calls completed.
        let whole = is_last.then_some(&outcome);
        let mut own = call_actions(&call, deeds, single, whole, &confirmed, actions.len(), &mut new);
        for action in &mut own {
            action.common.detail = Some(format!("call {} of the step", place + 1).into());
        }
        actions.extend(own);
    }
    if let Some(decision) = decision::after(step, &outcome) {
        // The decision to leave a loop depends on the result of its last call.
        let made = actions.iter().flat_map(|action| action.common.outputs.iter().cloned());
        let inputs: Vec<ArtifactId> = control_inputs.iter().cloned().chain(made).collect();
        actions.push(decide(decision, actions.len(), &inputs));
    }
    let subject = actions.iter().find(|action| !action.common.outputs.is_empty()).or(actions.last());
    let subject = subject.map_or(context.next, |action| action.common.id);
    let artifacts = new.into_vec();
    let mut gaps = gap::of_step(step, kind, &outcome, subject, &artifacts);
    gaps.extend(
        view.kinds().unknown_types(step, &outcome).iter().map(|word| gap::unknown_type(word, kind, subject)),
    );
    let achieved = match outcome.status {
        StepStatus::Completed => Achieved::Yes,
        _ => Achieved::No,
    };
    let unit = view.groups.unit(step, context.units);
    let facts = Facts::Outcome(index, Box::new(outcome));
    TraceDelta { actions, artifacts, residuals: gaps, happened, unit, achieved, facts }.in_unit()
}

/// Returns the actions of a call: everything that it does. `whole` is the outcome of its step, if the call completes it.
pub(super) fn call_actions<'c>(
    call: &dyn Fn(&'c Deed, usize) -> Call<'c>,
    deeds: &'c Deeds,
    outcome: &StepOutcome,
    whole: Option<&StepOutcome>,
    confirmed: &[ArtifactId],
    first: usize,
    new: &mut NewArtifacts<'_>,
) -> Vec<Action> {
    let mut actions = Vec::new();
    for (place, deed) in deeds.all.iter().enumerate() {
        let call = Call { kind: deed.kind, ..call(deed, first + place) };
        let mut action = match place == deeds.main {
            true => call.action(outcome, whole, new),
            false => call.part(outcome),
        };
        action.common.inputs.extend(confirmed.iter().cloned());
        if place == deeds.main {
            action.common.observations.extend(deeds.left_out().iter().map(|note| observation(note)));
        }
        actions.push(action);
    }
    actions
}

/// A step that was called.
pub(super) struct Call<'c> {
    pub(super) view: &'c SkillView<'c>,
    pub(super) context: &'c Context<'c>,
    pub(super) index: RecordIndex,
    pub(super) result: &'c StepResult,
    pub(super) step: &'c Step,
    pub(super) kind: ActionType,
    pub(super) id: ActionId,
    pub(super) deed: &'c Deed,
    pub(super) extent: CallExtent,
    /// The call inside the step that this is, if a nested skill or a gate makes it.
    pub(super) inner: Option<&'c Inner<'c>>,
}

/// The part of a step that an action is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallExtent {
    /// All of it.
    Step,
    /// One of its calls: an item, a branch, a round, an attempt, or a call of a nested skill or a gate.
    OneOfSeveral,
}

impl Call<'_> {
    /// Returns the action of a command that is not the call itself, but one of several that the call runs.
    fn part(&self, outcome: &StepOutcome) -> Action {
        let run = self.context.run;
        let determinism = self.view.determinism(outcome);
        let execution = run.execution(&self.name(), repeatability(determinism));
        let inputs = self.inputs(outcome);
        let common = ActionCommon {
            evidence: self.evidence(outcome),
            observations: self.deed.note().map(observation).into_iter().collect(),
            execution: Some(ExecutionMetadata { tool: Some(self.tool(outcome)), version: None, ..execution }),
            inputs: self.with_decisions(self.without_overruled(inputs).0),
            ..action_common(self.id, &self.label(outcome), &self.rationale(outcome))
        };
        let payload = ActionPayload {
            request: Some(self.request(outcome)),
            result: self.deed.result(outcome),
            result_summary: None,
        };
        self.finished(common, payload, Object::new())
    }

    /// Returns the action of a call. `whole` is the outcome of its step, if the call completes it.
    fn action(
        &self,
        outcome: &StepOutcome,
        whole: Option<&StepOutcome>,
        new: &mut NewArtifacts<'_>,
    ) -> Action {
        let run = self.context.run;
        let (inputs, overruled) = self.without_overruled(self.inputs(outcome));
        let outputs: Vec<ArtifactId> = whole
            .iter()
            .filter_map(|whole| Some((whole, whole.produced.as_ref()?)))
            .map(|(whole, produced)| new.make(self.new_artifact(whole, produced, &inputs)))
            .collect();
        let determinism = self.view.determinism(outcome);
        let common = ActionCommon {
            detail: self.detail(outcome),
            evidence: self.evidence(outcome),
            observations: self.observations(outcome),
            execution: Some(self.execution(outcome, determinism)),
            reproducibility: Some(run.reproducibility(
                determinism,
                &self.calls_again(outcome),
                &inputs,
                &outputs,
            )),
            inputs: self.with_decisions(inputs),
            outputs,
            ..action_common(self.id, &self.label(outcome), &self.rationale(outcome))
        };
        if approval::is_question(self.kind) {
            return self.answer(outcome, common);
        }
        let payload = ActionPayload {
            request: Some(self.request(outcome)),
            result: self.result(outcome),
            result_summary: Some(self.summary(outcome).into()),
        };
        let decisions = approval::decisions(outcome);
        let extra =
            if decisions.is_empty() { Object::new() } else { Object::new().with("decisions", decisions) };
        let extra = if overruled.is_empty() {
            extra
        } else {
            let ids = overruled.iter().map(|id| Value::from(id.as_str()));
            extra.with("overruled_approvals", ids.collect::<Value>())
        };
        self.finished(common, payload, extra)
    }

    /// Returns how the call ended, in a line.
    fn summary(&self, outcome: &StepOutcome) -> String {
        match kind::checks(self.kind) && !self.deed.owns_output() {
            true => "other commands of the line print, too".to_owned(),
            false => secret::without_secrets(&summary(outcome)),
        }
    }

    /// Returns the result of the call. A command whose end the call does not show has none of its status and exit code.
    fn result(&self, outcome: &StepOutcome) -> Option<Object> {
        let result = match kind::checks(self.kind) && !self.deed.owns_output() {
            // Another command of the line may have printed it.
            true => Object::new(),
            false => facts::result(self.kind, outcome).unwrap_or_default().without("exit_code"),
        };
        let result = match self.deed.exit_code(outcome) {
            Some(code) => result.with("exit_code", code),
            None => result,
        };
        // The members that say it may not be among those that a trace shows.
        let is_failed_check =
            kind::checks(self.kind) && self.deed.owns_output() && facts::says_failed(outcome, &result);
        let result = if is_failed_check { result.with("status", "failed") } else { result };
        let hides = outcome.status == StepStatus::Completed && !self.deed.owns_exit_code();
        let result = match hides && (!kind::checks(self.kind) || result.get("status").is_none()) {
            true => result.with("status", "unknown"),
            false => result,
        };
        (!result.is_empty()).then_some(result)
    }

    /// Returns the notes about the calls, which replies a person gave in place of the capability, and which calls a person
    /// had repeated.
    fn observations(&self, outcome: &StepOutcome) -> Vec<Observation> {
        let notes = outcome.notes.iter().map(|note| observation(&note.message));
        let said = outcome.listed_calls().iter().filter_map(|call| {
            let who = call.decided_by().unwrap_or("a person");
            Some(observation(&match call.decided()? {
                "retry" if call.begun > 1 => format!(
                    "{who} had {} repeated; it was begun {} times, and nobody knew whether it had happened",
                    call.key, call.begun
                ),
                "retry" => format!("{who} had {} repeated; nobody knew whether it had happened", call.key),
                decided => format!("{who} decided that {} is {decided}; the run saw no reply", call.key),
            }))
        });
        notes.chain(said).chain(self.deed.note().map(observation)).collect()
    }

    /// Returns the action of a call. A decision that no person made has no options; its request and its result are kept.
    fn finished(&self, common: ActionCommon, payload: ActionPayload, extra: Object) -> Action {
        let mut tags = match self.inner {
            Some(inner) => inner.tags(),
            None => self.view.kinds().tags(self.step),
        };
        let destructive = Value::from("destructive");
        if self.deed.is_destructive() && !tags.contains(&destructive) {
            tags.push(destructive);
        }
        let extra = if tags.is_empty() { extra } else { extra.with("tags", tags) };
        let ActionType::Gateway(word) = self.kind else {
            return Action { common, step: action_step(self.kind, payload), extra };
        };
        let members = [
            ("request", payload.request.map(Value::from)),
            ("result", payload.result.map(Value::from)),
            ("result_summary", payload.result_summary.clone().map(Value::from)),
        ];
        let extra = members
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .fold(extra, |extra, (key, value)| extra.with(key, value));
        let payload = GatewayPayload {
            decision_basis: payload.result_summary,
            supporting_inputs: common.inputs.clone(),
            options: Vec::new(),
        };
        Action { common, step: ActionStep::Gateway(word, payload), extra }
    }

    /// Returns the calls that would check a recorded result, each once.
    fn calls_again(&self, outcome: &StepOutcome) -> Vec<String> {
        let host = self.view.host;
        let (run, index) = (self.context.run, self.index);
        let recorded = outcome.called.keys().filter(|id| host.effect(id) != Effect::Pure);
        let text = |id: &Arc<str>| match id.strip_prefix("skill:") {
            Some(skill) => {
                format!("check the results of the nested run of `{skill}`, which its own trace lists")
            }
            None if host.effect(id) == Effect::Asks => {
                "it cannot be checked from here: ask the person who answered".to_owned()
            }
            None if host.effect(id) == Effect::Acts => acted(run, index, id),
            None => call_again(run, index, id, host.provider_call(id).as_deref()),
        };
        recorded.map(text).collect()
    }

    fn request(&self, outcome: &StepOutcome) -> Object {
        // The record has the hash of the input of its last call.
        let input_hash = match self.extent {
            CallExtent::OneOfSeveral => Canonical::of(&outcome.input).digest(),
            CallExtent::Step => self.result.input_hash(),
        };
        let members = [("uses", Value::from(outcome.uses.clone())), ("input_sha256", input_hash.into())];
        let is_main = self.deed.part.is_none() || self.deed.is_whole;
        let asked = if is_main { facts::request(&outcome.input) } else { Vec::new() };
        let request: Object = members.into_iter().chain(asked).collect();
        let request =
            self.deed.request().into_iter().fold(request, |request, (key, value)| request.with(key, value));
        let given = match self.deed.kind == ActivityType::GitCommit.into() && is_main {
            true => private_files_given(&outcome.input),
            false => Vec::new(),
        };
        let request = match private_files_member(&given) {
            Some((key, value)) => request.with(key, value),
            None => request,
        };
        let holds_secret = match is_main {
            true => request.contains_key("private_files") || facts::has_secret(&outcome.input),
            false => self.deed.holds_secret(),
        };
        if holds_secret { request.with("contains_secret", true) } else { request }
    }

    /// Returns the record as evidence, with the exit code if the output has one, and the files that were worked on.
    fn evidence(&self, outcome: &StepOutcome) -> Vec<Evidence> {
        let meta = Value::from(outcome.meta.clone());
        let mut record = self.context.run.evidence_with_exchanges(self.index, Some(&meta));
        record.exit_code = self.deed.exit_code(outcome);
        let happened = self.deed.owns_exit_code();
        let named =
            self.deed.files().filter(|_| happened).map(|file| (file.path.clone(), file.renamed_to.clone()));
        let named: Vec<String> = named.flat_map(|(path, to)| [Some(path), to]).flatten().collect();
        std::iter::once(record).chain(facts::files(self.kind, outcome, named)).collect()
    }

    /// Returns the action of a question: an approval, a rejection, or a decision among what was offered.
    fn answer(&self, outcome: &StepOutcome, common: ActionCommon) -> Action {
        let agent = approval::people(outcome).map(|by| ("agent", Value::from(by)));
        let extra: Object = agent.into_iter().collect();
        let stance = approval::stance(self.step, outcome);
        let is_choice = stance == Stance::Informed || matches!(self.kind, ActionType::Gateway(_));
        let decided = is_choice.then(|| decision::of_person(&self.step.id, self.kind, outcome)).flatten();
        if let Some(decision) = decided {
            let label = decision.label.as_str().into();
            let inputs = common.inputs.clone();
            let mut action = decision.action(self.context, self.id, self.index, &self.step.id, &inputs);
            action.common = ActionCommon { label, ..common };
            action.extra = extra;
            return action;
        }
        let request = self.request(outcome);
        let request = approval::question_members(&outcome.input)
            .into_iter()
            .fold(request, |request, (key, value)| request.with(key, value));
        let result = Some(approval::result(outcome, stance)).filter(|result| !result.is_empty());
        let label = decision::question(&outcome.input).map_or(common.label.clone(), Into::into);
        let payload = ActionPayload {
            request: Some(request),
            result,
            result_summary: Some(answer_summary(outcome, stance).into()),
        };
        self.finished(ActionCommon { label, ..common }, payload, extra)
    }

    /// Returns the artifacts the step read, also to decide. A step that reads nothing works on the skill itself.
    fn inputs(&self, outcome: &StepOutcome) -> Vec<ArtifactId> {
        let references: Vec<Arc<str>> =
            outcome.reads.iter().chain(outcome.control_reads.iter()).cloned().collect();
        let inputs = self.view.sources(&references);
        if inputs.is_empty() { vec![ArtifactId::new(SKILL)] } else { inputs }
    }

    /// Separates the approvals that a step read next to a rejection: the rejection wins, so it does not build on them.
    fn without_overruled(&self, inputs: Vec<ArtifactId>) -> (Vec<ArtifactId>, Vec<ArtifactId>) {
        if approval::is_question(self.kind) {
            return (inputs, Vec::new());
        }
        let artifact = |id: &ArtifactId| self.context.artifacts.artifact(id);
        let waited = self.view.decisions_before(self.step);
        let waited = waited.iter().filter_map(|id| self.context.artifacts.newest(id));
        let is_rejected =
            inputs.iter().chain(waited).any(|id| artifact(id).is_some_and(approval::is_rejection));
        let is_overruled = |id: &ArtifactId| {
            is_rejected
                && artifact(id).is_some_and(|found| matches!(found.content, ArtifactContent::UserApproval))
        };
        inputs.into_iter().partition(|id| !is_overruled(id))
    }

    /// Adds the answers that the step waited for: approvals, or the rejection. Its results are not derived from them.
    fn with_decisions(&self, mut inputs: Vec<ArtifactId>) -> Vec<ArtifactId> {
        if let Some(inner) = self.inner {
            inputs = inner.decide(inputs, self.context);
        }
        if !approval::is_question(self.kind) {
            let decided = self.view.decisions_before(self.step);
            let newest = decided.iter().filter_map(|id| self.context.artifacts.newest(id));
            // A commit contains every change of a file since the last one, whether or not it reads what the step gave.
            let changed = match self.kind {
                ActionType::Activity(ActivityType::GitCommit) => self.view.changed_since_commit(),
                _ => Vec::new(),
            };
            let changed = changed.iter().filter_map(|id| self.context.artifacts.newest(id));
            for id in newest.chain(changed) {
                if !inputs.contains(id) {
                    inputs.push(id.clone());
                }
            }
        }
        inputs
    }

    fn new_artifact(&self, outcome: &StepOutcome, produced: &Value, inputs: &[ArtifactId]) -> NewArtifact {
        let stance = match approval::is_question(self.kind) {
            true => approval::stance(self.step, outcome),
            false => Stance::Informed,
        };
        let (content, role) = match approval::is_question(self.kind) {
            true => (approval::artifact(stance), None),
            false => self.content(produced, inputs),
        };
        let blob = self.result.outcome().output().and_then(|output| referenced(output.value()));
        let content_ref = match blob {
            Some(digest) => format!("blob:{digest}/produced"),
            None => format!("journal:{}/result/output/produced", self.index.get()),
        };
        let metadata = Object::from_iter([
            ("sha256", Value::from(Canonical::of(produced).digest())),
            ("record", self.index.get().into()),
        ]);
        let metadata = match stance.word() {
            Some(word) => metadata.with("decision", word),
            None => metadata,
        };
        let metadata = if facts::has_secret(&outcome.input) || facts::has_secret(produced) {
            metadata.with("contains_secret", true)
        } else {
            metadata
        };
        NewArtifact {
            key: self.step.id.clone(),
            name: self.step.id.clone(),
            role,
            action: self.id,
            sources: inputs.to_vec(),
            succession: Succession::Replaces,
            content,
            content_ref,
            summary: secret::without_secrets(&format!("{}: {}", self.step.id, text::summary(produced))),
            metadata,
        }
    }

    fn content(&self, produced: &Value, inputs: &[ArtifactId]) -> (ArtifactContent, Option<&'static str>) {
        if let ActionType::Reasoning(word) = self.kind {
            let around = formal::Around {
                sources: inputs.iter().filter_map(|id| self.context.artifacts.artifact(id)).collect(),
                engine: &self.step.uses.to_string(),
                number: self.id.0,
            };
            if let Some((content, role)) = formal::content(word, produced, &around) {
                return (content, Some(role));
            }
        }
        kind::artifact(self.kind, produced)
    }

    fn label(&self, outcome: &StepOutcome) -> String {
        let done = match &self.deed.part {
            Some(part) if !self.deed.is_whole => secret::without_secrets(&part.source),
            _ => self.callees(outcome).join(", "),
        };
        text::shortened(&format!("{}: {done}", self.name()))
    }

    /// Returns the name of the call for people: its step, or the step inside the skill that it nests.
    fn name(&self) -> String {
        self.inner.map_or_else(|| self.step.id.to_string(), Inner::name)
    }

    fn callees(&self, outcome: &StepOutcome) -> Vec<String> {
        match self.inner {
            Some(inner) => vec![inner.call.capability.to_string()],
            None => kind::called(self.step, Some(outcome)).iter().map(ToString::to_string).collect(),
        }
    }

    fn rationale(&self, outcome: &StepOutcome) -> String {
        let listed = |words: &[Arc<str>]| {
            let list: Vec<&str> = words.iter().map(|word| &**word).collect();
            if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
        };
        if let Some(inner) = self.inner {
            return text::shortened(&inner.rationale(&self.step.id));
        }
        let (skill, step) = (&self.view.pinned.id, &self.step.id);
        let (reads, writes) = (listed(&outcome.reads), listed(&outcome.writes));
        text::shortened(&format!(
            "The skill {skill} runs {step} at this place: it reads {reads} and writes {writes}."
        ))
    }

    fn detail(&self, outcome: &StepOutcome) -> Option<Arc<str>> {
        if let Some(origin) = self.view.pinned.links.origin.as_ref().filter(|_| self.view.carrying) {
            return Some(format!("carried over from the run {}", origin.run).into());
        }
        let calls: u64 = outcome.called.values().sum();
        (calls > 1).then(|| format!("{calls} calls").into())
    }

    fn execution(&self, outcome: &StepOutcome, determinism: Determinism) -> ExecutionMetadata {
        let run = self.context.run.execution(&self.name(), repeatability(determinism));
        // Only results that the engine computes itself have the engine's version.
        let version = run.version.clone().filter(|_| determinism == Determinism::Deterministic);
        let execution = ExecutionMetadata { tool: Some(self.tool(outcome)), version, ..run };
        facts::used(execution, outcome, self.deed.exit_code(outcome))
    }

    /// Returns the callees.
    fn tool(&self, outcome: &StepOutcome) -> Arc<str> {
        text::shortened(&self.callees(outcome).join(", ")).into()
    }
}

/// Returns how a step ended, in a line.
fn summary(outcome: &StepOutcome) -> String {
    match (outcome.status, &outcome.failure, &outcome.produced) {
        _ if facts::is_undecided(outcome) => "not known whether it happened".to_owned(),
        (StepStatus::Failed, Some(failure), _) => text::shortened(&format!("failed: {failure}")),
        (_, _, Some(produced)) => text::summary(produced),
        (status, ..) => status.as_str().to_owned(),
    }
}

/// Returns the answer to a question and its meaning, in a line.
fn answer_summary(outcome: &StepOutcome, stance: Stance) -> String {
    let Some(word) = stance.word() else { return summary(outcome) };
    let by = approval::people(outcome).map(|by| format!(" by {by}")).unwrap_or_default();
    text::shortened(&format!("{word}{by}: {}", summary(outcome)))
}

fn observation(statement: &str) -> Observation {
    Observation { statement: text::shortened(statement).into(), ..Observation::default() }
}

/// Returns the errors of a failed result in one line.
fn error_texts(result: &StepResult) -> String {
    match result.outcome() {
        Outcome::Failed(errors) => {
            let texts: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.code, error.message)).collect();
            texts.join("; ")
        }
        Outcome::Success(_) | Outcome::Skipped => String::new(),
    }
}
