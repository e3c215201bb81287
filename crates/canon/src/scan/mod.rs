//! Proof that bytes already are canonical JSON, without building a tree.
//!
//! Verifying a journal hashes the bytes of each line. That is only sound when the line is the canonical form of
//! its value: a forged line with other spacing or key order could carry a hash over its own raw bytes. The
//! scanner therefore accepts exactly the texts that [`canonical_bytes`](crate::canonical_bytes) can produce and
//! [`parse`](crate::parse()) can read, and nothing else; any other text must be parsed and written again.

mod key;
mod number;
mod scanner;
#[cfg(test)]
mod tests;

use scanner::Scanner;

pub use crate::plain::plain_length;

/// Bytes that are not the canonical form of any value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not canonical JSON at byte {offset}")]
pub struct NotCanonical {
    /// The offset of the first byte at which the proof fails.
    pub offset: usize,
}

/// A span proved to be canonical JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proved<'a> {
    bytes: &'a [u8],
    depth: usize,
}

impl<'a> Proved<'a> {
    /// Returns the canonical bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Returns how deep containers nest: 0 for a scalar, 1 for `[]`.
    pub fn depth(self) -> usize {
        self.depth
    }
}

/// A member of an object, found while scanning.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The number of objects and lists around the member: 1 in the outermost object.
    pub depth: usize,
    /// The bytes of the key between its quotes, escapes included.
    pub raw_key: &'a [u8],
    /// Offset of the key's opening quote.
    pub start: usize,
    /// Offset after the value.
    pub end: usize,
    /// The value.
    pub value: Proved<'a>,
}

/// Proves that `bytes` are canonical JSON.
///
/// # Errors
/// [`NotCanonical`] with the first offending offset.
pub fn prove(bytes: &[u8]) -> Result<Proved<'_>, NotCanonical> {
    prove_with(bytes, 0, |_| {})
}

/// Proves that `bytes` are canonical JSON and passes each member nested at most `depth` deep to `on_member`.
///
/// A member is passed after its value has been read, so the members inside that value come first. When the proof fails
/// later, the members passed before prove nothing: wait for `Ok`.
///
/// # Errors
/// [`NotCanonical`] with the first offending offset.
pub fn prove_with<'a>(
    bytes: &'a [u8],
    depth: usize,
    on_member: impl FnMut(Member<'a>),
) -> Result<Proved<'a>, NotCanonical> {
    check_utf8(bytes)?;
    let mut scanner = Scanner::new(bytes, depth, on_member);
    let depth = scanner.value(0)?;
    if scanner.offset() == bytes.len() { Ok(Proved { bytes, depth }) } else { Err(scanner.broken()) }
}

/// Proves that `bytes` begin with a canonical value inside `enclosing` containers; other bytes may follow the value.
///
/// This function is for readers that prove the text around the value themselves. A number is read up to its last digit.
///
/// # Errors
/// [`NotCanonical`] with the first offending offset.
pub fn prove_leading(bytes: &[u8], enclosing: usize) -> Result<Proved<'_>, NotCanonical> {
    let mut scanner = Scanner::new(bytes, 0, |_| {});
    let depth = scanner.value(enclosing)?;
    let bytes = bytes.get(..scanner.offset()).unwrap_or_default();
    check_utf8(bytes)?;
    Ok(Proved { bytes, depth })
}

fn check_utf8(bytes: &[u8]) -> Result<(), NotCanonical> {
    if bytes.is_ascii() {
        return Ok(());
    }
    match str::from_utf8(bytes) {
        Ok(_) => Ok(()),
        Err(error) => Err(NotCanonical { offset: error.valid_up_to() }),
    }
}
