//! Shared by the tests of this crate.

use hence_canon::{Value, parse};

use crate::state::Memory;

pub(crate) fn json(text: &str) -> Value {
    parse(text.as_bytes()).expect("test data is JSON")
}

/// Reads a memory from its blocks.
pub(crate) fn memory(text: &str) -> Memory {
    Memory::from_blocks(&json(text)).expect("test data is a memory")
}
