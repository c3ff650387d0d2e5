//! A tool as it was when a run used it.

use std::sync::Arc;

use planwright_core::schema::Schema;
use planwright_core::{Tool, Value};
use serde::{Deserialize, Serialize};

/// A tool, as far as plans are checked and run by it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolV1 {
    /// The server.
    pub server: String,
    /// Its name there.
    pub name: String,
    /// The schema of its arguments.
    pub input_schema: Value,
    /// The schema of its output.
    pub output_schema: Value,
    /// True if it only reads.
    pub read_only: bool,
    /// True if it destroys.
    pub destructive: bool,
    /// True if a second call does no further harm.
    pub idempotent: bool,
    /// True if it reaches out into the world.
    pub open_world: bool,
    /// True if all this may be believed.
    pub trusted: bool,
    /// True if a person must agree before each call.
    pub approval: bool,
    /// The identity of its server; missing in what earlier versions stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The digest of its definition; missing in what earlier versions stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
}

impl From<&Tool> for ToolV1 {
    fn from(tool: &Tool) -> Self {
        Self {
            server: tool.server.to_string(),
            name: tool.name.to_string(),
            input_schema: tool.input.as_value().clone(),
            output_schema: tool.output.as_value().clone(),
            read_only: tool.annotations.read_only,
            destructive: tool.annotations.destructive,
            idempotent: tool.annotations.idempotent,
            open_world: tool.annotations.open_world,
            trusted: tool.annotations.trusted,
            approval: tool.approval,
            origin: Some(tool.origin.to_string()),
            definition: Some(tool.definition_digest()),
        }
    }
}

impl From<&ToolV1> for Tool {
    fn from(kept: &ToolV1) -> Self {
        let mut tool = Self::new(Arc::from(&*kept.server), Arc::from(&*kept.name));
        tool.input = Schema::from_value(kept.input_schema.clone());
        tool.output = Schema::from_value(kept.output_schema.clone());
        tool.annotations.read_only = kept.read_only;
        tool.annotations.destructive = kept.destructive;
        tool.annotations.idempotent = kept.idempotent;
        tool.annotations.open_world = kept.open_world;
        tool.annotations.trusted = kept.trusted;
        tool.approval = kept.approval;
        tool.origin = Arc::from(kept.origin.as_deref().unwrap_or_default());
        tool
    }
}

impl ToolV1 {
    /// Returns the changes since it was stored, in a few words; `None` if there are none.
    pub fn changes(&self, now: &Tool) -> Option<String> {
        let now = Self::from(now);
        let mut changes = Vec::new();
        if self.input_schema != now.input_schema {
            changes.push("the schema of its arguments");
        }
        if self.output_schema != now.output_schema {
            changes.push("the schema of its output");
        }
        let says = |tool: &Self| {
            (
                tool.read_only,
                tool.destructive,
                tool.idempotent,
                tool.open_world,
                tool.trusted,
                tool.approval,
            )
        };
        if says(self) != says(&now) {
            changes.push("what it says of its effects");
        }
        if self.origin.is_some() && self.origin != now.origin {
            changes.push("the program or address of its server");
        } else if changes.is_empty()
            && self.definition.is_some()
            && self.definition != now.definition
        {
            changes.push("its description");
        }
        (!changes.is_empty()).then(|| changes.join(" and "))
    }
}
