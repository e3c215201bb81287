//! Capabilities on texts.

mod diff;
mod pattern;
mod pieces;
mod similarity;
mod template;

use crate::builtin::BuiltIn;

pub(crate) const ALL: &[&BuiltIn] = &[
    &pieces::SPLIT,
    &pieces::JOIN,
    &pieces::LINES,
    &template::FILL,
    &template::FILL_EACH,
    &pattern::EXTRACT,
    &pattern::REPLACE,
    &diff::DIFF,
    &similarity::SIMILARITY,
];
