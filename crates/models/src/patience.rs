//! When a request is made again.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::settings::Patience;

/// What to do after a failure that may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Wait that long and ask again.
    Wait(Duration),
    /// It was tried often enough.
    TriedEnough,
    /// The endpoint asks for a longer wait than is allowed. Asking earlier would be ignoring it.
    AskedTooMuch(Duration),
}

impl Patience {
    /// Decides what follows the `failures`-th failure in a row, from 1.
    pub(crate) fn next(&self, failures: u32, asked: Option<Duration>) -> Next {
        if failures > self.retries {
            return Next::TriedEnough;
        }
        match asked {
            Some(asked) if asked > self.wait_max => Next::AskedTooMuch(asked),
            Some(asked) => Next::Wait(asked),
            None => {
                let doubled = 1u32.checked_shl(failures - 1).unwrap_or(u32::MAX);
                Next::Wait(self.wait.saturating_mul(doubled).min(self.wait_max))
            }
        }
    }
}

/// Returns how long an endpoint asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(crate) fn asked_wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
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
    // A date that is past asks for no wait.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        let ms = Duration::from_millis;
        let patience = Patience { retries: 4, wait: ms(100), wait_max: ms(500) };
        let waits: Vec<Next> = (1..=5).map(|failures| patience.next(failures, None)).collect();
        let wait = |millis| Next::Wait(ms(millis));
        assert_eq!(waits, [wait(100), wait(200), wait(400), wait(500), Next::TriedEnough]);
        assert_eq!(patience.next(1, Some(ms(500))), wait(500));
        assert_eq!(patience.next(1, Some(ms(501))), Next::AskedTooMuch(ms(501)));
        let endless = Patience { retries: 20, wait: Duration::MAX, wait_max: Duration::MAX };
        assert_eq!(endless.next(20, None), Next::Wait(Duration::MAX));
    }

    #[test]
    fn an_endpoint_can_ask_in_three_ways() {
        let now: Timestamp = "1994-11-06T08:49:30Z".parse().unwrap();
        let asked = |name: &'static str, value: &str| {
            asked_wait(&HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]), now)
        };
        assert_eq!(asked("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(asked("retry-after", " 0.25 "), Some(Duration::from_millis(250)));
        assert_eq!(asked("retry-after-ms", "30"), Some(Duration::from_millis(30)));
        assert_eq!(asked("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(7)));
        assert_eq!(asked("retry-after", "Sun, 06 Nov 1994 08:49:01 GMT"), Some(Duration::ZERO));
        for nonsense in ["soon", "-1", "NaN", "inf", ""] {
            assert_eq!(asked("retry-after", nonsense), None, "{nonsense:?}");
        }
    }
}
