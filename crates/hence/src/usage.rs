//! The usage of a run and its limits, as reports show them.

use hence_canon::Value;
use hence_cognition::budget::{Costs, Limits, Usage};
use hence_engine::Blobs;
use hence_journal::{Reader, Record};
use hence_skills::{Host, LIMITS_KEY, recorded_outcome, recorded_usage};

use crate::prelude::*;

/// The usage of the recorded steps of a run.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct UsageReport {
    /// Calls of commands, services and models, each attempt counted.
    pub(crate) calls: u64,
    /// Tokens sent to language models.
    pub(crate) tokens_in: u64,
    /// Tokens received from them.
    pub(crate) tokens_out: u64,
    /// The exact cost in each currency.
    pub(crate) cost: Vec<CostRow>,
    /// Calls whose usage was not reported. They are counted as the most that they may be, so tokens and cost are upper bounds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) unreported_calls: u64,
    /// The limits of the run.
    pub(crate) limits: LimitsReport,
}

/// An amount of money.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
pub(crate) struct CostRow {
    /// A decimal.
    pub(crate) amount: String,
    pub(crate) currency: String,
}

/// The limits of a run; null where there is none.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct LimitsReport {
    pub(crate) calls: Option<u64>,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost: Vec<CostRow>,
    pub(crate) seconds: Option<u64>,
}

impl UsageReport {
    pub(crate) fn of(usage: &Usage, limits: &Limits) -> Self {
        let Usage { calls, tokens_in, tokens_out, unreported: unreported_calls, .. } = *usage;
        let limits = LimitsReport {
            calls: limits.calls,
            tokens: limits.tokens,
            cost: rows(&limits.cost),
            seconds: limits.seconds,
        };
        Self { calls, tokens_in, tokens_out, cost: rows(&usage.cost), unreported_calls, limits }
    }

    /// Adds what another run used. The limits stay.
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
        self.unreported_calls = self.unreported_calls.saturating_add(other.unreported_calls);
        let mut costs = Costs::new();
        for CostRow { amount, currency } in self.cost.iter().chain(&other.cost) {
            let sum = costs.entry(currency.as_str().into()).or_default();
            // Amounts are written by this program, so they can be read.
            *sum = amount.parse().ok().and_then(|amount| sum.plus(amount)).unwrap_or(*sum);
        }
        self.cost = rows(&costs);
    }

    /// Returns the rows of a text. A run that called nothing and has no limits has none.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        if *self == Self::default() {
            return Vec::new();
        }
        let of = |limit: Option<u64>| limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
        let bound = if self.unreported_calls > 0 { "at most " } else { "" };
        let noun = if self.calls == 1 { "call" } else { "calls" };
        let mut texts = vec![format!("{} {noun}{}", self.calls, of(self.limits.calls))];
        if self.tokens_in + self.tokens_out > 0 || self.limits.tokens.is_some() {
            let (sent, received) = (self.tokens_in, self.tokens_out);
            let limit = of(self.limits.tokens);
            texts.push(format!("{bound}{} tokens{limit} ({sent} in, {received} out)", sent + received));
        }
        for CostRow { amount, currency } in &self.cost {
            let limit = self.limits.cost.iter().find(|limit| limit.currency == *currency);
            let limit = limit.map(|limit| format!(" of {}", limit.amount)).unwrap_or_default();
            texts.push(format!("{bound}{amount}{limit} {}", escape(currency)));
        }
        for CostRow { amount, currency } in &self.limits.cost {
            if !self.cost.iter().any(|cost| cost.currency == *currency) {
                texts.push(format!("0 of {amount} {}", escape(currency)));
            }
        }
        if self.unreported_calls > 0 {
            let noun = if self.unreported_calls == 1 { "call" } else { "calls" };
            texts.push(format!("usage of {} {noun} not reported", self.unreported_calls));
        }
        texts.extend(self.limits.seconds.map(|limit| format!("at most {limit} seconds")));
        vec![("used", texts.join(", "))]
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn rows(costs: &Costs) -> Vec<CostRow> {
    let row = |(currency, amount): (&std::sync::Arc<str>, &hence_cognition::budget::Cost)| CostRow {
        amount: amount.to_string(),
        currency: currency.to_string(),
    };
    costs.iter().map(row).collect()
}

/// Returns the limits that a problem pins; the reason when they are malformed.
pub(crate) fn limits_of(problem: &Value) -> Result<Limits, String> {
    match problem.get("settings").and_then(|settings| settings.get(LIMITS_KEY)) {
        None | Some(Value::Null) => Ok(Limits::default()),
        Some(limits) => Limits::read(limits).map_err(|wrong| {
            let wrong: Vec<String> = wrong
                .iter()
                .map(|(place, message)| format!("settings.{LIMITS_KEY}{place}: {message}"))
                .collect();
            wrong.join("; ")
        }),
    }
}

/// The steps of a journal that call.
#[derive(Clone, Copy)]
pub(crate) enum Callers<'a> {
    /// The steps of a skill, whose outcomes say what they called.
    Skill(&'a dyn Host),
    /// The bound steps of a problem: those for which this holds make one call that leaves the run.
    Bound(&'a dyn Fn(&str) -> bool),
}

/// Returns what the recorded steps of a journal used. Steps that a rollback left behind count: they were paid for. The
/// attempts that policies blocked do not: their result is recorded once more.
pub(crate) fn of_journal(journal: &[u8], blobs: &dyn Blobs, callers: Callers<'_>) -> Usage {
    let mut sum = Usage::default();
    let Ok((_, reader)) = Reader::open(journal) else { return sum };
    for chained in reader.map_while(Result::ok) {
        let Record::Step(step) = chained.record else { continue };
        if step.result.outcome().is_blocked() {
            continue;
        }
        match callers {
            Callers::Skill(host) => {
                if let Ok(outcome) = recorded_outcome(&step.result, blobs) {
                    sum.add(&recorded_usage(&outcome, host));
                }
            }
            Callers::Bound(leaves)
                if leaves(step.result.step()) && step.result.outcome().output().is_some() =>
            {
                let metrics = step.result.others().get("metrics").and_then(Value::as_object);
                let attempts = metrics.and_then(|metrics| metrics.get("attempts")?.as_u64()).unwrap_or(1);
                sum.add(&Usage { calls: attempts, ..metrics.map(Usage::of_meta).unwrap_or_default() });
            }
            Callers::Bound(_) => {}
        }
    }
    sum
}
