//! The notes of the audit: everything that a reader of the answer should know.

use hence_canon::Value;

use super::{list_of, text_of};

/// Returns the notes of a run from its newest artifacts.
pub(crate) fn notes(
    normalized: &Value,
    items: &[Value],
    computation: &Value,
    verification: &Value,
    synthesis: &Value,
) -> Vec<Value> {
    let mut notes: Vec<String> = Vec::new();
    notes
        .extend(list_of(normalized, "findings").iter().filter_map(|found| found.as_str().map(str::to_owned)));
    let assumptions = list_of(normalized, "assumptions");
    notes.extend(
        assumptions.iter().filter_map(|text| Some(format!("assumed, not checked: {}", text.as_str()?))),
    );
    for item in items.iter().filter(|item| text_of(item, "supports_by") == "shared words") {
        let tasks: Vec<&str> = list_of(item, "supports").iter().filter_map(Value::as_str).collect();
        if !tasks.is_empty() {
            let words: Vec<&str> = list_of(item, "shared_words").iter().filter_map(Value::as_str).collect();
            let (id, tasks, words) = (text_of(item, "id"), tasks.join(", "), words.join(", "));
            notes.push(format!("evidence {id} supports {tasks} only by shared words: {words}"));
        }
    }
    for conclusion in list_of(computation, "conclusions") {
        if let Some(other) = conclusion.get("disagrees") {
            let (task, by) = (text_of(conclusion, "task"), text_of(other, super::BY));
            notes.push(format!("{by} disagrees about task {task}; the method decided"));
        }
    }
    notes.extend(
        list_of(verification, "reasons").iter().filter_map(|reason| reason.as_str().map(str::to_owned)),
    );
    for rejected in list_of(computation, "rejected") {
        notes.push(format!("a proposed conclusion was not used: {}", text_of(rejected, "reason")));
    }
    let rejected = list_of(synthesis, "rejected").len();
    if rejected > 0 {
        notes.push(format!("sentences of the answer that were rejected: {rejected}"));
    }
    if synthesis.get("words").is_some() {
        notes.push(
            "the sentences beside the answer cite evidence; their words were not checked against it"
                .to_owned(),
        );
    }
    if synthesis.get("unchecked").and_then(Value::as_bool) == Some(true) {
        notes.push("the words of the answer cite nothing and were not checked".to_owned());
    }
    notes.into_iter().map(Value::from).collect()
}
