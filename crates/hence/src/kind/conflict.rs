//! Differences between a stored run and one that was to get its id.

use hence_canon::{Value, parse};
use hence_engine::{Change, changes};
use hence_store::{AttachmentName, RunId, StoreHandle};

use crate::prelude::*;

/// The most differences that are listed of a document.
const DIFFERENCES_MAX: usize = 5;

/// The number of characters shown of a value that differs.
const VALUE_CHARACTERS_MAX: usize = 60;

/// The members of a header that follow from the rest of it and from the problem.
const HASHES: [&str; 3] = ["/record_hash", "/initial_state_hash", "/problem_spec_hash"];

/// Lists the members of the documents that differ: the problem with what it pins, the skill, the capabilities. Where they
/// are the same, the runs differ in their headers: profile, engine or time.
pub(super) fn differences(
    store: &StoreHandle,
    id: &RunId,
    documents: &[(AttachmentName, Vec<u8>)],
    header: &[u8],
) -> Vec<String> {
    let mut found = Vec::new();
    for (name, bytes) in documents {
        let stored = store.attachment(id, name).ok().and_then(|bytes| parse(&bytes).ok());
        let Ok(given) = parse(bytes) else { continue };
        let Some(stored) = stored else {
            found.push(format!("{}: the stored run has none", name.as_str()));
            continue;
        };
        let changes = changes(&stored, &given);
        found.extend(changes.iter().take(DIFFERENCES_MAX).map(|change| line(name.as_str(), change)));
        if changes.len() > DIFFERENCES_MAX {
            found.push(format!("{}: {} in all", name.as_str(), counted(changes.len() as u64, "difference")));
        }
    }
    if found.is_empty() {
        let first = |bytes: &[u8]| parse(bytes.split(|byte| *byte == b'\n').next().unwrap_or_default()).ok();
        let stored = store.journal_bytes(id).ok().and_then(|bytes| first(&bytes));
        let both = stored.zip(first(header));
        let changes = both.map(|(stored, given)| changes(&stored, &given)).unwrap_or_default();
        let changes = changes.iter().filter(|change| !HASHES.contains(&change.pointer.to_string().as_str()));
        found.extend(changes.map(|change| line("header", change)));
    }
    found
}

fn line(name: &str, change: &Change) -> String {
    let shown = |value: &Option<Value>| match value {
        Some(value) => one_line(&value.to_string(), VALUE_CHARACTERS_MAX),
        None => "nothing".to_owned(),
    };
    let place = format!("{name} {}", change.pointer);
    format!("{place}: stored is {}, given is {}", shown(&change.left), shown(&change.right))
}
