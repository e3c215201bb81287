//! The list of all built-in capabilities.

use crate::builtin::BuiltIn;
use crate::{data, date, decision, digest, evidence, number, rules, table, text};

/// The built-in capabilities, by family.
pub(crate) const FAMILIES: [&[&BuiltIn]; 9] = [
    text::ALL,
    data::ALL,
    table::ALL,
    number::ALL,
    date::ALL,
    digest::ALL,
    decision::ALL,
    rules::ALL,
    evidence::ALL,
];

/// Returns the built-in capability with an id.
pub(crate) fn find(id: &str) -> Option<&'static BuiltIn> {
    FAMILIES.into_iter().flatten().copied().find(|one| one.id == id)
}
