//! The decision to repeat a request, and the wait before it.

use std::time::Duration;

use hence_capabilities::client::header::{HeaderMap, RETRY_AFTER};
use jiff::Timestamp;
use jiff::fmt::rfc2822;

use crate::settings::RetryPolicy;

/// The decision after a failure that may be temporary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RetryDecision {
    /// Send the request again after this wait.
    Wait(Duration),
    /// All retries are used up.
    Exhausted,
    /// The endpoint asks for a longer wait than allowed, and an earlier attempt would ignore that request.
    WaitTooLong(Duration),
}

impl RetryPolicy {
    /// Decides after the `failures`-th failure in a row, counted from 1.
    pub(crate) fn decide(&self, failures: u32, requested: Option<Duration>) -> RetryDecision {
        if failures > self.retries {
            return RetryDecision::Exhausted;
        }
        match requested {
            Some(wait) if wait > self.wait_max => RetryDecision::WaitTooLong(wait),
            Some(wait) => RetryDecision::Wait(wait),
            None => {
                let doubled = 1u32.checked_shl(failures - 1).unwrap_or(u32::MAX);
                RetryDecision::Wait(self.wait.saturating_mul(doubled).min(self.wait_max))
            }
        }
    }
}

/// Returns the wait that an endpoint asks for: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(crate) fn requested_wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    let seconds = text("retry-after-ms")
        .and_then(number)
        .map(|milliseconds| milliseconds / 1000.0)
        .or_else(|| text(RETRY_AFTER.as_str()).and_then(number));
    if let Some(seconds) = seconds {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = rfc2822::DateTimeParser::new().parse_timestamp(text(RETRY_AFTER.as_str())?).ok()?;
    // A date in the past asks for no wait.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        let ms = Duration::from_millis;
        let policy = RetryPolicy { retries: 4, wait: ms(100), wait_max: ms(500) };
        let waits: Vec<RetryDecision> = (1..=5).map(|failures| policy.decide(failures, None)).collect();
        let wait = |millis| RetryDecision::Wait(ms(millis));
        assert_eq!(waits, [wait(100), wait(200), wait(400), wait(500), RetryDecision::Exhausted]);
        assert_eq!(policy.decide(1, Some(ms(500))), wait(500));
        assert_eq!(policy.decide(1, Some(ms(501))), RetryDecision::WaitTooLong(ms(501)));
        let endless = RetryPolicy { retries: 20, wait: Duration::MAX, wait_max: Duration::MAX };
        assert_eq!(endless.decide(20, None), RetryDecision::Wait(Duration::MAX));
    }

    #[test]
    fn an_endpoint_can_ask_in_three_ways() {
        let now: Timestamp = "1994-11-06T08:49:30Z".parse().unwrap();
        let requested = |name: &'static str, value: &str| {
            requested_wait(&HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]), now)
        };
        assert_eq!(requested("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(requested("retry-after", " 0.25 "), Some(Duration::from_millis(250)));
        assert_eq!(requested("retry-after-ms", "30"), Some(Duration::from_millis(30)));
        assert_eq!(requested("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(7)));
        assert_eq!(requested("retry-after", "Sun, 06 Nov 1994 08:49:01 GMT"), Some(Duration::ZERO));
        for nonsense in ["soon", "-1", "NaN", "inf", ""] {
            assert_eq!(requested("retry-after", nonsense), None, "{nonsense:?}");
        }
    }
}
