//! The usage of calls — their number, tokens and money — and the limits on it. Money is exact: no amount becomes a double.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hence_canon::{JsonPointer, Object, Value, did_you_mean};

/// The decimal places of an amount of money: those of a price per million tokens, and six more.
pub const COST_PLACES: usize = 18;

/// The maximum number of digits of an amount before the point.
const WHOLE_DIGITS_MAX: usize = 15;

/// An exact amount of money in some currency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Cost(u128);

/// A text that is not an amount of money.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "expected a decimal with at most {WHOLE_DIGITS_MAX} digits before and {COST_PLACES} after the point, found {0:?}"
)]
pub struct NotAnAmount(String);

impl Cost {
    /// Returns an amount of that many units of the last decimal place.
    pub const fn of_units(units: u128) -> Self {
        Self(units)
    }

    /// Returns the sum; `None` on overflow.
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// Returns the difference, at least zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns an equal share, rounded down.
    #[must_use]
    pub fn divided_by(self, count: u64) -> Self {
        Self(self.0.checked_div(u128::from(count)).unwrap_or(self.0))
    }

    /// Returns a multiple; `None` on overflow.
    pub fn times(self, factor: u64) -> Option<Self> {
        self.0.checked_mul(u128::from(factor)).map(Self)
    }
}

impl FromStr for Cost {
    type Err = NotAnAmount;

    fn from_str(text: &str) -> Result<Self, NotAnAmount> {
        let refused = || NotAnAmount(text.to_owned());
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(refused()),
            None => (text, ""),
        };
        let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
        let fits = (1..=WHOLE_DIGITS_MAX).contains(&whole.len()) && fraction.len() <= COST_PLACES;
        if !all_digits || !fits {
            return Err(refused());
        }
        format!("{whole}{fraction:0<COST_PLACES$}").parse().map(Self).map_err(|_| refused())
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = 10u128.pow(u32::try_from(COST_PLACES).unwrap_or(0));
        let (whole, fraction) = (self.0 / one, self.0 % one);
        let digits = format!("{fraction:0>COST_PLACES$}");
        match digits.trim_end_matches('0') {
            "" => write!(formatter, "{whole}"),
            digits => write!(formatter, "{whole}.{digits}"),
        }
    }
}

/// Amounts of money by currency.
pub type Costs = BTreeMap<Arc<str>, Cost>;

/// The usage of one or more calls, or the most that a call may use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Calls that leave the run: of commands, services and models, each attempt counted. Built-in functions and
    /// questions to people are none.
    pub calls: u64,
    /// Tokens sent to language models.
    pub tokens_in: u64,
    /// Tokens received from them.
    pub tokens_out: u64,
    /// Money.
    pub cost: Costs,
    /// Calls whose tokens and money nobody reported. They count as the most that each may have used, so sums with them are upper bounds.
    pub unreported: u64,
}

/// The member that counts the calls whose usage nobody reported.
pub const UNREPORTED_KEY: &str = "unreported_calls";

impl Usage {
    /// Reads the tokens and the cost that a provider reports about one call.
    pub fn of_meta(meta: &Object) -> Self {
        let count = |key: &str| meta.get(key).and_then(Value::as_u64).unwrap_or(0);
        let cost = meta.get("cost").map(read_costs).unwrap_or_default();
        Self {
            calls: 0,
            tokens_in: count("tokens_in"),
            tokens_out: count("tokens_out"),
            cost,
            unreported: count(UNREPORTED_KEY),
        }
    }

    /// Returns all tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_out)
    }

    /// Returns whether nothing was used.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what something else used. Counting stops at the largest number rather than starting over.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
        self.unreported = self.unreported.saturating_add(other.unreported);
        for (currency, amount) in &other.cost {
            let sum = self.cost.entry(currency.clone()).or_default();
            *sum = sum.plus(*amount).unwrap_or(Cost(u128::MAX));
        }
    }

    /// Returns this usage without what something else used, at least nothing.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut cost = self.cost.clone();
        for (currency, amount) in &other.cost {
            if let Some(known) = cost.get_mut(currency) {
                *known = known.minus(*amount);
            }
        }
        cost.retain(|_, amount| *amount != Cost::default());
        Self {
            calls: self.calls.saturating_sub(other.calls),
            tokens_in: self.tokens_in.saturating_sub(other.tokens_in),
            tokens_out: self.tokens_out.saturating_sub(other.tokens_out),
            cost,
            unreported: self.unreported.saturating_sub(other.unreported),
        }
    }

    /// Returns this usage as often as `times` says.
    #[must_use]
    pub fn times(&self, times: u64) -> Self {
        let cost = |amount: &Cost| amount.times(times).unwrap_or(Cost(u128::MAX));
        Self {
            calls: self.calls.saturating_mul(times),
            tokens_in: self.tokens_in.saturating_mul(times),
            tokens_out: self.tokens_out.saturating_mul(times),
            cost: self.cost.iter().map(|(currency, amount)| (currency.clone(), cost(amount))).collect(),
            unreported: self.unreported.saturating_mul(times),
        }
    }

    /// Returns the usage as a record holds it. Members that are zero are left out.
    pub fn value(&self) -> Object {
        let counts = [
            ("calls", self.calls),
            ("tokens_in", self.tokens_in),
            ("tokens_out", self.tokens_out),
            (UNREPORTED_KEY, self.unreported),
        ];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        let mut members: Vec<(&str, Value)> = counts.map(|(key, count)| (key, count.into())).collect();
        if !self.cost.is_empty() {
            members.push(("cost", costs_value(&self.cost)));
        }
        members.into_iter().collect()
    }

    /// Reads a usage that [`Usage::value`] wrote.
    pub fn read(value: &Value) -> Self {
        let calls = value.get("calls").and_then(Value::as_u64).unwrap_or(0);
        Self { calls, ..value.as_object().map(Self::of_meta).unwrap_or_default() }
    }
}

/// Returns costs as a value: an object for one currency, a list of objects for several.
pub fn costs_value(costs: &Costs) -> Value {
    let one = |(currency, amount): (&Arc<str>, &Cost)| -> Value {
        Object::from_iter([
            ("amount", Value::from(amount.to_string())),
            ("currency", currency.clone().into()),
        ])
        .into()
    };
    match costs.len() {
        1 => costs.iter().map(one).next().unwrap_or_default(),
        _ => costs.iter().map(one).collect(),
    }
}

/// Reads costs that a provider reports; anything else is no cost.
fn read_costs(value: &Value) -> Costs {
    let items = value.as_array().unwrap_or_else(|| std::slice::from_ref(value));
    let mut costs = Costs::new();
    for item in items {
        let amount = item.get("amount").and_then(Value::as_str).and_then(|text| text.parse::<Cost>().ok());
        let currency = item.get("currency").and_then(Value::as_str);
        if let (Some(amount), Some(currency)) = (amount, currency) {
            let sum: &mut Cost = costs.entry(currency.into()).or_default();
            *sum = sum.plus(amount).unwrap_or(Cost(u128::MAX));
        }
    }
    costs
}

/// The most that the calls of a run, a nested skill or a step may use. An absent limit does not bind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Calls that leave the run.
    pub calls: Option<u64>,
    /// Tokens, sent and received.
    pub tokens: Option<u64>,
    /// Money, by currency.
    pub cost: Costs,
    /// Seconds that a process may spend, measured outside the record.
    pub seconds: Option<u64>,
}

/// The members of limits.
pub const LIMIT_KEYS: [&str; 4] = ["calls", "tokens", "cost", "seconds"];

impl Limits {
    /// Returns whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether calls, tokens or money are limited.
    pub fn counts(&self) -> bool {
        self.calls.is_some() || self.tokens.is_some() || !self.cost.is_empty()
    }

    /// Returns the limits that hold when both hold.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let least = |left: Option<u64>, right: Option<u64>| left.into_iter().chain(right).min();
        let mut cost = self.cost.clone();
        for (currency, amount) in &other.cost {
            let known = cost.entry(currency.clone()).or_insert(*amount);
            *known = (*known).min(*amount);
        }
        Self {
            calls: least(self.calls, other.calls),
            tokens: least(self.tokens, other.tokens),
            cost,
            seconds: least(self.seconds, other.seconds),
        }
    }

    /// Returns these limits with the ones that are given in their place.
    #[must_use]
    pub fn replaced_by(&self, given: &Self) -> Self {
        let mut cost = self.cost.clone();
        cost.extend(given.cost.iter().map(|(currency, amount)| (currency.clone(), *amount)));
        Self {
            calls: given.calls.or(self.calls),
            tokens: given.tokens.or(self.tokens),
            cost,
            seconds: given.seconds.or(self.seconds),
        }
    }

    /// Returns the limits as documents state them.
    pub fn value(&self) -> Object {
        let counts = [("calls", self.calls), ("tokens", self.tokens), ("seconds", self.seconds)];
        let counts = counts.into_iter().filter_map(|(key, limit)| Some((key, Value::from(limit?))));
        let cost = (!self.cost.is_empty()).then(|| ("cost", costs_value(&self.cost)));
        counts.chain(cost).collect()
    }

    /// Reads limits from a document.
    ///
    /// # Errors
    /// Each defect with its place below the value.
    pub fn read(value: &Value) -> Result<Self, Vec<(JsonPointer, String)>> {
        let root = JsonPointer::root();
        let Value::Object(object) = value else {
            return Err(vec![(root, format!("limits are an object, found {}", value.kind()))]);
        };
        let mut wrong = Vec::new();
        for key in object.keys().filter(|key| !LIMIT_KEYS.contains(&&***key)) {
            wrong.push((
                root.child(key),
                format!(
                    "limits have {}, found `{key}`{}",
                    LIMIT_KEYS.join(", "),
                    did_you_mean(key, LIMIT_KEYS)
                ),
            ));
        }
        let mut count = |key: &str| {
            let given = object.get(key)?;
            let count = given.as_u64();
            if count.is_none() {
                wrong.push((root.child(key), format!("expected a whole number from 0 on, found {given}")));
            }
            count
        };
        let (calls, tokens, seconds) = (count("calls"), count("tokens"), count("seconds"));
        let mut cost = Costs::new();
        let given = object.get("cost").map(|cost| cost.as_array().unwrap_or(std::slice::from_ref(cost)));
        for item in given.unwrap_or_default() {
            match read_amount(item) {
                Ok((currency, _)) if cost.contains_key(&currency) => {
                    wrong.push((root.child("cost"), format!("{currency} has two limits")));
                }
                Ok((currency, amount)) => drop(cost.insert(currency, amount)),
                Err(message) => wrong.push((root.child("cost"), message)),
            }
        }
        if wrong.is_empty() { Ok(Self { calls, tokens, cost, seconds }) } else { Err(wrong) }
    }

    /// Returns why a call may not be made: what it may need at most, on top of what was used, is over a limit.
    ///
    /// `whose` is the owner of the limits, for the message.
    pub fn refusal(&self, whose: &str, used: &Usage, capability: &str, most: &Most) -> Option<String> {
        if let Some(limit) = self.calls.filter(|limit| used.calls.saturating_add(most.usage.calls) > *limit) {
            let made = used.calls;
            return Some(format!(
                "the limit of {whose} is {limit} calls: {made} were made, `{capability}` is one more"
            ));
        }
        let tokens = most.usage.tokens();
        if let Some(limit) = self.tokens.filter(|limit| used.tokens().saturating_add(tokens) > *limit) {
            let used = used.tokens();
            return Some(format!(
                "the limit of {whose} is {limit} tokens: {used} were used, `{capability}` may need {tokens} more"
            ));
        }
        if self.cost.is_empty() {
            return None;
        }
        let limits = || {
            let limits: Vec<String> =
                self.cost.iter().map(|(currency, limit)| format!("{limit} {currency}")).collect();
            limits.join(", ")
        };
        if most.price == PriceKnown::No {
            let limits = limits();
            return Some(format!(
                "the limit of {whose} is {limits}, and the price of `{capability}` is not declared"
            ));
        }
        for (currency, amount) in &most.usage.cost {
            let spent = used.cost.get(currency).copied().unwrap_or_default();
            let Some(limit) = self.cost.get(currency) else {
                let limits = limits();
                return Some(format!(
                    "the limit of {whose} is {limits}, and `{capability}` may cost {amount} {currency}"
                ));
            };
            if spent.plus(*amount).is_none_or(|sum| sum > *limit) {
                return Some(format!(
                    "the limit of {whose} is {limit} {currency}: {spent} was spent, `{capability}` may cost {amount} more"
                ));
            }
        }
        None
    }
}

/// Reads `{amount, currency}`.
///
/// # Errors
/// The defect of a limit.
pub fn read_amount(value: &Value) -> Result<(Arc<str>, Cost), String> {
    let known = value
        .as_object()
        .is_some_and(|object| object.keys().all(|key| ["amount", "currency"].contains(&&**key)));
    let currency = value.get("currency").and_then(Value::as_str).filter(|currency| !currency.is_empty());
    let amount = match value.get("amount") {
        Some(Value::String(text)) => text.parse().ok(),
        Some(Value::Int(int)) => int.to_string().parse().ok(),
        _ => None,
    };
    match (known, amount, currency) {
        (true, Some(amount), Some(currency)) => Ok((currency.into(), amount)),
        _ => Err(format!(
            "expected an amount as a decimal text and a currency, as {{\"amount\": \"1.50\", \"currency\": \"USD\"}}, found {value}"
        )),
    }
}

/// Whether the price of a call is known. A call without a price does not fit under a limit of money.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PriceKnown {
    /// It is declared, or the capability costs nothing that is counted.
    #[default]
    Yes,
    /// The capability costs money, and nobody declared how much.
    No,
}

/// The most that a call may use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Most {
    /// The calls, tokens and money.
    pub usage: Usage,
    /// Whether its price is known.
    pub price: PriceKnown,
}

impl Most {
    /// Returns the most of a call that uses neither tokens nor money.
    pub fn one_call() -> Self {
        Self { usage: Usage { calls: 1, ..Usage::default() }, price: PriceKnown::Yes }
    }
}

#[cfg(test)]
mod tests {
    use hence_canon::parse;

    use super::*;

    fn usd(amount: &str) -> Costs {
        Costs::from([("USD".into(), amount.parse().unwrap())])
    }

    #[test]
    fn sums_of_money_are_exact() {
        let mut sum = Usage::default();
        for _ in 0..20 {
            sum.add(&Usage { calls: 1, cost: usd("0.0000045"), ..Usage::default() });
        }
        assert_eq!((sum.calls, sum.cost), (20, usd("0.00009")));
        let third = Usage { cost: usd("0.1"), ..Usage::default() };
        assert_eq!(third.times(3).cost, usd("0.3"));
        for wrong in ["", ".5", "5.", "-1", "1e3", "1,5", "0.1234567890123456789", "1234567890123456"] {
            assert!(wrong.parse::<Cost>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn usage_and_limits_are_read_as_they_are_written() {
        let usage = Usage { calls: 2, tokens_in: 3, tokens_out: 4, cost: usd("1.5"), unreported: 0 };
        assert_eq!(Usage::read(&usage.value().into()), usage);
        let mut several = usage.clone();
        several.cost.insert("EUR".into(), "2".parse().unwrap());
        assert_eq!(Usage::read(&several.value().into()), several);
        let limits = Limits { calls: Some(1), tokens: None, cost: several.cost, seconds: Some(9) };
        assert_eq!(Limits::read(&limits.value().into()), Ok(limits));
        let wrong = r#"{"call": 1, "calls": -1, "tokens": "9", "cost": {"amount": 1.5, "currency": "USD"}}"#;
        let wrong = Limits::read(&parse(wrong.as_bytes()).unwrap()).unwrap_err();
        let places: Vec<String> = wrong.iter().map(|(place, _)| place.to_string()).collect();
        assert_eq!(places, ["/call", "/calls", "/tokens", "/cost"]);
    }

    #[test]
    fn a_call_that_may_exceed_a_limit_is_refused_and_one_that_reaches_it_is_not() {
        let most = |tokens, amount: &str| Most {
            usage: Usage { calls: 1, tokens_in: 0, tokens_out: tokens, cost: usd(amount), unreported: 0 },
            price: PriceKnown::Yes,
        };
        let used = Usage { calls: 1, tokens_in: 5, tokens_out: 5, cost: usd("1"), unreported: 0 };
        let limits = Limits { calls: Some(2), tokens: Some(20), cost: usd("1.5"), seconds: None };
        assert_eq!(limits.refusal("the run", &used, "ask", &most(10, "0.5")), None);
        let refused = |most: &Most| limits.refusal("the run", &used, "ask", most).unwrap();
        assert_eq!(
            refused(&most(11, "0.5")),
            "the limit of the run is 20 tokens: 10 were used, `ask` may need 11 more"
        );
        assert_eq!(
            refused(&most(10, "0.500000000000000001")),
            "the limit of the run is 1.5 USD: 1 was spent, `ask` may cost 0.500000000000000001 more"
        );
        assert!(refused(&Most { price: PriceKnown::No, ..most(1, "0") }).contains("is not declared"));
        let other = Usage { calls: 1, cost: Costs::from([("EUR".into(), Cost(1))]), ..Usage::default() };
        assert!(refused(&Most { usage: other, ..Most::default() }).contains("EUR"));
        let full = Usage { calls: 2, ..used.clone() };
        assert!(limits.refusal("the run", &full, "ask", &Most::one_call()).unwrap().contains("2 calls"));
        let tighter = limits.and(&Limits { calls: Some(1), cost: usd("9"), ..Limits::default() });
        assert_eq!((tighter.calls, tighter.tokens, tighter.cost), (Some(1), Some(20), usd("1.5")));
        let raised = limits.replaced_by(&Limits { calls: Some(9), cost: usd("9"), ..Limits::default() });
        assert_eq!((raised.calls, raised.tokens, raised.cost), (Some(9), Some(20), usd("9")));
    }
}
