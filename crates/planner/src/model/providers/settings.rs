//! Settings of a provider, and the names of providers and models as users write them.

use std::fmt;
use std::time::Duration;

use genai::adapter::AdapterKind;
use planwright_dialects::document::nearest;

use super::super::{ModelError, Usage};
use super::rules::{AddressRule, rules};

/// Name for any server with OpenAI's protocol, at a user-defined address.
const OPENAI_COMPATIBLE: &str = "openai-compatible";

/// `genai`'s adapter for a server with OpenAI's protocol that requires a key.
const WITH_KEY: AdapterKind = AdapterKind::Custom(1);

/// `genai`'s adapter for a server with OpenAI's protocol that requires no key.
const WITHOUT_KEY: AdapterKind = AdapterKind::Omlx;

/// A model of a provider.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelName {
    /// The provider's canonical name.
    pub(super) provider: &'static str,
    pub(super) model: String,
    kind: Option<AdapterKind>,
}

/// Returns the names of all providers.
pub fn names() -> impl Iterator<Item = &'static str> {
    kinds()
        .map(|kind| kind.as_lower_str())
        .chain([OPENAI_COMPATIBLE])
}

/// Returns the environment variable that usually holds the key for `provider`.
pub fn key_variable(provider: &str) -> Option<&'static str> {
    find_provider(provider)?.1?.default_key_env_name()
}

/// The adapters of all providers that a user can name.
fn kinds() -> impl Iterator<Item = AdapterKind> {
    let all = AdapterKind::all().iter().copied();
    // The others take their address from environment variables, which this library does not read.
    all.filter(|kind| rules(*kind, "").address != AddressRule::Environment)
}

/// Finds a provider by name, ignoring case and separators.
fn find_provider(name: &str) -> Option<(&'static str, Option<AdapterKind>)> {
    let name = normalized(name);
    if name == normalized(OPENAI_COMPATIBLE) {
        return Some((OPENAI_COMPATIBLE, None));
    }
    kinds()
        .find(|kind| normalized(kind.as_lower_str()) == name)
        .map(|kind| (kind.as_lower_str(), Some(kind)))
}

fn normalized(name: &str) -> String {
    let normalized = name.chars().filter(char::is_ascii_alphanumeric);
    normalized
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

impl ModelName {
    /// Parses `provider:name`.
    pub(super) fn read(text: &str) -> Result<Self, ModelError> {
        // Only the first colon separates: names of models may contain colons.
        let Some((provider, model)) = text.split_once(':').filter(|(_, model)| !model.is_empty())
        else {
            return Err(ModelError::configuration(format!(
                "`{text}` does not name a provider and a model"
            ))
            .help("write it as `PROVIDER:NAME`, such as `openai:gpt-4o` or `ollama:llama3.2`"));
        };
        let Some((provider, kind)) = find_provider(provider) else {
            return Err(
                ModelError::configuration(format!("there is no provider `{provider}`"))
                    .help(suggestion(provider)),
            );
        };
        Ok(Self {
            provider,
            model: model.to_owned(),
            kind,
        })
    }

    /// Returns the `genai` adapter for the provider.
    pub(super) fn kind(&self, has_key: bool) -> AdapterKind {
        match self.kind {
            Some(kind) => kind,
            None if has_key => WITH_KEY,
            None => WITHOUT_KEY,
        }
    }

    /// Returns true if the provider has no default address.
    pub(super) fn needs_base_url(&self) -> bool {
        self.kind.is_none()
    }

    /// Returns true if the provider requires a key.
    pub(super) fn needs_key(&self) -> bool {
        self.key_variable().is_some()
    }

    pub(super) fn key_variable(&self) -> Option<&'static str> {
        self.kind?.default_key_env_name()
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}

/// Suggests the provider name that was probably meant, or else lists all.
fn suggestion(provider: &str) -> String {
    match nearest(provider, names()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            let names: Vec<&str> = names().collect();
            format!("the providers are {}", names.join(", "))
        }
    }
}

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
    /// Timeout for the response headers of a streamed reply, connection included.
    pub header_timeout: Duration,
    /// Timeout between two chunks of a streamed reply.
    pub idle_timeout: Duration,
    /// Maximum number of attempts per request, including the first.
    pub attempts: u32,
    /// Maximum size of a reply, in bytes.
    pub max_bytes: usize,
    /// Delay before the second attempt, unless the provider asks for another one. It doubles with each further attempt.
    pub first_delay: Duration,
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

/// The number of tokens that a price is for.
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
            header_timeout: Duration::from_mins(1),
            idle_timeout: Duration::from_mins(1),
            attempts: 3,
            max_bytes: 4 * 1024 * 1024,
            first_delay: Duration::from_millis(500),
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
    reason = "no request has more tokens than 2 to the power of 53"
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

    /// Returns true if the key is valid in an HTTP header.
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

    fn check(text: &str, expected: Result<(&str, &str), &str>) {
        let found = ModelName::read(text);
        let found = found
            .as_ref()
            .map(|name| (name.provider, name.model.as_str()))
            .map_err(|error| error.help.as_deref().unwrap_or_default());
        match expected {
            Ok(_) => assert_eq!(found, expected, "{text}"),
            Err(part) => assert!(found.unwrap_err().contains(part), "{text}: {found:?}"),
        }
    }

    #[test]
    fn models_have_a_provider() {
        check("openai:gpt-4o", Ok(("openai", "gpt-4o")));
        check("ollama:llama3.2:3b", Ok(("ollama", "llama3.2:3b")));
        check("OpenRouter:a/b", Ok(("open_router", "a/b")));
        check("openai-resp:gpt-5", Ok(("openai_resp", "gpt-5")));
        check("openai-compatible:m", Ok(("openai-compatible", "m")));
        check("gpt-4o", Err("PROVIDER:NAME"));
        check("openai:", Err("PROVIDER:NAME"));
        check("antropic:claude", Err("`anthropic`"));
        check("vertex:gemini", Err("the providers are openai, "));
        check("zzzz:a", Err("the providers are openai, "));
    }

    #[test]
    fn keys_have_variables() {
        for (provider, expected) in [
            ("openai", Some("OPENAI_API_KEY")),
            ("openai-resp", Some("OPENAI_API_KEY")),
            ("anthropic", Some("ANTHROPIC_API_KEY")),
            ("gemini", Some("GEMINI_API_KEY")),
            ("ollama", None),
            ("openai-compatible", None),
            ("unlisted", None),
        ] {
            assert_eq!(key_variable(provider), expected, "{provider}");
        }
    }

    #[test]
    fn keys_are_not_printed() {
        let settings = ProviderSettings {
            key: Some(Key::new(" sk-secret\n")),
            ..ProviderSettings::new("openai:a")
        };
        assert_eq!(settings.key, Some(Key::new("sk-secret")));
        assert!(!format!("{settings:?}").contains("secret"));
    }

    fn check_cost(prices: Prices, tokens: (u64, u64, u64), expected: f64) {
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
        check_cost(prices, (0, 0, 0), 0.0);
        check_cost(prices, (1000, 400, 100), 0.0028);
        let prices = Prices {
            cached: Some(0.5),
            ..prices
        };
        check_cost(prices, (1000, 400, 100), 0.0022);
        // Some providers do not include cached tokens in the input tokens.
        check_cost(prices, (100, 400, 0), 0.00005);
    }
}
