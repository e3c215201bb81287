//! `tampered_traces.ndjson`: a journal's bytes → the verdict of each level.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use base64::Engine as _;
use hence_canon::{Lenient, Value, parse_lenient};
use hence_engine::{Evidence, NoBlobs, RecordedSteps};
use hence_journal::Head;
use hence_journal::verify::{Completeness, Level, Outcome};

use crate::data::{DataError, ndjson, text};
use crate::report::Report;

pub(super) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    each(dir, report, check)
}

/// Gives each case with its base to `check`, and counts the outcome.
pub(super) fn each(
    dir: &Path,
    report: &mut Report,
    mut check: impl FnMut(&Value, &Value) -> Result<(), String>,
) -> Result<(), DataError> {
    let mut bases = BTreeMap::new();
    for case in ndjson(&dir.join("executions.ndjson"))? {
        bases.insert(text(&case, "/id")?.to_owned(), case);
    }
    for case in ndjson(&dir.join("tampered_traces.ndjson"))? {
        let id = text(&case, "/id")?;
        let base = bases.get(text(&case, "/base")?).ok_or("the base is not among the executions".to_owned());
        report.case(id, base.and_then(|base| check(&case, base)));
    }
    Ok(())
}

/// Returns the bytes of a case's journal.
pub(super) fn journal(case: &Value) -> Result<Vec<u8>, String> {
    let encoded = case.get("trace_b64").and_then(Value::as_str).ok_or("no trace")?;
    base64::engine::general_purpose::STANDARD.decode(encoded).map_err(|error| error.to_string())
}

/// Returns the problem that is trusted: the base's, unless the case brings its own.
pub(super) fn trusted_problem(case: &Value, base: &Value) -> Result<Lenient, String> {
    let parse = |json: &str| parse_lenient(json.as_bytes()).map_err(|error| error.to_string());
    if let Some(own) = case.get("verify_against_spec").and_then(Value::as_str) {
        return parse(own);
    }
    let request = parse(base.get("request").and_then(Value::as_str).ok_or("the base has no request")?)?;
    let problem = request.value.get("problem_spec").cloned().ok_or("the base has no problem")?;
    Ok(hence_engine::without_defects(problem))
}

pub(super) fn anchor(base: &Value) -> Option<Head> {
    let expect = base.get("expect")?;
    let (hash, records) = (expect.get("head_hash")?.as_str()?, expect.get("records")?.as_u64()?);
    format!("{hash}:{records}").parse().ok()
}

fn check(case: &Value, base: &Value) -> Result<(), String> {
    let journal = journal(case)?;
    let problem = trusted_problem(case, base)?;
    let evidence = Evidence {
        // The data calls a cut journal different where it ends; `hence verify` calls it unfinished.
        may_be_unfinished: false,
        journal: &journal,
        problem: Some(&problem),
        anchor: anchor(base),
        blobs: &NoBlobs,
        gate: None,
        recorded: RecordedSteps::RunAgain,
        threads: NonZeroUsize::new(2).unwrap_or(NonZeroUsize::MIN),
    };
    let report = super::engine(base).verify(&evidence, Level::Anchored);
    for level in Level::ALL {
        let Some(expected) = case.get("expect").and_then(|expect| expect.get(level.as_str())) else {
            continue;
        };
        let found = report.outcome(level).ok_or_else(|| format!("{level}: not judged"))?;
        compare(expected, found).map_err(|difference| format!("{level}: {difference}"))?;
    }
    let complete = case.get("expect").and_then(|expect| expect.get("linked")?.get("complete")?.as_bool());
    let found = report.completeness == Some(Completeness::Complete);
    match complete {
        Some(expected) if expected != found => Err(format!("complete: expected {expected}, found {found}")),
        _ => Ok(()),
    }
}

fn compare(expected: &Value, found: &Outcome) -> Result<(), String> {
    let holds = expected.get("ok").and_then(Value::as_bool) == Some(true);
    let line = expected.get("line").and_then(Value::as_u64);
    match found {
        Outcome::Holds if holds => Ok(()),
        Outcome::Broken(found) if !holds && line.is_none_or(|line| line == found.line) => Ok(()),
        other => Err(format!("expected {expected}, found {other:?}")),
    }
}
