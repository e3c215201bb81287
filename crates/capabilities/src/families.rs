//! All built-in capabilities.

use crate::builtin::BuiltIn;
use crate::{data, date, decision, digest, evidence, number, rules, table, text};

/// The families of built-in capabilities.
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

/// Returns the built-in capability of an id.
pub(crate) fn find(id: &str) -> Option<&'static BuiltIn> {
    FAMILIES.into_iter().flatten().copied().find(|one| one.id == id)
}
