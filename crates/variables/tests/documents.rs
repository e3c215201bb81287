//! Documents: checked, imported, exported.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod world;

use std::collections::BTreeMap;

use hence_canon::{Object, Value, parse};
use hence_variables::document::storage::{HISTORY_FILE, STATE_FILE, history_entry, state_file, view_files};
use hence_variables::document::{Document, Verdict, export};
use hence_variables::limits::*;
use hence_variables::{Call, CheckpointId, Import, Init, Op, Set, StateId, diff};
use world::{A, World, code};

fn json(text: &str) -> Value {
    parse(text.as_bytes()).unwrap()
}

fn codes(document: &Value) -> Vec<(String, &'static str)> {
    let verdict = Verdict::of(document);
    assert!(verdict.schema.is_empty(), "{verdict}");
    verdict.strict.iter().map(|error| (error.pointer.to_string(), error.code.as_str())).collect()
}

fn one(path: &str, code: &'static str) -> Vec<(String, &'static str)> {
    vec![(path.to_owned(), code)]
}

/// A document with a history of `mutations` and `checkpoints` that claims `count` mutations.
fn with_history(mutations: usize, count: usize, checkpoints: usize) -> Value {
    let entry = |index: usize| {
        let id = format!("mut-{index:08x}");
        let update = r#""operation":"update","variable_name":"x_y","old_value":0,"new_value":1"#;
        json(&format!(r#"{{"mutation_id":"{id}",{update},"timestamp":"2026-02-09T10:00:00Z"}}"#))
    };
    let checkpoint = |index: usize| {
        let id = format!("ckpt-{index:08x}");
        json(&format!(r#"{{"checkpoint_id":"{id}","name":"c{index}","timestamp":"2026-02-09T10:00:00Z"}}"#))
    };
    let history = Object::new()
        .with("mutations", (0..mutations).map(entry).collect::<Value>())
        .with("checkpoints", (0..checkpoints).map(checkpoint).collect::<Value>());
    let metadata = Object::new().with("mutation_count", count);
    let minimal = json(r#"{"version":"1.0.0","state_id":"state-00000001","variables":{}}"#);
    minimal.as_object().unwrap().with("history", history).with("metadata", metadata).into()
}

#[test]
fn lists_are_limited_and_only_a_full_window_may_be_shorter_than_its_count() {
    assert_eq!(codes(&with_history(HISTORY_ENTRIES_MAX, HISTORY_ENTRIES_MAX, CHECKPOINTS_MAX)), []);
    assert_eq!(codes(&with_history(HISTORY_ENTRIES_MAX, HISTORY_ENTRIES_MAX + 1, 0)), []);
    let below = with_history(HISTORY_ENTRIES_MAX, HISTORY_ENTRIES_MAX - 1, 0);
    assert_eq!(codes(&below), one("/metadata/mutation_count", "count_mismatch"));
    let short = with_history(HISTORY_ENTRIES_MAX - 1, HISTORY_ENTRIES_MAX, 0);
    assert_eq!(codes(&short), one("/metadata/mutation_count", "count_mismatch"));
    let long = with_history(HISTORY_ENTRIES_MAX + 1, HISTORY_ENTRIES_MAX + 1, 0);
    assert_eq!(codes(&long), one("/history/mutations", "limit_history"));
    let many = with_history(0, 0, CHECKPOINTS_MAX + 1);
    assert_eq!(codes(&many), one("/history/checkpoints", "limit_checkpoints"));
}

#[test]
fn a_document_holds_a_thousand_variables() {
    let with = |count: usize| {
        let member = |index: usize| {
            let name = format!("v_{index}");
            let variable = json(&format!(r#"{{"name":"{name}","value":1,"type":"number"}}"#));
            (name, variable)
        };
        let variables: Object = (0..count).map(member).collect();
        let head = json(r#"{"version":"1.0.0","state_id":"state-00000001"}"#);
        Value::from(head.as_object().unwrap().with("variables", variables))
    };
    assert_eq!(codes(&with(VARIABLES_MAX)), []);
    assert_eq!(codes(&with(VARIABLES_MAX + 1)), one("/variables", "limit_variables"));
}

#[test]
fn every_contradiction_is_reported_at_once() {
    let document = json(
        r#"{"version":"1.0.0","state_id":"state-00000001","tree_id":null,"variables":{
            "Final":{"name":"Final","value":"x","type":"text","metadata":{"scope":"tree"}},
            "prompt":{"name":"prompt","value":"p","type":"text","metadata":{"read_only":false}},
            "a_b":{"name":"b_a","value":1,"type":"text","created_at":"2026-01-02T00:00:00Z","updated_at":"2026-01-01T00:00:00Z",
                   "metadata":{"ttl_seconds":1}},
            "c_d":{"name":"c_d","value":"file:/etc/passwd","type":"file_path"},
            "e_f":{"name":"e_f","value":"file:.aiwg/rlm/x","type":"file_path","metadata":{"spilled":true}}},
        "history":{"mutations":[
            {"mutation_id":"mut-00000001","operation":"rename","variable_name":"no name","new_value":7,"timestamp":"2026-01-02T00:00:00Z"},
            {"mutation_id":"mut-00000001","operation":"delete","variable_name":"a_b","timestamp":"2026-01-01T00:00:00Z"}],
          "checkpoints":[{"checkpoint_id":"ckpt-00000001","name":"c","timestamp":"2026-01-01T00:00:00Z","snapshot_path":"/x"},
            {"checkpoint_id":"ckpt-00000001","name":"c","timestamp":"2026-01-01T00:00:00Z"}]},
        "metadata":{"variable_count":4,"mutation_count":3,"checkpoint_count":1,"completion_status":"cancelled"}}"#,
    );
    let expected = [
        ("/variables/Final/metadata/scope", "scope_unavailable"),
        ("/variables/Final/metadata/scope", "special_variable"),
        ("/variables/prompt/metadata/read_only", "prompt_writable"),
        ("/variables/a_b/name", "key_name_mismatch"),
        ("/variables/a_b/value", "type_mismatch"),
        ("/variables/a_b/updated_at", "time_order"),
        ("/variables/a_b/metadata/ttl_seconds", "ttl_scope"),
        ("/variables/c_d/value", "invalid_path"),
        ("/variables/e_f/metadata/logical_type", "invalid_spill"),
        ("/history/mutations/0", "missing_old_value"),
        ("/history/mutations/0/variable_name", "invalid_name"),
        ("/history/mutations/0/new_value", "invalid_name"),
        ("/history/mutations/1/mutation_id", "duplicate_id"),
        ("/history/mutations/1/timestamp", "time_order"),
        ("/history/mutations/1", "missing_old_value"),
        ("/history/checkpoints/0/snapshot_path", "invalid_path"),
        ("/history/checkpoints/1/checkpoint_id", "duplicate_id"),
        ("/history/checkpoints/1/name", "duplicate_checkpoint"),
        ("/metadata/variable_count", "count_mismatch"),
        ("/metadata/mutation_count", "count_mismatch"),
        ("/metadata/checkpoint_count", "count_mismatch"),
        ("/metadata/completion_status", "status_mismatch"),
    ];
    let found = codes(&document);
    let found: Vec<(&str, &str)> = found.iter().map(|(path, code)| (path.as_str(), *code)).collect();
    assert_eq!(found, expected);
}

#[test]
fn unknown_members_survive_being_taken_in_and_given_out() {
    let text = r#"{"version":"1.2.3","state_id":"state-00000009","x":1,
        "variables":{"a_b":{"name":"a_b","value":1,"type":"number","tags":["t"],"metadata":{"unit":"kg"}}},
        "history":{"y":2,"mutations":[{"mutation_id":"mut-0000000f","operation":"create","variable_name":"a_b","new_value":1,
            "timestamp":"2026-02-09T09:00:00Z","z":3,"metadata":{"reason":"r","w":4}}]},
        "metadata":{"owner":"me"}}"#;
    let mut world = World::new();
    let document = Document::from_value(&json(text)).unwrap();
    world.call(&Call::Import(Box::new(Import { document, snapshots: BTreeMap::new() }))).unwrap();
    let id = StateId::from_number(9);
    let given = export(world.workspace.state_view(id).unwrap());
    let at = |pointer: &str| given.pointer(&pointer.parse().unwrap()).cloned();
    assert_eq!(at("/version"), Some("1.2.3".into()));
    assert_eq!(at("/x"), Some(1.into()));
    assert_eq!(at("/variables/a_b/tags/0"), Some("t".into()));
    assert_eq!(at("/variables/a_b/metadata/unit"), Some("kg".into()));
    assert_eq!(at("/history/y"), Some(2.into()));
    assert_eq!(at("/history/mutations/0/z"), Some(3.into()));
    assert_eq!(at("/history/mutations/0/metadata/w"), Some(4.into()));
    assert_eq!(at("/metadata/owner"), Some("me".into()));
    // The next mutation's id stays clear of the ids the document came with.
    world.on(id, Op::Set(Set::new("c_d", 1))).unwrap();
    let log: Vec<String> =
        world.workspace.state(id).unwrap().log().map(|entry| entry.id.to_string()).collect();
    assert_eq!(log, ["mut-0000000f", "mut-00000010"]);
}

#[test]
fn a_state_written_as_files_comes_back_with_its_checkpoints() {
    let mut world = World::with_state();
    world.set("body", "b".repeat(20_000)).unwrap();
    world.set_in(A, "temporary", "scratch", 1).unwrap();
    world.checkpoint("here").unwrap();
    world.set("body", "small").unwrap();
    world.set("later", 1).unwrap();
    let view = world.workspace.state_view(A).unwrap();
    let files: BTreeMap<String, Value> =
        view_files(view).into_iter().map(|file| (file.path.to_string(), file.content)).collect();
    let document = files.get(state_file(A, STATE_FILE).as_str()).unwrap();
    let document = Document::from_value(document).unwrap();
    let snapshot = |checkpoint: &hence_variables::Checkpoint| {
        let path = checkpoint.snapshot_path.as_ref().unwrap();
        (checkpoint.id, Document::from_value(files.get(path.as_str()).unwrap()).unwrap())
    };
    let snapshots: BTreeMap<CheckpointId, Document> = document.checkpoints.iter().map(snapshot).collect();
    assert_eq!(snapshots.len(), 2);

    let mut other = World::new();
    other.files = world.files.clone();
    other.call(&Call::Import(Box::new(Import { document, snapshots }))).unwrap();
    let (old, new) = (world.workspace.state_view(A).unwrap(), other.workspace.state_view(A).unwrap());
    assert_eq!(export(old), export(new));
    assert!(diff(&old.visible_at("here").unwrap(), &new.visible_at("here").unwrap()).is_empty());
    assert_eq!(other.rollback("here").unwrap(), ["body", "later"]);
    assert_eq!(other.get("body").unwrap(), Value::from("b".repeat(20_000)));
    assert!(files.contains_key(".aiwg/rlm/temp/state-00000001/state.json"));
    assert_eq!(state_file(A, HISTORY_FILE).as_str(), ".aiwg/rlm/states/state-00000001/history.jsonl");
    let lines: Vec<Value> =
        world.events.iter().flat_map(|event| event.mutations()).map(|entry| history_entry(&entry)).collect();
    assert_eq!(lines.len() as u64, world.state().mutation_count());
}

#[test]
fn a_document_is_not_taken_in_over_a_state_a_shared_variable_or_the_clock() {
    let import = |json_text: &str| {
        let document = Document::from_value(&json(json_text)).unwrap();
        Call::Import(Box::new(Import { document, snapshots: BTreeMap::new() }))
    };
    let mut world = World::with_state();
    let same_id = r#"{"version":"1.0.0","state_id":"state-00000001","variables":{}}"#;
    assert_eq!(code(world.call(&import(same_id))), "already_exists");
    world.set_in(A, "global", "rate", 1).unwrap();
    let shared = |value: i64| {
        format!(
            r#"{{"version":"1.0.0","state_id":"state-00000002","variables":{{"rate":
            {{"name":"rate","value":{value},"type":"number","metadata":{{"scope":"global"}}}}}}}}"#
        )
    };
    assert_eq!(code(world.call(&import(&shared(2)))), "already_exists");
    world.call(&import(&shared(1))).unwrap();
    let ahead = r#"{"version":"1.0.0","state_id":"state-00000003","variables":{},"metadata":{"last_updated_at":"2027-01-01T00:00:00Z"}}"#;
    assert_eq!(code(world.call(&import(ahead))), "invalid_argument");
    let folder = r#"{"version":"1.0.0","state_id":"state-00000003","session_id":"../x","variables":{}}"#;
    assert_eq!(code(world.call(&import(folder))), "invalid_id");
}

#[test]
fn a_checkpoint_without_its_snapshot_cannot_be_returned_to() {
    let text = r#"{"version":"1.0.0","state_id":"state-00000001","variables":{},"history":{"checkpoints":[
        {"checkpoint_id":"ckpt-00000007","name":"c","timestamp":"2026-02-09T09:00:00Z"}]}}"#;
    let mut world = World::new();
    let document = Document::from_value(&json(text)).unwrap();
    world.call(&Call::Import(Box::new(Import { document, snapshots: BTreeMap::new() }))).unwrap();
    assert_eq!(code(world.rollback("c")), "file_missing");
    world.checkpoint("d").unwrap();
    assert_eq!(world.state().checkpoints().last().unwrap().id.to_string(), "ckpt-00000008");
    world.rollback("d").unwrap();
}

#[test]
fn an_imported_time_to_live_without_a_beginning_begins_when_taken_in() {
    let text = r#"{"version":"1.0.0","state_id":"state-00000001","variables":{"tmp_x":
        {"name":"tmp_x","value":1,"type":"number","metadata":{"scope":"temporary","ttl_seconds":5}}}}"#;
    let document = Document::from_value(&json(text)).unwrap();
    let mut world = World::new();
    world.call(&Call::Import(Box::new(Import { document, snapshots: BTreeMap::new() }))).unwrap();
    world.advance_seconds(4);
    world.get("tmp_x").unwrap();
    world.advance_seconds(1);
    assert_eq!(code(world.get("tmp_x")), "not_found");
}

#[test]
fn a_state_born_beside_shared_variables_remembers_them_in_its_first_checkpoint() {
    let mut world = World::with_state();
    world.set_in(A, "global", "rate", 1).unwrap();
    let other = world.init(Init::with_prompt("second")).unwrap();
    let seen = world.workspace.state_view(other).unwrap().visible_at("initial_state").unwrap();
    assert_eq!(seen.len(), 3);
}

#[test]
fn what_the_rules_allow_and_no_counter_can_hold_is_refused_with_its_place() {
    let text = r#"{"version":"1.0.0","state_id":"state-00000001","variables":{
        "a_b":{"name":"a_b","value":1,"type":"number","access_count":1000000000000000000000}}}"#;
    assert!(Verdict::of(&json(text)).is_valid());
    let verdict = Document::from_value(&json(text)).unwrap_err();
    assert_eq!(verdict.unrepresentable.unwrap().pointer.to_string(), "/variables/a_b/access_count");
}

#[test]
fn a_count_as_large_as_counts_get_is_taken_in_and_leaves_no_room() {
    let full = with_history(HISTORY_ENTRIES_MAX, 0, 0);
    let metadata = Object::new().with("mutation_count", u64::MAX);
    let full = Value::from(full.as_object().unwrap().with("metadata", metadata));
    let mut world = World::new();
    let document = Document::from_value(&full).unwrap();
    world.call(&Call::Import(Box::new(Import { document, snapshots: BTreeMap::new() }))).unwrap();
    assert_eq!(world.state().mutation_count(), u64::MAX);
    assert_eq!(code(world.set("one_more", 1)), "limit_history");
}

#[test]
fn claimed_sizes_may_be_absurd_without_harm() {
    let variable = |name: &str| {
        let spill = format!(
            r#""spilled":true,"logical_type":"text","size_bytes":{},"sha256":"{}""#,
            u64::MAX,
            "0".repeat(64)
        );
        format!(
            r#""{name}":{{"name":"{name}","value":"file:.aiwg/rlm/x","type":"file_path","metadata":{{{spill}}}}}"#
        )
    };
    let variables = format!("{},{}", variable("a_b"), variable("c_d"));
    let text = format!(r#"{{"version":"1.0.0","state_id":"state-00000001","variables":{{{variables}}}}}"#);
    let mut world = World::new();
    let document = Document::from_value(&json(&text)).unwrap();
    world.call(&Call::Import(Box::new(Import { document, snapshots: BTreeMap::new() }))).unwrap();
    let given = export(world.workspace.state_view(A).unwrap());
    assert_eq!(given.pointer(&"/metadata/total_size_bytes".parse().unwrap()), Some(&Value::from(u64::MAX)));
    assert_eq!(code(world.get("a_b")), "file_missing");
}
