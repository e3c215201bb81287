//! Runs of any length to measure on.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_engine::{Engine, InputUnavailable, MemorySink, Plan, Reason, Request, Run, Sink, Step, View};
use hence_state::{Profile, StepError};

use crate::Error;

/// A step that does next to nothing: what a run of many such costs is the record.
struct Trivial {
    name: String,
}

impl Step for Trivial {
    fn name(&self) -> &str {
        &self.name
    }

    fn artifact_key(&self) -> &str {
        &self.name
    }

    fn input(&self, view: &View<'_>) -> Result<Value, InputUnavailable> {
        Ok(object([("step_index", view.step_index().get().into())]))
    }

    fn run(&self, _: &View<'_>, input: &Value) -> Result<Value, Vec<StepError>> {
        Ok(object([
            ("input", input.clone()),
            ("note", "nothing to do, and that was done".into()),
            ("score", hence_canon::Float::new(0.25).map_or(Value::Null, Value::Float)),
        ]))
    }
}

/// Plans a run of `count` registered steps, each with its own artifact. Names sort in the order of execution.
pub(crate) fn trivial_steps(count: usize) -> Result<Plan, Error> {
    let mut engine = Engine::new();
    let names: Vec<String> = (0..count).map(|number| format!("step-{number:06}")).collect();
    for name in &names {
        engine.register_step(Arc::new(Trivial { name: name.clone() }))?;
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    engine.register_policy("trivial", &names)?;
    plan(&engine, object([("policy_profile", "trivial".into())]))
}

/// Plans a loop of the built-in skill that runs until it has executed about `count` steps.
///
/// Evidence runs out early and the stop condition is never met: every iteration costs the same.
pub(crate) fn loop_steps(count: usize) -> Result<Plan, Error> {
    Ok(Engine::new().plan(&Request::of_value(loop_problem(count), Profile::STRICT))?)
}

/// Makes the problem of such a loop.
pub(crate) fn loop_problem(count: usize) -> Value {
    let iterations = count.div_ceil(3);
    let settings = object([
        ("evidence_batch", 1.into()),
        (
            "loop",
            object([
                ("enabled", true.into()),
                ("start_step", "AcquireEvidence".into()),
                ("end_step", "Verify".into()),
                ("max_iterations", iterations.into()),
                (
                    "stop_condition",
                    object([
                        ("path", "artifacts.verification.checks.evidence_count".into()),
                        ("operator", "gte".into()),
                        ("value", 1_000.into()),
                    ]),
                ),
            ]),
        ),
    ]);
    problem(settings, object([]))
}

fn plan(engine: &Engine, settings: Value) -> Result<Plan, Error> {
    Ok(engine.plan(&Request::of_value(problem(settings, object([])), Profile::STRICT))?)
}

/// Makes a problem with a few pieces of evidence; its context holds the members of `context` as well.
pub(crate) fn problem(settings: Value, context: Value) -> Value {
    let evidence: Vec<Value> =
        (0..8).map(|number| object([("source", format!("note {number}").into())])).collect();
    let context = context.as_object().cloned().unwrap_or_default().with("evidence", evidence);
    object([
        ("version", "1.0.0".into()),
        ("id", "bench".into()),
        ("created_at", "2026-01-01T00:00:00Z".into()),
        ("inputs", object([("prompt", "How long does a record take?".into()), ("context", context.into())])),
        ("settings", settings),
    ])
}

/// Runs a plan and returns its journal.
pub(crate) fn journal(plan: Plan) -> Result<Vec<u8>, Error> {
    let (run, header) = Run::start(Reason::new(plan))?;
    let mut sink = MemorySink::default();
    sink.append(&header)?;
    run.finish(&mut sink, |_| {})?;
    Ok(sink.journal)
}

/// Makes an object of members.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().collect::<Object>().into()
}
