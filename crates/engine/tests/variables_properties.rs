//! Properties that hold for any calls to a run of variables, driven as the command line drives it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::sync::Arc;

use hence_canon::Value;
use hence_engine::{
    MemorySink, Request, Run, Sink as _, SinkError, VariableFiles, Variables, VariablesRun,
    VariablesSnapshot, events, variables_problem, without_defects,
};
use hence_state::Profile;
use hence_variables::document::{Document, Verdict, export};
use hence_variables::{
    ApplyError, Call, Delete, Event, Files, Get, Init, Op, Origin, ReadFault, ReadForm, Refusal, Rename,
    Reply, Rollback, Set, SpillFile, StateId, StorePath, TakeCheckpoint, Workspace, apply, diff,
};
use proptest::prelude::*;

const FIRST: StateId = StateId::from_number(1);

/// Files by path, in memory.
#[derive(Default)]
struct MemoryFiles(BTreeMap<StorePath, Arc<[u8]>>);

impl Files for MemoryFiles {
    fn read(&self, path: &StorePath) -> Result<Arc<[u8]>, ReadFault> {
        self.0.get(path).cloned().ok_or(ReadFault::Missing)
    }
}

impl VariableFiles for MemoryFiles {
    fn store(&mut self, spill: &SpillFile) -> Result<(), SinkError> {
        self.0.insert(spill.path.clone(), spill.content.bytes().into());
        Ok(())
    }
}

/// A run with its journal and files in memory.
struct World {
    problem: Value,
    run: Option<VariablesRun>,
    sink: MemorySink,
    files: MemoryFiles,
}

impl World {
    fn new() -> Self {
        let problem = variables_problem("any", "2026-02-02T00:00:00Z", "go");
        let program = Variables::new(&Request::of_value(problem.clone(), Profile::STRICT)).unwrap();
        let (run, header) = Run::start(program).unwrap();
        let mut sink = MemorySink::default();
        sink.append(&header).unwrap();
        Self { problem, run: Some(run), sink, files: MemoryFiles::default() }
    }

    fn run(&self) -> &VariablesRun {
        self.run.as_ref().unwrap()
    }

    fn workspace(&self) -> &Workspace {
        self.run().workspace()
    }

    fn reloaded(&self) -> VariablesRun {
        let problem = without_defects(self.problem.clone());
        VariablesRun::load(&self.sink.journal, &problem, &self.sink.blobs).unwrap()
    }

    fn events(&self) -> Vec<Event> {
        let events = events(&self.sink.journal, &self.sink.blobs).unwrap();
        events.into_iter().map(|(_, event)| event).collect()
    }

    fn call(&mut self, call: &Call) -> Result<Reply, Refusal> {
        let run = self.run.take().unwrap();
        let (now, call) = (run.next_moment().unwrap(), numbered(call, run.workspace()));
        let (run, reply) = run.call(&call, now, &mut self.files, &mut self.sink).unwrap();
        self.run = Some(run);
        reply
    }

    fn on(&mut self, op: Op) -> Result<Reply, Refusal> {
        self.call(&Call::On { state: FIRST, op })
    }
}

/// Gives a new state the next number as its id, so that a story can name the states of its future.
fn numbered(call: &Call, workspace: &Workspace) -> Call {
    match call {
        Call::Init(init) => {
            let state_id = Some(workspace.next_state_id().to_string().into());
            Call::Init(Init { state_id, ..init.clone() })
        }
        other => other.clone(),
    }
}

fn fold(events: &[Event]) -> Result<Workspace, ApplyError> {
    let mut workspace = Workspace::new();
    events.iter().try_for_each(|event| apply(&mut workspace, event))?;
    Ok(workspace)
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
            let form = if raw { ReadForm::Raw } else { ReadForm::Loaded };
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

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        1 => proptest::option::of(1u32..4).prop_map(|parent| {
            let parent = parent.map(StateId::from_number);
            Call::Init(Init { parent, session_id: Some("s".into()), ..Init::with_prompt("again") })
        }),
        12 => (1u32..4, op()).prop_map(|(state, op)| Call::On { state: StateId::from_number(state), op }),
    ]
}

fn story() -> impl Strategy<Value = Vec<Call>> {
    proptest::collection::vec(call(), 1..60)
}

/// Performs calls on a run in which two states share a tree and a session; `after` sees each call that expired
/// nothing.
fn tell(story: &[Call], mut after: impl FnMut(&World, &Workspace, bool)) -> World {
    let mut world = World::new();
    for prompt in ["first", "second"] {
        let init = Init {
            session_id: Some("s".into()),
            tree_id: Some("tree-00000001".into()),
            ..Init::with_prompt(prompt)
        };
        world.call(&Call::Init(init)).unwrap();
    }
    for call in story {
        let (before, records) = (world.workspace().clone(), world.run().head().records.get());
        let accepted = world.call(call).is_ok();
        // A call appends one record; a second one before it is the removal of expired variables.
        let expired = world.run().head().records.get() - records > u64::from(accepted);
        if !expired {
            after(&world, &before, accepted);
        }
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_fold_of_the_journal_is_the_live_workspace(story in story()) {
        let world = tell(&story, |_, _, _| {});
        prop_assert_eq!(&fold(&world.events()).unwrap(), world.workspace());
        let reloaded = world.reloaded();
        prop_assert_eq!(reloaded.workspace(), world.workspace());
    }

    #[test]
    fn a_run_read_from_a_snapshot_continues_with_the_same_bytes(story in story(), cut in 0..60usize) {
        let (before, after) = story.split_at(cut.min(story.len()));
        let mut world = tell(before, |_, _, _| {});
        let lines_at = |journal: &[u8]| journal[..journal.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let at = lines_at(&world.sink.journal);
        let Some(bytes) = world.run.as_mut().unwrap().snapshot(at as u64) else { return Ok(()) };
        let mut elsewhere = World { files: MemoryFiles(world.files.0.clone()), ..World::new() };
        elsewhere.sink = world.sink.clone();
        for (position, call) in after.iter().enumerate() {
            let _ = world.call(call);
            if position % 2 == 0 {
                // Half of the later records are read after the snapshot, the others are written by the run it gives.
                elsewhere.sink = world.sink.clone();
            }
            let journal = &elsewhere.sink.journal;
            let header = &journal[..=journal.iter().position(|byte| *byte == b'\n').unwrap()];
            let snapshot = VariablesSnapshot::decode(&bytes).unwrap();
            let tail = &journal[usize::try_from(snapshot.last_line_at()).unwrap()..];
            let problem = without_defects(elsewhere.problem.clone());
            let run = VariablesRun::load_from_snapshot(snapshot, header, tail, &problem, &elsewhere.sink.blobs);
            elsewhere.run = Some(run.unwrap().unwrap());
            elsewhere.files = MemoryFiles(world.files.0.clone());
            if position % 2 == 1 {
                let _ = elsewhere.call(call);
            }
            prop_assert_eq!(&elsewhere.sink.journal, &world.sink.journal);
            prop_assert_eq!(elsewhere.workspace().to_value(), world.workspace().to_value());
        }
    }

    #[test]
    fn a_refused_operation_changes_nothing(story in story()) {
        tell(&story, |world, before, accepted| {
            if !accepted {
                assert_eq!(world.workspace(), before);
            }
        });
    }

    #[test]
    fn every_state_always_has_a_valid_document_that_reads_back(story in story()) {
        let world = tell(&story, |_, _, _| {});
        for state in world.workspace().states() {
            let document = export(world.workspace().state_view(state.id()).unwrap());
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
                let new: Vec<_> = world.workspace().state(state.id()).unwrap().log().collect();
                assert!(new.starts_with(&old));
            }
        });
        for state in world.workspace().states() {
            let log: Vec<_> = state.log().collect();
            prop_assert!(log.is_sorted_by_key(|entry| entry.timestamp));
            prop_assert!(log.iter().zip(1..).all(|(entry, number)| entry.id.number() == number));
            prop_assert_eq!(log.len() as u64, state.mutation_count());
        }
    }

    #[test]
    fn rollback_restores_what_the_checkpoint_saw(story in story()) {
        let mut world = World::new();
        world.call(&Call::Init(Init::with_prompt("task"))).unwrap();
        // A run in which every task has ended takes no rollback.
        world.call(&Call::Init(Init::with_prompt("goes on"))).unwrap();
        let mut saved = None;
        for (index, call) in story.iter().enumerate() {
            let Call::On { op, .. } = call else { continue };
            let checkpoint = TakeCheckpoint { name: "saved".into(), ..TakeCheckpoint::default() };
            if index == story.len() / 2 && world.on(Op::Checkpoint(checkpoint)).is_ok() {
                saved = world.workspace().state_view(FIRST).map(|view| (view.visible(), view.state().status()));
            }
            let _ = world.on(op.clone());
        }
        let Some((visible, status)) = saved else { return Ok(()) };
        world.on(Op::Rollback(Rollback::to("saved"))).unwrap();
        let view = world.workspace().state_view(FIRST).unwrap();
        prop_assert_eq!(view.state().status(), status);
        prop_assert!(diff(&visible, &view.visible()).is_empty());
        prop_assert_eq!(view.visible_at("saved").map(|seen| diff(&seen, &visible)), Some(Vec::new()));
    }

    #[test]
    fn a_damaged_journal_is_refused_or_folds_without_panic(story in story(), at in any::<prop::sample::Index>()) {
        let world = tell(&story, |_, _, _| {});
        let mut events = world.events();
        let removed = events.remove(at.index(events.len()));
        let _ = fold(&events);
        events.push(removed.clone());
        let _ = fold(&events);
        let mut workspace = world.workspace().clone();
        // An event with log entries carries their numbers, so it can never apply twice.
        if removed.mutations().next().is_some() {
            prop_assert!(apply(&mut workspace, &removed).is_err());
            prop_assert_eq!(&workspace, world.workspace());
        }
    }
}
