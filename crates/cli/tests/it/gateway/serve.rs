//! The gateway as a program.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use planwright_testkit::listening::HttpServerProcess;
use planwright_testkit::wire_client::WireClient;
use serde_json::{Value, json};

/// Upstream servers, as an `mcp.json` in a temporary folder.
pub(crate) struct Behind {
    folder: tempfile::TempDir,
}

impl Behind {
    /// A server for each name, with the program and its arguments.
    pub(crate) fn new(servers: &[(&str, &Path, &[&str])]) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let behind = Self { folder };
        behind.servers(servers);
        behind
    }

    /// Serves these servers, in the format of `mcp.json`.
    pub(crate) fn reaching(servers: &Value) -> Self {
        let behind = Self::new(&[]);
        behind.write(servers);
        behind
    }

    fn write(&self, servers: &Value) {
        let file = json!({"mcpServers": servers}).to_string();
        std::fs::write(self.folder().join("mcp.json"), file).expect("the folder can be written to");
    }

    /// Writes the file of the servers anew.
    pub(crate) fn servers(&self, servers: &[(&str, &Path, &[&str])]) {
        let servers: serde_json::Map<String, Value> = servers
            .iter()
            .map(|(name, program, arguments)| {
                let server = json!({"command": program, "args": arguments});
                ((*name).to_owned(), server)
            })
            .collect();
        self.write(&Value::Object(servers));
    }

    /// The folder of all its files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `planwright serve` in front of these servers, over stdio, with a temporary home.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
        command
            .args(self.arguments(arguments))
            .current_dir(self.folder.path())
            .envs(self.environment());
        command
    }

    /// The same as data, for clients that start it themselves.
    pub(crate) fn launch(&self, arguments: &[&str]) -> Value {
        let program = env!("CARGO_BIN_EXE_planwright").to_owned();
        let line: Vec<String> = std::iter::once(program)
            .chain(self.arguments(arguments))
            .collect();
        let environment: BTreeMap<_, _> = self.environment().into_iter().collect();
        json!({"command": line, "env": environment})
    }

    fn arguments(&self, more: &[&str]) -> Vec<String> {
        let servers = self.folder.path().join("mcp.json").display().to_string();
        let mut arguments = vec!["serve".to_owned(), "--servers".to_owned(), servers];
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        arguments
    }

    fn environment(&self) -> [(&'static str, String); 3] {
        let home = self.folder.path().display();
        [
            ("HOME", home.to_string()),
            ("XDG_DATA_HOME", format!("{home}/data")),
            ("XDG_CONFIG_HOME", format!("{home}/config")),
        ]
    }

    /// Writes the user's own `planwright.toml`.
    pub(crate) fn set(&self, settings: &str) {
        let folder = self.folder.path().join("config/planwright");
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        std::fs::write(folder.join("planwright.toml"), settings).expect("it can be written to");
    }

    /// Makes a token for a client.
    pub(crate) fn token(&self, client: &str) -> String {
        self.run(&["token", "create", client]).trim_end().to_owned()
    }

    /// Runs another command in the same home and returns its output.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.command_of(arguments).output();
        let output = output.expect("the program can be started");
        let data = String::from_utf8_lossy(&output.stdout).into_owned();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {data}{log}");
        data
    }

    /// A further command in the same home.
    pub(crate) fn command_of(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .envs(self.environment());
        command
    }

    /// The gateway over HTTP.
    pub(crate) fn listening(&self, arguments: &[&str]) -> HttpServerProcess {
        let mut command = self.command(&["--listen", "127.0.0.1:0"]);
        command.args(arguments);
        HttpServerProcess::start(command)
    }

    /// A client over stdio that sees all that the gateway sends.
    pub(crate) fn client(
        &self,
        arguments: &[&str],
        revision: &'static str,
        answers: &[(&str, Value)],
    ) -> WireClient {
        WireClient::start(self.command(arguments), revision, answers)
    }
}
