//! Models of providers over HTTP, through `genai`, which knows the protocol of each provider.
//!
//! `genai` sends requests and parses responses. Everything else is done here: retries and timeouts, counting of tokens and cost,
//! detection of truncated replies, and redaction of keys.
//!
//! The modules are listed in the order in which a request passes through them.
//!
//! Design: [`genai` speaks to providers](https://github.com/planwright/planwright/blob/main/docs/design/planning.md#genai-speaks-to-providers).

mod settings;

mod rules;

mod provider;

mod chat;

mod attempt;

mod relay;

mod attempt_error;
mod retry;

#[cfg(test)]
mod tests;

pub use provider::Provider;
pub use settings::{Key, Prices, ProviderSettings, key_variable, names};

use super::ModelError;

/// Opens a model of a provider, without sending anything.
///
/// # Errors
///
/// [`Configuration`](super::ModelErrorKind::Configuration) if the provider is unknown or a setting that it needs is missing.
pub fn open(settings: ProviderSettings) -> Result<Provider, ModelError> {
    Provider::open(settings)
}
