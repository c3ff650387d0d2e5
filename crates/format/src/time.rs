//! Points in time as dates of the calendar, in UTC, and durations as numbers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;

/// Formats a time as `2026-11-21T20:15:03.120Z`. Times before 1970 count as its first moment.
pub fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (day, second) = (since.as_secs() / DAY, since.as_secs() % DAY);
    let (year, month, day) = date(day);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

/// Returns the time that is `milliseconds` after the beginning of 1970.
pub fn from_unix_ms(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH
        .checked_add(Duration::from_millis(milliseconds))
        .unwrap_or(UNIX_EPOCH)
}

/// Returns whole nanoseconds, which saturate after 584 years.
pub fn duration_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Parses a day such as `2026-11-21`, and returns its beginning in UTC; `None` if there is no such day.
pub fn day(text: &str) -> Option<SystemTime> {
    let mut parts = text.split('-');
    let mut number = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse::<u64>().ok())?
    };
    let (year, month, day) = (number(4)?, number(2)?, number(2)?);
    if parts.next().is_some() || year < 1970 {
        return None;
    }
    let days = days(year, month, day)?;
    // A day that the calendar does not have, such as February 30, is another day after the round trip.
    (date(days) == (year, month, day)).then(|| UNIX_EPOCH + Duration::from_secs(days * DAY))
}

/// Returns year, month and day of the day `day`, counted from the beginning of 1970.
fn date(day: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that a leap day is the last one of its year; 400 of them have 146,097 days.
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// Returns the number of days from the beginning of 1970 to a day.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = year - u64::from(month <= 2);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let in_era = year % 400;
    let in_year = (153 * month + 2) / 5 + day.checked_sub(1)?;
    let day = year / 400 * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year;
    day.checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_the_calendar() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (1_763_756_103_120, "2025-11-21T20:15:03.120Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (milliseconds, wanted) in cases {
            let time = from_unix_ms(milliseconds);
            assert_eq!(timestamp(time), wanted);
            let (date, _) = wanted.split_once('T').unwrap();
            let begun = day(date).unwrap();
            assert!(begun <= time && time < begun + Duration::from_secs(DAY));
        }
        for text in [
            "",
            "2026-11",
            "2026-02-29",
            "2026-13-01",
            "26-01-01",
            "2026-01-00",
            "2026-01-01-1",
            "2026-1-01",
            "+026-01-01",
            "1969-12-31",
        ] {
            assert_eq!(day(text), None, "{text}");
        }
    }
}
