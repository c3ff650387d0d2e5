//! What a loop begins with: messages as the Acts write them.

use std::sync::Arc;

use planwright_core::{Catalog, Code, Diagnostic, Diagnostics, Lookup, Value};
use planwright_dialects::acts::Acts;
use planwright_dialects::{ReadOptions, parse_as};

use super::world::World;

/// What a loop begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentContext {
    pub(super) world: World,
    /// The tools that there are, where messages name some.
    pub(super) tools: Option<Vec<Arc<str>>>,
    /// The messages that no call reads: texts and whatever else the model is to see.
    pub(super) texts: Vec<Value>,
    /// The calls of a plan that there is already.
    pub(super) plan: Vec<Value>,
}

/// Why messages are no context.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the context cannot be used: {0}")]
pub struct ContextError(pub Diagnostics);

impl AgentContext {
    /// Reads messages. Those of the type `tool` choose among the tools of `catalog`; without any, there are all.
    ///
    /// # Errors
    ///
    /// Every finding about them.
    pub fn read(messages: &[Value], catalog: &Catalog) -> Result<Self, ContextError> {
        let text = Value::object([
            ("context", Value::from(messages.to_vec())),
            ("calls", Value::list([])),
        ]);
        let options = ReadOptions::new("context");
        let result = parse_as(&Acts, text.to_json().as_bytes(), &options);
        let mut diagnostics = result.diagnostics;
        let mut context = Self {
            world: World::of(&result.plan.unwrap_or_default()),
            ..Self::default()
        };
        for (index, message) in messages.iter().enumerate() {
            if let Err(mut finding) = context.add(message, catalog) {
                finding.pointer = format!("/context/{index}");
                diagnostics.push(*finding);
            }
        }
        if diagnostics.has_errors() {
            return Err(ContextError(diagnostics));
        }
        Ok(context)
    }

    fn add(&mut self, message: &Value, catalog: &Catalog) -> Result<(), Box<Diagnostic>> {
        match message.get("type").and_then(Value::as_text) {
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
                    let finding = Diagnostic::error(Code::UnknownTool, message);
                    return Err(Box::new(
                        finding.help("write it as {\"type\": \"tool\", \"tool\": \"name\"}"),
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

/// The name of the tool that a message is about. The Acts write `Tool.name` in their examples.
fn tool_name(message: &Value) -> Option<&str> {
    let tool = message.get("tool").or_else(|| message.get("_tool"))?;
    let name = tool.as_text().or_else(|| {
        let name = tool.get("_tool").or_else(|| tool.get("name"))?;
        name.as_text()
    })?;
    Some(name.strip_prefix("Tool.").unwrap_or(name))
}
