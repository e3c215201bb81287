//! Points in time as records spell them.

use std::fmt;
use std::sync::Arc;

use hence_canon::time::{UtcSecond, is_utc_second};

use crate::Typing;
use crate::text::decimal_digit;

/// A time such as `2026-02-02T00:00:00Z`, in its original spelling.
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

    /// Returns whether a text is a time under `typing`. Lax typing accepts the same shape in digits of any script,
    /// whether or not such a time exists.
    pub fn is_valid(text: &str, typing: Typing) -> bool {
        is_utc_second(text) || (typing == Typing::Lax && has_shape(text))
    }

    /// Reads a time under `typing`.
    ///
    /// # Errors
    /// [`InvalidTimestamp`] for any other text.
    pub fn parse_as(text: &str, typing: Typing) -> Result<Self, InvalidTimestamp> {
        if Self::is_valid(text, typing) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidTimestamp { found: text.to_owned() })
        }
    }

    /// Returns whether one spelling of a time comes after another.
    pub fn spells_after(later: &str, earlier: &str) -> bool {
        digits(later).gt(digits(earlier))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the time `seconds` later, if both exist.
    pub fn plus_seconds(&self, seconds: u64) -> Option<Self> {
        let later = UtcSecond::parse(&self.0)?.checked_add_seconds(seconds)?;
        Some(Self(later.to_string().into()))
    }

    /// Returns the milliseconds from `earlier` to this time, if both exist.
    pub fn millis_since(&self, earlier: &Self) -> Option<i128> {
        Some(UtcSecond::parse(&self.0)?.millis_since(UtcSecond::parse(&earlier.0)?))
    }

    /// Returns whether this time comes after `other`. Times of equal length are ordered by their digits.
    pub fn is_after(&self, other: &Self) -> bool {
        // A time of one byte per character is ASCII, and the same bytes separate the digits of both.
        let is_ascii = |time: &Self| time.0.len() == "2026-02-02T00:00:00Z".len();
        if is_ascii(self) && is_ascii(other) {
            self.0 > other.0
        } else {
            Self::spells_after(&self.0, &other.0)
        }
    }
}

fn digits(text: &str) -> impl Iterator<Item = u8> {
    text.chars().filter_map(decimal_digit)
}

/// Returns whether a text has the shape of a time, in digits of any script.
fn has_shape(text: &str) -> bool {
    let mut found = text.chars();
    let fits = "dddd-dd-ddTdd:dd:ddZ".chars().all(|expected| match (expected, found.next()) {
        ('d', Some(found)) => decimal_digit(found).is_some(),
        (literal, found) => found == Some(literal),
    });
    fits && found.next().is_none()
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
    fn strict_times_exist_and_have_one_spelling() {
        assert!(Timestamp::parse("2024-02-29T23:59:59Z").is_ok());
        for bad in ["2026-02-29T00:00:00Z", "2026-01-01T00:00:00+00:00", "٢026-01-01T00:00:00Z", ""] {
            assert!(Timestamp::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn lax_times_need_only_the_shape() {
        let lax = |text: &str| Timestamp::parse_as(text, Typing::Lax);
        for good in ["9999-99-99T99:99:99Z", "٢026-02-02T00:00:00Z", "0000-00-00T00:00:00Z"] {
            assert!(lax(good).is_ok(), "{good}");
            assert_eq!(lax(good).unwrap().plus_seconds(1), None);
        }
        assert!(lax("2026-02-02T00:00:00Z\n").is_err());
    }

    #[test]
    fn times_are_ordered_and_moved_along_the_calendar() {
        assert_eq!(time("2026-02-28T23:59:59Z").plus_seconds(1), Some(time("2026-03-01T00:00:00Z")));
        assert!(time("2026-01-01T00:00:01Z").is_after(&time("2026-01-01T00:00:00Z")));
        assert_eq!(time("2026-01-01T00:00:02Z").millis_since(&time("2026-01-01T00:00:00Z")), Some(2000));
    }
}
