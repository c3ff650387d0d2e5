//! Times of other systems, such as `today - 7 days`, and the expressions that have their value here.

/// The maximum length of a time of another system, in bytes.
const MAX_BYTES: usize = 80;

/// Names of the current time, in lower case and without brackets.
const TIMES: &[&str] = &[
    "now",
    "utcnow",
    "getdate",
    "sysdate",
    "systimestamp",
    "current_time",
    "current_timestamp",
    "current_datetime",
    "currenttime",
    "currentdatetime",
    "date.now",
    "datetime.now",
    "datetime.utcnow",
    "datetime.datetime.now",
    "new date",
    "moment",
];

/// Names of days in lower case and without brackets, and their distance from the current day.
const DAYS: &[(&str, i64)] = &[
    ("today", 0),
    ("ds", 0),
    ("curdate", 0),
    ("current_date", 0),
    ("currentdate", 0),
    ("todays_date", 0),
    ("date.today", 0),
    ("datetime.today", 0),
    ("datetime.date.today", 0),
    ("yesterday", -1),
    ("tomorrow", 1),
];

/// Units of time with exact lengths: the words for each, the letter in a duration, and the number of these in one.
const UNITS: &[(&[&str], char, i64)] = &[
    (&["s", "sec", "secs", "second", "seconds"], 's', 1),
    (&["m", "min", "mins", "minute", "minutes"], 'm', 1),
    (&["h", "hr", "hrs", "hour", "hours"], 'h', 1),
    (&["d", "day", "days"], 'd', 1),
    (&["w", "week", "weeks"], 'd', 7),
];

/// A distance between times, as a count of a unit of [`UNITS`].
type Shift = (i64, char);

/// Returns the expression for `text`, a current time or day of another system, perhaps moved by a duration and formatted:
/// `now() - duration('7d')` for `now - 7 days`. `None` for anything else, and for `now()` alone, which is an expression already.
pub fn time_form(text: &str) -> Option<String> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let lower = text.trim().trim_start_matches(['$', '=']).to_lowercase();
    // Spaces in a format count; elsewhere they do not.
    let (value, format) = split_format(&lower, text);
    let (is_day, shift) = moved(value.trim())?;
    let time = match shift {
        (0, _) => "now()".to_owned(),
        (count, unit) => {
            let sign = if count < 0 { '-' } else { '+' };
            format!("now() {sign} duration('{}{unit}')", count.unsigned_abs())
        }
    };
    let pattern = match format {
        Some(pattern) => Some(pattern),
        None => is_day.then(|| "%Y-%m-%d".to_owned()),
    };
    let form = match pattern {
        Some(pattern) if shift.0 == 0 => format!("now().format('{pattern}')"),
        Some(pattern) => format!("({time}).format('{pattern}')"),
        None => time,
    };
    (form != text.trim()).then_some(form)
}

/// Returns the hint for the text of `date(…)` or `duration(…)`, the call of `function`, that is neither.
pub(in crate::expression) fn constant_form(function: &str, text: &str) -> String {
    let (form, general) = match function {
        "duration" => (
            short_duration(text),
            "a duration is written like `1h30m` or `7d`",
        ),
        _ => (
            iso_date(text),
            "a date is written like `2025-10-06` or `2025-10-06T08:30:00Z`",
        ),
    };
    form.map_or_else(
        || general.to_owned(),
        |form| format!("write `{function}('{form}')`"),
    )
}

/// Returns the duration `7d` for `7 days`, and `1h30m` for `PT1H30M`.
fn short_duration(text: &str) -> Option<String> {
    let lower = text.trim().to_lowercase();
    let is_iso = lower.starts_with('p') && lower.len() > 2;
    let mut rest = lower.strip_prefix('p').filter(|_| is_iso).unwrap_or(&lower);
    // Months of ISO 8601 have the letter of minutes, and no exact length.
    let (date, time) = rest.split_once('t').unwrap_or((rest, ""));
    let joined = [date, time].concat();
    if is_iso {
        if date.contains(['m', 'y']) {
            return None;
        }
        rest = &joined;
    }
    let mut short = String::new();
    while !rest.is_empty() {
        let end = rest.find(|sign: char| !sign.is_ascii_digit())?;
        let count: i64 = rest.get(..end)?.parse().ok()?;
        let unit = rest.get(end..)?.trim_start();
        let end = unit
            .find(|sign: char| !sign.is_alphabetic())
            .unwrap_or(unit.len());
        let (unit, after) = unit.split_at_checked(end)?;
        let (_, letter, factor) = UNITS.iter().find(|(words, ..)| words.contains(&unit))?;
        short += &count.checked_mul(*factor)?.to_string();
        short.push(*letter);
        rest = after.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    (!short.is_empty()).then_some(short)
}

/// Returns the date `2025-10-06` for `06.10.2025` and `2025/10/6`.
fn iso_date(text: &str) -> Option<String> {
    let parts = |sign: char| {
        let parts: Vec<u32> = text
            .trim()
            .split(sign)
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?;
        <[u32; 3]>::try_from(parts).ok()
    };
    let ((Some([day, month, year @ 1000..=9999] | [year @ 1000..=9999, month, day]), ..)
    | (_, Some([year @ 1000..=9999, month, day]), _)
    | (_, _, Some([year @ 1000..=9999, month, day]))) = (parts('.'), parts('/'), parts('-'))
    else {
        return None;
    };
    let exists = (1..=12).contains(&month) && (1..=31).contains(&day);
    exists.then(|| format!("{year}-{month:02}-{day:02}"))
}

/// Splits a format off the lower-case text of `written`: `.strftime('%Y')`, `.date()`, `| date: "%Y"`.
fn split_format<'t>(lower: &'t str, written: &str) -> (&'t str, Option<String>) {
    for ending in [".date()", ".date", ".todate()", ".toisodate()"] {
        if let Some(value) = lower.strip_suffix(ending)
            && moved(value.trim()).is_some()
        {
            return (value, Some("%Y-%m-%d".to_owned()));
        }
    }
    for ending in [".isoformat()", ".toiso()", ".toisostring()", ".tostring()"] {
        if let Some(value) = lower.strip_suffix(ending) {
            return (value, None);
        }
    }
    let written = written.trim().trim_start_matches(['$', '=']);
    for call in [
        ".strftime(",
        ".format(",
        "| date:",
        "| date(",
        "|date:",
        "|date(",
    ] {
        let Some((value, _)) = lower.split_once(call) else {
            continue;
        };
        // Lower case may have another length.
        let quoted = written.get(value.len() + call.len()..).unwrap_or_default();
        let pattern = quoted.trim_matches([' ', ')', '"', '\'']);
        if let Some(pattern) = strftime(pattern) {
            return (value, Some(pattern));
        }
    }
    (lower, None)
}

/// The pattern `written` as one of `strftime`; `None` if a part of it has no counterpart.
fn strftime(written: &str) -> Option<String> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || " %-_/:.,".contains(sign);
    let pattern = if written.contains('%') {
        written.to_owned()
    } else {
        let parts = [
            ("yyyy", "%Y"),
            ("MM", "%m"),
            ("dd", "%d"),
            ("HH", "%H"),
            ("mm", "%M"),
        ];
        let written = written
            .replace("YYYY", "yyyy")
            .replace("DD", "dd")
            .replace("ss", "%S");
        parts
            .iter()
            .fold(written, |text, (theirs, ours)| text.replace(theirs, ours))
    };
    // Letters outside of conversions would be text.
    let mut parts = pattern.split('%');
    let has_letters = |text: &str| text.contains(char::is_alphabetic);
    let is_text = parts.next().is_some_and(has_letters)
        || parts.any(|part| part.get(1..).is_none_or(has_letters));
    (!is_text && pattern.contains('%') && pattern.chars().all(is_plain)).then_some(pattern)
}

/// Returns whether `text` is a day rather than a time, and its distance from the current one.
fn moved(text: &str) -> Option<(bool, Shift)> {
    if let Some((is_day, days)) = current(text) {
        return Some((is_day, (days, 'd')));
    }
    // `addDays(now(), -7)`, `dateadd(now(), -7)`
    let calls = [
        ("adddays(", 1),
        ("add_days(", 1),
        ("dateadd(", 1),
        ("date_add(", 1),
        ("subdays(", -1),
        ("date_sub(", -1),
        ("datesub(", -1),
    ];
    for (call, sign) in calls {
        if let Some(arguments) = text
            .strip_prefix(call)
            .and_then(|rest| rest.strip_suffix(')'))
        {
            let (base, by) = arguments.split_once(',')?;
            return shifted(
                base.trim(),
                number(by.trim())
                    .map(|days| (days, 'd'))
                    .or_else(|| distance(by.trim()))?,
                sign,
            );
        }
    }
    // `now.minus(7, 'days')`, `now().minus({days: 7})`, `now().minusDays(7)`
    for (word, sign) in [
        ("minus", -1),
        ("subtract", -1),
        ("sub", -1),
        ("plus", 1),
        ("add", 1),
    ] {
        let Some((base, rest)) = text.split_once(&format!(".{word}")) else {
            continue;
        };
        let (unit, by) = rest.strip_suffix(')')?.split_once('(')?;
        let by = by.trim_matches(['{', '}', ' ']);
        let by = match by.split_once([',', ':', '=']) {
            Some((count, unit)) if number(count.trim()).is_some() => (count, unit),
            Some((unit, count)) => (count, unit),
            None => (by, unit),
        };
        return shifted(base, counted(by.0, by.1)?, sign);
    }
    // `now-7d`, `today + 1 week`, `today() - timedelta(days=7)`
    let at = text.rfind(['-', '+'])?;
    let sign = if text[at..].starts_with('-') { -1 } else { 1 };
    let base = text[..at].trim_end().trim_end_matches(':');
    shifted(base, distance(text[at + 1..].trim())?, sign)
}

fn shifted(base: &str, (count, unit): Shift, sign: i64) -> Option<(bool, Shift)> {
    let (is_day, days) = current(base)?;
    // A moved yesterday has two units.
    let by = match (days, unit) {
        (0, _) => (count.checked_mul(sign)?, unit),
        (days, 'd') => (count.checked_mul(sign)?.checked_add(days)?, 'd'),
        _ => return None,
    };
    // Hours have no meaning for a day.
    Some((is_day && unit == 'd', by))
}

/// Returns whether `name` is a day, and its distance from the current one.
fn current(name: &str) -> Option<(bool, i64)> {
    let name = name.trim();
    let name = name.strip_suffix("()").unwrap_or(name);
    if TIMES.contains(&name) {
        return Some((false, 0));
    }
    let (_, days) = DAYS.iter().find(|(day, _)| *day == name)?;
    Some((true, *days))
}

/// A distance such as `7 days`, `7d`, `days(7)`, `timedelta(days=7)`, `interval '7 days'`, `duration('7d')`.
fn distance(text: &str) -> Option<Shift> {
    if let Some(arguments) = text.strip_suffix(')') {
        let (name, by) = arguments.split_once('(')?;
        if let Some((unit, count)) = by.split_once('=') {
            return name.ends_with("timedelta").then(|| counted(count, unit))?;
        }
        return match name {
            "duration" | "interval" => distance(by.trim_matches(['\'', '"'])),
            "timedelta" => counted(by, "days"),
            unit => counted(by, unit),
        };
    }
    let text = text
        .strip_prefix("interval")
        .unwrap_or(text)
        .replace(['\'', '"'], "");
    let text = text.trim();
    let end = text.find(|sign: char| !sign.is_ascii_digit())?;
    let (count, unit) = text.split_at(end);
    counted(count, unit)
}

/// `count` units, with quotes and blanks around both.
fn counted(count: &str, unit: &str) -> Option<Shift> {
    let bare = |text: &str| text.trim_matches(['\'', '"', ' ', ':']).to_owned();
    let unit = bare(unit);
    let (_, letter, each) = UNITS.iter().find(|(words, ..)| words.contains(&&*unit))?;
    Some((number(&bare(count))?.checked_mul(*each)?, *letter))
}

fn number(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.abs() < 1_000_000).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::time_form;
    use crate::expression::parse_form;

    #[test]
    fn times_of_other_systems() {
        let check = |text: &str, expected: &str| {
            assert_eq!(time_form(text).as_deref(), Some(expected), "{text}");
            assert!(parse_form(expected).is_ok(), "{expected}");
        };
        let day = |days: &str| format!("(now() {days}).format('%Y-%m-%d')");
        for text in [
            "today",
            "TODAY",
            "$today",
            "today()",
            "date.today()",
            "current_date",
            "now().date()",
            "now.date",
            "ds",
        ] {
            check(text, "now().format('%Y-%m-%d')");
        }
        for text in [
            "now",
            "$NOW",
            "datetime.now()",
            "datetime.utcnow().isoformat()",
            "new Date().toISOString()",
            "current_timestamp",
            " $now ",
        ] {
            check(text, "now()");
        }
        check("yesterday", &day("- duration('1d')"));
        check("tomorrow", &day("+ duration('1d')"));
        for text in [
            "today - 7 days",
            "today-7d",
            "today() - timedelta(days=7)",
            "today:-7d",
            "today - 1 week",
            "today.minus(7, 'days')",
            "addDays(today(), -7)",
            "current_date - interval '7 days'",
            "date_sub(curdate(), interval 7 day)",
        ] {
            check(text, &day("- duration('7d')"));
        }
        for text in [
            "now - 1 day",
            "now() - 1d",
            "now-1d",
            "now() - days(1)",
            "now.minus({days: 1})",
            "now().subtract(1, \"days\")",
            "now().minusDays(1)",
            "dateadd(now(), -1)",
            "datetime.now() - timedelta(1)",
            "utcnow() - timedelta(days=1)",
            "NOW - duration('1d')",
        ] {
            check(text, "now() - duration('1d')");
        }
        check("now + 90 minutes", "now() + duration('90m')");
        check("now() | date: \"%Y\"", "now().format('%Y')");
        check("now.format('yyyy-MM-dd')", "now().format('%Y-%m-%d')");
        check("tomorrow + 1 week", &day("+ duration('8d')"));
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "now()",
            "",
            "-",
            "now - 1 month",
            "nowhere",
            "today we go",
            "a - 7 days",
            "now() - b",
            "now - 99999999999999999999d",
            "now.format('Quarter')",
            "today.field",
            "date",
            "é-1d",
            "+1d",
        ] {
            assert_eq!(time_form(text), None, "{text}");
        }
    }
}
