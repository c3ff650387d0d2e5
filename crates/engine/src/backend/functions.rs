//! Tools that are Rust functions of the program itself.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Tool, Value};

use super::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};

type Function =
    Arc<dyn Fn(Value) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync>;

/// A server whose tools are functions of this program.
///
/// ```
/// use planwright_core::{Tool, Value};
/// use planwright_engine::backend::{Functions, ToolOutput};
///
/// let functions = Functions::new().with(Tool::new("here", "double"), |args: Value| async move {
///     let number = args.get("n").and_then(Value::as_u64).unwrap_or(0);
///     Ok(ToolOutput::value(Value::from(2 * number)))
/// });
/// assert_eq!(functions.tools().count(), 1);
/// ```
#[derive(Clone, Default)]
pub struct Functions {
    tools: Vec<Tool>,
    by_name: HashMap<Arc<str>, Function>,
}

impl Functions {
    /// Without any function.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `function`, described by `tool`. It gets the arguments as an object that fits the tool's input schema.
    /// Dropping the future that it returned cancels the call.
    pub fn with<F, R>(mut self, tool: Tool, function: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        self.by_name.insert(
            Arc::clone(&tool.name),
            Arc::new(move |args| Box::pin(function(args))),
        );
        self.tools.push(tool);
        self
    }

    /// The tools, for a [`Catalog`](planwright_core::Catalog).
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }
}

impl ToolBackend for Functions {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        match self.by_name.get(&call.tool.name) {
            Some(function) => function(call.args),
            None => {
                let message = format!("there is no function `{}`", call.tool.name);
                Box::pin(async move { Err(ToolError::new(ErrorKind::Unavailable, message)) })
            }
        }
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}
