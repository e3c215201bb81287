//! Every limit, at the limit and one past it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod world;

use hence_canon::Value;
use hence_variables::document::{Document, export};
use hence_variables::limits::*;
use hence_variables::{Call, Import, Init, Name, Op, Reply, Set, StateId, Stored};
use world::{A, World, code};

#[test]
fn a_state_sees_a_thousand_variables_and_still_updates_renames_and_finishes() {
    let mut world = World::with_state();
    for index in 2..VARIABLES_MAX {
        world.set(&format!("item_{index}_v"), 1).unwrap();
    }
    assert_eq!(code(world.set("one_more", 1)), "limit_variables");
    world.set("item_5_v", 2).unwrap();
    world.rename("item_5_v", "renamed_v").unwrap();
    world.delete("renamed_v").unwrap();
    world.set("one_more", 1).unwrap();
    world.set("Final", "done").unwrap();
    let document = export(world.workspace.state_view(A).unwrap());
    assert_eq!(document.get("variables").unwrap().as_object().unwrap().len(), VARIABLES_MAX);
}

#[test]
fn a_name_may_have_128_characters() {
    let mut world = World::with_state();
    world.set(&"a".repeat(NAME_BYTES_MAX), 1).unwrap();
    assert_eq!(code(world.set(&"a".repeat(NAME_BYTES_MAX + 1), 1)), "name_too_long");
    assert_eq!(code(world.set(&"-".repeat(NAME_BYTES_MAX + 1), 1)), "invalid_name");
}

#[test]
fn a_value_of_10240_bytes_stays_and_a_larger_one_moves_to_a_file() {
    let mut world = World::with_state();
    let spilled = |world: &World, name: &str| {
        let name: Name = name.parse().unwrap();
        matches!(
            world.workspace.state_view(A).unwrap().find(&name).unwrap().variable.stored,
            Stored::Spilled(_)
        )
    };
    for (bytes, expected) in [(INLINE_VALUE_BYTES_MAX, false), (INLINE_VALUE_BYTES_MAX + 1, true)] {
        let text = "x".repeat(usize::try_from(bytes).unwrap());
        world.set("body", text.as_str()).unwrap();
        assert_eq!(spilled(&world, "body"), expected, "{bytes}");
        assert_eq!(world.get("body").unwrap(), Value::from(text));
    }
}

#[test]
fn a_document_lists_ten_thousand_entries_and_counts_all() {
    let mut world = World::with_state();
    for index in 1..HISTORY_ENTRIES_MAX {
        world.set("counter", index).unwrap();
    }
    assert_eq!(world.state().log().len(), HISTORY_ENTRIES_MAX);
    assert_eq!(world.state().log().next().unwrap().id.to_string(), "mut-00000001");
    world.set("counter", 0).unwrap();
    assert_eq!(world.state().log().len(), HISTORY_ENTRIES_MAX);
    assert_eq!(world.state().log().next().unwrap().id.to_string(), "mut-00000002");
    assert_eq!(world.state().mutation_count(), HISTORY_ENTRIES_MAX as u64 + 1);
}

#[test]
fn the_hundred_and_first_checkpoint_is_refused_and_the_first_stays_reachable() {
    let mut world = World::with_state();
    for index in 1..CHECKPOINTS_MAX {
        world.checkpoint(&format!("c_{index}")).unwrap();
    }
    assert_eq!(code(world.checkpoint("one_more")), "limit_checkpoints");
    world.set("late", 1).unwrap();
    assert_eq!(world.rollback("initial_state").unwrap(), ["late"]);
}

#[test]
fn a_task_tree_is_five_deep_and_ten_wide() {
    let mut world = World::new();
    let tree = Init { tree_id: Some("tree-00000001".into()), ..Init::with_prompt("root") };
    let root = world.init(tree).unwrap();
    let mut deepest = root;
    for _ in 0..TREE_DEPTH_MAX {
        deepest = world.spawn(deepest).unwrap();
    }
    assert_eq!(code(world.spawn(deepest)), "limit_depth");
    for _ in 1..CHILDREN_MAX {
        world.spawn(root).unwrap();
    }
    assert_eq!(code(world.spawn(root)), "limit_children");
}

#[test]
fn a_task_tree_has_a_hundred_tasks() {
    let mut world = World::new();
    let tree = Init { tree_id: Some("tree-00000001".into()), ..Init::with_prompt("root") };
    let mut parents = vec![world.init(tree).unwrap()];
    let mut count = 1;
    let mut refused = None;
    while refused.is_none() {
        let parent: StateId = parents.remove(0);
        for _ in 0..CHILDREN_MAX {
            match world.spawn(parent) {
                Ok(child) => parents.push(child),
                Err(refusal) => {
                    refused = Some(refusal.code());
                    break;
                }
            }
            count += 1;
        }
    }
    assert_eq!((count, refused), (TREE_NODES_MAX, Some("limit_nodes")));
}

#[test]
fn a_value_nests_96_levels_and_such_a_value_can_be_read_back_from_the_journal() {
    let nested = |depth: usize| (0..depth).fold(Value::from(1), |inner, _| Value::from(vec![inner]));
    let mut world = World::with_state();
    world.set("deep", nested(VALUE_DEPTH_MAX)).unwrap();
    assert_eq!(code(world.set("deeper", nested(VALUE_DEPTH_MAX + 1))), "invalid_argument");
    for event in &world.events {
        hence_canon::parse(&hence_canon::canonical_bytes(&event.to_value())).unwrap();
    }
}

#[test]
fn mutation_ids_end_at_eight_hex_digits() {
    let with_last = |id: &str| {
        let text = format!(
            r#"{{"version":"1.0.0","state_id":"state-00000001","variables":{{}},"history":{{"mutations":[
            {{"mutation_id":"{id}","operation":"delete","variable_name":"x_y","old_value":1,
              "timestamp":"2026-02-09T09:00:00Z"}}]}}}}"#
        );
        let document = Document::from_value(&hence_canon::parse(text.as_bytes()).unwrap()).unwrap();
        let mut world = World::new();
        let import = Import { document, snapshots: Default::default() };
        world.call(&Call::Import(Box::new(import))).unwrap();
        world
    };
    let mut world = with_last("mut-fffffffe");
    world.set("last", 1).unwrap();
    assert_eq!(world.state().log().last().unwrap().id.number(), u32::MAX);
    assert_eq!(code(world.set("beyond", 1)), "limit_history");
    assert_eq!(world.get("last").unwrap(), Value::from(1));
}

#[test]
fn a_remark_may_have_10240_bytes() {
    let mut world = World::with_state();
    let set =
        |bytes: usize| Op::Set(Set { description: Some("d".repeat(bytes).into()), ..Set::new("noted", 1) });
    assert!(matches!(world.on(A, set(REMARK_BYTES_MAX)), Ok(Reply::Written(_))));
    assert_eq!(code(world.on(A, set(REMARK_BYTES_MAX + 1))), "invalid_argument");
}
