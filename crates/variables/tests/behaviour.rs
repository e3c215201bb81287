//! Behaviour that crosses several rules.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod world;

use hence_canon::Value;
use hence_variables::{
    Call, Decision, Event, Init, Name, NoFiles, Op, Reply, Set, Status, apply, decide, diff,
};
use world::{A, B, World, code, fold};

fn tree_of_two() -> World {
    let mut world = World::new();
    let tree = Init {
        tree_id: Some("tree-00000001".into()),
        session_id: Some("s1".into()),
        ..Init::with_prompt("root")
    };
    world.init(tree).unwrap();
    world.spawn(A).unwrap();
    world
}

#[test]
fn rollback_appends_to_the_log_and_never_shortens_it() {
    let mut world = World::with_state();
    world.set("kept", 1).unwrap();
    world.checkpoint("here").unwrap();
    world.set("kept", 2).unwrap();
    world.set("added", 1).unwrap();
    let before: Vec<_> = world.state().log().cloned().collect();
    assert_eq!(world.rollback("here").unwrap(), ["added", "kept"]);
    let after: Vec<_> = world.state().log().cloned().collect();
    assert!(after.starts_with(&before));
    assert_eq!(after.len(), before.len() + 2);
    assert!(after[before.len()..].iter().all(|entry| entry.source.as_deref() == Some("rollback")));
}

#[test]
fn a_rollback_that_changes_nothing_is_still_recorded() {
    let mut world = World::with_state();
    let events = world.events.len();
    assert!(world.rollback("initial_state").unwrap().is_empty());
    assert_eq!(world.events.len(), events + 1);
    assert_eq!(world.state().mutation_count(), 1);
}

#[test]
fn rollback_conflicts_when_another_state_wrote_the_same_variable_in_either_order() {
    for mine_first in [true, false] {
        let mut world = tree_of_two();
        world.set_in(A, "tree", "shared", 1).unwrap();
        world.checkpoint("here").unwrap();
        let order = if mine_first { [A, B] } else { [B, A] };
        for writer in order {
            world.set_in(writer, "tree", "shared", 2).unwrap();
        }
        assert_eq!(code(world.rollback("here")), "rollback_conflict", "mine first: {mine_first}");
    }
}

#[test]
fn rollback_leaves_alone_what_only_others_changed() {
    let mut world = tree_of_two();
    world.set_in(A, "tree", "theirs", 1).unwrap();
    world.set_in(A, "global", "mine", 1).unwrap();
    world.checkpoint("here").unwrap();
    world.set_in(B, "tree", "theirs", 2).unwrap();
    world.set_in(A, "global", "mine", 2).unwrap();
    assert_eq!(world.rollback("here").unwrap(), ["mine"]);
    assert_eq!(world.get("theirs").unwrap(), Value::from(2));
}

#[test]
fn two_writers_with_the_same_token_cannot_both_win() {
    let mut world = World::with_state();
    let guarded = |value: i64| {
        let set = Set { if_mutation_count: Some(1), ..Set::new("counter", value) };
        Call::On { state: A, op: Op::Set(set) }
    };
    world.call(&guarded(1)).unwrap();
    assert_eq!(code(world.call(&guarded(2))), "conflict");
    assert_eq!(world.get("counter").unwrap(), Value::from(1));
}

#[test]
fn an_event_decided_against_an_older_workspace_does_not_apply() {
    let mut world = World::with_state();
    let decided = |world: &World, name: &str| {
        let call = Call::On { state: A, op: Op::Set(Set::new(name, 1)) };
        match decide(&world.workspace, &call, world.now, &NoFiles) {
            Ok(Decision::Accept(accepted)) => accepted.event.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let (first, second) = (decided(&world, "one"), decided(&world, "two"));
    apply(&mut world.workspace, &first).unwrap();
    let before = world.workspace.clone();
    let error = apply(&mut world.workspace, &second).unwrap_err();
    assert_eq!(error.reason, "expected mutation number 3, found mut-00000002");
    assert_eq!(world.workspace, before);
}

#[test]
fn completion_is_signalled_once_and_not_by_rollback() {
    let mut world = World::with_state();
    world.set("Final", Value::Null).unwrap();
    world.set("Final", false).unwrap();
    world.checkpoint("done").unwrap();
    world.rollback("initial_state").unwrap();
    world.rollback("done").unwrap();
    assert_eq!(world.state().status(), Status::Complete);
    let signals: Vec<bool> = world.events.iter().map(Event::completes).collect();
    assert_eq!(signals, [false, false, true, false, false, false]);
}

#[test]
fn expiry_is_an_event_of_its_own_even_when_the_operation_is_refused() {
    let mut world = World::with_state();
    let fleeting =
        Set { scope: Some("temporary".into()), ttl_seconds: Some(5.into()), ..Set::new("fleeting", 1) };
    world.on(A, Op::Set(fleeting)).unwrap();
    world.advance_seconds(5);
    assert_eq!(code(world.get("fleeting")), "not_found");
    assert_eq!(world.events.last().unwrap().action.as_str(), "expire");
    assert_eq!(world.state().mutation_count(), 3);
}

#[test]
fn the_clock_of_a_state_does_not_go_back() {
    let mut world = World::with_state();
    let earlier = "2026-02-09T09:59:59Z".parse().unwrap();
    let call = Call::On { state: A, op: Op::Status };
    let refusal = decide(&world.workspace, &call, earlier, &NoFiles).unwrap_err();
    assert_eq!((refusal.code(), refusal.rule()), ("invalid_argument", "TTL-8"));
    world.set("still", 1).unwrap();
}

#[test]
fn a_child_hands_its_final_to_its_parent_and_only_to_it() {
    let mut world = tree_of_two();
    assert_eq!(code(world.on(A, Op::ChildResult { child: B })), "child_incomplete");
    assert_eq!(code(world.set("Final", "early")), "children_incomplete");
    let big = "r".repeat(20_000);
    world.on(B, Op::Set(Set::final_answer(big.as_str()))).unwrap();
    let Reply::Value { value, .. } = world.on(A, Op::ChildResult { child: B }).unwrap() else { panic!() };
    assert_eq!(value, Value::from(big));
    assert_eq!(world.workspace.state(B).unwrap().final_answer().access_count, 0);
    assert_eq!(code(world.on(B, Op::ChildResult { child: A })), "not_found");
    world.set("Final", "all").unwrap();
    assert_eq!(world.on(B, Op::TreeStatus).unwrap(), Reply::Tree { complete: true });
    let tree = world.workspace.task_tree(B).unwrap();
    assert_eq!((tree.state, tree.count(), tree.children[0].depth), (A, 2, 1));
}

#[test]
fn a_reopened_parent_cannot_return_to_complete_while_a_new_child_works() {
    let mut world = World::new();
    let tree = Init { tree_id: Some("tree-00000001".into()), ..Init::with_prompt("root") };
    world.init(tree).unwrap();
    world.set("Final", "done").unwrap();
    world.checkpoint("done").unwrap();
    world.rollback("initial_state").unwrap();
    world.spawn(A).unwrap();
    assert_eq!(code(world.rollback("done")), "children_incomplete");
}

#[test]
fn an_altered_or_missing_large_value_is_refused_and_a_new_write_repairs_it() {
    let mut world = World::with_state();
    let body = "b".repeat(20_000);
    world.set("body", body.as_str()).unwrap();
    let path = world.files.0.keys().next().unwrap().clone();
    world.files.0.insert(path.clone(), b"x".as_slice().into());
    assert_eq!(code(world.get("body")), "file_corrupt");
    world.files.0.remove(&path);
    assert_eq!(code(world.get("body")), "file_missing");
    world.set("body", body.as_str()).unwrap();
    assert_eq!(world.get("body").unwrap(), Value::from(body));
}

#[test]
fn a_difference_names_what_was_added_changed_and_removed_between_two_positions() {
    let mut world = World::with_state();
    world.set("changed", 1).unwrap();
    world.set("removed", 1).unwrap();
    world.set("same", 1).unwrap();
    world.checkpoint("before").unwrap();
    world.set("changed", 2).unwrap();
    world.delete("removed").unwrap();
    world.set("added", 1).unwrap();
    world.get("same").unwrap();
    let view = world.workspace.state_view(A).unwrap();
    let differences = diff(&view.visible_at("before").unwrap(), &view.visible());
    let names: Vec<&Name> = differences.iter().map(|difference| &difference.name).collect();
    assert_eq!(format!("{names:?}"), r#"["added", "changed", "removed"]"#);
    assert!(differences[0].before.is_none() && differences[2].after.is_none());
}

#[test]
fn reading_is_an_event_so_that_counts_survive_a_reload() {
    let mut world = World::with_state();
    world.get("prompt").unwrap();
    assert!(world.events.last().unwrap().is_read());
    let folded = fold(&world.events);
    assert_eq!(folded.state(A).unwrap().prompt().unwrap().access_count, 1);
}
