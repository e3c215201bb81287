//! `expected/lineage`: ancestors of every artifact, target lineage of every action.

use std::path::Path;

use hence_canon::Value;
use hence_review::lineage::Lineage;
use hence_review::wire::Trace;

use crate::data::{DataError, json, json_folder};
use crate::report::Report;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for (name, expected) in json_folder(&dir.join("expected/lineage"))? {
        let trace = Trace::read(&json(&dir.join("traces").join(format!("{name}.json")))?);
        let lineage = Lineage::of(&trace);
        report.case(&format!("lineage/{name}/ancestors"), ancestors(&lineage, &expected));
        report.case(&format!("lineage/{name}/targets"), targets(&trace, &lineage, &expected));
    }
    Ok(())
}

fn ancestors(lineage: &Lineage, expected: &Value) -> Result<(), String> {
    members(expected, "ancestors").try_for_each(|(id, expected)| same(id, &expected, lineage.ancestors(id)))
}

fn targets(trace: &Trace, lineage: &Lineage, expected: &Value) -> Result<(), String> {
    members(expected, "target_lineage").try_for_each(|(id, expected)| {
        let action = id.parse().ok().and_then(|id| trace.action_by_id(id));
        let action = action.ok_or_else(|| format!("no action {id}"))?;
        same(id, &expected, lineage.target_lineage(action.position()))
    })
}

fn members<'a>(expected: &'a Value, key: &str) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> {
    let object = expected.get(key).and_then(Value::as_object);
    object.into_iter().flat_map(|object| object.iter()).map(|(id, list)| {
        let texts = list.as_array().unwrap_or(&[]).iter().filter_map(Value::as_str);
        (&**id, texts.collect())
    })
}

fn same(id: &str, expected: &[&str], found: Vec<&str>) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("{id}: expected {expected:?}, found {found:?}")) }
}
