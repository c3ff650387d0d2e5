//! The configuration of one server, and its identity: a digest of the transport configuration.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use planwright_core::ServerName;
use planwright_core::text::hex;
use sha2::{Digest, Sha256};

use super::{ConfigProblem, OpenApiConfig};

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
#[derive(Clone)]
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
#[derive(Clone, Debug)]
pub enum ServerTransport {
    /// A child process, reached over its standard input and output.
    Program(ProgramConfig),
    /// A remote server, reached over Streamable HTTP.
    Http(HttpConfig),
    /// An HTTP API with an OpenAPI document, which this process serves as tools.
    OpenApi(OpenApiConfig),
}

impl ServerTransport {
    /// Returns true if one connection may serve several clients, each in its own session.
    pub(crate) fn has_sessions_per_client(&self) -> bool {
        match self {
            Self::Program(_) | Self::OpenApi(_) => false,
            Self::Http(_) => true,
        }
    }
}

/// The command line and environment of a program.
#[derive(Clone, Default)]
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
#[derive(Clone, Default)]
pub struct HttpConfig {
    /// The address of its MCP endpoint.
    pub url: String,
    /// The headers of every request.
    pub headers: Vec<(String, String)>,
    /// The OAuth settings, used only if the server requires a token.
    pub oauth: OauthConfig,
}

/// The OAuth client of an MCP server's authorization server. All fields are optional.
#[derive(Clone, Default)]
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

impl ServerConfig {
    /// Returns the identity of the server: its command or address, and a SHA-256 digest of everything that determines
    /// which server answers. Two entries of the same name with different origins are different servers.
    ///
    /// Secrets are masked, so that a new token does not change the origin. A relative path of an existing file counts
    /// as its absolute path, because the same path in another directory starts another program.
    pub fn origin(&self) -> Arc<str> {
        origin_of(self)
    }

    /// Returns a SHA-256 digest, in hexadecimal digits, of `salt` and of everything that may change the server's list of
    /// tools: its configuration with the secrets, the size and time of the files in its command line, and for a program
    /// the `search_path` and the working directory.
    pub(crate) fn fingerprint(&self, salt: &str, search_path: Option<&OsStr>) -> String {
        let mut parts = OriginDigest {
            digest: Sha256::new(),
            secrets: &[],
        };
        parts.add(salt);
        parts.add(self.protocol.as_deref().unwrap_or_default());
        match &self.reach {
            ServerTransport::Program(program) => {
                parts.program(program);
                parts.add(&search_path.unwrap_or_default().to_string_lossy());
                // It is unknown only if it was removed, and then no relative path leads to a file.
                let here = std::env::current_dir().unwrap_or_default();
                let folder = program.cwd.clone().unwrap_or(here);
                parts.add(&folder.to_string_lossy());
                for word in std::iter::once(&program.command).chain(&program.args) {
                    parts.files(&folder, word);
                }
            }
            ServerTransport::Http(http) => {
                parts.http(http);
            }
            ServerTransport::OpenApi(api) => {
                parts.openapi(api);
                // The list of tools of another document may differ.
                parts.files(Path::new(""), &api.document);
            }
        }
        parts.hex()
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

/// The replacement for a secret, so that a rotated key does not change the identity.
const SECRET: &str = "[redacted]";

/// Returns the identity of `server`, see [`ServerConfig::origin`].
fn origin_of(server: &ServerConfig) -> Arc<str> {
    let mut parts = OriginDigest {
        digest: Sha256::new(),
        secrets: &server.secrets,
    };
    let name = match &server.reach {
        ServerTransport::Program(program) => parts.program(program),
        ServerTransport::Http(http) => parts.http(http),
        ServerTransport::OpenApi(api) => parts.openapi(api),
    };
    let name = parts.mask(name);
    format!("{name} sha256:{}", parts.hex()).into()
}

/// A digest of length-prefixed parts, so that different lists of parts never feed the same bytes.
struct OriginDigest<'a> {
    digest: Sha256,
    secrets: &'a [Arc<str>],
}

impl OriginDigest<'_> {
    fn program<'p>(&mut self, program: &'p ProgramConfig) -> &'p str {
        self.add("program");
        let folder = program.cwd.as_deref();
        self.path(folder, &program.command);
        self.count(program.args.len());
        for arg in &program.args {
            self.path(folder, arg);
        }
        self.add(&folder.map_or_else(String::new, |folder| folder.to_string_lossy().into_owned()));
        self.count(program.env.len());
        for (name, value) in &program.env {
            self.add(name);
            // A removed variable differs from an empty one.
            self.count(usize::from(value.is_some()));
            self.add(value.as_deref().unwrap_or_default());
        }
        &program.command
    }

    fn http<'p>(&mut self, http: &'p HttpConfig) -> &'p str {
        self.add("http");
        self.add(&http.url);
        self.headers(&http.headers);
        // The query may contain keys, so the readable part omits it; the digest includes it.
        without_query(&http.url)
    }

    fn openapi<'p>(&mut self, api: &'p OpenApiConfig) -> &'p str {
        self.add("openapi");
        self.path(None, &api.document);
        self.count(usize::from(api.base_url.is_some()));
        self.add(api.base_url.as_deref().unwrap_or_default());
        self.headers(&api.headers);
        without_query(&api.document)
    }

    fn headers(&mut self, headers: &[(String, String)]) {
        self.count(headers.len());
        for (name, value) in headers {
            self.add(name);
            self.add(value);
        }
    }

    /// Adds a word of a command line; a relative path of an existing file counts as its absolute path.
    fn path(&mut self, folder: Option<&Path>, word: &str) {
        let whole = folder.map_or_else(|| PathBuf::from(word), |folder| folder.join(word));
        let is_relative_file = Path::new(word).is_relative() && whole.is_file();
        match std::path::absolute(&whole) {
            Ok(absolute) if is_relative_file => self.add(&absolute.to_string_lossy()),
            _ => self.add(word),
        }
    }

    /// Adds the size and the time of the files that a word of a command line may name: `FILE`, `--option=FILE`, `@FILE`.
    fn files(&mut self, folder: &Path, word: &str) {
        let last = word.rsplit(['=', '@']).next().unwrap_or_default();
        for path in [word, last] {
            if let Ok(found) = folder.join(path).metadata()
                && found.is_file()
            {
                let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                let age = modified.duration_since(SystemTime::UNIX_EPOCH);
                self.add(&format!("{} {:?}", found.len(), age.unwrap_or_default()));
            }
        }
    }

    /// Returns the digest in hexadecimal digits.
    fn hex(self) -> String {
        hex(&self.digest.finalize())
    }

    fn add(&mut self, text: &str) {
        let text = self.mask(text);
        self.count(text.len());
        self.digest.update(text);
    }

    fn count(&mut self, count: usize) {
        self.digest.update((count as u64).to_le_bytes());
    }

    fn mask(&self, text: &str) -> String {
        let secrets = self.secrets.iter().filter(|secret| !secret.is_empty());
        secrets.fold(text.to_owned(), |text, secret| {
            text.replace(&**secret, SECRET)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HttpConfig, ProgramConfig, ServerConfig};

    fn program(change: impl FnOnce(&mut ProgramConfig)) -> String {
        let mut program = ProgramConfig {
            command: "node".into(),
            args: vec!["server.js".into()],
            env: vec![("MODE".into(), Some("safe".into()))],
            cwd: Some("/srv".into()),
        };
        change(&mut program);
        ServerConfig::program("files", program).origin().to_string()
    }

    fn http(url: &str) -> String {
        let http = HttpConfig {
            url: url.into(),
            ..HttpConfig::default()
        };
        ServerConfig::http("files", http).origin().to_string()
    }

    #[test]
    fn another_program_is_another_origin() {
        let mut origins = vec![
            program(|_| {}),
            program(|program| program.command = "deno".into()),
            program(|program| program.args.push("--all".into())),
            program(|program| program.args = vec!["server.jsx".into()]),
            program(|program| program.cwd = None),
            program(|program| program.env.clear()),
            program(|program| program.env[0].1 = None),
            program(|program| program.env[0].1 = Some("unsafe".into())),
            http("https://one.example/mcp"),
            http("https://one.example/mcp?key=1"),
            http("https://two.example/mcp"),
        ];
        assert!(origins[0].starts_with("node sha256:"), "{}", origins[0]);
        assert!(origins[9].starts_with("https://one.example/mcp sha256:"));
        let count = origins.len();
        origins.sort();
        origins.dedup();
        assert_eq!(origins.len(), count);
    }

    #[test]
    fn a_new_secret_is_no_other_origin() {
        let with = |secret: &str| {
            let program = ProgramConfig {
                command: "node".into(),
                env: vec![("TOKEN".into(), Some(secret.to_owned()))],
                ..ProgramConfig::default()
            };
            let mut server = ServerConfig::program("files", program);
            server.secrets = vec![secret.into()];
            server.origin()
        };
        assert_eq!(with("first-token"), with("second-token"));
    }

    #[test]
    fn a_relative_file_counts_by_its_absolute_path() {
        let folder = tempfile::tempdir().unwrap();
        let origin = || program(|program| program.cwd = Some(folder.path().into()));
        let before = origin();
        std::fs::write(folder.path().join("server.js"), "").unwrap();
        assert_ne!(origin(), before);
    }
}
