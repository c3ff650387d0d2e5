//! What the server offers, read from `offers.json`. `$name` in a text stands for the argument `name`.

use std::collections::BTreeMap;

use rmcp::model::{
    ClientCapabilities, InputRequests, JsonObject, Prompt, Resource, ResourceTemplate, Tool,
};
use serde::Deserialize;
use serde_json::Value;

/// All of it.
#[derive(Debug, Deserialize)]
pub(super) struct Offers {
    pub(super) tools: Vec<ToolOffer>,
    pub(super) resources: Vec<ResourceOffer>,
    pub(super) templates: Vec<TemplateOffer>,
    pub(super) prompts: Vec<PromptOffer>,
}

/// A tool, as it is listed, and what it does.
#[derive(Debug, Deserialize)]
pub(super) struct ToolOffer {
    pub(super) listed: Tool,
    pub(super) does: Does,
}

/// What a call does, in this order; then comes the result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Does {
    /// It refuses clients that cannot do this.
    pub(super) needs: Option<ClientCapabilities>,
    /// It asks this and answers with what it is told: with requests in the middle of the call.
    pub(super) asks: Option<Value>,
    /// It answers with these questions, one round after the other, before it gives its result.
    #[serde(default)]
    pub(super) rounds: Vec<InputRequests>,
    /// The rounds carry a state that nobody else can make.
    #[serde(default)]
    pub(super) sealed: bool,
    /// Of the questions, only those are asked that the client can answer.
    #[serde(default)]
    pub(super) within_capabilities: bool,
    /// It logs these texts.
    #[serde(default)]
    pub(super) says: Vec<String>,
    /// It logs only if the request asks for it.
    #[serde(default)]
    pub(super) says_if_asked: bool,
    /// How far it is, out of 100.
    #[serde(default)]
    pub(super) progress: Vec<f64>,
    /// Which of its lists it says to have changed.
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

/// A resource, as it is listed, and what it holds.
#[derive(Debug, Deserialize)]
pub(super) struct ResourceOffer {
    pub(super) listed: Resource,
    pub(super) content: Value,
}

/// A template of resources; what varies in their addresses stands between `before` and `after`.
#[derive(Debug, Deserialize)]
pub(super) struct TemplateOffer {
    pub(super) listed: ResourceTemplate,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) content: Value,
}

/// A prompt, as it is listed, and what it becomes.
#[derive(Debug, Deserialize)]
pub(super) struct PromptOffer {
    pub(super) listed: Prompt,
    #[serde(default)]
    pub(super) rounds: Vec<InputRequests>,
    pub(super) result: Value,
}

impl Offers {
    /// Reads them.
    ///
    /// # Panics
    ///
    /// Where the file is not what this module says.
    pub(super) fn read() -> Self {
        serde_json::from_str(include_str!("offers.json")).expect("the offers are sound")
    }

    /// What the resource at `uri` holds.
    pub(super) fn content(&self, uri: &str) -> Option<Value> {
        let is_asked = |resource: &&ResourceOffer| resource.listed.uri == uri;
        if let Some(resource) = self.resources.iter().find(is_asked) {
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

/// The arguments that are texts.
pub(super) fn words(arguments: Option<&JsonObject>) -> BTreeMap<&str, &str> {
    arguments
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        .collect()
}

/// `value` with words in place of their names.
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
