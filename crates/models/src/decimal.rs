//! Exact decimals for money. No price is converted to a double.

use std::str::FromStr;

use hence_cognition::budget::COST_PLACES;

pub use hence_cognition::budget::Cost;

/// The maximum number of digits of a price before the point: 10^9 per million tokens is more than any price.
pub const WHOLE_DIGITS_MAX: usize = 9;

/// The maximum number of digits of a price after the point.
pub const FRACTION_DIGITS_MAX: usize = 12;

// A cost has the places of a price, and six more because prices are per million tokens.
const _: () = assert!(COST_PLACES == FRACTION_DIGITS_MAX + 6);

/// The exact price of a million tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Price(u128);

/// A text that is not a price.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "expected a decimal with at most {WHOLE_DIGITS_MAX} digits before and {FRACTION_DIGITS_MAX} behind the point, found {0:?}"
)]
pub struct NotAPrice(pub String);

impl FromStr for Price {
    type Err = NotAPrice;

    fn from_str(text: &str) -> Result<Self, NotAPrice> {
        let refused = || NotAPrice(text.to_owned());
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(refused()),
            None => (text, ""),
        };
        let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
        let fits = (1..=WHOLE_DIGITS_MAX).contains(&whole.len()) && fraction.len() <= FRACTION_DIGITS_MAX;
        if !all_digits || !fits {
            return Err(refused());
        }
        let padded = format!("{whole}{fraction:0<FRACTION_DIGITS_MAX$}");
        padded.parse().map(Self).map_err(|_| refused())
    }
}

impl Price {
    /// Returns the cost of `tokens` tokens; `None` only above any number of tokens that a model can report.
    pub fn of(self, tokens: u64) -> Option<Cost> {
        self.0.checked_mul(u128::from(tokens)).map(Cost::of_units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_exact() {
        let price = |text: &str| text.parse::<Price>().unwrap();
        let cost = |text: &str, tokens| price(text).of(tokens).unwrap().to_string();
        assert_eq!(cost("2.50", 1_000_000), "2.5");
        assert_eq!(cost("0.1", 3), "0.0000003");
        assert_eq!(cost("3", 0), "0");
        assert_eq!(cost("0.000000000001", 1), "0.000000000000000001");
        assert_eq!(cost("15", 2_000_000), "30");
        // The sum is three tenths, which a double cannot represent.
        let sum = price("0.1").of(1_000_000).unwrap().plus(price("0.2").of(1_000_000).unwrap());
        assert_eq!(sum.unwrap().to_string(), "0.3");
    }

    #[test]
    fn a_price_has_a_limited_number_of_digits() {
        assert!("999999999.999999999999".parse::<Price>().is_ok());
        for wrong in ["1000000000", "0.1234567890123", "", ".5", "5.", "-1", "1e3", "1,5", " 1", "٣"] {
            assert!(wrong.parse::<Price>().is_err(), "{wrong:?}");
        }
        assert!("999999999".parse::<Price>().unwrap().of(u64::from(u32::MAX)).is_some());
        assert_eq!("999999999".parse::<Price>().unwrap().of(u64::MAX), None);
    }
}
