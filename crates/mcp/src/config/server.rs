//! How one server is started.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::ConfigProblem;

/// The servers of one `mcp.json`.
#[derive(Clone, Debug, Default)]
pub struct ServersConfig {
    /// The servers that can be started, in the order in which the file lists them.
    pub servers: Vec<ServerConfig>,
    /// The names of those that the file switches off.
    pub disabled: Vec<Arc<str>>,
    /// What keeps a server from being started: the others still work.
    pub unusable: Vec<ConfigProblem>,
}

impl ServersConfig {
    /// The names of all servers, also of those that cannot be started or are switched off.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        let servers = self.servers.iter().map(|server| &server.name);
        let unusable = self
            .unusable
            .iter()
            .filter_map(|problem| problem.server.as_ref());
        servers.chain(unusable).chain(&self.disabled)
    }
}

/// One server: how it is reached, and how it is treated.
#[derive(Clone)]
pub struct ServerConfig {
    /// The name that plans call it by.
    pub name: Arc<str>,
    /// How it is reached.
    pub reach: Reach,
    /// Whether what it says about the effects of its tools is believed.
    pub trusted: bool,
    /// The longest that one call of its tools may take.
    pub timeout: Option<Duration>,
    /// The longest that its start may take.
    pub start_timeout: Option<Duration>,
    /// The only revision of MCP to speak with it, such as `2025-11-25`. Without one, the revision of the client that it is started for
    /// is preferred.
    pub protocol: Option<Arc<str>>,
    /// Values that must not be repeated in a message, such as keys and tokens.
    pub secrets: Vec<Arc<str>>,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Reach {
    /// It is a program that is started, and spoken to over its standard input and output.
    Program(ProgramConfig),
    /// It is somewhere else, and spoken to over Streamable HTTP.
    Http(HttpConfig),
}

/// How a program is started.
#[derive(Clone, Default)]
pub struct ProgramConfig {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables that it gets on top of the inherited ones; one without a value is taken away.
    pub env: Vec<(String, Option<String>)>,
    /// The folder that it runs in; that of this process where there is none.
    pub cwd: Option<PathBuf>,
}

/// Where a server is, and how it lets us in.
#[derive(Clone, Default)]
pub struct HttpConfig {
    /// Its address.
    pub url: String,
    /// What is sent along with every message to it.
    pub headers: Vec<(String, String)>,
    /// What is known of us there. It only counts where the server wants a token.
    pub oauth: OauthConfig,
}

/// Who we are to the authorization server of an MCP server. All of it can be left open.
#[derive(Clone, Default)]
pub struct OauthConfig {
    /// Whether a person lets us in, or our own credentials do.
    pub grant: Grant,
    /// Our name there, where one was given out; otherwise we register.
    pub client_id: Option<String>,
    /// The password that belongs to it.
    pub client_secret: Option<String>,
    /// The address of a document that describes us, for servers that take it in place of a registration.
    pub client_metadata_url: Option<String>,
    /// What to ask for; otherwise what the server says is needed.
    pub scopes: Vec<String>,
    /// The port of this machine that people are sent back to; otherwise any that is free.
    pub callback_port: Option<u16>,
}

/// How a token is come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// A person agrees in a browser.
    #[default]
    AuthorizationCode,
    /// Our own name and password are enough.
    ClientCredentials,
}

impl ServerConfig {
    /// A server `name` that the program `command` with its arguments is.
    pub fn new<A: Into<String>>(
        name: impl Into<Arc<str>>,
        command: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let program = ProgramConfig {
            command: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            ..ProgramConfig::default()
        };
        Self::program(name, program)
    }

    /// A server `name` that a program is.
    pub fn program(name: impl Into<Arc<str>>, program: ProgramConfig) -> Self {
        Self::reached(name.into(), Reach::Program(program))
    }

    /// A server `name` that is reached over Streamable HTTP.
    pub fn http(name: impl Into<Arc<str>>, http: HttpConfig) -> Self {
        Self::reached(name.into(), Reach::Http(http))
    }

    fn reached(name: Arc<str>, reach: Reach) -> Self {
        Self {
            name,
            reach,
            trusted: false,
            timeout: None,
            start_timeout: None,
            protocol: None,
            secrets: Vec::new(),
        }
    }
}

impl ServerConfig {
    /// The identity of the server: how it is reached, as its command or address and a SHA-256 over all that decides what
    /// answers there. Two entries of one name with different origins are different servers.
    ///
    /// Secrets do not count, so that a new token is no new server. A relative path of an existing file counts by its absolute
    /// form: the same words in another folder start another program.
    pub fn origin(&self) -> Arc<str> {
        super::origin::of(self)
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("name", &self.name)
            .field("reach", &self.reach)
            .field("trusted", &self.trusted)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ProgramConfig {
    /// Arguments and environment values are left out: they may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ProgramConfig")
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &variables)
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl fmt::Debug for HttpConfig {
    /// The values of headers and the query of the address are left out: they may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        f.debug_struct("HttpConfig")
            .field("url", &url)
            .field("headers", &headers)
            .field("oauth", &self.oauth)
            .finish()
    }
}

impl fmt::Debug for OauthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthConfig")
            .field("grant", &self.grant)
            .field("client_id", &self.client_id)
            .field("has_client_secret", &self.client_secret.is_some())
            .field("client_metadata_url", &self.client_metadata_url)
            .field("scopes", &self.scopes)
            .field("callback_port", &self.callback_port)
            .finish()
    }
}
