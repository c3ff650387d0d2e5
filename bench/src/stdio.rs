//! Calls over stdio: those of a plan, and those of a bare `rmcp` client.

use std::path::PathBuf;
use std::process::Stdio;

use futures::stream::{self, StreamExt};
use planwright_core::Catalog;
use planwright_core::check::CheckedPlan;
use planwright_engine::{Engine, RunStatus};
use planwright_mcp::{ConnectOptions, Connections, ServerConfig, ServersConfig};
use planwright_testkit::{fake_server, real_servers};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use serde_json::json;
use tokio::process::{Child, Command};

use crate::plans;

/// The number of concurrent calls, on both sides.
pub const CONCURRENT_CALLS: usize = 16;

/// An MCP server that receives the calls.
#[derive(Clone, Debug)]
pub struct TestServer {
    program: PathBuf,
    args: Vec<String>,
}

impl TestServer {
    /// Returns a small server written in Rust, which answers at once, so that the clients dominate the cost of a call.
    pub fn quick() -> Self {
        let script = json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]});
        Self {
            program: fake_server::program().to_owned(),
            args: vec![script.to_string()],
        }
    }

    /// Returns the reference server for Node.js.
    pub fn real() -> Self {
        Self {
            program: real_servers::program("mcp-server-everything"),
            args: vec!["stdio".to_owned()],
        }
    }
}

/// Our client, with everything that a plan needs.
#[derive(Debug)]
pub struct PlanClient {
    connections: Connections,
    engine: Engine,
    catalog: Catalog,
}

impl PlanClient {
    /// Starts the server and connects to it.
    ///
    /// # Panics
    ///
    /// If that fails.
    pub async fn connect(server: &TestServer) -> Self {
        let program = server.program.to_string_lossy();
        let server = ServerConfig::new("test", program, server.args.iter().cloned());
        let config = ServersConfig {
            servers: vec![server],
            ..ServersConfig::default()
        };
        let connections = Connections::connect(&config, ConnectOptions::default()).await;
        assert_eq!(connections.failures(), []);
        Self {
            engine: Engine::new(connections.backends()),
            catalog: connections.tools().iter().cloned().collect(),
            connections,
        }
    }

    /// Returns a plan of `calls` independent calls.
    pub fn plan(&self, calls: usize) -> CheckedPlan {
        let steps: Vec<serde_json::Value> = (0..calls)
            .map(|number| {
                let message = format!("call {number}");
                json!({"id": format!("s{number}"), "tool": "echo", "args": {"message": message}})
            })
            .collect();
        plans::checked(
            &json!({"steps": steps, "output": ["s0"]}).to_string(),
            &self.catalog,
        )
    }

    /// Runs a plan.
    ///
    /// # Panics
    ///
    /// If it does not succeed.
    pub async fn run(&self, plan: CheckedPlan) {
        let summary = self.engine.run("run".parse().expect("an id"), plan).await;
        assert_eq!(summary.status, RunStatus::Succeeded);
    }

    /// Stops the server.
    pub async fn close(self) {
        self.connections.shutdown().await;
    }
}

/// A bare `rmcp` client.
#[derive(Debug)]
pub struct RmcpClient {
    service: RunningService<RoleClient, ()>,
    server: Child,
}

impl RmcpClient {
    /// Starts the server and connects to it.
    ///
    /// # Panics
    ///
    /// If that fails.
    pub async fn connect(server: &TestServer) -> Self {
        let mut server = Command::new(&server.program)
            .args(&server.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the server starts");
        let output = server.stdout.take().expect("an output");
        let input = server.stdin.take().expect("an input");
        let service = ().serve((output, input)).await.expect("the server answers");
        Self { service, server }
    }

    /// Makes `calls` calls, [`CONCURRENT_CALLS`] concurrently.
    ///
    /// # Panics
    ///
    /// If one fails.
    pub async fn call(&self, calls: usize) {
        let done = stream::iter(0..calls)
            .map(|number| async move {
                let arguments = json!({"message": format!("call {number}")});
                let params = CallToolRequestParams::new("echo")
                    .with_arguments(arguments.as_object().cloned().unwrap_or_default());
                self.service.call_tool(params).await.expect("an answer")
            })
            .buffer_unordered(CONCURRENT_CALLS)
            .count()
            .await;
        assert_eq!(done, calls);
    }

    /// Stops the server.
    ///
    /// # Panics
    ///
    /// If the connection's task panicked.
    pub async fn close(mut self) {
        self.service.cancel().await.expect("the task ends");
        self.server.wait().await.expect("the server ends");
    }
}
