//! What replies cost, in tokens and in money.

use std::sync::Arc;

use hence_canon::{Object, Value};

use crate::decimal::{Cost, Price};

/// Tokens of one or more replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tokens {
    /// Tokens of prompts, with those that were cached.
    pub input: u64,
    /// Tokens of prompts that the provider had in a cache.
    pub cached_input: u64,
    /// Tokens of replies.
    pub output: u64,
}

impl Tokens {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached_input: self.cached_input.saturating_add(other.cached_input),
            output: self.output.saturating_add(other.output),
        }
    }
}

/// What a million tokens of each kind cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prices {
    pub(crate) currency: Arc<str>,
    pub(crate) input: Price,
    pub(crate) cached_input: Price,
    pub(crate) output: Price,
}

impl Prices {
    /// Returns what tokens cost.
    pub fn cost(&self, tokens: Tokens) -> Option<Cost> {
        let cached = tokens.cached_input.min(tokens.input);
        let fresh = self.input.of(tokens.input - cached)?;
        fresh.plus(self.cached_input.of(cached)?)?.plus(self.output.of(tokens.output)?)
    }
}

/// Returns what a call reports about itself: the counters a trace adds up, and what it cost.
///
/// How often a request had to be repeated because an endpoint was busy is not among them: it depends on the moment, and
/// nothing that does enters a record.
pub(crate) fn report(replies: u64, tokens: Tokens, prices: Option<&Prices>) -> Object {
    let meta = Object::from_iter([
        ("llm_calls", replies),
        ("tokens_in", tokens.input),
        ("tokens_out", tokens.output),
    ]);
    let cost = prices.and_then(|prices| Some((prices, prices.cost(tokens)?)));
    match cost {
        None => meta,
        Some((prices, cost)) => {
            let cost =
                [("amount", Value::from(cost.to_string())), ("currency", prices.currency.clone().into())];
            meta.with("cost", Object::from_iter(cost))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_part_of_the_prompt_and_have_a_price_of_their_own() {
        let price = |text: &str| text.parse().unwrap();
        let prices = Prices {
            currency: "USD".into(),
            input: price("2"),
            cached_input: price("0.5"),
            output: price("8"),
        };
        let tokens = Tokens { input: 1000, cached_input: 400, output: 10 };
        // 600 × 2 + 400 × 0.5 + 10 × 8, for a million each.
        assert_eq!(prices.cost(tokens).unwrap().to_string(), "0.00148");
        // A provider that reports more cached tokens than tokens is not paid twice.
        let odd = Tokens { input: 1, cached_input: 400, output: 0 };
        assert_eq!(prices.cost(odd).unwrap().to_string(), "0.0000005");
        assert_eq!(
            Value::from(report(2, tokens, Some(&prices))).to_string(),
            r#"{"cost":{"amount":"0.00148","currency":"USD"},"llm_calls":2,"tokens_in":1000,"tokens_out":10}"#
        );
        assert!(!report(1, tokens, None).contains_key("cost"));
    }
}
