//! The fixtures of the server, read from `fixtures.json`. `$name` in a text stands for the argument `name`.

use std::collections::BTreeMap;

use rmcp::model::{
    ClientCapabilities, InputRequests, JsonObject, Prompt, Resource, ResourceTemplate, Tool,
};
use serde::Deserialize;
use serde_json::Value;

/// All fixtures.
#[derive(Debug, Deserialize)]
pub(super) struct Fixtures {
    pub(super) tools: Vec<ToolFixture>,
    pub(super) resources: Vec<ResourceFixture>,
    pub(super) templates: Vec<TemplateFixture>,
    pub(super) prompts: Vec<PromptFixture>,
}

/// A tool: its listing and its behavior.
#[derive(Debug, Deserialize)]
pub(super) struct ToolFixture {
    pub(super) listed: Tool,
    pub(super) does: ToolBehavior,
}

/// The behavior of a call, in this order, before its result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolBehavior {
    /// The capabilities without which a client is refused.
    pub(super) needs: Option<ClientCapabilities>,
    /// A request to the client during the call, whose answer becomes part of the result.
    pub(super) asks: Option<Value>,
    /// Requests for input, one round after the other, before the result.
    #[serde(default)]
    pub(super) rounds: Vec<InputRequests>,
    /// True if the rounds carry a sealed state.
    #[serde(default)]
    pub(super) sealed: bool,
    /// True if the client only receives requests that it supports.
    #[serde(default)]
    pub(super) within_capabilities: bool,
    /// Log messages.
    #[serde(default)]
    pub(super) says: Vec<String>,
    /// True if it logs only on request.
    #[serde(default)]
    pub(super) says_if_asked: bool,
    /// Progress values, out of 100.
    #[serde(default)]
    pub(super) progress: Vec<f64>,
    /// The list that it reports as changed.
    pub(super) changes: Option<List>,
    #[serde(default)]
    pub(super) waits_ms: u64,
    pub(super) result: Value,
}

/// A list that can change.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum List {
    Tools,
    Prompts,
}

/// A resource: its listing and its content.
#[derive(Debug, Deserialize)]
pub(super) struct ResourceFixture {
    pub(super) listed: Resource,
    pub(super) content: Value,
}

/// A resource template: the variable part of its URIs stands between `before` and `after`.
#[derive(Debug, Deserialize)]
pub(super) struct TemplateFixture {
    pub(super) listed: ResourceTemplate,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) content: Value,
}

/// A prompt: its listing and its result.
#[derive(Debug, Deserialize)]
pub(super) struct PromptFixture {
    pub(super) listed: Prompt,
    #[serde(default)]
    pub(super) rounds: Vec<InputRequests>,
    pub(super) result: Value,
}

impl Fixtures {
    /// Reads the fixtures.
    ///
    /// # Panics
    ///
    /// If the file does not match this module.
    pub(super) fn read() -> Self {
        serde_json::from_str(include_str!("fixtures.json")).expect("the fixtures are valid")
    }

    /// The content of the resource at `uri`.
    pub(super) fn content(&self, uri: &str) -> Option<Value> {
        let matches = |resource: &&ResourceFixture| resource.listed.uri == uri;
        if let Some(resource) = self.resources.iter().find(matches) {
            return Some(resource.content.clone());
        }
        self.templates.iter().find_map(|template| {
            let id = uri
                .strip_prefix(&template.before)?
                .strip_suffix(&template.after)?;
            let words = BTreeMap::from([("uri", uri), ("id", id)]);
            Some(fill(&template.content, &words))
        })
    }
}

/// The text arguments.
pub(super) fn words(arguments: Option<&JsonObject>) -> BTreeMap<&str, &str> {
    arguments
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        .collect()
}

/// `value` with the placeholders replaced by `words`.
pub(super) fn fill(value: &Value, words: &BTreeMap<&str, &str>) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for (name, word) in words {
                text = text.replace(&format!("${name}"), word);
            }
            text.into()
        }
        Value::Array(items) => items.iter().map(|item| fill(item, words)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), fill(field, words)))
            .collect(),
        other => other.clone(),
    }
}
