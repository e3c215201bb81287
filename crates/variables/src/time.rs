//! Moments, as documents spell them and as a run's clock gives them.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;

/// A moment. Reads RFC 3339 with a mandatory offset; displays in UTC with `Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

/// A text that is not an RFC 3339 moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an RFC 3339 date and time with offset, found {found:?}")]
pub struct InvalidTimestamp {
    /// The text, cut for display.
    pub found: String,
}

impl Timestamp {
    /// Returns the moment `seconds` later, or the last moment there is.
    #[must_use]
    pub fn saturating_add_seconds(self, seconds: u64) -> Self {
        let duration = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        Self(self.0.saturating_add(duration).unwrap_or(jiff::Timestamp::MAX))
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        parse(text).map(Self).ok_or_else(|| InvalidTimestamp { found: text.chars().take(80).collect() })
    }
}

/// The parts of `2026-02-09T10:00:00.5+02:00` in the form the calendar library reads.
///
/// That library reads more than RFC 3339 allows, so the shape is proved here and only the calendar left to it.
fn parse(text: &str) -> Option<jiff::Timestamp> {
    const SHAPE: &[u8; 19] = b"dddd-dd-ddTdd:dd:dd";
    let (date_time, rest) = text.as_bytes().split_at_checked(SHAPE.len())?;
    let fits = |(byte, shape): (&u8, &u8)| match shape {
        b'd' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't'),
        other => byte == other,
    };
    if !date_time.iter().zip(SHAPE).all(fits) {
        return None;
    }
    let (fraction, offset) = split_fraction(rest)?;
    let offset = match offset {
        b"Z" | b"z" => "Z",
        [b'+' | b'-', hour_tens, hour, b':', minute_tens @ b'0'..=b'5', minute] => {
            let digits = [hour_tens, hour, minute_tens, minute];
            let hour_fits = *hour_tens < b'2' || (*hour_tens == b'2' && *hour < b'4');
            if !hour_fits || !digits.iter().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            str::from_utf8(offset).ok()?
        }
        _ => return None,
    };
    let leap = date_time.ends_with(b":60");
    let date_time = str::from_utf8(date_time).ok()?;
    let (date, time) = date_time.split_at_checked(10)?;
    let time = time.get(1..)?;
    let moment: jiff::Timestamp = format!("{date}T{time}{fraction}{offset}").parse().ok()?;
    // A leap second is inserted at the end of a UTC day and nowhere else.
    let ends_day = moment.as_second().rem_euclid(86_400) == 86_399;
    (!leap || ends_day).then_some(moment)
}

/// Splits an optional fraction from the offset; digits beyond nanoseconds are dropped.
fn split_fraction(rest: &[u8]) -> Option<(String, &[u8])> {
    let Some((b'.', tail)) = rest.split_first() else { return Some((String::new(), rest)) };
    let length = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, offset) = tail.split_at_checked(length)?;
    if digits.is_empty() {
        return None;
    }
    let kept = digits.get(..digits.len().min(9))?;
    Some((format!(".{}", str::from_utf8(kept).ok()?), offset))
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, out)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl From<Timestamp> for hence_canon::Value {
    fn from(moment: Timestamp) -> Self {
        moment.to_string().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn moments_display_in_utc_and_compare_by_instant() {
        assert_eq!(moment("2026-02-09T12:00:00+02:00"), moment("2026-02-09T10:00:00Z"));
        assert_eq!(moment("2026-02-09t10:00:00.120z").to_string(), "2026-02-09T10:00:00.12Z");
        assert_eq!(
            moment("2026-02-09T10:00:00.1234567891234Z").to_string(),
            "2026-02-09T10:00:00.123456789Z"
        );
        assert_eq!(moment("1998-12-31T15:59:60-08:00").to_string(), "1998-12-31T23:59:59Z");
    }

    #[test]
    fn what_is_not_rfc_3339_is_refused() {
        for bad in [
            "",
            "2026-02-09",
            "2026-02-09T10:00:00",
            "2026-02-09 10:00:00Z",
            "2026-02-30T10:00:00Z",
            "2026-13-01T10:00:00Z",
            "2026-02-09T24:00:00Z",
            "2026-02-09T10:60:00Z",
            "2026-02-09T10:00:60Z",
            "2026-02-09T10:00:00.Z",
            "2026-02-09T10:00:00+0200",
            "2026-02-09T10:00:00+24:00",
            "2026-02-09T10:00:00+02:60",
            "2026-02-09T10:00:00Z[UTC]",
            "2026-02-09T10:00:00Z\n",
            "+002026-02-09T10:00:00Z",
            "２026-02-09T10:00:00Z",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad:?}");
        }
    }
}
