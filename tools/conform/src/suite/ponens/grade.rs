//! `expected/grade`: scores per dimension and the mark.

use std::path::Path;

use hence_canon::Value;
use hence_review::grade::{Grade, grade};
use hence_review::lineage::Lineage;
use hence_review::validate::validate;
use hence_review::wire::Trace;

use crate::data::{DataError, json, json_folder};
use crate::report::Report;

/// Scores are sums of a few shares; they agree to far more digits than this.
const TOLERANCE: f64 = 1e-9;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for (name, expected) in json_folder(&dir.join("expected/grade"))? {
        let value = json(&dir.join("traces").join(format!("{name}.json")))?;
        let trace = Trace::read(&value);
        let found = grade(&trace, &Lineage::of(&trace), &validate(&value));
        report.case(&format!("grade/{name}"), same(&found, &expected));
    }
    Ok(())
}

fn same(found: &Grade, expected: &Value) -> Result<(), String> {
    let recorded = expected.get("dimensions").and_then(Value::as_array).ok_or("no dimensions")?;
    if recorded.len() != found.dimensions.len() {
        return Err(format!("{} dimensions, found {}", recorded.len(), found.dimensions.len()));
    }
    for (expected, found) in recorded.iter().zip(&found.dimensions) {
        let name = expected.get("name").and_then(Value::as_str).unwrap_or_default();
        let applies = expected.get("applicable").and_then(Value::as_bool) != Some(false);
        let score = number(expected.get("score")).filter(|_| applies);
        let close = match (score, found.score) {
            (Some(expected), Some(found)) => (expected - found).abs() < TOLERANCE,
            (expected, found) => expected == found,
        };
        if name != found.kind.name() || !close {
            return Err(format!("{name}: expected {score:?}, found {} {:?}", found.kind.name(), found.score));
        }
    }
    let weight = expected.get("applicable_weight").and_then(Value::as_u64);
    let overall = expected.get("overall").and_then(Value::as_u64);
    let letter = expected.get("grade").and_then(Value::as_str);
    let agree = weight == Some(u64::from(found.applicable_weight()))
        && overall == Some(u64::from(found.overall))
        && letter == Some(found.letter.as_str());
    if agree { Ok(()) } else { Err(format!("expected {overall:?} {letter:?}, found {found:?}")) }
}

fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Int(int) => Some(int.to_f64_lossy()),
        Value::Float(float) => Some(float.get()),
        _ => None,
    }
}
