//! Properties that hold for any sequence of operations.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod world;

use hence_canon::{Value, canonical_bytes, parse};
use hence_variables::document::{Document, Verdict, export};
use hence_variables::{
    Call, Delete, Event, Form, Get, Init, Op, Origin, Rename, Rollback, Set, StateId, TakeCheckpoint,
    Workspace, apply,
};
use proptest::prelude::*;
use world::{A, World, fold};

/// One step of a story: a call to one of three states, and how far the clock moves before it.
#[derive(Clone, Debug)]
struct Step {
    seconds: u64,
    call: Call,
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => proptest::sample::select(vec!["alpha", "beta", "gamma", "delta"]).prop_map(str::to_owned),
        1 => proptest::sample::select(vec!["Final", "prompt"]).prop_map(str::to_owned),
        1 => ".{0,4}",
    ]
}

fn scope() -> impl Strategy<Value = Option<String>> {
    let known = vec!["global", "session", "tree", "temporary", "nowhere"];
    proptest::option::of(proptest::sample::select(known).prop_map(str::to_owned))
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0i64..4).prop_map(Value::from),
        proptest::sample::select(vec!["x", "", "file:.aiwg/rlm/a.txt", "file:../a"]).prop_map(Value::from),
        Just(Value::from("L".repeat(10_241))),
        proptest::collection::vec(0i64..3, 0..3).prop_map(Value::from),
    ]
}

fn set() -> impl Strategy<Value = Set> {
    let types = vec!["text", "number", "json", "array", "file_path", "null", "wrong"];
    let value_type = proptest::option::weighted(0.2, proptest::sample::select(types).prop_map(Into::into));
    let ttl = proptest::option::weighted(0.3, (-1i64..5).prop_map(Value::from));
    let read_only = proptest::option::weighted(0.1, any::<bool>());
    let guard = proptest::option::weighted(0.1, 0u64..12);
    (name(), value(), value_type, scope(), ttl, read_only, guard).prop_map(
        |(name, value, value_type, scope, ttl_seconds, read_only, if_mutation_count)| Set {
            value_type,
            scope: scope.map(Into::into),
            ttl_seconds,
            read_only,
            if_mutation_count,
            origin: Origin::source("story"),
            ..Set::new(name, value)
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let spot = || proptest::sample::select(vec!["initial_state", "one", "two", ""]);
    prop_oneof![
        10 => set().prop_map(Op::Set),
        4 => (name(), scope(), any::<bool>()).prop_map(|(name, scope, raw)| {
            let form = if raw { Form::Raw } else { Form::Loaded };
            Op::Get(Get { name: name.into(), scope: scope.map(Into::into), form })
        }),
        3 => (name(), scope()).prop_map(|(name, scope)| {
            Op::Delete(Delete { name: name.into(), scope: scope.map(Into::into), ..Delete::default() })
        }),
        3 => (name(), name()).prop_map(|(name, to)| {
            Op::Rename(Rename { name: name.into(), to: to.into(), ..Rename::default() })
        }),
        3 => spot().prop_map(|name| Op::Checkpoint(TakeCheckpoint { name: name.into(), ..TakeCheckpoint::default() })),
        4 => spot().prop_map(|to| Op::Rollback(Rollback::to(to))),
        1 => Just(Op::Fail { reason: None }),
        1 => Just(Op::Cancel { reason: Some("enough".into()) }),
        1 => Just(Op::List),
        1 => (1u32..4).prop_map(|child| Op::ChildResult { child: StateId::from_number(child) }),
        1 => Just(Op::TreeStatus),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let call = prop_oneof![
        1 => proptest::option::of(1u32..4).prop_map(|parent| {
            let parent = parent.map(StateId::from_number);
            Call::Init(Init { parent, session_id: Some("s".into()), ..Init::with_prompt("again") })
        }),
        12 => (1u32..4, op()).prop_map(|(state, op)| Call::On { state: StateId::from_number(state), op }),
    ];
    (0u64..3, call).prop_map(|(seconds, call)| Step { seconds, call })
}

fn story() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 1..60)
}

/// Tells a story from two states that share a tree and a session.
fn tell(story: &[Step], mut after: impl FnMut(&mut World, &Workspace, bool)) -> World {
    let mut world = World::new();
    for prompt in ["first", "second"] {
        let init = Init {
            session_id: Some("s".into()),
            tree_id: Some("tree-00000001".into()),
            ..Init::with_prompt(prompt)
        };
        world.init(init).unwrap();
    }
    for step in story {
        world.advance_seconds(step.seconds);
        let (before, events) = (world.workspace.clone(), world.events.len());
        let accepted = world.call(&step.call).is_ok();
        let expired = world.events.get(events).is_some_and(|event| event.action.as_str() == "expire");
        // What expired is gone either way, so only stories without expiry compare before and after.
        if !expired {
            after(&mut world, &before, accepted);
        }
    }
    world
}

fn try_fold(events: &[Event]) -> Result<Workspace, hence_variables::Misfit> {
    let mut workspace = Workspace::new();
    events.iter().try_for_each(|event| apply(&mut workspace, event))?;
    Ok(workspace)
}

fn reread(event: &Event) -> Event {
    let value = parse(&canonical_bytes(&event.to_value())).unwrap();
    Event::from_value(&value).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_fold_of_the_journal_is_the_live_workspace(story in story()) {
        let world = tell(&story, |_, _, _| {});
        let events: Vec<Event> = world.events.iter().map(reread).collect();
        prop_assert_eq!(&events, &world.events);
        prop_assert_eq!(fold(&events), world.workspace);
    }

    #[test]
    fn a_refused_operation_changes_nothing(story in story()) {
        tell(&story, |world, before, accepted| {
            if !accepted {
                assert_eq!(&world.workspace, before);
            }
        });
    }

    #[test]
    fn every_state_always_has_a_valid_document_that_reads_back(story in story()) {
        let world = tell(&story, |_, _, _| {});
        for state in world.workspace.states() {
            let document = export(world.workspace.sight(state.id()).unwrap());
            let verdict = Verdict::of(&document);
            prop_assert!(verdict.is_valid(), "{verdict}");
            let typed = Document::from_value(&document).unwrap();
            prop_assert_eq!(Document::from_value(&typed.to_value()).unwrap(), typed);
        }
    }

    #[test]
    fn the_log_only_grows_and_its_time_never_goes_back(story in story()) {
        let world = tell(&story, |world, before, _| {
            for state in before.states() {
                let old: Vec<_> = state.log().collect();
                let new: Vec<_> = world.workspace.state(state.id()).unwrap().log().collect();
                assert!(new.starts_with(&old));
            }
        });
        for state in world.workspace.states() {
            let log: Vec<_> = state.log().collect();
            prop_assert!(log.is_sorted_by_key(|entry| entry.timestamp));
            prop_assert!(log.iter().zip(1..).all(|(entry, number)| entry.id.number() == number));
            prop_assert_eq!(log.len() as u64, state.mutation_count());
        }
    }

    #[test]
    fn rollback_restores_what_the_checkpoint_saw(story in story()) {
        let mut world = World::with_state();
        let mut saved = None;
        for (index, step) in story.iter().enumerate() {
            let Call::On { op, .. } = &step.call else { continue };
            if index == story.len() / 2 && world.checkpoint("saved").is_ok() {
                saved = world.workspace.sight(A).map(|sight| (sight.view(), sight.state().status()));
            }
            let _ = world.on(A, op.clone());
        }
        let Some((view, status)) = saved else { return Ok(()) };
        world.rollback("saved").unwrap();
        let sight = world.workspace.sight(A).unwrap();
        prop_assert_eq!(sight.state().status(), status);
        prop_assert!(hence_variables::diff(&view, &sight.view()).is_empty());
        prop_assert_eq!(sight.view_at("saved").map(|seen| hence_variables::diff(&seen, &view)), Some(Vec::new()));
    }

    #[test]
    fn a_damaged_journal_is_refused_or_folds_without_panic(story in story(), at in any::<prop::sample::Index>()) {
        let world = tell(&story, |_, _, _| {});
        let mut events = world.events.clone();
        let removed = events.remove(at.index(events.len()));
        let _ = try_fold(&events);
        events.push(removed.clone());
        let _ = try_fold(&events);
        let mut workspace = world.workspace.clone();
        // An event with log entries carries their numbers, so it can never apply twice.
        if removed.mutations().next().is_some() {
            prop_assert!(apply(&mut workspace, &removed).is_err());
            prop_assert_eq!(workspace, world.workspace);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_is_judged_as_document_and_event_without_panic(json in json()) {
        let verdict = Verdict::of(&json);
        prop_assert_eq!(Document::from_value(&json).is_ok(), verdict.is_valid());
        let _ = Event::from_value(&json);
    }
}

/// JSON made of the words documents, events and operations use.
fn json() -> impl Strategy<Value = Value> {
    let keys = vec![
        "version",
        "state_id",
        "tree_id",
        "variables",
        "Final",
        "prompt",
        "a_b",
        "name",
        "value",
        "type",
        "metadata",
        "history",
        "mutations",
        "checkpoints",
        "mutation_id",
        "operation",
        "variable_name",
        "timestamp",
        "old_value",
        "new_value",
        "checkpoint_id",
        "scope",
        "ttl_seconds",
        "spilled",
        "op",
        "state",
        "at",
        "action",
        "changes",
        "change",
        "variable",
        "seen",
        "document",
        "snapshots",
    ];
    let words = vec![
        "1.0.0",
        "state-00000001",
        "tree-00000001",
        "mut-00000001",
        "ckpt-00000001",
        "2026-02-09T10:00:00Z",
        "text",
        "number",
        "create",
        "tree",
        "temporary",
        "set",
        "init",
        "write",
        "adopted",
        "a_b",
        "complete",
        "",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        proptest::sample::select(words).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let members =
            proptest::collection::vec((proptest::sample::select(keys.clone()), inner.clone()), 0..6);
        prop_oneof![
            3 => members.prop_map(|members| members.into_iter().collect::<hence_canon::Object>().into()),
            1 => proptest::collection::vec(inner, 0..4).prop_map(Value::from),
        ]
    })
}
