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

/// How one server is started over stdio.
#[derive(Clone)]
pub struct ServerConfig {
    /// The name that plans call it by.
    pub name: Arc<str>,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables that it gets on top of the inherited ones; one without a value is taken away.
    pub env: Vec<(String, Option<String>)>,
    /// The folder that it runs in; that of this process where there is none.
    pub cwd: Option<PathBuf>,
    /// Whether what it says about the effects of its tools is believed.
    pub trusted: bool,
    /// The longest that one call of its tools may take.
    pub timeout: Option<Duration>,
    /// The longest that its start may take.
    pub start_timeout: Option<Duration>,
    /// Values that must not be repeated in a message, such as keys and tokens.
    pub secrets: Vec<Arc<str>>,
}

impl ServerConfig {
    /// A server `name` that the program `command` is.
    pub fn new(name: impl Into<Arc<str>>, command: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            command: command.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            trusted: false,
            timeout: None,
            start_timeout: None,
            secrets: Vec::new(),
        }
    }
}

impl fmt::Debug for ServerConfig {
    /// Arguments and environment values are left out: they may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ServerConfig")
            .field("name", &self.name)
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &variables)
            .field("cwd", &self.cwd)
            .field("trusted", &self.trusted)
            .finish_non_exhaustive()
    }
}
