//! Instants as the documents write them: ISO 8601 with an offset.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// An instant in ISO 8601, offset always present, microseconds only when there are some.
///
/// This crate reads no clock; instants come from outside and are only carried.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Timestamp(Arc<str>);

/// A text that is not an ISO 8601 instant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected an ISO 8601 instant such as 2026-01-02T03:04:05+00:00, found {0:?}")]
pub struct InvalidTimestamp(pub String);

impl Timestamp {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, out)
    }
}

impl From<Timestamp> for hence_canon::Value {
    fn from(instant: Timestamp) -> Self {
        instant.0.into()
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Reads `YYYY-MM-DD[T ]HH:MM[:SS[.fraction]]` with `Z`, `±HH:MM` or nothing, which counts as UTC.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        read(text).map(|text| Self(text.into())).ok_or_else(|| InvalidTimestamp(text.to_owned()))
    }
}

fn read(text: &str) -> Option<String> {
    let (date, rest) = text.split_at_checked(10)?;
    let (year, month, day) = (digits(date.get(..4)?)?, digits(date.get(5..7)?)?, digits(date.get(8..)?)?);
    let separators = date.as_bytes().get(4) == Some(&b'-') && date.as_bytes().get(7) == Some(&b'-');
    if !separators || year == 0 || !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    if rest.is_empty() {
        return Some(format!("{date}T00:00:00+00:00"));
    }
    let clock = rest.strip_prefix(['T', ' '])?;
    let (clock, offset) = match clock.find(['Z', '+', '-']) {
        Some(at) => clock.split_at(at),
        None => (clock, "Z"),
    };
    Some(format!("{date}T{}{}", time(clock)?, zone(offset)?))
}

fn time(clock: &str) -> Option<String> {
    let (whole, fraction) = clock.split_once('.').map_or((clock, ""), |(whole, fraction)| (whole, fraction));
    if clock.contains('.') && (fraction.is_empty() || digits(fraction).is_none() || whole.len() != 8) {
        return None;
    }
    let mut parts = whole.split(':');
    let (hour, minute) = (two_digits(parts.next()?)?, two_digits(parts.next()?)?);
    let second = parts.next().map_or(Some(0), two_digits)?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let micros: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let fraction = if micros == "000000" { String::new() } else { format!(".{micros}") };
    Some(format!("{hour:02}:{minute:02}:{second:02}{fraction}"))
}

fn zone(offset: &str) -> Option<String> {
    if offset == "Z" {
        return Some("+00:00".to_owned());
    }
    let (hour, minute) = match offset.get(1..)?.split_once(':') {
        Some((hour, minute)) => (two_digits(hour)?, two_digits(minute)?),
        None => (
            two_digits(offset.get(1..3)?)?,
            offset.get(3..).filter(|rest| !rest.is_empty()).map_or(Some(0), two_digits)?,
        ),
    };
    let sign = if offset.starts_with('-') && hour + minute > 0 { '-' } else { '+' };
    (hour < 24 && minute < 60).then(|| format!("{sign}{hour:02}:{minute:02}"))
}

fn digits(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // A fraction may be longer than a number; its digits are what matters.
    plain.then(|| text.get(..text.len().min(9)).and_then(|text| text.parse().ok())).flatten()
}

fn two_digits(text: &str) -> Option<u32> {
    if text.len() == 2 { digits(text) } else { None }
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        text.parse::<Timestamp>().unwrap().to_string()
    }

    #[test]
    fn an_offset_is_kept_and_a_missing_one_is_utc() {
        assert_eq!(normal("2026-01-02T03:04:05+02:00"), "2026-01-02T03:04:05+02:00");
        assert_eq!(normal("2026-01-02T03:04:05"), "2026-01-02T03:04:05+00:00");
        assert_eq!(normal("2026-01-02 03:04:05Z"), "2026-01-02T03:04:05+00:00");
        assert_eq!(normal("2026-01-02T03:04-0530"), "2026-01-02T03:04:00-05:30");
    }

    #[test]
    fn fractions_are_microseconds() {
        assert_eq!(normal("2026-01-02T03:04:05.5Z"), "2026-01-02T03:04:05.500000+00:00");
        assert_eq!(normal("2026-01-02T03:04:05.000001+00:00"), "2026-01-02T03:04:05.000001+00:00");
        assert_eq!(normal("2026-01-02T03:04:05.000000+00:00"), "2026-01-02T03:04:05+00:00");
    }

    #[test]
    fn what_is_not_an_instant_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02T03:04:05+25:00",
            "2026-01-02X03:04:05Z",
            "2026-01-02T03:04:05.Z",
            "2026é01-02",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
        assert!("2028-02-29".parse::<Timestamp>().is_ok());
    }
}
