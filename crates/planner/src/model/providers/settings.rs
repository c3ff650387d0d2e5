//! Settings of a provider.

use std::fmt;
use std::time::Duration;

use super::super::Usage;

/// Settings of a provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderSettings {
    /// The model, as `provider:name`.
    pub model: String,
    /// Address of the provider, if not its default.
    pub base_url: Option<String>,
    /// The API key.
    pub key: Option<Key>,
    /// Temperature that overrides the one in requests.
    pub temperature: Option<f64>,
    /// Maximum number of output tokens for requests that set none.
    pub max_tokens: Option<u32>,
    /// Timeout of a request, from its first attempt to the end of the reply.
    pub timeout: Duration,
    /// Timeout for establishing a connection.
    pub connect_timeout: Duration,
    /// Timeout for the first byte of a streamed reply.
    pub begin_timeout: Duration,
    /// Timeout for silence within a streamed reply.
    pub idle_timeout: Duration,
    /// Maximum number of attempts per request, including the first.
    pub attempts: u32,
    /// Maximum size of a reply, in bytes.
    pub max_bytes: usize,
    /// First delay between attempts if the provider asks for none. Each further delay doubles.
    pub first_wait: Duration,
    /// Clock that returns the time since 1970, for providers that send a date to retry after.
    pub now: Option<fn() -> Duration>,
    /// Seed of the random jitter in delays.
    pub seed: u64,
    /// Prices of tokens.
    pub prices: Option<Prices>,
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Price of input tokens.
    pub input: f64,
    /// Price of output tokens.
    pub output: f64,
    /// Price of cached input tokens; defaults to the price of input tokens.
    pub cached: Option<f64>,
}

/// An API key. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

const TOKENS_PER_PRICE: f64 = 1_000_000.0;

impl ProviderSettings {
    /// Creates the settings for `provider:name`, without a key.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: None,
            key: None,
            temperature: None,
            max_tokens: None,
            timeout: Duration::from_mins(2),
            connect_timeout: Duration::from_secs(10),
            begin_timeout: Duration::from_mins(1),
            idle_timeout: Duration::from_mins(1),
            attempts: 3,
            max_bytes: 4 * 1024 * 1024,
            first_wait: Duration::from_millis(500),
            now: None,
            seed: 0,
            prices: None,
        }
    }
}

impl Prices {
    /// Computes the cost of `usage`.
    pub(super) fn cost(self, usage: &Usage) -> f64 {
        // Some providers count cached tokens beside input tokens instead of among them.
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let fresh = usage.input_tokens - cached;
        let cost = as_float(fresh) * self.input
            + as_float(cached) * self.cached.unwrap_or(self.input)
            + as_float(usage.output_tokens) * self.output;
        cost / TOKENS_PER_PRICE
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nobody counts more tokens than 2 to the power of 53"
)]
fn as_float(tokens: u64) -> f64 {
    tokens as f64
}

impl Key {
    /// Creates a key, trimming whitespace around it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether the key is valid in an HTTP header.
    pub(super) fn is_valid_header(&self) -> bool {
        !self.0.is_empty() && self.0.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_not_printed() {
        let settings = ProviderSettings {
            key: Some(Key::new(" sk-secret\n")),
            ..ProviderSettings::new("openai:a")
        };
        assert_eq!(settings.key, Some(Key::new("sk-secret")));
        assert!(!format!("{settings:?}").contains("secret"));
    }

    fn check(prices: Prices, tokens: (u64, u64, u64), expected: f64) {
        let (input_tokens, cached_tokens, output_tokens) = tokens;
        let usage = Usage {
            input_tokens,
            cached_tokens,
            output_tokens,
            ..Usage::default()
        };
        let cost = prices.cost(&usage);
        assert!((cost - expected).abs() < 1e-12, "{cost} for {tokens:?}");
    }

    #[test]
    fn tokens_cost() {
        let prices = Prices {
            input: 2.0,
            output: 8.0,
            cached: None,
        };
        check(prices, (0, 0, 0), 0.0);
        check(prices, (1000, 400, 100), 0.0028);
        let prices = Prices {
            cached: Some(0.5),
            ..prices
        };
        check(prices, (1000, 400, 100), 0.0022);
        // Some providers do not include cached tokens in the input tokens.
        check(prices, (100, 400, 0), 0.00005);
    }
}
