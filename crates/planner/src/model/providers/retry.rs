//! Retries of failed attempts: delays that providers ask for, backoff with jitter, and parameters to leave out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::attempt_error::AttemptError;
use super::settings::ProviderSettings;
use crate::dates::http_date;

/// Maximum delay that we choose ourselves.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The remaining attempts at a request. Takes neither time nor randomness from the environment.
#[derive(Clone, Debug)]
pub(super) struct Retries {
    max_attempts: u32,
    attempts: u32,
    backoff: Duration,
    random_state: u64,
}

impl Retries {
    /// Creates the attempts for a request; `number` selects its own random sequence for the same seed.
    pub(super) fn new(settings: &ProviderSettings, number: u64) -> Self {
        Self {
            max_attempts: settings.attempts,
            attempts: 0,
            backoff: settings.first_delay.min(MAX_BACKOFF),
            random_state: settings.seed ^ number.rotate_left(32),
        }
    }

    /// Returns the delay before the next attempt, or `None` if there is none: the error is permanent, the attempts are used up, or
    /// the delay would exceed the time `left`.
    pub(super) fn next_delay(&mut self, error: &AttemptError, left: Duration) -> Option<Duration> {
        self.attempts += 1;
        // The backoff grows even if the provider sets this delay.
        let backoff = self.next_backoff();
        if self.attempts >= self.max_attempts || !error.is_transient {
            return None;
        }
        Some(error.retry_after.unwrap_or(backoff)).filter(|delay| *delay < left)
    }

    /// Returns a random delay between half of the current backoff and all of it, so that clients that failed together spread out.
    fn next_backoff(&mut self) -> Duration {
        let backoff = self.backoff;
        self.backoff = backoff.saturating_mul(2).min(MAX_BACKOFF);
        backoff.mul_f64(0.5 + 0.5 * self.random())
    }

    /// Returns the next random number in [0, 1) (SplitMix64).
    fn random(&mut self) -> f64 {
        self.random_state = self.random_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random_state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let high = u32::try_from(mixed >> 32).unwrap_or_default();
        f64::from(high) / (f64::from(u32::MAX) + 1.0)
    }
}

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

/// A parameter that a request can do without, and that some models reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionalParameter {
    /// The temperature; reasoning models choose their own.
    Temperature,
    /// The response schema; the prompt describes the form as well.
    AnswerSchema,
}

/// Parameters left out of all further requests.
#[derive(Debug, Default)]
pub(super) struct DroppedParameters {
    temperature: AtomicBool,
    answer_schema: AtomicBool,
}

/// Names of the response format in error messages, reduced to letters.
const RESPONSE_FORMAT_NAMES: &[&str] = &[
    "responseformat",
    "responsejsonschema",
    "responseschema",
    "responsemimetype",
    "jsonschema",
    "outputconfig",
    "outputformat",
    "structuredoutput",
    "textformat",
];

impl OptionalParameter {
    /// Finds the parameter that a provider's error message names.
    pub(super) fn named_in(message: &str) -> Option<Self> {
        // Providers spell parameters in snake case, in camel case, or in words.
        let normalized: String = message
            .chars()
            .filter(char::is_ascii_alphabetic)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        if normalized.contains("temperature") {
            return Some(Self::Temperature);
        }
        let is_schema = RESPONSE_FORMAT_NAMES
            .iter()
            .any(|name| normalized.contains(name));
        is_schema.then_some(Self::AnswerSchema)
    }
}

impl DroppedParameters {
    pub(super) fn contains(&self, parameter: OptionalParameter) -> bool {
        // No other data depends on the flag, so relaxed ordering suffices.
        self.flag(parameter).load(Ordering::Relaxed)
    }

    pub(super) fn insert(&self, parameter: OptionalParameter) {
        self.flag(parameter).store(true, Ordering::Relaxed);
    }

    fn flag(&self, parameter: OptionalParameter) -> &AtomicBool {
        match parameter {
            OptionalParameter::Temperature => &self.temperature,
            OptionalParameter::AnswerSchema => &self.answer_schema,
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;
    use crate::model::ModelErrorKind;

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

    const LONG_TIME: Duration = Duration::from_secs(1000);

    fn retries(seed: u64) -> Retries {
        let settings = ProviderSettings {
            attempts: 4,
            seed,
            ..ProviderSettings::new("openai:a")
        };
        Retries::new(&settings, 0)
    }

    fn error(is_transient: bool, retry_after: Option<u64>) -> AttemptError {
        AttemptError {
            is_transient,
            retry_after: retry_after.map(Duration::from_millis),
            ..AttemptError::new(ModelErrorKind::Unavailable, "it failed".to_owned())
        }
    }

    #[test]
    fn delays_grow_and_differ() {
        let delays = |seed: u64| -> Vec<Duration> {
            let mut retries = retries(seed);
            std::iter::from_fn(|| retries.next_delay(&error(true, None), LONG_TIME)).collect()
        };
        let first = delays(1);
        assert_eq!(first.len(), 3);
        for (delay, limit) in first.iter().zip([500, 1000, 2000]) {
            let limit = Duration::from_millis(limit);
            assert!(
                *delay >= limit / 2 && *delay <= limit,
                "{delay:?} of {limit:?}"
            );
        }
        assert_eq!(first, delays(1));
        assert_ne!(first, delays(2));
    }

    fn check(error: &AttemptError, left: Duration, expected: Option<u64>) {
        let delay = retries(0).next_delay(error, left);
        assert_eq!(delay, expected.map(Duration::from_millis), "{error:?}");
    }

    #[test]
    fn delays_of_the_provider_take_precedence() {
        check(&error(true, Some(7000)), LONG_TIME, Some(7000));
        check(&error(true, Some(0)), LONG_TIME, Some(0));
        check(&error(false, Some(0)), LONG_TIME, None);
        check(&error(true, Some(7000)), Duration::from_secs(5), None);
    }

    fn check_named(message: &str, expected: Option<OptionalParameter>) {
        assert_eq!(OptionalParameter::named_in(message), expected, "{message}");
    }

    #[test]
    fn rejected_parameters_are_found() {
        check_named(
            "Unsupported value: 'temperature' does not support 0.1 with this model.",
            Some(OptionalParameter::Temperature),
        );
        check_named(
            "This response_format type is unavailable now",
            Some(OptionalParameter::AnswerSchema),
        );
        check_named(
            "output_config: Extra inputs are not permitted",
            Some(OptionalParameter::AnswerSchema),
        );
        check_named(
            "Unknown name \"responseJsonSchema\"",
            Some(OptionalParameter::AnswerSchema),
        );
        check_named("Invalid schema for function 'x'", None);
        check_named("the prompt is too long", None);
    }
}
