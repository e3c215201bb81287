//! Comparing two journals byte by byte.

/// Returns the first line at which two journals differ, counting from 0; `None` when they are equal.
///
/// A missing line feed at the end counts as a difference after the last line.
pub fn first_difference(left: &[u8], right: &[u8]) -> Option<u64> {
    if left == right {
        return None;
    }
    let lines = |bytes| <[u8]>::split(bytes, |byte: &u8| *byte == b'\n');
    let (mut left, mut right) = (lines(left), lines(right));
    (0..).find(|_| left.next() != right.next())
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn lines_are_counted_from_zero_and_the_final_line_feed_counts() {
        assert_eq!(first_difference(b"a\nb\n", b"a\nb\n"), None);
        assert_eq!(first_difference(b"a\nb\n", b"a\nc\n"), Some(1));
        assert_eq!(first_difference(b"a\n", b"a\nb\n"), Some(1));
        assert_eq!(first_difference(b"a\nb", b"a\nb\n"), Some(2));
        assert_eq!(first_difference(b"a\n\n", b"a\n"), Some(2));
        assert_eq!(first_difference(b"", b"a\n"), Some(0));
    }
}
