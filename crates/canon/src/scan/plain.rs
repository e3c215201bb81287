//! Finding the end of a plain run inside a string, eight bytes at a time.

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);
const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);

/// Counts the bytes before the first quote, backslash or control character.
#[inline]
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<8>();
    for (position, word) in words.iter().enumerate() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return position * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    words.len() * 8 + tail.iter().position(special).unwrap_or(tail.len())
}

/// Flags the high bit of bytes that end a plain run; the lowest flag is exact.
///
/// A subtraction borrows from the next byte only where it underflows, that is above a byte that is flagged itself.
/// Higher flags may therefore be wrong, and nobody looks at them.
#[inline]
const fn specials(word: u64) -> u64 {
    let (quote, backslash) = (word ^ QUOTES, word ^ BACKSLASHES);
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    let is_control = word.wrapping_sub(SPACES) & !word;
    (is_quote | is_backslash | is_control) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slow(bytes: &[u8]) -> usize {
        bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(bytes.len())
    }

    #[test]
    fn every_byte_at_every_place_is_judged_alike() {
        for filler in [b' ', b'a', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
            for place in 0..24 {
                for byte in 0..=u8::MAX {
                    let mut bytes = [filler; 27];
                    bytes[place] = byte;
                    assert_eq!(plain_length(&bytes), slow(&bytes), "{byte:#x} at {place} among {filler:#x}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_judged_alike(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(plain_length(&bytes), slow(&bytes));
        }
    }
}
