//! Where tools come from, and how they are opened.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use planwright_core::{Catalog, Tool};
use planwright_engine::{Backends, ToolBackend};
use planwright_mcp::{ConnectOptions, Connections, ServerFailure, ServersConfig};

use super::Error;

/// What a name in a configuration stands for.
pub(super) type Lookup = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Where tools come from, in the order in which catalogs list them.
#[derive(Debug, Default)]
pub(super) struct Sources(Vec<Source>);

enum Source {
    Backend(Arc<str>, Vec<Tool>, Arc<dyn ToolBackend>),
    #[cfg(feature = "workspace")]
    Workspace(PathBuf),
    File(PathBuf),
    Text(String),
    Servers(ServersConfig),
}

/// Tools that are open.
pub(super) struct Tools {
    pub(super) catalog: Catalog,
    pub(super) backends: Backends,
    pub(super) connections: Option<Connections>,
    pub(super) secrets: Vec<Arc<str>>,
    pub(super) warnings: Vec<String>,
}

impl Sources {
    pub(super) fn add_backend(
        &mut self,
        server: Arc<str>,
        tools: Vec<Tool>,
        backend: Arc<dyn ToolBackend>,
    ) {
        self.0.push(Source::Backend(server, tools, backend));
    }

    #[cfg(feature = "workspace")]
    pub(super) fn add_workspace(&mut self, folder: PathBuf) {
        self.0.push(Source::Workspace(folder));
    }

    pub(super) fn add_file(&mut self, path: PathBuf) {
        self.0.push(Source::File(path));
    }

    pub(super) fn add_text(&mut self, text: String) {
        self.0.push(Source::Text(text));
    }

    pub(super) fn add_servers(&mut self, servers: ServersConfig) {
        self.0.push(Source::Servers(servers));
    }

    /// Opens them all, servers side by side.
    pub(super) async fn open(
        self,
        lookup: &Lookup,
        options: ConnectOptions,
    ) -> Result<Tools, Error> {
        let mut tools = Tools::default();
        let mut servers = ServersConfig::default();
        let mut names = Names::default();
        for source in self.0 {
            let (config, warnings) = match source {
                Source::Backend(server, listed, backend) => {
                    tools.add(names.claim(server)?, listed, backend);
                    continue;
                }
                #[cfg(feature = "workspace")]
                Source::Workspace(folder) => {
                    use crate::workspace::Workspace;
                    let workspace = match Workspace::open(&folder) {
                        Ok(workspace) => workspace,
                        Err(source) => {
                            return Err(Error::Unreadable {
                                path: folder,
                                source,
                            });
                        }
                    };
                    let name = names.claim(Workspace::NAME.into())?;
                    tools.add(name, workspace.tools(), Arc::new(workspace));
                    continue;
                }
                Source::File(path) => match std::fs::read_to_string(&path) {
                    Ok(text) => {
                        ServersConfig::parse(&text, &path.display().to_string(), &|name| {
                            lookup(name)
                        })?
                    }
                    Err(source) => return Err(Error::Unreadable { path, source }),
                },
                Source::Text(text) => {
                    ServersConfig::parse(&text, "mcp.json", &|name| lookup(name))?
                }
                Source::Servers(config) => (config, Vec::new()),
            };
            for server in &config.servers {
                names.claim(Arc::clone(&server.name))?;
            }
            let texts = warnings.iter().map(ToString::to_string);
            tools.warnings.extend(texts);
            servers.servers.extend(config.servers);
            servers.disabled.extend(config.disabled);
            servers.unusable.extend(config.unusable);
        }
        if !servers.servers.is_empty() || !servers.unusable.is_empty() {
            tools.connect(&servers, options).await;
        }
        Ok(tools)
    }
}

impl Tools {
    fn add(&mut self, server: Arc<str>, listed: Vec<Tool>, backend: Arc<dyn ToolBackend>) {
        for tool in listed {
            self.catalog.add(tool);
        }
        self.backends.add(server, backend);
    }

    async fn connect(&mut self, servers: &ServersConfig, options: ConnectOptions) {
        let connections = Connections::connect(servers, options).await;
        for tool in connections.tools() {
            self.catalog.add(tool.clone());
        }
        self.backends.join(connections.backends());
        self.warnings.extend_from_slice(connections.warnings());
        let secrets = servers.servers.iter().flat_map(|server| &server.secrets);
        self.secrets.extend(secrets.cloned());
        self.connections = Some(connections);
    }

    /// The servers that did not start.
    pub(super) fn failures(&self) -> &[ServerFailure] {
        self.connections.as_ref().map_or(&[], Connections::failures)
    }
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            catalog: Catalog::new(),
            backends: Backends::new(),
            connections: None,
            secrets: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// The names of servers so far.
#[derive(Default)]
struct Names(HashSet<Arc<str>>);

impl Names {
    fn claim(&mut self, name: Arc<str>) -> Result<Arc<str>, Error> {
        if self.0.insert(Arc::clone(&name)) {
            Ok(name)
        } else {
            Err(Error::SameName(name))
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backend(server, ..) => f.debug_tuple("Backend").field(server).finish(),
            #[cfg(feature = "workspace")]
            Self::Workspace(folder) => f.debug_tuple("Workspace").field(folder).finish(),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            // It may hold secrets.
            Self::Text(_) => f.debug_tuple("Text").finish_non_exhaustive(),
            Self::Servers(servers) => f.debug_tuple("Servers").field(servers).finish(),
        }
    }
}

/// A variable of the process: servers inherit them, so that their configuration may name them.
#[expect(
    clippy::disallowed_methods,
    reason = "a program that does not want this says what to look up instead"
)]
pub(super) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
