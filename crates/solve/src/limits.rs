//! The limits of a run and of everything below it, and what is left of them.

use hence_canon::read::{Finding, Reader};
use hence_canon::{Object, Value};
use hence_cognition::budget::{Limits as CallLimits, Most, Usage};

/// The turns of one run, unless the problem says otherwise.
pub(crate) const TURNS_DEFAULT: u64 = 30;
/// The turns of a run and all its children, unless the problem says otherwise.
pub(crate) const TREE_TURNS_DEFAULT: u64 = 1000;
/// The levels of children below the outermost run, unless the problem says otherwise.
pub(crate) const DEPTH_DEFAULT: u64 = 3;
/// The most levels of children that a problem may ask for.
pub const DEPTH_MAX: u64 = 5;
/// The sub-calls of a run and all its children, unless the problem says otherwise.
pub(crate) const SUB_CALLS_DEFAULT: u64 = 10_000;
/// The bytes of texts and values that a run and all its children record, unless the problem says otherwise.
pub(crate) const BYTES_DEFAULT: u64 = 1024 * 1024 * 1024;
/// The seconds in which blocks may compute, all together, unless the problem says otherwise.
pub(crate) const INTERPRETER_SECONDS_DEFAULT: u64 = 600;

/// The limits of a run. All but `turns` and `depth` hold for the run and all its children together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SolveLimits {
    /// The turns of one run.
    pub turns: u64,
    /// The turns of the run and all its children.
    pub tree_turns: u64,
    /// The levels of children that may still be below this run.
    pub depth: u64,
    /// The sub-calls.
    pub sub_calls: u64,
    /// The bytes of texts and values that are recorded.
    pub bytes: u64,
    /// The seconds in which blocks may compute. They are measured, so they enter no record.
    pub interpreter_seconds: u64,
    /// The calls of models, their tokens, their cost, and the seconds of the run.
    pub calls: CallLimits,
}

impl Default for SolveLimits {
    fn default() -> Self {
        Self {
            turns: TURNS_DEFAULT,
            tree_turns: TREE_TURNS_DEFAULT,
            depth: DEPTH_DEFAULT,
            sub_calls: SUB_CALLS_DEFAULT,
            bytes: BYTES_DEFAULT,
            interpreter_seconds: INTERPRETER_SECONDS_DEFAULT,
            calls: CallLimits::default(),
        }
    }
}

impl SolveLimits {
    /// Returns the limits as a problem states them.
    pub fn value(&self) -> Value {
        let counts = [
            ("turns", self.turns),
            ("tree_turns", self.tree_turns),
            ("depth", self.depth),
            ("sub_calls", self.sub_calls),
            ("bytes", self.bytes),
            ("interpreter_seconds", self.interpreter_seconds),
        ];
        let counts: Object = counts.into_iter().collect();
        counts.with("calls", self.calls.value()).into()
    }

    /// Reads limits.
    ///
    /// # Errors
    /// [`Finding`] at the first member that does not fit.
    pub fn read(mut reader: Reader<'_>) -> Result<Self, Finding> {
        let calls = reader.optional("calls", |value| {
            CallLimits::read(value).map_err(|wrong| {
                let wrong: Vec<String> =
                    wrong.iter().map(|(at, message)| format!("{at} {message}")).collect();
                Finding::other(wrong.join("; "))
            })
        })?;
        let limits = Self {
            turns: reader.count("turns")?,
            tree_turns: reader.count("tree_turns")?,
            depth: reader.count("depth")?,
            sub_calls: reader.count("sub_calls")?,
            bytes: reader.count("bytes")?,
            interpreter_seconds: reader.count("interpreter_seconds")?,
            calls: calls.unwrap_or_default(),
        };
        if limits.depth > DEPTH_MAX {
            return Err(reader.finding("depth", format_args!("at most {DEPTH_MAX}, found {}", limits.depth)));
        }
        Ok(limits)
    }

    /// Returns the limits of each of `count` children that run at the same time, when `used` is used already.
    ///
    /// Children that run at the same time share what is left in equal parts, so that none of them can make the whole go
    /// over its limit, and none depends on how fast another is.
    #[must_use]
    pub fn child(&self, used: &Used, count: u64) -> Self {
        let share = |limit: u64, used: u64| limit.saturating_sub(used) / count.max(1);
        let mut calls = self.calls.clone();
        calls.calls = calls.calls.map(|limit| share(limit, used.calls.calls));
        calls.tokens = calls.tokens.map(|limit| share(limit, used.calls.tokens()));
        for (currency, limit) in &mut calls.cost {
            let spent = used.calls.cost.get(currency).copied().unwrap_or_default();
            *limit = limit.minus(spent).divided_by(count.max(1));
        }
        Self {
            turns: self.turns,
            tree_turns: share(self.tree_turns, used.turns),
            depth: self.depth.saturating_sub(1),
            sub_calls: share(self.sub_calls, used.sub_calls),
            bytes: share(self.bytes, used.bytes),
            interpreter_seconds: self.interpreter_seconds,
            calls,
        }
    }

    /// Returns the limit that forbids one more turn of this run, which may use `most`.
    pub fn refuse_turn(&self, own_turns: u64, used: &Used, model: &str, most: &Most) -> Option<Exhausted> {
        if own_turns >= self.turns {
            return Some(Exhausted::new("turns", format!("the run has had its {} turns", self.turns)));
        }
        if used.turns >= self.tree_turns {
            let limit = self.tree_turns;
            return Some(Exhausted::new(
                "tree_turns",
                format!("the run and its children have had their {limit} turns"),
            ));
        }
        self.refuse_call(used, model, most)
    }

    /// Returns the limit that forbids one more sub-call, which may use `most`.
    pub fn refuse_sub_call(&self, used: &Used, model: &str, most: &Most) -> Option<Exhausted> {
        if used.sub_calls >= self.sub_calls {
            let limit = self.sub_calls;
            return Some(Exhausted::new(
                "sub_calls",
                format!("the limit is {limit} sub-calls, and all were made"),
            ));
        }
        self.refuse_call(used, model, most)
    }

    /// Returns the limit that forbids one more call of a model, which may use `most`.
    pub fn refuse_call(&self, used: &Used, model: &str, most: &Most) -> Option<Exhausted> {
        if used.bytes >= self.bytes {
            let limit = self.bytes;
            return Some(Exhausted::new(
                "bytes",
                format!("the limit is {limit} recorded bytes, {} are", used.bytes),
            ));
        }
        let refused = self.calls.refusal("the run", &used.calls, model, most)?;
        let over = |limit: Option<u64>, most: u64| limit.is_some_and(|limit| most > limit);
        let limit = if over(self.calls.calls, used.calls.calls.saturating_add(most.usage.calls)) {
            "calls"
        } else if over(self.calls.tokens, used.calls.tokens().saturating_add(most.usage.tokens())) {
            "tokens"
        } else {
            "cost"
        };
        Some(Exhausted::new(limit, refused))
    }
}

/// A limit that ended a run or forbade a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exhausted {
    /// The name of the limit.
    pub limit: String,
    /// The numbers, in words.
    pub message: String,
}

impl Exhausted {
    /// Names a limit.
    pub fn new(limit: &str, message: String) -> Self {
        Self { limit: limit.to_owned(), message }
    }

    /// Returns whether a clock decided it, so that a replay cannot.
    pub fn is_measured(&self) -> bool {
        matches!(&*self.limit, "seconds" | "interpreter_seconds")
    }
}

/// The usage of a run and all its children.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Used {
    /// The turns.
    pub turns: u64,
    /// The sub-calls.
    pub sub_calls: u64,
    /// The sub-calls that an earlier one answered.
    pub cached: u64,
    /// The bytes of texts and values that were recorded.
    pub bytes: u64,
    /// The calls of models, their tokens and their cost.
    pub calls: Usage,
}

impl Used {
    /// Adds what something else used.
    pub fn add(&mut self, other: &Self) {
        self.turns = self.turns.saturating_add(other.turns);
        self.sub_calls = self.sub_calls.saturating_add(other.sub_calls);
        self.cached = self.cached.saturating_add(other.cached);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.calls.add(&other.calls);
    }

    /// Returns the usage as a record holds it. Members that are zero are left out.
    pub fn value(&self) -> Value {
        let counts = [
            ("turns", self.turns),
            ("sub_calls", self.sub_calls),
            ("cached", self.cached),
            ("bytes", self.bytes),
        ];
        let mut object: Object = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        if !self.calls.is_empty() {
            object = object.with("calls", self.calls.value());
        }
        object.into()
    }

    /// Reads a usage that [`Used::value`] wrote.
    pub fn read(value: &Value) -> Self {
        let count = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or(0);
        Self {
            turns: count("turns"),
            sub_calls: count("sub_calls"),
            cached: count("cached"),
            bytes: count("bytes"),
            calls: value.get("calls").map(Usage::read).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_share_what_is_left() {
        let cost = |text: &str| text.parse().unwrap();
        let limits = SolveLimits {
            sub_calls: 11,
            calls: CallLimits {
                tokens: Some(1000),
                cost: [("USD".into(), cost("1"))].into(),
                ..CallLimits::default()
            },
            ..SolveLimits::default()
        };
        let used = Used {
            sub_calls: 1,
            calls: Usage { tokens_in: 100, cost: [("USD".into(), cost("0.1"))].into(), ..Usage::default() },
            ..Used::default()
        };
        let child = limits.child(&used, 2);
        assert_eq!((child.sub_calls, child.calls.tokens, child.depth), (5, Some(450), 2));
        assert_eq!(child.calls.cost.values().next().unwrap().to_string(), "0.45");
        assert_eq!(Used::read(&used.value()), used);
        assert!(limits.child(&Used { sub_calls: 99, ..Used::default() }, 1).sub_calls == 0);
    }

    #[test]
    fn a_call_at_the_limit_is_made_and_one_more_is_not() {
        let limits = SolveLimits { sub_calls: 2, ..SolveLimits::default() };
        let most = Most { usage: Usage::default(), price: hence_cognition::budget::PriceKnown::No };
        let refused = |sub_calls| limits.refuse_sub_call(&Used { sub_calls, ..Used::default() }, "m", &most);
        assert_eq!(refused(1), None);
        assert_eq!(refused(2).unwrap().limit, "sub_calls");
        let tokens = SolveLimits {
            calls: CallLimits { tokens: Some(100), ..CallLimits::default() },
            ..SolveLimits::default()
        };
        let most = |tokens_in| Most { usage: Usage { tokens_in, ..Usage::default() }, price: most.price };
        assert_eq!(tokens.refuse_turn(0, &Used::default(), "m", &most(100)), None);
        assert_eq!(tokens.refuse_turn(0, &Used::default(), "m", &most(101)).unwrap().limit, "tokens");
        assert_eq!(tokens.refuse_turn(30, &Used::default(), "m", &most(1)).unwrap().limit, "turns");
    }
}
