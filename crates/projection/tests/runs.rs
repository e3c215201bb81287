//! Every kind of run becomes a trace without findings, always the same one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::sync::Arc;

use hence_canon::{Object, Value, canonical_bytes, parse};
use hence_engine::{
    Engine, InputUnavailable, MemorySink, NoBlobs, Reason, Request, Run, Sink, Step, View, without_defects,
};
use hence_projection::{JOURNAL_MEMBER, Program, ProjectError, RecordedRun, trace_of_run};
use hence_review::validate::validate_canonical;
use hence_state::{Profile, StepError};

/// Fails when the prompt asks for it.
struct Judge;

impl Step for Judge {
    fn name(&self) -> &str {
        "Judge"
    }

    fn artifact_key(&self) -> &str {
        "judgement"
    }

    fn input(&self, _: &View<'_>) -> Result<Value, InputUnavailable> {
        Ok(Object::new().into())
    }

    fn run(&self, view: &View<'_>, _: &Value) -> Result<Value, Vec<StepError>> {
        let prompt = view.problem().map_err(|_| Vec::new())?.prompt().clone();
        if prompt.contains("fail") {
            return Err(vec![StepError::new("no_verdict", "the judge\u{1b}[31m cannot say")]);
        }
        Ok(Object::from_iter([("verdict", "it is so")]).into())
    }
}

fn engine() -> Engine {
    let mut engine = Engine::new();
    engine.register_step(Arc::new(Judge)).unwrap();
    engine
        .register_policy("judged", &["Normalize", "Decompose", "AcquireEvidence", "Judge", "Verify"])
        .unwrap();
    engine
}

fn problem(prompt: &str, settings: &str, evidence: usize) -> Value {
    let items: Vec<String> = (0..evidence).map(|item| format!(r#"{{"id":"e{item}"}}"#)).collect();
    let json = format!(
        r#"{{"version":"1.0.0","id":"case","created_at":"2026-02-02T00:00:00Z",
            "inputs":{{"prompt":"{prompt}","goals":["a","b"],"constraints":["c"],
                      "context":{{"evidence":[{}]}}}},"settings":{settings}}}"#,
        items.join(",")
    );
    parse(json.as_bytes()).unwrap()
}

fn looping(stop_at: u64, max_iterations: u64) -> String {
    format!(
        r#"{{"evidence_required":true,"loop":{{"enabled":true,"start_step":"AcquireEvidence","end_step":"Verify",
            "max_iterations":{max_iterations},"stop_condition":
            {{"path":"artifacts.verification.checks.task_count","operator":"gte","value":{stop_at}}}}}}}"#
    )
}

fn run(engine: &Engine, problem: &Value, profile: Profile) -> MemorySink {
    let plan = engine.plan(&Request::of_value(problem.clone(), profile)).unwrap();
    let (run, header) = Run::start(Reason::new(plan)).unwrap();
    let mut sink = MemorySink::default();
    sink.append(&header).unwrap();
    run.finish(&mut sink, |_| {}).unwrap();
    sink
}

fn traced(engine: &Engine, problem: &Value, sink: &MemorySink, journal: &[u8]) -> Value {
    let problem = without_defects(problem.clone());
    let recorded = RecordedRun { journal, problem: &problem, blobs: &sink.blobs, links: &[], calls: None };
    let trace = trace_of_run(Program::Reason(engine), &recorded).unwrap();
    let again = trace_of_run(Program::Reason(engine), &recorded).unwrap();
    assert_eq!(canonical_bytes(&trace), canonical_bytes(&again));
    let report = validate_canonical(&trace);
    assert!(report.findings().is_empty(), "{:#?}", report.findings());
    trace
}

fn residuals(trace: &Value) -> Vec<String> {
    let items = trace.get("residuals").unwrap().as_array().unwrap();
    items.iter().map(|item| item.get("residual_id").unwrap().as_str().unwrap().to_owned()).collect()
}

fn outcome(trace: &Value) -> &str {
    trace.get("outcome").unwrap().get("type").unwrap().as_str().unwrap()
}

const PROFILES: [Profile; 2] = [Profile::STRICT, Profile::COMPAT];

#[test]
fn a_plain_run_is_complete_in_both_profiles() {
    let engine = engine();
    for profile in PROFILES {
        let problem = problem("Is it so?", "{}", 2);
        let sink = run(&engine, &problem, profile);
        let trace = traced(&engine, &problem, &sink, &sink.journal);
        assert_eq!(outcome(&trace), "ProcessCompleted");
        assert_eq!(residuals(&trace), ["evidence-as-given", "constraint-1", "verification-of-presence"]);
    }
}

#[test]
fn the_trace_names_the_head_it_was_derived_from() {
    let engine = engine();
    let problem = problem("Is it so?", "{}", 1);
    let sink = run(&engine, &problem, Profile::STRICT);
    let trace = traced(&engine, &problem, &sink, &sink.journal);
    let head = hence_journal::read_tail(&sink.journal).unwrap().head.to_string();
    assert_eq!(trace.get(JOURNAL_MEMBER).unwrap().get("head").unwrap().as_str(), Some(head.as_str()));
}

#[test]
fn loops_are_gateways_and_iterations_are_units() {
    let engine = engine();
    for profile in PROFILES {
        let problem = problem("Is it so?", &looping(2, 3), 1);
        let sink = run(&engine, &problem, profile);
        let trace = traced(&engine, &problem, &sink, &sink.journal);
        let actions = trace.get("actions").unwrap().as_array().unwrap();
        let gateway =
            actions.iter().find(|action| action.get("category").unwrap().as_str() == Some("gateway"));
        let options = gateway.unwrap().get("options").unwrap().as_array().unwrap();
        let rejected: Vec<bool> =
            options.iter().map(|option| option.get("rejected_because").is_some()).collect();
        assert_eq!(rejected, [true, false, true]);
        let units = trace.get("meta_actions").unwrap().as_array().unwrap();
        let ids: Vec<&str> = units.iter().map(|unit| unit.get("id").unwrap().as_str().unwrap()).collect();
        assert_eq!(ids, ["before-loop", "iteration-1", "after-loop"]);
    }
}

#[test]
fn an_exhausted_loop_is_a_limitation_and_ends_the_process() {
    let engine = engine();
    for profile in PROFILES {
        let problem = problem("Is it so?", &looping(9, 2), 1);
        let sink = run(&engine, &problem, profile);
        let trace = traced(&engine, &problem, &sink, &sink.journal);
        assert_eq!(outcome(&trace), "ProcessAborted");
        assert!(residuals(&trace).contains(&"loop-limit".to_owned()), "{:?}", residuals(&trace));
        assert!(residuals(&trace).contains(&"not-run".to_owned()));
    }
}

#[test]
fn verification_that_failed_is_an_unverified_gap() {
    let engine = engine();
    for profile in PROFILES {
        let plain = problem("Is it so?", r#"{"evidence_required":true}"#, 0);
        let sink = run(&engine, &plain, profile);
        let trace = traced(&engine, &plain, &sink, &sink.journal);
        assert!(residuals(&trace).contains(&"verification-failed".to_owned()));
        let settings = r#"{"verification_paths":[{"name":"a"},{"name":"b","evidence_required":true}]}"#;
        let paths = problem("Is it so?", settings, 0);
        let sink = run(&engine, &paths, profile);
        let trace = traced(&engine, &paths, &sink, &sink.journal);
        assert!(residuals(&trace).contains(&"verification-path-2".to_owned()));
        assert!(!residuals(&trace).contains(&"verification-path-1".to_owned()));
    }
}

#[test]
fn unknown_steps_are_commands_and_their_failure_is_a_gap() {
    let engine = engine();
    for (prompt, ending) in [("Is it so?", "ProcessCompleted"), ("Please fail", "ProcessAborted")] {
        let problem = problem(prompt, r#"{"policy_profile":"judged"}"#, 1);
        let sink = run(&engine, &problem, Profile::STRICT);
        let trace = traced(&engine, &problem, &sink, &sink.journal);
        assert_eq!(outcome(&trace), ending);
        assert_eq!(residuals(&trace).contains(&"failed-5".to_owned()), ending == "ProcessAborted");
        // An engine that does not know the policy still shows what is on record.
        let foreign = traced(&Engine::new(), &problem, &sink, &sink.journal);
        assert_eq!(outcome(&foreign), ending);
    }
}

#[test]
fn large_values_are_named_and_needed() {
    let engine = engine();
    let mut text = problem("Is it so?", "{}", 1).to_string();
    text = text.replace(r#"["a","b"]"#, &format!(r#"["{}"]"#, "g".repeat(12 * 1024)));
    let problem = parse(text.as_bytes()).unwrap();
    let sink = run(&engine, &problem, Profile::STRICT);
    assert!(!sink.blobs.is_empty());
    let trace = traced(&engine, &problem, &sink, &sink.journal);
    assert!(trace.to_string().contains(r#""content_ref":"blob:"#));
    let problem = without_defects(problem);
    let bare =
        RecordedRun { journal: &sink.journal, problem: &problem, blobs: &NoBlobs, links: &[], calls: None };
    assert!(matches!(trace_of_run(Program::Reason(&engine), &bare), Err(ProjectError::Blob(_))));
}

#[test]
fn a_run_cut_after_any_record_is_interrupted_and_valid() {
    let engine = engine();
    for profile in PROFILES {
        let problem = problem("Is it so?", &looping(2, 3), 1);
        let sink = run(&engine, &problem, profile);
        let ends: Vec<usize> = sink
            .journal
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(at, _)| at + 1)
            .collect();
        for end in ends.iter().take(ends.len() - 1) {
            let trace = traced(&engine, &problem, &sink, &sink.journal[..*end]);
            assert_eq!(outcome(&trace), "ProcessInterrupted", "cut at byte {end}");
        }
        // Bytes of an append that never finished change nothing.
        let torn = &sink.journal[..ends[2] + 7];
        assert_eq!(
            traced(&engine, &problem, &sink, torn).to_string(),
            traced(&engine, &problem, &sink, &sink.journal[..ends[2]]).to_string()
        );
    }
}

#[test]
fn another_problem_and_an_altered_journal_are_refused() {
    let engine = engine();
    let (ours, other) = (problem("Is it so?", "{}", 1), problem("Is it not so?", "{}", 1));
    let sink = run(&engine, &ours, Profile::STRICT);
    let (ours, other) = (without_defects(ours), without_defects(other));
    let foreign =
        RecordedRun { journal: &sink.journal, problem: &other, blobs: &sink.blobs, links: &[], calls: None };
    assert!(matches!(
        trace_of_run(Program::Reason(&engine), &foreign),
        Err(ProjectError::OtherProblem { .. })
    ));
    let altered = String::from_utf8(sink.journal.clone()).unwrap().replacen("Processed 2", "Processed 7", 1);
    let altered = RecordedRun {
        journal: altered.as_bytes(),
        problem: &ours,
        blobs: &sink.blobs,
        links: &[],
        calls: None,
    };
    assert!(matches!(trace_of_run(Program::Reason(&engine), &altered), Err(ProjectError::Broken { .. })));
}

#[test]
fn every_example_becomes_a_valid_trace() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let engine = engine();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(problem) = parse(&std::fs::read(&path).unwrap_or_default()) else { continue };
        for profile in PROFILES.into_iter().chain([Profile::STRICT_2]) {
            // Some need functions that this engine does not have. Examples of other kinds lie here too: what the engine plans is a problem.
            if engine.plan(&Request::of_value(problem.clone(), profile)).is_ok() {
                let sink = run(&engine, &problem, profile);
                traced(&engine, &problem, &sink, &sink.journal);
                seen += 1;
            }
        }
    }
    assert!(seen >= 1, "no example was exported");
}
