//! `executions.ndjson`: a request → the journal's bytes, the final state, the metrics.

use std::path::Path;

use hence_canon::{Digest, Value, parse_lenient};
use hence_engine::{Finished, MemorySink, Metrics, Reason, Request, Run, Sink};
use hence_journal::{Reader, verify};
use hence_state::{Findings, Profile};

use crate::data::{DataError, ndjson, text};
use crate::report::Report;

pub(super) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for case in ndjson(&dir.join("executions.ndjson"))? {
        let id = text(&case, "/id")?;
        let request = text(&case, "/request")?;
        let journal = text(&case, "/expect/trace_ndjson")?;
        let outcome = check(&case, request, journal);
        report.case(id, outcome);
    }
    Ok(())
}

/// Runs a request under the compat profile.
pub(super) fn execute(case: &Value, request: &str) -> Result<(Vec<u8>, Finished), String> {
    let document = parse_lenient(request.as_bytes()).map_err(|error| error.to_string())?;
    let refused = |findings: Findings| format!("refused: {findings}");
    let request = Request::decode(&document, Profile::COMPAT).map_err(|findings| format!("{findings:?}"))?;
    let plan = super::engine(case).plan(&request).map_err(refused)?;
    let (run, header) = Run::start(Reason::new(plan)).map_err(|error| error.to_string())?;
    let mut sink = MemorySink::default();
    sink.append(&header).map_err(|error| error.to_string())?;
    let finished = run.finish(&mut sink, |_| {}).map_err(|error| error.to_string())?;
    Ok((sink.journal, finished))
}

fn check(case: &Value, request: &str, expected: &str) -> Result<(), String> {
    let (journal, finished) = execute(case, request)?;
    if let Some(line) = verify::first_difference(&journal, expected.as_bytes()) {
        let at = |bytes: &[u8]| {
            let line =
                usize::try_from(line).ok().and_then(|line| bytes.split(|byte| *byte == b'\n').nth(line));
            String::from_utf8_lossy(line.unwrap_or_default()).into_owned()
        };
        return Err(format!(
            "line {line}\n  expected {}\n  found    {}",
            at(expected.as_bytes()),
            at(&journal)
        ));
    }
    let expect = case.get("expect").unwrap_or(&Value::Null);
    let same = |key: &str, found: &str| match expect.get(key).and_then(Value::as_str) {
        Some(expected) if expected != found => Err(format!("{key}: expected {expected}, found {found}")),
        _ => Ok(()),
    };
    same("trace_sha256", &Digest::of(&journal).to_string())?;
    same("final_state", finished.state.canonical().text())?;
    same("final_state_sha256", &finished.state.canonical().digest().to_string())?;
    same("final_status", finished.state.status().as_str())?;
    same("head_hash", &finished.head.hash.to_string())?;
    if expect.get("records").and_then(Value::as_u64) != Some(finished.head.records.get()) {
        return Err(format!("records: found {}", finished.head.records));
    }
    let metrics = metrics(&journal)?;
    match expect.get("metrics") {
        Some(expected) if *expected != metrics => {
            Err(format!("metrics: expected {expected}, found {metrics}"))
        }
        _ => Ok(()),
    }
}

fn metrics(journal: &[u8]) -> Result<Value, String> {
    let (_, reader) = Reader::open(journal).map_err(|error| error.to_string())?;
    let mut metrics = Metrics::default();
    for record in reader {
        metrics.note(&record.map_err(|error| error.to_string())?);
    }
    Ok((&metrics).into())
}
