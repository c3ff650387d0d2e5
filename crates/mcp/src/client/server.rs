//! One configured server over all its starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use planwright_core::{Tool, Value};
use planwright_engine::backend::{RetryAdvice, ToolError};
use tokio::sync::Mutex;

use super::connections::ServerFailure;
use super::log::Log;
use super::options::ConnectOptions;
use super::session::{Session, StartError};
use crate::config::ServerConfig;

/// A server, whether it runs or not.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) config: ServerConfig,
    pub(super) log: Arc<Log>,
    options: Arc<ConnectOptions>,
    // Held while the server is started again, so that it is done once for all who wait.
    state: Mutex<State>,
    restarts: AtomicU32,
}

#[derive(Debug)]
enum State {
    /// It was not started yet, or its last start failed.
    Down,
    /// It runs, or has stopped without anybody having noticed.
    Up(Arc<Session>),
    /// It is not to be started any more.
    Closed,
}

impl Server {
    pub(super) fn new(config: ServerConfig, options: Arc<ConnectOptions>) -> Self {
        Self {
            log: Arc::new(Log::new(config.secrets.clone())),
            config,
            options,
            state: Mutex::new(State::Down),
            restarts: AtomicU32::new(0),
        }
    }

    /// Starts the server for the first time: its tools, and what was odd about them.
    pub(super) async fn start(&self) -> Result<(Vec<Tool>, Vec<String>), StartError> {
        let (session, tools) = self
            .within_start_timeout(async {
                let session = self.connect().await?;
                let tools = session.list_tools(&self.config).await?;
                Ok((session, tools))
            })
            .await?;
        *self.state.lock().await = State::Up(Arc::new(session));
        Ok(tools)
    }

    /// The running server. One that stopped is started again, a limited number of times in a row.
    pub(super) async fn session(&self) -> Result<Arc<Session>, ToolError> {
        let name = &self.config.name;
        let mut state = self.state.lock().await;
        match &*state {
            State::Up(session) if !session.is_over() => return Ok(Arc::clone(session)),
            State::Closed => {
                return Err(ToolError {
                    retry: RetryAdvice::Never,
                    ..ToolError::unavailable(format!("the server `{name}` has been stopped"))
                });
            }
            State::Up(_) | State::Down => {}
        }
        let limit = self.options.restart_limit;
        if self.restarts.load(Ordering::Relaxed) >= limit {
            let message = format!("the server `{name}` was started again {limit} times in vain");
            return Err(ToolError {
                retry: RetryAdvice::Never,
                ..self.unavailable(message)
            });
        }
        self.restarts.fetch_add(1, Ordering::Relaxed);
        *state = State::Down;
        match self.within_start_timeout(self.connect()).await {
            Ok(session) => {
                let session = Arc::new(session);
                *state = State::Up(Arc::clone(&session));
                Ok(session)
            }
            Err(error) => Err(self.unavailable(format!(
                "the server `{name}` did not start again: {}",
                error.message
            ))),
        }
    }

    /// The session, if the server runs.
    pub(super) async fn running(&self) -> Option<Arc<Session>> {
        match &*self.state.lock().await {
            State::Up(session) if !session.is_over() => Some(Arc::clone(session)),
            _ => None,
        }
    }

    /// Takes down that a call has succeeded, so that the server may be started again as often as at first.
    pub(super) fn has_worked(&self) {
        self.restarts.store(0, Ordering::Relaxed);
    }

    /// Stops the server for good.
    pub(super) async fn stop(&self) {
        let state = std::mem::replace(&mut *self.state.lock().await, State::Closed);
        if let State::Up(session) = state {
            session.stop(self.options.stop_grace).await;
        }
    }

    /// Why the server is not there, after a start that failed.
    pub(super) fn failure(&self, error: StartError) -> ServerFailure {
        let name = &self.config.name;
        ServerFailure {
            server: Arc::clone(name),
            message: format!("the server `{name}` did not start: {}", error.message),
            help: error.help,
            stderr: self.log.tail(),
        }
    }

    /// A failure on the way to the server, with its last words.
    pub(super) fn unavailable(&self, message: String) -> ToolError {
        let error = ToolError::unavailable(message);
        match self.log.tail() {
            tail if tail.is_empty() => error,
            tail => error.with_data(Value::object([("stderr", Value::from(tail))])),
        }
    }

    async fn connect(&self) -> Result<Session, StartError> {
        Session::start(&self.config, &self.options, &self.log).await
    }

    async fn within_start_timeout<T>(
        &self,
        start: impl Future<Output = Result<T, StartError>>,
    ) -> Result<T, StartError> {
        let limit = self
            .config
            .start_timeout
            .unwrap_or(self.options.start_timeout);
        tokio::time::timeout(limit, start).await.unwrap_or_else(|_| {
            Err(StartError {
                message: format!("it was not ready within {limit:?}"),
                help: "give it more time with `startTimeout`, or run its command by hand and see what it waits for"
                    .to_owned(),
            })
        })
    }
}
