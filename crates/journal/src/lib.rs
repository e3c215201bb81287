//! The journal of a run: typed records, the hash chain that binds them, and what can be verified of it.
//!
//! A journal is a sequence of lines. Each is the canonical form of one record and a line feed; each record but
//! the first names the hash of the one before. This crate knows those bytes and nothing of where they are kept.

mod head;
mod tail;

pub use head::{Head, InvalidAnchor, RecordCount, RecordIndex};
pub use tail::{Tail, TailError, read_tail};
