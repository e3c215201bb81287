//! The system clock. It is read when a run is created, a review is stamped, variables are used or something is
//! measured, and nowhere else.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hence_canon::time::Instant;
use hence_engine::Moment;
use hence_state::Timestamp;

use crate::code::Code;
use crate::error::CliError;
use crate::hint;

/// Returns the present time, to the second.
///
/// # Errors
/// [`CliError`] when the clock shows a time that no record can hold.
pub(crate) fn now() -> Result<Timestamp, CliError> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).ok();
    second(seconds).ok_or_else(out_of_range)
}

fn out_of_range() -> CliError {
    let message = "the clock of this machine shows a time outside the years 1970 to 9999";
    CliError::new(Code::Refused, message).with_hint(hint::SET_CLOCK)
}

/// Returns the present time, to the millisecond.
///
/// # Errors
/// As for [`now`].
pub(crate) fn now_to_the_millisecond() -> Result<Instant, CliError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let millis = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    // The second is checked, too: the calendar of records ends before that of instants.
    now()?;
    millis.and_then(Instant::from_millis).ok_or_else(out_of_range)
}

/// Reads a time in the past: a time, a day, or how long ago, as `90s`, `30m`, `12h`, `7d` or `4w`.
///
/// # Errors
/// [`CliError`] when the text is none of them.
pub(crate) fn since(text: &str) -> Result<Instant, CliError> {
    let given = hence_canon::time::IsoTime::parse(text).and_then(hence_canon::time::IsoTime::to_instant);
    if let Some(given) = given {
        return Ok(given);
    }
    offset(text, -1, hint::argument::GIVE_SINCE)
}

/// Returns the time that lies so long before or after now.
fn offset(text: &str, sign: i64, advice: hint::Hint) -> Result<Instant, CliError> {
    let refused = || {
        let message = format!("expected a time, a day, or a number with s, m, h, d or w, found {text:?}");
        CliError::new(Code::Argument, message).with_hint(advice.clone())
    };
    let unit = text.chars().last().ok_or_else(refused)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        'w' => 7 * 24 * 60 * 60,
        _ => return Err(refused()),
    };
    let count: i64 = text.trim_end_matches(unit).parse().map_err(|_| refused())?;
    let time = count.checked_mul(seconds).filter(|time| *time >= 0).ok_or_else(refused)?;
    now_to_the_millisecond()?.checked_add_seconds(sign.saturating_mul(time)).ok_or_else(refused)
}

/// Reads a time that is to come: a time, a day, or how long from now, as `90s`, `30m`, `12h`, `7d` or `4w`.
///
/// # Errors
/// [`CliError`] when the text is none of them.
pub(crate) fn later(text: &str) -> Result<Instant, CliError> {
    let given = hence_canon::time::IsoTime::parse(text).and_then(hence_canon::time::IsoTime::to_instant);
    match given {
        Some(given) => Ok(given),
        None => offset(text, 1, hint::queue::GIVE_LATER),
    }
}

/// The first and the last year that a caller may give. A clock that ticks on after the last one has room for it.
const GIVEN_YEARS: std::ops::RangeInclusive<i16> = 1970..=9998;

/// Reads the time that a caller gives with `--now`.
///
/// # Errors
/// [`CliError`] that names the accepted forms.
pub(crate) fn given(text: &str) -> Result<Instant, CliError> {
    let refused = || {
        let message = format!(
            "--now: expected a date and time with an offset in the years {} to {}, such as 2026-02-09T10:00:00Z, \
             2026-02-09T10:00:00.250Z or 2026-02-09T12:00:00+02:00, found {:?}",
            GIVEN_YEARS.start(),
            GIVEN_YEARS.end(),
            text.chars().take(80).collect::<String>()
        );
        CliError::new(Code::Argument, message).with_hint(hint::GIVE_TIME)
    };
    let time: Instant = text.parse().map_err(|_| refused())?;
    let year = time.to_string().split('-').next().and_then(|year| year.parse().ok());
    year.filter(|year| GIVEN_YEARS.contains(year)).map(|_| time).ok_or_else(refused)
}

/// Reads the time that a caller gives with `--now` for a new run, whose clock counts seconds in UTC.
///
/// # Errors
/// [`CliError`] that names the accepted form.
pub(crate) fn given_second(text: &str) -> Result<Timestamp, CliError> {
    let time = Timestamp::parse(text)
        .map_err(|error| CliError::at(Code::Argument, "--now", error).with_hint(hint::GIVE_TIME))?;
    given(text).map(|_| time)
}

/// Returns the second of an instant, in the spelling of records.
///
/// # Errors
/// [`CliError`] when no record can hold it.
pub(crate) fn second_of(instant: Instant) -> Result<Timestamp, CliError> {
    let seconds: String = instant.to_string().chars().take("2026-02-09T10:00:00".len()).collect();
    Timestamp::parse(&format!("{seconds}Z")).map_err(|_| {
        let message = format!("expected a time in the years 0000 to 9999, found {instant}");
        CliError::new(Code::Argument, message).with_hint(hint::GIVE_TIME)
    })
}

fn second(since_1970: Option<u64>) -> Option<Timestamp> {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(since_1970?))?;
    let text = jiff::Timestamp::try_from(time).ok()?.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Timestamp::parse(&text).ok()
}

/// A clock that measures.
pub(crate) trait Clock: Send + Sync {
    /// Reads the clock; `None` when it shows a time before 1970 or after 9999.
    fn now(&self) -> Option<Moment>;
}

/// The clocks of this machine.
pub(crate) struct SystemClock {
    start: std::time::Instant,
}

impl SystemClock {
    pub(crate) fn started() -> Box<dyn Clock> {
        Box::new(Self { start: std::time::Instant::now() })
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Option<Moment> {
        Some(Moment { wall: wall()?, monotonic: self.start.elapsed() })
    }
}

/// Returns the time of day to measure with; `None` when the clock shows a time that no record can hold.
pub(crate) fn wall() -> Option<Instant> {
    now_to_the_millisecond().ok()
}

/// A clock that stands still until a test moves it.
#[cfg(test)]
#[derive(Clone)]
pub(crate) struct FakeClock(std::sync::Arc<std::sync::Mutex<Option<(i64, u64)>>>);

#[cfg(test)]
impl FakeClock {
    pub(crate) fn at(wall_ms: i64) -> Self {
        Self(std::sync::Arc::new(std::sync::Mutex::new(Some((wall_ms, 0)))))
    }

    pub(crate) fn broken() -> Self {
        Self(std::sync::Arc::new(std::sync::Mutex::new(None)))
    }

    pub(crate) fn advance(&self, millis: u32) {
        let mut now = self.0.lock().unwrap();
        *now = now.map(|(wall, monotonic)| (wall + i64::from(millis), monotonic + u64::from(millis)));
    }

    pub(crate) fn set_back(&self, millis: i64) {
        let mut now = self.0.lock().unwrap();
        *now = now.map(|(wall, monotonic)| (wall - millis, monotonic));
    }
}

#[cfg(test)]
impl Clock for FakeClock {
    fn now(&self) -> Option<Moment> {
        let (wall, monotonic) = (*self.0.lock().unwrap())?;
        let wall = Instant::from_millis(wall)?;
        Some(Moment { wall, monotonic: Duration::from_millis(monotonic) })
    }
}

#[cfg(test)]
mod tests {
    use super::second;

    #[test]
    fn a_clock_that_no_record_can_hold_is_no_time() {
        assert_eq!(second(Some(0)).unwrap().as_str(), "1970-01-01T00:00:00Z");
        assert_eq!(second(None), None);
        for late in [253_402_300_800, 1 << 40, u64::MAX] {
            assert_eq!(second(Some(late)), None, "{late}");
        }
    }
}
