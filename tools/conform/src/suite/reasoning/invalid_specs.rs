//! `invalid_specs.ndjson`: a request that must be refused, at the given stage and place.

use std::path::Path;

use hence_canon::{Value, parse_lenient};
use hence_engine::{Engine, Request};
use hence_state::{Finding, Profile, Stage, dotted};

use crate::data::{DataError, ndjson, text};
use crate::report::Report;

pub(super) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for case in ndjson(&dir.join("invalid_specs.ndjson"))? {
        let id = text(&case, "/id")?;
        let request = text(&case, "/request")?;
        report.case(id, check(case.get("expect").unwrap_or(&Value::Null), request));
    }
    Ok(())
}

fn check(expect: &Value, request: &str) -> Result<(), String> {
    let document = parse_lenient(request.as_bytes()).map_err(|error| error.to_string())?;
    let finding = refusal(&document).ok_or("accepted")?;
    let expected = |key: &str| expect.get(key).and_then(Value::as_str);
    if expected("stage") != Some(finding.rule.stage.as_str()) {
        return Err(format!("stage: expected {:?}, found {finding:?}", expected("stage")));
    }
    if finding.rule.stage != Stage::Schema {
        return Ok(());
    }
    if expected("schema_error_type").is_some_and(|category| category != finding.rule.category.as_str()) {
        return Err(format!("category: expected {:?}, found {finding:?}", expected("schema_error_type")));
    }
    if expected("schema_path").is_some_and(|path| path != dotted(&finding.pointer)) {
        return Err(format!("path: expected {:?}, found {finding:?}", expected("schema_path")));
    }
    Ok(())
}

/// Returns the first finding, in the order of the stages.
fn refusal(document: &hence_canon::Lenient) -> Option<Finding> {
    let request = match Request::decode(document, Profile::COMPAT) {
        Ok(request) => request,
        Err(findings) => return findings.into_iter().next(),
    };
    Engine::new().plan(&request).err().map(|findings| findings.first().clone())
}
