//! The values of terms, and comparing them.

use std::cmp::Ordering;
use std::sync::Arc;

use hence_canon::{Int, Object, Value};
use hence_review::vocabulary::{ActionType, ArtifactType, ResidualSeverity};

use crate::formula::Comparison;

/// The value of a term.
#[derive(Clone, Debug)]
pub(crate) enum Datum<'t> {
    /// A field that is not there, or null.
    Nothing,
    /// A value of the trace.
    Value(&'t Value),
    /// A text of the trace.
    Text(&'t str),
    /// A word or text of the formula.
    Literal(Arc<str>),
    /// A number of the formula, or a size.
    Number(u64),
    /// An action, by position.
    Action(usize),
    /// An artifact, by id.
    Artifact(&'t str),
    /// An item of a list of the trace.
    Element(Element<'t>),
    /// A set, in the order it was found.
    Set(Vec<Datum<'t>>),
}

/// An object in a list of the trace.
#[derive(Clone, Debug)]
pub(crate) struct Element<'t> {
    pub(crate) list: Arc<str>,
    pub(crate) index: usize,
    pub(crate) object: &'t Object,
}

impl Element<'_> {
    /// Returns the id of the element, or else its path in the trace.
    pub(crate) fn name(&self) -> String {
        let singular = self.list.strip_suffix('s').unwrap_or(&self.list);
        let keys = [format!("{singular}_id"), "id".to_owned()];
        let id = keys.iter().find_map(|key| self.object.get(key)).filter(|id| !id.is_null());
        match id {
            Some(Value::String(id)) => id.to_string(),
            Some(id) => id.to_string(),
            None => format!("/{}/{}", self.list, self.index),
        }
    }
}

impl<'t> From<&'t Value> for Datum<'t> {
    fn from(value: &'t Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            other => Self::Value(other),
        }
    }
}

impl<'t> Datum<'t> {
    /// Returns whether this is absent, blank, or without items or members.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Value(value) => match value {
                Value::Null => true,
                Value::String(text) => text.trim().is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(object) => object.is_empty(),
                Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
            },
            Self::Text(text) => text.trim().is_empty(),
            Self::Literal(text) => text.trim().is_empty(),
            Self::Set(items) => items.is_empty(),
            Self::Number(_) | Self::Action(_) | Self::Artifact(_) | Self::Element(_) => false,
        }
    }

    /// Returns the text, if this is a text or a boolean, or the id of an artifact.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Value(value) => match value {
                Value::String(text) => Some(text),
                Value::Bool(true) => Some("true"),
                Value::Bool(false) => Some("false"),
                _ => None,
            },
            Self::Text(text) => Some(text),
            Self::Literal(text) => Some(text),
            Self::Artifact(id) => Some(id),
            _ => None,
        }
    }

    /// Returns the items of a set or a list; an absent value is the empty set.
    pub(crate) fn items(&self) -> Option<Vec<Datum<'t>>> {
        match self {
            Self::Set(items) => Some(items.clone()),
            Self::Value(Value::Array(items)) => Some(items.iter().map(Datum::from).collect()),
            Self::Nothing => Some(Vec::new()),
            _ => None,
        }
    }
}

/// Returns whether two values satisfy a comparison. Values without an order satisfy no order comparison.
pub(super) fn compare(left: &Datum<'_>, comparison: Comparison, right: &Datum<'_>) -> bool {
    match comparison {
        Comparison::Equal => same(left, right),
        Comparison::NotEqual => !same(left, right),
        _ => order(left, right).is_some_and(|order| comparison.holds(order)),
    }
}

/// Returns whether two values are equal.
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

/// Orders two numbers, exactly at any size.
fn number_order(left: &Datum<'_>, right: &Datum<'_>) -> Option<Ordering> {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (Some(left), None) => left.cmp_f64(fractional(right)?),
        (None, Some(right)) => right.cmp_f64(fractional(left)?).map(Ordering::reverse),
        (None, None) => fractional(left)?.partial_cmp(&fractional(right)?),
    }
}

fn whole(datum: &Datum<'_>) -> Option<Int> {
    match datum {
        Datum::Number(value) => Some((*value).into()),
        Datum::Value(Value::Int(value)) => Some(value.clone()),
        _ => None,
    }
}

fn fractional(datum: &Datum<'_>) -> Option<f64> {
    match datum {
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
