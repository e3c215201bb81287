//! The faithfulness of acceptance items: are they fulfilled, and do they express the intent.

use std::collections::BTreeSet;

use hence_canon::Value;

use crate::vocabulary::{AcceptanceKind, AcceptanceStatus, Verdict};
use crate::wire::{AcceptanceItem, Goal};

/// The stakes of a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stakes {
    /// A policy that passes is hard evidence.
    Normal,
    /// Only a verified property is.
    High,
}

/// The strength of evidence of a kind of acceptance item, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strength {
    /// Something changed.
    Change,
    /// A declared gap is closed.
    Gap,
    /// A policy passes.
    Obligation,
    /// A property is verified.
    Property,
}

impl Strength {
    /// Returns the word of the kind of item.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Gap => "gap",
            Self::Obligation => "obligation",
            Self::Property => "property",
        }
    }
}

/// Returns the strength of a kind of item.
pub const fn strength(kind: AcceptanceKind) -> Strength {
    match kind {
        AcceptanceKind::Change => Strength::Change,
        AcceptanceKind::Gap => Strength::Gap,
        AcceptanceKind::Obligation => Strength::Obligation,
        AcceptanceKind::Property => Strength::Property,
    }
}

/// The trust that the acceptance of a goal deserves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faithfulness {
    /// All required items are done, and there are some.
    pub met: bool,
    /// Someone who authored none of the items approved them, they cover the intent and are not weak.
    pub certified: bool,
    /// There are items, but none that is required and hard evidence.
    pub weakly_specified: bool,
    /// The strongest kind among the required items.
    pub strongest: Option<Strength>,
    /// Clauses of the intent that no item covers.
    pub uncovered_clauses: Vec<String>,
}

/// Judges a goal by the resolved status of its items, given in their order.
pub fn faithfulness(goal: &Goal, statuses: &[AcceptanceStatus], stakes: Stakes) -> Faithfulness {
    let items: Vec<AcceptanceItem> = goal.acceptance().collect();
    let mut required: Vec<(&AcceptanceItem, AcceptanceStatus)> =
        items.iter().zip(statuses.iter().copied()).filter(|(item, _)| item.is_required()).collect();
    if required.is_empty() {
        required = items.iter().zip(statuses.iter().copied()).collect();
    }
    let is_hard = |item: &AcceptanceItem| match item.kind() {
        Some(AcceptanceKind::Property) => true,
        Some(AcceptanceKind::Obligation) => stakes == Stakes::Normal,
        _ => false,
    };
    let weakly_specified = !items.is_empty() && !required.iter().any(|(item, _)| is_hard(item));
    let uncovered_clauses = uncovered(goal, &items);
    Faithfulness {
        met: !required.is_empty() && required.iter().all(|(_, status)| *status == AcceptanceStatus::Done),
        certified: is_approved_by_another(goal, &items) && uncovered_clauses.is_empty() && !weakly_specified,
        weakly_specified,
        strongest: required.iter().filter_map(|(item, _)| item.kind()).map(strength).max(),
        uncovered_clauses,
    }
}

fn uncovered(goal: &Goal, items: &[AcceptanceItem]) -> Vec<String> {
    let covered: BTreeSet<&str> = items.iter().flat_map(|item| item.texts("covers")).collect();
    goal.texts("intent_clauses").filter(|clause| !covered.contains(clause)).map(str::to_owned).collect()
}

fn is_approved_by_another(goal: &Goal, items: &[AcceptanceItem]) -> bool {
    let Some(review) = goal.object("criteria_review") else { return false };
    let text = |key: &str| review.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let approved = text("verdict").and_then(Verdict::from_word) == Some(Verdict::Approved);
    // An unsigned approval certifies nothing.
    let Some(reviewer) = text("reviewed_by") else { return false };
    approved && !items.iter().any(|item| item.text("author") == Some(reviewer))
}
