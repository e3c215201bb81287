//! After any sequence of calls, the journal alone restores the same variables, and every level of verification holds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by failing")]

use std::sync::Arc;

use hence_engine::{
    Engine, Evidence, MemorySink, Request, Run, Sink as _, Variables, VariablesRun, variables_problem,
    without_defects,
};
use hence_journal::verify::Level;
use hence_state::Profile;
use hence_testkit::variables::MemoryFiles;
use hence_variables::{
    Call, Delete, Get, Init, Op, Rename, Rollback, Set, StateId, TakeCheckpoint, Workspace,
};
use proptest::prelude::*;

fn name() -> impl Strategy<Value = Arc<str>> {
    prop::sample::select(vec!["alpha", "beta", "gamma", "prompt", "Final", "9bad"]).prop_map(Into::into)
}

fn scope() -> impl Strategy<Value = Option<Arc<str>>> {
    let words = prop::sample::select(vec!["session", "temporary", "global", "tree"]);
    prop::option::of(words.prop_map(Into::into))
}

fn op() -> impl Strategy<Value = Op> {
    let size = prop::sample::select(vec![1_usize, 50, 10_240, 10_241]);
    let ttl = prop::option::of(0_u64..4);
    prop_oneof![
        6 => (name(), scope(), ttl, size).prop_map(|(name, scope, ttl, size)| {
            let ttl_seconds = ttl.map(Into::into);
            Op::Set(Set { scope, ttl_seconds, ..Set::new(name, "v".repeat(size)) })
        }),
        2 => (name(), scope()).prop_map(|(name, scope)| Op::Get(Get { name, scope, ..Get::default() })),
        1 => (name(), name()).prop_map(|(name, to)| Op::Rename(Rename { name, to, ..Rename::default() })),
        1 => name().prop_map(|name| Op::Delete(Delete { name, ..Delete::default() })),
        1 => name().prop_map(|name| Op::Checkpoint(TakeCheckpoint { name, ..TakeCheckpoint::default() })),
        1 => name().prop_map(|to| Op::Rollback(Rollback::to(to))),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let state = (1_u32..4).prop_map(StateId::from_number);
    let tree = Some(Arc::from("tree-00000001"));
    prop_oneof![
        1 => Just(Call::Init(Init { tree_id: tree, ..Init::with_prompt("go") })),
        8 => (state, op()).prop_map(|(state, op)| Call::On { state, op }),
    ]
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_journal_alone_gives_the_variables_back(calls in prop::collection::vec(call(), 1..30)) {
        let problem = variables_problem("any", "2026-02-02T00:00:00Z", "go");
        let (mut run, header) = Run::start(Variables::new(&Request::of_value(problem.clone(), Profile::STRICT)).unwrap()).unwrap();
        let (mut sink, mut files) = (MemorySink::default(), MemoryFiles::default());
        sink.append(&header).unwrap();
        let now = run.next_moment().unwrap();
        let first = numbered(&Call::Init(Init::with_prompt("go")), run.workspace());
        run = run.call(&first, now, &mut files, &mut sink).unwrap().0;
        for call in &calls {
            let (records, before) = (run.head().records, run.workspace().clone());
            let (now, call) = (run.next_moment().unwrap(), numbered(call, run.workspace()));
            let (next, reply) = run.call(&call, now, &mut files, &mut sink).unwrap();
            run = next;
            // A refused call changes nothing, unless a variable had expired and its removal was recorded.
            if reply.is_err() && run.head().records == records {
                prop_assert_eq!(run.workspace(), &before);
            }
        }
        let document = without_defects(problem);
        let loaded = VariablesRun::load(&sink.journal, &document, &sink.blobs).unwrap();
        prop_assert_eq!(loaded.workspace(), run.workspace());
        let evidence = Evidence { problem: Some(&document), ..Evidence::of_journal(&sink.journal, &sink.blobs) };
        let report = Engine::new().verify(&evidence, Level::Replay);
        let checked = report.levels.iter().filter(|level| level.level != Level::Anchored);
        prop_assert!(checked.clone().count() == 5 && checked.clone().all(|level| level.outcome.holds()));
    }
}
