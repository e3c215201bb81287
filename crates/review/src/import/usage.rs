//! Tokens, cost and time, as logs count them.

use hence_canon::{Value, parse};

/// The usage of a message or a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) tokens_in: Option<u64>,
    pub(super) tokens_out: Option<u64>,
    /// The total as the log has it, which may count more than both, such as thoughts; never less than the sum of both.
    pub(super) tokens: Option<u64>,
    pub(super) cost: Option<Cost>,
}

/// Names of the tokens that a model read, by source. Those of a cache are counted beside the others by some sources.
const INPUT: &[&str] = &["input_tokens", "prompt_tokens", "promptTokens", "input", "prompt", "inputTokens"];
const CACHED: &[&str] =
    &["cache_creation_input_tokens", "cache_read_input_tokens", "cacheRead", "cacheWrite"];
const OUTPUT: &[&str] =
    &["output_tokens", "completion_tokens", "completionTokens", "output", "completion", "outputTokens"];
const TOTAL: &[&str] = &["total_tokens", "totalTokens", "total"];

impl Usage {
    /// Reads an object that counts tokens; `None` when it counts none.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let first = |keys: &[&str]| keys.iter().find_map(|key| count(object.get(key)?));
        let cached: Vec<u64> = CACHED.iter().filter_map(|key| count(object.get(key)?)).collect();
        let read = first(INPUT);
        let tokens_in = match (read, cached.is_empty()) {
            (None, true) => None,
            (read, _) => Some(cached.iter().fold(read.unwrap_or(0), |sum, count| sum.saturating_add(*count))),
        };
        let tokens_out = first(OUTPUT);
        let cost = object.get("cost").and_then(|cost| Cost::of(cost.get("total").unwrap_or(cost)));
        Self { tokens_in, tokens_out, tokens: first(TOTAL), cost }.summed()
    }

    /// Fills in the total; `None` when nothing is known.
    pub(super) fn summed(mut self) -> Option<Self> {
        let parts = [self.tokens_in, self.tokens_out];
        if parts.iter().any(Option::is_some) {
            // A limit of tokens reads the total.
            self.tokens = self.tokens.max(Some(parts.into_iter().flatten().fold(0, u64::saturating_add)));
        }
        (self.tokens.is_some() || self.cost.is_some()).then_some(self)
    }

    pub(super) fn add(&mut self, other: &Self) {
        let sum = |left: Option<u64>, right: Option<u64>| match (left, right) {
            (None, None) => None,
            (left, right) => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
        };
        self.tokens_in = sum(self.tokens_in, other.tokens_in);
        self.tokens_out = sum(self.tokens_out, other.tokens_out);
        self.tokens = sum(self.tokens, other.tokens);
        self.cost = match (self.cost, other.cost) {
            (Some(Cost(left)), Some(Cost(right))) => Some(Cost(left.saturating_add(right))),
            (left, right) => left.or(right),
        };
    }

    /// Keeps the larger of both counts.
    pub(super) fn raise_to(&mut self, other: &Self) {
        self.tokens_in = self.tokens_in.max(other.tokens_in);
        self.tokens_out = self.tokens_out.max(other.tokens_out);
        self.tokens = self.tokens.max(other.tokens);
        self.cost = self.cost.max(other.cost);
    }

    /// Returns its members of `execution`.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let counts =
            [("tokens", self.tokens), ("tokens_in", self.tokens_in), ("tokens_out", self.tokens_out)];
        let counts = counts.into_iter().filter_map(|(key, count)| Some((key, number(count?))));
        counts.chain(self.cost.map(|cost| ("cost", cost.to_value())))
    }
}

/// An amount of money as an exact decimal, in parts of 10^-18.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost(u128);

/// The decimals of an amount that are kept.
const DECIMALS: usize = 18;

impl Cost {
    /// Reads a number, or a text that is one.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let text = match value {
            Value::Int(_) | Value::Float(_) => value.to_string(),
            other => other.as_str()?.trim().to_owned(),
        };
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (text.as_str(), 0),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{part}");
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let shift = i32::try_from(DECIMALS)
            .ok()?
            .checked_add(exponent)?
            .checked_sub(i32::try_from(part.len()).ok()?)?;
        let number: u128 = digits.parse().ok().filter(|_| is_plain)?;
        let scale = 10_u128.checked_pow(shift.unsigned_abs())?;
        if shift < 0 { Some(Self(number / scale)) } else { number.checked_mul(scale).map(Self) }
    }

    fn to_value(self) -> Value {
        let scale = 10_u128.pow(DECIMALS as u32);
        let part = format!("{:0DECIMALS$}", self.0 % scale);
        let part = part.trim_end_matches('0');
        let text =
            if part.is_empty() { (self.0 / scale).to_string() } else { format!("{}.{part}", self.0 / scale) };
        parse(text.as_bytes()).unwrap_or_default()
    }
}

fn number(count: u64) -> Value {
    i64::try_from(count).map_or_else(|_| Value::from(i64::MAX), Value::from)
}

/// Reads a count, which some sources write as a text.
pub(super) fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Reads decimal seconds as milliseconds.
pub(super) fn millis_of_seconds(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = part.chars().chain("000".chars()).take(3).collect();
    let whole: i64 = whole.parse().ok().filter(|whole| *whole >= 0)?;
    whole.checked_mul(1000)?.checked_add(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    #[test]
    fn counts_are_read_by_the_names_of_each_source() {
        for (text, counts) in [
            (
                r#"{"input_tokens": 3, "cache_read_input_tokens": 10, "output_tokens": 4}"#,
                (Some(13), Some(4), Some(17)),
            ),
            (
                r#"{"prompt_tokens": "3", "completion_tokens": 4, "total_tokens": 8}"#,
                (Some(3), Some(4), Some(8)),
            ),
            (r#"{"input": 1, "output": 2, "cached": 9}"#, (Some(1), Some(2), Some(3))),
            (r#"{"totalTokens": 5}"#, (None, None, Some(5))),
        ] {
            let usage = Usage::of(&parse(text.as_bytes()).unwrap()).unwrap();
            assert_eq!((usage.tokens_in, usage.tokens_out, usage.tokens), counts, "{text}");
        }
        assert_eq!(Usage::of(&parse(br#"{"other": 1}"#).unwrap()), None);
        let cost =
            |text: &str| Cost::of(&parse(text.as_bytes()).unwrap()).map(|cost| cost.to_value().to_string());
        for (text, expected) in [
            ("15.4", Some("15.4")),
            ("4.5e-06", Some("0.0000045")),
            ("3", Some("3")),
            ("\"0.10\"", Some("0.1")),
            ("-1", None),
            ("\"x\"", None),
        ] {
            let expected = expected.map(|text| parse(text.as_bytes()).unwrap().to_string());
            assert_eq!(cost(text), expected, "{text}");
        }
        let mut sum = Usage { cost: Cost::of(&"0.1".into()), ..Usage::default() };
        sum.add(&Usage { cost: Cost::of(&"0.2".into()), ..Usage::default() });
        assert_eq!(sum.cost, Cost::of(&"0.3".into()));
        assert_eq!(millis_of_seconds("1.2"), Some(1200));
        assert_eq!(millis_of_seconds("12"), Some(12_000));
        assert_eq!(millis_of_seconds("-1"), None);
    }
}
