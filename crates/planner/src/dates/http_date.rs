//! Dates as HTTP writes them.

use std::time::Duration;

use jiff::fmt::rfc2822;

/// The time since 1970 of a date of HTTP, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn http_date(text: &str) -> Option<Duration> {
    let parser = rfc2822::DateTimeParser::new();
    let moment = parser.parse_timestamp(text.trim()).ok()?;
    u64::try_from(moment.as_second())
        .ok()
        .map(Duration::from_secs)
}
