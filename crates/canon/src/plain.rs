//! Finding the end of a plain run inside a string: the first quote, backslash or control character.
//!
//! Parser, scanner and writer spend much of their time here, so sixteen bytes are tested before each decision.

/// Returns the number of bytes before the first quote, backslash or control character.
#[inline]
pub fn plain_length(bytes: &[u8]) -> usize {
    let place = |flags: u64| (flags.trailing_zeros() / 8) as usize;
    let mut rest = bytes;
    while let Some((chunk, after)) = rest.split_first_chunk::<16>() {
        let both = u128::from_le_bytes(*chunk);
        #[expect(clippy::cast_possible_truncation, reason = "each half is tested by itself")]
        let (first, second) = (specials(both as u64), specials((both >> 64) as u64));
        if first | second != 0 {
            let in_chunk = if first != 0 { place(first) } else { 8 + place(second) };
            return bytes.len() - rest.len() + in_chunk;
        }
        rest = after;
    }
    if let Some((word, after)) = rest.split_first_chunk::<8>() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return bytes.len() - rest.len() + place(found);
        }
        rest = after;
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    bytes.len() - rest.len() + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// Flags the high bit of bytes that end a plain run; the lowest flag is exact.
///
/// A subtraction borrows from the next byte only where it underflows, that is above a byte that is flagged itself.
/// Higher flags may therefore be wrong, and nobody looks at them.
#[inline]
const fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    let (quote, backslash) = (word ^ (ONES * b'"' as u64), word ^ (ONES * b'\\' as u64));
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    let is_control = word.wrapping_sub(ONES * b' ' as u64) & !word;
    (is_quote | is_backslash | is_control) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn byte_by_byte(bytes: &[u8]) -> usize {
        bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(bytes.len())
    }

    #[test]
    fn every_byte_is_judged_the_same_at_every_place() {
        for filler in [b' ', b'a', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
            for place in 0..40 {
                for byte in 0..=u8::MAX {
                    let mut bytes = [filler; 43];
                    bytes[place] = byte;
                    let expected = byte_by_byte(&bytes);
                    assert_eq!(plain_length(&bytes), expected, "{byte:#x} at {place} among {filler:#x}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_judged_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(plain_length(&bytes), byte_by_byte(&bytes));
        }
    }
}
