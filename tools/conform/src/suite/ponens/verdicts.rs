//! `expected/verdicts`: every policy of the gallery on every trace.

use std::path::Path;

use hence_canon::Value;
use hence_policy::lint::LanguageLevel;
use hence_policy::policy::Policy;
use hence_policy::verdict::Verdict;
use hence_policy::{Options, check};

use crate::data::{DataError, json, json_folder};
use crate::report::Report;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    let gallery = gallery(dir)?;
    for (name, expected) in json_folder(&dir.join("expected/verdicts"))? {
        let trace = json(&dir.join("traces").join(format!("{name}.json")))?;
        let found = check(&trace, &gallery, Options::default());
        for (policy, verdict) in gallery.iter().zip(&found.verdicts) {
            let id = verdict.policy_id.as_str();
            let case = format!("verdicts/{name}/{id}");
            match expected.get(id) {
                Some(expected) => report.case(&case, compare(expected, policy, verdict)),
                None => {
                    report.case(&case, Err("the gallery has this policy, the verdicts do not".to_owned()))
                }
            }
        }
    }
    Ok(())
}

/// Reads the policies of the gallery.
pub(crate) fn gallery(dir: &Path) -> Result<Vec<Policy>, DataError> {
    let document = json(&dir.join("policies/gallery.json"))?;
    let objects = document.as_array().unwrap_or(&[]).iter().filter_map(Value::as_object);
    Ok(objects.filter_map(Policy::read).collect())
}

fn compare(expected: &Value, policy: &Policy, found: &Verdict) -> Result<(), String> {
    let status = expected.get("strict").and_then(Value::as_str).unwrap_or("");
    if status == "unspecified" {
        return Ok(());
    }
    if status != found.status.as_str() {
        return Err(format!("expected {status}, found {} ({:?})", found.status, found.note()));
    }
    let strict_violating = expected.get("strict_violating");
    // Witnesses were recorded for the other reading of the trace; they hold here where the verdicts agree.
    let agree = expected.get("upstream").and_then(Value::as_str) == Some(status);
    if status == "failed" && (agree || strict_violating.is_some()) {
        let violating = ids(strict_violating.or_else(|| expected.get("violating")));
        if violating != found.violating.action_ids {
            return Err(format!("expected violating {violating:?}, found {:?}", found.violating.action_ids));
        }
    }
    // For quantified rules no evidence was ever recorded; naming it is better.
    let quantified =
        policy.rule().is_ok_and(|rule| LanguageLevel::of(rule.expr()) == LanguageLevel::Structural);
    let recorded = expected.get("evidence").is_some() || !quantified;
    if agree && recorded && strict_violating.is_none() {
        let (mut evidence, mut named) = (ids(expected.get("evidence")), found.evidence.action_ids.clone());
        evidence.sort_unstable();
        named.sort_unstable();
        if evidence != named {
            return Err(format!("expected evidence {evidence:?}, found {named:?}"));
        }
    }
    Ok(())
}

/// Returns a list of ids; a missing list is empty.
pub(crate) fn ids(list: Option<&Value>) -> Vec<i64> {
    list.and_then(Value::as_array).unwrap_or(&[]).iter().filter_map(Value::as_i64).collect()
}
