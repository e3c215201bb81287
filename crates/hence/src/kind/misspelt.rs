//! Members of a problem's settings that are probably misspelt. Members that nothing reads are otherwise allowed.

use std::sync::Arc;

use hence_canon::Value;

use crate::prelude::*;

/// The settings that are read.
const SETTINGS: [&str; 17] = [
    "bindings",
    "capabilities",
    "evidence_batch",
    "evidence_required",
    "limits",
    "loop",
    "max_steps",
    "model_name",
    "model_profile",
    "model_provider",
    "orchestration_framework",
    "origin",
    "parent",
    "policies",
    "policy_profile",
    "structured_generation",
    "verification_paths",
];

/// The most letters that a misspelt name differs in.
const LETTERS_MAX: usize = 2;

/// Returns the members of a problem's settings that differ from a known one in a letter or two, each with a message.
pub(crate) fn misspelt_settings(problem: &Value) -> Vec<(Arc<str>, String)> {
    let settings = problem.get("settings").and_then(Value::as_object);
    let keys = settings.into_iter().flat_map(|settings| settings.keys());
    keys.filter(|key| !SETTINGS.contains(&&***key) && &***key != "skill")
        .filter_map(|key| {
            let close = SETTINGS.iter().map(|known| (distance(key, known), known)).min()?;
            let is_misspelt = close.0 <= LETTERS_MAX && key.chars().count() > 2 * LETTERS_MAX;
            let message = format!("there is no such setting; did you mean `{}`?", close.1);
            is_misspelt.then(|| (key.clone(), message))
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

/// Returns the number of letters to add, drop, change or swap with a neighbour to get from one word to the other.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for (i, from) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in right.iter().enumerate() {
            let at = |row: &[usize], place: usize| row.get(place).copied().unwrap_or(usize::MAX / 2);
            let last = rows.last().map_or(&[][..], Vec::as_slice);
            let mut best =
                (at(last, j) + usize::from(from != to)).min(at(last, j + 1) + 1).min(at(&row, j) + 1);
            let is_swapped = i > 0 && j > 0 && left.get(i - 1) == Some(to) && right.get(j - 1) == Some(from);
            if let (true, Some(before)) = (is_swapped, rows.get(i.wrapping_sub(1))) {
                best = best.min(at(before, j - 1) + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last().copied()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        for (left, right, letters) in [
            ("evidence_bacth", "evidence_batch", 1),
            ("limts", "limits", 1),
            ("abc", "abc", 0),
            ("", "ab", 2),
        ] {
            assert_eq!(distance(left, right), letters, "{left}");
        }
    }
}
