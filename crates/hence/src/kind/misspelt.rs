//! Members of a problem's settings that are probably misspelt. Members that nothing reads are otherwise allowed.

use std::sync::Arc;

use hence_canon::{Value, meant};
use hence_state::Settings;

use crate::prelude::*;

/// The length up to which a name is not taken for a misspelt one.
const SHORT_CHARACTERS_MAX: usize = 4;

/// Returns the members of a problem's settings that differ from a known one in a letter or two, each with a message.
pub(crate) fn misspelt_settings(problem: &Value) -> Vec<(Arc<str>, String)> {
    let settings = problem.get("settings").and_then(Value::as_object);
    let keys = settings.into_iter().flat_map(|settings| settings.keys());
    keys.filter(|key| !Settings::KEYS.contains(&&***key))
        .filter_map(|key| {
            // A shorter name is rather somebody's own than a slip.
            let known = meant(key, Settings::KEYS).filter(|_| key.chars().count() > SHORT_CHARACTERS_MAX)?;
            Some((key.clone(), format!("there is no such setting; did you mean `{known}`?")))
        })
        .collect()
}

/// Refuses a problem whose settings have a member that differs from a known one in a letter or two.
pub(super) fn refuse(name: &str, problem: &Value) -> Result<(), CliError> {
    let findings: Vec<String> = misspelt_settings(problem)
        .into_iter()
        .map(|(key, message)| format!("settings.{key}: {message}"))
        .collect();
    if findings.is_empty() {
        return Ok(());
    }
    let noun = if findings.len() == 1 { "finding" } else { "findings" };
    let message = format!("{name} is refused: {} {noun}", findings.len());
    Err(CliError::new(Code::Refused, message).with_findings(findings))
}
