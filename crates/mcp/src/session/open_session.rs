//! A session of a server: its connection, from start to stop, and the observer of a server across its sessions.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Weak};
use std::time::Duration;

use planwright_core::Value;
use rmcp::RoleClient;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::transport::Transport;

use super::caller::{ListKind, UpstreamClient};
use super::error::ServerStartError;
use super::handshake::{HandshakeError, HandshakePlan, ServerInfo, negotiate, supported_revision};
use super::router::{ResponseRouter, ServerMessageHandler};
use super::server_requests::ServerRequestHandler;
use crate::config::{ProgramConfig, ServerConfig, ServerTransport};
use crate::transport::connection::Connection;
use crate::transport::connection::TransportHandle;
#[cfg(feature = "http")]
use crate::transport::http::{HttpFailure, open};
#[cfg(feature = "http")]
use crate::transport::openapi::OpenApiTransport;
use crate::transport::stdio::pipe::PipeTransport;
use crate::transport::stdio::process::Process;
use crate::transport::stdio::stderr_log::StderrLog;
use crate::upstream::ConnectOptions;

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
