//! Dates and times of ISO 8601, in the extended form.

/// Returns whether a text is `YYYY-MM-DD`, with or without a time of day, a fraction and an offset.
pub(crate) fn is_iso_8601(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    is_date(date) && (rest.is_empty() || rest.strip_prefix(['T', 't', ' ']).is_some_and(is_time_and_offset))
}

fn is_date(text: &str) -> bool {
    let [year, month, day] = numbers::<3>(text, '-', [4, 2, 2]).unwrap_or_default();
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_time_and_offset(text: &str) -> bool {
    let split = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
    let Some((time, offset)) = text.split_at_checked(split) else { return false };
    is_time(time) && is_offset(offset)
}

fn is_time(text: &str) -> bool {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let fraction_fits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let clock = numbers::<3>(whole, ':', [2, 2, 2]).or_else(|| {
        // A fraction belongs to the seconds, so a time without seconds has none.
        let [hour, minute] = numbers::<2>(text, ':', [2, 2])?;
        Some([hour, minute, 0])
    });
    // A leap second is written as second 60.
    fraction_fits && clock.is_some_and(|[hour, minute, second]| hour < 24 && minute < 60 && second <= 60)
}

fn is_offset(text: &str) -> bool {
    if matches!(text, "" | "Z" | "z") {
        return true;
    }
    let Some(digits) = text.strip_prefix(['+', '-']) else { return false };
    let hours_and_minutes = numbers::<2>(digits, ':', [2, 2]);
    hours_and_minutes.is_some_and(|[hours, minutes]| hours < 24 && minutes < 60)
        || numbers::<1>(digits, ':', [2]).is_some_and(|[hours]| hours < 24)
        || numbers::<1>(digits, ':', [4]).is_some_and(|[both]| both / 100 < 24 && both % 100 < 60)
}

/// Reads `N` numbers of fixed width with a separator between them.
fn numbers<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[u32; N]> {
    let mut found = [0; N];
    let mut parts = text.split(separator);
    for (slot, width) in found.iter_mut().zip(widths) {
        let part = parts.next()?;
        if part.len() != width || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_recognised() {
        for good in [
            "2026-06-14",
            "2026-06-14T12:00:00Z",
            "2026-06-14T12:00",
            "2026-06-14 23:59:60.123456+02:00",
            "2024-02-29T00:00:00-0730",
            "2026-06-14T12:00:00+02",
        ] {
            assert!(is_iso_8601(good), "{good}");
        }
        for bad in [
            "",
            "yesterday",
            "2026",
            "2026-13-01",
            "2023-02-29",
            "2026-06-31",
            "2026-06-14T",
            "2026-06-14T24:00",
            "2026-06-14T12",
            "2026-06-14T12:00.5",
            "2026-06-14T12:00:00X",
            "2026-06-14T12:00:00+25:00",
            "14.06.2026",
            "２０２６-06-14",
            "2026-06-14T12:00:00.Z",
            "éééééééééé",
        ] {
            assert!(!is_iso_8601(bad), "{bad}");
        }
    }
}
