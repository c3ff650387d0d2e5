//! Delays that providers ask for before the next attempt.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::dates::http_date;

/// A clock that returns the time since 1970.
pub(super) type Clock = fn() -> Duration;

/// Returns the delay in the response headers: a number, or a date relative to the provider's clock, or else to ours.
pub(super) fn delay_from_headers(headers: &HeaderMap, clock: Option<Clock>) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let number = |name: &str| -> Option<f64> {
        let number: f64 = text(name)?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    // The finer header takes precedence.
    let milliseconds = number("retry-after-ms").map(|number| number / 1000.0);
    if let Some(seconds) = milliseconds.or_else(|| number("retry-after")) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = http_date(text("retry-after")?)?;
    // The provider's own clock agrees with its date.
    let now = text("date").and_then(http_date);
    let now = now.or_else(|| clock.map(|clock| clock()))?;
    Some(until.saturating_sub(now))
}

/// Returns the delay in a Google API error: the `RetryInfo` among its details.
pub(super) fn delay_from_body(body: &str) -> Option<Duration> {
    let body: Value = serde_json::from_str(body).ok()?;
    let pointers = ["/error/details", "/0/error/details"];
    let details = pointers.iter().find_map(|pointer| body.pointer(pointer))?;
    let delay = details.as_array()?.iter().find_map(|detail| {
        let kind = detail.get("@type")?.as_str()?;
        let delay = detail.get("retryDelay")?.as_str()?;
        kind.ends_with("google.rpc.RetryInfo").then_some(delay)
    })?;
    let seconds = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Formats a delay, rounded up.
pub(super) fn format_delay(delay: Duration) -> String {
    let seconds = delay.as_millis().div_ceil(1000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    const UNTIL: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn clock() -> Duration {
        http_date("Sun, 06 Nov 1994 08:49:27 GMT").unwrap()
    }

    fn check_headers(
        fields: &[(&'static str, &'static str)],
        clock: Option<Clock>,
        expected: Option<u64>,
    ) {
        let fields = fields.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        let headers: HeaderMap = fields.collect();
        let expected = expected.map(Duration::from_millis);
        assert_eq!(delay_from_headers(&headers, clock), expected, "{headers:?}");
    }

    #[test]
    fn headers_are_read() {
        check_headers(
            &[("retry-after-ms", "1500"), ("retry-after", "9")],
            None,
            Some(1500),
        );
        check_headers(&[("retry-after", "0.5")], None, Some(500));
        check_headers(&[("retry-after", "-1")], None, None);
        check_headers(&[("retry-after", "soon")], Some(clock), None);
        check_headers(&[("retry-after", UNTIL)], None, None);
        check_headers(&[("retry-after", UNTIL)], Some(clock), Some(10_000));
        let own = ("date", "Sun, 06 Nov 1994 08:49:35 GMT");
        check_headers(&[("retry-after", UNTIL), own], Some(clock), Some(2000));
        let later = ("date", "Sun, 06 Nov 1994 09:49:35 GMT");
        check_headers(&[("retry-after", UNTIL), later], None, Some(0));
    }

    #[test]
    fn details_are_read() {
        let info = r#"[{"@type": "type.googleapis.com/google.rpc.Help"}, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s"}]"#;
        let wait = Some(Duration::from_millis(2500));
        assert_eq!(
            delay_from_body(&format!(r#"{{"error": {{"details": {info}}}}}"#)),
            wait
        );
        assert_eq!(
            delay_from_body(&format!(r#"[{{"error": {{"details": {info}}}}}]"#)),
            wait
        );
        assert_eq!(delay_from_body(r#"{"error": {"details": []}}"#), None);
        assert_eq!(delay_from_body("busy"), None);
    }

    #[test]
    fn delays_are_formatted() {
        for (milliseconds, expected) in [
            (1, "1 s"),
            (119_000, "119 s"),
            (121_000, "3 min"),
            (7_200_000, "2 h"),
        ] {
            assert_eq!(format_delay(Duration::from_millis(milliseconds)), expected);
        }
    }
}
