//! Steps of the built-in pipeline that call a capability.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by failing")]

mod support;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hence_canon::{Object, Value, parse};
use hence_engine::{
    BoundCall, BoundReply, Callees, Determinism, Engine, Evidence, Finished, MemorySink, NoReply, Reason,
    Replay, Request, Run, RunError, Sink, without_defects,
};
use hence_journal::verify::{Completeness, Level};
use hence_state::{Profile, Status};
use support::{at, records};

/// A set of capabilities with a fixed output, which counts the calls.
struct World {
    output: Value,
    calls: AtomicU64,
    seen: std::sync::Mutex<Vec<Value>>,
}

impl World {
    fn giving(output: &str) -> Arc<Self> {
        let output = parse(output.as_bytes()).unwrap();
        Arc::new(Self { output, calls: AtomicU64::new(0), seen: std::sync::Mutex::default() })
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Callees for World {
    fn find(&self, capability: &str) -> Result<Determinism, String> {
        match capability {
            "source" | "down" => Ok(Determinism::Recorded),
            "pure" => Ok(Determinism::Deterministic),
            other => Err(format!("there is no capability `{other}`")),
        }
    }

    fn is_recomputed(&self, capability: &str) -> bool {
        capability == "pure"
    }

    fn call(&self, call: &BoundCall<'_>) -> Result<BoundReply, NoReply> {
        let calls = self.calls.fetch_add(1, Ordering::SeqCst);
        self.seen.lock().unwrap().push(call.input.clone());
        if &**call.capability == "down" {
            return Err(NoReply::Trouble("it does not answer".to_owned()));
        }
        // An outside source changes; a replay must not notice.
        let output = match (&**call.capability, &self.output) {
            ("source", Value::Object(object)) => object.with("at", calls).into(),
            (_, output) => output.clone(),
        };
        Ok(BoundReply { output, metrics: Object::from_iter([("tokens_in", 7)]) })
    }
}

fn problem(bindings: &str) -> Value {
    let text = format!(
        r#"{{"version":"1.0.0","id":"bound","created_at":"2026-02-02T00:00:00Z","inputs":{{"prompt":"Why  so?"}},
            "settings":{{"evidence_required":true,"bindings":{bindings}}}}}"#
    );
    parse(text.as_bytes()).unwrap()
}

fn engine(world: &Arc<World>) -> Engine {
    Engine::new().with_callees(world.clone())
}

#[expect(clippy::result_large_err, reason = "a test wants the journal of a run that did not end")]
fn run(engine: &Engine, problem: &Value) -> Result<(MemorySink, Finished), (MemorySink, RunError)> {
    let plan = engine.plan(&Request::of_value(problem.clone(), Profile::STRICT)).unwrap();
    let (run, header) = Run::start(Reason::new(plan)).unwrap();
    let mut sink = MemorySink::default();
    sink.append(&header).unwrap();
    match run.finish(&mut sink, |_| {}) {
        Ok(finished) => Ok((sink, finished)),
        Err(error) => Err((sink, error)),
    }
}

fn refused(bindings: &str) -> String {
    let world = World::giving("{}");
    let request = Request::of_value(problem(bindings), Profile::STRICT);
    engine(&world).plan(&request).err().unwrap().to_string()
}

fn replayed(engine: &Engine, sink: &MemorySink, problem: &Value) -> Replay {
    let document = without_defects(problem.clone());
    let evidence = Evidence { problem: Some(&document), ..Evidence::of_journal(&sink.journal, &sink.blobs) };
    engine.replay(&evidence).unwrap()
}

const EVIDENCE: &str = r#"{"AcquireEvidence": {"capability": "source"}}"#;
const FOUND: &str = r#"{"evidence": [{"id": "e1"}, {"id": "e2"}]}"#;

#[test]
fn evidence_comes_from_a_capability_and_is_recorded_with_what_it_took() {
    let world = World::giving(FOUND);
    let (sink, finished) = run(&engine(&world), &problem(EVIDENCE)).ok().unwrap();
    assert_eq!(finished.state.status(), Status::Completed);
    let state = finished.state.canonical();
    assert_eq!(at(state.value(), "/artifacts/evidence"), r#"[{"id":"e1"},{"id":"e2"}]"#);
    assert_eq!(at(state.value(), "/artifacts/verification/status"), r#""passed""#);
    let result = &records(&sink.journal)[3];
    assert_eq!(at(result, "/result/step"), r#""AcquireEvidence""#);
    assert_eq!(at(result, "/result/metrics"), r#"{"tokens_in":7}"#);
    // The input holds everything a step can see.
    let seen = world.seen.lock().unwrap().pop().unwrap();
    assert_eq!(at(&seen, "/problem/inputs/prompt"), r#""Why  so?""#);
    assert_eq!(at(&seen, "/artifacts/normalized/normalized_prompt"), r#""Why so?""#);
    assert_eq!((at(&seen, "/step"), at(&seen, "/step_index")), (r#""AcquireEvidence""#.into(), "2".into()));
}

#[test]
fn a_replay_reads_what_the_world_said_and_calls_nobody() {
    let world = World::giving(FOUND);
    let problem = problem(EVIDENCE);
    let (sink, _) = run(&engine(&world), &problem).ok().unwrap();
    // The run replays with and without the capability.
    for engine in [engine(&world), Engine::new()] {
        let replay = replayed(&engine, &sink, &problem);
        assert!(replay.difference.is_none(), "{:?}", replay.difference);
        assert_eq!((replay.executed, replay.read), (6, 1));
        let document = without_defects(problem.clone());
        let evidence = Evidence {
            problem: Some(&document),
            threads: NonZeroUsize::MIN,
            ..Evidence::of_journal(&sink.journal, &sink.blobs)
        };
        let report = engine.verify(&evidence, Level::Replay);
        assert!(
            report
                .levels
                .iter()
                .all(|level| !matches!(level.outcome, hence_journal::verify::Outcome::Broken(_)))
        );
        assert_eq!(report.completeness, Some(Completeness::Complete));
    }
    assert_eq!(world.calls(), 1);
}

#[test]
fn a_deterministic_capability_is_called_again_by_a_replay_that_has_it() {
    let world = World::giving(FOUND);
    let problem = problem(r#"{"AcquireEvidence": {"capability": "pure"}}"#);
    let (sink, _) = run(&engine(&world), &problem).ok().unwrap();
    let replay = replayed(&engine(&world), &sink, &problem);
    assert_eq!((replay.difference.is_none(), replay.executed, replay.read), (true, 7, 0));
    assert_eq!(world.calls(), 2);
    // A replay detects a capability that returns something else.
    let other = World::giving(r#"{"evidence": []}"#);
    let replay = replayed(&engine(&other), &sink, &problem);
    assert_eq!(replay.difference.unwrap().line, 3);
    // Without the capability, the recorded result is read.
    let replay = replayed(&Engine::new(), &sink, &problem);
    assert_eq!((replay.difference.is_none(), replay.read), (true, 1));
}

#[test]
fn a_run_whose_capability_fails_stops_before_the_step_and_goes_on_later() {
    let problem = problem(r#"{"Synthesize": {"capability": "down"}}"#);
    let world = World::giving("{}");
    let (sink, error) = run(&engine(&world), &problem).err().unwrap();
    assert_eq!(
        error.to_string(),
        "step Synthesize cannot be done now: capability `down`: it does not answer"
    );
    assert_eq!(records(&sink.journal).len(), 6);

    struct Up;
    impl Callees for Up {
        fn find(&self, _: &str) -> Result<Determinism, String> {
            Ok(Determinism::Recorded)
        }
        fn is_recomputed(&self, _: &str) -> bool {
            false
        }
        fn call(&self, _: &BoundCall<'_>) -> Result<BoundReply, NoReply> {
            let output = Object::from_iter([("summary", "all is well")]).into();
            Ok(BoundReply { output, metrics: Object::new() })
        }
    }
    let resume = |engine: &Engine, sink: &MemorySink| {
        let plan = engine.plan_of_journal(&sink.journal, &without_defects(problem.clone())).unwrap();
        let run = Run::resume(Reason::new(plan), &sink.journal, &sink.blobs).unwrap();
        assert!(!run.has_ended());
        run
    };
    // Nothing was recorded, so a replay of the journal finds no difference.
    let replay = replayed(&engine(&world), &sink, &problem);
    assert!(replay.difference.is_none());
    // Without the capability the run stops again with an error; with it, the run continues.
    let mut later = MemorySink { journal: sink.journal.clone(), ..MemorySink::default() };
    let error = resume(&Engine::new(), &sink).finish(&mut later, |_| {}).err().unwrap();
    assert_eq!(error.to_string(), "step Synthesize cannot be done now: there is no capability `down`");
    let up = Engine::new().with_callees(Arc::new(Up));
    let finished = resume(&up, &sink).finish(&mut later, |_| {}).unwrap();
    assert_eq!(finished.state.status(), Status::Completed);
    let plan = Engine::new().plan_of_journal(&later.journal, &without_defects(problem.clone())).unwrap();
    assert!(Run::resume(Reason::new(plan), &later.journal, &later.blobs).unwrap().has_ended());
    assert_eq!(world.calls(), 1);
}

#[test]
fn an_output_of_another_shape_stops_the_run_with_what_was_expected() {
    for (step, output, more, said) in [
        ("AcquireEvidence", r#"{"items": []}"#, "", "its output has nothing at `/evidence`"),
        (
            "AcquireEvidence",
            r#"{"evidence": ["a"]}"#,
            "",
            "expected a list of objects, found string as item 0",
        ),
        (
            "AcquireEvidence",
            r#"{"items": 1}"#,
            r#", "output": "/items""#,
            "expected a list of objects, found integer",
        ),
        (
            "Synthesize",
            r#"{"text": "x"}"#,
            "",
            "expected an object with `summary`, a text that is not empty, found none",
        ),
        (
            "Verify",
            r#"{"status": "maybe"}"#,
            "",
            "expected `status` to be `passed` or `failed`, found string",
        ),
    ] {
        let world = World::giving(output);
        let bindings = format!(r#"{{"{step}": {{"capability": "pure"{more}}}}}"#);
        let (_, error) = run(&engine(&world), &problem(&bindings)).err().unwrap();
        assert_eq!(error.to_string(), format!("step {step} cannot be done now: capability `pure`: {said}"));
    }
}

#[test]
fn an_input_can_be_chosen_and_an_output_taken_from_anywhere() {
    let world = World::giving(r#"{"reply": {"text": {"summary": "short"}}}"#);
    let bindings = r#"{"Synthesize": {"capability": "pure", "output": "/reply/text", "timeout_seconds": 0.5,
        "input": {"tasks": {"at": "/artifacts/decomposition/tasks"}, "style": {"value": {"at": "x"}}}}}"#;
    let (_, finished) = run(&engine(&world), &problem(bindings)).ok().unwrap();
    assert_eq!(at(finished.state.canonical().value(), "/artifacts/synthesis/summary"), r#""short""#);
    let seen = world.seen.lock().unwrap().pop().unwrap();
    assert_eq!(seen.to_string(), r#"{"style":{"at":"x"},"tasks":["Why so?"]}"#);
    // A missing value fails the step, as for any other step whose input is not available.
    let bindings = r#"{"Normalize": {"capability": "pure", "input": {"a": {"at": "/artifacts/none"}}}}"#;
    let (sink, finished) = run(&engine(&world), &problem(bindings)).ok().unwrap();
    assert_eq!(finished.state.status(), Status::Failed);
    assert!(
        at(&records(&sink.journal)[1], "/result/errors/0/message")
            .contains("nothing is at `/artifacts/none`")
    );
}

#[test]
fn a_binding_that_cannot_be_is_refused_before_anything_runs() {
    for (bindings, said) in [
        (r#"{"Acquire": {"capability": "pure"}}"#, "expected one of the steps Normalize, Decompose"),
        (r#"{"Audit": {"capability": "pure"}}"#, "Audit accounts for the run itself"),
        (r#"{"Verify": {"capability": "none"}}"#, "there is no capability `none`"),
        (r#"{"Verify": {}}"#, "settings.bindings.Verify.capability"),
        (r#"{"Verify": {"capability": "pure", "shell": 1}}"#, "settings.bindings.Verify.shell"),
        (r#"{"Verify": {"capability": "pure", "input": {"a": "b"}}}"#, "an object with `at` or `value`"),
        (r#"{"Verify": {"capability": "pure", "output": "status"}}"#, "a JSON pointer"),
        (r#"{"Verify": {"capability": "pure", "timeout_seconds": 0}}"#, "a number of seconds above 0"),
        ("[]", "settings.bindings"),
    ] {
        let found = refused(bindings);
        assert!(found.contains(said), "{bindings}: {found}");
    }
    let request = Request::of_value(problem(EVIDENCE), Profile::STRICT);
    let found = Engine::new().plan(&request).err().unwrap().to_string();
    assert!(found.contains("there is no capability `source`"), "{found}");
}

#[test]
fn a_loop_calls_its_capability_once_in_each_iteration() {
    let text = r#"{"version":"1.0.0","id":"loop","created_at":"2026-02-02T00:00:00Z","inputs":{"prompt":"p"},
        "settings":{"bindings":{"AcquireEvidence":{"capability":"source"}},"loop":{"enabled":true,
            "start_step":"AcquireEvidence","end_step":"Verify","max_iterations":5,
            "stop_condition":{"path":"artifacts.verification.evidence_count","operator":"gte","value":6}}}}"#;
    let world = World::giving(FOUND);
    let problem = parse(text.as_bytes()).unwrap();
    let (sink, finished) = run(&engine(&world), &problem).ok().unwrap();
    assert_eq!((finished.state.status(), world.calls()), (Status::Completed, 3));
    let replay = replayed(&Engine::new(), &sink, &problem);
    assert_eq!((replay.difference.is_none(), replay.read), (true, 3));
}
