//! Forging: every member of every record of a run is altered and removed, and the chain is computed anew.

use std::collections::BTreeMap;

use hence_testkit::cli::World;
use serde_json::{Value, json};

use super::seal::seal;

/// Words that stand in the same places. A forger replaces one by another, so that the record keeps its form.
const WORDS: [&[&str]; 6] = [
    &["session", "global", "tree", "temporary", "agent"],
    &["incomplete", "complete", "error", "cancelled"],
    &["success", "failed", "skipped", "degraded"],
    &["completed", "failed", "partial"],
    &["checkpoint", "rollback"],
    &["stop", "length", "end_turn"],
];

/// Returns other texts of the same form: another version, time or word.
fn other_texts(text: &str) -> Vec<Value> {
    let mut others = Vec::new();
    if text.split('.').count() == 3 && text.split('.').all(|part| part.parse::<u64>().is_ok()) {
        others.push("9.9.9".into());
    }
    if text.len() >= 20 && text.ends_with('Z') && text.as_bytes()[10] == b'T' {
        others.push(text.replacen("20", "19", 1).into());
        others.push("2030-01-01T00:00:00Z".into());
    }
    for group in WORDS.iter().filter(|group| group.contains(&text)) {
        others.extend(group.iter().filter(|word| **word != text).map(|word| Value::from(*word)));
    }
    others
}

/// The ways to alter a value.
fn altered(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => {
            let mut all = other_texts(text);
            all.extend([format!("{text}x").into(), 7.into()]);
            all
        }
        Value::Number(number) => vec![(number.as_i64().unwrap_or(0) + 1).into(), "forged".into()],
        Value::Bool(value) => vec![(!value).into(), "forged".into()],
        Value::Null => vec![1.into()],
        Value::Array(items) => {
            let mut more = items.clone();
            more.push("forged".into());
            vec![more.into(), json!({"forged": 1})]
        }
        Value::Object(members) => {
            let mut more = members.clone();
            more.insert("forged".to_owned(), 1.into());
            vec![more.into(), json!(["forged"])]
        }
    }
}

/// Returns every pointer below a value, the root left out.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (escape(key), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let pointer = format!("{at}/{key}");
        found.push(pointer.clone());
        pointers(child, &pointer, found);
    }
}

fn without(record: &Value, pointer: &str) -> Value {
    let mut record = record.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    match record.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(&key)),
        Value::Array(items) => drop(items.remove(key.parse().unwrap())),
        _ => {}
    }
    record
}

/// Returns every forgery of a record, with the place that was altered. Hashes are sealed anew anyway.
fn forgeries(record: &Value) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    pointers(record, "", &mut places);
    places.retain(|place| !place.ends_with("_hash") && place != "/index" && place != "/type");
    let mut forged = Vec::new();
    for place in places {
        for value in altered(record.pointer(&place).unwrap()) {
            let mut record = record.clone();
            *record.pointer_mut(&place).unwrap() = value;
            forged.push((place.clone(), record));
        }
        forged.push((place.clone(), without(record, &place)));
    }
    forged
}

/// The words of a report that speak of all steps of a run of variables.
pub(super) const OPERATIONS: &str = "the operations that were asked for";

/// The words of a report about the version of the engine in the header.
pub(super) const ENGINE: &str = "engine_version";

/// The words of a report about checkpoints and rollbacks.
pub(super) const MARKS: &str = "the checkpoints and rollbacks that were asked for";

/// The words that name no step.
const SAID_OF_ALL: [&str; 3] = [OPERATIONS, ENGINE, MARKS];

/// Places of a kind of run that are read from the record.
pub(super) type ReadPlaces = [(&'static str, &'static str)];

/// Returns the words by which a report says that this place was read from the record.
fn allowed(read: &ReadPlaces, place: &str) -> Option<&'static str> {
    let numbered: Vec<&str> =
        place.split('/').map(|part| if part.parse::<u64>().is_ok() { "N" } else { part }).collect();
    let numbered = numbered.join("/");
    let begins = |(allowed, _): &&(&str, &str)| match allowed.strip_suffix('!') {
        Some(exact) => numbered == exact,
        None => numbered.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
    };
    read.iter().find(begins).map(|(_, words)| *words)
}

/// Forges every member of every record of a run, and returns how many forgeries were found and how many were not. Those that were not are
/// at places that the report says were read from the record.
pub(super) fn forge_run(world: &World, run: &str, read: &ReadPlaces) -> (usize, usize) {
    let honest = world.ask(&["verify", run]);
    assert_eq!(honest.code, 0, "{}{}", String::from_utf8_lossy(&honest.stdout), honest.stderr);
    let journal = world.journal(run);
    let problem = world.read(&format!(".hence/runs/{run}/problem.json"));
    let records: Vec<Value> = journal
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(seal(&records, &problem), journal, "sealing changes nothing by itself");
    let (mut found, mut passed, mut wrong) = (0, 0, BTreeMap::<String, String>::new());
    for (at, record) in records.iter().enumerate() {
        for (place, forged) in forgeries(record) {
            let mut all = records.clone();
            all[at] = forged;
            let sealed = seal(&all, &problem);
            if sealed == journal {
                continue;
            }
            world.set_journal(run, &sealed);
            let verdict = world.ask(&["verify", run, "--json"]);
            assert!(verdict.code <= 1, "{place}: {}", verdict.stderr);
            if verdict.code == 1 {
                found += 1;
                continue;
            }
            passed += 1;
            let report = verdict.json();
            let step = record["result"]["step"].as_str().unwrap_or_default();
            let levels = report["levels"].as_array().unwrap();
            let unchecked: Vec<&str> = levels
                .iter()
                .flat_map(|level| level["unchecked"].as_array().unwrap())
                .chain(report["not_shown"].as_array().unwrap())
                .filter_map(Value::as_str)
                .collect();
            let is_said = allowed(read, &place).is_some_and(|words| {
                let is_about = |line: &&&str| line.contains(step) || SAID_OF_ALL.contains(&words);
                unchecked.iter().filter(is_about).any(|line| line.contains(words))
            });
            if !is_said {
                wrong.insert(format!("record {at} ({step}) {place}"), all[at]["result"].to_string());
            }
        }
    }
    world.set_journal(run, &journal);
    assert!(wrong.is_empty(), "{} forgeries pass unsaid: {wrong:#?}", wrong.len());
    (found, passed)
}
