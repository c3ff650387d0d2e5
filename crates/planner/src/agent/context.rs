//! Initial context of a loop: messages in the form of the Acts.

use std::sync::Arc;

use planwright_core::{Catalog, Code, Diagnostic, Diagnostics, Lookup, Value};
use planwright_dialects::acts::Acts;
use planwright_dialects::{ReadOptions, parse_as};

use super::memory::WorkingMemory;

/// The initial context of a loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentContext {
    pub(super) memory: WorkingMemory,
    /// Tools named by messages; `None` stands for all tools.
    pub(super) tools: Option<Vec<Arc<str>>>,
    /// Messages that no call reads: texts and whatever else the model should see.
    pub(super) texts: Vec<Value>,
    /// Calls of an existing plan.
    pub(super) plan: Vec<Value>,
}

/// The errors of an invalid context.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the context cannot be used: {0}")]
pub struct ContextError(pub Diagnostics);

impl AgentContext {
    /// Parses messages. Messages of type `tool` select tools of `catalog`; without any, all tools are available.
    ///
    /// # Errors
    ///
    /// All diagnostics of the messages.
    pub fn read(messages: &[Value], catalog: &Catalog) -> Result<Self, ContextError> {
        // A plan without calls serves as an envelope, so that the dialect of the Acts checks the messages.
        let text = Value::object([
            ("context", Value::from(messages.to_vec())),
            ("calls", Value::list([])),
        ]);
        let options = ReadOptions::new("context");
        let result = parse_as(&Acts, text.to_json().as_bytes(), &options);
        let mut diagnostics = result.diagnostics;
        let mut context = Self {
            memory: WorkingMemory::of(&result.plan.unwrap_or_default()),
            ..Self::default()
        };
        for (index, message) in messages.iter().enumerate() {
            if let Err(mut diagnostic) = context.add(message, catalog) {
                diagnostic.pointer = format!("/context/{index}");
                diagnostics.push(*diagnostic);
            }
        }
        if diagnostics.has_errors() {
            return Err(ContextError(diagnostics));
        }
        Ok(context)
    }

    fn add(&mut self, message: &Value, catalog: &Catalog) -> Result<(), Box<Diagnostic>> {
        match message.get("type").and_then(Value::as_text) {
            // The memory has these already.
            Some("input" | "state" | "data") => {}
            Some("plan") => {
                let calls = message.get("plan").and_then(Value::as_list);
                self.plan = calls.unwrap_or_default().to_vec();
            }
            Some("tool") => {
                let name = tool_name(message);
                let tool = name.map(|name| catalog.find(name));
                let Some(Lookup::Found(tool)) = tool else {
                    let message = match name {
                        Some(name) => format!("there is no tool `{name}`"),
                        None => "the message names no tool".to_owned(),
                    };
                    let diagnostic = Diagnostic::error(Code::UnknownTool, message);
                    return Err(Box::new(
                        diagnostic.help("write it as {\"type\": \"tool\", \"tool\": \"name\"}"),
                    ));
                };
                let tools = self.tools.get_or_insert_default();
                tools.push(tool.qualified_name().into());
            }
            _ => self.texts.push(message.clone()),
        }
        Ok(())
    }
}

/// Returns the tool name in a message, without the `Tool.` prefix of the Acts' examples.
fn tool_name(message: &Value) -> Option<&str> {
    let tool = message.get("tool").or_else(|| message.get("_tool"))?;
    let name = tool.as_text().or_else(|| {
        let name = tool.get("_tool").or_else(|| tool.get("name"))?;
        name.as_text()
    })?;
    Some(name.strip_prefix("Tool.").unwrap_or(name))
}
