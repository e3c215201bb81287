//! Review traces: reading, validating, grading and tracing back what 1000 to 100 000 actions did.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use hence_canon::{Value, parse};
use hence_review::grade::grade;
use hence_review::lineage::Lineage;
use hence_review::model::{decode, encode};
use hence_review::review_log::gaps;
use hence_review::validate::{validate, validate_read};
use hence_review::wire::Trace;

use super::start;
use crate::Error;
use crate::measure::{compare, exponent, time_of};
use crate::sample::object;
use crate::table::{Budget, Row, Table};

/// Lengths of the traces, in actions.
const ACTIONS: [usize; 3] = [1_000, 10_000, 100_000];
/// The number of times each is measured.
const TURNS: usize = 3;
/// The number of times the memory of a process is looked at. What is read is its peak so far, so a look can only come too early.
const LOOK_EVERY: Duration = Duration::from_micros(500);

pub(crate) fn run(table: &mut Table) -> Result<(), Error> {
    let texts: Vec<String> = ACTIONS.iter().map(|count| trace(*count).to_string()).collect();
    beside_parsing(table, texts.last().map_or("", String::as_str))?;
    memory(table, texts.last().map_or("", String::as_str))?;
    let values = texts.iter().map(|text| parse(text.as_bytes())).collect::<Result<Vec<Value>, _>>()?;
    growth(table, "validated", &values, |value| validate(value).findings().len())?;
    growth(table, "decoded into the model and encoded again", &values, |value| {
        decode(value).map(|trace| encode(&trace)).is_ok()
    })?;
    let read: Vec<(Trace, Lineage)> = values
        .iter()
        .map(|value| {
            let trace = Trace::read(value);
            let lineage = Lineage::of(&trace);
            (trace, lineage)
        })
        .collect();
    growth(table, "lineage of every artifact made", &values, |value| {
        Lineage::of(&Trace::read(value)).cycles().len()
    })?;
    growth(table, "ancestors of the last artifact", &read, |(trace, lineage)| {
        let last = trace.artifacts().last().and_then(|artifact| artifact.id()).unwrap_or("");
        lineage.ancestors(last).len()
    })?;
    growth(table, "graded", &read, |(trace, lineage)| {
        grade(trace, lineage, &validate_read(trace, lineage)).overall
    })?;
    growth(table, "gaps found, declared and not", &read, |(trace, lineage)| gaps(trace, lineage).len())
}

fn beside_parsing(table: &mut Table, text: &str) -> Result<(), Error> {
    let errors = validate(&parse(text.as_bytes())?).errors().count();
    if errors != 0 {
        return Err(format!("the sample has {errors} errors").into());
    }
    // Both sides hand the tree out, so that letting go of it counts for neither.
    let compared = compare(
        || (),
        |()| parse(text.as_bytes()).map(|value| (validate(&value), value)),
        || parse(text.as_bytes()),
    );
    let megabytes = f64::from(u32::try_from(text.len())?) / 1e6;
    table.push(Row {
        path: "trace of 100 000 actions parsed and validated / parsed".to_owned(),
        figure: Some(compared.ratio),
        unit: "×",
        budget: Some(Budget::AtMost(3.0)),
        detail: format!("{megabytes:.0} MB, {:.2?} against {:.2?}", compared.subject, compared.baseline),
    });
    Ok(())
}

fn growth<T, A>(table: &mut Table, what: &str, samples: &[T], work: impl Fn(&T) -> A) -> Result<(), Error> {
    let mut points = Vec::new();
    let mut detail = Vec::new();
    for (count, sample) in ACTIONS.iter().zip(samples) {
        let time = time_of(TURNS, || work(sample));
        let count = u32::try_from(*count)?;
        points.push((f64::from(count), time.as_secs_f64()));
        detail.push(format!("{count}: {:.2?}", time / count));
    }
    table.push(Row {
        path: format!("trace of 1000 to 100 000 actions {what}: exponent (1 is linear)"),
        figure: Some(exponent(&points)),
        unit: "",
        budget: Some(Budget::AtMost(1.2)),
        detail: format!("per action at {}", detail.join(", ")),
    });
    Ok(())
}

/// Compares the peak memory of `hence trace validate` with the size of the file.
fn memory(table: &mut Table, text: &str) -> Result<(), Error> {
    let path = "peak memory of `hence trace validate`, 100 000 actions / size of the file".to_owned();
    let (unit, budget) = ("×", Some(Budget::AtMost(6.0)));
    let binary = start::binary()?;
    if !binary.exists() {
        let detail = "the binary is not built: `cargo build --release`".to_owned();
        table.push(Row { path, figure: None, unit, budget, detail });
        return Ok(());
    }
    let mut child = Command::new(binary)
        .args(["trace", "validate", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let input = child.stdin.take().ok_or("the child has no input")?;
    let bytes = text.as_bytes().to_vec();
    let writer = std::thread::spawn(move || {
        let mut input = input;
        input.write_all(&bytes)
    });
    let mut peak_kib = 0_u32;
    while child.try_wait()?.is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak_kib = peak_kib.max(kib.unwrap_or(0));
        std::thread::sleep(LOOK_EVERY);
    }
    writer.join().map_err(|_| "the writer stopped")??;
    let size = f64::from(u32::try_from(text.len())?);
    // Where a system does not tell, nothing is claimed.
    let figure = (peak_kib > 0).then(|| f64::from(peak_kib) * 1024.0 / size);
    table.push(Row {
        path,
        figure,
        unit,
        budget,
        detail: format!("{:.0} MB at {:.0} MB", f64::from(peak_kib) * 1024.0 / 1e6, size / 1e6),
    });
    Ok(())
}

/// A trace in which every fourth action checks what the three before changed; about 420 bytes an action.
fn trace(count: usize) -> Value {
    let actions: Vec<Value> = (1..=count).map(action).collect();
    let artifacts: Vec<Value> = (1..=count).map(artifact).collect();
    object([
        ("trace_id", "bench".into()),
        ("spec_version", "1.6".into()),
        ("assistant", "bench".into()),
        ("model", "none".into()),
        ("timestamp", "2026-01-01T00:00:00Z".into()),
        ("trigger", object([("type", "TaskReceived".into())])),
        (
            "outcome",
            object([
                ("type", "ProcessCompleted".into()),
                ("summary", "Everything asked for was done.".into()),
            ]),
        ),
        ("actions", actions.into()),
        ("artifacts", artifacts.into()),
    ])
}

fn action(number: usize) -> Value {
    let is_check = number.is_multiple_of(4);
    let inputs: Vec<Value> = if number == 1 { Vec::new() } else { vec![format!("a{}", number - 1).into()] };
    let file = object([("type", "FileRef".into()), ("ref", format!("src/part_{}.rs", number % 997).into())]);
    object([
        ("id", number.into()),
        ("category", "activity".into()),
        ("type", if is_check { "RunTests" } else { "EditFile" }.into()),
        ("label", format!("step {number}").into()),
        ("rationale", "The part before left this open, so it is done next.".into()),
        ("inputs", inputs.into()),
        ("outputs", vec![Value::from(format!("a{number}"))].into()),
        ("evidence", vec![file].into()),
    ])
}

fn artifact(number: usize) -> Value {
    let sources: Vec<Value> = if number == 1 { Vec::new() } else { vec![format!("a{}", number - 1).into()] };
    object([
        ("artifact_id", format!("a{number}").into()),
        ("artifact_type", if number.is_multiple_of(4) { "CommandResult" } else { "Diff" }.into()),
        ("name", format!("part {}", number % 997).into()),
        ("producer_action_id", number.into()),
        ("derived_from", sources.into()),
    ])
}
