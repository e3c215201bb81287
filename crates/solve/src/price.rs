//! The most that a call may cost, by the prices that the problem pins.

use std::sync::Arc;

use hence_canon::{Object, Value};
use hence_cognition::budget::{Cost, Usage};

/// The digits after the point of a price per million tokens.
const PRICE_PLACES: usize = 12;

/// Returns the currency and the most that tokens may cost; `None` when the prices cannot be read.
pub(crate) fn most(price: &Object, usage: &Usage) -> Option<(Arc<str>, Cost)> {
    let currency = price.get("currency")?.as_str()?;
    let of = |key: &str| price.get(key).and_then(units);
    // Tokens that come from a cache have a price of their own, which may be the higher one.
    let input = of("input")?.max(of("cached_input").unwrap_or(0));
    let sum = input
        .checked_mul(u128::from(usage.tokens_in))?
        .checked_add(of("output")?.checked_mul(u128::from(usage.tokens_out))?)?;
    Some((currency.into(), Cost::of_units(sum)))
}

/// Reads a price per million tokens in units of the last place of a cost.
fn units(value: &Value) -> Option<u128> {
    let text = match value {
        Value::String(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        _ => return None,
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if fraction.len() > PRICE_PLACES || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    format!("{whole}{fraction:0<PRICE_PLACES$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_exact() {
        let price: Object = [("currency", "USD"), ("input", "2.50"), ("output", "10")].into_iter().collect();
        let usage = Usage { tokens_in: 1000, tokens_out: 10, ..Usage::default() };
        let (currency, cost) = most(&price, &usage).unwrap();
        assert_eq!((&*currency, cost.to_string().as_str()), ("USD", "0.0026"));
        assert_eq!(most(&price.with("input", "x"), &usage), None);
    }
}
