//! Comparing what terms stand for.

use std::cmp::Ordering;

use hence_canon::Value;
use hence_review::vocabulary::{ActionType, ArtifactType, ResidualSeverity};

use super::datum::Datum;
use crate::formula::Comparison;

/// Returns whether two data satisfy a comparison. Data that have no order satisfy no order comparison.
pub(super) fn compare(left: &Datum<'_>, comparison: Comparison, right: &Datum<'_>) -> bool {
    match comparison {
        Comparison::Equal => same(left, right),
        Comparison::NotEqual => !same(left, right),
        _ => order(left, right).is_some_and(|order| comparison.holds(order)),
    }
}

/// Returns whether two data are the same thing.
pub(super) fn same(left: &Datum<'_>, right: &Datum<'_>) -> bool {
    if let (Datum::Action(left), Datum::Action(right)) = (left, right) {
        return left == right;
    }
    if let (Datum::Set(_), Some(right)) | (Datum::Value(Value::Array(_)), Some(right)) = (left, right.items())
    {
        return same_set(&left.items().unwrap_or_default(), &right);
    }
    if let (Datum::Element(left), Datum::Element(right)) = (left, right) {
        return left.list == right.list && left.index == right.index;
    }
    if let Some(order) = number_order(left, right) {
        return order.is_eq();
    }
    match (left.as_text(), right.as_text()) {
        (Some(left), Some(right)) => same_word(left, right),
        _ => false,
    }
}

/// Returns whether two sets have the same elements, repetitions aside.
fn same_set(left: &[Datum<'_>], right: &[Datum<'_>]) -> bool {
    let within = |some: &[Datum<'_>], other: &[Datum<'_>]| {
        some.iter().all(|item| other.iter().any(|candidate| same(item, candidate)))
    };
    within(left, right) && within(right, left)
}

fn order(left: &Datum<'_>, right: &Datum<'_>) -> Option<Ordering> {
    if let (Datum::Action(left), Datum::Action(right)) = (left, right) {
        return Some(left.cmp(right));
    }
    if let Some(order) = number_order(left, right) {
        return Some(order);
    }
    Some(severity(left)?.cmp(&severity(right)?))
}

fn severity(datum: &Datum<'_>) -> Option<ResidualSeverity> {
    let word = datum.as_text()?.to_lowercase();
    ResidualSeverity::from_word(word.strip_suffix("residual").unwrap_or(&word))
}

/// Orders two numbers: exactly while both are whole and fit, else as doubles.
fn number_order(left: &Datum<'_>, right: &Datum<'_>) -> Option<Ordering> {
    if let (Some(left), Some(right)) = (whole(left), whole(right)) {
        return Some(left.cmp(&right));
    }
    Some(number(left)?.total_cmp(&number(right)?))
}

fn whole(datum: &Datum<'_>) -> Option<i128> {
    match datum {
        Datum::Number(value) => Some((*value).into()),
        Datum::Value(Value::Int(value)) => {
            value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
        }
        _ => None,
    }
}

fn number(datum: &Datum<'_>) -> Option<f64> {
    match datum {
        Datum::Number(value) => Some(*value as f64),
        Datum::Value(Value::Int(value)) => Some(value.to_f64_lossy()),
        Datum::Value(Value::Float(value)) => Some(value.get()),
        _ => None,
    }
}

/// Returns whether two words mean the same: without regard to case, to `CamelCase` against `snake_case`, to the
/// prefixes the canonical model only uses to tell variants apart, and to older names of types.
fn same_word(left: &str, right: &str) -> bool {
    if left.to_lowercase() == right.to_lowercase() {
        return true;
    }
    if plain(left) == plain(right) {
        return true;
    }
    let one_artifact_type =
        ArtifactType::from_word(left).map(|left| Some(left) == ArtifactType::from_word(right));
    let one_action_type = ActionType::from_word(left).map(|left| Some(left) == ActionType::from_word(right));
    one_artifact_type == Some(true) || one_action_type == Some(true)
}

/// Writes `OutOfScope` as `out_of_scope`, and drops what the canonical model adds to the names of its variants
/// only to tell them apart: `ResidualOpen`, `HighResidual`, `VrProved`.
fn plain(word: &str) -> String {
    let written = snake(word);
    if !word.starts_with(|first: char| first.is_uppercase()) {
        return written;
    }
    let prefixes = ["residual_", "vr_", "conformance_", "meta_", "review_"];
    let without = prefixes.iter().find_map(|prefix| written.strip_prefix(prefix)).unwrap_or(&written);
    without.strip_suffix("_residual").unwrap_or(without).to_owned()
}

/// Writes `OutOfScope` as `out_of_scope`.
fn snake(word: &str) -> String {
    let mut written = String::with_capacity(word.len() + 4);
    let mut after_small = false;
    for letter in word.chars() {
        if letter.is_uppercase() && after_small {
            written.push('_');
        }
        after_small = letter.is_lowercase() || letter.is_ascii_digit();
        written.extend(letter.to_lowercase());
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_in_every_spelling_the_model_uses() {
        for (left, right) in [
            ("OutOfScope", "out_of_scope"),
            ("ResidualOpen", "open"),
            ("HIGH", "high"),
            ("HighResidual", "high"),
        ] {
            assert!(same_word(left, right), "{left} {right}");
        }
        assert!(same_word("IMLModel", "FormalModel"));
        assert!(!same_word("action", "meta_action"));
        assert!(!same_word("open", "reopen"));
        assert!(!same_word("open", "acknowledged"));
    }

    #[test]
    fn only_what_has_an_order_is_ordered() {
        let word = |text: &str| Datum::Literal(text.into());
        assert!(compare(&word("critical"), Comparison::AtLeast, &word("High")));
        assert!(!compare(&word("open"), Comparison::AtLeast, &word("High")));
        assert!(!compare(&word("open"), Comparison::Below, &word("High")));
        assert!(compare(&Datum::Number(2), Comparison::Below, &Datum::Number(10)));
        assert!(!compare(&Datum::Nothing, Comparison::Below, &Datum::Number(10)));
        let (even, odd) = (Value::from(9_007_199_254_740_992_u64), Datum::Number(9_007_199_254_740_993));
        assert!(compare(&Datum::Value(&even), Comparison::Below, &odd));
    }
}
