//! What a provider is opened with.

use std::fmt;
use std::time::Duration;

use super::super::Usage;

/// What a provider is opened with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderSettings {
    /// `provider:name`.
    pub model: String,
    /// Where it is, if not where the provider usually is.
    pub base_url: Option<String>,
    /// What lets us in.
    pub key: Option<Key>,
    /// Instead of what a question says.
    pub temperature: Option<f64>,
    /// Where a question says nothing.
    pub max_tokens: Option<u32>,
    /// How long a question may take from its first attempt to the end of its answer.
    pub timeout: Duration,
    /// How long a connection may take to be there.
    pub connect_timeout: Duration,
    /// How long a provider may take to begin an answer that is wanted piece by piece.
    pub begin_timeout: Duration,
    /// How long it may be silent within such an answer.
    pub idle_timeout: Duration,
    /// How often a question is sent, the first time included.
    pub attempts: u32,
    /// The most bytes that are read of an answer.
    pub max_bytes: usize,
    /// How long the first wait between attempts is, where the provider does not say. The next are twice as long each.
    pub first_wait: Duration,
    /// The time since 1970, for providers that say until when they ask to be left alone.
    pub now: Option<fn() -> Duration>,
    /// What the chance in those waits is made of.
    pub seed: u64,
    /// What tokens cost.
    pub prices: Option<Prices>,
}

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Tokens that are read.
    pub input: f64,
    /// Tokens that are written.
    pub output: f64,
    /// Tokens that the provider had at hand; as dear as others where it is not said.
    pub cached: Option<f64>,
}

/// What lets us in. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

const MILLION: f64 = 1_000_000.0;

impl ProviderSettings {
    /// The settings for `provider:name`, without a key.
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
    /// What `usage` costs.
    pub(super) fn cost(self, usage: &Usage) -> f64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let fresh = usage.input_tokens - cached;
        let cost = count(fresh) * self.input
            + count(cached) * self.cached.unwrap_or(self.input)
            + count(usage.output_tokens) * self.output;
        cost / MILLION
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nobody counts more tokens than 2 to the power of 53"
)]
fn count(tokens: u64) -> f64 {
    tokens as f64
}

impl Key {
    /// A key. Space around it is no part of it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it can stand in a header.
    pub(super) fn can_be_sent(&self) -> bool {
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
        // A provider that counts cached tokens beside the others.
        check(prices, (100, 400, 0), 0.00005);
    }
}
