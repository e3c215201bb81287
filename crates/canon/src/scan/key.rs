//! Keys and their order.

use std::cmp::Ordering;

/// A key found while scanning: the bytes between its quotes, and the first eight of them as a number.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    raw: &'a [u8],
    /// The first eight bytes in big-endian order, padded with zeros. No scanned byte is zero.
    prefix: u64,
    escaped: bool,
}

impl<'a> Key<'a> {
    pub(super) fn new(raw: &'a [u8], escaped: bool) -> Self {
        Self { raw, prefix: prefix(raw), escaped }
    }

    /// Returns whether the key comes before `other` in the writer's order, which compares unescaped bytes.
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
    // The prefix of an empty key is zero; a shift by 64 bits would overflow.
    shorter.checked_shl(64 - 8 * raw.len() as u32).unwrap_or(0)
}

/// Decodes the inside of a string that the scanner has accepted.
fn unescaped(raw: &[u8]) -> Vec<u8> {
    let quoted = [b"\"", raw, b"\""].concat();
    match crate::parse(&quoted) {
        Ok(crate::Value::String(text)) => text.as_bytes().to_vec(),
        // Unreachable: the scanner accepts only strings that the reader can decode.
        _ => Vec::new(),
    }
}
