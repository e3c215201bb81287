//! Runs of skills as journals: timing has no effect, a cut journal can be resumed, a replay calls nothing that is
//! recorded.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

mod support;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hence_canon::{Canonical, Object, Value};
use hence_cognition::capability::{CapabilitySpec, Registry};
use hence_cognition::run::{Call, CallError, Capabilities, Prepared, Reply};
use hence_cognition::schedule::FailureMode;
use hence_cognition::skill::Skill;
use hence_engine::{Determinism, Evidence, MemorySink, Run, Sink, replay};
use hence_journal::verify::{check_chain, check_linked, check_spec};
use hence_skills::{Host, LinkedRuns, NewSkillRun, SkillJournal, SkillProgram, finish};
use hence_state::{ProblemSpec, Status};
use support::{Made, Worker, document, made, new_run};

/// Capabilities: `echo` returns its input after a delay, `ask` too but is recorded, `fail` fails, `big` returns 20
/// KiB.
#[derive(Default)]
struct World {
    calls: AtomicU64,
    asked: AtomicU64,
    jitter: u64,
}

impl Registry for World {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        ["echo", "ask", "fail", "big", "count"].contains(&id).then(|| Arc::new(CapabilitySpec::default()))
    }

    fn skill(&self, id: &str) -> Option<Arc<Skill>> {
        (id == "inner").then(|| {
            let steps =
                r#"[{"id": "n", "uses": "echo", "input": {"x": "inputs.x"}, "output": {"x": "outputs.x"}}]"#;
            Arc::new(Skill::read(&document("inner", steps)).skill.unwrap())
        })
    }
}

impl Host for World {
    fn determinism(&self, capability: &str) -> Determinism {
        if capability == "ask" { Determinism::Recorded } else { Determinism::Deterministic }
    }

    fn worker(&self) -> Box<dyn Capabilities + Send + '_> {
        Box::new(Worker(self))
    }
}

impl support::World for World {
    fn carry_out(&self, call: &Call<'_>) -> Result<Reply, CallError> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst);
        if self.jitter > 0 {
            // Delays that differ from call to call and from run to run.
            let mixed = (number + self.jitter).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
            std::thread::sleep(Duration::from_micros(mixed));
        }
        let meta = Object::from_iter([("latency_ms", number)]);
        let output = match &**call.capability {
            "fail" => return Err(CallError::Failed { class: "Broken".into(), message: "no".into() }),
            "ask" => {
                self.asked.fetch_add(1, Ordering::SeqCst);
                call.input.clone()
            }
            "big" => Object::from_iter([("text", "x".repeat(20 * 1024))]).into(),
            "count" => {
                let next = call.input.get("n").and_then(Value::as_u64).unwrap_or(0) + 1;
                Object::from_iter([("n", next)]).into()
            }
            _ => call.input.clone(),
        };
        Ok(Reply { output, meta: if &**call.capability == "ask" { meta } else { Object::new() } })
    }
}

struct Case {
    problem: Arc<ProblemSpec>,
    prepared: Prepared,
    source: Canonical,
}

impl Case {
    fn new(steps: &str, on_failure: FailureMode) -> Self {
        let source = Canonical::of(&document("main", steps));
        let asked = NewSkillRun { on_failure, ..new_run("run-1") };
        let Made { problem, prepared, source } = made(source, &World::default(), &asked);
        Self { problem, prepared, source }
    }

    fn run(&self, world: &World, workers: usize) -> (Status, MemorySink) {
        let (run, header) =
            Run::start(SkillProgram::new(self.problem.clone(), &self.prepared, &self.source, world).unwrap())
                .unwrap();
        let mut sink = MemorySink::default();
        sink.append(&header).unwrap();
        let run = finish(run, NonZeroUsize::new(workers).unwrap(), &mut sink, |_| {}).unwrap();
        (run.state().status(), sink)
    }

    /// Checks the invariants of every run: levels, replay, and resuming from every record.
    fn check(&self, expected: Status) -> MemorySink {
        let world = World::default();
        let (status, sink) = self.run(&world, 4);
        assert_eq!(status, expected);
        let journal = &sink.journal;
        assert!(check_chain(journal, NonZeroUsize::MIN).outcome.holds());
        let evidence = Evidence::of_journal(journal, &sink.blobs);
        let skill = SkillJournal {
            problem: &self.problem,
            prepared: &self.prepared,
            source: &self.source,
            host: &world,
            evidence: &evidence,
            linked: LinkedRuns::NotCompared,
        };
        assert!(check_linked(journal, &skill).outcome.holds());
        let spec = check_spec(journal, &skill, &self.problem);
        assert!(spec.outcome.holds() && spec.unchecked.is_empty(), "{:?} {:?}", spec.outcome, spec.unchecked);

        let again = World::default();
        let program = SkillProgram::new(self.problem.clone(), &self.prepared, &self.source, &again).unwrap();
        let found = replay(program, &evidence).unwrap();
        assert!(found.difference.is_none(), "{:?}", found.difference);
        assert_eq!(again.asked.load(Ordering::SeqCst), 0, "a replay asks nobody");

        let ends: Vec<usize> =
            (0..journal.len()).filter(|at| journal[*at] == b'\n').map(|at| at + 1).collect();
        let asked_in_all = world.asked.load(Ordering::SeqCst);
        for (records, end) in ends.iter().enumerate() {
            let world = World::default();
            let part = &journal[..*end];
            let run = Run::resume(
                SkillProgram::new(self.problem.clone(), &self.prepared, &self.source, &world).unwrap(),
                part,
                sink.blobs(),
            )
            .unwrap();
            let mut onward = MemorySink { journal: part.to_vec(), blobs: sink.blobs.clone() };
            if run.has_ended() {
                assert_eq!(records + 1, ends.len());
            } else {
                finish(run, NonZeroUsize::new(2).unwrap(), &mut onward, |_| {}).unwrap();
            }
            assert!(&onward.journal == journal, "taken up behind record {records}");
            assert!(world.asked.load(Ordering::SeqCst) <= asked_in_all);
        }
        sink
    }
}

const PARALLEL: &str = r#"[
    {"id": "a", "uses": "echo", "input": {"v": 1}, "output": {"v": "vars.a"}, "config": {"depends_on": []}},
    {"id": "b", "uses": "ask", "input": {"v": 2}, "output": {"v": "vars.b"}, "config": {"depends_on": []}},
    {"id": "c", "uses": "echo", "input": {"v": 3}, "output": {"v": "vars.c"}, "config": {"depends_on": []}},
    {"id": "d", "uses": "ask", "input": {"v": 4}, "output": {"v": "vars.d"}, "config": {"depends_on": []}},
    {"id": "e", "uses": "echo", "input": {"l": "vars.a", "r": "vars.d"}, "output": {"l": "vars.e"}, "config": {"depends_on": ["a", "d"]}},
    {"id": "f", "uses": "echo", "input": {"l": "vars.b", "r": "vars.c"}, "output": {"r": "vars.f"}, "config": {"depends_on": ["b", "c"]}},
    {"id": "g", "uses": "echo", "input": {"l": "vars.e", "r": "vars.f"}, "output": {"l": "outputs.l", "r": "outputs.r"}, "config": {"depends_on": ["e", "f"]}}
]"#;

#[test]
fn a_parallel_skill_gives_one_journal_whatever_the_timing() {
    let case = Case::new(PARALLEL, FailureMode::FailFast);
    let journal = |workers: usize, jitter: u64| {
        let world = World { jitter, ..World::default() };
        case.run(&world, workers).1.journal
    };
    let first = Canonical::of(&Value::from(String::from_utf8(journal(1, 0)).unwrap())).digest();
    for round in 0..100 {
        let workers = [1, 2, 8][round % 3];
        let found = journal(workers, round as u64 + 1);
        let digest = Canonical::of(&Value::from(String::from_utf8(found).unwrap())).digest();
        assert_eq!(digest, first, "round {round} with {workers} workers");
    }
}

#[test]
fn a_parallel_skill_holds_in_every_way() {
    Case::new(PARALLEL, FailureMode::FailFast).check(Status::Completed);
}

#[test]
fn a_failing_step_ends_the_run_or_only_its_branch() {
    let steps = r#"[
        {"id": "a", "uses": "ask", "input": {"v": 1}, "output": {"v": "vars.a"}, "config": {"depends_on": []}},
        {"id": "bad", "uses": "fail", "config": {"depends_on": []}},
        {"id": "behind", "uses": "echo", "config": {"depends_on": ["bad"]}},
        {"id": "apart", "uses": "echo", "input": {"v": "vars.a"}, "output": {"v": "outputs.v"}, "config": {"depends_on": ["a"]}}
    ]"#;
    Case::new(steps, FailureMode::FailFast).check(Status::Failed);
    let sink = Case::new(steps, FailureMode::Continue).check(Status::Completed);
    let text = String::from_utf8(sink.journal).unwrap();
    assert!(text.contains(r#""step_id":"apart""#) && !text.contains(r#""step_id":"behind""#));
}

#[test]
fn every_kind_of_flow_holds_in_every_way() {
    let steps = r#"[
        {"id": "start", "uses": "count", "input": {"n": 0}, "output": {"n": "vars.n"}},
        {"id": "skipped", "uses": "ask", "config": {"condition": "vars.n > 5"}},
        {"id": "each", "uses": "echo", "input": {}, "output": {"item": "vars.items"}, "config": {"foreach": {"items": "[1, 2, 3]", "parallel": 2}}},
        {"id": "loop", "uses": "count", "input": {"n": "vars.n"}, "output": {"n": "vars.n"}, "config": {"while": {"condition": "vars.n < 4", "max_iterations": 9}}},
        {"id": "route", "uses": "echo", "input": {"v": 1}, "output": {"v": "vars.routed"}, "config": {"router": {"on": "vars.n", "cases": {"4": "ask"}, "default": "echo"}}},
        {"id": "spread", "uses": "echo", "input": {"v": 1}, "config": {"scatter": {"capabilities": ["echo", "ask"]}}},
        {"id": "nested", "uses": "skill:inner", "input": {"x": 7}, "output": {"x": "outputs.x"}}
    ]"#;
    Case::new(steps, FailureMode::FailFast).check(Status::Completed);
}

#[test]
fn a_large_output_is_kept_outside_the_journal() {
    let steps = r#"[{"id": "a", "uses": "big", "output": {"text": "vars.t"}}, {"id": "b", "uses": "echo", "input": {"v": 1}}]"#;
    let sink = Case::new(steps, FailureMode::FailFast).check(Status::Completed);
    assert_eq!(sink.blobs.len(), 1);
    assert!(sink.journal.len() < 20 * 1024);
}

#[test]
fn an_altered_outcome_breaks_the_chain_and_is_not_resumed() {
    let case = Case::new(PARALLEL, FailureMode::FailFast);
    let (_, sink) = case.run(&World::default(), 2);
    let text = String::from_utf8(sink.journal).unwrap().replacen(r#""v":2"#, r#""v":9"#, 1);
    assert!(!check_chain(text.as_bytes(), NonZeroUsize::MIN).outcome.holds());
    let world = World::default();
    let resumed = Run::resume(
        SkillProgram::new(case.problem.clone(), &case.prepared, &case.source, &world).unwrap(),
        text.as_bytes(),
        &sink.blobs,
    );
    assert!(resumed.is_err());
}
