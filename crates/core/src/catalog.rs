//! The tools that a plan may call, and what is known about them.

mod definition;

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::Hashing;
use crate::schema::Schema;

/// One tool of one server.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The server that offers it.
    pub server: Arc<str>,
    /// The identity of that server: how it is reached, as one line. Empty for tools that live in this process.
    pub origin: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
    /// A line for people.
    pub title: Option<Arc<str>>,
    /// What it does, in its server's words.
    pub description: Option<Arc<str>>,
    /// What it takes.
    pub input: Schema,
    /// What it gives; [`Schema::any`] where it does not say.
    pub output: Schema,
    /// What it says about its effects, and what the configuration says in its place.
    pub annotations: Annotations,
    /// The hints that its server states, before any configuration is applied.
    pub hints: Hints,
    /// Whether a person must agree before each call, whatever the annotations say. It is so for a tool of which its server says that it is
    /// destructive, and for a function that was built so.
    pub approval: bool,
    /// Why a person must agree, as one clause, if that is known.
    pub approval_reason: Option<Arc<str>>,
}

/// The annotations that a server states about a tool (`ToolAnnotations` of MCP); `None` for those that it leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
    /// `idempotentHint`
    pub idempotent: Option<bool>,
    /// `openWorldHint`
    pub open_world: Option<bool>,
}

impl Hints {
    /// Whether the server states that the tool may destroy something.
    pub fn states_destructive(&self) -> bool {
        self.destructive == Some(true) && self.read_only != Some(true)
    }

    /// The annotations that follow from the hints, with the defaults of MCP for those that are left out.
    pub fn annotations(&self, trusted: bool) -> Annotations {
        let default = Annotations::default();
        Annotations {
            read_only: self.read_only.unwrap_or(default.read_only),
            destructive: self.destructive.unwrap_or(default.destructive),
            idempotent: self.idempotent.unwrap_or(default.idempotent),
            open_world: self.open_world.unwrap_or(default.open_world),
            trusted,
        }
    }
}

/// What a tool says about its effects, with the defaults of MCP 2026-07-28.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something.
    pub destructive: bool,
    /// A second call with the same arguments does no further harm.
    pub idempotent: bool,
    /// It reaches beyond a closed domain.
    pub open_world: bool,
    /// Whether the server is trusted to say so. Nothing is made easier on the word of one that is not.
    pub trusted: bool,
}

impl Default for Annotations {
    fn default() -> Self {
        Self {
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: true,
            trusted: false,
        }
    }
}

impl Tool {
    /// A tool about which nothing but its name is known.
    pub fn new(server: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            server: server.into(),
            origin: Arc::from(""),
            name: name.into(),
            title: None,
            description: None,
            input: Schema::any(),
            output: Schema::any(),
            annotations: Annotations::default(),
            hints: Hints::default(),
            approval: false,
            approval_reason: None,
        }
    }

    /// `server.tool`, which names it in any catalog.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.server, self.name)
    }

    /// `server__tool`, of the letters, digits, `_` and `-` that the APIs of models allow in names.
    pub fn model_name(&self) -> String {
        let plain = |name: &str| {
            name.replace(
                |character: char| !matches!(character, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-'),
                "_",
            )
        };
        format!("{}__{}", plain(&self.server), plain(&self.name))
    }

    /// Whether a second call with the same arguments does no further harm, as far as one may believe it.
    pub fn is_repeatable(&self) -> bool {
        self.annotations.trusted && (self.annotations.read_only || self.annotations.idempotent)
    }

    /// Whether a person must agree before each call: [`approval`](Self::approval).
    pub fn needs_approval(&self) -> bool {
        self.approval
    }
}

/// All tools that a plan may call, in the order in which the servers list them.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tools: IndexMap<String, Arc<Tool>, Hashing>,
    by_name: HashMap<Arc<str>, Vec<usize>, Hashing>,
    by_model_name: HashMap<String, Vec<usize>, Hashing>,
}

/// What a tool's name leads to.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// One tool.
    Found(Arc<Tool>),
    /// Several servers offer one of that name.
    Ambiguous(Vec<Arc<Tool>>),
    /// None has it.
    Unknown,
}

impl Catalog {
    /// A catalog without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. One with the same server and name is replaced.
    pub fn add(&mut self, tool: Tool) {
        let tool = Arc::new(tool);
        let (index, old) = self
            .tools
            .insert_full(tool.qualified_name(), Arc::clone(&tool));
        if old.is_none() {
            self.by_name
                .entry(Arc::clone(&tool.name))
                .or_default()
                .push(index);
            self.by_model_name
                .entry(tool.model_name())
                .or_default()
                .push(index);
        }
    }

    /// The tool that a plan calls `name`: `tool` where one server offers it, `server.tool` always, and
    /// [`server__tool`](Tool::model_name) where nothing else has that name.
    pub fn find(&self, name: &str) -> Lookup {
        if let Some(tool) = self.tools.get(name) {
            return Lookup::Found(Arc::clone(tool));
        }
        let found: Vec<Arc<Tool>> = self
            .by_name
            .get(name)
            .or_else(|| self.by_model_name.get(name))
            .into_iter()
            .flatten()
            .filter_map(|index| self.tools.get_index(*index))
            .map(|(_, tool)| Arc::clone(tool))
            .collect();
        match found.as_slice() {
            [] => Lookup::Unknown,
            [tool] => Lookup::Found(Arc::clone(tool)),
            _ => Lookup::Ambiguous(found),
        }
    }

    /// The name that a plan would use for `tool`: the bare one where it is unique.
    pub fn shortest_name(&self, tool: &Tool) -> String {
        match self.by_name.get(&tool.name) {
            Some(indices) if indices.len() > 1 => tool.qualified_name(),
            _ => tool.name.to_string(),
        }
    }

    /// All tools.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl FromIterator<Tool> for Catalog {
    fn from_iter<T: IntoIterator<Item = Tool>>(tools: T) -> Self {
        let mut catalog = Self::new();
        for tool in tools {
            catalog.add(tool);
        }
        catalog
    }
}
