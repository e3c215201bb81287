//! Review traces: what showing a run costs and how that grows, and what taking in a log costs beside reading it.

use hence_canon::{Lenient, Value, parse};
use hence_engine::{Engine, NoBlobs, without_defects};
use hence_projection::{Program, RecordedRun, trace_of_run};
use hence_review::import::{Format, Surroundings, import};

use super::skills::{Case, chain};
use crate::Error;
use crate::measure::{compare, exponent, slope, time_of};
use crate::sample::{self, object};
use crate::table::{Budget, Row, Table};

/// Lengths of the runs that are shown, in steps.
const STEPS: [usize; 3] = [1_000, 10_000, 100_000];
/// The number of steps around the chain of a linear skill, whose length has a limit.
const AROUND: usize = 10;
/// The number of times each run is shown.
const TURNS: usize = 3;
/// The number of calls of tools a log holds.
const CALLS: usize = 2_000;
/// The number of characters a tool gives back.
const RESULT_CHARACTERS: usize = 2_000;

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    shown(table, "a loop of the built-in skill", |count| {
        let journal = sample::journal(sample::loop_steps(count)?)?;
        let problem = without_defects(sample::loop_problem(count));
        Ok(Box::new(move || trace_of(Program::Reason(&Engine::new()), &journal, &problem)))
    })?;
    shown(table, "a linear skill", |count| {
        let case = Case::of(&chain(count - AROUND, 10))?;
        let (_, sink) = case.run()?;
        let problem = without_defects(case.problem.canonical().value().clone());
        Ok(Box::new(move || {
            let program =
                Program::Skill { prepared: &case.prepared, source: &case.source, host: &case.library };
            trace_of(program, &sink.journal, &problem)
        }))
    })?;
    beside_parsing(table)?;
    imported(table, Format::ClaudeCode, &log(claude_call))?;
    imported(table, Format::Codex, &log(codex_call))?;
    imported(table, Format::Otlp, &log(span))
}

/// A run that can be shown.
type Shown = Box<dyn Fn() -> Result<Value, Error>>;

fn trace_of(program: Program<'_>, journal: &[u8], problem: &Lenient) -> Result<Value, Error> {
    let run = RecordedRun { journal, problem, blobs: &NoBlobs, links: &[], calls: None };
    Ok(trace_of_run(program, &run)?)
}

fn shown(table: &mut Table, what: &str, make: impl Fn(usize) -> Result<Shown, Error>) -> Result<(), Error> {
    let mut points = Vec::new();
    let mut detail = Vec::new();
    for count in STEPS {
        let show = make(count)?;
        let actions = show()?.get("actions").and_then(Value::as_array).map_or(0, <[Value]>::len);
        let time = time_of(TURNS, &show);
        let actions = u32::try_from(actions)?;
        points.push((f64::from(actions), time.as_secs_f64()));
        detail.push(format!("{actions}: {:.2?}", time / actions));
    }
    let per_action = std::time::Duration::from_secs_f64(slope(&points).max(0.0));
    table.push(Row {
        path: format!("trace of a run of 1000 to 100 000 steps, {what}: exponent (1 is linear)"),
        figure: Some(exponent(&points)),
        unit: "",
        budget: Some(Budget::AtMost(1.1)),
        detail: format!("slope {per_action:.2?} an action; per action at {}", detail.join(", ")),
    });
    Ok(())
}

/// Compares showing a run with parsing the lines of its journal.
fn beside_parsing(table: &mut Table) -> Result<(), Error> {
    let journal = sample::journal(sample::loop_steps(10_000)?)?;
    let problem = without_defects(sample::loop_problem(10_000));
    let engine = Engine::new();
    let compared = compare(
        || (),
        |()| trace_of(Program::Reason(&engine), &journal, &problem).is_ok(),
        || parsed(&journal),
    );
    table.push(Row {
        path: "trace of a run of 10 000 steps / parsing its journal".to_owned(),
        figure: Some(compared.ratio),
        unit: "×",
        budget: Some(Budget::AtMost(3.0)),
        detail: format!("{:.2?} against {:.2?}", compared.subject, compared.baseline),
    });
    Ok(())
}

/// Compares taking in a log with parsing its lines.
fn imported(table: &mut Table, format: Format, log: &[u8]) -> Result<(), Error> {
    let around = Surroundings::default();
    let found = import(log, format, &around)?;
    let actions =
        found.traces.first().and_then(|trace| trace.get("actions")?.as_array()).map_or(0, <[Value]>::len);
    if actions != CALLS {
        return Err(format!("{}: expected {CALLS} actions, found {actions}", format.as_str()).into());
    }
    let compared = compare(|| (), |()| import(log, format, &around).is_ok(), || parsed(log));
    let megabytes = f64::from(u32::try_from(log.len())?) / 1e6;
    table.push(Row {
        path: format!("import of {} log / parsing its lines", with_article(format)),
        figure: Some(compared.ratio),
        unit: "×",
        budget: None,
        detail: format!("{:.0} MB a second, {megabytes:.1} MB", megabytes / compared.subject.as_secs_f64()),
    });
    Ok(())
}

fn with_article(format: Format) -> String {
    let article = if format == Format::Otlp { "an" } else { "a" };
    format!("{article} {}", format.as_str())
}

fn parsed(lines: &[u8]) -> usize {
    lines.split(|byte| *byte == b'\n').filter(|line| parse(line).is_ok()).count()
}

fn log(call: fn(usize) -> Vec<Value>) -> Vec<u8> {
    let rows = (0..CALLS).flat_map(call).map(|row| format!("{row}\n"));
    rows.collect::<String>().into_bytes()
}

/// The output of a tool: words, not one long run of a letter.
fn result(number: usize) -> Value {
    let lines = (0..RESULT_CHARACTERS / 20).map(|line| format!("line {} of result {number}\n", line % 97));
    lines.collect::<String>().into()
}

fn claude_call(number: usize) -> Vec<Value> {
    let id = Value::from(number.to_string());
    let input = object([("command", format!("cargo test case_{number}").into())]);
    let call =
        object([("type", "tool_use".into()), ("id", id.clone()), ("name", "Bash".into()), ("input", input)]);
    let answer = object([("type", "tool_result".into()), ("tool_use_id", id), ("content", result(number))]);
    let row = |kind: &str, block: Value| {
        object([("type", kind.into()), ("message", object([("content", vec![block].into())]))])
    };
    vec![row("assistant", call), row("user", answer)]
}

fn codex_call(number: usize) -> Vec<Value> {
    let id = Value::from(number.to_string());
    let row = |payload: Value| object([("type", "response_item".into()), ("payload", payload)]);
    let call = object([
        ("type", "function_call".into()),
        ("name", "shell".into()),
        ("arguments", r#"{"command": ["bash", "-lc", "cargo test"]}"#.into()),
        ("call_id", id.clone()),
    ]);
    let answer =
        object([("type", "function_call_output".into()), ("call_id", id), ("output", result(number))]);
    vec![row(call), row(answer)]
}

fn span(number: usize) -> Vec<Value> {
    let attribute =
        |key: &str, value: Value| object([("key", key.into()), ("value", object([("stringValue", value)]))]);
    let attributes = vec![
        attribute("gen_ai.tool.name", "search".into()),
        attribute("gen_ai.request.model", "model".into()),
        attribute("output.value", result(number)),
    ];
    let start = 1_700_000_000_000_000_000u64 + number as u64;
    let span = object([
        ("traceId", "t".into()),
        ("spanId", number.to_string().into()),
        ("name", "execute_tool search".into()),
        ("startTimeUnixNano", start.to_string().into()),
        ("attributes", attributes.into()),
    ]);
    let scope = object([("spans", vec![span].into())]);
    let resource = object([("scopeSpans", vec![scope].into())]);
    vec![object([("resourceSpans", vec![resource].into())])]
}
