//! Dates as HTTP writes them.

use std::time::SystemTime;

use jiff::fmt::rfc2822;

/// A date of HTTP, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn http_date(text: &str) -> Option<SystemTime> {
    let parser = rfc2822::DateTimeParser::new();
    let moment = parser.parse_timestamp(text.trim()).ok()?;
    Some(moment.into())
}
