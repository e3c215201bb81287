//! Points in time, to the second, in UTC, in one spelling.

use std::fmt;
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::{SignedDuration, civil};

use crate::Typing;
use crate::digits::decimal_digit;

/// A time such as `2026-02-02T00:00:00Z`, kept as it was written.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Timestamp(Arc<str>);

/// A text that is not a time in the one spelling.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a UTC time such as 2026-02-02T00:00:00Z, found {found:?}")]
pub struct InvalidTimestamp {
    /// The text.
    pub found: String,
}

impl Timestamp {
    /// Reads a time that exists: `YYYY-MM-DDTHH:MM:SSZ`, ASCII, a date of the calendar.
    ///
    /// # Errors
    /// [`InvalidTimestamp`] for any other text.
    pub fn parse(text: &str) -> Result<Self, InvalidTimestamp> {
        Self::parse_as(text, Typing::Strict)
    }

    /// Reads a text of the right shape, in digits of any script, whether or not such a time exists.
    ///
    /// # Errors
    /// [`InvalidTimestamp`] for any other text.
    pub fn parse_lax(text: &str) -> Result<Self, InvalidTimestamp> {
        Self::parse_as(text, Typing::Lax)
    }

    /// Returns whether a text is a time under `typing`, without keeping it.
    pub fn is_valid(text: &str, typing: Typing) -> bool {
        if has_ascii_shape(text) {
            return typing == Typing::Lax || civil_time(text).is_some();
        }
        typing == Typing::Lax && has_shape(text)
    }

    /// Reads a time under `typing`.
    ///
    /// # Errors
    /// [`InvalidTimestamp`] when it is none.
    pub fn parse_as(text: &str, typing: Typing) -> Result<Self, InvalidTimestamp> {
        if Self::is_valid(text, typing) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidTimestamp { found: text.to_owned() })
        }
    }

    /// Returns whether one spelling of a time lies after another.
    pub fn spells_after(later: &str, earlier: &str) -> bool {
        digits(later).gt(digits(earlier))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the time `seconds` later, if both exist.
    pub fn plus_seconds(&self, seconds: u64) -> Option<Self> {
        let later =
            civil_time(&self.0)?.checked_add(SignedDuration::from_secs(i64::try_from(seconds).ok()?)).ok()?;
        // Four digits are the whole range of the spelling.
        (0..=9999).contains(&later.year()).then(|| Self::of(later))
    }

    /// Spells a time whose year has four digits.
    fn of(time: DateTime) -> Self {
        let digit =
            |number: i16, place: i16| char::from(b'0' + u8::try_from(number / place % 10).unwrap_or(0));
        let (year, two) = (time.year(), |number: i8| [digit(number.into(), 10), digit(number.into(), 1)]);
        let [month, day] = [time.month(), time.day()].map(two);
        let [hour, minute, second] = [time.hour(), time.minute(), time.second()].map(two);
        let year = [1000, 100, 10, 1].map(|place| digit(year, place));
        let mut text = String::with_capacity(SHAPE.len());
        text.extend(year);
        for (mark, two) in [('-', month), ('-', day), ('T', hour), (':', minute), (':', second)] {
            text.push(mark);
            text.extend(two);
        }
        text.push('Z');
        Self(text.into())
    }

    /// Returns the milliseconds from `earlier` to this, if both times exist.
    pub fn millis_since(&self, earlier: &Self) -> Option<i128> {
        let span = civil_time(&self.0)?.duration_since(civil_time(&earlier.0)?);
        Some(span.as_millis())
    }

    /// Returns whether this lies after `other`. Times of equal spelling length order by their digits.
    pub fn is_after(&self, other: &Self) -> bool {
        Self::spells_after(&self.0, &other.0)
    }
}

fn digits(text: &str) -> impl Iterator<Item = u8> {
    text.chars().filter_map(decimal_digit)
}

const SHAPE: &[u8; 20] = b"dddd-dd-ddTdd:dd:ddZ";

/// The common case of [`has_shape`], judged byte by byte.
fn has_ascii_shape(text: &str) -> bool {
    let Ok(found) = <&[u8; SHAPE.len()]>::try_from(text.as_bytes()) else { return false };
    let fits = |(expected, found): (&u8, &u8)| match expected {
        b'd' => found.is_ascii_digit(),
        literal => found == literal,
    };
    SHAPE.iter().zip(found).all(fits)
}

fn has_shape(text: &str) -> bool {
    let mut found = text.chars();
    let fits = SHAPE.iter().all(|expected| match (expected, found.next()) {
        (b'd', Some(found)) => decimal_digit(found).is_some(),
        (literal, found) => found == Some(char::from(*literal)),
    });
    fits && found.next().is_none()
}

fn civil_time(text: &str) -> Option<DateTime> {
    let field = |from: usize, to: usize| text.get(from..to)?.parse::<i16>().ok();
    let small = |from: usize| i8::try_from(field(from, from + 2)?).ok();
    let date = civil::Date::new(field(0, 4)?, small(5)?, small(8)?).ok()?;
    let time = civil::Time::new(small(11)?, small(14)?, small(17)?, 0).ok()?;
    Some(date.to_datetime(time))
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn only_times_that_exist_are_strict() {
        for good in ["2026-02-02T00:00:00Z", "2024-02-29T23:59:59Z", "0000-01-01T00:00:00Z"] {
            assert!(Timestamp::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00+00:00",
            "2026-01-01T00:00:00.000Z",
            "2026-01-01t00:00:00z",
            "26-01-01T00:00:00Z",
            "٢026-01-01T00:00:00Z",
            "2026-01-01T00:00:00Z\n",
            "",
        ] {
            assert!(Timestamp::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn lax_times_need_only_the_shape() {
        for good in ["9999-99-99T99:99:99Z", "٢026-02-02T00:00:00Z", "0000-00-00T00:00:00Z"] {
            assert!(Timestamp::parse_lax(good).is_ok(), "{good}");
            assert_eq!(Timestamp::parse_lax(good).unwrap().plus_seconds(1), None);
        }
        assert!(Timestamp::parse_lax("2026-02-02T00:00:00Z\n").is_err());
    }

    #[test]
    fn adding_seconds_follows_the_calendar_to_the_end_of_the_spelling() {
        assert_eq!(time("2026-02-28T23:59:59Z").plus_seconds(1), Some(time("2026-03-01T00:00:00Z")));
        assert_eq!(time("9999-12-31T23:59:59Z").plus_seconds(1), None);
        assert_eq!(time("2026-01-01T00:00:00Z").plus_seconds(u64::MAX), None);
        assert!(time("2026-01-01T00:00:01Z").is_after(&time("2026-01-01T00:00:00Z")));
        assert_eq!(time("2026-01-01T00:00:02Z").millis_since(&time("2026-01-01T00:00:00Z")), Some(2000));
    }
}
