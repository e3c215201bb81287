//! Capabilities on dates and times as texts. They read no clock.

use hence_canon::{Object, Value};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::amount::Amount;
use crate::arguments::Arguments;
use crate::builtin::{BuiltIn, optional, required};
use crate::refusal::Refusal;

pub(crate) const ALL: &[&BuiltIn] = &[&PARSE, &DIFFERENCE, &SHIFT];

const PARSE: BuiltIn = BuiltIn {
    id: "date.parse",
    does: "Read a date or a time",
    takes: &[
        required("text", "string", "2026-02-02, 2026-02-02T10:00:00 (UTC) or 2026-02-02T10:00:00+01:00"),
        optional(
            "format",
            "string",
            "How it is written otherwise, as strftime says it; UTC without an offset",
        ),
    ],
    gives: &[
        required("time", "string", "The instant in UTC"),
        required("seconds", "integer", "Seconds since 1970"),
        required("date", "string", "The day in UTC"),
        required("weekday", "string", "The day's name"),
    ],
    call: parse,
};

const DIFFERENCE: BuiltIn = BuiltIn {
    id: "date.difference",
    does: "Say how long it is from one time to another",
    takes: &[required("from", "string", "A date or a time"), required("to", "string", "Another")],
    gives: &[
        required("seconds", "integer", "Whole seconds"),
        required("minutes", "number", "Minutes"),
        required("hours", "number", "Hours"),
        required("days", "number", "Days of 24 hours"),
    ],
    call: difference,
};

const SHIFT: BuiltIn = BuiltIn {
    id: "date.shift",
    does: "Move a time by days, hours, minutes and seconds",
    takes: &[
        required("time", "string", "A date or a time"),
        optional("days", "integer", "Days of 24 hours"),
        optional("hours", "integer", "Hours"),
        optional("minutes", "integer", "Minutes"),
        optional("seconds", "integer", "Seconds"),
    ],
    gives: &[required("time", "string", "The instant in UTC"), required("date", "string", "The day in UTC")],
    call: shift,
};

/// Reads an instant; a time without an offset is in UTC.
fn instant(name: &str, text: &str) -> Result<Timestamp, Refusal> {
    let text = text.trim();
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant);
    }
    let civil = text.parse::<DateTime>().ok().and_then(utc);
    civil.ok_or_else(|| {
        Refusal::input(format_args!(
            "`{name}` is a date or a time such as 2026-02-02T10:00:00Z, found {text:?}"
        ))
    })
}

fn utc(civil: DateTime) -> Option<Timestamp> {
    TimeZone::UTC.to_timestamp(civil).ok()
}

fn formatted(format: &str, text: &str) -> Result<Timestamp, Refusal> {
    let unlike =
        |error: jiff::Error| Refusal::input(format_args!("`text` is not written as {format:?}: {error}"));
    let parts = jiff::fmt::strtime::parse(format, text).map_err(unlike)?;
    if let Ok(instant) = parts.to_timestamp() {
        return Ok(instant);
    }
    let civil = parts.to_datetime().or_else(|_| parts.to_date().map(DateTime::from)).map_err(unlike)?;
    utc(civil).ok_or_else(|| Refusal::input(format_args!("`text` is out of range, found {text:?}")))
}

fn parse(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let text = arguments.text("text")?;
    let instant = match arguments.find("format") {
        None => instant("text", text)?,
        Some(_) => formatted(arguments.text("format")?, text)?,
    };
    let civil = TimeZone::UTC.to_datetime(instant);
    Ok(Object::from_iter([
        ("time", Value::from(instant.to_string())),
        ("seconds", instant.as_second().into()),
        ("date", civil.date().to_string().into()),
        ("weekday", format!("{:?}", civil.weekday()).to_lowercase().into()),
    ]))
}

fn difference(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let (from, to) = (instant("from", arguments.text("from")?)?, instant("to", arguments.text("to")?)?);
    let seconds = Amount::Whole(from.duration_until(to).as_secs().into());
    let over = |unit: i128| seconds.over(Amount::Whole(unit)).and_then(Amount::value);
    Ok(Object::from_iter([
        ("seconds", seconds.value()?),
        ("minutes", over(60)?),
        ("hours", over(60 * 60)?),
        ("days", over(24 * 60 * 60)?),
    ]))
}

fn shift(arguments: &Arguments<'_>) -> Result<Object, Refusal> {
    let start = instant("time", arguments.text("time")?)?;
    let mut moved = SignedDuration::ZERO;
    for (name, unit) in [("days", 24 * 60 * 60), ("hours", 60 * 60), ("minutes", 60), ("seconds", 1)] {
        let Some(given) = arguments.find(name) else { continue };
        let count = given
            .as_i64()
            .ok_or_else(|| Refusal::input(format_args!("`{name}` is an integer, found {}", given.kind())))?;
        let part = count.checked_mul(unit).map(SignedDuration::from_secs);
        moved = part.and_then(|part| moved.checked_add(part)).ok_or_else(out_of_range)?;
    }
    let end = start.checked_add(moved).map_err(|_| out_of_range())?;
    let date = TimeZone::UTC.to_datetime(end).date();
    Ok(Object::from_iter([("time", end.to_string()), ("date", date.to_string())]))
}

fn out_of_range() -> Refusal {
    Refusal::too_large("the time is out of range")
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn times_are_instants_whatever_their_spelling() {
        table(
            "date.parse",
            &[
                (
                    r#"{"text": "2026-02-02"}"#,
                    r#"{"time": "2026-02-02T00:00:00Z", "seconds": 1769990400, "date": "2026-02-02", "weekday": "monday"}"#,
                ),
                (
                    r#"{"text": "2026-02-02T00:30:00+01:00"}"#,
                    r#"{"time": "2026-02-01T23:30:00Z", "seconds": 1769988600, "date": "2026-02-01", "weekday": "sunday"}"#,
                ),
                (
                    r#"{"text": "02/Feb/2026:10:00:00 +0000", "format": "%d/%b/%Y:%H:%M:%S %z"}"#,
                    r#"{"time": "2026-02-02T10:00:00Z", "seconds": 1770026400, "date": "2026-02-02", "weekday": "monday"}"#,
                ),
                (
                    r#"{"text": "02.02.2026", "format": "%d.%m.%Y"}"#,
                    r#"{"time": "2026-02-02T00:00:00Z", "seconds": 1769990400, "date": "2026-02-02", "weekday": "monday"}"#,
                ),
                (r#"{"text": "2026-02-30"}"#, "!`text` is a date or a time"),
                (r#"{"text": "x", "format": "%Y"}"#, "!`text` is not written as"),
            ],
        );
        table(
            "date.difference",
            &[
                (
                    r#"{"from": "2026-02-02", "to": "2026-02-03T12:00:00Z"}"#,
                    r#"{"seconds": 129600, "minutes": 2160, "hours": 36, "days": 1.5}"#,
                ),
                (
                    r#"{"from": "2026-02-02", "to": "2026-02-01"}"#,
                    r#"{"seconds": -86400, "minutes": -1440, "hours": -24, "days": -1}"#,
                ),
            ],
        );
        table(
            "date.shift",
            &[
                (
                    r#"{"time": "2026-02-28", "days": 1, "seconds": -1}"#,
                    r#"{"time": "2026-02-28T23:59:59Z", "date": "2026-02-28"}"#,
                ),
                (r#"{"time": "2026-02-28", "days": 9223372036854775807}"#, "!the time is out of range"),
                (r#"{"time": "9999-12-30", "days": 3650}"#, "!the time is out of range"),
            ],
        );
    }
}
