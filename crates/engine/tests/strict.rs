//! The strict profile: requirements of the documents that other engines do not meet.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by failing")]

mod support;

use std::sync::Arc;

use hence_canon::{Value, parse};
use hence_engine::{Engine, InputUnavailable, Model, Request, Step, View};
use hence_state::{ModelRequest, Profile, Status, StepError, dotted};
use support::{at, looping, problem, records, run};

#[test]
fn the_header_carries_index_profile_and_clock() {
    let (sink, _) = run(&Engine::new(), &problem("null", 0), Profile::STRICT);
    let header = &records(&sink.journal)[0];
    assert_eq!(at(header, "/index"), "0");
    assert_eq!(at(header, "/profile"), "\"strict\"");
    assert_eq!(at(header, "/clock"), "\"ticking\"");
}

#[test]
fn completion_is_a_record_that_hashes_the_completed_state() {
    let (sink, finished) = run(&Engine::new(), &problem("null", 0), Profile::STRICT);
    let last = records(&sink.journal).pop().unwrap();
    assert_eq!((at(&last, "/control_type"), at(&last, "/action")), ("\"run\"".into(), "\"complete\"".into()));
    assert_eq!(at(&last, "/state_hash"), format!("\"{}\"", finished.state.canonical().digest()));
    assert_eq!(finished.state.status(), Status::Completed);
}

#[test]
fn time_moves_with_every_mutation() {
    let (sink, finished) = run(&Engine::new(), &problem(&looping(4, 9, 2), 4), Profile::STRICT);
    let mut last = "2026-02-02T00:00:00Z".to_owned();
    for record in records(&sink.journal).iter().filter(|record| record.get("result").is_some()) {
        let (started, finished) = (at(record, "/result/started_at"), at(record, "/result/finished_at"));
        assert_eq!(started, format!("\"{last}\""));
        assert!(finished > started);
        last = finished.trim_matches('"').to_owned();
    }
    assert!(finished.state.metadata().updated_at.as_str() > last.as_str());
}

#[test]
fn a_loop_takes_evidence_in_batches_until_its_condition_is_met() {
    let (sink, finished) = run(&Engine::new(), &problem(&looping(5, 9, 2), 5), Profile::STRICT);
    let actions: Vec<String> = records(&sink.journal).iter().map(|record| at(record, "/action")).collect();
    let decisions: Vec<&String> = actions.iter().filter(|action| *action != "nothing").collect();
    assert_eq!(decisions, ["\"repeat\"", "\"repeat\"", "\"stop\"", "\"complete\""]);
    let state = finished.state.canonical();
    assert_eq!(at(state.value(), "/artifacts/evidence"), r#"[{"id":"e0"},{"id":"e1"}]"#);
    let later: Vec<String> =
        (0..6).map(|entry| at(state.value(), &format!("/artifacts/iterations/{entry}/key"))).collect();
    assert_eq!(
        later,
        [
            "\"evidence\"",
            "\"computation\"",
            "\"verification\"",
            "\"evidence\"",
            "\"computation\"",
            "\"verification\""
        ]
    );
    assert_eq!(at(state.value(), "/artifacts/iterations/3/output"), r#"[{"id":"e4"}]"#);
    assert_eq!(at(state.value(), "/artifacts/verification/evidence_count"), "2");
}

#[test]
fn an_exhausted_loop_fails_in_the_decision_not_in_the_step() {
    let (sink, finished) = run(&Engine::new(), &problem(&looping(99, 2, 1), 3), Profile::STRICT);
    let records = records(&sink.journal);
    let (decision, step) = (&records[records.len() - 1], &records[records.len() - 2]);
    assert_eq!(at(decision, "/action"), "\"max_iterations_reached\"");
    assert_ne!(at(decision, "/state_hash"), at(step, "/state_after_hash"));
    assert_eq!(finished.state.status(), Status::Failed);
    assert_eq!(finished.state.errors()[0].code.as_ref(), "loop_max_iterations_reached");
}

#[test]
fn a_run_of_another_policy_verifies_at_every_level() {
    let mut engine = Engine::new();
    engine.register_policy("short", &["Normalize", "Decompose", "Audit"]).unwrap();
    let problem = problem(r#"{"policy_profile":"short"}"#, 0);
    let (sink, finished) = run(&engine, &problem, Profile::STRICT);
    let document = hence_engine::without_defects(problem);
    let evidence = hence_engine::Evidence {
        problem: Some(&document),
        anchor: Some(finished.head),
        ..hence_engine::Evidence::of_journal(&sink.journal, &sink.blobs)
    };
    let report = engine.verify(&evidence, hence_journal::verify::Level::Anchored);
    assert!(report.holds(), "{report:?}");
}

struct Broken;

impl Step for Broken {
    fn name(&self) -> &'static str {
        "Broken"
    }

    fn artifact_key(&self) -> &'static str {
        "broken"
    }

    fn input(&self, _: &View<'_>) -> Result<Value, InputUnavailable> {
        Ok(Value::Null)
    }

    fn run(&self, _: &View<'_>, _: &Value) -> Result<Value, Vec<StepError>> {
        Err(Vec::new())
    }
}

#[test]
fn a_failed_step_counts_ends_the_run_and_is_followed_by_no_decision() {
    let mut engine = Engine::new();
    engine.register_step(Arc::new(Broken)).unwrap();
    engine.register_policy("p", &["Normalize", "Broken", "Audit"]).unwrap();
    let settings = r#"{"policy_profile":"p","loop":{"enabled":true,"start_step":"Normalize","end_step":"Broken",
        "max_iterations":3,"stop_condition":{"path":"artifacts.broken.x","operator":"equals","value":1}}}"#;
    let (sink, finished) = run(&engine, &problem(settings, 0), Profile::STRICT);
    assert_eq!(records(&sink.journal).len(), 3);
    assert_eq!((finished.state.status(), finished.state.step_index().get()), (Status::Failed, 2));
    assert_eq!(finished.state.errors()[0].code.as_ref(), "step_failed");
}

struct Deep(usize);

impl Step for Deep {
    fn name(&self) -> &'static str {
        "Deep"
    }

    fn artifact_key(&self) -> &'static str {
        "deep"
    }

    fn input(&self, _: &View<'_>) -> Result<Value, InputUnavailable> {
        Ok(Value::Null)
    }

    fn run(&self, _: &View<'_>, _: &Value) -> Result<Value, Vec<StepError>> {
        Ok((0..self.0).fold(Value::from("x"), |value, _| Value::from(vec![value])))
    }
}

#[test]
fn an_output_nests_up_to_its_limit_and_fails_beyond_it() {
    for (depth, status) in [(500, Status::Completed), (501, Status::Failed)] {
        let mut engine = Engine::new();
        engine.register_step(Arc::new(Deep(depth))).unwrap();
        engine.register_policy("p", &["Deep"]).unwrap();
        let settings = r#"{"policy_profile":"p","loop":{"enabled":true,"start_step":"Deep","end_step":"Deep",
            "max_iterations":2,"stop_condition":{"path":"artifacts.none","operator":"equals","value":1}}}"#;
        let (_, finished) = run(&engine, &problem(settings, 0), Profile::STRICT);
        // The loop repeats the step, so the deep output is also stored among the later outputs.
        assert_eq!(finished.state.status(), Status::Failed);
        assert!(finished.state.canonical().value().depth() >= 3);
        let expected =
            if status == Status::Completed { "loop_max_iterations_reached" } else { "output_too_deep" };
        assert_eq!(finished.state.errors()[0].code.as_ref(), expected);
    }
}

#[test]
fn an_output_that_no_record_can_hold_fails_its_step() {
    let mut engine = Engine::new();
    engine.register_step(Arc::new(Deep(0))).unwrap();
    engine.register_policy("p", &["Deep"]).unwrap();
    let (sink, finished) = run(&engine, &problem(r#"{"policy_profile":"p"}"#, 0), Profile::STRICT);
    assert_eq!(finished.state.errors()[0].code.as_ref(), "output_not_container");
    let chain = hence_journal::verify::check_chain(&sink.journal, std::num::NonZeroUsize::MIN);
    assert!(chain.outcome.holds());
}

#[test]
fn an_output_above_the_inline_limit_is_kept_by_its_digest() {
    let long = "x".repeat(11_000);
    let json = format!(
        r#"{{"version":"1.0.0","id":"large","created_at":"2026-02-02T00:00:00Z","inputs":{{"prompt":"p","goals":["{long}"]}}}}"#
    );
    let (sink, finished) = run(&Engine::new(), &parse(json.as_bytes()).unwrap(), Profile::STRICT);
    assert_eq!(finished.state.status(), Status::Completed);
    assert_eq!(sink.blobs.len(), 1);
    let reference = at(&records(&sink.journal)[2], "/result/output/$blob/sha256");
    assert_eq!(reference, format!("\"{}\"", sink.blobs.keys().next().unwrap()));
    assert!(sink.journal.len() < long.len());
}

#[test]
fn a_model_that_is_asked_for_and_not_there_refuses_the_plan() {
    let settings = r#"{"structured_generation":true,"model_provider":"any","model_name":"m"}"#;
    let request = Request::of_value(problem(settings, 0), Profile::STRICT);
    let findings = Engine::new().plan(&request).map(|_| ()).unwrap_err();
    assert_eq!(dotted(&findings.first().pointer), "settings.structured_generation");
}

struct Counting(std::sync::atomic::AtomicU64);

impl Model for Counting {
    fn complete(&self, _: &ModelRequest, _: &str) -> Result<String, String> {
        let call = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(format!(r#"{{"summary":"call {call}"}}"#))
    }
}

#[test]
fn a_replay_reads_a_models_reply_from_the_journal_and_never_asks_again() {
    let model = Arc::new(Counting(0.into()));
    let engine = Engine::new().with_model(model.clone());
    let settings = r#"{"structured_generation":true,"model_provider":"any","model_name":"m"}"#;
    let problem = problem(settings, 0);
    let (sink, _) = run(&engine, &problem, Profile::STRICT);
    let document = hence_engine::without_defects(problem);
    let evidence = hence_engine::Evidence {
        problem: Some(&document),
        ..hence_engine::Evidence::of_journal(&sink.journal, &sink.blobs)
    };
    let replay = engine.replay(&evidence).unwrap();
    assert!(replay.difference.is_none());
    assert_eq!((replay.executed, replay.read), (6, 1));
    assert_eq!(model.0.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[test]
fn a_run_that_begins_at_the_end_of_the_calendar_is_refused_before_it_begins() {
    let mut request = Request::of_value(problem("null", 0), Profile::STRICT);
    request.now = Some("9999-12-31T23:59:55Z".to_owned());
    let findings = Engine::new().plan(&request).map(|_| ()).unwrap_err();
    assert_eq!(dotted(&findings.first().pointer), "now");
    request.now = Some("9999-12-31T23:59:50Z".to_owned());
    assert!(Engine::new().plan(&request).is_ok());
}

#[test]
fn every_finding_of_a_request_is_reported_at_once() {
    let mut request = Request::of_value(problem(r#"{"policy_profile":"none"}"#, 0), Profile::STRICT);
    request.engine_version = Some("1".to_owned());
    request.now = Some("yesterday".to_owned());
    let findings = Engine::new().plan(&request).map(|_| ()).unwrap_err();
    let paths: Vec<String> = findings.iter().map(|finding| dotted(&finding.pointer)).collect();
    assert_eq!(paths, ["engine_version", "now", "settings.policy_profile"]);
}
