//! What a person was asked and decided.

use hence_canon::Value;
use hence_cognition::run::StepOutcome;
use hence_review::model::DecisionOption;
use hence_review::vocabulary::{ActionType, GatewayType};

use super::gateway::{Decision, chosen, rejected};
use crate::word;

/// Members of an input that hold the question, most telling first.
const QUESTION: &[&str] = &["question", "prompt", "message", "text", "title"];
/// Members of an input that hold what can be answered.
const OPTIONS: &[&str] = &["options", "choices"];
/// Members of an output that hold the answer.
const ANSWER: &[&str] = &["answer", "choice", "decision", "selected", "value", "approved", "confirmed"];
/// Members of an output that hold why.
const REASON: &[&str] = &["reason", "because", "note", "comment"];

/// Returns the question an input asks.
pub(super) fn question(input: &Value) -> Option<String> {
    first(input, QUESTION).map(shown)
}

/// Returns the labels an input offers.
pub(super) fn offered(input: &Value) -> Vec<String> {
    let items = first(input, OPTIONS).and_then(Value::as_array).unwrap_or_default();
    let label = |item: &Value| first(item, &["label", "value", "id"]).map_or_else(|| shown(item), shown);
    items.iter().map(label).collect()
}

/// Returns what a person decided, as a decision among what was offered.
pub(super) fn decision(step: &str, kind: ActionType, outcome: &StepOutcome) -> Option<Decision> {
    let produced = outcome.produced.as_ref()?;
    let answer = first(produced, ANSWER)?;
    let because = first(produced, REASON).map(shown);
    let by = first(produced, &["by"]).map_or_else(|| "a person".to_owned(), shown);
    let answered = match answer {
        Value::Bool(true) => "approve".to_owned(),
        Value::Bool(false) => "reject".to_owned(),
        other => shown(other),
    };
    let mut labels = offered(&outcome.input);
    let mut seen = std::collections::BTreeSet::new();
    labels.retain(|label| seen.insert(label.clone()));
    if let (Value::Bool(_), []) = (answer, labels.as_slice()) {
        labels = vec!["approve".to_owned(), "reject".to_owned()];
    }
    if !labels.contains(&answered) {
        labels.push(answered.clone());
    }
    let why_not = match &because {
        Some(because) => format!("{by} chose {answered}: {because}"),
        None => format!("{by} chose {answered}"),
    };
    let option = |label: String| -> DecisionOption {
        if label == answered { chosen(label) } else { rejected(label, why_not.clone()) }
    };
    let asked = question(&outcome.input).unwrap_or_else(|| format!("what {step} should do"));
    Some(Decision {
        word: match kind {
            ActionType::Gateway(word) => word,
            _ => GatewayType::ExclusiveDecision,
        },
        label: word::shortened(&asked),
        rationale: format!("The skill leaves this to a person, and {step} takes the answer in."),
        basis: because.unwrap_or_else(|| format!("{by} answered")),
        options: labels.into_iter().map(option).collect(),
    })
}

fn first<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().find_map(|key| value.get(key).filter(|found| !found.is_null()))
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.trim().is_empty() { "(nothing)".to_owned() } else { word::shortened(&text) }
}
