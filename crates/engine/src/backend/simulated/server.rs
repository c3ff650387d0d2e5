//! The server of simulated tools.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Tool, Value};

use super::behaviour::Behaviour;
use super::script::{self, ScriptError};
use crate::backend::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};
use crate::durations::{Durations, LearnedDuration};

/// The server of simulated tools whose names do not include one.
pub(super) const SERVER: &str = "simulated";

/// Simulated tools that answer from a script.
#[derive(Debug)]
pub struct Simulated {
    pub(super) tools: Vec<Tool>,
    pub(super) behaviours: HashMap<String, Behaviour>,
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

    /// Call durations from the `sleep_ms` of the script. Special cases are ignored.
    pub fn durations(&self) -> Durations {
        let mut durations = Durations::new();
        for tool in &self.tools {
            if let Some(behaviour) = self.behaviours.get(&tool.qualified_name()) {
                let learned = LearnedDuration::exactly(behaviour.sleep);
                durations.insert(&tool.server, &tool.name, learned);
            }
        }
        durations
    }

    /// The servers of the tools, sorted.
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
