//! Runs of variables: each operation is a record, and the journal alone restores all variables.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by failing")]

mod support;

use hence_canon::Value;
use hence_engine::{
    Engine, Evidence, MemorySink, Reason, Request, Run, Sink, SinkError, Variables, VariablesRun,
};
use hence_journal::verify::{Completeness, Level, Outcome, Report};
use hence_journal::{RecordIndex, read_tail};
use hence_state::{Profile, dotted};
use hence_testkit::variables::{STATE, World};
use hence_variables::{Call, Get, Op, Reply, Rollback, Set, Status, TakeCheckpoint};
use support::{at, records};

fn filled() -> World {
    let mut world = World::new();
    world.set("error_count", 3);
    world.op(Op::Checkpoint(TakeCheckpoint { name: "before".into(), ..TakeCheckpoint::default() })).unwrap();
    world.set("error_count", 4);
    world.op(Op::Get(Get { name: "error_count".into(), ..Get::default() })).unwrap();
    world.op(Op::Rollback(Rollback::to("before"))).unwrap();
    world
}

fn holds(report: &Report) -> Vec<bool> {
    report.levels.iter().filter(|level| level.level != Level::Anchored).map(|l| l.outcome.holds()).collect()
}

#[test]
fn each_accepted_operation_is_one_step_with_the_event_as_its_output() {
    let world = filled();
    let names: Vec<String> =
        records(&world.sink.journal).iter().skip(1).map(|record| at(record, "/result/step")).collect();
    let expected =
        ["init", "set", "checkpoint", "set", "get", "rollback"].map(|word| format!("\"vars.{word}\""));
    assert_eq!(names, expected);
    let records = records(&world.sink.journal);
    assert_eq!(at(&records[2], "/result/output/changes/0/variable/value"), "3");
    assert_eq!(at(&records[2], "/result/finished_at"), "\"2026-02-02T00:00:02Z\"");
}

#[test]
fn the_state_keeps_the_first_event_and_lists_the_later_ones() {
    let world = filled();
    let state = Engine::new().state_at(&world.sink.journal, &world.document(), None).unwrap();
    let state = state.canonical();
    assert_eq!(at(state.value(), "/artifacts/vars/action"), "\"init\"");
    assert_eq!(at(state.value(), "/artifacts/iterations/4/output/action"), "\"rollback\"");
    assert_eq!(at(state.value(), "/artifacts/iterations/4/key"), "\"vars\"");
}

#[test]
fn a_run_read_back_is_the_run_that_was_written() {
    let mut world = filled();
    let mut loaded = VariablesRun::load(&world.sink.journal, &world.document(), &world.sink.blobs).unwrap();
    let run = world.run.as_ref().unwrap();
    assert_eq!((loaded.workspace(), loaded.head()), (run.workspace(), run.head()));
    let length = world.sink.journal.len();
    world.set("more", true);
    loaded.catch_up(&world.sink.journal[length..], &world.sink.blobs).unwrap();
    assert_eq!(loaded.workspace(), world.run.as_ref().unwrap().workspace());
}

#[test]
fn a_run_read_up_to_a_record_knows_what_it_knew_then() {
    let world = filled();
    let until = |index: u64| {
        let last = RecordIndex::new(index);
        let run = VariablesRun::load_until(&world.sink.journal, &world.document(), &world.sink.blobs, last)
            .unwrap();
        run.workspace()
            .state_view(STATE)
            .unwrap()
            .find(&"error_count".parse().unwrap())
            .map(|f| f.variable.stored.shown())
    };
    assert_eq!((until(1), until(2), until(4)), (None, Some(3.into()), Some(4.into())));
}

#[test]
fn every_level_holds_with_and_without_the_problem() {
    let mut world = filled();
    assert_eq!(holds(&world.verify(&world.sink.journal)), [true; 5]);
    let bare = Evidence::of_journal(&world.sink.journal, &world.sink.blobs);
    let report = Engine::new().verify(&bare, Level::Linked);
    assert_eq!((holds(&report), report.completeness), (vec![true; 3], Some(Completeness::Incomplete)));
    world.op(Op::Set(Set::final_answer("three"))).unwrap();
    assert_eq!(world.verify(&world.sink.journal).completeness, Some(Completeness::Complete));
    let problem = world.document();
    let evidence =
        Evidence { problem: Some(&problem), ..Evidence::of_journal(&world.sink.journal, &world.sink.blobs) };
    let replay = Engine::new().replay(&evidence).unwrap();
    assert!(replay.difference.is_none());
    assert_eq!((replay.executed, replay.read), (0, 7));
}

#[test]
fn a_well_chained_event_that_does_not_follow_is_found() {
    let mut world = filled();
    let early = world.sink.journal.len();
    world.set("x", 1);
    let line = world.sink.journal[early..].to_vec();
    // The same operation is recorded a second time: all hashes are right, revision and id are wrong.
    let mut forged = World::new();
    forged.set("x", 1);
    let record = hence_journal::Chained::decode(line.strip_suffix(b"\n").unwrap(), &Profile::STRICT).unwrap();
    let tail = read_tail(&world.sink.journal).unwrap().head;
    let mut journal = world.sink.journal.clone();
    journal.extend_from_slice(record.record.seal(Some(tail)).line());
    let report = world.verify(&journal);
    let broken: Vec<Level> = report
        .levels
        .iter()
        .filter(|level| matches!(&level.outcome, Outcome::Broken(found) if found.line == 8))
        .map(|level| level.level)
        .collect();
    assert_eq!(broken, [Level::Linked, Level::Spec, Level::Replay]);
}

#[test]
fn a_large_value_is_kept_before_its_event_and_a_large_event_by_its_digest() {
    let mut world = World::new();
    world.set("big", "x".repeat(20_000));
    assert_eq!(world.files.0.len(), 1);
    world.set("long", "y".repeat(10_240));
    assert_eq!(world.sink.blobs.len(), 1);
    assert!(world.sink.journal.len() < 10_000);
    assert_eq!(holds(&world.verify(&world.sink.journal)), [true; 5]);
    let without = Engine::new()
        .verify(&Evidence::of_journal(&world.sink.journal, &hence_engine::NoBlobs), Level::Linked);
    assert!(without.levels[2].outcome.holds() && !without.levels[2].unchecked.is_empty());
    let big = world.op(Op::Get(Get { name: "big".into(), ..Get::default() })).unwrap();
    assert!(matches!(big, Reply::Value { value, .. } if value.as_str().unwrap().len() == 20_000));
}

#[test]
fn a_refused_operation_leaves_no_record() {
    let mut world = filled();
    let before = world.sink.journal.clone();
    let refused = world.op(Op::Set(Set { if_mutation_count: Some(1), ..Set::new("a", 1) }));
    assert_eq!(refused.unwrap_err().code(), "conflict");
    assert_eq!(world.sink.journal, before);
}

#[test]
fn a_temporary_variable_ends_by_the_runs_clock_and_its_end_is_recorded() {
    let mut world = World::new();
    let scope = Some("temporary".into());
    world.op(Op::Set(Set { scope, ttl_seconds: Some(2.into()), ..Set::new("t", 1) })).unwrap();
    world.set("a", 1);
    world.set("b", 1);
    let steps: Vec<String> =
        records(&world.sink.journal).iter().map(|record| at(record, "/result/step")).collect();
    assert_eq!(steps[3..], ["\"vars.set\"", "\"vars.expire\"", "\"vars.set\""]);
    assert_eq!(holds(&world.verify(&world.sink.journal)), [true; 5]);
}

#[test]
fn the_two_kinds_of_runs_refuse_each_others_problems() {
    let mut world = World::new();
    let findings = Engine::new().plan(&Request::of_value(world.problem.clone(), Profile::STRICT)).map(|_| ());
    assert_eq!(dotted(&findings.unwrap_err().first().pointer), "settings.skill");
    let plain = Request::of_value(support::problem("null", 0), Profile::STRICT);
    let findings = Variables::new(&plain).map(|_| ()).unwrap_err();
    assert_eq!(dotted(&findings.first().pointer), "settings.skill.id");
    let compat = Request::of_value(world.problem.clone(), Profile::COMPAT);
    assert!(Variables::new(&compat).is_err());
    let (_, header) = Run::start(Reason::new(Engine::new().plan(&plain).unwrap())).unwrap();
    assert!(VariablesRun::load(header.line(), &world.document(), &world.sink.blobs).is_err());
    world.op(Op::Set(Set::final_answer("done"))).unwrap();
    let status = world.run.unwrap().workspace().state(STATE).unwrap().status();
    assert_eq!(status, Status::Complete);
}

#[test]
fn a_record_altered_outside_its_state_is_refused_when_loading_and_when_catching_up() {
    let mut world = filled();
    let early = world.sink.journal.len();
    world.set("more", true);
    // The start time of a step is not part of any state, so only the hash of the record shows that it was altered.
    let altered = |bytes: &[u8], from: &str, to: &str| {
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.contains(from));
        text.replacen(from, to, 1).into_bytes()
    };
    let from = "\"started_at\":\"2026-02-02T00:00:01Z\"";
    let journal = altered(&world.sink.journal, from, &from.replace("01Z", "00Z"));
    let load = |journal: &[u8]| VariablesRun::load(journal, &world.document(), &world.sink.blobs);
    let refused = load(&journal).map(|_| ()).unwrap_err().to_string();
    assert!(refused.starts_with("record 2 does not hold: record_hash_mismatch"), "{refused}");
    let mut run = load(&world.sink.journal[..early]).unwrap();
    let from = "\"started_at\":\"2026-02-02T00:00:06Z\"";
    let lines = altered(&world.sink.journal[early..], from, &from.replace("06Z", "05Z"));
    let refused = run.catch_up(&lines, &world.sink.blobs).unwrap_err().to_string();
    assert!(refused.starts_with("record 7 does not hold: record_hash_mismatch"), "{refused}");
    let then = VariablesRun::load_until(&journal, &world.document(), &world.sink.blobs, RecordIndex::new(1));
    assert!(then.is_ok(), "what lies before the altered record still holds");
}

/// A sink whose disk is full from some record on.
struct FullDisk<'a> {
    inner: &'a mut MemorySink,
    records_left: usize,
}

impl Sink for FullDisk<'_> {
    fn append(&mut self, record: &hence_journal::Sealed) -> Result<(), SinkError> {
        self.records_left = self.records_left.checked_sub(1).ok_or("no space left on device")?;
        self.inner.append(record)
    }

    fn put_blob(&mut self, value: &hence_canon::Canonical) -> Result<(), SinkError> {
        if self.records_left == 0 {
            Err("no space left on device".into())
        } else {
            self.inner.put_blob(value)
        }
    }

    fn blobs(&self) -> &dyn hence_engine::Blobs {
        self.inner.blobs()
    }
}

#[test]
fn a_full_disk_refuses_the_change_with_its_place_and_leaves_the_state_as_it_was() {
    let mut world = filled();
    let before = world.sink.journal.clone();
    for value in [Value::from(5), Value::from("y".repeat(10_240)), Value::from("x".repeat(20_000))] {
        let run = VariablesRun::load(&world.sink.journal, &world.document(), &world.sink.blobs).unwrap();
        let mut full = FullDisk { inner: &mut world.sink, records_left: 0 };
        let call = Call::On { state: STATE, op: Op::Set(Set::new("error_count", value)) };
        let now = run.next_moment().unwrap();
        let refused = run.call(&call, now, &mut world.files, &mut full).map(|_| ()).unwrap_err().to_string();
        assert!(refused.starts_with("record 7 could not be kept: no space left"), "{refused}");
        assert_eq!(world.sink.journal, before);
    }
    // With free space, the same call succeeds.
    world.run = Some(VariablesRun::load(&before, &world.document(), &world.sink.blobs).unwrap());
    world.set("error_count", 5);
    assert_eq!(holds(&world.verify(&world.sink.journal)), [true; 5]);
}

#[test]
fn a_record_whose_clock_goes_backwards_is_found_and_not_taken_in() {
    let mut world = filled();
    let early = world.sink.journal.len();
    world.set("x", 1);
    let line = world.sink.journal[early..].strip_suffix(b"\n").unwrap().to_vec();
    let text = String::from_utf8(line).unwrap();
    // Event and step agree on a time before the last record; the record is sealed again.
    let back = text.replace("2026-02-02T00:00:07Z", "2026-02-02T00:00:03Z");
    let back =
        back.replace("\"started_at\":\"2026-02-02T00:00:06Z\"", "\"started_at\":\"2026-02-02T00:00:02Z\"");
    let record = hence_journal::Chained::decode(back.as_bytes(), &Profile::STRICT).unwrap().record;
    let journal = &world.sink.journal[..early];
    let sealed = record.seal(Some(read_tail(journal).unwrap().head));
    let mut run = VariablesRun::load(journal, &world.document(), &world.sink.blobs).unwrap();
    let before = run.workspace().clone();
    let refused = run.catch_up(sealed.line(), &world.sink.blobs).unwrap_err().to_string();
    assert!(refused.contains("time goes back from 2026-02-02T00:00:06Z"), "{refused}");
    assert_eq!(*run.workspace(), before);
    let whole = [journal, sealed.line()].concat();
    assert_eq!(holds(&world.verify(&whole))[2..], [false, false, false]);
}
