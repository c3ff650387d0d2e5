//! Tools that answer from a script: for trying a plan before its servers exist, for demos, for tests.

mod behaviour;
mod script;

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Tool, Value};

use crate::durations::{Durations, Learned};

use super::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};
use behaviour::Behaviour;
pub use script::ScriptError;

/// The server of simulated tools whose name gives no other.
pub(super) const SERVER: &str = "simulated";

/// Tools that answer from a script.
#[derive(Debug)]
pub struct Simulated {
    tools: Vec<Tool>,
    behaviours: HashMap<String, Behaviour>,
}

impl Simulated {
    /// Reads a script: `{"tools": {NAME: {…}}}`. A name with a dot is `server.tool`. What a tool can do is in the
    /// [description of the format](https://github.com/planwright/planwright/blob/main/docs/formats/simulated-tools.md).
    ///
    /// ```
    /// use planwright_core::Value;
    /// use planwright_engine::backend::Simulated;
    ///
    /// let script = Value::from_json(r#"{"tools": {
    ///     "weather": {"input_schema": {"required": ["city"]}, "returns": {"temp": 21}, "sleep_ms": 5},
    ///     "mail.send": {"approval": true, "fails": {"code": "full", "message": "the box is full"}}
    /// }}"#).unwrap();
    /// assert_eq!(Simulated::from_script(&script).unwrap().tools().count(), 2);
    /// ```
    ///
    /// # Errors
    ///
    /// Every fault of the script, each with a JSON pointer to its place.
    pub fn from_script(script: &Value) -> Result<Self, Vec<ScriptError>> {
        script::read(script)
    }

    /// The tools, for a [`Catalog`](planwright_core::Catalog).
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }

    /// How long calls take, by what the script says of tools that sleep. Its cases are not looked at.
    pub fn durations(&self) -> Durations {
        let mut durations = Durations::new();
        for tool in &self.tools {
            if let Some(behaviour) = self.behaviours.get(&tool.qualified_name()) {
                let learned = Learned::exactly(behaviour.sleep);
                durations.insert(&tool.server, &tool.name, learned);
            }
        }
        durations
    }

    /// The servers that the tools belong to.
    pub fn servers(&self) -> Vec<Arc<str>> {
        let mut servers: Vec<Arc<str>> = self
            .tools
            .iter()
            .map(|tool| Arc::clone(&tool.server))
            .collect();
        servers.sort();
        servers.dedup();
        servers
    }
}

impl ToolBackend for Simulated {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let behaviour = self.behaviours.get(&call.tool.qualified_name());
        Box::pin(async move {
            match behaviour {
                Some(behaviour) => behaviour.answer(&call.args).await,
                None => Err(ToolError::new(
                    ErrorKind::Unavailable,
                    format!("the script has no tool `{}`", call.tool.qualified_name()),
                )),
            }
        })
    }
}

#[cfg(test)]
mod tests;
