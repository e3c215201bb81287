//! Text.

mod diff;
mod pattern;
mod pieces;
mod similarity;
mod template;

use crate::builtin::BuiltIn;

pub(crate) use pieces::plain as text_of;

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
