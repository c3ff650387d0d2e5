//! The tools that a plan may call, and what is known about them.

mod definition;
mod servers;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::Hashing;
use crate::schema::Schema;

pub use servers::ServerNames;

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
    /// Whether the server leaves open whether the tool destroys something. MCP takes such a tool for one that may.
    pub fn leave_destruction_open(&self) -> bool {
        self.destructive.is_none() && self.read_only != Some(true)
    }

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

    /// `server.tool`.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.server, self.name)
    }

    /// `server__tool`, of the letters, digits, `_` and `-` that the APIs of models allow in names.
    pub fn model_name(&self) -> String {
        format!(
            "{}__{}",
            servers::for_models(&self.server),
            servers::for_models(&self.name)
        )
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

/// All tools that a plan may call, in the order in which the servers list them, and the names of the servers that there are
/// beside them.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tools: IndexMap<(Arc<str>, Arc<str>), Arc<Tool>, Hashing>,
    servers: ServerNames,
    by_name: HashMap<Arc<str>, Vec<usize>, Hashing>,
    by_qualified_name: HashMap<String, Vec<usize>, Hashing>,
    by_model_name: HashMap<String, Vec<usize>, Hashing>,
}

/// What a tool's name leads to.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// One tool.
    Found(Arc<Tool>),
    /// Several tools have the name; or one has it, and it belongs to another server.
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
        self.servers.add(&tool.server);
        let key = (Arc::clone(&tool.server), Arc::clone(&tool.name));
        let (index, old) = self.tools.insert_full(key, Arc::clone(&tool));
        if old.is_none() {
            let by_name = self.by_name.entry(Arc::clone(&tool.name));
            by_name.or_default().push(index);
            let by_qualified_name = self.by_qualified_name.entry(tool.qualified_name());
            by_qualified_name.or_default().push(index);
            let by_model_name = self.by_model_name.entry(tool.model_name());
            by_model_name.or_default().push(index);
        }
    }

    /// Reserves the names `server.…` and `server__…` for a server whose tools are not known yet.
    pub fn reserve(&mut self, server: &Arc<str>) {
        self.servers.add(server);
    }

    /// The servers whose names are reserved: those of all tools, and those that were added by [`reserve`](Self::reserve).
    pub fn servers(&self) -> &ServerNames {
        &self.servers
    }

    /// The catalog with each tool as `change` leaves it. Neither server nor name may change.
    #[must_use]
    pub fn map(&self, mut change: impl FnMut(&mut Tool)) -> Self {
        let mut catalog = Self::new();
        catalog.servers = self.servers.clone();
        for tool in self.tools() {
            let mut tool = Tool::clone(tool);
            change(&mut tool);
            catalog.add(tool);
        }
        catalog
    }

    /// The tool `name` of `server`.
    pub fn get(&self, server: &str, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(&(Arc::from(server), Arc::from(name)))
    }

    /// The tool that a plan calls `name`: `server.tool`, else [`server__tool`](Tool::model_name), else `tool` if one server
    /// offers it. A name that begins with that of a server belongs to that server, so that no tool of another one is found by it.
    pub fn find(&self, name: &str) -> Lookup {
        for names in [&self.by_qualified_name, &self.by_model_name] {
            let found = self.at(names.get(name));
            let is_owned = |tool: &Arc<Tool>| self.servers.own(&tool.server, name);
            match found.as_slice() {
                [] => {}
                [tool] if is_owned(tool) => return Lookup::Found(Arc::clone(tool)),
                _ => return Lookup::Ambiguous(found),
            }
        }
        let mut found = self.at(self.by_name.get(name));
        found.retain(|tool| self.servers.leave_free(name, &tool.server));
        match found.as_slice() {
            [] => Lookup::Unknown,
            [tool] => Lookup::Found(Arc::clone(tool)),
            _ => Lookup::Ambiguous(found),
        }
    }

    /// The name that a plan would use for `tool`: the bare one if it leads to the tool.
    pub fn shortest_name(&self, tool: &Tool) -> String {
        if self.leads_to(&tool.name, tool) {
            tool.name.to_string()
        } else {
            self.certain_name(tool)
        }
    }

    /// The name of `tool` that stays when other servers come: `server.tool`, if that leads to it.
    pub fn certain_name(&self, tool: &Tool) -> String {
        let qualified = tool.qualified_name();
        if self.leads_to(&qualified, tool) {
            return qualified;
        }
        let others = [tool.model_name(), tool.name.to_string()];
        let mut others = others.into_iter();
        others
            .find(|name| self.leads_to(name, tool))
            .unwrap_or(qualified)
    }

    /// What people should know of tools that cannot be called by the name that their servers give them, one clause each.
    pub fn collisions(&self) -> Vec<String> {
        let tools = self.tools().filter_map(|tool| {
            let name = self.certain_name(tool);
            let clause = |taken: &str, owner: &str| {
                format!(
                    "the tool `{}` of the server `{}` is called `{name}`, since `{taken}` is a name of the server `{owner}`",
                    tool.name, tool.server
                )
            };
            let qualified = tool.qualified_name();
            if name != qualified {
                let owner = self.servers.owner(&qualified).unwrap_or(&tool.server);
                return Some(clause(&qualified, owner));
            }
            let owner = self.servers.owner(&tool.name)?;
            (!self.servers.leave_free(&tool.name, &tool.server)).then(|| clause(&tool.name, owner))
        });
        tools.collect()
    }

    /// Why `name` leads to no single one of `tools`, as one clause.
    pub fn ambiguity(&self, name: &str, tools: &[Arc<Tool>]) -> String {
        let mut servers: Vec<&Arc<str>> = tools.iter().map(|tool| &tool.server).collect();
        servers.dedup();
        match (tools, servers.as_slice()) {
            ([tool], _) => match self.servers.owner(name) {
                Some(owner) if *owner != tool.server => format!(
                    "`{name}` is a name of the server `{owner}`, not of `{}`",
                    tool.server
                ),
                _ => format!("`{name}` is a name of several servers"),
            },
            (_, [server]) => format!("the server `{server}` has {} tools `{name}`", tools.len()),
            (_, servers) => format!("{} servers offer a tool `{name}`", servers.len()),
        }
    }

    /// Whether `name` leads to `tool`.
    fn leads_to(&self, name: &str, tool: &Tool) -> bool {
        matches!(self.find(name), Lookup::Found(found) if found.server == tool.server && found.name == tool.name)
    }

    fn at(&self, indices: Option<&Vec<usize>>) -> Vec<Arc<Tool>> {
        let indices = indices.into_iter().flatten();
        indices
            .filter_map(|index| self.tools.get_index(*index))
            .map(|(_, tool)| Arc::clone(tool))
            .collect()
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
