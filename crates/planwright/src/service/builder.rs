//! The tools to open, and the rules by which plans may call them: a configuration, and pins.

use std::fmt;
#[cfg(any(feature = "mcp", feature = "workspace"))]
use std::path::PathBuf;
use std::sync::Arc;

use planwright_core::check::{Library, Policy};
use planwright_core::{Catalog, Plan, ServerName, Tool};
use planwright_engine::approval::Always;
use planwright_engine::backend::{Functions, Simulated};
use planwright_engine::{Approver, Decision, RunOptions, ToolBackend};
#[cfg(feature = "mcp")]
use planwright_mcp::{ConnectOptions, ServerConfig, ServersConfig};

#[cfg(feature = "planner")]
use planwright_planner::extraction::Extraction;

use super::Error;
use super::planwright::{Open, Planwright, Tools};
use super::sources::ToolSources;
#[cfg(feature = "mcp")]
use super::sources::{VariableLookup, environment};
#[cfg(feature = "store")]
use super::store::now;
#[cfg(feature = "config")]
use crate::config::Config;
#[cfg(feature = "store")]
use crate::pins::{PinPolicy, Pinning};
#[cfg(feature = "store")]
use crate::stored::StoredRunError;

/// The builder of a service: the tools to open, and the rules for plans that call them.
///
/// Nothing happens before [`open`](Self::open).
#[must_use = "nothing is opened before `open`"]
pub struct Builder {
    sources: ToolSources,
    library: Library,
    policy: Policy,
    approver: Arc<dyn Approver>,
    options: RunOptions,
    #[cfg(feature = "mcp")]
    connect: ConnectOptions,
    #[cfg(feature = "mcp")]
    lookup: VariableLookup,
    #[cfg(feature = "mcp")]
    missing: Missing,
    rules: Rules,
    #[cfg(feature = "planner")]
    extraction: Option<Extraction>,
}

/// The handling of a server that does not start.
#[cfg(feature = "mcp")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Fails,
    IsLeftOut,
}

impl Planwright {
    /// Creates the builder, which takes the tools to open.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// Adds functions of the program.
    pub fn functions(mut self, functions: Functions) -> Self {
        self.sources.add_functions(functions);
        self
    }

    /// Adds a server that `backend` implements, with its tools. They become tools of `server`, even if they name another server.
    pub fn backend(
        mut self,
        server: impl Into<ServerName>,
        tools: impl IntoIterator<Item = Tool>,
        backend: impl ToolBackend,
    ) -> Self {
        let server = server.into();
        let tools = tools
            .into_iter()
            .map(|tool| Tool {
                server: server.clone(),
                ..tool
            })
            .collect();
        self.sources.add_backend(server, tools, Arc::new(backend));
        self
    }

    /// Adds tools that answer from a script.
    pub fn simulated(mut self, simulated: Simulated) -> Self {
        let simulated = Arc::new(simulated);
        for server in simulated.servers() {
            let tools = simulated
                .tools()
                .filter(|tool| tool.server == server)
                .cloned()
                .collect();
            self.sources
                .add_backend(server, tools, Arc::clone(&simulated) as _);
        }
        self
    }

    /// Adds the built-in tools for the files of one folder.
    #[cfg(feature = "workspace")]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.sources.add_workspace(folder.into());
        self
    }

    /// Adds the MCP servers of an `mcp.json`, as other clients write it. They are started by
    /// [`open`](Self::open): name no file that you would not start programs from.
    #[cfg(feature = "mcp")]
    pub fn servers_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.add_file(path.into());
        self
    }

    /// Adds the MCP servers of a text in the format of an `mcp.json`.
    #[cfg(feature = "mcp")]
    pub fn servers_json(mut self, text: impl Into<String>) -> Self {
        self.sources.add_text(text.into());
        self
    }

    /// Adds MCP servers.
    #[cfg(feature = "mcp")]
    pub fn servers(mut self, servers: ServersConfig) -> Self {
        self.sources.add_servers(servers);
        self
    }

    /// Adds the MCP server `name`: the program `command` with its arguments.
    #[cfg(feature = "mcp")]
    pub fn server<A: Into<String>>(
        self,
        name: impl Into<ServerName>,
        command: impl Into<String>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        self.servers(ServersConfig {
            servers: vec![ServerConfig::new(name, command, arguments)],
            ..ServersConfig::default()
        })
    }

    /// Sets the meaning of `${NAME}` in a configuration of servers; by default, the variables of the process.
    #[cfg(feature = "mcp")]
    pub fn variables(
        mut self,
        lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.lookup = Box::new(lookup);
        self
    }

    /// Sets how servers are started, limited and stopped.
    #[cfg(feature = "mcp")]
    pub fn connect_options(mut self, options: ConnectOptions) -> Self {
        self.connect = options;
        self
    }

    /// Leaves out servers that do not start; [`Planwright::missing_servers`] has them.
    #[cfg(feature = "mcp")]
    pub fn without_missing_servers(mut self) -> Self {
        self.missing = Missing::IsLeftOut;
        self
    }

    /// Adds the model that reads the texts of steps with `extract`.
    #[cfg(feature = "planner")]
    pub fn extraction(mut self, extraction: Extraction) -> Self {
        self.extraction = Some(extraction);
        self
    }

    /// Adds a plan that others may run by name.
    pub fn library_plan(mut self, name: impl Into<Arc<str>>, plan: Plan) -> Self {
        self.library.add(name, plan);
        self
    }

    /// Sets the policy for plans. A [configuration](Self::config) applies beside it.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the configuration of a `planwright.toml`: its rules about tools apply beside those of the [policy](Self::policy), its
    /// bounds in place of those of the [options](Self::options), in any order of the calls of this builder.
    #[cfg(feature = "config")]
    pub fn config(mut self, config: Config) -> Self {
        self.rules.config = Some(config);
        self
    }

    /// Pins the tools of MCP servers in `store`. A tool whose definition has changed since it was pinned is listed in the
    /// [warnings](Planwright::warnings), and asks before each call if `policy` says so, until [a person accepts
    /// it](planwright_store::Store::accept_tools).
    #[cfg(feature = "store")]
    pub fn pin_tools(
        mut self,
        store: planwright_store::Store,
        policy: crate::pins::PinPolicy,
    ) -> Self {
        self.rules.pins = Some(Pins { store, policy });
        self
    }

    /// Sets the approver of calls that need a person's consent. Without one, such calls wait, and runs end as waiting.
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// Sets the options of runs that have none of their own.
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Opens everything: starts the servers, all at the same time, and asks them for their tools. Dropping the future
    /// kills those that were started.
    ///
    /// # Errors
    ///
    /// The unreadable file, the first server that does not start, or a function, tool or server that plans could not name: one
    /// without a name or with spaces in it, two of one name, or a function whose parameters are not the fields of an object.
    pub async fn open(self) -> Result<Planwright, Error> {
        #[cfg(feature = "mcp")]
        let tools = self.sources.open(&self.lookup, self.connect).await?;
        #[cfg(not(feature = "mcp"))]
        let tools = self.sources.open().await?;
        #[cfg(feature = "planner")]
        let tools = {
            let mut tools = tools;
            if let Some(extraction) = self.extraction {
                tools.catalog.add_extraction();
                tools.backends.set_extraction(Arc::new(extraction));
            }
            tools
        };
        #[cfg(feature = "mcp")]
        if self.missing == Missing::Fails
            && let Some(failure) = tools.failures().first()
        {
            return Err(Error::Server(failure.clone()));
        }
        let (catalog, notices) = self.rules.apply(&tools.catalog)?;
        let mut open = Open {
            #[cfg(feature = "mcp")]
            connections: tools.connections.map(Arc::new),
            warnings: tools.warnings,
            library: self.library,
            approver: self.approver,
            options: self.options,
            ..Open::of(Tools {
                catalog: Arc::new(catalog),
                backend: Arc::new(tools.backends),
                policy: self.policy,
            })
        };
        open.options.secrets.extend(tools.secrets);
        open.warnings.extend(notices);
        #[cfg(feature = "config")]
        if let Some(config) = self.rules.config {
            open.policy = config.restrict(open.policy);
            open.options.guards = config.guards().clone();
            #[cfg(feature = "store")]
            {
                open.requires_passphrase = config.requires_passphrase();
            }
        }
        Ok(Planwright::with_open(open))
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            sources: ToolSources::default(),
            library: Library::new(),
            policy: Policy::new(),
            approver: Arc::new(Always(Decision::Later)),
            options: RunOptions::default(),
            #[cfg(feature = "mcp")]
            connect: ConnectOptions::default(),
            #[cfg(feature = "mcp")]
            lookup: Box::new(environment),
            #[cfg(feature = "mcp")]
            missing: Missing::Fails,
            rules: Rules::default(),
            #[cfg(feature = "planner")]
            extraction: None,
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("sources", &self.sources)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Rules about tools beside the policy.
#[derive(Default)]
pub(super) struct Rules {
    #[cfg(feature = "config")]
    pub(super) config: Option<Config>,
    #[cfg(feature = "store")]
    pub(super) pins: Option<Pins>,
}

/// The store in which the tools of MCP servers are pinned, and the policy for tools that changed.
#[cfg(feature = "store")]
pub(super) struct Pins {
    pub(super) store: planwright_store::Store,
    pub(super) policy: PinPolicy,
}

impl Rules {
    /// Applies these rules to the tools. Returns them with notices for people.
    #[cfg(feature = "store")]
    pub(super) fn apply(&self, catalog: &Catalog) -> Result<(Catalog, Vec<String>), Error> {
        let Some(pins) = &self.pins else {
            return Ok((self.configured(catalog), Vec::new()));
        };
        let pinning = Pinning {
            store: &pins.store,
            policy: pins.policy,
            accepts_servers: false,
            now: now(),
        };
        let compared = pinning.compare(catalog.tools().map(AsRef::as_ref));
        let verdicts = compared.map_err(StoredRunError::from)?;
        let notices = verdicts.notices().iter().map(ToString::to_string);
        let catalog = verdicts.catalog(catalog, |catalog| self.configured(catalog));
        Ok((catalog, notices.collect()))
    }

    /// Applies these rules to the tools. Returns them with notices for people.
    #[cfg(not(feature = "store"))]
    #[expect(clippy::unnecessary_wraps, reason = "a store may fail")]
    pub(super) fn apply(&self, catalog: &Catalog) -> Result<(Catalog, Vec<String>), Error> {
        Ok((self.configured(catalog), Vec::new()))
    }

    #[cfg_attr(
        not(feature = "config"),
        expect(clippy::unused_self, reason = "there is no configuration")
    )]
    fn configured(&self, catalog: &Catalog) -> Catalog {
        #[cfg(feature = "config")]
        if let Some(config) = &self.config {
            return config.catalog(catalog);
        }
        catalog.clone()
    }
}
