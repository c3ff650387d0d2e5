//! Functions of times and durations. A time is a text in RFC 3339 in UTC, to the microsecond; a duration is a number of
//! seconds. So both are JSON, and pass between steps and to tools as they are.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

use super::number::excerpt;
use super::table::BuiltinFunction;
use crate::expression::EvaluationError;
use crate::expression::evaluate::EvaluationBudget;
use crate::expression::operator::{double, double_value, whole, whole_value};
use crate::{Number, Value};

type Result<T = Value> = std::result::Result<T, EvaluationError>;

/// The work of reading a time or a time zone, in units.
const TIME_COST: usize = 20;

const MICROSECONDS: i64 = 1_000_000;

/// Returns the time of the run.
pub(super) fn now(_: &[Value], budget: &mut EvaluationBudget) -> Result {
    let since = budget.now().ok_or_else(|| {
        EvaluationError::failed("the time of the run is known only while it runs")
    })?;
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    from_micros(micros)
}

/// Makes a time of a text, or of the seconds since 1970. A text without an offset is in UTC or in the time zone that is
/// the second argument.
pub(super) fn date(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let (value, zone) = match values {
        [value] => (value, TimeZone::UTC),
        [value, Value::Text(zone)] => (value, time_zone(zone, budget)?),
        _ => return Err(EvaluationError::unsupported("date", values)),
    };
    match value {
        Value::Text(text) => write_time(&timestamp(text, &zone, budget)?),
        Value::Number(seconds) => from_micros(micros(seconds)?),
        other => Err(EvaluationError::unsupported(
            "date",
            std::slice::from_ref(other),
        )),
    }
}

/// Makes a number of seconds of a text such as `1h30m`.
pub(super) fn duration(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    match values {
        [Value::Number(seconds)] => Ok(Value::Number(seconds.clone())),
        [Value::Text(text)] => {
            budget.spend_text(text.len())?;
            let nanos = nanoseconds(text).ok_or_else(|| {
                EvaluationError::failed(format!("the text `{}` is not a duration", excerpt(text)))
            })?;
            seconds_of(nanos, 1_000_000_000)
        }
        _ => Err(EvaluationError::unsupported("duration", values)),
    }
}

/// Writes a time by a pattern, in UTC or in a time zone.
pub(super) fn format(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [time, Value::Text(pattern), zone @ ..] = values else {
        return Err(EvaluationError::unsupported("format", values));
    };
    let time = zoned("format", time, zone, budget)?;
    // A conversion writes at most a few dozen characters.
    budget.spend(TIME_COST + pattern.len().saturating_mul(4))?;
    let text = jiff::fmt::strtime::format(pattern.as_bytes(), &time)
        .map_err(|error| EvaluationError::failed(format!("the pattern is malformed: {error}")))?;
    budget.spend_text(text.len())?;
    Ok(text.into())
}

/// Adds seconds to a time.
fn add_seconds(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [time, Value::Number(seconds)] = values else {
        return Err(not_seconds(values));
    };
    shift_time(time, micros(seconds)?, budget)
}

/// Subtracts seconds from a time.
fn subtract_seconds(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [time, Value::Number(seconds)] = values else {
        return Err(not_seconds(values));
    };
    shift_time(time, -micros(seconds)?, budget)
}

fn not_seconds(values: &[Value]) -> EvaluationError {
    let kind = values.get(1).map_or("nothing", crate::path::with_article);
    EvaluationError::failed(format!(
        "a number of seconds can be added to a time, not {kind}"
    ))
}

fn shift_time(time: &Value, by: i64, budget: &mut EvaluationBudget) -> Result {
    let micros = read(time, "date", budget)?.as_microsecond();
    from_micros(micros.saturating_add(by))
}

/// Returns the seconds between two times.
fn elapsed(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    let [later, earlier] = values else {
        return Err(EvaluationError::unsupported("-", values));
    };
    let later = read(later, "date", budget)?.as_microsecond();
    let earlier = read(earlier, "date", budget)?.as_microsecond();
    seconds_of(
        i128::from(later) - i128::from(earlier),
        i128::from(MICROSECONDS),
    )
}

/// Returns the microseconds since 1970, by which times are compared.
fn instant(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    match values {
        [time] => Ok(read(time, "date", budget)?.as_microsecond().into()),
        _ => Err(EvaluationError::unsupported("date", values)),
    }
}

/// Returns the whole seconds since 1970.
fn epoch(values: &[Value], budget: &mut EvaluationBudget) -> Result {
    match values {
        [time] => Ok(read(time, "date", budget)?.as_second().into()),
        _ => Err(EvaluationError::unsupported("int", values)),
    }
}

/// The operators between times. The parser chooses them, so that `+` never guesses if a text is a time.
pub(in crate::expression) static LATER: BuiltinFunction =
    super::table::of_times("+", 2, false, add_seconds);
pub(in crate::expression) static EARLIER: BuiltinFunction =
    super::table::of_times("-", 2, false, subtract_seconds);
pub(in crate::expression) static ELAPSED: BuiltinFunction =
    super::table::of_times("seconds between", 2, true, elapsed);
pub(in crate::expression) static INSTANT: BuiltinFunction =
    super::table::of_times("date", 1, true, instant);
pub(in crate::expression) static EPOCH: BuiltinFunction =
    super::table::of_times("int", 1, true, epoch);

/// Returns true if `function` adds seconds to a time, or subtracts them.
pub(in crate::expression) fn moves_time(function: &'static BuiltinFunction) -> bool {
    std::ptr::eq(function, &raw const LATER) || std::ptr::eq(function, &raw const EARLIER)
}

macro_rules! parts {
    ($($(#[$doc:meta])* $function:ident, $name:literal, $part:expr;)*) => {
        $($(#[$doc])*
        pub(super) fn $function(values: &[Value], budget: &mut EvaluationBudget) -> Result {
            let [time, zone @ ..] = values else {
                return Err(EvaluationError::unsupported($name, values));
            };
            let part: fn(&Zoned) -> i64 = $part;
            Ok(part(&zoned($name, time, zone, budget)?).into())
        })*
    };
}

parts! {
    /// Returns the year.
    full_year, "getFullYear", |time| time.year().into();
    /// Returns the month, from 0.
    month, "getMonth", |time| i64::from(time.month()) - 1;
    /// Returns the day of the month, from 1.
    day, "getDate", |time| time.day().into();
    /// Returns the day of the month, from 0.
    day_of_month, "getDayOfMonth", |time| i64::from(time.day()) - 1;
    /// Returns the day of the week, from 0 for Sunday.
    day_of_week, "getDayOfWeek", |time| time.weekday().to_sunday_zero_offset().into();
    /// Returns the day of the year, from 0.
    day_of_year, "getDayOfYear", |time| i64::from(time.day_of_year()) - 1;
    /// Returns the hour.
    hours, "getHours", |time| time.hour().into();
    /// Returns the minute.
    minutes, "getMinutes", |time| time.minute().into();
    /// Returns the second.
    seconds, "getSeconds", |time| time.second().into();
    /// Returns the millisecond.
    milliseconds, "getMilliseconds", |time| time.millisecond().into();
}

fn zoned(name: &str, time: &Value, zone: &[Value], budget: &mut EvaluationBudget) -> Result<Zoned> {
    let zone = match zone {
        [] => TimeZone::UTC,
        [Value::Text(zone)] => time_zone(zone, budget)?,
        other => return Err(EvaluationError::unsupported(name, other)),
    };
    Ok(read(time, name, budget)?.to_zoned(zone))
}

/// Reads a time from a value.
fn read(value: &Value, name: &str, budget: &mut EvaluationBudget) -> Result<Timestamp> {
    match value {
        Value::Text(text) => timestamp(text, &TimeZone::UTC, budget),
        other => Err(EvaluationError::unsupported(
            name,
            std::slice::from_ref(other),
        )),
    }
}

/// Reads a time from a text; without an offset it is in `zone`.
fn timestamp(text: &str, zone: &TimeZone, budget: &mut EvaluationBudget) -> Result<Timestamp> {
    budget.spend(TIME_COST)?;
    budget.spend_text(text.len())?;
    let trimmed = text.trim();
    let time = match trimmed.parse::<Timestamp>() {
        Ok(time) => Some(time),
        Err(_) => trimmed
            .parse::<DateTime>()
            .ok()
            .and_then(|time| zone.to_timestamp(time).ok()),
    };
    let time = time.ok_or_else(|| {
        EvaluationError::failed(format!("the text `{}` is not a date", excerpt(text)))
    })?;
    // Times are compared by microseconds.
    Timestamp::from_microsecond(time.as_microsecond()).map_err(|_| out_of_range())
}

/// Reads the name of a time zone, or an offset such as `+02:00`.
fn time_zone(name: &str, budget: &mut EvaluationBudget) -> Result<TimeZone> {
    budget.spend(TIME_COST)?;
    offset(name)
        .map(TimeZone::fixed)
        .or_else(|| TimeZone::get(name).ok())
        .ok_or_else(|| {
            EvaluationError::failed(format!("there is no time zone `{}`", excerpt(name)))
        })
}

fn offset(text: &str) -> Option<Offset> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |text: &str| {
        (text.len() == 2)
            .then(|| text.parse::<i32>().ok())
            .flatten()
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours < 24 && minutes < 60)
        .then(|| Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok())
        .flatten()
}

fn from_micros(micros: i64) -> Result {
    let time = Timestamp::from_microsecond(micros).map_err(|_| out_of_range())?;
    write_time(&time)
}

/// Writes a time of the years that RFC 3339 has.
fn write_time(time: &Timestamp) -> Result {
    let year = time.to_zoned(TimeZone::UTC).year();
    if year < 1 {
        return Err(out_of_range());
    }
    Ok(time.to_string().into())
}

fn out_of_range() -> EvaluationError {
    EvaluationError::failed("the time is not in the years from 1 to 9999")
}

/// Returns the microseconds of a number of seconds.
fn micros(seconds: &Number) -> Result<i64> {
    let micros = match whole(seconds) {
        Some(seconds) => seconds.checked_mul(i128::from(MICROSECONDS)),
        None => {
            let micros = (double(seconds) * 1e6).round();
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the double is whole and within 64 bits"
            )]
            (micros.abs() < 9e18).then_some(micros as i128)
        }
    };
    micros
        .and_then(|micros| i64::try_from(micros).ok())
        .ok_or_else(out_of_range)
}

/// Returns `units` as seconds: an integer if there is no fraction.
fn seconds_of(units: i128, per_second: i128) -> Result {
    if units % per_second == 0 {
        return whole_value(units / per_second).ok_or_else(out_of_range);
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds of a duration need no more digits than a double has"
    )]
    double_value(units as f64 / per_second as f64)
}

/// Reads a duration in CEL's form, a sequence of numbers with units; also with days, of 24 hours each.
fn nanoseconds(text: &str) -> Option<i128> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total = 0_i128;
    loop {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at_checked(digits)?;
        let length = after
            .find(|letter: char| letter.is_ascii_digit() || letter == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(length)?;
        let nanos: i128 = match unit {
            "d" => 86_400_000_000_000,
            "h" => 3_600_000_000_000,
            "m" => 60_000_000_000,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" | "µs" => 1_000,
            "ns" => 1,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || number.len() > 20 {
            return None;
        }
        let read = |digits: &str| {
            if digits.is_empty() {
                Some(0)
            } else {
                digits.parse::<i128>().ok()
            }
        };
        let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let part = read(whole)?.checked_mul(nanos)? + read(fraction)?.checked_mul(nanos)? / scale;
        total = total.checked_add(part)?;
        rest = after;
        if rest.is_empty() {
            return Some(sign * total);
        }
    }
}
