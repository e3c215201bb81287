//! Linked runs: nested runs with journals of their own, and forks.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

mod support;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use hence_canon::{Canonical, Object, Value, parse};
use hence_cognition::capability::{CapabilitySpec, Gate, OnDenied, Registry, Safety};
use hence_cognition::run::{Call, CallError, CallPurpose, Capabilities, Prepared, Reply};
use hence_cognition::skill::Skill;
use hence_engine::{
    Determinism, Driven, Evidence, Mark, MemorySink, NoBlobs, NoMeter, OUTPUTS_STEP, Run, Sink, SinkError,
    replay,
};
use hence_journal::verify::{Outcome, check_chain, check_spec};
use hence_journal::{Chained, Control, Head, Reader, Record, RecordIndex, StepRecord};
use hence_skills::{
    CallLog, Carried, ChildRun, ChildRuns, Driver, ForkError, Host, LinkError, LinkedRuns, Links, NestedPin,
    NeverStop, NewSkillRun, Origin, Pinned, SkillJournal, SkillProgram, SkillRun, carry_over, compare_origin,
    effective_records, shared_before, shared_records,
};
use hence_state::{ProblemSpec, Profile, ReasoningState, Status, StepResult};
use support::{Made, Worker, made, new_run, skill};

/// Capabilities: `echo` is pure; `ask` is recorded; `guarded` is pure with a recorded gate before it; `soft` is denied
/// by a gate that degrades.
#[derive(Default)]
struct World {
    calls: Mutex<Vec<String>>,
}

const INNER: &str = r#"[
    {"id": "one", "uses": "ask", "input": {"x": "inputs.x"}, "output": {"x": "vars.x"}},
    {"id": "two", "uses": "echo", "input": {"x": "vars.x"}, "output": {"x": "outputs.x"}}]"#;

fn source(id: &str, steps: &str) -> Canonical {
    let text = format!(
        r#"{{"id": "{id}", "version": "1.0.0", "name": "N", "description": "D", "inputs": {{}}, "outputs": {{"x": {{"type": "integer", "required": true}}}}, "steps": {steps}}}"#
    );
    Canonical::of(&parse(text.as_bytes()).unwrap())
}

impl Registry for World {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        let gate = |capability: &str, on_denied| Gate { capability: capability.into(), on_denied };
        let before = match id {
            "guarded" => vec![gate("allow", OnDenied::Block)],
            "soft" => vec![gate("deny", OnDenied::Degrade)],
            "echo" | "ask" | "allow" | "deny" => Vec::new(),
            _ => return None,
        };
        let safety = Safety { before, ..Safety::default() };
        Some(Arc::new(CapabilitySpec { safety, ..CapabilitySpec::default() }))
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        (id == "inner").then(|| Arc::new(skill(&source("inner", INNER))))
    }
}

impl Host for World {
    fn determinism(&self, capability: &str) -> Determinism {
        match capability {
            "ask" | "allow" | "deny" => Determinism::Recorded,
            _ => Determinism::Deterministic,
        }
    }

    fn worker(&self) -> Box<dyn Capabilities + Send + '_> {
        Box::new(Worker(self))
    }
}

impl support::World for World {
    fn carry_out(&self, call: &Call<'_>) -> Result<Reply, CallError> {
        self.calls.lock().unwrap().push(call.capability.to_string());
        let output = match call.purpose {
            CallPurpose::Step => call.input.clone(),
            _ => Object::from_iter([("allowed", &**call.capability == "allow")]).into(),
        };
        Ok(Reply { output, meta: Object::new() })
    }
}

#[derive(Default)]
struct Kept(Mutex<Vec<ChildRun>>);

impl ChildRuns for Kept {
    fn source(&self, skill: &str) -> Option<Canonical> {
        (skill == "inner").then(|| source("inner", INNER))
    }

    fn store(&self, child: &ChildRun) -> Result<(), SinkError> {
        self.0.lock().unwrap().push(child.clone());
        Ok(())
    }
}

struct Case {
    problem: Arc<ProblemSpec>,
    prepared: Prepared,
    source: Canonical,
}

impl Case {
    fn new(steps: &str, links: Links) -> Self {
        Self::of("run-1", source("main", steps), links)
    }

    fn of(id: &str, source: Canonical, links: Links) -> Self {
        let asked = NewSkillRun { links, ..new_run(id) };
        let Made { problem, prepared, source } = made(source, &World::default(), &asked);
        Self { problem, prepared, source }
    }

    fn run(&self, world: &World, children: &dyn ChildRuns) -> (Status, MemorySink) {
        let mut sink = MemorySink::default();
        let (run, header) =
            Run::start(SkillProgram::new(self.problem.clone(), &self.prepared, &self.source, world).unwrap())
                .unwrap();
        sink.append(&header).unwrap();
        (drive(run, children, &mut sink), sink)
    }

    fn replays(&self, journal: &[u8]) -> Option<u64> {
        let world = World::default();
        let program = SkillProgram::new(self.problem.clone(), &self.prepared, &self.source, &world).unwrap();
        let found = replay(program, &Evidence::of_journal(journal, &NoBlobs)).unwrap();
        let calls = world.calls.lock().unwrap();
        let outside = calls.iter().filter(|id| ["ask", "allow", "deny"].contains(&id.as_str())).count();
        assert_eq!(outside, 0, "a replay asks nobody");
        found.difference.map(|difference| difference.line)
    }

    fn spec(&self, journal: &[u8]) -> (Outcome, Vec<String>) {
        let (world, evidence) = (World::default(), Evidence::of_journal(journal, &NoBlobs));
        let skill = SkillJournal {
            problem: &self.problem,
            prepared: &self.prepared,
            source: &self.source,
            host: &world,
            evidence: &evidence,
            linked: LinkedRuns::NotCompared,
        };
        let found = check_spec(journal, &skill, &self.problem);
        (found.outcome, found.unchecked)
    }
}

fn drive(run: SkillRun<'_, '_>, children: &dyn ChildRuns, sink: &mut MemorySink) -> Status {
    let (workers, log) = (NonZeroUsize::new(2).unwrap(), CallLog::in_memory());
    let driver = Driver { workers, log: &log, stop: &NeverStop, children, meter: &NoMeter };
    match driver.drive(run, sink, |_| {}).unwrap() {
        Driven::Finished(run) => run.state().status(),
        Driven::Paused(_, pause) => panic!("{pause:?}"),
        Driven::Blocked(_, blocked) => panic!("{blocked}"),
    }
}

fn nested() -> Links {
    let inner = source("inner", INNER);
    let pin = NestedPin { id: "inner".into(), version: "1.0.0".into(), digest: inner.digest() };
    Links { nested: vec![pin], ..Links::default() }
}

#[test]
fn a_nested_run_has_a_journal_of_its_own_and_parent_and_child_name_each_other() {
    let steps = r#"[
        {"id": "down", "uses": "skill:inner", "input": {"x": 7}, "output": {"x": "vars.x"}},
        {"id": "each", "uses": "skill:inner", "input": {}, "output": {"x": "vars.all"}, "config": {"foreach": {"items": "[1, 2]", "as": "x"}}},
        {"id": "end", "uses": "echo", "input": {"x": "vars.x"}, "output": {"x": "outputs.x"}}]"#;
    let case = Case::new(steps, nested());
    let (world, kept) = (World::default(), Kept::default());
    let (finished, sink) = case.run(&world, &kept);
    assert_eq!(finished, Status::Completed);
    let children = kept.0.lock().unwrap();
    let ids: Vec<&str> = children.iter().map(|child| &*child.id).collect();
    assert_eq!(ids, ["run-1/down", "run-1/each", "run-1/each@0.1.1"]);
    let journal = String::from_utf8(sink.journal.clone()).unwrap();
    for child in children.iter() {
        assert!(
            journal.contains(&format!(r#"{{"head":"{}","run":"{}"}}"#, child.head, child.id)),
            "{journal}"
        );
        // The child is an ordinary run: its chain holds, it verifies, it replays, and it names its parent.
        assert!(check_chain(&child.journal, NonZeroUsize::MIN).outcome.holds());
        let problem = Arc::new(ProblemSpec::decode(child.problem.value(), &Profile::STRICT).unwrap());
        let prepared = Prepared::of(&skill(&child.skill), &World::default()).unwrap();
        let one = Case { problem, prepared, source: child.skill.clone() };
        assert!(one.spec(&child.journal).0.holds());
        assert_eq!(one.replays(&child.journal), None);
        let parent = Pinned::of(&one.problem).unwrap().links.parent.unwrap();
        assert_eq!(&*parent.run, "run-1");
    }
    assert_eq!(case.replays(&sink.journal), None);
    let (outcome, unchecked) = case.spec(&sink.journal);
    assert!(outcome.holds());
    assert_eq!(unchecked[0], "the 1 nested runs of step down (each is verified by itself)");
}

#[test]
fn a_nested_run_that_cannot_be_kept_stops_the_parent_before_its_record() {
    struct Full;
    impl ChildRuns for Full {
        fn source(&self, _: &str) -> Option<Canonical> {
            Some(source("inner", INNER))
        }

        fn store(&self, _: &ChildRun) -> Result<(), SinkError> {
            Err("no space left".into())
        }
    }
    let steps = r#"[{"id": "down", "uses": "skill:inner", "input": {"x": 7}, "output": {"x": "outputs.x"}}]"#;
    let case = Case::new(steps, nested());
    let (world, mut sink) = (World::default(), MemorySink::default());
    let (run, header) =
        Run::start(SkillProgram::new(case.problem.clone(), &case.prepared, &case.source, &world).unwrap())
            .unwrap();
    sink.append(&header).unwrap();
    let log = CallLog::in_memory();
    let workers = NonZeroUsize::MIN;
    let driver = Driver { workers, log: &log, stop: &NeverStop, children: &Full, meter: &NoMeter };
    assert!(driver.drive(run, &mut sink, |_| {}).is_err());
    assert_eq!(sink.journal, header.line());
}

const LINE: &str = r#"[
    {"id": "a", "uses": "ask", "input": {"x": 1}, "output": {"x": "vars.a"}},
    {"id": "b", "uses": "echo", "input": {"x": "vars.a"}, "output": {"x": "vars.b"}},
    {"id": "c", "uses": "echo", "input": {"x": "vars.b"}, "output": {"x": "vars.c"}},
    {"id": "d", "uses": "ask", "input": {"x": "vars.c"}, "output": {"x": "outputs.x"}}]"#;

fn fork(
    case: &Case,
    journal: &[u8],
    with: Canonical,
    from: &str,
    set: &[(&str, i64)],
) -> Result<(Case, MemorySink, World), ForkError> {
    let blobs = MemorySink::default();
    let asked = World::default();
    let program = SkillProgram::new(case.problem.clone(), &case.prepared, &case.source, &asked).unwrap();
    let before = Run::resume(program, journal, blobs.blobs()).unwrap();
    let prepared = Prepared::of(&skill(&with), &World::default()).unwrap();
    let shared = shared_before(&case.prepared, before.program().outcomes(), &prepared, &from.into())?;
    let (header, reader) = Reader::open(journal).unwrap();
    let hashes: Vec<_> =
        [header.hash].into_iter().chain(reader.map(|chained| chained.unwrap().hash)).collect();
    let set = set.iter().map(|(place, value)| ((*place).into(), Value::from(*value))).collect();
    let (record, hash) = (shared as u64, hashes[shared]);
    let origin = Origin {
        run: "run-1".into(),
        record,
        hash,
        from: from.into(),
        set,
        idempotency_root: None,
        used: Default::default(),
    };
    let forked = Case::of("run-2", with, Links { origin: Some(origin), ..Links::default() });
    let world = World::default();
    let carried: Vec<Carried> =
        before.program().outcomes()[..shared].iter().cloned().map(Carried::Outcome).collect();
    let (problem, prepared, source) = (forked.problem.clone(), &forked.prepared, &forked.source);
    let mut sink = MemorySink::default();
    let program = SkillProgram::new(problem, prepared, source, &world).unwrap();
    let run = carry_over(program, &carried, |_| Ok(None), &mut sink)?;
    assert!(world.calls.lock().unwrap().is_empty(), "nothing is executed for what is shared");
    drive(run, &Kept::default(), &mut sink);
    Ok((forked, sink, world))
}

#[test]
fn a_fork_shares_what_came_before_and_goes_on_with_what_was_set() {
    let case = Case::new(LINE, Links::default());
    let (_, whole) = case.run(&World::default(), &Kept::default());
    let same = source("main", LINE);
    for (from, calls) in [("a", 4), ("b", 3), ("c", 2), ("d", 1)] {
        let (forked, sink, world) = fork(&case, &whole.journal, same.clone(), from, &[]).unwrap();
        assert_eq!(world.calls.lock().unwrap().len(), calls);
        assert_eq!(forked.replays(&sink.journal), None);
        let (outcome, unchecked) = forked.spec(&sink.journal);
        assert!(outcome.holds() && unchecked[0].contains("carried over"), "{unchecked:?}");
    }
    let (forked, sink, _) = fork(&case, &whole.journal, same, "c", &[("vars.b", 5)]).unwrap();
    let journal = String::from_utf8(sink.journal.clone()).unwrap();
    assert!(journal.contains(r#""x":5"#), "the value that was set is read from there on");
    assert_eq!(forked.replays(&sink.journal), None);
    assert!(forked.spec(&sink.journal).0.holds());
    // Resumed at any record, the fork still sees the value that was set.
    let ends: Vec<usize> =
        (0..sink.journal.len()).filter(|at| sink.journal[*at] == b'\n').map(|at| at + 1).collect();
    for end in &ends[2..] {
        let (world, blobs) = (World::default(), MemorySink::default());
        let (problem, part) = (forked.problem.clone(), &sink.journal[..*end]);
        let run = Run::resume(
            SkillProgram::new(problem, &forked.prepared, &forked.source, &world).unwrap(),
            part,
            blobs.blobs(),
        )
        .unwrap();
        let mut onward = MemorySink { journal: part.to_vec(), ..MemorySink::default() };
        if !run.has_ended() {
            drive(run, &Kept::default(), &mut onward);
        }
        assert!(onward.journal == sink.journal);
    }
}

#[test]
fn a_fork_with_another_skill_needs_the_same_steps_before() {
    let case = Case::new(LINE, Links::default());
    let (_, whole) = case.run(&World::default(), &Kept::default());
    let other = source("main", &LINE.replace(r#""id": "d", "uses": "ask""#, r#""id": "d", "uses": "echo""#));
    let (forked, sink, world) = fork(&case, &whole.journal, other, "d", &[]).unwrap();
    assert_eq!(*world.calls.lock().unwrap(), ["echo"]);
    assert_eq!(forked.replays(&sink.journal), None);
    let early = source("main", &LINE.replace(r#""input": {"x": "vars.a"}"#, r#""input": {"x": 9}"#));
    let error = fork(&case, &whole.journal, early, "d", &[]).err().unwrap();
    assert_eq!(error.to_string(), "step `b` comes before `d` and is not the same in both skills");
    let same = || source("main", LINE);
    let missing = fork(&case, &whole.journal, same(), "z", &[]).err().unwrap();
    assert_eq!(missing.to_string(), "the skill has no step `z`");
    let frozen = fork(&case, &whole.journal, same(), "d", &[("frame.goal", 1)]).err().unwrap();
    assert!(frozen.to_string().starts_with("cannot set `frame.goal`"), "{frozen}");
    let cut = whole.journal.split_inclusive(|byte| *byte == b'\n').take(2).collect::<Vec<_>>().concat();
    let early = fork(&case, &cut, same(), "d", &[]).err().unwrap();
    assert_eq!(early.to_string(), "step `b` comes before `d`, and the run has no result of it");
}

#[test]
fn a_replay_reads_what_recorded_gates_decided_and_degraded_steps_hold() {
    let steps = r#"[
        {"id": "soft", "uses": "soft", "input": {"x": 1}, "output": {"x": "vars.never"}},
        {"id": "guarded", "uses": "guarded", "input": {"x": 2}, "output": {"x": "outputs.x"}}]"#;
    let case = Case::new(steps, Links::default());
    let (finished, sink) = case.run(&World::default(), &Kept::default());
    assert_eq!(finished, Status::Completed);
    assert!(String::from_utf8(sink.journal.clone()).unwrap().contains(r#""status":"degraded""#));
    assert_eq!(case.replays(&sink.journal), None);
    assert!(case.spec(&sink.journal).0.holds());
}

#[test]
fn outputs_that_nobody_wrote_end_the_run_under_a_name_of_their_own() {
    let case = Case::new(r#"[{"id": "a", "uses": "echo", "input": {"x": 1}}]"#, Links::default());
    let (finished, sink) = case.run(&World::default(), &Kept::default());
    assert_eq!(finished, Status::Failed);
    let last = String::from_utf8(sink.journal.clone()).unwrap().lines().last().unwrap().to_owned();
    assert!(last.contains(OUTPUTS_STEP) && last.contains("required outputs were not written: x"), "{last}");
    assert_eq!(case.replays(&sink.journal), None);
    assert!(case.spec(&sink.journal).0.holds());
}

/// Writes a journal again with one outcome altered: every hash is right, but the records do not follow from each
/// other.
fn recomputed(case: &Case, journal: &[u8], alter: impl Fn(&str) -> String) -> Vec<u8> {
    let (header, reader) = Reader::open(journal).unwrap();
    let mut written = journal.split_inclusive(|byte| *byte == b'\n').next().unwrap().to_vec();
    let mut head = Head { hash: header.hash, records: hence_journal::RecordCount::new(1) };
    let Record::Header(first) = &header.record else { panic!() };
    let mut fold = hence_journal::Fold::new(first, case.problem.clone());
    let mut before = fold.state_mut().digest();
    for chained in reader {
        let chained: Chained = chained.unwrap();
        let record = match chained.record {
            Record::Step(step) => {
                let result = altered(&step.result, &alter);
                fold.apply(&hence_engine::outcome_key(step.step_index, result.step()), &result).unwrap();
                let after = fold.state_mut().digest();
                let record =
                    StepRecord { result, state_before_hash: before, state_after_hash: after, ..step };
                before = after;
                Record::Step(record)
            }
            Record::Control(Control::Complete { at, .. }) => {
                fold.complete(&at).unwrap();
                let state_hash = fold.state_mut().digest();
                Record::Control(Control::Complete { at, state_hash })
            }
            other => other,
        };
        let sealed = record.seal(Some(head));
        head = sealed.head();
        written.extend_from_slice(sealed.line());
    }
    let _: &ReasoningState = fold.state();
    written
}

fn altered(result: &StepResult, alter: &impl Fn(&str) -> String) -> StepResult {
    let hence_state::Outcome::Success(output) = result.outcome() else { return result.clone() };
    let value = parse(alter(&output.value().to_string()).as_bytes()).unwrap();
    let input = value.get("input").cloned().unwrap_or_default();
    let outcome = hence_state::Outcome::Success(Canonical::of(&value));
    StepResult::new(
        result.step().clone(),
        &input,
        result.started_at().clone(),
        result.finished_at().clone(),
        outcome,
    )
}

#[test]
fn a_recomputed_chain_that_does_not_follow_is_found_by_what_the_skill_says() {
    let case = Case::new(LINE, Links::default());
    let (_, sink) = case.run(&World::default(), &Kept::default());
    let honest = recomputed(&case, &sink.journal, str::to_owned);
    assert!(honest == sink.journal, "writing it anew without a change gives the same bytes");
    // A pure step with another result: the chain holds, a replay detects it.
    let swapped = recomputed(&case, &sink.journal, |text| {
        if text.contains(r#""step_id":"b""#) {
            text.replace(r#""produced":{"x":1}"#, r#""produced":{"x":2}"#)
        } else {
            text.to_owned()
        }
    });
    assert!(swapped != sink.journal && check_chain(&swapped, NonZeroUsize::MIN).outcome.holds());
    assert_eq!(case.replays(&swapped), Some(2));
    // An outcome of another step: the order of the skill detects it.
    let renamed =
        recomputed(&case, &sink.journal, |text| text.replace(r#""step_id":"c""#, r#""step_id":"b""#));
    assert!(check_chain(&renamed, NonZeroUsize::MIN).outcome.holds());
    assert!(!case.spec(&renamed).0.holds());
    // A missing step: the order of the skill detects it.
    let lines: Vec<&[u8]> = sink.journal.split_inclusive(|byte| *byte == b'\n').collect();
    let without = [&lines[..3], &lines[4..]].concat().concat();
    assert!(!case.spec(&without).0.holds());
}

#[test]
fn a_fork_that_begins_otherwise_than_its_origin_is_found_by_who_has_both() {
    let case = Case::new(LINE, Links::default());
    let (_, whole) = case.run(&World::default(), &Kept::default());
    let (forked, sink, _) = fork(&case, &whole.journal, source("main", LINE), "c", &[("vars.b", 5)]).unwrap();
    let origin = Pinned::of(&forked.problem).unwrap().links.origin.unwrap();
    assert_eq!(compare_origin(&sink.journal, &origin, &whole.journal).unwrap(), 2);
    // The fork records another reply of `ask` than the origin; every hash is right, and no replay asks again.
    let untrue = recomputed(&forked, &sink.journal, |text| match text.contains(r#""step_id":"a""#) {
        true => text.replace(r#""produced":{"x":1}"#, r#""produced":{"x":2}"#),
        false => text.to_owned(),
    });
    assert!(untrue != sink.journal && check_chain(&untrue, NonZeroUsize::MIN).outcome.holds());
    let found = compare_origin(&untrue, &origin, &whole.journal).unwrap_err();
    assert_eq!(
        found.to_string(),
        "the result of step `a` in its record 1 is not the one that was carried over"
    );
    let lines: Vec<&[u8]> = whole.journal.split_inclusive(|byte| *byte == b'\n').collect();
    let cut = lines[..2].concat();
    assert!(matches!(compare_origin(&sink.journal, &origin, &cut), Err(LinkError::TooShort { .. })));
    let other = recomputed(&case, &whole.journal, |text| text.replace(r#""x":1"#, r#""x":3"#));
    assert!(matches!(compare_origin(&sink.journal, &origin, &other), Err(LinkError::OtherRecord { .. })));
    let damaged = String::from_utf8(whole.journal.clone()).unwrap().replacen("echo", "ecko", 1);
    assert!(matches!(
        compare_origin(&sink.journal, &origin, damaged.as_bytes()),
        Err(LinkError::Broken { line: 2, .. })
    ));
}

#[test]
fn what_a_rollback_left_behind_is_not_in_effect() {
    let case = Case::new(LINE, Links::default());
    let (_, mut sink) = case.run(&World::default(), &Kept::default());
    // The process was killed before the completion.
    let whole = sink.journal.trim_ascii_end().iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    sink.journal.truncate(whole);
    for mark in [
        Mark::Checkpoint { name: "one".into(), position: RecordIndex::new(1) },
        Mark::Rollback { name: "one".into() },
    ] {
        let (journal, world) = (sink.journal.clone(), World::default());
        let (problem, prepared) = (case.problem.clone(), &case.prepared);
        let run = Run::resume(
            SkillProgram::new(problem, prepared, &case.source, &world).unwrap(),
            &journal,
            &NoBlobs,
        )
        .unwrap();
        run.mark(&mark, &mut sink).unwrap();
    }
    let effective = effective_records(&sink.journal).unwrap();
    assert_eq!(effective.iter().map(|one| one.index.get()).collect::<Vec<_>>(), [1]);
    let (journal, world) = (sink.journal.clone(), World::default());
    let (problem, prepared) = (case.problem.clone(), &case.prepared);
    let run =
        Run::resume(SkillProgram::new(problem, prepared, &case.source, &world).unwrap(), &journal, &NoBlobs)
            .unwrap();
    drive(run, &Kept::default(), &mut sink);
    let effective = effective_records(&sink.journal).unwrap();
    assert_eq!(effective.iter().map(|one| one.index.get()).collect::<Vec<_>>(), [1, 7, 8, 9]);
    assert_eq!(shared_records(&effective, 2).last().unwrap().index.get(), 7);
    assert!(shared_records(&effective, 0).is_empty());
}
