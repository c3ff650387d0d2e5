//! Names of providers and models, as users write them.

use std::fmt;

use genai::adapter::AdapterKind;
use planwright_dialects::document::nearest;

use super::super::ModelError;

/// Name for any server with OpenAI's protocol, at a user-defined address.
const OPENAI_COMPATIBLE: &str = "openai-compatible";

/// Adapters that `genai` configures from environment variables, which this library does not read. `genai` does not list its
/// numbered adapters.
const ENVIRONMENT_ADAPTERS: &[AdapterKind] = &[
    AdapterKind::BedrockApi,
    AdapterKind::Omlx,
    AdapterKind::Vertex,
];

/// `genai`'s adapters for servers with OpenAI's protocol: one that sends a key, and one that needs none.
const WITH_KEY: AdapterKind = AdapterKind::Custom(1);
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

fn kinds() -> impl Iterator<Item = AdapterKind> {
    let all = AdapterKind::all().iter().copied();
    all.filter(|kind| !ENVIRONMENT_ADAPTERS.contains(kind))
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
        // Only the first colon separates: names of models have colons, too.
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

    /// Returns whether the provider has no default address.
    pub(super) fn needs_base_url(&self) -> bool {
        self.kind.is_none()
    }

    /// Returns whether the provider requires a key.
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
            ("nobody", None),
        ] {
            assert_eq!(key_variable(provider), expected, "{provider}");
        }
    }
}
