//! Capabilities on lists and objects.

mod filter;
mod group;
mod join;
mod pick;
mod query;
mod sets;
mod sort;
mod validate;

use crate::builtin::BuiltIn;

pub(crate) use filter::{condition, record};

pub(crate) const ALL: &[&BuiltIn] = &[
    &pick::VALUE,
    &pick::GET,
    &pick::MAP,
    &pick::SLICE,
    &query::QUERY,
    &validate::VALIDATE,
    &filter::FILTER,
    &sort::SORT,
    &group::GROUP,
    &group::AGGREGATE,
    &join::JOIN,
    &sets::UNIQUE,
    &sets::CONCAT,
    &sets::MERGE,
];
