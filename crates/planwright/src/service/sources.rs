//! Sources of tools, and how they are opened.

use std::collections::HashSet;
use std::fmt;
#[cfg(any(feature = "mcp", feature = "workspace"))]
use std::path::PathBuf;
use std::sync::Arc;

use planwright_core::schema::Type;
use planwright_core::{Catalog, ServerName, Tool, Value};
use planwright_engine::backend::Functions;
use planwright_engine::{Backends, ToolBackend};
#[cfg(feature = "mcp")]
use planwright_mcp::{ConnectOptions, Connections, ServerFailure, ServersConfig};

use super::Error;

/// The maximum length of the name of a server or tool of the program, in bytes.
const MAX_NAME: usize = 128;

/// The meaning of a name in a configuration of servers.
#[cfg(feature = "mcp")]
pub(super) type VariableLookup = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The sources of tools, in the order in which catalogs list them.
#[derive(Debug, Default)]
pub(super) struct ToolSources(Vec<Source>);

enum Source {
    Backend(ServerName, Vec<Tool>, Arc<dyn ToolBackend>),
    Functions(Functions),
    #[cfg(feature = "workspace")]
    Workspace(PathBuf),
    #[cfg(feature = "mcp")]
    File(PathBuf),
    #[cfg(feature = "mcp")]
    Text(String),
    #[cfg(feature = "mcp")]
    Servers(ServersConfig),
}

/// Tools that are open.
pub(super) struct OpenedTools {
    pub(super) catalog: Catalog,
    pub(super) backends: Backends,
    #[cfg(feature = "mcp")]
    pub(super) connections: Option<Connections>,
    pub(super) secrets: Vec<Arc<str>>,
    pub(super) warnings: Vec<String>,
}

impl ToolSources {
    pub(super) fn add_functions(&mut self, functions: Functions) {
        self.0.push(Source::Functions(functions));
    }

    pub(super) fn add_backend(
        &mut self,
        server: ServerName,
        tools: Vec<Tool>,
        backend: Arc<dyn ToolBackend>,
    ) {
        self.0.push(Source::Backend(server, tools, backend));
    }

    #[cfg(feature = "workspace")]
    pub(super) fn add_workspace(&mut self, folder: PathBuf) {
        self.0.push(Source::Workspace(folder));
    }

    #[cfg(feature = "mcp")]
    pub(super) fn add_file(&mut self, path: PathBuf) {
        self.0.push(Source::File(path));
    }

    #[cfg(feature = "mcp")]
    pub(super) fn add_text(&mut self, text: String) {
        self.0.push(Source::Text(text));
    }

    #[cfg(feature = "mcp")]
    pub(super) fn add_servers(&mut self, servers: ServersConfig) {
        self.0.push(Source::Servers(servers));
    }

    /// Opens all of them, MCP servers at the same time.
    #[cfg_attr(
        not(feature = "mcp"),
        expect(clippy::unused_async, reason = "servers are waited for")
    )]
    pub(super) async fn open(
        self,
        #[cfg(feature = "mcp")] lookup: &VariableLookup,
        #[cfg(feature = "mcp")] options: ConnectOptions,
    ) -> Result<OpenedTools, Error> {
        let mut tools = OpenedTools::default();
        #[cfg(feature = "mcp")]
        let mut servers = Servers::default();
        let mut names = Names::default();
        for source in self.0 {
            match source {
                Source::Backend(server, listed, backend) => {
                    tools.add(names.claim_own(server)?, listed, backend)?;
                }
                Source::Functions(functions) => {
                    let server = names.claim_own(functions.name().clone())?;
                    if let Some(name) = functions.duplicates().first() {
                        return Err(Error::SameTool(format!("{server}.{name}").into()));
                    }
                    let listed = functions.tools().cloned().collect();
                    tools.add(server, listed, Arc::new(functions))?;
                }
                #[cfg(feature = "workspace")]
                Source::Workspace(folder) => {
                    use crate::workspace::Workspace;
                    let workspace =
                        Workspace::open(&folder).map_err(|source| Error::Unreadable {
                            path: folder,
                            source,
                        })?;
                    let name = names.claim(Workspace::NAME.into())?;
                    tools.add(name, workspace.tools(), Arc::new(workspace))?;
                }
                #[cfg(feature = "mcp")]
                Source::File(path) => {
                    let text =
                        std::fs::read_to_string(&path).map_err(|source| Error::Unreadable {
                            path: path.clone(),
                            source,
                        })?;
                    servers.parse(&text, &path.display().to_string(), lookup, &mut names)?;
                }
                #[cfg(feature = "mcp")]
                Source::Text(text) => servers.parse(&text, "mcp.json", lookup, &mut names)?,
                #[cfg(feature = "mcp")]
                Source::Servers(config) => servers.add(config, &mut names)?,
            }
        }
        #[cfg(feature = "mcp")]
        {
            tools.warnings.extend(servers.warnings);
            if !servers.config.servers.is_empty() || !servers.config.unusable.is_empty() {
                tools.connect(&servers.config, options).await?;
            }
        }
        Ok(tools)
    }
}

/// The MCP servers of all sources.
#[cfg(feature = "mcp")]
#[derive(Default)]
struct Servers {
    config: ServersConfig,
    warnings: Vec<String>,
}

#[cfg(feature = "mcp")]
impl Servers {
    /// Adds the servers of a text that messages call `file`.
    fn parse(
        &mut self,
        text: &str,
        file: &str,
        lookup: &VariableLookup,
        names: &mut Names,
    ) -> Result<(), Error> {
        let (config, warnings) = ServersConfig::parse(text, file, &|name| lookup(name))?;
        self.warnings
            .extend(warnings.iter().map(ToString::to_string));
        self.add(config, names)
    }

    fn add(&mut self, more: ServersConfig, names: &mut Names) -> Result<(), Error> {
        for server in &more.servers {
            names.claim(server.name.clone())?;
        }
        self.config.servers.extend(more.servers);
        self.config.disabled.extend(more.disabled);
        self.config.unusable.extend(more.unusable);
        Ok(())
    }
}

impl OpenedTools {
    /// Adds the tools of a server of the program.
    fn add(
        &mut self,
        server: ServerName,
        listed: Vec<Tool>,
        backend: Arc<dyn ToolBackend>,
    ) -> Result<(), Error> {
        let mut seen = HashSet::new();
        for tool in listed {
            if !seen.insert(Arc::clone(&tool.name)) {
                return Err(Error::SameTool(tool.qualified_name()));
            }
            if !is_own_name(&tool.name, &['_', '-', '.', '/']) {
                return Err(Error::BadName {
                    what: "tool",
                    name: tool.name,
                });
            }
            if !takes_objects(&tool) {
                return Err(Error::NoParameters(tool.qualified_name()));
            }
            self.add_tool(tool)?;
        }
        self.backends.add(server, backend);
        Ok(())
    }

    /// Adds a tool, unless its qualified name is taken: `b.c` of the server `a` has the same one as `c` of the server `a.b`.
    fn add_tool(&mut self, tool: Tool) -> Result<(), Error> {
        let name = tool.qualified_name();
        self.catalog.add(tool);
        match self.catalog.find(&name) {
            planwright_core::Lookup::Found(_) => Ok(()),
            planwright_core::Lookup::Ambiguous(_) | planwright_core::Lookup::Unknown => {
                Err(Error::SameTool(name))
            }
        }
    }

    #[cfg(feature = "mcp")]
    async fn connect(
        &mut self,
        servers: &ServersConfig,
        options: ConnectOptions,
    ) -> Result<(), Error> {
        #[cfg(feature = "store")]
        let options = {
            let mut options = options;
            let record = || Arc::new(crate::stored::RecordProcesses) as _;
            options.processes.get_or_insert_with(record);
            options
        };
        for server in servers.names() {
            self.catalog.reserve(server);
        }
        let connections = Connections::connect(servers, options).await;
        for tool in connections.tools() {
            self.add_tool(tool.clone())?;
        }
        self.backends.join(connections.backends());
        self.warnings.extend_from_slice(connections.warnings());
        let secrets = servers.servers.iter().flat_map(|server| &server.secrets);
        self.secrets.extend(secrets.cloned());
        self.connections = Some(connections);
        Ok(())
    }

    /// The servers that did not start.
    #[cfg(feature = "mcp")]
    pub(super) fn failures(&self) -> &[ServerFailure] {
        self.connections.as_ref().map_or(&[], Connections::failures)
    }
}

impl Default for OpenedTools {
    fn default() -> Self {
        Self {
            catalog: Catalog::new(),
            backends: Backends::new(),
            #[cfg(feature = "mcp")]
            connections: None,
            secrets: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// The names of servers so far.
#[derive(Default)]
struct Names(HashSet<ServerName>);

impl Names {
    /// Claims the name of a server of the program, as plans can write it.
    fn claim_own(&mut self, name: ServerName) -> Result<ServerName, Error> {
        if is_own_name(&name, &['_', '-']) {
            self.claim(name)
        } else {
            Err(Error::BadName {
                what: "server",
                name: name.into(),
            })
        }
    }

    fn claim(&mut self, name: ServerName) -> Result<ServerName, Error> {
        if name.is_empty() {
            return Err(Error::BadName {
                what: "server",
                name: name.into(),
            });
        }
        if self.0.insert(name.clone()) {
            Ok(name)
        } else {
            Err(Error::SameName(name.into()))
        }
    }
}

/// Returns true if a server or a tool of the program can have this name. It may contain letters, digits and the characters of `others`, so
/// that the end of a server's name is always clear.
fn is_own_name(name: &str, others: &[char]) -> bool {
    let is_allowed = |character: char| character.is_alphanumeric() || others.contains(&character);
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_allowed)
}

/// Returns true if a tool can be called with named arguments.
fn takes_objects(tool: &Tool) -> bool {
    tool.input.structure().members().iter().any(|member| {
        matches!(
            member,
            Type::Any | Type::Object(_) | Type::Literal(Value::Object(_))
        )
    })
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Functions(functions) => f.debug_tuple("Functions").field(functions).finish(),
            Self::Backend(server, ..) => f.debug_tuple("Backend").field(server).finish(),
            #[cfg(feature = "workspace")]
            Self::Workspace(folder) => f.debug_tuple("Workspace").field(folder).finish(),
            #[cfg(feature = "mcp")]
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            // A source may hold secrets.
            #[cfg(feature = "mcp")]
            Self::Text(_) => f.debug_tuple("Text").finish_non_exhaustive(),
            #[cfg(feature = "mcp")]
            Self::Servers(servers) => f.debug_tuple("Servers").field(servers).finish(),
        }
    }
}

#[cfg(feature = "mcp")]
/// A variable of the process: servers inherit them, so that their configuration may name them.
#[expect(
    clippy::disallowed_methods,
    reason = "a program that does not want this says what to look up instead"
)]
pub(super) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
