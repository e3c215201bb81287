//! Evidence: items with an id, a source, a claim and the tasks they support.

use std::collections::BTreeSet;

use hence_canon::{Object, Value};

use super::text::words;
use super::{list_of, text_of};

/// The rule of an item that names the tasks it supports.
const DECLARED: &str = "declared";

/// The rule of an item that names none: it supports each task whose goal shares a word with its claim. Words have four
/// letters or more and are compared without case and without a plural's `s`; common words do not count.
const SHARED_WORDS: &str = "shared words";

/// Returns items with their ids and the tasks they support. `before` is the number of items that were acquired earlier.
pub(crate) fn items(raw: &[Value], tasks: &[Value], before: u64) -> Vec<Value> {
    let item = |(number, item): (u64, &Value)| {
        let empty = Object::new();
        let members = item.as_object().unwrap_or(&empty);
        let id = match text_of(item, "id") {
            "" => format!("evidence_{number}"),
            id => id.to_owned(),
        };
        let members = members.with("id", id);
        match declared(item) {
            Some(tasks) => members.with("supports", tasks).with("supports_by", DECLARED).into(),
            None => {
                let (supported, shared) = matched(item, tasks);
                let members = members.with("supports", supported).with("supports_by", SHARED_WORDS);
                members.with("shared_words", shared).into()
            }
        }
    };
    (before + 1..).zip(raw).map(item).collect()
}

/// Returns the tasks that an item names itself.
fn declared(item: &Value) -> Option<Vec<Value>> {
    match item.get("supports")? {
        Value::String(task) => Some(vec![task.clone().into()]),
        Value::Array(tasks) => Some(tasks.to_vec()),
        _ => None,
    }
}

/// Returns the tasks whose goals share words with an item's claim, and all shared words.
fn matched(item: &Value, tasks: &[Value]) -> (Vec<Value>, Vec<Value>) {
    let claim = words(&claim(item));
    let (mut supported, mut shared) = (Vec::new(), BTreeSet::new());
    for task in tasks {
        let common: Vec<String> = words(text_of(task, "goal")).intersection(&claim).cloned().collect();
        if !common.is_empty() {
            supported.push(text_of(task, "id").into());
            shared.extend(common);
        }
    }
    (supported, shared.into_iter().map(Value::from).collect())
}

/// Returns the claim of an item; of an item without one, all its texts but its id and source.
fn claim(item: &Value) -> String {
    if let Some(claim) = item.get("claim").and_then(Value::as_str) {
        return claim.to_owned();
    }
    let members = item.as_object().into_iter().flat_map(|object| object.iter_sorted());
    let texts = members.filter(|(key, _)| !["id", "source"].contains(&&***key));
    texts.filter_map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ")
}

/// Turns what a capability gave in the place of AcquireEvidence into items: its own items, or suggestions about those of
/// the problem. A suggestion is recorded, and supports nothing.
///
/// # Errors
/// The expected and the found value, in words.
pub(crate) fn check_items(
    reply: &Value,
    problem_items: &[Value],
    tasks: &[Value],
    acquired: &[Value],
) -> Result<Vec<Value>, String> {
    let before = acquired.len() as u64;
    let found = match (reply, reply.get("links").and_then(Value::as_array)) {
        (Value::Array(given), _) => {
            if let Some(position) = given.iter().position(|item| item.as_object().is_none()) {
                return Err(format!("expected a list of objects, found another value as item {position}"));
            }
            items(given, tasks, before)
        }
        (_, Some(links)) => {
            let suggested = |item: Value| {
                let id = text_of(&item, "id");
                let links = links.iter().filter(|link| text_of(link, "evidence") == id);
                let tasks: Vec<Value> = links.flat_map(|link| list_of(link, "tasks").to_vec()).collect();
                match item.as_object() {
                    Some(object) => object.with("suggested_for", tasks).into(),
                    None => item,
                }
            };
            items(problem_items, tasks, before).into_iter().map(suggested).collect()
        }
        _ => return Err(format!("expected a list of objects, found {}", reply.kind())),
    };
    let mut ids: BTreeSet<&str> = acquired.iter().map(|item| text_of(item, "id")).collect();
    if let Some(twice) = found.iter().map(|item| text_of(item, "id")).find(|id| !ids.insert(id)) {
        return Err(format!("expected ids that occur once, found two items `{twice}`"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn list(text: &str) -> Vec<Value> {
        parse(text.as_bytes()).unwrap().as_array().unwrap().to_vec()
    }

    #[test]
    fn an_item_supports_what_it_names_or_what_shares_a_word_with_it() {
        let tasks = list(
            r#"[{"id": "cost", "goal": "Monthly cost"}, {"id": "safe", "goal": "Is the bridge safe?"}]"#,
        );
        let raw = list(
            r#"[{"id": "a", "claim": "costs 5 a month", "supports": ["safe"]}, {"claim": "I like cats"},
                {"claim": "the bridge is safe"}, {"host": "bridge", "id": "d"}]"#,
        );
        let found = items(&raw, &tasks, 10);
        let brief: Vec<(&str, usize, &str)> = found
            .iter()
            .map(|item| (text_of(item, "id"), list_of(item, "supports").len(), text_of(item, "supports_by")))
            .collect();
        assert_eq!(
            brief,
            [
                ("a", 1, DECLARED),
                ("evidence_12", 0, SHARED_WORDS),
                ("evidence_13", 1, SHARED_WORDS),
                ("d", 1, SHARED_WORDS)
            ]
        );
    }

    #[test]
    fn a_capability_adds_no_item_twice_and_its_suggestions_support_nothing() {
        let acquired = list(r#"[{"id": "a"}]"#);
        let twice = parse(br#"[{"id": "a"}]"#).unwrap();
        assert!(check_items(&twice, &[], &[], &acquired).unwrap_err().contains("two items `a`"));
        let links = parse(br#"{"links": [{"evidence": "b", "tasks": ["t"]}]}"#).unwrap();
        let found = check_items(&links, &list(r#"[{"id": "b", "claim": "x"}]"#), &[], &acquired).unwrap();
        let item = found[0].to_string();
        assert!(item.contains(r#""suggested_for":["t"]"#) && item.contains(r#""supports":[]"#), "{item}");
        assert!(check_items(&parse(b"{}").unwrap(), &[], &[], &[]).is_err());
    }
}
