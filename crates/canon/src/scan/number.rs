//! Numbers in the one spelling the writer gives them.

use crate::{Float, INT_DIGITS_MAX, float};

/// Returns the length of the canonical number at the start of `bytes`; `None` when it is spelled otherwise.
#[inline]
pub(super) fn canonical_length(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if let Some(b'-' | b'+' | b'.' | b'e') = digits.get(whole) {
        return canonical_float_length(bytes);
    }
    let sign = bytes.len() - digits.len();
    let canonical = match (whole, digits.first()) {
        (0, _) => false,
        (1, Some(b'0')) => sign == 0,
        (_, first) => first != Some(&b'0') && whole <= INT_DIGITS_MAX,
    };
    canonical.then_some(sign + whole)
}

#[cold]
fn canonical_float_length(bytes: &[u8]) -> Option<usize> {
    let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e');
    let token = bytes.get(..bytes.iter().take_while(is_part).count())?;
    // The writer's longest spelling is far shorter; whoever writes more is refused without being converted.
    if token.len() > float::SPELLING_BYTES_MAX {
        return None;
    }
    let parsed = str::from_utf8(token).ok()?.parse::<f64>().ok()?;
    let mut spelled = Vec::with_capacity(float::SPELLING_BYTES_MAX);
    float::write(Float::new(parsed).ok()?, &mut spelled);
    (spelled == token).then_some(token.len())
}
