//! Runs over variables become traces without findings.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on should stop"
)]

use hence_canon::{Value, canonical_bytes};
use hence_projection::{Program, RecordedRun, RunLink, RunRelation, trace_of_run};
use hence_review::validate::validate_canonical;
use hence_testkit::variables::{self, STATE};
use hence_variables::{Call, Delete, Get, Init, Op, Origin, Rename, Rollback, Set, StateId, TakeCheckpoint};

struct World(variables::World);

impl World {
    fn new() -> Self {
        let tree_id = Some("tree-00000001".into());
        Self(variables::World::with(Init { tree_id, ..Init::with_prompt("count the errors") }))
    }

    fn call(&mut self, call: Call) {
        self.0.call(call).unwrap();
    }

    fn on(&mut self, state: StateId, op: Op) {
        self.call(Call::On { state, op });
    }

    fn trace(&self, links: &[RunLink]) -> Value {
        let problem = self.0.document();
        let recorded = RecordedRun {
            journal: &self.0.sink.journal,
            problem: &problem,
            blobs: &self.0.sink.blobs,
            links,
            calls: None,
        };
        let trace = trace_of_run(Program::Variables, &recorded).unwrap();
        let again = trace_of_run(Program::Variables, &recorded).unwrap();
        assert_eq!(canonical_bytes(&trace), canonical_bytes(&again));
        let report = validate_canonical(&trace);
        assert!(report.findings().is_empty(), "{:#?}", report.findings());
        trace
    }
}

fn at(value: &Value, pointer: &str) -> Value {
    value.pointer(&pointer.parse().unwrap()).cloned().unwrap_or_default()
}

fn texts(value: &Value, pointer: &str, key: &str) -> Vec<String> {
    let list = at(value, pointer);
    list.as_array().unwrap().iter().map(|item| item.get(key).unwrap().as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_operation_is_an_action_and_reads_are_the_sources_of_writes() {
    let mut world = World::new();
    let reason = Origin { reason: Some("three lines say ERROR".into()), ..Origin::source("grep") };
    world.on(STATE, Op::Set(Set { origin: reason, ..Set::new("errors", 3) }));
    world.on(STATE, Op::Checkpoint(TakeCheckpoint { name: "counted".into(), ..TakeCheckpoint::default() }));
    world.on(STATE, Op::Get(Get { name: "errors".into(), ..Get::default() }));
    world.on(STATE, Op::Set(Set::new("rate", 1)));
    world.on(STATE, Op::Rename(Rename { name: "rate".into(), to: "share".into(), ..Rename::default() }));
    world.on(STATE, Op::Delete(Delete { name: "share".into(), ..Delete::default() }));
    world.on(STATE, Op::Set(Set::new("errors", 4)));
    world.on(STATE, Op::Rollback(Rollback { to: "counted".into(), ..Rollback::default() }));
    world.on(STATE, Op::Set(Set::final_answer("three errors")));
    let trace = world.trace(&[]);
    assert_eq!(
        texts(&trace, "/actions", "type"),
        [
            "ReadDocumentation",
            "ReadDocumentation",
            "ReportProgress",
            "CreateSnapshot",
            "ReadDocumentation",
            "ReportProgress",
            "ReportProgress",
            "ReportProgress",
            "ReportProgress",
            "ExclusiveDecision",
            "Explain",
        ]
    );
    let ids = texts(&trace, "/artifacts", "artifact_id");
    let place = |id: &str| {
        ids.iter().position(|found| found.ends_with(id)).unwrap_or_else(|| panic!("{id}: {ids:?}"))
    };
    let rate = at(&trace, &format!("/artifacts/{}/derived_from", place("/rate#1")));
    assert_eq!(rate.to_string(), format!("[\"{}\"]", ids[place("/errors#1")]));
    let back = at(&trace, &format!("/artifacts/{}/supersedes", place("/errors#3")));
    assert_eq!(back, ids[place("/errors#2")].as_str().into());
    assert_eq!(at(&trace, "/actions/2/rationale"), "three lines say ERROR".into());
    assert_eq!(at(&trace, "/outcome/type"), "ProcessCompleted".into());
    assert_eq!(texts(&trace, "/residuals", "residual_id"), ["values-from-outside", "sources-inferred"]);
}

#[test]
fn spawned_tasks_are_nested_units_and_unanswered_ones_are_gaps() {
    let mut world = World::new();
    let child = StateId::from_number(2);
    let state_id = Some(child.to_string().into());
    let init = Init { state_id, parent: Some(STATE), ..Init::with_prompt("count in the second file") };
    world.call(Call::Init(init));
    world.on(child, Op::Set(Set::new("errors", 1)));
    world.on(STATE, Op::Set(Set::new("note", "waiting")));
    world.on(child, Op::Fail { reason: Some("the file is gone".into()) });
    let trace = world.trace(&[]);
    let ids = texts(&trace, "/meta_actions", "id");
    assert_eq!(ids.len(), 5, "{ids:?}");
    assert_eq!(at(&trace, "/meta_actions/2/title"), "count in the second file".into());
    assert_eq!(at(&trace, "/meta_actions/2/parent_id"), ids[1].as_str().into());
    assert!(ids[3].ends_with("@2") && ids[4].ends_with("@2"), "{ids:?}");
    assert_eq!(at(&trace, "/outcome/type"), "ProcessInterrupted".into());
    let gaps = at(&trace, "/residuals").to_string();
    assert!(gaps.contains("has no final answer") && gaps.contains("failed: the file is gone"), "{gaps}");
}

#[test]
fn links_between_runs_become_links_between_traces() {
    let link = |run: &str, relation| RunLink {
        run: run.into(),
        relation,
        root: None,
        note: Some("at record 3".into()),
    };
    let links = [link("origin", RunRelation::ForkedFrom), link("demo", RunRelation::Reruns)];
    let trace = World::new().trace(&links);
    assert_eq!(at(&trace, "/trace_links").as_array().map(<[Value]>::len), Some(1));
    assert_eq!(at(&trace, "/trace_links/0/relationship"), "forked_from".into());
    assert_eq!(at(&trace, "/trace_links/0/from_trace_id"), "demo".into());
    assert_eq!(at(&trace, "/trace_lineage/parent_trace_id"), "origin".into());
}
