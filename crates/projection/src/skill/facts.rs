//! The facts about a call that rules speak of: what was asked for, how it ended, and what it used.
//!
//! Everything follows from the recorded outcome. What is known before a call (the request, its path, its force) is
//! computed from the input alone, so that a gate can judge the call before it is made.

use std::collections::BTreeSet;

use hence_canon::{Float, Object, Value};
use hence_cognition::run::{CallOutcome, MadeCall, StepOutcome};
use hence_cognition::state::StepStatus;
use hence_review::command::exit_codes;
use hence_review::ending;
use hence_review::model::{Evidence, ExecutionMetadata, Number};
use hence_review::secret;
use hence_review::vocabulary::{ActionType, ActivityType, EvidenceType};
use hence_skills::Effect;

use super::kind;

/// The capability that asks a person.
const PERSON: &str = "human.ask";

/// Members of an input or output that name a file.
const PATHS: &[&str] = &["path", "file", "file_path", "filepath", "filename", "file_name"];
/// Members that list files.
const PATH_LISTS: &[&str] = &["paths", "files", "files_modified", "changed_files"];
/// Members that name the file a rename or a copy makes.
const NEW_PATHS: &[&str] = &["to", "new_path", "destination", "target_path"];
/// Members that list the arguments of a command.
const ARGUMENT_LISTS: &[&str] = &["arguments", "args", "argv", "command", "cmd"];
/// Members of an output that say how a check ended. They become members of the result.
const RESULTS: &[&str] = &[
    "status",
    "outcome",
    "conclusion",
    "passed",
    "failed",
    "failures",
    "errors",
    "error",
    "error_count",
    "ok",
    "success",
    "holds",
    "valid",
    "tests",
    "total",
    "skipped",
    "is_error",
    "timed_out",
    "timedOut",
    "killed",
    "interrupted",
    "aborted",
    "cancelled",
    "canceled",
    "unsupported",
];
/// Members of an output that say how long the callee took by its own clock, in milliseconds.
const DURATIONS: &[&str] = &["duration_ms", "elapsed_ms", "took_ms"];

/// The longest text of an argument in a trace, in characters; the record has the whole value.
const ARGUMENT_CHARACTERS_MAX: usize = 1000;
/// The number of items of a list, and of members of an object, that a trace shows of an argument.
const ARGUMENT_ITEMS_MAX: usize = 100;
/// The depth to which an argument is shown.
const ARGUMENT_DEPTH_MAX: usize = 8;

/// Returns the members of a request that are known before the call, besides the callee and the hash of the input.
pub(crate) fn request(input: &Value) -> Vec<(&'static str, Value)> {
    let mut members = Vec::new();
    if input.as_object().is_some_and(|input| !input.is_empty()) {
        members.push(("input", shown(input, 0)));
    }
    let arguments = arguments(input);
    if !arguments.is_empty() {
        members.push((
            "arguments",
            secret::words_without_secrets(&arguments).into_iter().map(Value::from).collect(),
        ));
    }
    members.extend(paths(input).first().map(|path| ("path", Value::from(path.as_str()))));
    members
}

/// Returns the result of a call: the members of its output by which rules judge it, and how it ended.
pub(super) fn result(kind: ActionType, outcome: &StepOutcome) -> Option<Object> {
    let produced = outcome.produced.as_ref().and_then(Value::as_object);
    let mut result: Object = produced
        .iter()
        .flat_map(|produced| RESULTS.iter().filter_map(|key| Some((*key, shown(produced.get(key)?, 0)))))
        .collect();
    if let Some(code) = exit_code(outcome) {
        result = result.with("exit_code", code);
    }
    let ended = match outcome.status {
        StepStatus::Failed if is_undecided(outcome) => Some("unknown"),
        StepStatus::Failed => Some("failed"),
        StepStatus::Skipped | StepStatus::Degraded => Some("skipped"),
        // Whether a check passed is for its own output to say: that it was called well says nothing about it.
        StepStatus::Completed if !kind::checks(kind) => Some("completed"),
        _ => None,
    };
    if let Some(ended) = ended.filter(|ended| *ended != "completed" || result.get("status").is_none()) {
        result = result.with("status", ended);
    }
    if let Some(failure) = &outcome.failure {
        // An error would say that nothing happened.
        let member = if is_undecided(outcome) { "undecided" } else { "error" };
        result = result.with(member, secret::without_secrets(&crate::text::shortened(&failure.to_string())));
    }
    (!result.is_empty()).then_some(result)
}

/// Returns whether the output of a check says that it did not pass, by an exit code, a status, a count or its words, and the result
/// that a trace shows of it does not.
pub(super) fn says_failed(outcome: &StepOutcome, shown: &Object) -> bool {
    let Some(produced) = &outcome.produced else { return false };
    let Some(output) = produced.as_object() else { return false };
    let summary = crate::text::summary(produced);
    let is_failed = |object: &Object| ending::of_output(object, &summary).is_some_and(|ending| !ending.well);
    is_failed(output) && !is_failed(shown)
}

/// Returns whether nobody knows if a call that acts happened.
pub(super) fn is_undecided(outcome: &StepOutcome) -> bool {
    let is_open = |call: &MadeCall| {
        call.effect == Effect::Acts && call.place().is_call && call.outcome() == CallOutcome::Undecided
    };
    outcome.status == StepStatus::Failed && outcome.calls.iter().any(is_open)
}

/// Returns the exit code of a call: of several, the first that is not zero.
pub(super) fn exit_code(outcome: &StepOutcome) -> Option<i64> {
    let produced = outcome.produced.as_ref()?;
    let mut codes = Vec::new();
    // A loop gives a list of codes, a scatter one object per branch.
    let branches = produced.as_object().into_iter().flat_map(Object::iter).map(|(_, branch)| branch);
    for object in std::iter::once(produced).chain(branches).filter_map(Value::as_object) {
        codes.extend(exit_codes(object));
    }
    codes.iter().copied().find(|code| *code != 0).or(codes.first().copied())
}

/// Returns whether an action of this type changes files.
pub(super) fn changes_files(kind: ActionType) -> bool {
    use ActivityType as A;
    matches!(
        kind,
        ActionType::Activity(
            A::EditFile | A::CreateFile | A::DeleteFile | A::RenameFile | A::SourceCode | A::Change
        )
    )
}

/// Returns the files that a call worked on, as evidence: those of its input and output.
///
/// `named` are those that its command names.
pub(super) fn files(kind: ActionType, outcome: &StepOutcome, named: Vec<String>) -> Vec<Evidence> {
    let is_read =
        matches!(kind, ActionType::Activity(ActivityType::ReadFile | ActivityType::ReadDocumentation));
    // A change that failed changed nothing that is known.
    let is_made = outcome.status == StepStatus::Completed && outcome.produced.is_some();
    if !is_made || !(changes_files(kind) || is_read) {
        return Vec::new();
    }
    let mut found = named;
    found.extend(paths(&outcome.input));
    found.extend(outcome.produced.iter().flat_map(paths));
    let mut seen = BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found.into_iter().map(file).collect()
}

fn file(path: String) -> Evidence {
    Evidence {
        evidence_type: EvidenceType::FileRef,
        reference: path.into(),
        exit_code: None,
        extra: Object::new(),
    }
}

/// Returns the files that the members of a value name.
fn paths(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for value in PATHS.iter().chain(PATH_LISTS).chain(NEW_PATHS).filter_map(|key| value.get(key)) {
        let items = value.as_array().unwrap_or_default().iter();
        let listed =
            items.flat_map(|item| item.as_str().into_iter().chain(item.get("path").and_then(Value::as_str)));
        found
            .extend(value.as_str().into_iter().chain(listed).filter(|path| is_path(path)).map(str::to_owned));
    }
    found
}

fn is_path(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= ARGUMENT_CHARACTERS_MAX && !text.contains('\n')
}

/// Returns the list of arguments that an input holds.
fn arguments(input: &Value) -> Vec<String> {
    let lists = ARGUMENT_LISTS.iter().filter_map(|key| input.get(key)?.as_array());
    lists.flatten().filter_map(Value::as_str).take(ARGUMENT_ITEMS_MAX).map(str::to_owned).collect()
}

/// Returns whether a text inside a value looks like a secret.
pub(crate) fn has_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => secret::contains(text),
        Value::Array(items) => {
            // A list of texts may be the words of a command.
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            secret::contains(&words.join(" ")) || items.iter().any(has_secret)
        }
        Value::Object(members) => members.iter().any(|(key, value)| match value {
            Value::String(text) => secret::contains(text) || secret::contains(&format!("{key}={text}")),
            other => has_secret(other),
        }),
        _ => false,
    }
}

/// Returns a value as a trace shows it: without secrets, and no longer than a reader needs.
pub(super) fn shown(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(text) => {
            let clean = secret::without_secrets(text);
            let mut short: String = clean.chars().take(ARGUMENT_CHARACTERS_MAX).collect();
            if short.len() < clean.len() {
                short.push('…');
            }
            short.into()
        }
        Value::Array(_) | Value::Object(_) if depth >= ARGUMENT_DEPTH_MAX => "…".into(),
        Value::Array(items) => {
            items.iter().take(ARGUMENT_ITEMS_MAX).map(|item| shown(item, depth + 1)).collect()
        }
        Value::Object(members) => {
            let member = |(key, value): (&std::sync::Arc<str>, &Value)| {
                let is_named = value.as_str().is_some_and(|text| secret::contains(&format!("{key}={text}")));
                (key.clone(), if is_named { "[redacted]".into() } else { shown(value, depth + 1) })
            };
            members.iter().take(ARGUMENT_ITEMS_MAX).map(member).collect::<Object>().into()
        }
        other => other.clone(),
    }
}

/// Adds what a call used, as far as the record says: time by the callee's own clock, tokens, cost, exit code and status.
pub(super) fn used(
    execution: ExecutionMetadata,
    outcome: &StepOutcome,
    exit_code: Option<i64>,
) -> ExecutionMetadata {
    let mut extra = execution.extra.clone();
    let (input, output) = (outcome.metrics.tokens_in, outcome.metrics.tokens_out);
    if input + output > 0 {
        extra = extra.with("tokens", input + output).with("tokens_in", input).with("tokens_out", output);
    }
    // Confirmations are actions of their own.
    let confirmed = outcome.listed_calls().iter().filter(|call| call.is_confirmation()).count() as u64;
    let asked = outcome.called.get(PERSON).copied().unwrap_or(0).min(confirmed);
    let calls = outcome.called.values().sum::<u64>().saturating_sub(asked);
    if calls > 0 {
        extra = extra.with("calls", calls);
    }
    if let Some(code) = exit_code {
        extra = extra.with("exit_code", code);
    }
    extra = extra.with("status", if is_undecided(outcome) { "unknown" } else { outcome.status.as_str() });
    let mut cost = None;
    if let Some((amount, currency)) = cost_of(outcome) {
        // Rules compare numbers; the text is exact.
        cost = amount.parse::<f64>().ok().and_then(number);
        extra = extra.with("cost_exact", amount);
        extra = currency.map_or(extra.clone(), |currency| extra.with("currency", currency));
    }
    let produced = outcome.produced.as_ref();
    let duration_ms = DURATIONS.iter().find_map(|key| produced?.get(key)?.as_i64());
    ExecutionMetadata { duration_ms, cost, extra, ..execution }
}

fn number(amount: f64) -> Option<Number> {
    Float::new(amount).ok().map(Number::Float)
}

/// Returns the exact cost that a provider reported, with its currency.
fn cost_of(outcome: &StepOutcome) -> Option<(String, Option<String>)> {
    let cost = outcome.meta.get("cost")?;
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.to_string()),
        Value::Int(_) | Value::Float(_) => Some(value.to_string()),
        _ => None,
    };
    match cost {
        Value::Object(cost) => Some((
            text(cost.get("amount")?)?,
            cost.get("currency").and_then(Value::as_str).map(str::to_owned),
        )),
        // Costs in several currencies have no sum; the largest bounds none of the others, so none is chosen.
        Value::Array(_) => None,
        other => Some((text(other)?, None)),
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    fn value(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    fn asked(input: &str) -> Object {
        request(&value(input)).into_iter().collect()
    }

    #[test]
    fn arguments_are_shown_without_their_secrets() {
        let request = asked(
            r#"{"path": "app/.env", "content": "TOKEN=sk-abcdefghijklmnop1234", "password": "hunter2", "n": 3}"#,
        );
        assert_eq!(request.get("path"), Some(&"app/.env".into()));
        let shown = Value::from(request).to_string();
        assert!(!shown.contains("abcdefghijklmnop") && !shown.contains("hunter2"), "{shown}");
        assert!(shown.contains(r#""n":3"#), "{shown}");
        assert!(!has_secret(&value(r#"{"path": "a"}"#)));
    }

    #[test]
    fn long_arguments_are_cut_at_their_limit() {
        let exact = "x".repeat(ARGUMENT_CHARACTERS_MAX);
        assert_eq!(shown(&exact.as_str().into(), 0), exact.as_str().into());
        assert_eq!(shown(&format!("{exact}y").into(), 0), format!("{exact}…").into());
    }
}
