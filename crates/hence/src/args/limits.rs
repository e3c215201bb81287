//! The options that limit what a run may use.

use std::sync::Arc;

use clap::Args as ClapArgs;
use hence_cognition::budget::{Cost, Limits};

/// Limits of a run. Each call is checked before it is made, with the most it may use.
#[derive(ClapArgs, Clone)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Make at most this many calls of commands, services and models
    #[arg(long, value_name = "CALLS")]
    max_calls: Option<u64>,
    /// Use at most this many tokens, sent and received
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,
    /// Spend at most this much, as 1.50USD; may be repeated for other currencies
    #[arg(long, value_name = "AMOUNT", value_parser = money)]
    max_cost: Vec<Money>,
    /// Begin no call after this many seconds; cut off one that reads, wait for one that acts
    #[arg(long, value_name = "SECONDS")]
    max_seconds: Option<u64>,
}

/// An amount of money in a currency.
#[derive(Clone)]
pub(crate) struct Money(pub(crate) Arc<str>, pub(crate) Cost);

impl LimitArgs {
    /// Returns the limits. Of two limits in one currency the smaller holds.
    pub(crate) fn limits(&self) -> Limits {
        let counts = Limits {
            calls: self.max_calls,
            tokens: self.max_tokens,
            seconds: self.max_seconds,
            ..Limits::default()
        };
        self.max_cost.iter().fold(counts, |limits, Money(currency, amount)| {
            limits.and(&Limits { cost: [(currency.clone(), *amount)].into(), ..Limits::default() })
        })
    }
}

/// Reads an amount and a currency, as `1.50USD`.
pub(crate) fn money(text: &str) -> Result<Money, String> {
    let at = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (amount, currency) = text.split_at(at);
    let currency = currency.trim();
    let is_word = !currency.is_empty() && currency.chars().all(char::is_alphabetic);
    match amount.parse() {
        Ok(amount) if is_word => Ok(Money(currency.into(), amount)),
        _ => Err(format!("expected an amount and a currency, as 1.50USD, found {text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_an_amount_and_a_currency() {
        for (text, amount, currency) in [("1.50USD", "1.5", "USD"), ("3 EUR", "3", "EUR")] {
            let Money(found, cost) = money(text).unwrap();
            assert_eq!((cost.to_string().as_str(), &*found), (amount, currency));
        }
        for wrong in ["", "USD", "1.50", "-1USD", "1,5USD", "1e3USD", "1.50 U$D"] {
            assert!(money(wrong).is_err(), "{wrong:?}");
        }
    }
}
