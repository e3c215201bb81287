//! Skills with policies: a blocked step is recorded, called again on a retry, and replayed to the byte.

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

use hence_canon::{Canonical, Object, Value, parse};
use hence_cognition::capability::{CapabilitySpec, Registry};
use hence_cognition::run::{Call, CallError, Capabilities, Prepared, Reply};
use hence_cognition::skill::Skill;
use hence_engine::{
    Blocked, Determinism, Driven, Evidence, FinalVerdict, Gate, GateError, Judgement, MemorySink, NoMeter,
    Run, Sink, observe_journal, replay,
};
use hence_journal::verify::{Completeness, check_linked, check_spec};
use hence_journal::{Reader, Record, RecordIndex};
use hence_skills::{
    CallLog, Driver, Effect, Host, LinkedRuns, NeverStop, NewSkillRun, SkillJournal, SkillProgram, SkillRun,
    recorded_outcome,
};
use hence_state::{POLICY_VIOLATION, ProblemSpec, StepError, StepResult};
use support::{Made, Worker, made, new_run};

/// Capabilities: `test` returns how often it was called, and is recorded; `echo` returns its input. `test` acts, unless the
/// second member says otherwise.
#[derive(Default)]
struct World(AtomicU64, Option<Effect>);

impl Registry for World {
    fn capability(&self, id: &str) -> Option<Arc<CapabilitySpec>> {
        ["test", "echo"].contains(&id).then(|| Arc::new(CapabilitySpec::default()))
    }

    fn skill(&self, _: &str) -> Option<Arc<Skill>> {
        None
    }
}

impl Host for World {
    fn determinism(&self, capability: &str) -> Determinism {
        if capability == "test" { Determinism::Recorded } else { Determinism::Deterministic }
    }

    fn effect(&self, capability: &str) -> Effect {
        if capability == "test" { self.1.unwrap_or(Effect::Acts) } else { Effect::Pure }
    }

    fn worker(&self) -> Box<dyn Capabilities + Send + '_> {
        Box::new(Worker(self))
    }
}

impl support::World for World {
    fn carry_out(&self, call: &Call<'_>) -> Result<Reply, CallError> {
        let output = match &**call.capability {
            "test" => Object::from_iter([("run", self.0.fetch_add(1, Ordering::SeqCst) + 1)]).into(),
            _ => call.input.clone(),
        };
        Ok(Reply { output, meta: Object::new() })
    }
}

/// A gate that blocks `test` while it returns a smaller number than the policies ask for.
struct AtLeast(u64);

impl Gate for AtLeast {
    fn set_policies(&mut self, _: RecordIndex, policies: &Value) -> Result<(), GateError> {
        self.0 = policies.get("at_least").and_then(Value::as_u64).unwrap_or(0);
        Ok(())
    }

    fn judge(&mut self, _: RecordIndex, result: &StepResult) -> Judgement {
        let outcome = recorded_outcome(result, &hence_engine::NoBlobs).unwrap();
        let run = outcome.produced.and_then(|output| output.get("run").and_then(Value::as_u64));
        let blocks = match run {
            Some(run) if run < self.0 => {
                vec![StepError::new(POLICY_VIOLATION, format!("{run} < {}", self.0))]
            }
            _ => Vec::new(),
        };
        Judgement { blocks, remarks: Vec::new() }
    }

    fn precheck(&mut self, _: RecordIndex, result: &StepResult) -> Judgement {
        let blocks = match &**result.step() {
            "test" if self.0 > 100 => vec![StepError::new(POLICY_VIOLATION, "never")],
            _ => Vec::new(),
        };
        Judgement { blocks, remarks: Vec::new() }
    }

    fn observe(&mut self, _: RecordIndex, _: &Record) {}

    fn final_verdict(&mut self) -> FinalVerdict {
        FinalVerdict { blocks: Vec::new(), verdicts: Object::new().into() }
    }
}

struct Case {
    problem: Arc<ProblemSpec>,
    prepared: Prepared,
    source: Canonical,
    policies: Value,
}

const STEPS: &str = r#"{"id": "main", "version": "1.0.0", "name": "N", "description": "D", "inputs": {}, "outputs": {},
    "steps": [
        {"id": "build", "uses": "echo", "input": {"v": 1}, "output": {"v": "vars.built"}},
        {"id": "test", "uses": "test", "output": {"run": "vars.run"}},
        {"id": "ship", "uses": "echo", "input": {"v": "vars.run"}, "output": {"v": "vars.shipped"}}]}"#;

impl Case {
    fn new(at_least: u64) -> Self {
        let source = Canonical::of(&parse(STEPS.as_bytes()).unwrap());
        let policies = at_least_policies(at_least);
        let asked = NewSkillRun { policies: Some(Canonical::of(&policies).digest()), ..new_run("run-1") };
        let Made { problem, prepared, source } = made(source, &World::default(), &asked);
        Self { problem, prepared, source, policies }
    }

    fn program<'a>(&'a self, world: &'a World) -> SkillProgram<'a> {
        SkillProgram::new(self.problem.clone(), &self.prepared, &self.source, world).unwrap()
    }

    fn drive(&self, run: SkillRun<'_, '_>, sink: &mut MemorySink) -> Option<Blocked> {
        let log = CallLog::in_memory();
        let workers = NonZeroUsize::new(2).unwrap();
        let driver = Driver {
            workers,
            log: &log,
            stop: &NeverStop,
            children: &hence_skills::NoChildRuns,
            meter: &NoMeter,
        };
        match driver.drive(run, sink, |_| {}).unwrap() {
            Driven::Finished(_) => None,
            Driven::Blocked(_, blocked) => Some(blocked),
            Driven::Paused(..) => panic!("nobody was asked"),
        }
    }

    fn start(&self, world: &World) -> (MemorySink, Option<Blocked>) {
        let (run, header) = Run::start(self.program(world)).unwrap();
        let mut run = run.with_gate(Some(Box::new(AtLeast(0))));
        let mut sink = MemorySink::default();
        sink.append(&header).unwrap();
        run.install_policies(&self.policies, &mut sink).unwrap();
        let blocked = self.drive(run, &mut sink);
        (sink, blocked)
    }

    fn resume(
        &self,
        world: &World,
        mut sink: MemorySink,
        amended: Option<&Value>,
    ) -> (MemorySink, Option<Blocked>) {
        let journal = sink.journal.clone();
        let run = Run::resume(self.program(world), &journal, &sink.blobs).unwrap();
        let mut gate = AtLeast(0);
        observe_journal(&mut gate, &journal, &sink.blobs).unwrap();
        let mut run = run.with_gate(Some(Box::new(gate)));
        if let Some(amended) = amended {
            run.install_policies(amended, &mut sink).unwrap();
        }
        let blocked = self.drive(run, &mut sink);
        (sink, blocked)
    }

    fn holds(&self, world: &World, sink: &MemorySink, completeness: Completeness) {
        let world = World(AtomicU64::new(0), world.1);
        let open = || -> Result<Box<dyn Gate>, GateError> { Ok(Box::new(AtLeast(0))) };
        let evidence = Evidence { gate: Some(&open), ..Evidence::of_journal(&sink.journal, &sink.blobs) };
        let journal = SkillJournal {
            problem: &self.problem,
            prepared: &self.prepared,
            source: &self.source,
            host: &world,
            evidence: &evidence,
            linked: LinkedRuns::NotCompared,
        };
        let linked = check_linked(&sink.journal, &journal);
        assert!(linked.outcome.holds(), "{:?}", linked.outcome);
        let spec = check_spec(&sink.journal, &journal, &self.problem);
        assert!(spec.outcome.holds(), "{:?}", spec.outcome);
        assert_eq!(spec.completeness, completeness);
        let found = replay(self.program(&world), &evidence).unwrap();
        assert!(found.difference.is_none(), "{:?}", found.difference);
        assert_eq!(world.0.load(Ordering::SeqCst), 0, "a replay asks nobody");
    }
}

fn at_least_policies(at_least: u64) -> Value {
    Object::from_iter([("at_least", at_least)]).into()
}

fn steps(sink: &MemorySink) -> Vec<String> {
    let (_, reader) = Reader::open(&sink.journal).unwrap();
    reader
        .map(|chained| match chained.unwrap().record {
            Record::Step(step) => {
                format!("{} {}", step.result.step(), step.result.outcome().status().as_str())
            }
            _ => "control".to_owned(),
        })
        .collect()
}

#[test]
fn a_blocked_step_that_reads_is_executed_again_until_the_cause_is_fixed() {
    let (case, world) = (Case::new(3), World(AtomicU64::new(0), Some(Effect::Reads)));
    let (sink, blocked) = case.start(&world);
    assert_eq!(blocked.unwrap().to_string(), "record 3: step test was executed, then blocked: 1 < 3");
    case.holds(&world, &sink, Completeness::Incomplete);
    let (sink, blocked) = case.resume(&world, sink, None);
    assert_eq!(blocked.unwrap().why(), "2 < 3");
    case.holds(&world, &sink, Completeness::Incomplete);
    let (sink, blocked) = case.resume(&world, sink, None);
    assert_eq!(blocked, None);
    case.holds(&world, &sink, Completeness::Complete);
    assert_eq!(
        steps(&sink),
        [
            "$policies success",
            "build success",
            "test failed",
            "test failed",
            "test success",
            "ship success",
            "$verdicts success",
            "control"
        ]
    );
}

#[test]
fn other_policies_judge_what_was_given_and_call_nothing_twice() {
    let (case, world) = (Case::new(3), World::default());
    let (sink, blocked) = case.start(&world);
    assert!(blocked.is_some());
    let (sink, blocked) = case.resume(&world, sink, Some(&at_least_policies(2)));
    assert_eq!(blocked.unwrap().why(), "1 < 2");
    case.holds(&world, &sink, Completeness::Incomplete);
    let (sink, blocked) = case.resume(&world, sink, Some(&at_least_policies(1)));
    assert_eq!(blocked, None);
    assert_eq!(world.0.load(Ordering::SeqCst), 1, "the step was called once");
    case.holds(&world, &sink, Completeness::Complete);
}

#[test]
fn every_cut_of_a_guarded_journal_is_taken_up_to_the_same_bytes() {
    let case = Case::new(1);
    let (whole, blocked) = case.start(&World::default());
    assert_eq!(blocked, None);
    let lines: Vec<&[u8]> = whole.journal.split_inclusive(|byte| *byte == b'\n').collect();
    for kept in 2..lines.len() {
        let cut = MemorySink { journal: lines[..kept].concat(), blobs: whole.blobs.clone() };
        let (taken_up, blocked) = case.resume(&World::default(), cut, None);
        assert_eq!(blocked, None);
        assert_eq!(taken_up.journal, whole.journal, "cut behind {kept} records");
    }
}

#[test]
fn a_step_that_is_blocked_whatever_it_gives_is_not_executed() {
    let (case, world) = (Case::new(101), World::default());
    let (sink, blocked) = case.start(&world);
    assert_eq!(blocked.unwrap().why(), "never");
    assert_eq!(world.0.load(Ordering::SeqCst), 0, "nothing was called");
    case.holds(&world, &sink, Completeness::Incomplete);
    let (sink, blocked) = case.resume(&world, sink, None);
    assert!(blocked.is_some());
    assert_eq!(world.0.load(Ordering::SeqCst), 0, "nothing was called");
    case.holds(&world, &sink, Completeness::Incomplete);
    // When the step is allowed, it is executed, and its result is judged.
    let (sink, blocked) = case.resume(&world, sink, Some(&at_least_policies(2)));
    assert_eq!(blocked.unwrap().why(), "1 < 2");
    // What has acted is not executed again.
    let (sink, blocked) = case.resume(&world, sink, None);
    assert_eq!(blocked.unwrap().why(), "1 < 2");
    case.holds(&world, &sink, Completeness::Incomplete);
    let (sink, blocked) = case.resume(&world, sink, Some(&at_least_policies(1)));
    assert_eq!(blocked, None);
    case.holds(&world, &sink, Completeness::Complete);
    assert_eq!(world.0.load(Ordering::SeqCst), 1);
}
