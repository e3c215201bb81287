//! `canonical_json.ndjson`: JSON text → canonical bytes → digest.

use std::path::Path;

use hence_canon::{Canonical, ParseErrorKind, Value, parse};

use crate::data::{DataError, ndjson, text};
use crate::report::Report;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    for case in ndjson(&dir.join("canonical_json.ndjson"))? {
        let id = text(&case, "/id")?;
        let input = text(&case, "/input_json")?;
        // Where the strict reading differs from the recorded one, the strict one is the law.
        let expect = case.get("strict").or_else(|| case.get("expect")).unwrap_or(&Value::Null);
        report.case(id, check(input, expect));
    }
    Ok(())
}

fn check(input: &str, expect: &Value) -> Result<(), String> {
    let found = match parse(input.as_bytes()) {
        Ok(value) => Ok(Canonical::of(&value)),
        Err(error) => Err(match error.kind {
            ParseErrorKind::NonFinite => "non_finite".to_owned(),
            ParseErrorKind::LoneSurrogate(_) => "lone_surrogate".to_owned(),
            ParseErrorKind::DuplicateKey(_) => "duplicate_key".to_owned(),
            other => other.to_string(),
        }),
    };
    if expect.get("ok") != Some(&Value::Bool(true)) {
        let expected = expect.get("error").and_then(Value::as_str).unwrap_or("an error");
        return match found {
            Err(error) if error == expected => Ok(()),
            other => Err(format!("expected {expected}, found {other:?}")),
        };
    }
    let canonical = found?;
    let same = |key: &str, found: &str| match expect.get(key).and_then(Value::as_str) {
        Some(expected) if expected != found => Err(format!("{key}: expected {expected}, found {found}")),
        _ => Ok(()),
    };
    same("canonical", canonical.text())?;
    same("sha256", &canonical.digest().to_string())?;
    let length = expect.get("bytes").and_then(Value::as_u64);
    if length.is_some_and(|length| length != canonical.bytes().len() as u64) {
        return Err(format!("expected {length:?} bytes, found {}", canonical.bytes().len()));
    }
    Ok(())
}
