//! Stored definitions of tools: each part with its digest, and its text up to a limit.

use planwright_core::{Hints, Tool, Value};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A definition of a tool. Parts are compared by their digests, so that texts may be cut.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Definition {
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<DefinitionPart>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<DefinitionPart>,
    /// The input schema as JSON, its keys in order.
    pub input_schema: DefinitionPart,
    /// The output schema as JSON, its keys in order.
    pub output_schema: DefinitionPart,
    /// The annotations that the server states.
    #[serde(default)]
    pub annotations: StatedHints,
}

/// The annotations that a server states about a tool, by their names in MCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct StatedHints {
    #[serde(
        default,
        rename = "readOnlyHint",
        skip_serializing_if = "Option::is_none"
    )]
    read_only: Option<bool>,
    #[serde(
        default,
        rename = "destructiveHint",
        skip_serializing_if = "Option::is_none"
    )]
    destructive: Option<bool>,
    #[serde(
        default,
        rename = "idempotentHint",
        skip_serializing_if = "Option::is_none"
    )]
    idempotent: Option<bool>,
    #[serde(
        default,
        rename = "openWorldHint",
        skip_serializing_if = "Option::is_none"
    )]
    open_world: Option<bool>,
}

/// A text of a definition.
#[derive(Clone, Debug, Eq, Deserialize, Serialize)]
pub struct DefinitionPart {
    /// The length of the whole text.
    pub bytes: usize,
    /// The SHA-256 of the whole text.
    pub sha256: String,
    /// The text, or its beginning.
    pub text: String,
}

impl Definition {
    /// The definition of `tool`, with at most `limit` bytes of each text.
    pub fn of(tool: &Tool, limit: usize) -> Self {
        let canonical = tool.definition();
        let json = |field: &str| {
            let value = canonical.get(field).unwrap_or(&Value::Null);
            DefinitionPart::of(&value.to_json(), limit)
        };
        let text = |text: Option<&str>| text.map(|text| DefinitionPart::of(text, limit));
        Self {
            title: text(tool.title.as_deref()),
            description: text(tool.description.as_deref()),
            input_schema: json("input_schema"),
            output_schema: json("output_schema"),
            annotations: tool.hints.into(),
        }
    }

    /// The stored definition.
    ///
    /// # Errors
    /// The reason why the text is not a definition.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// The definition as the store gets it.
    ///
    /// # Errors
    /// Never, because a definition consists of texts and numbers.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

impl DefinitionPart {
    fn of(whole: &str, limit: usize) -> Self {
        let sha256: Vec<String> = Sha256::digest(whole)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            bytes: whole.len(),
            sha256: sha256.concat(),
            text: whole
                .get(..whole.floor_char_boundary(limit))
                .unwrap_or_default()
                .to_owned(),
        }
    }

    /// Returns the number of bytes that the text lacks.
    pub fn missing(&self) -> usize {
        self.bytes.saturating_sub(self.text.len())
    }

    /// Formats the text for people: a schema has a line for each field, unless its text was cut.
    pub fn pretty(&self) -> String {
        let parsed: Option<serde_json::Value> = (self.missing() == 0)
            .then(|| serde_json::from_str(&self.text).ok())
            .flatten();
        let pretty = parsed.and_then(|value| serde_json::to_string_pretty(&value).ok());
        pretty.unwrap_or_else(|| self.text.clone())
    }
}

/// Two parts are the same if their digests are: either text may be cut.
impl PartialEq for DefinitionPart {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
    }
}

impl From<Hints> for StatedHints {
    fn from(hints: Hints) -> Self {
        Self {
            read_only: hints.read_only,
            destructive: hints.destructive,
            idempotent: hints.idempotent,
            open_world: hints.open_world,
        }
    }
}

impl From<StatedHints> for Hints {
    fn from(stated: StatedHints) -> Self {
        Self {
            read_only: stated.read_only,
            destructive: stated.destructive,
            idempotent: stated.idempotent,
            open_world: stated.open_world,
        }
    }
}

/// The policy for tools that changed since they were pinned. A later variant is stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PinPolicy {
    /// Tools are not pinned.
    Off,
    /// A change is shown.
    Warn,
    /// A change is shown, and the tool asks before each call until a person accepts it.
    Ask,
}

impl PinPolicy {
    /// The name in `planwright.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Ask => "ask",
        }
    }
}

impl TryFrom<String> for PinPolicy {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let all = [Self::Off, Self::Warn, Self::Ask];
        let found = all.into_iter().find(|policy| policy.as_str() == word);
        found.ok_or_else(|| {
            format!("`{word}` is not a way to pin tools (write `ask`, `warn` or `off`)")
        })
    }
}
