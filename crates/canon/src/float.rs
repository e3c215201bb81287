//! The spelling of floats in canonical JSON.
//!
//! The shortest digits that read back to the same double come from a library; their layout is ours, because the
//! layout is hashed and libraries change theirs.

use std::io::Write as _;

use crate::Float;

/// Exponents from here on are written in scientific form.
const SCIENTIFIC_FROM: i32 = 16;
/// The smallest exponent written positionally: `0.0001`.
const POSITIONAL_FROM: i32 = -4;

/// The longest spelling: sign, 17 digits, point, and an exponent of three digits with its sign.
pub(crate) const SPELLING_BYTES_MAX: usize = "-2.2250738585072014e-308".len();

/// Appends the canonical spelling: `1.0`, `0.0001`, `1e+16`, `1.5e-05`, `-0.0`.
pub(crate) fn write(float: Float, out: &mut Vec<u8>) {
    let value = float.get();
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value == 0.0 {
        out.extend_from_slice(b"0.0");
        return;
    }
    let mut buffer = zmij::Buffer::new();
    let (digits, exponent) = decompose(buffer.format_finite(value.abs()));
    let digits = digits.significant();
    if (POSITIONAL_FROM..SCIENTIFIC_FROM).contains(&exponent) {
        write_positional(digits, exponent, out);
    } else {
        write_scientific(digits, exponent, out);
    }
}

/// Significant digits, on the stack: floats are spelled once per number that is written or proved.
struct Digits {
    bytes: [u8; SPELLING_BYTES_MAX],
    count: usize,
}

impl Digits {
    fn significant(&self) -> &[u8] {
        self.bytes.get(..self.count).unwrap_or_default()
    }
}

/// Splits any decimal spelling of a positive number into significant digits and the exponent of the first one.
fn decompose(spelling: &str) -> (Digits, i32) {
    let (mantissa, exponent) = spelling.split_once(['e', 'E']).unwrap_or((spelling, "0"));
    let exponent: i32 = exponent.parse().expect("the library writes a small decimal exponent");
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = || whole.bytes().chain(fraction.bytes());
    let leading_zeros = all().take_while(|digit| *digit == b'0').count();
    let trailing_zeros = all().rev().take_while(|digit| *digit == b'0').count();
    let count = (whole.len() + fraction.len()).saturating_sub(leading_zeros + trailing_zeros);
    let mut digits = Digits { bytes: [0; SPELLING_BYTES_MAX], count };
    digits
        .bytes
        .iter_mut()
        .zip(all().skip(leading_zeros).take(count))
        .for_each(|(slot, digit)| *slot = digit);
    let shift = i32::try_from(whole.len()).expect("a double has few digits")
        - i32::try_from(leading_zeros).expect("a double has few digits")
        - 1;
    (digits, exponent + shift)
}

fn write_positional(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    let Ok(whole_digits) = usize::try_from(exponent + 1) else {
        return write_below_one(digits, exponent, out);
    };
    if whole_digits == 0 {
        return write_below_one(digits, exponent, out);
    }
    let (whole, fraction) = digits.split_at(whole_digits.min(digits.len()));
    out.extend_from_slice(whole);
    out.extend(std::iter::repeat_n(b'0', whole_digits - whole.len()));
    out.push(b'.');
    out.extend_from_slice(if fraction.is_empty() { b"0" } else { fraction });
}

fn write_below_one(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    let zeros = usize::try_from(-exponent - 1).expect("called for negative exponents");
    out.extend_from_slice(b"0.");
    out.extend(std::iter::repeat_n(b'0', zeros));
    out.extend_from_slice(digits);
}

fn write_scientific(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    if let Some((first, rest)) = digits.split_first() {
        out.push(*first);
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "e{sign}{:02}", exponent.unsigned_abs()).expect("writing to memory does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spell(value: f64) -> String {
        Float::new(value).unwrap().to_string()
    }

    #[test]
    fn the_pinned_spellings() {
        for (value, spelling) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.0, "0.0"),
            (100.0, "100.0"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-9, "1.5e-09"),
            (123456.789, "123456.789"),
            (1e15, "1000000000000000.0"),
            (9007199254740993.0, "9007199254740992.0"),
            (1e16, "1e+16"),
            (1.25e16, "1.25e+16"),
            (1e23, "1e+23"),
            (1e100, "1e+100"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (2.225073858507201e-308, "2.225073858507201e-308"),
        ] {
            assert_eq!(spell(value), spelling);
        }
    }

    proptest! {
        #[test]
        fn every_finite_double_reads_back_to_itself(bits: u64) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                let spelled = spell(value);
                prop_assert!(spelled.len() <= SPELLING_BYTES_MAX, "{}", spelled);
                prop_assert_eq!(spelled.parse::<f64>().unwrap().to_bits(), bits);
            }
        }
    }
}
