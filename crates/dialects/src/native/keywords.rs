//! Keywords of choices, and durations as text.

use std::time::Duration;

use planwright_core::plan::Keyword;

use crate::document::ReadLimits;

/// Words with a meaning in references: a step with such an id is reached by `steps["…"]` only.
pub(super) const REFERENCE_ROOTS: &[&str] = &[
    "inputs", "vars", "slots", "steps", "results", "item", "index", "last", "env", "secrets",
    "true", "false", "null", "in",
];

/// The words of all values.
pub(super) fn all<T: Keyword>() -> impl Iterator<Item = &'static str> {
    T::ALL.iter().map(|value| value.as_str())
}

/// The word for `value`, or `None` if it is the default.
pub(super) fn word_for<T: Keyword + Default>(value: T) -> Option<&'static str> {
    (value != T::default()).then(|| value.as_str())
}

/// The units in nanoseconds, from the shortest.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The maximum of a duration with a fraction: about 292 years, the nanoseconds that 63 bits can count.
const MAX_FRACTIONAL_NANOSECONDS: f64 = 9.2e18;

/// The duration in `text`: a number, and a unit with or without a space before it.
pub(super) fn read(text: &str) -> Option<Duration> {
    let text = text.trim();
    let split = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))?;
    let (number, unit) = text.split_at(split);
    let (_, nanoseconds) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
    // Whole numbers are exact up to 64 bits, whereas a double would round them.
    if let Ok(number) = number.parse::<u64>() {
        let total = number.checked_mul(*nanoseconds)?;
        return Some(Duration::from_nanos(total));
    }
    from_milliseconds(number.parse::<f64>().ok()? * (to_double(*nanoseconds) / 1e6))
}

/// Parses a duration in another notation, such as `2 minutes`, `1h30m` or `PT1M30S`; otherwise `None`.
pub(super) fn guessed_duration(text: &str) -> Option<Duration> {
    let lower = text.trim().to_lowercase();
    let iso = lower.strip_prefix("pt");
    let mut rest = iso.unwrap_or(&lower).trim_start();
    let mut total = Duration::ZERO;
    let mut is_found = false;
    while !rest.is_empty() {
        let split = rest.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))?;
        let (number, after) = rest.split_at(split);
        let after = after.trim_start();
        let end = after.find(|letter: char| !letter.is_alphabetic());
        let (word, after) = after.split_at(end.unwrap_or(after.len()));
        let unit = match word {
            "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => "ms",
            "s" | "sec" | "secs" | "second" | "seconds" => "s",
            "m" | "min" | "mins" | "minute" | "minutes" => "m",
            "h" | "hr" | "hrs" | "hour" | "hours" => "h",
            _ => return None,
        };
        total = total.checked_add(read(&format!("{number}{unit}"))?)?;
        is_found = true;
        rest = after.trim_start().trim_start_matches(',').trim_start();
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    is_found.then_some(total)
}

/// A number of milliseconds as a duration, if it is within bounds.
pub(super) fn from_milliseconds(milliseconds: f64) -> Option<Duration> {
    let nanoseconds = (milliseconds * 1e6).round();
    if !(0.0..MAX_FRACTIONAL_NANOSECONDS).contains(&nanoseconds) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and within 63 bits"
    )]
    let nanoseconds = nanoseconds as u64;
    Some(Duration::from_nanos(nanoseconds))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the units are far below what a double counts exactly"
)]
fn to_double(nanoseconds: u64) -> f64 {
    nanoseconds as f64
}

/// Writes `duration` as a whole number of the largest unit that divides it; `None` if no parser accepts it.
pub(super) fn write(duration: Duration) -> Option<String> {
    if duration > ReadLimits::MAX_DURATION {
        return None;
    }
    let nanoseconds = duration.as_nanos();
    if nanoseconds == 0 {
        return Some("0ms".into());
    }
    // From the largest unit down, so that 120 s is written as `2m`.
    let mut units = UNITS
        .iter()
        .rev()
        .map(|(name, unit)| (name, u128::from(*unit)));
    let (name, unit) = units.find(|(_, unit)| nanoseconds.is_multiple_of(*unit))?;
    Some(format!("{}{name}", nanoseconds / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_are_meant() {
        let check = |text: &str, expected: Option<&str>| {
            let found = guessed_duration(text).and_then(write);
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("2 minutes", Some("2m"));
        check("1h30m", Some("90m"));
        check("PT1M30S", Some("90s"));
        check("1 hour and 5 sec", Some("3605s"));
        check("500 millis", Some("500ms"));
        check("soon", None);
        check("5", None);
        check("5 apples", None);
        check("", None);
    }

    #[test]
    fn durations_read_and_written() {
        let check = |text: &str, expected: Option<Duration>, written: &str| {
            let found = read(text);
            assert_eq!(found, expected, "{text}");
            assert_eq!(found.and_then(write).unwrap_or_default(), written, "{text}");
        };
        check("250ms", Some(Duration::from_millis(250)), "250ms");
        check("30s", Some(Duration::from_secs(30)), "30s");
        check("120 s", Some(Duration::from_mins(2)), "2m");
        check("1.5s", Some(Duration::from_millis(1500)), "1500ms");
        check("1h", Some(Duration::from_hours(1)), "1h");
        check("0s", Some(Duration::ZERO), "0ms");
        check("7us", Some(Duration::from_micros(7)), "7us");
        check(
            "18446744073709551615ns",
            Some(ReadLimits::MAX_DURATION),
            "18446744073709551615ns",
        );
        for wrong in [
            "",
            "s",
            "-1s",
            "3",
            "3 days",
            "1e3s",
            "1..5s",
            "99999999999999999999h",
            "9999999999h",
            "18446744073709551616ns",
            "18446744073710ms",
            "9200000000000.1ms",
        ] {
            check(wrong, None, "");
        }
        assert_eq!(from_milliseconds(9.3e12), None);
        let longer = ReadLimits::MAX_DURATION + Duration::from_nanos(1);
        assert_eq!(write(longer), None);
        assert_eq!(from_milliseconds(f64::NAN), None);
        assert_eq!(from_milliseconds(-1.0), None);
    }
}
