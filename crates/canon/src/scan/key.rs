//! Keys and their order.

use std::cmp::Ordering;

/// A key met while scanning: the bytes between its quotes, and the first of them as a number.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    raw: &'a [u8],
    /// The first eight bytes, big end first, padded with zeros. No scanned byte is zero.
    prefix: u64,
    escaped: bool,
}

impl<'a> Key<'a> {
    pub(super) fn new(raw: &'a [u8], escaped: bool) -> Self {
        Self { raw, prefix: prefix(raw), escaped }
    }

    /// Compares keys as the writer orders them: by their unescaped bytes.
    #[inline]
    pub(super) fn is_before(&self, other: &Self) -> bool {
        if self.escaped || other.escaped {
            return unescaped(self.raw) < unescaped(other.raw);
        }
        match self.prefix.cmp(&other.prefix) {
            Ordering::Less => true,
            Ordering::Greater => false,
            // Equal prefixes are equal keys, or keys that are both longer than eight bytes.
            Ordering::Equal => self.raw < other.raw,
        }
    }
}

#[inline]
fn prefix(raw: &[u8]) -> u64 {
    if let Some(first) = raw.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
    let shorter = raw.iter().fold(0, |prefix: u64, byte| (prefix << 8) | u64::from(*byte));
    // A key without bytes has the prefix zero, which no shift may reach by 64 bits.
    shorter.checked_shl(64 - 8 * raw.len() as u32).unwrap_or(0)
}

/// Decodes the inside of a string that the scanner has accepted.
fn unescaped(raw: &[u8]) -> Vec<u8> {
    let quoted = [b"\"", raw, b"\""].concat();
    match crate::parse(&quoted) {
        Ok(crate::Value::String(text)) => text.as_bytes().to_vec(),
        // Not reachable for scanned strings; an order that never holds keeps the proof sound regardless.
        _ => Vec::new(),
    }
}
