//! Numbers: integers exact at any size, floats finite.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest integer a document may hold, in digits.
///
/// Unbounded integers are exact but make work unbounded too; 4300 digits is what the reference engine can read.
pub const INT_DIGITS_MAX: usize = 4300;

/// An integer of any size up to [`INT_DIGITS_MAX`] digits.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Int(Repr);

/// Values that fit `i64` are always `Small`, so derived equality is numeric equality.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Small(i64),
    /// Plain decimal text, no leading zeros, out of `i64` range.
    Big(Arc<str>),
}

/// A text that is not a plain decimal integer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInt {
    /// Something other than an optional minus sign and digits without leading zeros.
    #[error("not a plain decimal integer")]
    Malformed,
    /// More than [`INT_DIGITS_MAX`] digits.
    #[error("integer has {found} digits, limit is {INT_DIGITS_MAX}")]
    TooLong {
        /// The number of digits in the text.
        found: usize,
    },
}

impl Int {
    /// Returns the value when it fits `i64`.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Small(small) => Some(small),
            Repr::Big(_) => None,
        }
    }

    /// Returns the value when it fits `u64`.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Small(small) => u64::try_from(*small).ok(),
            Repr::Big(text) => text.parse().ok(),
        }
    }

    /// Returns the nearest double, which may be infinite for very long integers.
    pub fn to_f64_lossy(&self) -> f64 {
        match &self.0 {
            #[expect(clippy::cast_precision_loss, reason = "the name says so")]
            Repr::Small(small) => *small as f64,
            Repr::Big(text) => text.parse().unwrap_or(f64::NAN),
        }
    }

    /// Compares it with a double, exactly at any size; `None` for NaN.
    pub fn cmp_f64(&self, other: f64) -> Option<Ordering> {
        if !other.is_finite() {
            return 0.0.partial_cmp(&other);
        }
        // Formatting without a fraction is exact at any size.
        let floor: Self = format!("{:.0}", other.floor()).parse().ok()?;
        let fraction = if other.fract() == 0.0 { Ordering::Equal } else { Ordering::Less };
        Some(self.cmp(&floor).then(fraction))
    }

    fn sign_and_digits(&self) -> (bool, String) {
        let text = self.to_string();
        match text.strip_prefix('-') {
            Some(digits) => (true, digits.to_owned()),
            None => (false, text),
        }
    }
}

impl FromStr for Int {
    type Err = InvalidInt;

    /// Reads `-?(0|[1-9][0-9]*)`; `-0` is the integer zero.
    fn from_str(text: &str) -> Result<Self, InvalidInt> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !plain || (digits.len() > 1 && digits.starts_with('0')) {
            return Err(InvalidInt::Malformed);
        }
        if digits.len() > INT_DIGITS_MAX {
            return Err(InvalidInt::TooLong { found: digits.len() });
        }
        Ok(match text.parse::<i64>() {
            Ok(small) => Self(Repr::Small(small)),
            Err(_) => Self(Repr::Big(text.into())),
        })
    }
}

impl fmt::Display for Int {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Small(small) => write!(out, "{small}"),
            Repr::Big(text) => out.write_str(text),
        }
    }
}

impl fmt::Debug for Int {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl Ord for Int {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Repr::Small(left), Repr::Small(right)) = (&self.0, &other.0) {
            return left.cmp(right);
        }
        let (left_negative, left) = self.sign_and_digits();
        let (right_negative, right) = other.sign_and_digits();
        // Without leading zeros the longer text is the larger magnitude.
        let magnitude = || left.len().cmp(&right.len()).then_with(|| left.cmp(&right));
        match (left_negative, right_negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => magnitude(),
            (true, true) => magnitude().reverse(),
        }
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<i64> for Int {
    fn from(value: i64) -> Self {
        Self(Repr::Small(value))
    }
}

impl From<u64> for Int {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(small) => Self(Repr::Small(small)),
            Err(_) => Self(Repr::Big(value.to_string().into())),
        }
    }
}

/// A finite double. Equality is by bits: `0.0` and `-0.0` have different canonical bytes.
#[derive(Clone, Copy)]
pub struct Float(f64);

/// A double that is NaN or infinite, which no canonical document can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("number is not finite")]
pub struct NotFinite;

impl Float {
    /// Wraps a finite double.
    ///
    /// # Errors
    /// [`NotFinite`] for NaN and the infinities.
    pub fn new(value: f64) -> Result<Self, NotFinite> {
        if value.is_finite() { Ok(Self(value)) } else { Err(NotFinite) }
    }

    /// Returns the double.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

impl fmt::Debug for Float {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl fmt::Display for Float {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        crate::float::write(*self, &mut text);
        out.write_str(&String::from_utf8_lossy(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(text: &str) -> Int {
        text.parse().unwrap()
    }

    #[test]
    fn an_integer_and_a_double_are_compared_exactly() {
        use Ordering::{Equal, Greater, Less};
        for (left, right, order) in [
            ("9007199254740993", 9_007_199_254_740_992.0, Greater),
            ("9007199254740991", 9_007_199_254_740_992.0, Less),
            ("9007199254740992", 9_007_199_254_740_992.0, Equal),
            ("-9007199254740993", -9_007_199_254_740_992.0, Less),
            ("10000000000000000000001", 1e22, Greater),
            ("2", 2.5, Less),
            ("3", 2.5, Greater),
            ("-2", -2.5, Greater),
            ("-3", -2.5, Less),
            ("0", -0.0, Equal),
            ("99999999999999999999", f64::INFINITY, Less),
            ("0", f64::NEG_INFINITY, Greater),
        ] {
            assert_eq!(int(left).cmp_f64(right), Some(order), "{left} and {right}");
        }
        assert_eq!(int("1").cmp_f64(f64::NAN), None);
    }

    #[test]
    fn integers_order_by_value_at_any_size() {
        let ascending = [
            "-100000000000000000000000000",
            "-99999999999999999999999999",
            "-9223372036854775808",
            "-1",
            "0",
            "7",
            "9223372036854775807",
            "9223372036854775808",
            "100000000000000000000000000",
        ];
        for pair in ascending.windows(2) {
            assert!(int(pair[0]) < int(pair[1]), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn only_plain_decimal_text_is_an_integer() {
        for text in ["", "-", "+1", "01", "1.0", "1e3", "٣", " 1"] {
            assert_eq!(text.parse::<Int>(), Err(InvalidInt::Malformed), "{text:?}");
        }
        assert_eq!(int("-0").to_string(), "0");
        assert_eq!(Int::from(u64::MAX), int("18446744073709551615"));
    }

    #[test]
    fn the_digit_limit_is_exact() {
        assert!("9".repeat(INT_DIGITS_MAX).parse::<Int>().is_ok());
        let found = INT_DIGITS_MAX + 1;
        assert_eq!("9".repeat(found).parse::<Int>(), Err(InvalidInt::TooLong { found }));
    }
}
