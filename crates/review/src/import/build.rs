//! Session → trace.

use std::collections::BTreeSet;

use hence_canon::{Digest, Object, Value};

use crate::ending::{Words, reading};
use crate::vocabulary::{
    ActionCategory, ActionType, ActivityType, EvidenceType, GatewayType, MetaStatus, ResidualKind,
    ResidualSeverity, ResidualSource, ResidualStatus,
};

use super::artifacts::{ArtifactBuilder, Touched};
use super::outcome::ToolOutcome;
use super::session::{
    ActionEvent, AnsweredBy, Decision, Ending, Event, Repeatable, Session, Status, WHOLE_TEXT_CHARS_MAX,
};
use super::text::{relative, shorten, shorten_values};
use super::units::{Unit, units};
use super::{Format, Surroundings};

/// Longest texts of a trace made from a log, in characters.
const LABEL_CHARS_MAX: usize = 80;
const RATIONALE_CHARS_MAX: usize = 400;
const RESULT_CHARS_MAX: usize = 160;
const DETAIL_CHARS_MAX: usize = 200;
const TITLE_CHARS_MAX: usize = 60;
const SUMMARY_CHARS_MAX: usize = 200;

/// Makes the trace of a session; the digest of its log gives it an id when the log has none.
pub(super) fn trace(session: Session, format: Format, surroundings: &Surroundings, digest: &Digest) -> Value {
    let surroundings = Surroundings {
        working_directory: surroundings
            .working_directory
            .clone()
            .or_else(|| session.working_directory.clone()),
        home: surroundings.home.clone(),
    };
    let mut artifacts = ArtifactBuilder::default();
    let model = session.model.as_deref();
    let actions: Vec<Built> = session
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Action(action) => Some(action),
            _ => None,
        })
        .enumerate()
        .map(|(place, action)| build(action, place + 1, model, &surroundings, &mut artifacts))
        .collect();
    let units = units(&session.events, &session.delegated, |place| {
        let words =
            |built: &Built| if built.rationale.is_empty() { &built.label } else { &built.rationale }.clone();
        actions.get(place).map(words).unwrap_or_default()
    });
    let directives = session.events.iter().filter_map(|event| match event {
        Event::Directive { text, at } => Some((text.as_str(), at.as_deref())),
        _ => None,
    });
    for (index, (text, at)) in directives.clone().enumerate() {
        let (name, summary) = (shorten(text, LABEL_CHARS_MAX), shorten(text, RATIONALE_CHARS_MAX));
        artifacts.add_instruction(index + 1, name, summary, at);
    }
    let directive = directives.map(|(text, _)| text).next();
    let files: BTreeSet<&str> =
        actions.iter().flat_map(|built| built.edited.iter().map(String::as_str)).collect();
    let files: Value = files.into_iter().collect();
    let meta_actions =
        units.iter().enumerate().map(|(index, unit)| unit_value(index, unit, &actions)).collect();
    let residuals: Vec<Value> =
        actions.iter().zip(1..).filter_map(|(built, id)| open_call(built, id)).collect();
    let metrics = [("total_actions", Value::from(actions.len())), ("meta_action_count", units.len().into())];
    let metrics: Object = metrics.into_iter().chain(session.total.members()).collect();
    let mut trace = vec![
        ("trace_id", Value::from(trace_id(&session, format, digest))),
        ("spec_version", "1.6".into()),
        ("assistant", format.as_str().into()),
        ("model", session.model.as_deref().unwrap_or("unknown").into()),
    ];
    if let Some(at) = &session.started_at {
        trace.push(("timestamp", at.as_str().into()));
    }
    trace.extend([
        ("title", title(directive).into()),
        ("trigger", trigger(directive)),
        ("files_modified", files),
        ("actions", actions_with_units(actions, &units)),
        ("meta_actions", meta_actions),
        ("outcome", outcome(&session)),
        ("artifacts", artifacts.finish()),
        ("reproducibility", reproducibility()),
        ("metrics", metrics.into()),
    ]);
    if !residuals.is_empty() {
        trace.push(("residuals", residuals.into()));
    }
    if !session.redactions.is_empty() {
        let removed = Object::from_iter([("redactions", session.redactions.to_object())]);
        trace.push(("metadata", removed.into()));
    }
    Object::from_iter(trace).into()
}

fn trace_id(session: &Session, format: Format, digest: &Digest) -> String {
    let id = match &session.id {
        Some(id) => id.clone(),
        None => digest.to_string().chars().take(16).collect(),
    };
    format!("{}-{id}", format.as_str())
}

fn title(directive: Option<&str>) -> String {
    directive.map_or_else(
        || "Agent session".to_owned(),
        |text| format!("Session: {}", shorten(text, TITLE_CHARS_MAX)),
    )
}

fn trigger(directive: Option<&str>) -> Value {
    let description = directive.unwrap_or("(no prompt found)");
    Object::from_iter([("type", Value::from("TaskReceived")), ("description", description.into())]).into()
}

fn outcome(session: &Session) -> Value {
    let event = match session.ending {
        Ending::Completed => "ProcessCompleted",
        Ending::Interrupted => "ProcessInterrupted",
        Ending::Aborted => "ProcessAborted",
    };
    let summary = shorten(session.last_reasoning.as_deref().unwrap_or(""), SUMMARY_CHARS_MAX);
    Object::from_iter([("type", event), ("summary", summary.as_str())]).into()
}

fn reproducibility() -> Value {
    let notes = "Commands can be run again as their actions say; edits follow from the commit; what the agent \
                 decided cannot be repeated.";
    Object::from_iter([("status", "partially_reproducible"), ("notes", notes)]).into()
}

/// Members of an unfinished object: every change to an [`Object`] would make a new one.
type Members = Vec<(&'static str, Value)>;

/// An action of the trace, before it is assigned to a unit.
struct Built {
    members: Members,
    label: String,
    rationale: String,
    edited: Vec<String>,
    outputs: Vec<String>,
    /// Whether it acts and the log has no result of it.
    is_open: bool,
}

fn build(
    event: &ActionEvent,
    id: usize,
    model: Option<&str>,
    surroundings: &Surroundings,
    artifacts: &mut ArtifactBuilder,
) -> Built {
    let file = event.file.as_deref().map(|file| relative(file, surroundings));
    let label = label(event, file.as_deref());
    // An agent that wrote no reason gave none; validation says so.
    let rationale = shorten(event.rationale.as_deref().unwrap_or(""), RATIONALE_CHARS_MAX);
    // What another command printed is no result of a check.
    let is_output = !event.checks() || event.owns_output;
    let result = event.outcome.as_ref().filter(|_| is_output).and_then(|outcome| {
        let text = match &outcome.beside_commits {
            Some(text) if event.checks() => text,
            _ => &outcome.text,
        };
        let text = with_end(event, outcome, shorten(text, RESULT_CHARS_MAX));
        // The part that is shown may end well where the whole does not.
        let is_tests = event.action_type == ActivityType::RunTests.into();
        let is_contradicted = is_tests && (outcome.signs.tests_failed || outcome.signs.no_tests);
        if is_contradicted && matches!(reading(&text), Words::Well) {
            return None;
        }
        // A line of several commands failed as a whole; only the one that failed says so.
        let failed = outcome.failed && (event.part.is_none() || event.status == Some(Status::Failed));
        // A tool without output has no result to show, unless it failed.
        let has_result = !text.is_empty() || failed;
        has_result.then(|| if failed { format!("ERROR: {text}") } else { text })
    });
    let renamed = event.renamed_to.as_deref().map(|file| relative(file, surroundings));
    let touched = Touched {
        file: file.as_deref(),
        renamed_to: renamed.as_deref(),
        happened: event.happened(),
        ran: !event.is_uncertain
            && !event.is_unanswered()
            && !matches!(event.status, Some(Status::Refused | Status::Cancelled)),
        contains_secret: event.contains_secret,
    };
    let exchange = artifacts.add_action(event.action_type, id, &touched, &label, result.as_deref());
    let decided = event.decision.as_ref().map(|decision| decided(decision, event));
    let (type_word, category) = match &decided {
        Some((gateway, _)) => (gateway.as_str(), ActionCategory::Gateway),
        None => (event.action_type.as_str(), event.action_type.category()),
    };
    let mut members: Members = vec![
        ("id", Value::from(id)),
        ("type", type_word.into()),
        ("category", category.into()),
        ("label", label.as_str().into()),
        ("rationale", rationale.as_str().into()),
        ("inputs", exchange.inputs.iter().map(String::as_str).collect()),
        ("outputs", exchange.outputs.iter().map(String::as_str).collect()),
        ("evidence", evidence(event, file.as_deref(), renamed.as_deref(), surroundings)),
    ];
    let is_decision = decided.is_some();
    match (&event.command, decided) {
        // The answer to a question matters more than the tool that asked.
        (_, Some((_, members_of_decision))) => members.extend(members_of_decision),
        (Some(command), None) => members.extend(of_command(event, command, result.as_deref())),
        (None, None) => {}
    }
    let execution = execution(event, model);
    if !execution.is_empty() && !is_decision {
        members.push(("execution", Object::from_iter(execution).into()));
    }
    if !is_decision {
        members.extend(request(event, file.as_deref()).map(|request| ("request", request)));
        members.extend(outcome_of(event).map(|outcome| ("result", outcome)));
        members.extend(result.map(|result| ("result_summary", result.into())));
    }
    if !event.tags.is_empty() {
        members.push(("tags", event.tags.iter().copied().collect()));
    }
    let unanswered = "the log has no result of it: whether it happened is not known";
    let mixed = event.outcome.as_ref().filter(|_| !is_output).map(|outcome| {
        format!(
            "other commands of the line print, too, so no output can be told to be its own: {}",
            outcome.text
        )
    });
    let note = event.note.as_deref().or(event.is_unanswered().then_some(unanswered)).or(mixed.as_deref());
    if let Some(note) = note.filter(|_| !is_decision) {
        let observation = Object::from_iter([
            ("statement", shorten(note, RATIONALE_CHARS_MAX)),
            ("confidence", "low".to_owned()),
        ]);
        members.push(("observations", vec![observation].into()));
    }
    for (key, text) in [("agent", &event.agent), ("timestamp", &event.at)] {
        members.extend(text.as_deref().map(|text| (key, text.into())));
    }
    let edited = file.into_iter().chain(renamed).filter(|_| event.edits() && event.happened()).collect();
    let is_open = event.is_unanswered() && !is_decision && event.acts();
    Built { members, label, rationale, edited, outputs: exchange.outputs, is_open }
}

/// Adds the line that says that tests failed, or that there were none, to a text that was cut before it.
fn with_end(event: &ActionEvent, outcome: &ToolOutcome, text: String) -> String {
    let is_tests = event.action_type == ActivityType::RunTests.into();
    let telling = outcome.telling.as_deref().filter(|_| is_tests && !matches!(reading(&text), Words::Badly));
    match telling {
        Some(line) if !text.contains(line) => {
            let room = RESULT_CHARS_MAX.saturating_sub(line.chars().count() + 3);
            format!("{} … {line}", shorten(&text, room))
        }
        _ => text,
    }
}

/// Declares that nobody knows whether an action happened, if the log has no result of it.
fn open_call(built: &Built, id: usize) -> Option<Value> {
    let statement =
        format!("The log has no result of action {id} ({}): whether it happened is not known.", built.label);
    let target = Object::from_iter([("target_type", "action"), ("target_id", id.to_string().as_str())]);
    let members = [
        ("residual_id", Value::from(format!("unanswered-{id}"))),
        ("kind", ResidualKind::OpenQuestion.into()),
        ("severity", ResidualSeverity::High.into()),
        ("source", ResidualSource::ToolInferred.into()),
        ("status", ResidualStatus::Open.into()),
        ("statement", statement.into()),
        ("target", target.into()),
    ];
    built.is_open.then(|| Object::from_iter(members).into())
}

fn label(event: &ActionEvent, file: Option<&str>) -> String {
    let question = event.decision.as_ref().map(|decision| decision.question.as_str());
    let part = event.part.as_ref().map(|part| part.label.as_str());
    let candidates = [
        question,
        part,
        event.description.as_deref(),
        file.filter(|_| event.command.is_none()),
        event.command.as_deref(),
        event.query.as_deref(),
        Some(event.tool.as_str()),
    ];
    let first = candidates.into_iter().flatten().find(|text| !text.trim().is_empty());
    shorten(first.unwrap_or_else(|| event.action_type.as_str()), LABEL_CHARS_MAX)
}

fn evidence(
    event: &ActionEvent,
    file: Option<&str>,
    renamed: Option<&str>,
    surroundings: &Surroundings,
) -> Value {
    let mut found = Vec::new();
    let mut add = |file: &str| {
        found.push(Object::from_iter([("type", Value::from(EvidenceType::FileRef)), ("ref", file.into())]));
    };
    // A file that was to be changed and was not is no evidence of a change; `request.path` names it.
    if event.happened() || !event.edits() {
        file.into_iter().chain(renamed).for_each(&mut add);
        event.more_files.iter().for_each(|file| add(&relative(file, surroundings)));
    }
    if let Some(command) = event.command.as_deref().filter(|_| event.outcome.is_some()) {
        let mut output = Object::from_iter([
            ("type", Value::from(EvidenceType::CommandOutput)),
            ("ref", shorten(command, DETAIL_CHARS_MAX).into()),
        ]);
        let code = event.outcome.as_ref().and_then(|outcome| outcome.exit_code);
        if let Some(code) = code.filter(|_| event.owns_exit_code) {
            output = output.with("exit_code", code);
        }
        found.push(output);
    }
    found.into_iter().collect()
}

/// The tool, what it cost and how long it took, as far as the log says.
fn execution(event: &ActionEvent, model: Option<&str>) -> Members {
    let mut members: Members = Vec::new();
    if event.command.is_some() {
        members.push(("tool", "shell".into()));
        // The same files give the same answer; a test may still depend on more than files.
        let looks = event.repeatable == Repeatable::Yes && event.action_type != ActivityType::RunTests.into();
        members.extend(looks.then_some(("determinism", "deterministic".into())));
    } else if matches!(event.action_type, ActionType::Reasoning(_))
        || event.action_type == ActivityType::ToolCall.into()
    {
        members.push(("tool", event.tool.as_str().into()));
    }
    members.extend(event.method.map(|method| ("method", method.into())));
    // A call of several parts took its time once.
    let duration = event.outcome.as_ref().and_then(|outcome| outcome.duration_ms);
    members
        .extend(duration.filter(|_| event.part.is_none()).map(|duration| ("duration_ms", duration.into())));
    members.extend(event.usage.iter().flat_map(super::usage::Usage::members));
    let other = event.model.as_deref().filter(|found| model.is_some_and(|model| model != *found));
    members.extend(other.map(|model| ("model", model.into())));
    members
}

/// The request.
fn request(event: &ActionEvent, file: Option<&str>) -> Option<Value> {
    let mut members: Members =
        event.request.iter().map(|(key, value)| (*key, shorten_values(value, RATIONALE_CHARS_MAX))).collect();
    // A file that was written says itself whether it holds one.
    let has_no_artifact = !event.edits() || file.is_none() && event.happened();
    let holds = event.contains_secret == Some(true) && has_no_artifact;
    members.extend(holds.then_some(("contains_secret", true.into())));
    let has_path = members.iter().any(|(key, _)| *key == "path");
    members.extend(file.filter(|_| !has_path).map(|file| ("path", file.into())));
    members.extend(
        event.part.iter().flat_map(|part| [("part", part.place.into()), ("parts", part.count.into())]),
    );
    (!members.is_empty()).then(|| Object::from_iter(members).into())
}

/// The end of the action, if the log shows it.
fn outcome_of(event: &ActionEvent) -> Option<Value> {
    let status = event.status?;
    let mut members: Members = vec![("status", status.as_str().into())];
    let outcome = event.outcome.as_ref();
    let code = outcome.and_then(|outcome| outcome.exit_code).filter(|_| event.owns_exit_code);
    members.extend(code.map(|code| ("exit_code", code.into())));
    if status != Status::Completed
        && status != Status::Unknown
        && let Some(outcome) = outcome.filter(|outcome| !outcome.text.trim().is_empty())
    {
        members.push(("error", shorten(&outcome.text, RATIONALE_CHARS_MAX).into()));
    }
    Some(Object::from_iter(members).into())
}

fn of_command(event: &ActionEvent, command: &str, result: Option<&str>) -> Members {
    let mut members = vec![("detail", Value::from(shorten(command, DETAIL_CHARS_MAX)))];
    // A command that is not stored whole cannot be run again.
    if command.chars().count() > WHOLE_TEXT_CHARS_MAX {
        return members;
    }
    let again = event.part.as_ref().map_or(command, |part| part.again.as_str());
    let procedure = Object::from_iter([("kind", "command"), ("command", again)]);
    let (status, kind) = match event.repeatable {
        Repeatable::Yes if event.lost_secret => ("partially_reproducible", "tool_reexecution"),
        Repeatable::Yes => ("reproducible", "tool_reexecution"),
        Repeatable::Unknown => ("partially_reproducible", "tool_reexecution"),
        Repeatable::No => ("not_reproducible", "not_reproducible"),
    };
    let mut reproducibility = vec![
        ("status", Value::from(status)),
        ("reproduction_kind", kind.into()),
        ("procedure", procedure.into()),
    ];
    let expected = result.map(|result| Object::from_iter([("result_summary", result)]));
    reproducibility.extend(expected.map(|expected| ("expected_output", expected.into())));
    let limitation = match event.repeatable {
        _ if event.lost_secret => Some("a secret was removed from the command"),
        Repeatable::Yes => None,
        Repeatable::Unknown => Some("nobody knows what else this command changes"),
        Repeatable::No => Some("running it again would change something again"),
    };
    reproducibility.extend(limitation.map(|text| ("limitations", vec![text].into())));
    members.push(("reproducibility", Object::from_iter(reproducibility).into()));
    members
}

/// Describes a question to the user as a gateway: its options, the chosen one, and the answer in words.
fn decided(decision: &Decision, event: &ActionEvent) -> (GatewayType, Members) {
    let answer = answer(decision, event);
    let answer = answer.trim();
    let is_chosen = |option: &String| is_among(option, answer);
    let mut options: Vec<(&str, bool)> =
        decision.options.iter().map(|option| (option.as_str(), is_chosen(option))).collect();
    let in_words = shorten(answer, LABEL_CHARS_MAX);
    if !answer.is_empty() && !options.iter().any(|(_, chosen)| *chosen) {
        options.push((&in_words, true));
    }
    let exclusive = options.iter().filter(|(_, chosen)| *chosen).count() <= 1;
    // Several answers to one question do not exclude each other.
    let gateway = if exclusive { GatewayType::ExclusiveDecision } else { GatewayType::ParallelSplit };
    let detail = format!("Decision: {} → {}", decision.question, answer);
    let option = |(label, chosen): (&str, bool)| {
        Object::from_iter([("label", Value::from(label)), ("chosen", chosen.into())])
    };
    let members = vec![
        ("detail", Value::from(shorten(&detail, DETAIL_CHARS_MAX))),
        ("options", options.into_iter().map(option).collect()),
    ];
    (gateway, members)
}

/// Returns the answer to a question; the empty text if it has none, as one that was refused or failed.
fn answer(decision: &Decision, event: &ActionEvent) -> String {
    let Some(outcome) = &event.outcome else { return String::new() };
    if decision.answered_by == AnsweredBy::Permission {
        let place = match (outcome.failed, outcome.stopped) {
            (false, _) => Some(0),
            (true, Some(Status::Refused)) => Some(1),
            (true, _) => None,
        };
        return place.and_then(|place| decision.options.get(place)).cloned().unwrap_or_default();
    }
    if outcome.failed {
        return String::new();
    }
    // A result with several answers names each with its question: "Burst?"="ten".
    let named = outcome.text.split_once(&format!("\"{}\"=\"", decision.question)).map(|(_, rest)| rest);
    named.and_then(|rest| rest.split_once('"')).map_or(outcome.text.as_str(), |(answer, _)| answer).to_owned()
}

/// Returns whether an option is in an answer as words of its own: "no" is not in "now".
fn is_among(option: &str, answer: &str) -> bool {
    let is_outside = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    !option.is_empty()
        && answer.match_indices(option).any(|(at, found)| {
            let (before, after) =
                (answer.get(..at).unwrap_or(""), answer.get(at + found.len()..).unwrap_or(""));
            is_outside(before.chars().next_back()) && is_outside(after.chars().next())
        })
}

fn actions_with_units(actions: Vec<Built>, units: &[Unit]) -> Value {
    let mut unit_of = vec![None; actions.len()];
    for (index, unit) in units.iter().enumerate() {
        for place in &unit.actions {
            if let Some(slot) = unit_of.get_mut(*place) {
                *slot = Some(index + 1);
            }
        }
    }
    let placed = actions.into_iter().zip(unit_of).map(|(mut built, unit)| {
        built.members.extend(unit.map(|unit| ("meta_action_id", format!("m{unit}").into())));
        Object::from_iter(built.members)
    });
    placed.collect()
}

fn unit_value(index: usize, unit: &Unit, actions: &[Built]) -> Value {
    let produced =
        unit.actions.iter().filter_map(|place| actions.get(*place)).flat_map(|built| &built.outputs);
    let mut members = Object::from_iter([
        ("id", Value::from(format!("m{}", index + 1))),
        ("title", unit.title.as_str().into()),
        ("intent", unit.intent.as_str().into()),
        ("action_ids", unit.actions.iter().map(|place| place + 1).collect()),
        ("source", unit.source.into()),
        ("produced_artifact_ids", produced.map(String::as_str).collect()),
    ]);
    if let Some(parent) = unit.parent {
        members = members.with("parent_id", format!("m{}", parent + 1));
    }
    if let Some(completed) = unit.completed {
        let status = if completed { MetaStatus::Completed } else { MetaStatus::Partial };
        members = members.with("status", status);
    }
    members.into()
}
