//! A session of a server: its connection, from start to stop, the requests and notifications that the server sends over it, and the
//! observer of a server across its sessions.
//!
//! Design: [A question of a server is refused while several clients share the connection](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#a-question-of-a-server-is-refused-while-several-clients-share-the-connection).

use std::collections::HashMap;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use planwright_core::{Object, ServerName, Value};
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientJsonRpcMessage, ClientResult, CustomResult, ErrorCode,
    ErrorData, Implementation, RequestId,
};
use rmcp::transport::Transport;
use tokio::task::AbortHandle;

use super::caller::{ListKind, UpstreamClient};
use super::envelope::canonical_id;
use super::error::{ServerStartError, UpstreamError};
use super::handshake::{HandshakeError, HandshakePlan, ServerInfo, negotiate, supported_revision};
use super::in_flight::{InFlight, RequestOwner, progress_of, request_of_token};
use super::router::{RequestError, ResponseRouter, ServerMessageHandler};
use crate::config::{ProgramConfig, ServerConfig, ServerTransport};
use crate::object::{with, without};
use crate::transport::connection::{Connection, TransportHandle, WeakSender};
#[cfg(feature = "http")]
use crate::transport::http::{HttpFailure, open};
#[cfg(feature = "http")]
use crate::transport::openapi::OpenApiTransport;
use crate::transport::stdio::process::{PipeTransport, Process};
use crate::transport::stdio::stderr_log::StderrLog;
use crate::upstream::{ConnectOptions, UnansweredQuestions};

/// The field of notifications that names their subscription.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) router: Arc<ResponseRouter>,
    pub(crate) server_requests: Arc<ServerRequestHandler>,
    pub(crate) identity: ClientIdentity,
    pub(crate) server_info: ServerInfo,
    pub(crate) next_id: AtomicI64,
    handle: TransportHandle,
}

/// The client for whom requests are sent.
#[derive(Debug)]
pub(crate) struct ClientIdentity {
    /// The name and version of the client.
    pub(crate) client: (String, String),
    /// The declared capabilities.
    pub(crate) capabilities: Value,
    /// The revision, if each request must carry it.
    pub(crate) stateless_revision: Option<String>,
}

/// An observer of one server across its starts. Its methods must not block.
pub(crate) trait ServerObserver: std::fmt::Debug + Send + Sync {
    /// Reports that a start begins.
    fn on_starting(&self) {}

    /// Reports a successful start.
    fn on_started(&self, _session: &Arc<Session>) {}

    /// Reports a failed start.
    fn on_failed(&self, _error: &ServerStartError) {}

    /// Reports the end of a connection.
    fn on_disconnected(&self) {}

    /// Reports a changed list.
    fn on_list_changed(&self, kind: ListKind);

    /// Reports that the server has acknowledged a subscription.
    fn on_subscribed(&self) {}

    /// Reports a notification that is unrelated to any request.
    fn on_notification(&self, _method: &str, _params: Value) {}
}

/// The client that a server is connected to for, and the observer of the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientContext {
    pub(crate) client: UpstreamClient,
    pub(crate) observer: Option<Weak<dyn ServerObserver>>,
}

impl Session {
    /// Starts a server and connects to it for a client.
    pub(crate) async fn start(
        config: &ServerConfig,
        options: &ConnectOptions,
        log: &Arc<StderrLog>,
        context: ClientContext,
    ) -> Result<Self, ServerStartError> {
        let program = match &config.reach {
            ServerTransport::Program(program) => program,
            #[cfg(feature = "http")]
            ServerTransport::Http(http) => {
                let router = Arc::default();
                let (transport, handle) = open(&config.name, http, Arc::clone(&router), options)
                    .map_err(ServerStartError::from)?;
                let handle = TransportHandle::Http(handle);
                return Self::connect_over(transport, handle, router, (config, options), context)
                    .await;
            }
            #[cfg(feature = "http")]
            ServerTransport::OpenApi(api) => {
                let router = Arc::default();
                let (transport, note) =
                    OpenApiTransport::open(api, Arc::clone(&router), options).await?;
                let handle = TransportHandle::OpenApi { note };
                return Self::connect_over(transport, handle, router, (config, options), context)
                    .await;
            }
            #[cfg(not(feature = "http"))]
            ServerTransport::Http(_) | ServerTransport::OpenApi(_) => {
                return Err(ServerStartError {
                    message: "its transport is HTTP, but this program was built without HTTP"
                        .to_owned(),
                    help: "build the program with the feature `mcp-http` of `planwright`"
                        .to_owned(),
                });
            }
        };
        let (process, pipes) = Process::start(&config.name, program, options, Arc::clone(log))
            .map_err(|error| ServerStartError::spawn(program, &error))?;
        let transport = PipeTransport::new(
            pipes.stdout,
            pipes.stdin,
            options.message_limit,
            Arc::clone(log),
        );
        let router = transport.router();
        let handle = TransportHandle::Process {
            process,
            problem: transport.problem(),
        };
        Self::connect_over(transport, handle, router, (config, options), context).await
    }

    /// Connects over a `transport` that routes its messages to `router`.
    async fn connect_over<T>(
        mut transport: T,
        handle: TransportHandle,
        router: Arc<ResponseRouter>,
        (config, options): (&ServerConfig, &ConnectOptions),
        context: ClientContext,
    ) -> Result<Self, ServerStartError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let ClientContext { client, observer } = context;
        let plan = match config.protocol.as_deref().and_then(supported_revision) {
            Some(revision) => HandshakePlan::only(revision),
            None => HandshakePlan::preferring(client.receives_requests),
        };
        let capabilities = client.capabilities;
        let (name, version) = options.client.clone();
        let client = ClientConfig::new(
            client_capabilities(&capabilities),
            Implementation::new(name, version),
        );
        let info = match negotiate(&mut transport, &client, plan, handle.fallback_delay()).await {
            Ok(info) => info,
            Err(error) => return Err(ServerStartError::handshake(error, &handle).await),
        };
        let server_info = ServerInfo::take(&router, &info.protocol_version);
        let identity = ClientIdentity {
            client: options.client.clone(),
            capabilities: capabilities.clone(),
            stateless_revision: server_info
                .is_stateless
                .then(|| server_info.revision.to_string()),
        };
        let server_requests = Arc::new(ServerRequestHandler::new(
            config.name.clone(),
            options.unanswered.clone(),
            capabilities,
            observer,
            server_info.is_stateless.then(|| Arc::downgrade(&router)),
        ));
        // Set after the handshake, which needs all messages in `rmcp`'s types.
        let handler: Arc<dyn ServerMessageHandler> = server_requests.clone();
        router.set_handler(handler);
        let connection = Connection::open(transport, Arc::clone(&router), handle.send_failure());
        server_requests.set_sender(connection.sender());
        Ok(Self {
            connection,
            router,
            server_requests,
            identity,
            server_info,
            next_id: AtomicI64::new(0),
            handle,
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Returns the reason why the connection is closed, as one clause.
    pub(crate) async fn close_reason(&self) -> String {
        let end = self.handle.close_reason().await;
        end.unwrap_or_else(|| "it closed the connection".to_owned())
    }

    /// Returns true if tools may require arguments to be repeated in headers.
    pub(crate) fn requires_argument_headers(&self) -> bool {
        self.server_info.is_stateless && self.handle.has_headers()
    }

    /// Returns a hint for a server that does not list its tools.
    pub(crate) fn help(&self) -> String {
        match &self.handle {
            TransportHandle::Process { .. } => "read its standard error output".to_owned(),
            #[cfg(feature = "http")]
            TransportHandle::Http(_) | TransportHandle::OpenApi { .. } => self.handle.help(),
        }
    }

    /// Returns the note about the operations of an API that have no tool.
    pub(crate) fn note(&self) -> Option<&str> {
        self.handle.note()
    }

    /// Closes the connection, then ends the server and its descendants.
    pub(crate) async fn stop(&self, grace: Duration) {
        // Closing ends the server's input, which asks it to exit.
        self.connection.close();
        self.handle.stop(grace).await;
    }
}

impl ServerStartError {
    fn spawn(config: &ProgramConfig, error: &std::io::Error) -> Self {
        let command = &config.command;
        let help = match &config.cwd {
            // The system reports a missing directory like a missing command.
            Some(cwd) if !cwd.is_dir() => format!("the folder `{}` does not exist", cwd.display()),
            _ => format!("install `{command}`, or give its whole path as `command`"),
        };
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => format!("`{command}` was not found"),
            std::io::ErrorKind::PermissionDenied => {
                format!("permission to run `{command}` was denied")
            }
            _ => format!("`{command}` could not be run: {error}"),
        };
        Self { message, help }
    }

    async fn handshake(error: HandshakeError, handle: &TransportHandle) -> Self {
        let message = match error {
            // The exit status of the process says more than the closed pipe.
            HandshakeError::Closed | HandshakeError::Send(_) => handle.close_reason().await,
            HandshakeError::Refused(_) | HandshakeError::Unexpected => handle.problem(),
        };
        Self {
            message: message.unwrap_or_else(|| error.to_string()),
            help: handle.help(),
        }
    }
}

#[cfg(feature = "http")]
impl From<HttpFailure> for ServerStartError {
    fn from(failure: HttpFailure) -> Self {
        Self {
            message: failure.message,
            help: failure.help,
        }
    }
}

/// Converts the capabilities, as far as `rmcp` supports them.
fn client_capabilities(capabilities: &Value) -> ClientCapabilities {
    serde_json::from_value(capabilities.into()).unwrap_or_default()
}

/// Routes server-initiated requests and notifications to the right client, or to the observer of the server.
///
/// Over pipes, messages of a server do not name the request that they relate to (except progress, which has a token). So while
/// requests of several clients are in flight on the connection, such requests are refused and such notifications dropped: a
/// client never sees a message that may belong to another.
#[derive(Debug)]
pub(crate) struct ServerRequestHandler {
    pub(crate) in_flight: InFlight,
    server: ServerName,
    unanswered: UnansweredQuestions,
    capabilities: Value,
    observer: Option<Weak<dyn ServerObserver>>,
    sender: OnceLock<WeakSender>,
    // The router with the subscription requests that the server may end, on stateless sessions.
    subscriptions: Option<Weak<ResponseRouter>>,
    // The tasks that answer pending requests of the server. Held for single accesses only.
    pending: Mutex<HashMap<RequestId, AbortHandle>>,
}

impl ServerRequestHandler {
    /// Creates a handler for a server that was connected to with these `capabilities`. Questions that cannot be answered are added to
    /// `unanswered`.
    pub(crate) fn new(
        server: ServerName,
        unanswered: UnansweredQuestions,
        capabilities: Value,
        observer: Option<Weak<dyn ServerObserver>>,
        subscriptions: Option<Weak<ResponseRouter>>,
    ) -> Self {
        Self {
            in_flight: InFlight::default(),
            server,
            unanswered,
            capabilities,
            observer,
            sender: OnceLock::new(),
            subscriptions,
            pending: Mutex::default(),
        }
    }

    /// Returns the capabilities that were declared to the server.
    pub(crate) fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    pub(crate) fn set_sender(&self, sender: WeakSender) {
        // Each handler has one connection, so this is called once.
        let _ = self.sender.set(sender);
    }

    /// Returns true if the declared capabilities include requests of `method`.
    pub(crate) fn supports(&self, method: &str) -> bool {
        let capability = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => return false,
        };
        let declared = self.capabilities.get(capability);
        declared.is_some_and(|declared| !declared.is_null())
    }

    fn answer(&self, id: RequestId, answer: Result<Value, UpstreamError>) {
        self.pending().remove(&canonical_id(id.clone()));
        if let Some(sender) = self.sender.get() {
            sender.send(match answer {
                Ok(result) => {
                    let result = ClientResult::CustomResult(CustomResult::new(result.into()));
                    ClientJsonRpcMessage::response(result, id)
                }
                Err(error) => ClientJsonRpcMessage::error(error_data(error), Some(id)),
            });
        }
    }

    /// Handles a cancellation: of a pending request, or of a subscription on stateless sessions, in which servers send
    /// no requests.
    fn on_cancelled(&self, id: &RequestId) {
        match &self.subscriptions {
            None => {
                let ask = self.pending().remove(id);
                if let Some(ask) = ask {
                    ask.abort();
                }
            }
            Some(router) => {
                let reason = "the server ended it".to_owned();
                if let Some(router) = router.upgrade() {
                    router.fail(id, RequestError::Lost(Some(reason)));
                }
            }
        }
    }

    /// Returns the response to a request that no client can answer.
    fn default_response(&self, method: &str, params: &Value) -> Result<Value, UpstreamError> {
        match method {
            "elicitation/create" => Ok(self.cancel_elicitation(params)),
            "roots/list" => Ok(Value::object([("roots", Value::list([]))])),
            _ => Err(UpstreamError::new(UpstreamError::UNKNOWN_METHOD, method)),
        }
    }

    /// Returns the response to an elicitation that reached no person. It is not `decline`, because no person has declined.
    pub(crate) fn cancel_elicitation(&self, params: &Value) -> Value {
        tracing::warn!("a server asked a question that no client can answer, so it was cancelled");
        self.unanswered.add(&self.server, params);
        Value::object([("action", Value::from("cancel"))])
    }

    fn observer(&self) -> Option<Arc<dyn ServerObserver>> {
        self.observer.as_ref()?.upgrade()
    }

    fn forward(&self, method: &str, params: Value, related: Option<&RequestId>) {
        match self.in_flight.owner(related) {
            RequestOwner::Client(caller) => caller.notify(method, params),
            RequestOwner::NoClient => self.publish(method, params),
            // A guess could show one client what belongs to another, and the owner of an ended request no longer listens.
            RequestOwner::Ambiguous | RequestOwner::Ended => {}
        }
    }

    fn publish(&self, method: &str, params: Value) {
        if let Some(observer) = self.observer() {
            observer.on_notification(method, params);
        }
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<RequestId, AbortHandle>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerMessageHandler for ServerRequestHandler {
    fn on_request(
        self: Arc<Self>,
        id: RequestId,
        method: &str,
        params: Value,
        related: Option<&RequestId>,
    ) {
        if method == "ping" {
            return self.answer(id, Ok(Value::empty_object()));
        }
        if !self.supports(method) {
            return self.answer(id, self.default_response(method, &params));
        }
        match self.in_flight.owner(related) {
            RequestOwner::NoClient | RequestOwner::Ended => {
                self.answer(id, self.default_response(method, &params));
            }
            RequestOwner::Ambiguous => {
                let message = format!(
                    "requests of several clients are in flight, so the client for `{method}` is unknown"
                );
                self.answer(
                    id,
                    Err(UpstreamError::new(UpstreamError::UNAVAILABLE, message)),
                );
            }
            RequestOwner::Client(caller) => {
                let answer = caller.ask(method, params);
                let pauses = self.in_flight.pause_clocks(related);
                let key = canonical_id(id.clone());
                // The lock is held until the task is in the table, because the task may finish and remove itself at
                // once.
                let mut pending = self.pending();
                let handler = Arc::clone(&self);
                let task = tokio::spawn(async move {
                    let answer = answer.await;
                    drop(pauses);
                    handler.answer(id, answer);
                });
                pending.insert(key, task.abort_handle());
            }
        }
    }

    fn on_notification(&self, method: &str, params: Value, related: Option<&RequestId>) {
        match method {
            // Each request has its own token, so progress always has one owner.
            "notifications/progress" => {
                let id = params.get("progressToken").and_then(request_of_token);
                if let Some(id) = id {
                    self.in_flight.report_progress(id, progress_of(&params));
                }
                if let Some((caller, token)) =
                    id.and_then(|id| self.in_flight.progress_listener(id))
                {
                    caller.notify(method, with(&params, "progressToken", token));
                }
            }
            "notifications/cancelled" => {
                if let Some(id) = params.get("requestId").and_then(request_id) {
                    self.on_cancelled(&id);
                }
            }
            "notifications/subscriptions/acknowledged" => {
                if let Some(observer) = self.observer() {
                    observer.on_subscribed();
                }
            }
            "notifications/resources/updated" => {
                self.publish(method, without_subscription(&params));
            }
            _ => match (ListKind::from_notification(method), self.observer()) {
                (Some(kind), Some(observer)) => observer.on_list_changed(kind),
                (Some(_), None) => {}
                (None, _) => self.forward(method, params, related),
            },
        }
    }

    fn on_close(&self) {
        // Their responses could not be sent any more.
        for (_, ask) in self.pending().drain() {
            ask.abort();
        }
        if let Some(observer) = self.observer() {
            observer.on_disconnected();
        }
    }
}

fn error_data(error: UpstreamError) -> ErrorData {
    let code = i32::try_from(error.code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    ErrorData::new(code, error.message, error.data.map(Into::into))
}

fn request_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::Text(text) => Some(canonical_id(RequestId::String(text.clone()))),
        _ => None,
    }
}

/// Removes the subscription id, which only the server and this client share.
fn without_subscription(params: &Value) -> Value {
    match params.get("_meta") {
        None => params.clone(),
        Some(meta) => match without(meta, &[SUBSCRIPTION_ID]) {
            meta if meta.as_object().is_some_and(Object::is_empty) => without(params, &["_meta"]),
            meta => with(params, "_meta", meta),
        },
    }
}
