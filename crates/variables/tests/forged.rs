//! Forged events: each is well formed, and none follows from the events before it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod world;

use hence_canon::{Value, parse};
use hence_variables::document::{Document, Verdict, export_as};
use hence_variables::{
    Action, Call, Change, Event, Import, Init, Op, Place, RunOrigin, Scope, Set, Spill, StateId, Status,
    Stored, TreeId, Workspace, apply,
};
use world::{A, World, fold};

/// A journal with a read-only variable, a temporary one, two checkpoints, a rollback and a large value.
fn journal() -> World {
    let mut world = World::with_state();
    world.set("counter", 1).unwrap();
    world.on(A, Op::Set(Set { read_only: Some(true), ..Set::new("limit", 5) })).unwrap();
    world.checkpoint("first").unwrap();
    world.advance_seconds(1);
    world.set("counter", 2).unwrap();
    let temporary =
        Set { scope: Some("temporary".into()), ttl_seconds: Some(3600.into()), ..Set::new("draft", "x") };
    world.on(A, Op::Set(temporary)).unwrap();
    world.get("counter").unwrap();
    world.checkpoint("second").unwrap();
    world.set("counter", 3).unwrap();
    world.rollback("second").unwrap();
    world.set("large", "a".repeat(20_000)).unwrap();
    world.delete("counter").unwrap();
    world.set("Final", "done").unwrap();
    world
}

/// Returns the position of the `nth` event of an action.
fn position(world: &World, action: Action, nth: usize) -> usize {
    let found = world.events.iter().enumerate().filter(|(_, event)| event.action == action);
    found.map(|(index, _)| index).nth(nth).unwrap()
}

/// Applies `event` after the first `before` events, and returns the reason why it does not follow.
fn refused_after(world: &World, before: usize, event: &Event) -> String {
    let mut workspace = fold(world.events.get(..before).unwrap());
    let unchanged = workspace.clone();
    let error = apply(&mut workspace, event).unwrap_err();
    assert_eq!(workspace, unchanged);
    error.reason
}

/// Replaces a part of the text of an event, and returns the reason why the result does not follow.
fn forged(world: &World, at: usize, from: &str, to: &str) -> String {
    let text = world.events.get(at).unwrap().to_value().to_string();
    let forged = text.replace(from, to);
    assert_ne!(text, forged, "{text}");
    match Event::from_value(&parse(forged.as_bytes()).unwrap()) {
        Ok(event) => refused_after(world, at, &event),
        Err(finding) => finding.to_string(),
    }
}

fn assert_names(found: &str, expected: &str) {
    assert!(found.contains(expected), "expected {expected:?} in {found:?}");
}

#[test]
fn what_was_recorded_honestly_follows() {
    let world = journal();
    assert_eq!(fold(&world.events), world.workspace);
    for event in &world.events {
        assert_eq!(Event::from_value(&event.to_value()).unwrap(), *event);
    }
}

#[test]
fn a_task_that_has_ended_takes_no_write_and_no_second_final() {
    let world = journal();
    let mut late = world.events[position(&world, Action::Set, 0)].clone();
    let last = world.events.last().unwrap();
    late.at = last.at;
    let Some(Change::Write { entry, place, variable, .. }) = late.changes.first_mut() else { panic!() };
    let number = world.state().mutation_count() as u32 + 1;
    entry.id = hence_variables::MutationId::from_number(number);
    entry.timestamp = last.at;
    let revision = world.workspace.state_view(A).unwrap().revision(Scope::Session) + 1;
    *place = Place::Layer { scope: Scope::Session, revision };
    (variable.created_at, variable.updated_at) = (Some(last.at), Some(last.at));
    assert_names(&refused_after(&world, world.events.len(), &late), "SEAL-1");

    let mut second = last.clone();
    let Some(Change::Write { entry, old_value, .. }) = second.changes.first_mut() else { panic!() };
    entry.id = hence_variables::MutationId::from_number(number);
    *old_value = Some("done".into());
    second.changes.truncate(1);
    assert_names(&refused_after(&world, world.events.len(), &second), "SEAL-1");
}

#[test]
fn a_read_only_variable_is_not_written() {
    let world = journal();
    let at = position(&world, Action::Set, 2);
    let text = world.events[at].to_value().to_string();
    let text = text.replace("\"counter\"", "\"limit\"").replace("\"old_value\":1", "\"old_value\":5");
    let event = Event::from_value(&parse(text.as_bytes()).unwrap()).unwrap();
    assert_names(&refused_after(&world, at, &event), "RO-1");
}

#[test]
fn a_rollback_restores_what_its_checkpoint_has_and_names_it() {
    let world = journal();
    let at = position(&world, Action::Rollback, 0);
    assert_names(
        &forged(&world, at, "\"value\":2", "\"value\":999"),
        "expected 2 at `/changes/1/variable/value`",
    );
    assert_names(
        &forged(&world, at, "ckpt-00000003", "ckpt-00000009"),
        "there is no checkpoint ckpt-00000009",
    );
    assert_names(&forged(&world, at, "ckpt-00000003", "ckpt-00000002"), "expected ");
    let mut unnamed = world.events[at].clone();
    unnamed.changes.remove(0);
    assert_names(&refused_after(&world, at, &unnamed), "not those of the action rollback");
    let mut idle = world.events[at].clone();
    idle.changes.truncate(1);
    assert_names(&refused_after(&world, at, &idle), "found nothing");
}

#[test]
fn a_variable_does_not_expire_before_its_time_and_not_silently() {
    let mut world = journal();
    let early = Event { action: Action::Expire, ..world.events[position(&world, Action::Delete, 0)].clone() };
    let at = position(&world, Action::Delete, 0);
    assert_names(&refused_after(&world, at, &early), "no variable is past its time to live");
    let before = world.events.len();
    world.advance_seconds(7200);
    world.get("limit").unwrap();
    let expiry = world.events[before].clone();
    assert_eq!(expiry.action, Action::Expire);
    let read = world.events[before + 1].clone();
    assert_names(&refused_after(&world, before, &read), "past its time to live");
    assert_names(&forged(&world, before, "\"source\":\"ttl\"", "\"source\":\"me\""), "expected \"ttl\"");
}

#[test]
fn a_session_variable_has_no_time_to_live() {
    let world = journal();
    let at = position(&world, Action::Set, 0);
    let found =
        forged(&world, at, "\"name\":\"counter\"", "\"metadata\":{\"ttl_seconds\":1},\"name\":\"counter\"");
    assert_names(&found, "TTL-5");
}

#[test]
fn the_names_of_checkpoints_differ() {
    let world = journal();
    let at = position(&world, Action::Checkpoint, 0);
    assert_names(&forged(&world, at, "\"first\"", "\"initial_state\""), "CK-2");
    assert_names(&forged(&world, at, "\"first\"", "\"\""), "CK-3");
}

#[test]
fn an_action_makes_its_own_changes_and_at_least_one() {
    let world = journal();
    for (action, shown_as) in [
        (Action::Set, Action::Get),
        (Action::Get, Action::Set),
        (Action::Delete, Action::Set),
        (Action::Delete, Action::Expire),
        (Action::Checkpoint, Action::Fail),
    ] {
        let at = position(&world, action, 0);
        let event = Event { action: shown_as, ..world.events[at].clone() };
        refused_after(&world, at, &event);
    }
    for action in Action::WORDS {
        let event = Event { action: action.parse().unwrap(), changes: Vec::new(), ..world.events[1].clone() };
        assert_names(&refused_after(&world, 1, &event), "not those of the action");
    }
}

#[test]
fn what_a_write_does_not_mention_stays_as_it_was() {
    let world = journal();
    let at = position(&world, Action::Set, 2);
    let born = "\"created_at\":\"2026-02-09T10:00:00Z\"";
    let found = forged(&world, at, born, "\"created_at\":\"2026-02-09T09:00:00Z\"");
    assert_names(&found, "at `/changes/0/variable/created_at`");
    let found = forged(&world, at, "\"access_count\":0", "\"access_count\":41");
    assert_names(&found, "expected 0 at `/changes/0/variable/access_count`");
    let found = forged(&world, at, "\"access_count\":0", "\"access_count\":0,\"added\":1");
    assert_names(&found, "/changes/0/variable/added");
    let found = forged(&world, at, "\"change\":\"write\"", "\"change\":\"write\",\"added\":1");
    assert_names(&found, "expected nothing at `/changes/0/added`");
    let last = world.events.len() - 1;
    let mut open = world.events[last].clone();
    open.changes.truncate(1);
    assert_names(&refused_after(&world, last, &open), "at `/changes/1`");
}

#[test]
fn a_large_value_is_in_a_file_and_its_reference_agrees_with_itself() {
    let world = journal();
    let at = position(&world, Action::Set, 5);
    let Some(Change::Write { variable, .. }) = world.events[at].changes.first() else { panic!() };
    let Stored::Spilled(spill) = &variable.stored else { panic!("{variable:?}") };
    let with = |stored: Stored| {
        let mut event = world.events[at].clone();
        let Some(Change::Write { variable, .. }) = event.changes.first_mut() else { panic!() };
        variable.stored = stored;
        refused_after(&world, at, &event)
    };
    let text = Value::from("a".repeat(20_000));
    let inline = Stored::Inline { value_type: hence_variables::ValueType::Text, value: text };
    assert_names(&with(inline), "at `/changes/0/variable/");
    assert_names(&with(Stored::Reference(spill.path.clone())), "FILE-2");
    let digest = spill.sha256.to_string();
    assert_names(
        &forged(&world, at, &format!("{digest}.txt"), &format!("{}.txt", "0".repeat(64))),
        "expected the large value at",
    );
    let spilled = |spill: Spill| with(Stored::Spilled(spill));
    assert_names(&spilled(Spill { size_bytes: 3, ..spill.clone() }), "a value of 3 bytes");
    let json = hence_variables::ValueType::Json;
    assert_names(&spilled(Spill { logical_type: json, ..spill.clone() }), ".json");
    let bytes = world.files.0.get(&spill.path).unwrap();
    spill.check(bytes).unwrap();
    for wrong in [
        Spill { size_bytes: 20_001, ..spill.clone() },
        Spill { logical_type: json, ..spill.clone() },
        Spill { sha256: hence_canon::Digest::of(b"x"), ..spill.clone() },
    ] {
        wrong.check(bytes).unwrap_err();
    }
}

#[test]
fn a_file_of_another_program_is_not_a_large_value() {
    let mut world = journal();
    world.init(Init::with_prompt("another")).unwrap();
    let path = world.files.0.keys().next().unwrap().to_reference();
    let set = Set { value_type: Some("file_path".into()), ..Set::new("borrowed", path.as_str()) };
    let refusal = world.on(StateId::from_number(2), Op::Set(set)).unwrap_err();
    assert_eq!((refusal.code(), refusal.rule()), ("invalid_path", "FILE-2"));
}

#[test]
fn another_prompt_breaks_and_other_ids_are_named() {
    let mut world = World::new();
    let (state, tree) = (StateId::of_run("audit", &Workspace::new()), TreeId::of_run("audit", 0));
    let init = |state: String, tree: String| Init {
        state_id: Some(state.into()),
        tree_id: Some(tree.into()),
        ..Init::with_prompt("task")
    };
    world.init(init(state.to_string(), tree.to_string())).unwrap();
    let event = &world.events[0];
    assert_eq!(RunOrigin::new("audit", Some("task")).check(event), Ok(Vec::new()));
    assert_eq!(RunOrigin::new("fork", Some("task")).forked_from("audit").check(event), Ok(Vec::new()));
    for prompt in [Some("another task"), None] {
        let found = RunOrigin::new("audit", prompt).check(event).unwrap_err();
        assert_names(&found, "another prompt");
    }
    let found = RunOrigin::new("other", Some("task")).check(event).unwrap();
    assert_eq!(found, [state.to_string(), tree.to_string()]);

    let mut world = World::new();
    let long = "a".repeat(20_000);
    world.init(Init::with_prompt(long.as_str())).unwrap();
    assert!(RunOrigin::new("audit", Some(&long)).check(&world.events[0]).is_ok());
    assert!(RunOrigin::new("audit", Some("a")).check(&world.events[0]).is_err());
}

#[test]
fn a_task_that_its_run_ended_stays_ended_when_its_document_is_imported() {
    for status in [Status::Complete, Status::Error] {
        let mut world = World::with_state();
        world.set("counter", 1).unwrap();
        let document = export_as(world.workspace.state_view(A).unwrap(), status);
        assert!(Verdict::of(&document).is_valid(), "{}", Verdict::of(&document));
        let import =
            Import { document: Document::from_value(&document).unwrap(), snapshots: Default::default() };
        let mut other = World::new();
        other.call(&Call::Import(Box::new(import))).unwrap();
        assert_eq!(other.state().status(), status);
        assert_eq!(world::code(other.set("counter", 2)), "state_sealed");
        let again = export_as(other.workspace.state_view(A).unwrap(), status);
        assert!(Verdict::of(&again).is_valid(), "{}", Verdict::of(&again));
    }
}

#[test]
fn a_journal_of_an_earlier_version_still_follows() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/store-1/runs/variables/trace.ndjson");
    let journal = std::fs::read_to_string(path).unwrap();
    let mut workspace = Workspace::new();
    let mut applied = 0;
    for line in journal.lines() {
        let record = parse(line.as_bytes()).unwrap();
        let Some(output) = record.get("result").and_then(|result| result.get("output")) else { continue };
        if output.get("changes").is_some() {
            apply(&mut workspace, &Event::from_value(output).unwrap()).unwrap();
            applied += 1;
        }
    }
    assert!(applied > 0);
}
