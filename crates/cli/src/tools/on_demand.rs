//! A server that starts at its first call. Plans are checked against its stored list of tools, so each call is compared with the list
//! that the running server sends.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use planwright::core::{ServerName, Tool, Value};
use planwright::engine::backend::{CallProgress, RetryAdvice};
use planwright::engine::{Backends, ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};
use planwright::mcp::{ConnectOptions, Connections, ServerFailure, ServersConfig};
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// A server that is not started yet, or was started for a call.
#[derive(Debug)]
pub(super) struct OnDemandServer {
    name: ServerName,
    config: Arc<ServersConfig>,
    options: ConnectOptions,
    /// The digests of the definitions that plans are checked against, by the name of the tool.
    expected: HashMap<Arc<str>, String>,
    started: OnceCell<StartedServer>,
    failed: Mutex<Option<FailedStart>>,
}

/// The last start that failed.
#[derive(Clone, Debug)]
struct FailedStart {
    at: Instant,
    /// The number of starts that failed so far.
    count: u32,
    failure: ServerFailure,
}

/// A server after its start.
#[derive(Debug)]
struct StartedServer {
    connections: Connections,
    backends: Backends,
    /// The digests of the definitions that the server lists now.
    listed: HashMap<Arc<str>, String>,
}

impl OnDemandServer {
    /// Creates the server `name` of `config`. Plans are checked against `tools`.
    pub(super) fn new(
        name: ServerName,
        config: Arc<ServersConfig>,
        options: &ConnectOptions,
        tools: &[Tool],
    ) -> Self {
        Self {
            options: ConnectOptions {
                only: Some(BTreeSet::from([name.clone()])),
                ..options.clone()
            },
            expected: digests(tools),
            name,
            config,
            started: OnceCell::new(),
            failed: Mutex::default(),
        }
    }

    pub(super) fn name(&self) -> &ServerName {
        &self.name
    }

    /// Stops the server if it was started.
    pub(super) async fn close(&self) {
        if let Some(started) = self.started.get() {
            started.connections.shutdown().await;
        }
    }

    /// Returns the running server; starts it first if necessary. Calls that wait for the same start share its outcome. After a failure, a
    /// later call tries again.
    async fn start(&self, call: &ToolCall) -> Result<&StartedServer, ToolError> {
        if let Some(started) = self.started.get() {
            return Ok(started);
        }
        call.clock.report(CallProgress {
            message: Some(format!("starting `{}`", self.name).into()),
            ..CallProgress::default()
        });
        // The start has a separate time limit.
        let _pause = call.clock.pause();
        let asked = Instant::now();
        self.started.get_or_try_init(|| self.try_start(asked)).await
    }

    /// Starts the server for a call that came at `asked`.
    async fn try_start(&self, asked: Instant) -> Result<StartedServer, ToolError> {
        let before = self.last_failure().clone();
        if let Some(failed) = &before
            && (asked <= failed.at || self.exceeds_restart_limit(failed))
        {
            return Err(self.unavailable(failed));
        }
        let connections = Connections::connect(&self.config, self.options.clone()).await;
        if let Some(failure) = connections.failures().first() {
            let failed = FailedStart {
                at: Instant::now(),
                count: before.map_or(0, |before| before.count) + 1,
                failure: failure.clone(),
            };
            let error = self.unavailable(&failed);
            *self.last_failure() = Some(failed);
            return Err(error);
        }
        Ok(StartedServer {
            backends: connections.backends(),
            listed: digests(connections.tools()),
            connections,
        })
    }

    fn last_failure(&self) -> MutexGuard<'_, Option<FailedStart>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the number of failed starts has reached the limit.
    fn exceeds_restart_limit(&self, failed: &FailedStart) -> bool {
        failed.count > self.options.restart_limit
    }

    /// Returns the error of a call whose server did not start. The call was not sent.
    fn unavailable(&self, failed: &FailedStart) -> ToolError {
        let error = ToolError {
            retry: if self.exceeds_restart_limit(failed) {
                RetryAdvice::Never
            } else {
                RetryAdvice::Again
            },
            ..ToolError::unavailable(failed.failure.message.clone())
        };
        match failed.failure.stderr.as_str() {
            "" => error,
            stderr => error.with_data(Value::object([("stderr", Value::from(stderr))])),
        }
    }

    /// Returns the reason why the running server must not receive `call`; `None` if it may.
    fn refusal(&self, started: &StartedServer, call: &ToolCall) -> Option<ToolError> {
        let name = &call.tool.name;
        if started.listed.get(name) == self.expected.get(name) {
            return None;
        }
        let change = if started.listed.contains_key(name) {
            format!("lists `{name}` with another definition than the plan was checked against")
        } else {
            format!("no longer lists `{name}`")
        };
        Some(ToolError::new(
            ErrorKind::Unavailable,
            format!(
                "the server `{}` {change}; the next command uses its new list",
                self.name
            ),
        ))
    }
}

impl ToolBackend for OnDemandServer {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let started = self.start(&call).await?;
            match self.refusal(started, &call) {
                Some(error) => Err(error),
                None => started.backends.call(call).await,
            }
        })
    }
}

fn digests(tools: &[Tool]) -> HashMap<Arc<str>, String> {
    let digest = |tool: &Tool| (Arc::clone(&tool.name), tool.definition_digest());
    tools.iter().map(digest).collect()
}
