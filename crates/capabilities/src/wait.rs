//! The capabilities `wait.for` and `wait.until`: durable timers.
//!
//! The first call computes the due time and waits; whoever drives the run answers when the time has come.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hence_canon::Value;
use hence_canon::time::{Instant, IsoTime};
use hence_cognition::capability::CapabilitySpec;
use hence_cognition::run::{CallError, Reply};
use hence_cognition::skill::{Field, Need};
use hence_skills::{WAIT_FOR, WAIT_UNTIL};

use crate::refusal::Refusal;

/// The longest wait: ten years.
const SECONDS_MAX: f64 = 10.0 * 366.0 * 24.0 * 60.0 * 60.0;

/// The capabilities that wait, each with its description.
pub const TIMERS: [(&str, &str); 2] = [
    (WAIT_FOR, "Wait for a number of seconds; no process waits with the run of a worker"),
    (WAIT_UNTIL, "Wait until a time; no process waits with the run of a worker"),
];

/// Returns the contract of a timer; `None` for any other capability.
pub(crate) fn spec(id: &str) -> Option<CapabilitySpec> {
    let input = match id {
        WAIT_FOR => {
            ("seconds", "number", Need::Required, "The number of seconds, counted from the first call")
        }
        WAIT_UNTIL => ("time", "string", Need::Required, "The time, as 2026-02-09T10:00:00Z"),
        _ => return None,
    };
    let outputs = [
        ("value", "any", Need::Required, "The time that was waited for"),
        ("by", "string", Need::Optional, "`clock`, or the person who ended the wait"),
    ];
    let field = |(name, kind, need, description): (&str, &str, Need, &str)| {
        let description = Some(Arc::from(description));
        (Arc::from(name), Field { kind: kind.into(), need, description, default: None })
    };
    Some(CapabilitySpec {
        inputs: [input].into_iter().map(field).collect(),
        outputs: outputs.into_iter().map(field).collect(),
        takes_only_declared: true,
        gives_only_declared: true,
        ..CapabilitySpec::default()
    })
}

/// Starts a timer. The call is then waiting, and the reason it waits for is its due time.
pub(crate) fn start(id: &str, input: &Value) -> Result<Reply, CallError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_millis()).ok().and_then(Instant::from_millis);
    match due(id, input, now) {
        Ok(due) => Err(CallError::Waiting(due.to_string().into())),
        Err(refusal) => Err(CallError::Failed { class: refusal.class, message: refusal.message }),
    }
}

fn due(id: &str, input: &Value, now: Option<Instant>) -> Result<Instant, Refusal> {
    if id == WAIT_UNTIL {
        let text = input.get("time").and_then(Value::as_str).unwrap_or_default();
        let time = IsoTime::parse(text).and_then(IsoTime::to_instant);
        return time.ok_or_else(|| {
            Refusal::input(format_args!("`time` is a time as 2026-02-09T10:00:00Z, found {text:?}"))
        });
    }
    let seconds = match input.get("seconds") {
        Some(Value::Int(seconds)) => seconds.to_f64_lossy(),
        Some(Value::Float(seconds)) => seconds.get(),
        _ => f64::NAN,
    };
    if !(0.0..=SECONDS_MAX).contains(&seconds) {
        return Err(Refusal::input("`seconds` is a number from 0 to 316224000"));
    }
    // The number is small and not negative; less than a millisecond is not measured.
    let millis = format!("{:.0}", (seconds * 1000.0).ceil()).parse::<i64>().unwrap_or(i64::MAX);
    let at = now.and_then(|now| Instant::from_millis(now.as_millis().checked_add(millis)?));
    at.ok_or_else(|| Refusal::input("`seconds` leads to a time that no record can hold"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hence_canon::parse;

    fn due_of(id: &str, input: &str) -> Result<String, Arc<str>> {
        let now = "2026-02-09T10:00:00Z".parse().ok();
        let due = due(id, &parse(input.as_bytes()).unwrap(), now);
        due.map(|due| due.to_string()).map_err(|refusal| refusal.message)
    }

    #[test]
    fn a_timer_is_due_after_its_seconds_or_at_its_time() {
        assert_eq!(due_of(WAIT_FOR, r#"{"seconds": 90}"#).unwrap(), "2026-02-09T10:01:30Z");
        assert_eq!(due_of(WAIT_FOR, r#"{"seconds": 0.25}"#).unwrap(), "2026-02-09T10:00:00.25Z");
        assert_eq!(
            due_of(WAIT_UNTIL, r#"{"time": "2026-03-01T12:00:00+01:00"}"#).unwrap(),
            "2026-03-01T11:00:00Z"
        );
    }

    #[test]
    fn a_timer_that_nobody_can_wait_for_is_refused() {
        for wrong in [r#"{"seconds": -1}"#, r#"{"seconds": 316224001}"#, r#"{"seconds": "9"}"#, "{}"] {
            assert!(due_of(WAIT_FOR, wrong).is_err(), "{wrong}");
        }
        assert!(due_of(WAIT_FOR, r#"{"seconds": 316224000}"#).is_ok());
        let refused = due_of(WAIT_UNTIL, r#"{"time": "tomorrow"}"#).unwrap_err();
        assert_eq!(&*refused, r#"`time` is a time as 2026-02-09T10:00:00Z, found "tomorrow""#);
    }
}
