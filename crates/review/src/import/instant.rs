//! Instants: from the numbers and texts of telemetry to the text of a trace, and back.

/// Milliseconds since 1970.
pub(crate) type Millis = i64;

const DAY_MS: i64 = 86_400_000;

/// Writes an instant as `2026-07-22T12:00:00.002Z`.
pub(crate) fn format(millis: Millis) -> String {
    let (year, month, day) = civil(millis.div_euclid(DAY_MS));
    let rest = millis.rem_euclid(DAY_MS);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Reads `2026-07-22T12:00:00.002Z`, with or without a fraction and with any offset.
pub(crate) fn parse(text: &str) -> Option<Millis> {
    let (date, rest) = text.split_once(['T', ' '])?;
    let mut parts = date.split('-');
    let mut next = || parts.next()?.parse::<i64>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let split = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, offset) = rest.split_at_checked(split)?;
    let mut parts = time.split(':');
    let (hour, minute) = (parts.next()?.parse::<i64>().ok()?, parts.next()?.parse::<i64>().ok()?);
    let seconds = parts.next().map_or(Some(0.0), |part| part.parse::<f64>().ok())?;
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0.0..61.0).contains(&seconds) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 61 000")]
    let second_ms = (seconds * 1000.0).round() as i64;
    let local = days(year, month, day) * DAY_MS + hour * 3_600_000 + minute * 60_000 + second_ms;
    Some(local - offset_minutes(offset)? * 60_000)
}

fn offset_minutes(text: &str) -> Option<i64> {
    let sign = match text.chars().next() {
        None | Some('Z' | 'z') => return Some(0),
        Some('+') => 1,
        _ => -1,
    };
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let hours: i64 = digits.get(..2)?.parse().ok()?;
    let minutes: i64 = digits.get(2..4).map_or(Some(0), |minutes| minutes.parse().ok())?;
    Some(sign * (hours * 60 + minutes))
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years are counted from March, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date so many days after 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_instants() {
        assert_eq!(format(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(format(1_784_721_600_002), "2026-07-22T12:00:00.002Z");
        assert_eq!(parse("2026-07-22T14:00:00.002+02:00"), Some(1_784_721_600_002));
        assert_eq!(parse("2000-02-29 00:00:00"), Some(951_782_400_000));
        for bad in
            ["", "now", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T25:00:00Z", "99999-01-01T00:00:00Z"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn writing_and_reading_agree(millis in -62_135_596_800_000i64..253_402_300_799_999) {
            prop_assert_eq!(parse(&format(millis)), Some(millis));
        }
    }
}
