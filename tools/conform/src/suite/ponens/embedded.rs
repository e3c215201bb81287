//! `expected/check`: the policies a trace carries, and whether the trace passes them.
//!
//! The records are the other implementation's. Where the matrix in `expected/verdicts` has a strict verdict for
//! the same formula on the same trace, that is the law; elsewhere what passed vacuously must be told apart here.

use std::path::Path;

use hence_canon::Value;
use hence_policy::policy::Policy;
use hence_policy::verdict::Verdict;
use hence_policy::{FailOn, Options, check};

use super::verdicts::ids;
use crate::data::{DataError, json, json_folder};
use crate::report::Report;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    let gallery = super::verdicts::gallery(dir)?;
    for (name, expected) in json_folder(&dir.join("expected/check"))? {
        let trace = json(&dir.join("traces").join(format!("{name}.json")))?;
        let matrix = dir.join("expected/verdicts").join(format!("{name}.json"));
        let matrix = if matrix.exists() { json(&matrix)? } else { Value::Null };
        let objects = trace.get("policies").and_then(Value::as_array).unwrap_or(&[]);
        let policies: Vec<Policy> =
            objects.iter().filter_map(|policy| Policy::read(policy.as_object()?)).collect();
        let found = check(&trace, &policies, Options::default());
        let records = expected.get("records").and_then(Value::as_array).unwrap_or(&[]);
        let mut overruled = false;
        for (policy, verdict) in policies.iter().zip(&found.verdicts) {
            let id = policy.id().as_str();
            let recorded =
                records.iter().find(|record| record.get("policy_id").and_then(Value::as_str) == Some(id));
            let strict = strict_status(policy, &gallery, &matrix);
            let outcome = match recorded {
                Some(recorded) => {
                    let status = recorded.get("status").and_then(Value::as_str).unwrap_or("");
                    overruled |= status == "failed" && strict.is_some_and(|strict| strict != status);
                    compare(recorded, status, strict, verdict)
                }
                None => Err("no record".to_owned()),
            };
            report.case(&format!("check/{name}/{id}"), outcome);
        }
        // The recorded exit code follows from the recorded verdicts; it is compared where those are the strict ones.
        if !overruled {
            for (key, fail_on) in [("exit_code", FailOn::Error), ("exit_code_strict", FailOn::Warning)] {
                let wanted = expected.get(key).and_then(Value::as_i64) == Some(0);
                let outcome = if found.passes(fail_on) == wanted {
                    Ok(())
                } else {
                    Err(format!("expected to {}", if wanted { "pass" } else { "fail" }))
                };
                report.case(&format!("check/{name}/{key}"), outcome);
            }
        }
    }
    Ok(())
}

/// Finds the strict verdict for the formula of a policy, if the gallery has the same one.
fn strict_status<'m>(policy: &Policy, gallery: &[Policy], matrix: &'m Value) -> Option<&'m str> {
    let rule = policy.rule().ok()?;
    let same = gallery.iter().find(|known| {
        known.rule().is_ok_and(|known| known.expr() == rule.expr())
            || rule.formula().text() == known.id().as_str()
    })?;
    matrix.get(same.id().as_str())?.get("strict")?.as_str()
}

fn compare(recorded: &Value, status: &str, strict: Option<&str>, found: &Verdict) -> Result<(), String> {
    let expected = strict.unwrap_or(status);
    // A selector that selects nothing makes any verdict `not_applicable`.
    let vacuous = found.status.as_str() == "not_applicable" && (strict.is_none() || expected == "passed");
    if found.status.as_str() != expected && !(vacuous && status == "passed") {
        return Err(format!("expected {expected}, found {} ({:?})", found.status, found.note()));
    }
    if expected != status || found.status.as_str() != status {
        return Ok(());
    }
    for (key, named) in [
        ("violating_action_ids", &found.violating.action_ids),
        ("evidence_action_ids", &found.evidence.action_ids),
    ] {
        let (mut wanted, mut named) = (ids(recorded.get(key)), named.clone());
        wanted.sort_unstable();
        named.sort_unstable();
        if wanted != named {
            return Err(format!("expected {key} {wanted:?}, found {named:?}"));
        }
    }
    let checked_at = recorded.get("checked_at_action_id").and_then(Value::as_i64);
    if checked_at != found.checked_at_action_id {
        return Err(format!(
            "expected to be checked at {checked_at:?}, found {:?}",
            found.checked_at_action_id
        ));
    }
    Ok(())
}
