//! Problems whose steps work them out: what each step sees, and what an old journal keeps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by failing")]

mod support;

use std::sync::{Arc, Mutex};

use hence_canon::{Object, Value, parse};
use hence_engine::{
    BoundCall, BoundReply, Callees, Determinism, Engine, Evidence, MemorySink, NoReply, without_defects,
};
use hence_journal::verify::{Level, Outcome};
use hence_state::Profile;
use support::{at, looping, problem, records, run};

/// Capabilities that note the evidence they are shown. `propose` is a source from outside, `add` a pure function.
#[derive(Default)]
struct Seen(Mutex<Vec<usize>>);

impl Callees for Seen {
    fn find(&self, capability: &str) -> Result<Determinism, String> {
        match capability {
            "propose" => Ok(Determinism::Recorded),
            "add" => Ok(Determinism::Deterministic),
            other => Err(format!("there is no capability `{other}`")),
        }
    }

    fn is_recomputed(&self, capability: &str) -> bool {
        capability == "add"
    }

    fn compute(&self, _: &str, input: &Value) -> Result<Value, String> {
        let number = |key: &str| input.get(key).and_then(Value::as_u64).ok_or(format!("no `{key}`"));
        Ok(Object::from_iter([("sum", number("left")? + number("right")?)]).into())
    }

    fn call(&self, call: &BoundCall<'_>) -> Result<BoundReply, NoReply> {
        let shown = call.input.pointer(&"/artifacts/evidence".parse().unwrap()).unwrap();
        self.0.lock().unwrap().push(shown.as_array().unwrap().len());
        let output =
            parse(br#"{"conclusions": [{"task": "goal_1", "value": 7, "evidence": ["e0"]}]}"#).unwrap();
        (call.accepts)(&output).map_err(NoReply::Trouble)?;
        Ok(BoundReply { output, metrics: Object::new() })
    }
}

fn verify(engine: &Engine, problem: &Value, sink: &MemorySink) {
    let document = without_defects(problem.clone());
    let evidence = Evidence { problem: Some(&document), ..Evidence::of_journal(&sink.journal, &sink.blobs) };
    let report = engine.verify(&evidence, Level::Replay);
    for level in [Level::Linked, Level::Spec, Level::Replay] {
        assert_eq!(report.outcome(level), Some(&Outcome::Holds), "{level:?}: {report:?}");
    }
}

#[test]
fn a_bound_step_sees_all_evidence_so_far() {
    let seen = Arc::new(Seen::default());
    let engine = Engine::new().with_callees(seen.clone());
    let bound = r#","bindings":{"Compute":{"capability":"propose"}}}"#;
    let settings = looping(4, 4, 1);
    let problem = problem(&format!("{}{bound}", settings.strip_suffix('}').unwrap()), 4);
    let (_, finished) = run(&engine, &problem, Profile::STRICT_2);
    assert_eq!(*seen.0.lock().unwrap(), [1, 2, 3, 4]);
    // The claim cites an item that supports nothing, so it is rejected and on record.
    let state = finished.state.canonical();
    let newest =
        state.value().pointer(&"/artifacts/iterations".parse().unwrap()).unwrap().as_array().unwrap();
    let verification = newest.iter().rfind(|entry| at(entry, "/step") == r#""Verify""#).unwrap();
    assert!(at(verification, "/output/rejected/0/reason").contains("does not support"), "{verification}");
    assert_eq!(at(verification, "/output/status"), r#""failed""#);
}

#[test]
fn methods_compute_and_assumptions_enter_the_state() {
    let problem = parse(
        br#"{"version":"1.0.0","id":"case","created_at":"2026-02-02T00:00:00Z","inputs":{"prompt":"How many?",
            "assumptions":["nobody hides"],"context":{"rooms":2,"evidence":[{"id":"a","people":3}]},
            "tasks":[{"id":"all","goal":"How many","method":{"capability":"add","input":{"left":{"at":"/evidence/a/people"},
                "right":{"at":"/context/rooms"}},"output":"/sum"}},
              {"id":"odd","goal":"Another","method":"tasks.nowhere ?? tasks.all"}]},
            "settings":{"verification_paths":[{"name":"some","expression":"tasks.all == 5"}]}}"#,
    )
    .unwrap();
    let engine = Engine::new().with_callees(Arc::new(Seen::default()));
    let refused = engine.plan(&hence_engine::Request::of_value(problem.clone(), Profile::STRICT_2));
    let refused = refused.err().unwrap();
    assert!(format!("{refused} {refused:?}").contains("there is no task `nowhere`"), "{refused:?}");
    let problem =
        parse(problem.to_string().replace("tasks.nowhere ?? tasks.all", "tasks.all").as_bytes()).unwrap();
    let (sink, finished) = run(&engine, &problem, Profile::STRICT_2);
    let state = finished.state.canonical();
    let value = state.value();
    assert_eq!(at(value, "/assumptions"), r#"["nobody hides"]"#);
    assert_eq!(at(value, "/artifacts/computation/conclusions/0/value"), "5");
    assert_eq!(at(value, "/artifacts/computation/conclusions/1/evidence"), r#"["a"]"#);
    assert_eq!(at(value, "/artifacts/verification/status"), r#""passed""#);
    assert_eq!(at(&records(&sink.journal)[0], "/profile"), r#""strict-2""#);
    verify(&engine, &problem, &sink);
    // Without the function the same problem is refused, and with the old steps it is only counted.
    assert!(
        Engine::new().plan(&hence_engine::Request::of_value(problem.clone(), Profile::STRICT_2)).is_err()
    );
}

#[test]
fn journals_of_the_old_profile_keep_their_steps() {
    let problem = problem(&looping(2, 3, 1), 2);
    let engine = Engine::new();
    let (sink, finished) = run(&engine, &problem, Profile::STRICT);
    assert_eq!(
        at(finished.state.canonical().value(), "/artifacts/synthesis/summary"),
        r#""Processed 2 task(s).""#
    );
    assert_eq!(at(&records(&sink.journal)[0], "/profile"), r#""strict""#);
    verify(&engine, &problem, &sink);
    let (sink, finished) = run(&engine, &problem, Profile::STRICT_2);
    let status = at(finished.state.canonical().value(), "/artifacts/verification/status");
    assert_eq!(status, r#""unjudged""#);
    verify(&engine, &problem, &sink);
}

/// Returns the verification of a problem with one path.
fn status_of(context: &str, path: &str, settings: &str) -> (String, String) {
    let text = format!(
        r#"{{"version":"1.0.0","id":"case","created_at":"2026-02-02T00:00:00Z","inputs":{{"prompt":"Is it so?","context":{context},
            "tasks":[{{"id":"t","goal":"It","method":"context.a"}}]}},
            "settings":{{"verification_paths":[{{"name":"p","expression":"{path}"}}]{settings}}}}}"#
    );
    let problem = parse(text.as_bytes()).unwrap();
    let engine = Engine::new();
    let (sink, finished) = run(&engine, &problem, Profile::STRICT_2);
    verify(&engine, &problem, &sink);
    let value = finished.state.canonical().value().clone();
    (at(&value, "/artifacts/verification/status"), at(&value, "/artifacts/verification/reasons"))
}

#[test]
fn a_path_that_reads_nothing_is_not_judged() {
    let context = r#"{"a":1,"nil":null,"empty":[]}"#;
    for (path, status) in [
        ("context.missing ?? true", "unjudged"),
        ("true or context.a == 1", "unjudged"),
        ("false and context.a == 1 or true", "unjudged"),
        ("context.a == 1 or (context.missing ?? 2) == 1", "passed"),
        ("context.a ?? false", "unjudged"),
        ("(context.a ?? 0) == 1", "passed"),
        ("context.nil == null", "passed"),
        ("context.empty == []", "passed"),
        ("(context.missing ?? 1) == tasks.t", "passed"),
    ] {
        let (found, reasons) = status_of(context, path, "");
        assert_eq!(found, format!("\"{status}\""), "{path}: {reasons}");
    }
}

#[test]
fn order_is_exact_at_any_size() {
    let context = r#"{"a":9007199254740993,"b":9007199254740992,"f":9007199254740992.0,
        "x":123456789012345678901234567891,"y":123456789012345678901234567890,"s":"9007199254740993"}"#;
    for (path, holds) in [
        ("context.a <= context.b", false),
        ("context.a > context.b", true),
        ("context.b >= 9007199254740993", false),
        ("context.x > context.y", true),
        ("context.a > context.f", true),
        ("context.f < context.a", true),
        ("context.f >= context.a", false),
        ("context.s > context.b", true),
        ("context.s <= context.f", false),
    ] {
        let (found, reasons) = status_of(context, path, "");
        let status = if holds { "\"passed\"" } else { "\"failed\"" };
        assert_eq!(found, status, "{path}: {reasons}");
    }
}

#[test]
fn evidence_that_is_left_out_is_said() {
    let context = r#"{"a":1,"evidence":[{"id":"e0"},{"id":"e1"},{"id":"e2"}]}"#;
    let (status, reasons) = status_of(context, "context.a == 1", r#","evidence_batch":2"#);
    assert_eq!(status, r#""unjudged""#);
    assert!(reasons.contains("1 of 3 items of evidence were not taken"), "{reasons}");
    assert_eq!(status_of(context, "context.a == 1", r#","evidence_batch":3"#).0, r#""passed""#);
}
