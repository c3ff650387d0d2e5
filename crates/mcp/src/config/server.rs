//! The configuration of one server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::ServerName;

use super::problem::ConfigProblem;

/// The servers of one `mcp.json`.
#[derive(Clone, Debug, Default)]
pub struct ServersConfig {
    /// The valid servers, in the order of the file.
    pub servers: Vec<ServerConfig>,
    /// The names of the servers that the file disables.
    pub disabled: Vec<ServerName>,
    /// The problems of servers that cannot be started. They do not affect the other servers.
    pub unusable: Vec<ConfigProblem>,
}

impl ServersConfig {
    /// Returns the names of all servers, including invalid and disabled ones.
    pub fn names(&self) -> impl Iterator<Item = &ServerName> {
        let servers = self.servers.iter().map(|server| &server.name);
        let unusable = self
            .unusable
            .iter()
            .filter_map(|problem| problem.server.as_ref());
        servers.chain(unusable).chain(&self.disabled)
    }
}

/// A server: its transport and its settings.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The name of the server in plans.
    pub name: ServerName,
    /// The transport of the server.
    pub reach: ServerTransport,
    /// True if the server's annotations about the effects of its tools are trusted.
    pub trusted: bool,
    /// The timeout of one call of its tools.
    pub timeout: Option<Duration>,
    /// The timeout of its start.
    pub start_timeout: Option<Duration>,
    /// The only revision of MCP to negotiate, such as `2025-11-25`. Without it, the revision of the client that the
    /// server is started for is preferred.
    pub protocol: Option<Arc<str>>,
    /// Values that messages must not contain, such as keys and tokens.
    pub secrets: Vec<Arc<str>>,
}

/// The transport of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerTransport {
    /// A child process, reached over its standard input and output.
    Program(ProgramConfig),
    /// A remote server, reached over Streamable HTTP.
    Http(HttpConfig),
    /// An HTTP API with an OpenAPI document, which this process serves as tools.
    OpenApi(OpenApiConfig),
}

impl ServerTransport {
    /// Returns the word for the transport in lists of servers.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Program(_) => "program",
            Self::Http(_) => "http",
            Self::OpenApi(_) => "openapi",
        }
    }

    /// Returns the command line that starts the server, or the address that it is reached at.
    pub fn target(&self) -> String {
        match self {
            Self::Program(program) => {
                let words = std::iter::once(&program.command).chain(&program.args);
                // A word with a zero byte has no form in a shell, and starts no program.
                shlex::try_join(words.map(String::as_str))
                    .unwrap_or_else(|_| program.command.clone())
            }
            Self::Http(http) => http.url.clone(),
            Self::OpenApi(api) => match &api.base_url {
                Some(base) => format!("{} at {base}", api.document),
                None => api.document.clone(),
            },
        }
    }

    /// Returns the settings of a server that a person can log in at, or the reason why there is no login, and a hint.
    ///
    /// # Errors
    ///
    /// The reason, as the rest of a clause that begins with the name of the server.
    pub fn login(&self) -> Result<&HttpConfig, (&'static str, &'static str)> {
        match self {
            Self::Http(http) => Ok(http),
            Self::Program(_) => Err((
                "is a program, which needs no login",
                "pass its keys with `env`",
            )),
            Self::OpenApi(_) => Err((
                "is an API with an OpenAPI document, for which there is no login",
                "pass its keys with `headers`",
            )),
        }
    }

    /// Returns true if the configuration has another meaning in a file of another folder.
    pub fn is_relative(&self) -> bool {
        match self {
            Self::OpenApi(api) => api.is_relative(),
            // The working folder of this process decides for programs, wherever the file is.
            Self::Program(_) | Self::Http(_) => false,
        }
    }

    /// Returns true if one connection may serve several clients, each in its own session.
    pub(crate) fn has_sessions_per_client(&self) -> bool {
        match self {
            Self::Program(_) | Self::OpenApi(_) => false,
            Self::Http(_) => true,
        }
    }
}

/// The command line and environment of a program.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProgramConfig {
    /// The program.
    pub command: String,
    /// The arguments of the command.
    pub args: Vec<String>,
    /// Environment variables in addition to the inherited ones; `None` removes a variable.
    pub env: Vec<(String, Option<String>)>,
    /// The working directory; by default that of this process.
    pub cwd: Option<PathBuf>,
}

/// The address of a remote server and the credentials for it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HttpConfig {
    /// The address of its MCP endpoint.
    pub url: String,
    /// The headers of every request.
    pub headers: Vec<(String, String)>,
    /// The OAuth settings, used only if the server requires a token.
    pub oauth: OauthConfig,
}

/// The document of an HTTP API, and the address and credentials for its calls.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OpenApiConfig {
    /// The path or the address of the document.
    pub document: String,
    /// The address of the API. Without it, the document names the address.
    pub base_url: Option<String>,
    /// The headers of every request.
    pub headers: Vec<(String, String)>,
}

/// The OAuth client of an MCP server's authorization server. All fields are optional.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OauthConfig {
    /// The grant type.
    pub grant: Grant,
    /// The client id; without it, the client registers dynamically.
    pub client_id: Option<String>,
    /// The client secret.
    pub client_secret: Option<String>,
    /// The address of a client metadata document, for authorization servers that accept one instead of a registration.
    pub client_metadata_url: Option<String>,
    /// The scopes to request; by default those that the server declares.
    pub scopes: Vec<String>,
    /// The local port of the redirect address; by default any free port.
    pub callback_port: Option<u16>,
}

/// The OAuth grant type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// A person consents in a browser.
    #[default]
    AuthorizationCode,
    /// The client authenticates with its own id and secret.
    ClientCredentials,
}

impl ServerConfig {
    /// Creates a server `name` that runs `command` with `args`.
    pub fn new<A: Into<String>>(
        name: impl Into<ServerName>,
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

    /// Creates a server `name` that runs `program`.
    pub fn program(name: impl Into<ServerName>, program: ProgramConfig) -> Self {
        Self::with_transport(name.into(), ServerTransport::Program(program))
    }

    /// Creates a server `name` that is reached over Streamable HTTP.
    pub fn http(name: impl Into<ServerName>, http: HttpConfig) -> Self {
        Self::with_transport(name.into(), ServerTransport::Http(http))
    }

    /// Creates a server `name` that serves the HTTP API of an OpenAPI document.
    pub fn openapi(name: impl Into<ServerName>, api: OpenApiConfig) -> Self {
        Self::with_transport(name.into(), ServerTransport::OpenApi(api))
    }

    fn with_transport(name: ServerName, reach: ServerTransport) -> Self {
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

impl OpenApiConfig {
    /// Returns true if the document is at an address.
    pub(crate) fn is_remote(&self) -> bool {
        self.document.starts_with("https://") || self.document.starts_with("http://")
    }

    /// Returns true if the document is at a path from the folder of the file that names it.
    fn is_relative(&self) -> bool {
        !self.is_remote() && Path::new(&self.document).is_relative()
    }

    /// Makes a relative path of the document one from the folder of `file`, which names it. The working folder must not
    /// decide which document gets the credentials of the entry.
    pub(super) fn resolve_from(&mut self, file: &str) {
        let folder = Path::new(file).parent();
        let is_path = !self.is_remote() && !self.document.starts_with("${");
        if let Some(folder) = folder.filter(|_| is_path) {
            // Without the `.` of `./api.yaml`.
            let path: PathBuf = folder.join(&self.document).components().collect();
            self.document = path.to_string_lossy().into_owned();
        }
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
    /// Omits arguments and environment values, which may contain secrets.
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
    /// Omits header values and the query of the address, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("HttpConfig")
            .field("url", &without_query(&self.url))
            .field("headers", &headers)
            .field("oauth", &self.oauth)
            .finish()
    }
}

impl fmt::Debug for OpenApiConfig {
    /// Omits header values and the queries of addresses, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("OpenApiConfig")
            .field("document", &without_query(&self.document))
            .field("base_url", &self.base_url.as_deref().map(without_query))
            .field("headers", &headers)
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

/// Returns an address without its query, which may contain keys.
pub(super) fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}
