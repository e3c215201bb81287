//! Lists and objects.

mod filter;
mod group;
mod join;
mod pick;
mod sets;
mod sort;

use crate::builtin::BuiltIn;

pub(crate) use filter::{condition, record};

pub(crate) const ALL: &[&BuiltIn] = &[
    &pick::VALUE,
    &pick::GET,
    &pick::MAP,
    &pick::SLICE,
    &filter::FILTER,
    &sort::SORT,
    &group::GROUP,
    &group::AGGREGATE,
    &join::JOIN,
    &sets::UNIQUE,
    &sets::CONCAT,
    &sets::MERGE,
];
