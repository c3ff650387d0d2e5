//! Tasks, with the calls and the plan that complete them.

use serde_json::Value;

/// A call of a tool of a server.
#[derive(Clone, Debug)]
pub struct Call {
    /// The server.
    pub server: &'static str,
    /// The tool.
    pub tool: &'static str,
    /// The arguments.
    pub arguments: Value,
}

/// The results of the calls so far, in order.
pub type EarlierResults = Vec<String>;

/// A turn: computes, from the earlier results, the calls that are made together.
pub(super) type Turn = Box<dyn Fn(&EarlierResults) -> Vec<Call>>;

/// A task, with the searches, calls and plan by which a model would complete it.
pub struct Task {
    /// The name for tables.
    pub name: &'static str,
    /// The servers that it needs.
    pub servers: Vec<&'static str>,
    /// The request to the model.
    pub request: String,
    /// The search queries, if the model has to search.
    pub queries: Vec<&'static str>,
    /// The turns with direct calls. Independent calls share a turn.
    pub turns: Vec<Turn>,
    /// An equivalent plan.
    pub plan: Value,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Call {
    /// Creates a call.
    pub fn new(server: &'static str, tool: &'static str, arguments: Value) -> Self {
        Self {
            server,
            tool,
            arguments,
        }
    }
}
