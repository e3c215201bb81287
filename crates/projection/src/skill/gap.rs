//! Gaps of a run of a skill, and its open questions.

use std::collections::{BTreeMap, BTreeSet};

use hence_canon::Value;
use hence_cognition::failure::UNDECIDED;
use hence_cognition::run::{CallError, Effect, Part, StepOutcome};
use hence_cognition::skill::{Flow, Step};
use hence_cognition::state::{Frame, StepStatus};
use hence_review::ending;
use hence_review::model::{ActionId, Artifact, ArtifactId, Residual, TargetPart};
use hence_review::vocabulary::ActionType;
use hence_review::vocabulary::ResidualKind::{
    self, Assumption, Limitation, OpenQuestion, OutOfScope, Unverified,
};
use hence_review::vocabulary::ResidualSeverity::{self, High, Low, Medium};
use hence_skills::{CallHistory, CallName, CallStatus, Question, QuestionKind};

use super::{BlockedStep, SkillView, decision, kind};
use crate::artifacts::PROBLEM;
use crate::gaps::{GapMembers as _, gap, not_run, unfinished};
use crate::run_info::RunInfo;
use crate::text::{shell_word, shortened};
use crate::view::{Context, Ending};

/// Returns the gaps of a step, about the action that shows it best.
pub(super) fn of_step(
    step: &Step,
    kind: ActionType,
    outcome: &StepOutcome,
    action: ActionId,
    artifacts: &[Artifact],
) -> Vec<Residual> {
    let id = &step.id;
    let mut gaps: Vec<Residual> = Vec::new();
    match outcome.status {
        StepStatus::Failed => {
            let reason = outcome.failure.as_ref().map_or_else(String::new, |failure| format!(": {failure}"));
            let statement = shortened(&format!("Step {id} failed{reason}"));
            let check = "Mend what the error names and run the skill again.";
            gaps.push(gap(format!("failed-{action}"), Limitation, High, statement, check));
        }
        StepStatus::Skipped => {
            let statement = format!("Step {id} was skipped: its condition did not hold.");
            let check = "Confirm that the step was not needed.";
            gaps.push(gap(format!("skipped-{action}"), OutOfScope, Low, statement, check));
        }
        StepStatus::Degraded => {
            let statement =
                format!("Step {id} gave nothing: a gate denied it, and the run went on without it.");
            let check = "Ask why the gate denied, and whether the result stands without the step.";
            gaps.push(gap(format!("degraded-{action}"), OutOfScope, Medium, statement, check));
        }
        _ => {}
    }
    gaps.extend(executed(step, outcome, action));
    gaps.extend(limits(step, outcome, action));
    if let Some(unmet) = unmet(kind, outcome) {
        let statement = format!("The check {id} did not hold: {unmet}.");
        let check = "Look at what the check found, and mend it or say why it does not matter.";
        let related_artifact_ids =
            artifacts.iter().map(|artifact| artifact.common.artifact_id.clone()).collect();
        let found = gap(format!("check-{action}"), Unverified, High, statement, check);
        gaps.push(Residual { related_artifact_ids, ..found });
    }
    gaps.into_iter().map(|gap| gap.of_action(action)).collect()
}

/// Returns the gap of a step that gave nothing, or only a part, after calls that act: what they did is done.
fn executed(step: &Step, outcome: &StepOutcome, action: ActionId) -> Option<Residual> {
    // What a nested skill or a gate did is among the actions.
    let listed = if outcome.had_trouble() { outcome.listed_calls() } else { &[] };
    let acting = listed.iter().filter(|call| call.effect == Effect::Acts && !call.is_held());
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    // A call that was begun again may have taken effect each time.
    let mut begun: BTreeMap<&str, u64> = BTreeMap::new();
    for call in acting {
        *counts.entry((&*call.capability, call.outcome().as_str())).or_default() += 1;
        if call.times() > 1 {
            *begun.entry(&*call.capability).or_default() += call.times();
        }
    }
    if counts.is_empty() {
        return None;
    }
    let calls: Vec<String> = counts
        .iter()
        .map(|((capability, status), times)| {
            let often = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
            match *status {
                "undecided" => format!("{capability} was called {often} and its outcome is not known"),
                status => format!("{capability} was called {often} and {status}"),
            }
        })
        .collect();
    let again = begun.iter().map(|(capability, times)| {
        format!("{capability} was begun {times} times, and nobody knows of each time whether it took effect")
    });
    let calls: Vec<String> = calls.into_iter().chain(again).collect();
    let statement = shortened(&format!("Step {} made calls that act: {}.", step.id, calls.join("; ")));
    let check = "Look at the calls in the record of the step, and at what they changed.";
    Some(gap(format!("executed-{action}"), Limitation, High, statement, check))
}

/// Returns the gap of calls that were made for steps without a record: these steps ran ahead of the one that ended or
/// holds up the run.
pub(super) fn unrecorded(view: &SkillView<'_>, calls: Option<&CallHistory>) -> Vec<Residual> {
    let mut called: BTreeMap<&str, &str> = BTreeMap::new();
    let is_blocked = |call: &CallName| view.blocked.as_ref().is_some_and(|blocked| blocked.step == call.step);
    // The calls of a blocked step are in its record.
    let calls = calls.into_iter().flat_map(CallHistory::calls).filter(|(call, _)| !is_blocked(call));
    for (call, status) in calls {
        let known = match status {
            CallStatus::Replied(Ok(_)) => "replied",
            CallStatus::Replied(Err(CallError::Undecided(_))) => "its outcome is not known",
            CallStatus::Replied(Err(error)) if error.is_of_class(UNDECIDED) => "its outcome is not known",
            CallStatus::Replied(Err(_)) => "failed",
            CallStatus::Begun => "its outcome is not known",
            CallStatus::Asked(_) | CallStatus::Again => continue,
        };
        if is_open(view, call) {
            called.insert(&call.step, known);
        }
    }
    let gap_of = |(step, known): (&str, &str)| {
        let statement = format!("Step {step} was called and has no result on record: {known}.");
        let check = "The call log next to the journal has what is known about its calls.";
        gap(format!("called-{step}"), Limitation, Medium, statement, check).on(TargetPart::Trace)
    };
    called.into_iter().map(gap_of).collect()
}

/// Returns the gaps of loops that ended at their limit, of failed items and branches, and of gates that only warned.
fn limits(step: &Step, outcome: &StepOutcome, action: ActionId) -> Vec<Residual> {
    let mut gaps = Vec::new();
    let mut limit = |name: &str, severity: ResidualSeverity, statement: String, check: &str| {
        gaps.push(gap(format!("{name}-{action}"), Limitation, severity, shortened(&statement), check));
    };
    let (id, meta) = (&step.id, &outcome.meta);
    if let Flow::While(whiles) = &step.control.flow
        && meta.get("while_exhausted") == Some(&Value::Bool(true))
    {
        let (made, condition) = (outcome.commits.len(), whiles.condition().text());
        let statement = format!(
            "The loop of {id} ended at its limit of {made} iterations; `{condition}` may still hold."
        );
        limit("loop-limit", High, statement, "Raise max_iterations, or ask why the condition stays.");
    }
    let failed = outcome.failed_parts();
    let described = |wanted: fn(&Part) -> bool| {
        let failed = failed.iter().filter(|failed| wanted(&failed.part));
        failed.map(|failed| failed.text()).collect::<Vec<_>>()
    };
    let items = described(|part| matches!(part, Part::Item(_)));
    if !items.is_empty() {
        let (count, items) = (items.len(), items.join(", "));
        let statement =
            format!("{count} of the items of {id} failed and are missing from its result: {items}.");
        limit("items-failed", High, statement, "Look at the items by their index in the record.");
    }
    let branches = described(|part| matches!(part, Part::Branch(_)));
    if !branches.is_empty() {
        let branches = branches.join(", ");
        let statement = format!("Parts of {id} failed and are missing from its result: {branches}.");
        limit("branches-failed", Medium, statement, "Ask whether the result stands without them.");
    }
    let nested = described(|part| matches!(part, Part::Nested { .. }));
    if !nested.is_empty() {
        let nested = nested.join(", ");
        let statement = format!("A skill that {id} nests completed although parts of it failed: {nested}.");
        limit("nested-failed", High, statement, "Look at the record of the nested run.");
    }
    let warnings = outcome.notes.iter().filter(|note| &*note.kind == "safety_gate_warning");
    for (place, note) in (1..).zip(warnings) {
        let statement = format!("Step {id} ran against the advice of a gate: {}", note.message);
        limit(&format!("gate-{place}"), Medium, statement, "Ask whether the gate is right.");
    }
    gaps
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Statuses of a check that did not hold: words of tests, of verification, of conformance and of co-simulation.
const UNMET: &[&str] = &["failed", "refuted", "unknown", "partial", "mismatched", "error"];

/// Returns the reason a check did not hold, in its own words.
fn unmet(kind: ActionType, outcome: &StepOutcome) -> Option<String> {
    let produced = outcome.produced.as_ref().filter(|_| kind::checks(kind))?;
    let denied = ["holds", "passed", "valid", "ok", "success"]
        .into_iter()
        .find(|key| produced.get(key) == Some(&Value::Bool(false)))
        .map(|key| format!("{key} is false"));
    let failed = || {
        let status = produced.get("status")?.as_str()?;
        UNMET.contains(&status).then(|| format!("its status is {status}"))
    };
    let unsupported = || {
        let items = produced.get("unsupported")?.as_array().filter(|items| !items.is_empty())?;
        Some(format!("{} are unsupported", items.len()))
    };
    // Exit codes, counts and words, as the rules about checks read them.
    let reported = || {
        let code = super::facts::exit_code(outcome).filter(|code| *code != 0);
        let summary = crate::text::summary(produced);
        let ended_badly = || ending::of_output(produced.as_object()?, &summary).filter(|ending| !ending.well);
        let code = code.map(|code| format!("its exit code is {code}"));
        code.or_else(|| ended_badly().map(|_| format!("it gave {}", shortened(&summary))))
    };
    denied.or_else(failed).or_else(unsupported).or_else(reported)
}

/// Returns the gap of an action whose reported type nothing declares: no rule about that type can apply to it.
pub(super) fn unknown_type(word: &str, shown_as: ActionType, action: ActionId) -> Residual {
    let statement = shortened(&format!(
        "The action is said to be {word:?}, which is no action type and is declared nowhere; it is shown as {shown_as}, and no policy about {word:?} applies to it."
    ));
    let check = "Use a known type, or declare this one under custom_actions.";
    gap(format!("action-type-{action}"), Limitation, High, statement, check).of_action(action)
}

/// Returns the gap of outputs that a skill declares and no step wrote.
pub(super) fn missing_outputs(missing: &str, action: ActionId) -> Residual {
    let statement = shortened(&format!("The skill did not give what it declares: {missing}"));
    let check = "Ask which step should have written them, and why it did not.";
    gap("outputs-missing", Limitation, High, statement, check).of_action(action)
}

/// Returns the gaps of the run as a whole.
pub(super) fn of_whole(view: &SkillView<'_>, context: &Context<'_>) -> Vec<Residual> {
    let mut gaps: Vec<Residual> = Vec::new();
    let frame = view.progress.state().memory.frame();
    for (place, assumption) in (1..).zip(frame.assumptions.iter()) {
        let statement = format!("Taken for granted: {}", shortened(assumption));
        let check = "Establish it, or say what follows if it is wrong.";
        let found = gap(format!("assumption-{place}"), Assumption, Medium, statement, check);
        gaps.push(found.on_artifact(PROBLEM).declared());
    }
    gaps.extend(declared(view));
    // No step produced the values that a fork sets.
    let set = view.pinned.links.origin.iter().flat_map(|origin| &origin.set);
    for (place, (target, value)) in (1..).zip(set) {
        let statement = format!("The fork sets {target} by hand: {}", shortened(&shown(value)));
        let check = "Ask why it was set, and what follows if it is not so.";
        let found = gap(format!("set-{place}"), Assumption, Medium, statement, check);
        gaps.push(found.on_artifact(PROBLEM).declared());
    }
    gaps.extend(unread(view, frame));
    if !view.pinned.inputs.is_empty() {
        let names: Vec<&str> = view.pinned.inputs.keys().map(|name| &**name).collect();
        let statement = format!("The inputs are taken as they were given: {}", shortened(&names.join(", ")));
        let check = "Compare them with where they come from.";
        gaps.push(gap("inputs-as-given", Assumption, Low, statement, check).on_artifact(PROBLEM));
    }
    if view.checked {
        gaps.extend(unchecked(view, context));
    } else {
        let check = "Add a step that checks, or judge the outputs by hand.";
        let statement = "No step of the skill checked a result.";
        gaps.push(gap("no-verification", Unverified, Medium, statement, check).on(TargetPart::Trace));
    }
    for (capability, (steps, first)) in &view.recorded {
        let statement = format!(
            "The results of {capability} ({steps} {}) are on record and cannot be computed again.",
            if *steps == 1 { "step" } else { "steps" }
        );
        let check = format!("{} compares everything else", context.run.replay_command());
        let found = gap(format!("recorded-{capability}"), Limitation, Low, statement, check);
        gaps.push(found.on(TargetPart::Action(*first)));
    }
    gaps
}

/// The member of a skill's metadata that declares gaps: a list of `{kind, statement, severity, check}`.
pub const GAPS_MEMBER: &str = "gaps";

/// Returns the gaps that the skill declares itself. An entry without a kind or a statement was refused when the skill was
/// read; in a record of another version it is left out.
fn declared(view: &SkillView<'_>) -> Vec<Residual> {
    let listed = view.skill().metadata.get(GAPS_MEMBER).and_then(Value::as_array).unwrap_or_default();
    let one = |(place, entry): (usize, &Value)| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let kind = text("kind").and_then(ResidualKind::from_word)?;
        let severity = text("severity").and_then(ResidualSeverity::from_word).unwrap_or(Medium);
        let statement = hence_review::secret::without_secrets(text("statement")?);
        let found = gap(format!("declared-{place}"), kind, severity, shortened(&statement), "");
        Some(Residual { suggested_check: text("check").map(Into::into), ..found.declared() })
    };
    (1..).zip(listed).filter_map(one).collect()
}

/// Returns the gap of outputs that no check covers, neither directly nor through artifacts made from them.
fn unchecked(view: &SkillView<'_>, context: &Context<'_>) -> Option<Residual> {
    let sources: BTreeMap<&ArtifactId, &[ArtifactId]> = context
        .artifacts
        .artifacts()
        .iter()
        .map(|artifact| (&artifact.common.artifact_id, artifact.common.derived_from.as_slice()))
        .collect();
    let mut covered: BTreeSet<&ArtifactId> = BTreeSet::new();
    let mut open: Vec<&ArtifactId> = view.looked_at.iter().collect();
    while let Some(id) = open.pop() {
        if covered.insert(id) {
            open.extend(sources.get(id).copied().unwrap_or_default());
        }
    }
    let outputs: Vec<ArtifactId> = view.outputs.iter().filter(|id| !covered.contains(id)).cloned().collect();
    if outputs.is_empty() {
        return None;
    }
    let named: Vec<&str> = outputs.iter().map(ArtifactId::as_str).collect();
    let statement = format!("No step checked these outputs: {}", shortened(&named.join(", ")));
    let check = "Add a step that checks them, or judge them by hand.";
    let found = gap("outputs-unchecked", Unverified, Medium, statement, check).on(TargetPart::Trace);
    Some(Residual { related_artifact_ids: outputs, ..found })
}

/// Returns the gaps of constraints and success criteria of the frame that no step reads.
fn unread(view: &SkillView<'_>, frame: &Frame) -> Vec<Residual> {
    let declared = [("constraints", &frame.constraints), ("success_criteria", &frame.success_criteria)];
    let mut gaps = Vec::new();
    for (field, object) in declared {
        for (place, (name, value)) in (1..).zip(object.iter()) {
            let whole = format!("frame.{field}");
            let path = format!("{whole}.{name}");
            let reads = |text: &str| {
                text == "frame" || text == whole || text == path || text.starts_with(&format!("{path}."))
            };
            if view.frame_reads.iter().any(|text| reads(text)) {
                continue;
            }
            let statement = shortened(&format!("No step reads the frame's {field} {name}: {}", shown(value)));
            let check = "Check the outputs against it by hand, or add a step that does.";
            let id = format!("{}-{place}", field.replace('_', "-"));
            gaps.push(gap(id, Unverified, Medium, statement, check).on_artifact(PROBLEM));
        }
    }
    gaps
}

/// Returns the gaps that the end of the journal shows: steps without a record, and a run that has not ended.
pub(super) fn of_end(view: &SkillView<'_>, run: &RunInfo<'_>, ending: &Ending) -> Vec<Residual> {
    let mut gaps = Vec::new();
    let steps = view.skill().steps.iter().map(|step| &step.id);
    let blocked = view.blocked.as_ref();
    let is_blocked = |id: &str| blocked.is_some_and(|blocked| &*blocked.step == id);
    let never: Vec<&str> =
        steps.filter(|id| !view.seen.contains(*id) && !is_blocked(id)).map(|id| &**id).collect();
    gaps.extend(blocked.map(|blocked| of_blocked(run, blocked)));
    if !never.is_empty() {
        let names = shortened(&never.join(", "));
        // A step that only reads may have run ahead of the one that ended the run.
        let statement = match never.len() {
            1 => format!("1 step of the skill has no result on record: {names}."),
            count => format!("{count} steps of the skill have no result on record: {names}."),
        };
        gaps.push(not_run(statement, "Do not take the outputs for more than the steps that ran."));
    }
    if *ending == Ending::Unfinished {
        gaps.push(unfinished(run.resume_command()));
    }
    gaps
}

/// The number of characters of a call's input in a statement.
const INPUT_CHARACTERS_MAX: usize = 2000;

/// Returns the gap of a step that policies blocked: before it was executed, or after.
fn of_blocked(run: &RunInfo<'_>, blocked: &BlockedStep) -> Residual {
    let BlockedStep { index, step, why, outcome } = blocked;
    let id = format!("blocked-{step}");
    let Some(outcome) = outcome else {
        let statement = format!("Step {step} was not executed: policies block it: {}", shortened(why));
        let check = format!("{} --policy FILE continues under other policies", run.resume_command());
        return gap(id, OutOfScope, High, statement, check).on(TargetPart::Trace);
    };
    let call = |name: &str, input: &Value, key: Option<&str>| {
        let input = input.to_string();
        let mut shown: String = input.chars().take(INPUT_CHARACTERS_MAX).collect();
        if shown.len() < input.len() {
            shown.push_str(&format!("… ({} bytes, in record {})", input.len(), index.get()));
        }
        let key = key.map(|key| format!(" under the idempotency key {key}")).unwrap_or_default();
        format!("{name} was called with {shown}{key}")
    };
    let mut calls: Vec<String> = outcome
        .acting_calls()
        .map(|made| call(&made.capability, &made.input, Some(&made.idempotency_key)))
        .collect();
    if outcome.calls.is_empty() {
        calls.extend(outcome.called.keys().map(|name| call(name, &outcome.input, None)));
    }
    let calls = if calls.is_empty() { String::new() } else { format!(". {}", calls.join("; ")) };
    let held = outcome.held_call().map(|held| call(&held.capability, &held.input, None));
    let statement = match held {
        Some(held) => {
            let held = held.replace(" was called with ", " with ");
            format!("Step {step} was stopped by policies before {held}: {}{calls}", shortened(why))
        }
        None => format!("Step {step} was executed, then blocked by policies: {}{calls}", shortened(why)),
    };
    let check = format!(
        "Look at what record {} says and at what the calls changed; {} --policy FILE continues without repeating them",
        index.get(),
        run.resume_command()
    );
    gap(id, Limitation, High, statement, check).on(TargetPart::Trace)
}

/// Returns the unanswered questions: of each call that asks, and of the due step if it has not asked yet.
pub(super) fn questions(
    view: &SkillView<'_>,
    run: &RunInfo<'_>,
    calls: Option<&CallHistory>,
) -> Vec<Residual> {
    let asked: Vec<(&CallName, &Question)> =
        calls.into_iter().flat_map(CallHistory::questions).filter(|(call, _)| is_open(view, call)).collect();
    let due = view.progress.due().filter(|step| kind::asks_a_person(view.kind(step, None)));
    let not_asked = due.filter(|due| !asked.iter().any(|(call, _)| call.step == due.id)).map(|due| {
        let memory = &view.progress.state().memory;
        let input = due.input.as_ref().ok().and_then(|mapping| mapping.resolve(memory).ok());
        for_value(run, &due.id, &due.id, &input.unwrap_or_default())
    });
    let questions = asked.iter().map(|(call, question)| {
        // A step that makes several calls is not named by its id alone.
        let alone = asked.iter().filter(|(other, _)| other.step == call.step).count() == 1;
        let place = if alone { &call.step } else { &call.key };
        match question.kind {
            QuestionKind::Value => for_value(run, &call.step, place, &question.input),
            QuestionKind::Undecided => for_decision(run, call, place),
        }
    });
    not_asked.into_iter().chain(questions).collect()
}

/// Returns whether a call's step is not recorded yet. A recorded step waits for nobody.
fn is_open(view: &SkillView<'_>, call: &CallName) -> bool {
    view.step_of(&call.step).is_some()
        && !view.progress.outcomes().iter().any(|outcome| outcome.step_id == call.step)
}

/// Returns the question for a value.
fn for_value(run: &RunInfo<'_>, step: &str, place: &str, input: &Value) -> Residual {
    let asked = decision::question(input).unwrap_or_else(|| format!("what {step} should do"));
    let offered = decision::offered(input);
    let among = if offered.is_empty() { String::new() } else { format!(" ({})", offered.join(" or ")) };
    let who = input.get("who").and_then(Value::as_str).map_or_else(|| "a person".to_owned(), shortened);
    let statement = format!("Step {step} waits for {who} to say: {asked}{among}");
    question(run, place, statement, &["--value JSON"])
}

/// Returns the question whether a call happened.
fn for_decision(run: &RunInfo<'_>, call: &CallName, place: &str) -> Residual {
    let statement = format!(
        "Step {} waits for a person to say whether {} happened before the run broke off.",
        call.step, call.capability
    );
    question(run, place, statement, &["--done OUTPUT", "--retry", "--fail"])
}

fn question(run: &RunInfo<'_>, place: &str, statement: String, answers: &[&str]) -> Residual {
    let command = format!("hence answer {} {}", shell_word(run.id()), shell_word(place));
    let ways: Vec<String> = answers.iter().map(|answer| format!("{command} {answer}")).collect();
    let check = format!("{}, then {}", ways.join(" or "), run.resume_command());
    gap(format!("question-{place}"), OpenQuestion, High, statement, check).on(TargetPart::Trace)
}
