//! The rules of the providers behind `genai`'s adapters. The match in [`rules`] names every adapter, so an update of `genai` does not
//! compile until each new one has its rules.

use genai::adapter::AdapterKind;

/// The rules of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProviderRules {
    pub(super) address: AddressRule,
    pub(super) format: FormatSupport,
    pub(super) stream_end: StreamEndRule,
    pub(super) results: ResultMessages,
    /// True if the provider sends its reasoning without a request, and expects it back with the results of calls.
    pub(super) returns_reasoning: bool,
    /// True if `genai` passes requests on in OpenAI's protocol unchanged. A reasoning budget is then not sent; it only keeps `genai` from
    /// reading the end of a model name as an effort.
    pub(super) passes_through: bool,
    /// True if the provider caches a prompt only on request. For others, `genai` would send a retention that not all models accept.
    pub(super) needs_cache_request: bool,
}

/// The origin of a provider's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressRule {
    /// The default of `genai`, or the user's.
    Movable,
    /// The default of `genai`, which also ignores the address of a relay.
    Fixed,
    /// Environment variables, which this library does not read, so no user can name the provider.
    Environment,
}

/// The kinds of response format that a provider supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatSupport {
    /// Any JSON Schema, unchanged.
    Unchanged,
    /// Any JSON Schema; strict mode only for schemas with closed objects and required fields. The field is that of the chat
    /// completions API.
    Any,
    /// Like `Any`, in the field of the responses API.
    AnyInText,
    /// Schemas with closed objects only.
    Closed,
    /// A JSON object, without a schema.
    Object,
    /// No response format.
    Unsupported,
}

/// The sign by which a streamed reply is known to be complete. For some protocols `genai` reports an end whenever the stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamEndRule {
    /// The end that `genai` reports.
    Reported,
    /// The reason for the end.
    Reason,
    /// The reason for the end, or the usage.
    ReasonOrUsage,
}

/// The messages in which results of calls are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultMessages {
    /// A message for all results of a round.
    Together,
    /// A message for each result.
    Each,
}

const OPENAI_PROTOCOL: ProviderRules = ProviderRules {
    address: AddressRule::Movable,
    format: FormatSupport::Any,
    stream_end: StreamEndRule::Reported,
    results: ResultMessages::Together,
    returns_reasoning: true,
    passes_through: true,
    needs_cache_request: false,
};

/// The rules for `model` of the provider behind an adapter.
pub(super) fn rules(kind: AdapterKind, model: &str) -> ProviderRules {
    let openai = OPENAI_PROTOCOL;
    let own = ProviderRules {
        passes_through: false,
        ..openai
    };
    match kind {
        AdapterKind::OpenAI
        | AdapterKind::Fireworks
        | AdapterKind::Together
        | AdapterKind::Groq
        | AdapterKind::Aihubmix
        | AdapterKind::Kimi
        | AdapterKind::Mimo
        | AdapterKind::Moonshot
        | AdapterKind::Nebius
        | AdapterKind::Xai
        | AdapterKind::Mistral
        | AdapterKind::BigModel
        | AdapterKind::Aliyun
        | AdapterKind::QwenCloud
        | AdapterKind::GithubCopilot
        | AdapterKind::OpenRouter
        | AdapterKind::AtlasCloud
        | AdapterKind::Requesty
        | AdapterKind::ApiRoute
        | AdapterKind::Heabsy
        | AdapterKind::Runcrate
        | AdapterKind::CloudGpu
        | AdapterKind::Custom(_) => openai,
        AdapterKind::OpenAIResp => ProviderRules {
            format: FormatSupport::AnyInText,
            returns_reasoning: false,
            ..own
        },
        AdapterKind::Gemini | AdapterKind::GeminiIx => ProviderRules {
            format: FormatSupport::Unchanged,
            stream_end: StreamEndRule::Reason,
            returns_reasoning: false,
            ..own
        },
        AdapterKind::Anthropic => ProviderRules {
            format: FormatSupport::Closed,
            needs_cache_request: true,
            ..own
        },
        AdapterKind::MiniMax => ProviderRules {
            format: FormatSupport::Closed,
            ..own
        },
        // `genai` cannot pass a schema to Ollama.
        AdapterKind::Ollama | AdapterKind::OllamaCloud => ProviderRules {
            format: FormatSupport::Object,
            stream_end: StreamEndRule::ReasonOrUsage,
            results: ResultMessages::Each,
            ..own
        },
        AdapterKind::DeepSeek => ProviderRules {
            format: FormatSupport::Object,
            ..own
        },
        AdapterKind::Cohere => ProviderRules {
            format: FormatSupport::Unsupported,
            ..own
        },
        // This one and Baidu use Anthropic's protocol for some models.
        AdapterKind::OpenCodeGo => ProviderRules {
            format: if model.to_lowercase().starts_with("minimax-") {
                FormatSupport::Unsupported
            } else {
                FormatSupport::Any
            },
            ..own
        },
        AdapterKind::Baidu => ProviderRules {
            address: AddressRule::Fixed,
            format: if model.starts_with("baidu-coding-anthropic::") {
                FormatSupport::Closed
            } else {
                FormatSupport::Any
            },
            ..own
        },
        AdapterKind::Zai => ProviderRules {
            address: AddressRule::Fixed,
            ..openai
        },
        AdapterKind::BedrockApi | AdapterKind::Omlx | AdapterKind::Vertex => ProviderRules {
            address: AddressRule::Environment,
            ..openai
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_support(kind: AdapterKind, model: &str, expected: FormatSupport) {
        assert_eq!(rules(kind, model).format, expected, "{kind:?} {model}");
    }

    /// Covers providers with fixed addresses, which no test can reach.
    #[test]
    fn providers_have_a_format() {
        check_support(AdapterKind::Zai, "glm-5", FormatSupport::Any);
        check_support(AdapterKind::Baidu, "ernie", FormatSupport::Any);
        let model = "baidu-coding-anthropic::glm-5";
        check_support(AdapterKind::Baidu, model, FormatSupport::Closed);
    }
}
