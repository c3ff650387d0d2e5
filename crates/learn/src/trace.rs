//! The data of an agent's session: requests, calls and answers.

use std::sync::Arc;

use planwright_core::{Catalog, Lookup, Tool, Value};

/// The calls of one session of an agent, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The name of the trace, for messages: its file or its run.
    pub name: String,
    /// The text of the user's request, if the trace has it.
    pub request: Option<String>,
    /// The texts of the user's later messages.
    pub replies: Vec<String>,
    /// The calls.
    pub calls: Vec<TracedCall>,
    /// The time of the last call, in milliseconds since 1970, if it is known.
    pub ended_unix_ms: Option<u64>,
    /// True if the agent had read untrusted data before one of the calls, so that their constants may come from it.
    pub is_exposed: bool,
    /// The calls of the session that are not among `calls`, each as a clause that says why.
    pub left_out: Vec<String>,
}

/// A call in a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedCall {
    /// The name of the tool, as the trace writes it.
    pub tool: Arc<str>,
    /// The arguments, an object.
    pub args: Value,
    /// The answer.
    pub answer: TraceAnswer,
    /// The number of the round in which the call was made. No call can depend on another one of its round.
    pub round: usize,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceAnswer {
    /// The output of a successful call.
    Output(Value),
    /// The message of a failed call.
    Failed(String),
    /// The trace has no answer.
    Missing,
}

impl TraceAnswer {
    /// Reads the text of a successful call as the engine reads the text of a tool: a JSON object or list is a value, any other
    /// text stays text.
    pub fn of_text(text: &str) -> Self {
        Self::Output(planwright_engine::backend::ToolOutput::text(text).value)
    }

    /// Returns the output of a successful call.
    pub fn output(&self) -> Option<&Value> {
        match self {
            Self::Output(value) => Some(value),
            Self::Failed(_) | Self::Missing => None,
        }
    }
}

impl Trace {
    /// Gives the calls the names of the tools in `catalog`, and their answers the form that these tools declare. Returns the names
    /// that no tool has, without repetitions.
    pub fn resolve(&mut self, catalog: &Catalog) -> Vec<Arc<str>> {
        let mut unknown: Vec<Arc<str>> = Vec::new();
        for call in &mut self.calls {
            match find_tool(catalog, &call.tool) {
                Some(tool) => {
                    call.tool = catalog.shortest_name(&tool).into();
                    if let TraceAnswer::Output(value) = &mut call.answer {
                        wrap(value, &tool);
                    }
                }
                None if unknown.contains(&call.tool) => {}
                None => unknown.push(Arc::clone(&call.tool)),
            }
        }
        unknown
    }
}

/// Returns the tool that a trace calls `name`. Some clients write `mcp__server__tool`.
pub fn find_tool(catalog: &Catalog, name: &str) -> Option<Arc<Tool>> {
    let short = name.strip_prefix("mcp__").unwrap_or(name);
    [name, short]
        .into_iter()
        .find_map(|name| match catalog.find(name) {
            Lookup::Found(tool) => Some(tool),
            Lookup::Ambiguous(_) | Lookup::Unknown => None,
        })
}

/// Wraps the output of a tool whose structured result has a single field `result`: the logs of other systems have only its text.
fn wrap(value: &mut Value, tool: &Tool) {
    const FIELD: &str = "result";
    let schema = tool.output.as_value();
    let fields = schema.get("properties").and_then(Value::as_object);
    let is_wrapper = fields.is_some_and(|fields| fields.len() == 1 && fields.contains_key(FIELD));
    if is_wrapper && value.get(FIELD).is_none() {
        *value = Value::object([(FIELD, std::mem::take(value))]);
    }
}
