//! Retry: trying a call again when it fails.

use std::sync::Arc;

use hence_canon::{Digest, Float, JsonPointer, Value};

use super::{Reader, alone};
use crate::failure::Failure;
use crate::skill::{Findings, SkillFinding};

/// The largest number of attempts of one call.
pub const RETRY_ATTEMPTS_MAX: u64 = 100;

pub(crate) const RETRY_KEYS: [&str; 6] =
    ["max_attempts", "backoff_seconds", "backoff_multiplier", "max_backoff_seconds", "jitter", "on"];

/// The retry rule of a call: waits of b, b·m, b·m² … between attempts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Retry {
    /// The largest number of attempts.
    pub max_attempts: u64,
    /// The first wait.
    pub backoff_seconds: Float,
    /// The factor from one wait to the next.
    pub backoff_multiplier: Float,
    /// No wait is longer.
    pub max_backoff_seconds: Option<Float>,
    /// The largest share of a wait that is added to it, drawn from the run's seed.
    pub jitter: Option<Float>,
    /// Classes of failure that are worth another attempt; none means every failure that may pass by itself.
    pub on: Option<Box<[Arc<str>]>>,
}

impl Retry {
    /// Reads a block on its own; a void one is `None`.
    pub fn parse(config: &Value) -> (Option<Self>, Vec<SkillFinding>) {
        alone(Self::read, config)
    }

    pub(super) fn read(config: &Value, pointer: &JsonPointer, findings: &mut Findings) -> Option<Self> {
        let mut block = Reader::open("retry", &RETRY_KEYS, config, pointer, findings)?;
        let max_attempts = block.at_least_one("max_attempts", 3, RETRY_ATTEMPTS_MAX);
        let backoff_seconds = number(&mut block, "backoff_seconds", Some(1.0))?;
        let backoff_multiplier = number(&mut block, "backoff_multiplier", Some(2.0))?;
        Some(Self {
            max_attempts,
            backoff_seconds,
            backoff_multiplier,
            max_backoff_seconds: number(&mut block, "max_backoff_seconds", None),
            jitter: number(&mut block, "jitter", None),
            on: classes(&mut block),
        })
    }

    /// Returns the wait before attempt `next` (the second is 2), with jitter drawn from `seed`.
    ///
    /// A wait is finite and not negative, whatever the block contains.
    pub fn wait_before(&self, next: u64, seed: &str, step: &str) -> Float {
        let grown =
            (2..next).fold(self.backoff_seconds.get(), |wait, _| wait * self.backoff_multiplier.get());
        let jitter = self.jitter.map_or(0.0, |jitter| jitter.get() * draw(seed, step, next));
        let cap = self.max_backoff_seconds.map_or(f64::MAX, Float::get);
        let wait = (grown * (1.0 + jitter)).min(cap).max(0.0);
        Float::new(wait).or_else(|_| Float::new(0.0)).expect("zero is finite")
    }

    /// Returns whether a failure is worth another attempt.
    pub fn applies_to(&self, failure: &Failure) -> bool {
        if failure.class.is_final() || failure.is_of_input() {
            return false;
        }
        match &self.on {
            // Where nobody knows whether it happened, trying again is what the step's recovery did not choose.
            None => failure.may_pass(),
            Some(names) => names.iter().any(|name| failure.chain().any(|cause| is_named(cause, name))),
        }
    }
}

fn is_named(cause: &Failure, name: &str) -> bool {
    let class = cause.class.name();
    class == name || class.strip_suffix("Error") == Some(name)
}

/// Draws a number in `0..1` that depends on nothing but its arguments.
fn draw(seed: &str, step: &str, attempt: u64) -> f64 {
    let attempt = attempt.to_be_bytes();
    let parts: [&[u8]; 5] = [b"hence/retry-jitter/v1\0", seed.as_bytes(), b"\0", step.as_bytes(), &attempt];
    let bits = Digest::of_parts(parts)
        .as_bytes()
        .iter()
        .take(4)
        .fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
    f64::from(bits) / (f64::from(u32::MAX) + 1.0)
}

fn number(block: &mut Reader<'_>, key: &str, default: Option<f64>) -> Option<Float> {
    let given = match block.object.get(key) {
        None => return default.and_then(|default| Float::new(default).ok()),
        Some(Value::Int(int)) => Float::new(int.to_f64_lossy()).ok(),
        Some(Value::Float(float)) => Some(*float),
        Some(Value::String(text)) => {
            block.malformed(key, "a number");
            text.trim().parse().ok().and_then(|number| Float::new(number).ok())
        }
        Some(_) => None,
    };
    if given.is_none_or(|number| number.get() < 0.0) {
        block.malformed(key, "a number that is not negative");
    }
    given
}

fn classes(block: &mut Reader<'_>) -> Option<Box<[Arc<str>]>> {
    let given = block.object.get("on")?;
    let names: Option<Box<[Arc<str>]>> = given.as_array().and_then(|items| {
        items.iter().map(|item| item.as_str().filter(|name| !name.is_empty()).map(Arc::from)).collect()
    });
    if names.is_none() {
        block.malformed("on", "a list of classes of failure");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::ErrorClass;
    use hence_canon::parse;

    #[test]
    fn only_what_may_pass_by_itself_is_tried_again_unless_a_class_is_named() {
        let called = |class: &str| {
            let cause = Failure::new(ErrorClass::named(class), "no");
            Failure::new(ErrorClass::CapabilityExecution, "`c`: no").because(cause)
        };
        let retry = Retry::parse(&parse(b"{}").unwrap()).0.unwrap();
        let named = Retry::parse(&parse(br#"{"on": ["HttpNotFound"]}"#).unwrap()).0.unwrap();
        for class in
            ["HttpNotFound", "HttpDenied", "HttpRefused", "ContractBroken", "CommandNotStarted", "Undecided"]
        {
            assert!(!retry.applies_to(&called(class)), "{class}");
            let nested = Failure::new(ErrorClass::NestedSkillExecution, "inner").because(called(class));
            assert!(!retry.applies_to(&nested), "{class} in a nested skill");
        }
        for class in [
            "HttpServerError",
            "HttpTooManyRequests",
            "HttpTooEarlyOrLate",
            "HttpUnreachable",
            "CommandFailed",
        ] {
            assert!(retry.applies_to(&called(class)), "{class}");
        }
        assert!(named.applies_to(&called("HttpNotFound")), "whoever names it wants it");
        assert!(retry.applies_to(&Failure::new(ErrorClass::StepTimeout, "late")));
    }

    #[test]
    fn a_call_refused_for_its_input_is_made_once_whatever_the_block_says() {
        let called = |class: &str| {
            let cause = Failure::new(ErrorClass::named(class), "no");
            Failure::new(ErrorClass::CapabilityExecution, "`c`: no").because(cause)
        };
        for block in ["{}", r#"{"on": ["CapabilityExecution", "InputMapping", "InvalidInput"]}"#] {
            let retry = Retry::parse(&parse(block.as_bytes()).unwrap()).0.unwrap();
            for class in ["InputMappingError", "InvalidInput", "InputTooLarge"] {
                assert!(!retry.applies_to(&called(class)), "{class} {block}");
            }
            assert!(retry.applies_to(&called("CommandFailed")));
        }
        // What a nested skill calls inside may be another input the next time.
        let nested = Failure::new(ErrorClass::NestedSkillExecution, "inner").because(called("InvalidInput"));
        assert!(Retry::parse(&parse(b"{}").unwrap()).0.unwrap().applies_to(&nested));
    }
}
