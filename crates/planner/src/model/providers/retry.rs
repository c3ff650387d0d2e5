//! Retries of failed attempts: backoff with jitter, and parameters to leave out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::attempt_error::AttemptError;
use super::settings::ProviderSettings;

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
            backoff: settings.first_wait.min(MAX_BACKOFF),
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
    use super::*;
    use crate::model::ModelErrorKind;

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
