//! The catalog of tools, and the lookup of a tool by any of its names.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::tool::{EXTRACTION, is_extraction_name};
use super::{ServerNames, Tool};
use crate::{Hashing, ServerName, ToolName};

/// The tools that a plan may call, in the order in which the servers list them, and the names of all servers.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tools: IndexMap<(ServerName, Arc<str>), Arc<Tool>, Hashing>,
    servers: ServerNames,
    by_name: HashMap<Arc<str>, Vec<usize>, Hashing>,
    by_qualified_name: HashMap<ToolName, Vec<usize>, Hashing>,
    by_model_name: HashMap<String, Vec<usize>, Hashing>,
    extraction: Option<Arc<Tool>>,
}

/// The result of a lookup by name.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// Exactly one tool has the name.
    Found(Arc<Tool>),
    /// Several tools have the name, or the name begins with another server's name.
    Ambiguous(Vec<Arc<Tool>>),
    /// No tool has the name.
    Unknown,
}

impl Catalog {
    /// Creates an empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool and replaces one with the same server and name.
    pub fn add(&mut self, tool: Tool) {
        let tool = Arc::new(tool);
        self.servers.add(&tool.server);
        let key = (tool.server.clone(), Arc::clone(&tool.name));
        let (index, old) = self.tools.insert_full(key, Arc::clone(&tool));
        // A replaced tool keeps its index, so its names are listed already.
        if old.is_none() {
            let by_name = self.by_name.entry(Arc::clone(&tool.name));
            by_name.or_default().push(index);
            let by_qualified_name = self.by_qualified_name.entry(tool.qualified_name());
            by_qualified_name.or_default().push(index);
            let by_model_name = self.by_model_name.entry(tool.model_name());
            by_model_name.or_default().push(index);
        }
    }

    /// Adds the [extraction tool](Tool::extraction). It is not among the [tools](Self::tools), and its only name is
    /// [`EXTRACTION`], so it takes no name from the tools of servers.
    pub fn add_extraction(&mut self) {
        self.extraction = Some(Arc::new(Tool::extraction()));
    }

    /// Returns the catalog without the tool that [`add_extraction`](Self::add_extraction) added.
    #[must_use]
    pub fn without_extraction(mut self) -> Self {
        self.extraction = None;
        self
    }

    /// Returns the tool that steps call to extract data, if there is one: a tool of this process with its name, such as
    /// a simulated one, or the extraction tool.
    pub fn extraction(&self) -> Option<&Arc<Tool>> {
        let (server, name) = EXTRACTION.split_once('.')?;
        let own = self.tools.get(&(ServerName::from(server), Arc::from(name)));
        own.filter(|tool| tool.is_extraction())
            .or(self.extraction.as_ref())
    }

    /// Reserves the names `server.…` and `server__…` for a server whose tools are not known yet.
    pub fn reserve(&mut self, server: &ServerName) {
        self.servers.add(server);
    }

    /// Returns the names of all servers: those of the tools and those added by [`reserve`](Self::reserve).
    pub fn servers(&self) -> &ServerNames {
        &self.servers
    }

    /// Returns the catalog with `change` applied to each tool. `change` must keep the server and the name.
    #[must_use]
    pub fn map(&self, mut change: impl FnMut(&mut Tool)) -> Self {
        let mut catalog = Self::new();
        // Servers without tools own names, too.
        catalog.servers = self.servers.clone();
        catalog.extraction = self.extraction.as_ref().map(|tool| {
            let mut tool = Tool::clone(tool);
            change(&mut tool);
            Arc::new(tool)
        });
        for tool in self.tools() {
            let mut tool = Tool::clone(tool);
            change(&mut tool);
            catalog.add(tool);
        }
        catalog
    }

    /// Returns the catalog with the tools that `keep` selects. The other names stay those of their servers.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&Tool) -> bool) -> Self {
        let mut catalog = Self::new();
        catalog.servers = self.servers.clone();
        catalog.extraction.clone_from(&self.extraction);
        for tool in self.tools().filter(|tool| keep(tool)) {
            catalog.add(Tool::clone(tool));
        }
        catalog
    }

    /// Returns the tool `name` of `server`.
    pub fn get(&self, server: &str, name: &str) -> Option<&Arc<Tool>> {
        if is_extraction_name(server, name)
            && let Some(tool) = self.extraction()
        {
            return Some(tool);
        }
        self.tools.get(&(ServerName::from(server), Arc::from(name)))
    }

    /// Finds a tool by the name that a plan uses: `server.tool`, then
    /// [`server__tool`](Tool::model_name), then `tool` if exactly one server offers it. A name that
    /// begins with a server's name belongs to that server, so it never finds a tool of another one.
    pub fn find(&self, name: &str) -> Lookup {
        // A server must not receive the texts of these steps because it has this name.
        if name == EXTRACTION {
            let tool = self.extraction().cloned();
            return tool.map_or(Lookup::Unknown, Lookup::Found);
        }
        // Qualified names take precedence, so that a bare name with a dot never hides one.
        let named = [
            self.by_qualified_name.get(name),
            self.by_model_name.get(name),
        ];
        for indices in named {
            let found = self.at(indices);
            let is_owned = |tool: &Arc<Tool>| self.servers.own(&tool.server, name);
            match found.as_slice() {
                [] => {}
                [tool] if is_owned(tool) => return Lookup::Found(Arc::clone(tool)),
                // A name that belongs to another server must not find even a single tool.
                _ => return Lookup::Ambiguous(found),
            }
        }
        let mut found = self.at(self.by_name.get(name));
        // A bare name that another server owns must not lead to this tool.
        found.retain(|tool| self.servers.allows_bare_name(name, &tool.server));
        match found.as_slice() {
            [] => Lookup::Unknown,
            [tool] => Lookup::Found(Arc::clone(tool)),
            _ => Lookup::Ambiguous(found),
        }
    }

    /// Returns the shortest name for `tool` in a plan: the bare name if it finds the tool.
    pub fn shortest_name(&self, tool: &Tool) -> String {
        if self.leads_to(&tool.name, tool) {
            tool.name.to_string()
        } else {
            self.unambiguous_name(tool)
        }
    }

    /// Returns the name of `tool` that remains valid when servers are added: `server.tool`, if it finds the tool.
    pub fn unambiguous_name(&self, tool: &Tool) -> String {
        let qualified = tool.qualified_name();
        if self.leads_to(&qualified, tool) {
            return qualified.to_string();
        }
        // Another server may own the qualified name, as with a server `a.b` beside `a`.
        let others = [tool.model_name(), tool.name.to_string()];
        let mut others = others.into_iter();
        others
            .find(|name| self.leads_to(name, tool))
            .unwrap_or_else(|| qualified.to_string())
    }

    /// Describes each tool that cannot be called by the name that its server gives it, one clause each.
    pub fn collisions(&self) -> Vec<String> {
        let tools = self.tools().filter_map(|tool| {
            let name = self.unambiguous_name(tool);
            let clause = |taken: &str, owner: &str| {
                format!(
                    "the tool `{}` of the server `{}` is called `{name}`, since `{taken}` is a name of the server `{owner}`",
                    tool.name, tool.server
                )
            };
            let qualified = tool.qualified_name();
            if qualified != *name {
                let owner = self.servers.owner(&qualified).unwrap_or(&tool.server);
                return Some(clause(&qualified, owner));
            }
            let owner = self.servers.owner(&tool.name)?;
            (!self.servers.allows_bare_name(&tool.name, &tool.server)).then(|| clause(&tool.name, owner))
        });
        tools.collect()
    }

    /// Explains why `name` finds none of `tools` unambiguously, as one clause.
    pub fn ambiguity(&self, name: &str, tools: &[Arc<Tool>]) -> String {
        let mut servers: Vec<&ServerName> = tools.iter().map(|tool| &tool.server).collect();
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

    /// Returns all tools.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns true if the catalog has no tools.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(servers: &[&str], tools: &[(&str, &str)]) -> Catalog {
        let mut catalog: Catalog = tools
            .iter()
            .map(|(server, name)| Tool::new(*server, *name))
            .collect();
        for server in servers {
            catalog.reserve(&ServerName::from(*server));
        }
        catalog
    }

    fn found(catalog: &Catalog, name: &str) -> String {
        let shown = |tool: &Arc<Tool>| format!("{}/{}", tool.server, tool.name);
        match catalog.find(name) {
            Lookup::Found(tool) => shown(&tool),
            Lookup::Ambiguous(tools) => {
                let shown: Vec<String> = tools.iter().map(shown).collect();
                format!("? {}", shown.join(" "))
            }
            Lookup::Unknown => "-".to_owned(),
        }
    }

    #[test]
    fn a_name_that_begins_with_a_server_belongs_to_it() {
        let evil = [
            ("evil", "files__write"),
            ("evil", "files.write"),
            ("evil", "read"),
        ];
        let mut with_files = vec![("files", "write")];
        with_files.extend(evil);
        for order in [with_files.clone(), with_files.into_iter().rev().collect()] {
            let both = catalog(&[], &order);
            for name in ["files.write", "files__write", "write"] {
                assert_eq!(found(&both, name), "files/write", "{name}");
            }
            assert_eq!(found(&both, "evil.files__write"), "evil/files__write");
            assert_eq!(found(&both, "evil.files.write"), "evil/files.write");
            assert_eq!(found(&both, "read"), "evil/read");
        }
        // A reserved server without tools owns its names as well.
        let without = catalog(&["files"], &evil);
        assert_eq!(found(&without, "files.write"), "-");
        assert_eq!(found(&without, "files__write"), "-");
        assert_eq!(found(&without, "evil__files__write"), "evil/files__write");
        assert_eq!(
            without.shortest_name(&Tool::new("evil", "files__write")),
            "evil.files__write"
        );
        assert_eq!(found(&without.map(|_| ()), "files__write"), "-");
        assert_eq!(
            without.collisions(),
            [
                "the tool `files__write` of the server `evil` is called `evil.files__write`, since `files__write` is a name of the server `files`",
                "the tool `files.write` of the server `evil` is called `evil.files.write`, since `files.write` is a name of the server `files`",
            ]
        );
        // The names are not reserved.
        assert_eq!(
            found(&catalog(&[], &evil), "files__write"),
            "evil/files__write"
        );
    }

    #[test]
    fn a_server_may_repeat_its_own_name() {
        let git = catalog(&[], &[("git", "git__status"), ("git", "git.log")]);
        assert_eq!(found(&git, "git__status"), "git/git__status");
        assert_eq!(found(&git, "git.log"), "git/git.log");
        let more = catalog(&[], &[("git", "git__status"), ("git", "status")]);
        assert_eq!(found(&more, "git__status"), "git/status");
        assert_eq!(found(&more, "git.git__status"), "git/git__status");
    }

    #[test]
    fn tools_whose_qualified_names_are_equal_are_two() {
        let dotted = catalog(&[], &[("a", "b.c"), ("a.b", "c")]);
        assert_eq!(dotted.len(), 2);
        assert_eq!(found(&dotted, "a.b.c"), "? a/b.c a.b/c");
        for (server, name) in [("a", "b.c"), ("a.b", "c")] {
            let tool = Tool::new(server, name);
            let certain = dotted.unambiguous_name(&tool);
            assert_eq!(found(&dotted, &certain), format!("{server}/{name}"));
        }
        let underscored = catalog(&[], &[("a", "b__c"), ("a__b", "c")]);
        assert_eq!(found(&underscored, "a__b__c"), "? a/b__c a__b/c");
        assert_eq!(found(&underscored, "a.b__c"), "a/b__c");
        assert_eq!(found(&underscored, "a__b.c"), "a__b/c");
    }

    #[test]
    fn the_longer_server_keeps_its_names_while_it_is_not_there() {
        let dotted = catalog(&["a.b"], &[("a", "b.c")]);
        assert_eq!(found(&dotted, "a.b.c"), "? a/b.c");
        assert_eq!(dotted.unambiguous_name(&Tool::new("a", "b.c")), "a__b_c");
        let underscored = catalog(&["a__b"], &[("a", "b__c")]);
        assert_eq!(found(&underscored, "a__b__c"), "? a/b__c");
        assert_eq!(found(&underscored, "a.b__c"), "a/b__c");
        // The server with the shorter name cannot claim names of the server with the longer one.
        let longer = catalog(&["a"], &[("a.b", "c")]);
        assert_eq!(found(&longer, "a.b.c"), "a.b/c");
        let same = catalog(&["my_files"], &[("my.files", "read")]);
        assert_eq!(found(&same, "my_files__read"), "? my.files/read");
        assert_eq!(found(&same, "my.files.read"), "my.files/read");
    }

    #[test]
    fn bare_names_of_several_servers_are_refused() {
        let both = catalog(&[], &[("a", "write"), ("b", "write")]);
        assert_eq!(found(&both, "write"), "? a/write b/write");
        let Lookup::Ambiguous(tools) = both.find("write") else {
            panic!("it is clear which tool is meant");
        };
        assert_eq!(
            both.ambiguity("write", &tools),
            "2 servers offer a tool `write`"
        );
    }
}
