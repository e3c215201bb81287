//! Numbers in the only spelling that the writer uses.

use crate::{Float, INT_DIGITS_MAX, float};

/// The maximum number of digits with which every decimal fraction is the shortest spelling of its double.
///
/// Two different decimals of at most 15 digits are never the same double, so no shorter decimal denotes that double.
const EXACT_DIGITS_MAX: usize = 15;
/// The maximum number of zeros after the point of a number below one: the writer writes `0.0001`, but `1e-05`.
const LEADING_ZEROS_MAX: usize = 3;

/// Returns the length of the canonical number at the start of `bytes`; `None` when the number is spelled differently.
#[inline]
pub(super) fn canonical_length(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let sign = bytes.len() - digits.len();
    let whole = count_digits(digits);
    let is_plain = whole == 1 || (whole > 1 && digits.first() != Some(&b'0'));
    match digits.get(whole) {
        Some(b'.') if is_plain => {
            let length = short_fraction_length(digits, whole).map(|length| sign + length);
            length.or_else(|| canonical_float_length(bytes))
        }
        Some(b'-' | b'+' | b'.' | b'e') => canonical_float_length(bytes),
        _ if !is_plain || whole > INT_DIGITS_MAX => None,
        _ if sign == 1 && digits.first() == Some(&b'0') => None,
        _ => Some(sign + whole),
    }
}

fn count_digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Returns the length of a decimal fraction that is certainly canonical: few digits, no exponent, no trailing zero.
#[inline]
fn short_fraction_length(digits: &[u8], whole: usize) -> Option<usize> {
    let fraction = digits.get(whole + 1..)?;
    let count = count_digits(fraction);
    let fraction_digits = fraction.get(..count)?;
    let is_single_zero = fraction_digits == b"0";
    let is_trimmed = is_single_zero || !matches!(fraction_digits.last(), None | Some(b'0'));
    let is_positional = digits.first() != Some(&b'0')
        || is_single_zero
        || fraction_digits.iter().take_while(|digit| **digit == b'0').count() <= LEADING_ZEROS_MAX;
    let ends = !matches!(fraction.get(count), Some(b'-' | b'+' | b'.' | b'e'));
    let is_canonical = is_trimmed && is_positional && ends && whole + count <= EXACT_DIGITS_MAX;
    is_canonical.then_some(whole + 1 + count)
}

#[cold]
fn canonical_float_length(bytes: &[u8]) -> Option<usize> {
    let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e');
    let token = bytes.get(..bytes.iter().take_while(is_part).count())?;
    // The writer's longest spelling is far shorter; a longer token is refused without being converted.
    if token.len() > float::SPELLING_BYTES_MAX {
        return None;
    }
    let parsed = str::from_utf8(token).ok()?.parse::<f64>().ok()?;
    let mut spelled = Vec::with_capacity(float::SPELLING_BYTES_MAX);
    float::write(Float::new(parsed).ok()?, &mut spelled);
    (spelled == token).then_some(token.len())
}
