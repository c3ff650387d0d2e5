//! Shared helpers: configurations and calls.

use std::sync::Arc;

use planwright_core::{StepId, Tool, Value};
use planwright_engine::backend::{
    CallClock, CallContext, RetryAdvice, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use planwright_mcp::{ConnectOptions, Connections, ServerConfig, ServersConfig};
use planwright_testkit::fake_server;
use serde_json::json;

/// Configures a fake server `name` that follows `script`.
pub(crate) fn fake(name: &str, script: serde_json::Value) -> ServerConfig {
    let program = fake_server::program().to_str().unwrap();
    ServerConfig::new(name, program, [script.to_string()])
}

/// Connects to `servers` with default options.
pub(crate) async fn connect(servers: impl IntoIterator<Item = ServerConfig>) -> Connections {
    connect_with(servers, ConnectOptions::default()).await
}

/// Connects to `servers`.
pub(crate) async fn connect_with(
    servers: impl IntoIterator<Item = ServerConfig>,
    options: ConnectOptions,
) -> Connections {
    let config = ServersConfig {
        servers: servers.into_iter().collect(),
        ..ServersConfig::default()
    };
    Connections::connect(&config, options).await
}

/// Connects to one fake server `fake` that follows `script` and must start.
pub(crate) async fn connect_fake(script: serde_json::Value) -> Connections {
    let connections = connect([fake("fake", script)]).await;
    assert_eq!(connections.failures(), []);
    connections
}

/// Calls `tool` of `server`.
pub(crate) async fn call(
    connections: &Connections,
    server: &str,
    tool: &str,
    args: serde_json::Value,
) -> Result<ToolOutput, ToolError> {
    let backends = connections.backends();
    backends.call(tool_call(server, tool, args)).await
}

/// Creates a call of `tool` of `server`.
pub(crate) fn tool_call(server: &str, tool: &str, args: serde_json::Value) -> ToolCall {
    ToolCall {
        tool: Arc::new(Tool::new(server, tool)),
        args: Value::from(args),
        context: CallContext::new(StepId::new("step"), "key-1"),
        clock: CallClock::default(),
    }
}

/// Connects to a server with one tool that `does` this, calls it, and describes the outcome.
pub(crate) async fn outcome_of(does: serde_json::Value) -> String {
    let connections = connect_fake(json!({"tools": [{"name": "tool", "does": does}]})).await;
    let outcome = call(&connections, "fake", "tool", json!({"x": 1})).await;
    connections.shutdown().await;
    describe(outcome)
}

/// Describes the outcome of a call in one line.
pub(crate) fn describe(outcome: Result<ToolOutput, ToolError>) -> String {
    match outcome {
        Ok(output) => {
            let mut line = output.value.to_string();
            if let Some(text) = output.text {
                line = format!("{line} text {text:?}");
            }
            if !output.content.is_empty() {
                line = format!("{line} and {}", Value::from(output.content));
            }
            line
        }
        Err(error) => {
            let mut line = format!("{}: {}", error.kind.as_str(), error.message);
            if !error.data.is_null() {
                line = format!("{line} {}", error.data);
            }
            line.push_str(match error.retry {
                RetryAdvice::Never => "",
                RetryAdvice::Uncertain => " (unknown)",
                _ => " (retry)",
            });
            line
        }
    }
}
