//! `policies/gallery_lint.json`: level, errors and custom words of every policy of the gallery.

use std::collections::BTreeSet;
use std::path::Path;

use hence_canon::Value;
use hence_policy::lint::{FindingKind, LanguageLevel};
use hence_policy::policy::Policy;

use super::verdicts::gallery;
use crate::data::{DataError, json, text};
use crate::report::Report;

pub(crate) fn run(dir: &Path, report: &mut Report) -> Result<(), DataError> {
    let policies = gallery(dir)?;
    let expected = json(&dir.join("policies/gallery_lint.json"))?;
    for expected in expected.as_array().unwrap_or(&[]) {
        let id = text(expected, "/id")?;
        let policy = policies.iter().find(|policy| policy.id().as_str() == id);
        let outcome = match policy {
            Some(policy) => compare(expected, policy),
            None => Err("the gallery has no such policy".to_owned()),
        };
        report.case(&format!("lint/{id}"), outcome);
    }
    Ok(())
}

fn compare(expected: &Value, policy: &Policy) -> Result<(), String> {
    let list = |key: &str| expected.get(key).and_then(Value::as_array).unwrap_or(&[]);
    let findings = policy.lint();
    let errors: Vec<String> =
        findings.iter().filter(|finding| finding.is_error()).map(ToString::to_string).collect();
    if list("upstream_errors").is_empty() != errors.is_empty() {
        return Err(format!("expected errors {:?}, found {errors:?}", list("upstream_errors")));
    }
    if !errors.is_empty() {
        return Ok(());
    }
    let rule = policy.rule().map_err(ToString::to_string)?;
    let level = LanguageLevel::of(rule.expr()).as_str();
    let declared = expected.get("declared_level").and_then(Value::as_str).unwrap_or("");
    if level != declared {
        return Err(format!("expected level {declared}, found {level}"));
    }
    // The recorded warning quotes the word: Custom predicate 'word' — …
    let quoted = |warning: &Value| Some(warning.as_str()?.split('\'').nth(1)?.to_owned());
    let recorded: BTreeSet<String> = list("upstream_warnings").iter().filter_map(quoted).collect();
    let named: BTreeSet<String> = findings
        .iter()
        .filter_map(|finding| match &finding.kind {
            FindingKind::CustomWord(word) | FindingKind::ForeignType(word) => Some(word.clone()),
            _ => None,
        })
        .collect();
    if recorded != named {
        return Err(format!("expected custom words {recorded:?}, found {named:?}"));
    }
    Ok(())
}
