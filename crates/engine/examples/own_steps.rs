//! Embedding the engine: steps and a policy of your own, a record like any other.
//!
//! Run it with `cargo run -p hence-engine --example own_steps`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeSet;
use std::sync::Arc;

use hence_canon::{Object, Value, parse};
use hence_engine::{
    Engine, Evidence, InputUnavailable, MemorySink, Reason, Request, Run, Sink, Step, View, without_defects,
};
use hence_journal::verify::Level;
use hence_state::{Profile, StepError};

/// Lists which sources the evidence comes from, and refuses to go on with fewer than two.
struct CrossCheck;

impl Step for CrossCheck {
    fn name(&self) -> &str {
        "CrossCheck"
    }

    fn artifact_key(&self) -> &str {
        "cross_check"
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        let evidence = view.artifact("evidence")?;
        Ok([("evidence", evidence)].into_iter().collect::<Object>().into())
    }

    fn run(&self, _: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        let items = input.get("evidence").and_then(Value::as_array).unwrap_or_default();
        let sources: BTreeSet<&str> = items.iter().filter_map(|item| item.get("source")?.as_str()).collect();
        if sources.len() < 2 {
            let message = format!("expected at least 2 independent sources, found {}", sources.len());
            return Err(vec![StepError::new("single_source", message)]);
        }
        Ok([("sources", sources.into_iter().collect::<Value>())].into_iter().collect::<Object>().into())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut engine = Engine::new();
    engine.register_step(Arc::new(CrossCheck))?;
    engine.register_policy("cross-checked", &["Normalize", "AcquireEvidence", "CrossCheck"])?;

    let problem = parse(
        br#"{"version":"1.0.0","id":"two-sources","created_at":"2026-11-02T09:00:00Z",
             "inputs":{"prompt":"Did the outage start before the deploy?",
                       "context":{"evidence":[{"source":"pager","at":"08:41"},{"source":"deploy log","at":"08:55"}]}},
             "settings":{"policy_profile":"cross-checked"}}"#,
    )?;
    let plan = engine.plan(&Request::of_value(problem.clone(), Profile::STRICT))?;
    let (run, header) = Run::start(Reason::new(plan))?;
    let mut sink = MemorySink::default();
    sink.append(&header)?;
    let finished = run.finish(&mut sink, |event| println!("{event:?}"))?;
    println!("{} at {}", finished.state.status(), finished.head);

    let problem = without_defects(problem);
    let evidence = Evidence {
        problem: Some(&problem),
        anchor: Some(finished.head),
        ..Evidence::of_journal(&sink.journal, &sink.blobs)
    };
    let report = engine.verify(&evidence, Level::Anchored);
    assert!(report.holds(), "a record the engine just wrote holds at every level: {report:?}");
    Ok(())
}
