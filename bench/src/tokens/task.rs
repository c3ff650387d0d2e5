//! A task, and how it is done in each way.

use serde_json::Value;

/// A call of a tool of a server.
#[derive(Clone, Debug)]
pub struct Call {
    /// The server.
    pub server: &'static str,
    /// Its tool.
    pub tool: &'static str,
    /// What it is given.
    pub arguments: Value,
}

/// What the calls so far have given, in their order.
pub type Found = Vec<String>;

/// A turn: the calls that go together, given what was found before.
pub(super) type Turn = Box<dyn Fn(&Found) -> Vec<Call>>;

/// A task, written down as a model would do it.
pub struct Task {
    /// What it is called, in tables.
    pub name: &'static str,
    /// The servers that it needs.
    pub servers: Vec<&'static str>,
    /// What the model is asked.
    pub request: String,
    /// What it searches for, where it has to.
    pub queries: Vec<&'static str>,
    /// The turns, where it calls tools by themselves. Calls that need nothing of each other are one turn.
    pub turns: Vec<Turn>,
    /// The plan that does the same.
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
    /// A call.
    pub fn new(server: &'static str, tool: &'static str, arguments: Value) -> Self {
        Self {
            server,
            tool,
            arguments,
        }
    }
}
