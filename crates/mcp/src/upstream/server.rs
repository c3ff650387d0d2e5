//! A configured server across its starts, and the tool backend of the engine that calls it.
//!
//! Design: [A failed server is restarted on demand](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#a-failed-server-is-restarted-on-demand).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, try_join_all};
use planwright_core::{Object, Value};
use planwright_engine::backend::{
    ErrorKind, RetryAdvice, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::options::{ConnectOptions, ServerFailure};
use super::tasks;
use crate::config::ServerConfig;
use crate::object::{with, without};
use crate::session::caller::Caller;
use crate::session::error::{ServerStartError, UpstreamError};
use crate::session::lists::ServerToolList;
use crate::session::open_session::{ClientContext, ServerObserver, ServerRequestHandler, Session};
use crate::session::router::RequestError;
use crate::transport::stdio::stderr_log::StderrLog;

/// The `_meta` field that carries the idempotency key of a call.
const IDEMPOTENCY_KEY: &str = "planwright/idempotency-key";

/// The maximum number of rounds in which a server requests input or postpones a call.
const MAX_ROUNDS: u32 = 10;

/// The initial pause before a postponed call is sent again; it doubles with each round.
const INITIAL_PAUSE: Duration = Duration::from_millis(20);

const MAX_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) log: Arc<StderrLog>,
    pub(crate) options: Arc<ConnectOptions>,
    context: OnceLock<ClientContext>,
    /// The tools in the newest list that are called as tasks only.
    tools_with_tasks: Mutex<HashSet<Arc<str>>>,
    // Held for single accesses only, never across an await.
    state: Mutex<ServerState>,
}

#[derive(Debug, Default)]
struct ServerState {
    phase: ServerPhase,
    last_start: Option<Instant>,
    /// The number of restarts since the last successful call.
    restarts: u32,
}

#[derive(Debug, Default)]
enum ServerPhase {
    /// Not started yet, or the last start failed.
    #[default]
    Stopped,
    /// Starting; the future is shared by all waiting callers.
    Starting(Starting),
    /// Running, unless the session is closed, which is noticed at its next use.
    Running(Arc<Session>),
    Closed,
}

/// A start in progress. It continues without waiting callers until the server itself is dropped.
type Starting = Shared<BoxFuture<'static, Result<Arc<Session>, ServerStartError>>>;

impl Server {
    pub(crate) fn new(config: ServerConfig, options: Arc<ConnectOptions>) -> Self {
        Self {
            log: Arc::new(StderrLog::new(config.secrets.clone())),
            config: Arc::new(config),
            options,
            context: OnceLock::new(),
            tools_with_tasks: Mutex::default(),
            state: Mutex::default(),
        }
    }

    /// Sets the client and observer. Only the first call has an effect.
    pub(crate) fn set_context(&self, context: ClientContext) {
        self.context.get_or_init(|| context);
    }

    /// Starts the server for the first time, and lists its tools.
    pub(crate) async fn start(&self) -> Result<ServerToolList, ServerStartError> {
        self.state().last_start = Some(Instant::now());
        let start = async {
            let session = self.connect().await?;
            let tools = self.list_tools(&session).await?;
            Ok((session, tools))
        };
        let strays = self.log.stray_count();
        let started = with_timeout(self.start_timeout(), start).await;
        let (session, tools) = started.map_err(|error| self.explained(error, strays))?;
        self.state().phase = ServerPhase::Running(Arc::new(session));
        Ok(tools)
    }

    /// Requests and converts the tools of the server, and stores the list.
    pub(crate) async fn list_tools(
        &self,
        session: &Session,
    ) -> Result<ServerToolList, ServerStartError> {
        let listing = session.list_tools().await?;
        if let Some(lists) = &self.options.tool_lists {
            let version = session.server_info.info.get("version");
            lists.store(&self.config, version.and_then(Value::as_text), &listing);
        }
        let with_tasks = tasks::tools_with_tasks(&listing.entries);
        *self.tools_with_tasks() = with_tasks;
        Ok(listing.read(&self.config))
    }

    /// Returns true if the tool `name` is called as a task only.
    fn needs_task(&self, name: &str) -> bool {
        self.tools_with_tasks().contains(name)
    }

    fn tools_with_tasks(&self) -> MutexGuard<'_, HashSet<Arc<str>>> {
        self.tools_with_tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the server in the background if it is not running and the restart limit allows it.
    pub(crate) fn start_in_background(self: &Arc<Self>) {
        let mut state = self.state();
        let is_down = match &state.phase {
            ServerPhase::Stopped => true,
            ServerPhase::Running(session) => session.is_closed(),
            ServerPhase::Starting(_) | ServerPhase::Closed => false,
        };
        if is_down && self.record_start(&mut state).is_ok() {
            state.phase = ServerPhase::Starting(self.spawn_start());
        }
    }

    /// Returns the session, and starts the server if it is not running. Restarts are limited.
    pub(crate) async fn session(self: &Arc<Self>) -> Result<Arc<Session>, ToolError> {
        let name = &self.config.name;
        let (starting, is_first) = {
            let mut state = self.state();
            let is_first = state.last_start.is_none();
            match &state.phase {
                ServerPhase::Running(session) if !session.is_closed() => {
                    return Ok(Arc::clone(session));
                }
                ServerPhase::Starting(starting) => (starting.clone(), is_first),
                ServerPhase::Closed => {
                    return Err(ToolError {
                        retry: RetryAdvice::Never,
                        ..ToolError::unavailable(format!("the server `{name}` has been stopped"))
                    });
                }
                ServerPhase::Running(_) | ServerPhase::Stopped => {
                    self.record_start(&mut state)?;
                    // Calls that arrive meanwhile wait for the same start instead of launching a second process.
                    let starting = self.spawn_start();
                    state.phase = ServerPhase::Starting(starting.clone());
                    (starting, is_first)
                }
            }
        };
        starting.await.map_err(|error| {
            let again = if is_first { "" } else { " again" };
            self.unavailable_error(format!(
                "the server `{name}` did not start{again}: {}",
                error.message
            ))
        })
    }

    /// Returns the session if the server is running.
    pub(crate) fn running_session(&self) -> Option<Arc<Session>> {
        match &self.state().phase {
            ServerPhase::Running(session) if !session.is_closed() => Some(Arc::clone(session)),
            ServerPhase::Running(_)
            | ServerPhase::Stopped
            | ServerPhase::Starting(_)
            | ServerPhase::Closed => None,
        }
    }

    /// Records a successful call, which resets the restart limit.
    pub(crate) fn record_success(&self) {
        self.state().restarts = 0;
    }

    pub(crate) async fn stop(&self) {
        // Closed first: a call during the stop must not start the server anew.
        let phase = std::mem::replace(&mut self.state().phase, ServerPhase::Closed);
        if let ServerPhase::Running(session) = phase {
            session.stop(self.options.stop_grace).await;
        }
    }

    /// Returns the failure of a start, with the end of the standard error output.
    pub(crate) fn failure(&self, error: ServerStartError) -> ServerFailure {
        let name = &self.config.name;
        ServerFailure {
            server: name.clone(),
            message: format!("the server `{name}` did not start: {}", error.message),
            help: error.help,
            stderr: self.log.tail(),
        }
    }

    /// Returns a transport failure, with the end of the standard error output.
    fn unavailable_error(&self, message: String) -> ToolError {
        let error = ToolError::unavailable(message);
        match self.log.tail() {
            tail if tail.is_empty() => error,
            tail => error.with_data(Value::object([("stderr", Value::from(tail))])),
        }
    }

    /// Returns a function that explains why a request that is sent now may get no answer: the server wrote something else in its place.
    pub(crate) fn silence(&self) -> impl Fn() -> Option<String> + Clone + Send + 'static {
        let (config, log) = (Arc::clone(&self.config), Arc::clone(&self.log));
        let count = log.stray_count();
        move || {
            Some(format!(
                "the server `{}` {}",
                config.name,
                log.stray_since(count)?
            ))
        }
    }

    /// Adds the last line of the server that was no message to an error, if there is one after the first `count` ones.
    fn with_stray(&self, reason: String, count: u64) -> String {
        match self.log.stray_since(count) {
            None => reason,
            Some(stray) => format!("{reason}; it {stray}"),
        }
    }

    /// Returns the failure of a request that the server did not answer.
    pub(crate) async fn no_answer_error(
        &self,
        session: &Session,
        reason: Option<String>,
    ) -> ToolError {
        let reason = match reason {
            Some(reason) => reason,
            None => self.with_stray(session.close_reason().await, 0),
        };
        let name = &self.config.name;
        self.lost_error(format!("the server `{name}` did not answer: {reason}"))
    }

    /// Returns a failure with an unknown outcome: the request was sent and may have been carried out.
    pub(crate) fn lost_error(&self, message: String) -> ToolError {
        ToolError {
            retry: RetryAdvice::Uncertain,
            ..self.unavailable_error(message)
        }
    }

    /// Returns the failure of a request that did not reach the server.
    pub(crate) fn unsent_error(&self, reason: &str) -> ToolError {
        let name = &self.config.name;
        self.unavailable_error(format!("the server `{name}` was not reached: {reason}"))
    }

    /// Converts a request error for a caller that passes requests through.
    pub(crate) async fn error(&self, session: &Session, error: RequestError) -> UpstreamError {
        match error {
            RequestError::Refused(error) => error,
            RequestError::Unreadable(reason) => {
                self.lost_error(self.unreadable_message(&reason)).into()
            }
            RequestError::Unsent(reason) => self.unsent_error(&reason).into(),
            RequestError::Lost(reason) => self.no_answer_error(session, reason).await.into(),
        }
    }

    /// Returns the message about an unreadable response.
    pub(crate) fn unreadable_message(&self, reason: &str) -> String {
        let name = &self.config.name;
        format!("the answer of the server `{name}` cannot be read: {reason}")
    }

    pub(crate) fn start_timeout(&self) -> Duration {
        let configured = self.config.start_timeout;
        configured.unwrap_or(self.options.start_timeout)
    }

    /// Records a start, or fails if the restart limit is reached.
    fn record_start(&self, state: &mut ServerState) -> Result<(), ToolError> {
        let now = Instant::now();
        // The first start is not a restart and does not count.
        let Some(last) = state.last_start.replace(now) else {
            return Ok(());
        };
        let limit = self.options.restart_limit;
        // Most servers crash only once, so the first restarts are immediate.
        if state.restarts < limit {
            state.restarts += 1;
            return Ok(());
        }
        let retry = match self.options.restart_pause {
            None => RetryAdvice::Never,
            Some(pause) => match pause.checked_sub(now - last) {
                None | Some(Duration::ZERO) => return Ok(()),
                Some(rest) => RetryAdvice::After(rest),
            },
        };
        // A refused start must not extend the pause.
        state.last_start = Some(last);
        let name = &self.config.name;
        let message = format!("the server `{name}` was restarted {limit} times without success");
        Err(ToolError {
            retry,
            ..self.unavailable_error(message)
        })
    }

    fn spawn_start(self: &Arc<Self>) -> Starting {
        // Weak, so that a start in progress does not keep a dropped server alive.
        let server = Arc::downgrade(self);
        let start = self.connect();
        let limit = self.start_timeout();
        let strays = self.log.stray_count();
        if let Some(observer) = self.observer() {
            observer.on_starting();
        }
        // The start runs in a separate task, because later callers need the server even if the first one stops waiting.
        let task = tokio::spawn(async move {
            let outcome = with_timeout(limit, start).await.map(Arc::new);
            match server.upgrade() {
                Some(server) => {
                    server.finish_start(outcome.map_err(|error| server.explained(error, strays)))
                }
                None => Err(ServerStartError::stopped()),
            }
        });
        let abort = AbortOnDrop(task.abort_handle());
        let starting = async move {
            let _abort = abort;
            task.await
                .unwrap_or_else(|_| Err(ServerStartError::stopped()))
        };
        starting.boxed().shared()
    }

    /// Adds the last line of the server that was no message to the error of a start that began after the first `strays` ones.
    fn explained(&self, error: ServerStartError, strays: u64) -> ServerStartError {
        ServerStartError {
            message: self.with_stray(error.message, strays),
            ..error
        }
    }

    fn finish_start(
        &self,
        outcome: Result<Arc<Session>, ServerStartError>,
    ) -> Result<Arc<Session>, ServerStartError> {
        let mut state = self.state();
        // The server was stopped during its start; dropping the session ends its process.
        if matches!(state.phase, ServerPhase::Closed) {
            return Err(ServerStartError::stopped());
        }
        let before = std::mem::replace(
            &mut state.phase,
            match &outcome {
                Ok(session) => ServerPhase::Running(Arc::clone(session)),
                Err(_) => ServerPhase::Stopped,
            },
        );
        drop(state);
        drop(before);
        if let Some(observer) = self.observer() {
            match &outcome {
                Ok(session) => observer.on_started(session),
                Err(error) => observer.on_failed(error),
            }
        }
        outcome
    }

    /// Returns the future of a start, which does not keep the server alive.
    fn connect(&self) -> impl Future<Output = Result<Session, ServerStartError>> + Send + 'static {
        let config = Arc::clone(&self.config);
        let options = Arc::clone(&self.options);
        let log = Arc::clone(&self.log);
        let context = self.context.get().cloned().unwrap_or_default();
        async move { Session::start(&config, &options, &log, context).await }
    }

    fn observer(&self) -> Option<Arc<dyn ServerObserver>> {
        let context = self.context.get()?;
        context.observer.as_ref().and_then(Weak::upgrade)
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn with_timeout<T>(
    limit: Duration,
    start: impl Future<Output = Result<T, ServerStartError>>,
) -> Result<T, ServerStartError> {
    let outcome = tokio::time::timeout(limit, start).await;
    outcome.unwrap_or_else(|_| Err(ServerStartError::timed_out(limit)))
}

/// A guard that aborts a task when dropped.
#[derive(Debug)]
pub(crate) struct AbortOnDrop(pub(crate) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Debug)]
pub(super) struct ServerBackend {
    pub(super) server: Arc<Server>,
    caller: Option<Arc<dyn Caller>>,
}

impl ServerBackend {
    /// Creates a backend whose calls are made for `caller`, which receives the server's requests and notifications.
    pub(crate) fn new(server: Arc<Server>, caller: Option<Arc<dyn Caller>>) -> Self {
        Self { server, caller }
    }

    /// Repeats the call until the result is complete. The caller answers input requests in between.
    async fn call_until_complete(
        &self,
        session: &Session,
        call: &ToolCall,
    ) -> Result<Value, ToolError> {
        let mut params = call_params(call)?;
        let mut pause = INITIAL_PAUSE;
        for _ in 0..MAX_ROUNDS {
            let result = self.send(session, call, "tools/call", &params).await?;
            match result_kind(&result, session.server_info.is_stateless) {
                ResultKind::Complete => return self.complete(result),
                ResultKind::InputRequired => {}
                ResultKind::Unknown(kind) => {
                    return Err(self.server.lost_error(format!(
                        "the server `{}` answered with a result of the kind `{kind}`, which was not requested",
                        self.server.config.name
                    )));
                }
            }
            let caller = self.caller.as_ref();
            // The time that a person takes does not count towards the timeout.
            let pause_of_clock = call.clock.pause();
            let responses = send_input_requests(&result, &session.server_requests, caller).await?;
            drop(pause_of_clock);
            // Each round carries only the latest responses and state.
            params = without(&params, &["inputResponses", "requestState"]);
            if responses.is_empty() {
                // Without requests, the server has postponed the call.
                tokio::time::sleep(pause).await;
                pause = MAX_PAUSE.min(pause * 2);
            } else {
                params = with(&params, "inputResponses", responses.into());
            }
            if let Some(state) = result.get("requestState") {
                params = with(&params, "requestState", state.clone());
            }
        }
        let message = format!("the tool asked for more input {MAX_ROUNDS} times");
        Err(ToolError {
            // The server received the call in every round and may have done a part of it.
            retry: RetryAdvice::Uncertain,
            ..ToolError::tool(message, Value::Null)
        })
    }

    /// Sends a request of the call once. Progress restarts the clock of the call, requests to people pause it.
    pub(super) async fn send(
        &self,
        session: &Session,
        call: &ToolCall,
        method: &str,
        params: &Value,
    ) -> Result<Value, ToolError> {
        call.clock.restart();
        let (caller, clock) = (self.caller.as_ref(), Some(&call.clock));
        let request = session.request(method, params, caller, clock);
        let silence = self.server.silence();
        call.clock.explain_silence(silence.clone());
        let response = match self.server.config.timeout {
            None => request.await,
            Some(limit) => tokio::select! {
                response = request => response,
                () = call.clock.exceeds(limit) => {
                    let reason = silence().map_or_else(String::new, |reason| format!(": {reason}"));
                    let message = format!("`{}` took longer than {limit:?}{reason}", call.tool.name);
                    return Err(ToolError {
                        // The server may still carry out the call.
                        retry: RetryAdvice::Uncertain,
                        ..ToolError::new(ErrorKind::Timeout, message)
                    });
                }
            },
        };
        match response {
            Ok(result) => Ok(result),
            Err(error) => Err(self.failure(session, error).await),
        }
    }

    pub(super) fn complete(&self, result: Value) -> Result<Value, ToolError> {
        if result.as_object().is_some() {
            return Ok(result);
        }
        Err(self.server.lost_error(format!(
            "the server `{}` answered with a {} instead of the result of a tool",
            self.server.config.name,
            result.kind()
        )))
    }

    /// Converts a failed request for the engine:
    ///
    /// | cause | kind | carried out? |
    /// | --- | --- | --- |
    /// | error -32602 | arguments | no |
    /// | error about a timeout, a cancellation or a lost connection | tool | unknown |
    /// | any other error | tool | no |
    /// | request not sent, or refused before it was carried out | transport | no |
    /// | unreadable response | transport | unknown |
    /// | connection lost before the response | transport | unknown |
    ///
    /// The engine retries a call on its own only if it was not carried out.
    async fn failure(&self, session: &Session, error: RequestError) -> ToolError {
        match error {
            RequestError::Refused(error) => rejection(error),
            RequestError::Unreadable(reason) => self
                .server
                .lost_error(self.server.unreadable_message(&reason)),
            RequestError::Unsent(reason) => self.server.unsent_error(&reason),
            RequestError::Lost(reason) => self.server.no_answer_error(session, reason).await,
        }
    }
}

enum ResultKind {
    Complete,
    InputRequired,
    /// A kind that this client does not support: the call may be running or done.
    Unknown(String),
}

/// Returns the kind of a result. A server may request input by a result only if its revision supports that
/// (`asks_by_results`), and only if it requests anything, because each further round repeats the call.
fn result_kind(result: &Value, asks_by_results: bool) -> ResultKind {
    match result.get("resultType") {
        None | Some(Value::Null) => ResultKind::Complete,
        Some(Value::Text(kind)) if &**kind == "complete" => ResultKind::Complete,
        Some(Value::Text(kind))
            if &**kind == "input_required" && asks_by_results && requests_input(result) =>
        {
            ResultKind::InputRequired
        }
        Some(Value::Text(kind)) => ResultKind::Unknown(kind.to_string()),
        Some(other) => ResultKind::Unknown(other.to_json()),
    }
}

/// Returns true if a result of the kind `input_required` has requests or a state to send back.
pub(crate) fn requests_input(result: &Value) -> bool {
    let requests = result.get("inputRequests").and_then(Value::as_object);
    requests.is_some_and(|requests| !requests.is_empty())
        || result
            .get("requestState")
            .and_then(Value::as_text)
            .is_some()
}

impl ToolBackend for ServerBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let session = self.server.session().await?;
            let is_task = self.server.needs_task(&call.tool.name) && tasks::accepts_tasks(&session);
            let result = if is_task {
                self.call_as_task(&session, &call).await?
            } else {
                self.call_until_complete(&session, &call).await?
            };
            self.server.record_success();
            ToolOutput::from_call_result(&result)
        })
    }
}

pub(super) fn call_params(call: &ToolCall) -> Result<Value, ToolError> {
    if call.args.as_object().is_none() {
        let message = format!(
            "the arguments of `{}` must be an object, not a {}",
            call.tool.name,
            call.args.kind()
        );
        return Err(ToolError::new(ErrorKind::Arguments, message));
    }
    let key = Value::Text(call.context.idempotency_key());
    Ok(Value::object([
        ("name", Value::Text(Arc::clone(&call.tool.name))),
        ("arguments", call.args.clone()),
        ("_meta", Value::object([(IDEMPOTENCY_KEY, key)])),
    ]))
}

fn rejection(error: UpstreamError) -> ToolError {
    let (kind, retry) = match error.code {
        UpstreamError::INVALID => (ErrorKind::Arguments, RetryAdvice::Never),
        _ if error.is_uncertain() => (ErrorKind::Tool, RetryAdvice::Uncertain),
        _ => (ErrorKind::Tool, RetryAdvice::Never),
    };
    let mut data = vec![("code", Value::from(error.code))];
    if let Some(more) = error.data {
        data.push(("data", more));
    }
    ToolError {
        retry,
        ..ToolError::new(kind, error.message).with_data(Value::object(data))
    }
}

/// Sends the input requests of `result` to the caller, concurrently, and returns the responses. Without a caller, an
/// elicitation is cancelled, and any other request fails.
async fn send_input_requests(
    result: &Value,
    server_requests: &ServerRequestHandler,
    caller: Option<&Arc<dyn Caller>>,
) -> Result<Object, ToolError> {
    let requests = result.get("inputRequests").and_then(Value::as_object);
    let responses = requests.into_iter().flatten().map(async |(key, request)| {
        let method = request.get("method").and_then(Value::as_text);
        let method = method.unwrap_or("something unknown");
        let params = request.get("params").cloned().unwrap_or_default();
        let response = match caller {
            Some(caller) if server_requests.supports(method) => {
                caller.ask(method, params.clone()).await.ok()
            }
            _ => None,
        };
        match response {
            Some(response) => Ok((Arc::clone(key), response)),
            // MCP defines a way not to answer for elicitations only.
            None if method == "elicitation/create" => {
                Ok((Arc::clone(key), server_requests.cancel_elicitation(&params)))
            }
            None => {
                let message = format!("the tool asks for `{method}`, which is not offered");
                Err(ToolError::tool(message, Value::Null))
            }
        }
    });
    Ok(try_join_all(responses).await?.into_iter().collect())
}
