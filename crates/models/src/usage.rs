//! The cost of replies, in tokens and in money.

use std::sync::Arc;

use hence_canon::{Object, Value};

use crate::decimal::{Cost, Price};

/// The tokens of one or more replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tokens {
    /// The tokens of prompts, including cached ones.
    pub input: u64,
    /// The tokens of prompts that the provider read from its cache.
    pub cached_input: u64,
    /// The tokens of replies.
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

/// The prices of a million tokens of each kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prices {
    pub(crate) currency: Arc<str>,
    pub(crate) input: Price,
    pub(crate) cached_input: Price,
    pub(crate) output: Price,
}

impl Prices {
    /// Returns the currency and the most that `tokens` may cost, whichever of them come from a cache.
    pub(crate) fn most(&self, tokens: Tokens) -> (Arc<str>, Cost) {
        let all_cached = Tokens { cached_input: tokens.input, ..tokens };
        let costs = [self.cost(tokens), self.cost(all_cached)];
        // A cost that cannot be counted is over every limit.
        let most = costs.into_iter().map(|cost| cost.unwrap_or(Cost::of_units(u128::MAX))).max();
        (self.currency.clone(), most.unwrap_or_default())
    }

    /// Returns the cost of `tokens`; `None` on overflow.
    pub fn cost(&self, tokens: Tokens) -> Option<Cost> {
        let cached = tokens.cached_input.min(tokens.input);
        let fresh = self.input.of(tokens.input - cached)?;
        fresh.plus(self.cached_input.of(cached)?)?.plus(self.output.of(tokens.output)?)
    }
}

/// The words for a usage that an endpoint did not state, or stated as something that is no count.
pub const NOT_REPORTED: &str = "not reported";

/// Returns the metadata of a call: the counters that a trace sums, and the cost. Without tokens it says so: a count of zero would make
/// every limit on tokens and money void.
///
/// The number of retries is not included: it depends on how busy the endpoint was, and nothing that depends on timing
/// enters a record.
pub(crate) fn report(replies: u64, tokens: Option<Tokens>, prices: Option<&Prices>) -> Object {
    let Some(tokens) = tokens else {
        return Object::from_iter([("llm_calls", Value::from(replies)), ("tokens", NOT_REPORTED.into())]);
    };
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
        // 600 × 2 + 400 × 0.5 + 10 × 8, each per million tokens.
        assert_eq!(prices.cost(tokens).unwrap().to_string(), "0.00148");
        // Cached tokens above the number of prompt tokens are not counted.
        let odd = Tokens { input: 1, cached_input: 400, output: 0 };
        assert_eq!(prices.cost(odd).unwrap().to_string(), "0.0000005");
        assert_eq!(
            Value::from(report(2, Some(tokens), Some(&prices))).to_string(),
            r#"{"cost":{"amount":"0.00148","currency":"USD"},"llm_calls":2,"tokens_in":1000,"tokens_out":10}"#
        );
        assert!(!report(1, Some(tokens), None).contains_key("cost"));
        assert_eq!(
            Value::from(report(1, None, Some(&prices))).to_string(),
            r#"{"llm_calls":1,"tokens":"not reported"}"#
        );
    }
}
