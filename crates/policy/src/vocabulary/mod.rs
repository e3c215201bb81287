//! What the names in a formula stand for.

mod atom;
mod function;
mod lists;

pub use atom::Atom;
pub use function::{Function, Kind};
pub(crate) use lists::{ACTION_FIELDS, ACTION_LIST_FIELDS, is_trace_list};
