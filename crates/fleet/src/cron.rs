//! Cron expressions with a time zone.
//!
//! Five fields: minute (0–59), hour (0–23), day of the month (1–31), month (1–12 or `jan`–`dec`), day of the week (0–7 or `sun`–`sat`; 0 and 7 are
//! Sunday). A field is `*`, a number, a range `a-b`, a step `*/n` or `a-b/n`, or several of them with commas. When both day fields are
//! restricted, one of them has to fit, as in every cron. `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly` are short forms.
//!
//! The fields are matched against the local time of the zone. A local time that a change of the clocks skips counts as much later as the
//! clocks skip: where they skip the hour from 2:00, 2:30 counts at 3:30. Each skipped time counts; two that fall on one instant count
//! once. A local time that happens twice counts once, at its first instant.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan as _};

use crate::names::Time;

/// The years that are searched for the next time: leap days in years divisible by 100 included, 29 February comes within eight.
const YEARS_MAX: i16 = 12;

/// The time after a change of the clocks in which the times that it skipped may count, and one hour: no zone ever skipped more than a day.
const GAP_HOURS_MAX: i64 = 25;

/// A cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether both day fields are restricted: then one of them has to fit.
    either_day: bool,
}

/// A text that is not a cron expression, or names a time zone that is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CronError {
    /// The number of fields is wrong.
    #[error(
        "expected five fields (minute hour day month weekday) or @hourly, @daily, @weekly, @monthly, @yearly, found {0:?}"
    )]
    Fields(String),
    /// A field is wrong.
    #[error("the field {field} is {expected}, found {found:?}")]
    Field {
        /// The field.
        field: &'static str,
        /// The values it can have.
        expected: String,
        /// The part that is wrong.
        found: String,
    },
    /// The expression names no time.
    #[error("{0:?} names a day that no month has")]
    Never(String),
    /// The time zone is not in the system's database.
    #[error("there is no time zone {name:?}: {reason}")]
    Zone {
        /// The name.
        name: String,
        /// The reason.
        reason: String,
    },
}

/// A time zone of the system's database.
#[derive(Debug, Clone)]
pub struct Zone(TimeZone);

impl Zone {
    /// Finds a time zone by its name, such as `Europe/Berlin`. `UTC` needs no database.
    ///
    /// # Errors
    /// [`CronError::Zone`].
    pub fn find(name: &str) -> Result<Self, CronError> {
        if name.eq_ignore_ascii_case("utc") {
            return Ok(Self(TimeZone::UTC));
        }
        let zone = TimeZone::get(name);
        zone.map(Self).map_err(|error| CronError::Zone { name: name.to_owned(), reason: error.to_string() })
    }
}

struct Field {
    name: &'static str,
    first: u8,
    last: u8,
    words: &'static [&'static str],
    /// The number of the first word.
    word_first: u8,
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const MINUTE: Field = Field { name: "minute", first: 0, last: 59, words: &[], word_first: 0 };
const HOUR: Field = Field { name: "hour", first: 0, last: 23, words: &[], word_first: 0 };
const DAY: Field = Field { name: "day of the month", first: 1, last: 31, words: &[], word_first: 0 };
const MONTH: Field = Field { name: "month", first: 1, last: 12, words: MONTHS, word_first: 1 };
const WEEKDAY: Field = Field { name: "day of the week", first: 0, last: 7, words: WEEKDAYS, word_first: 0 };

impl Field {
    /// Reads a field as a set of bits.
    fn read(&self, text: &str) -> Result<u64, CronError> {
        text.split(',').try_fold(0, |bits, part| Ok(bits | self.part(part)?))
    }

    fn part(&self, part: &str) -> Result<u64, CronError> {
        let wrong = || CronError::Field {
            field: self.name,
            expected: format!("*, or numbers from {} to {} as a, a-b, */n or a-b/n", self.first, self.last),
            found: part.to_owned(),
        };
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                (range, step.parse::<u8>().ok().filter(|step| *step > 0).ok_or_else(wrong)?)
            }
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (self.first, self.last),
            Some((from, to)) => (self.number(from).ok_or_else(wrong)?, self.number(to).ok_or_else(wrong)?),
            // `a/n` is read in two ways by different crons; it is refused.
            None if part.contains('/') => return Err(wrong()),
            None => {
                let number = self.number(range).ok_or_else(wrong)?;
                (number, number)
            }
        };
        if from > to {
            return Err(wrong());
        }
        Ok((from..=to).step_by(step.into()).fold(0, |bits, number| bits | (1 << number)))
    }

    fn number(&self, text: &str) -> Option<u8> {
        let word = self.words.iter().position(|word| word.eq_ignore_ascii_case(text));
        let number = match word {
            Some(place) => u8::try_from(place).ok()?.checked_add(self.word_first)?,
            // Not a sign, not a space: digits.
            None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok()?,
            None => return None,
        };
        (self.first..=self.last).contains(&number).then_some(number)
    }
}

/// Returns the local time of an instant, or an earlier one that the times are after which a change of the clocks skipped shortly before
/// and which are still to come.
fn before_gap(zone: &Zone, instant: Timestamp) -> Option<DateTime> {
    let local: DateTime = instant.to_zoned(zone.0.clone()).datetime();
    let earlier = instant.checked_sub(GAP_HOURS_MAX.hours()).ok()?;
    let gap = zone.0.to_offset(instant).seconds() - zone.0.to_offset(earlier).seconds();
    match gap {
        1.. => local.checked_sub(i64::from(gap).seconds()).ok(),
        _ => Some(local),
    }
}

fn has(bits: u64, number: i8) -> bool {
    u32::try_from(number).is_ok_and(|number| number < 64 && bits & (1 << number) != 0)
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// [`CronError`] with the field and what it can be.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let expanded = match text.trim() {
            "@hourly" => "0 * * * *",
            "@daily" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" => "0 0 1 1 *",
            other => other,
        };
        let fields: Vec<&str> = expanded.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(CronError::Fields(text.to_owned()));
        };
        let weekdays = WEEKDAY.read(weekday)?;
        let cron = Self {
            minutes: MINUTE.read(minute)?,
            hours: HOUR.read(hour)?,
            days: DAY.read(day)?,
            months: MONTH.read(month)?,
            // 7 is Sunday, too.
            weekdays: (weekdays | (weekdays >> 7)) & 0x7f,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        };
        if cron.is_never() {
            return Err(CronError::Never(text.to_owned()));
        }
        Ok(cron)
    }

    /// Returns whether the expression asks for a day that none of its months has, such as 30 February.
    fn is_never(&self) -> bool {
        let days_of = |month: i8| match month {
            2 => 29,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let exists =
            |month: i8| has(self.months, month) && (1..=days_of(month)).any(|day| has(self.days, day));
        !self.either_day && !(1..=12).any(exists)
    }

    fn fits_date(&self, date: Date) -> bool {
        let by_day = has(self.days, date.day());
        let by_weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let fits = if self.either_day { by_day || by_weekday } else { by_day && by_weekday };
        has(self.months, date.month()) && fits
    }

    /// Returns the first time after an instant; `None` when there is none in the next years.
    pub fn next(&self, zone: &Zone, after: Time) -> Option<Time> {
        let start = Timestamp::from_millisecond(i64::try_from(after.millis()).ok()?).ok()?;
        let mut local = before_gap(zone, start)?;
        let last = local.date().year().checked_add(YEARS_MAX)?;
        let mut first: Option<Timestamp> = None;
        while let Some(next) = self.next_local(local, last) {
            local = next;
            let ambiguous = zone.0.to_ambiguous_zoned(local);
            let is_skipped = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
            let instant = ambiguous.compatible().ok()?.timestamp();
            if instant <= start {
                continue;
            }
            // A skipped time counts later than it says, so that a later local time may come before it.
            first = Some(first.map_or(instant, |first| first.min(instant)));
            if !is_skipped {
                break;
            }
        }
        Some(Time::from_millis(u64::try_from(first?.as_millisecond()).ok()?))
    }

    /// Returns the first local time after another one.
    fn next_local(&self, after: DateTime, last_year: i16) -> Option<DateTime> {
        let mut date = after.date();
        let (mut hour, mut minute) = (after.hour(), after.minute().checked_add(1)?);
        loop {
            if self.fits_date(date) {
                for hour_now in hour..24 {
                    let from = if hour_now == hour { minute } else { 0 };
                    let fits = |minute: &i8| has(self.minutes, *minute);
                    if has(self.hours, hour_now)
                        && let Some(minute) = (from..60).find(fits)
                    {
                        return Some(date.at(hour_now, minute, 0, 0));
                    }
                }
            }
            (hour, minute) = (0, 0);
            date = date.checked_add(1.day()).ok()?;
            if date.year() > last_year {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(cron: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let (cron, zone) = (Cron::parse(cron).unwrap(), Zone::find(zone).unwrap());
        let after: Timestamp = after.parse().unwrap();
        let mut now = Time::from_millis(u64::try_from(after.as_millisecond()).unwrap());
        let mut found = Vec::new();
        for _ in 0..count {
            now = cron.next(&zone, now).unwrap();
            found
                .push(Timestamp::from_millisecond(i64::try_from(now.millis()).unwrap()).unwrap().to_string());
        }
        found
    }

    #[test]
    fn times_follow_the_fields() {
        let after = "2026-11-18T02:00:00Z";
        assert_eq!(times("*/15 3 * * *", "UTC", after, 2), ["2026-11-18T03:00:00Z", "2026-11-18T03:15:00Z"]);
        assert_eq!(times("0 7 * * mon-fri", "UTC", "2026-11-20T07:00:00Z", 1), ["2026-11-23T07:00:00Z"]);
        assert_eq!(times("0 0 29 2 *", "UTC", after, 2), ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]);
        assert_eq!(times("@monthly", "UTC", after, 2), ["2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"]);
        assert_eq!(times("0 0 * * 7", "UTC", after, 1), times("0 0 * * 0", "UTC", after, 1));
        assert_eq!(times("5,10-12/2 1 * * *", "UTC", after, 3).last().unwrap(), "2026-11-19T01:12:00Z");
    }

    #[test]
    fn a_restricted_day_and_weekday_mean_either() {
        let found = times("0 0 13 * fri", "UTC", "2026-11-01T00:00:00Z", 3);
        assert_eq!(found, ["2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"]);
    }

    #[test]
    fn a_skipped_time_counts_after_the_gap_and_a_repeated_one_once() {
        if Zone::find("Europe/Berlin").is_err() {
            eprintln!("skipped: this machine has no database of time zones");
            return;
        }
        let spring = times("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2);
        assert_eq!(spring, ["2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]);
        // Each of the times that are skipped counts.
        let both = times("*/30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", 3);
        assert_eq!(both, ["2027-03-28T01:00:00Z", "2027-03-28T01:30:00Z", "2027-03-29T00:00:00Z"]);
        // Two that fall on the same instant count once, and instants keep their order.
        let mixed = times("45 2,3 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", 2);
        assert_eq!(mixed, ["2027-03-28T01:45:00Z", "2027-03-29T00:45:00Z"]);
        let order = times("10,50 2-3 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", 3);
        assert_eq!(order, ["2027-03-28T01:10:00Z", "2027-03-28T01:50:00Z", "2027-03-29T00:10:00Z"]);
        // Asked after the change, the skipped time that is to come is not forgotten.
        let inside = times("30 2 * * *", "Europe/Berlin", "2027-03-28T01:10:00Z", 2);
        assert_eq!(inside, ["2027-03-28T01:30:00Z", "2027-03-29T00:30:00Z"]);
        let autumn = times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
        assert_eq!(autumn, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
        // Asked within the repeated hour, the time that has passed does not come again.
        let late = times("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", 1);
        assert_eq!(late, ["2026-10-26T01:30:00Z"]);
    }

    #[test]
    fn a_wrong_expression_names_the_field() {
        let refused = |text: &str| Cron::parse(text).unwrap_err().to_string();
        assert_eq!(
            refused("60 * * * *"),
            r#"the field minute is *, or numbers from 0 to 59 as a, a-b, */n or a-b/n, found "60""#
        );
        assert!(refused("* * * *").starts_with("expected five fields"));
        assert_eq!(refused("0 0 30 2 *"), r#""0 0 30 2 *" names a day that no month has"#);
        for wrong in
            ["5/2 * * * *", "*/0 * * * *", "9-3 * * * *", "+1 * * * *", "* * * foo *", ", * * * *", "@never"]
        {
            assert!(Cron::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Zone::find("Mars/Olympus").unwrap_err().to_string().starts_with("there is no time zone"));
    }
}
