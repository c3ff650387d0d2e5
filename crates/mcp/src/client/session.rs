//! One connection to one server, and its requests.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use planwright_core::{Tool, Value};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientCapabilities,
    ClientConfig, ClientNotification, ClientRequest, CustomNotification, CustomRequest, ErrorCode,
    ErrorData, Implementation, JsonObject, ListToolsRequest, PaginatedRequestParams, RequestId,
};
use rmcp::service::{Peer, PeerRequestOptions, RunningService, ServiceError, serve_directly};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient};
use tokio::runtime::Handle;

use super::handshake::{HandshakeError, shake_hands};
use super::link::Link;
use super::log::Log;
use super::mailbox::Mailbox;
use super::options::ConnectOptions;
use super::process::Process;
use super::tools;
use super::transport::PipeTransport;
use crate::config::{ProgramConfig, Reach, ServerConfig};

/// The most pages that a list of tools may have.
const PAGE_LIMIT: usize = 1000;

/// A server that runs and that is connected.
#[derive(Debug)]
pub(super) struct Session {
    service: RunningService<RoleClient, Declining>,
    mailbox: Arc<Mailbox>,
    // A server that takes no messages any more may still hold its output open.
    is_deaf: AtomicBool,
    link: Link,
}

/// Why a server did not start.
#[derive(Debug)]
pub(super) struct StartError {
    pub(super) message: String,
    pub(super) help: String,
}

/// Why a request has no result.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The server refused it.
    Refused(ErrorData),
    /// It did not arrive, or its answer did not: why, in one clause, where that is not told by the connection as a whole.
    Lost(Option<String>),
    /// What came cannot be read.
    Unreadable(String),
}

impl Session {
    /// Starts a server and connects to it.
    pub(super) async fn start(
        config: &ServerConfig,
        options: &ConnectOptions,
        log: &Arc<Log>,
    ) -> Result<Self, StartError> {
        let program = match &config.reach {
            Reach::Program(program) => program,
            Reach::Http(_) => {
                return Err(StartError {
                    message: "it is reached over HTTP, which is not supported yet".to_owned(),
                    help: "put a bridge in between, such as `mcp-remote`".to_owned(),
                });
            }
        };
        let (process, pipes) = Process::start(program, Arc::clone(log))
            .map_err(|error| StartError::spawn(program, &error))?;
        let transport = PipeTransport::new(
            pipes.stdout,
            pipes.stdin,
            options.message_limit,
            Arc::clone(log),
        );
        let mailbox = transport.mailbox();
        let link = Link::process(process, transport.fault());
        Self::over(transport, link, mailbox, options).await
    }

    /// Connects over a `transport` whose results arrive in `mailbox`.
    async fn over<T>(
        mut transport: T,
        link: Link,
        mailbox: Arc<Mailbox>,
        options: &ConnectOptions,
    ) -> Result<Self, StartError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let (name, version) = options.client.clone();
        let client = Declining {
            config: ClientConfig::new(
                ClientCapabilities::default(),
                Implementation::new(name, version),
            ),
        };
        match shake_hands(&mut transport, &client.config, link.patience()).await {
            Ok(info) => Ok(Self {
                service: serve_directly(client, transport, Some(info)),
                mailbox,
                is_deaf: AtomicBool::new(false),
                link,
            }),
            Err(error) => Err(StartError::handshake(error, &link).await),
        }
    }

    /// All tools of the server, and what was odd about them.
    pub(super) async fn list_tools(
        &self,
        config: &ServerConfig,
    ) -> Result<(Vec<Tool>, Vec<String>), StartError> {
        let mut found = Vec::new();
        let mut warnings = Vec::new();
        let mut cursor = None;
        let mut seen = HashSet::new();
        for _ in 0..PAGE_LIMIT {
            let request = cursor
                .take()
                .map_or_else(ListToolsRequest::default, |cursor| {
                    let params = PaginatedRequestParams::default().with_cursor(Some(cursor));
                    ListToolsRequest::with_param(params)
                });
            let page = match self.request(ClientRequest::ListToolsRequest(request)).await {
                Ok(page) => page,
                // A server without tools need not know the request.
                Err(RequestError::Refused(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                    break;
                }
                Err(error) => return Err(self.list_error(error).await),
            };
            found.extend(tools::read(
                &config.name,
                config.trusted,
                &page,
                &mut warnings,
            ));
            match page.get("nextCursor").and_then(Value::as_text) {
                Some(next) if !next.is_empty() && seen.insert(next.to_owned()) => {
                    cursor = Some(next.to_owned());
                }
                _ => break,
            }
        }
        Ok((found, warnings))
    }

    /// Calls the tool `name` and gives its result as it came. Dropping the future cancels the call.
    pub(super) async fn call(&self, params: CallToolRequestParams) -> Result<Value, RequestError> {
        let request = CallToolRequest::new(params);
        self.request(ClientRequest::CallToolRequest(request)).await
    }

    /// Sends any request and gives its result as it came. Dropping the future cancels the request.
    pub(super) async fn request_raw(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<Value, RequestError> {
        let params = (!params.is_null()).then(|| serde_json::Value::from(params));
        let request = CustomRequest::new(method, params);
        self.request(ClientRequest::CustomRequest(request)).await
    }

    /// Tells the server something.
    pub(super) async fn notify(&self, method: &str, params: &Value) {
        let params = (!params.is_null()).then(|| serde_json::Value::from(params));
        let notification = CustomNotification::new(method, params);
        let notification = ClientNotification::CustomNotification(notification);
        // A connection that is gone shows with the next request.
        let _ = self.service.send_notification(notification).await;
    }

    /// Whether the connection is gone.
    pub(super) fn is_over(&self) -> bool {
        self.service.is_transport_closed() || self.is_deaf.load(Ordering::Relaxed)
    }

    /// Why the connection is gone, in one clause.
    pub(super) async fn reason(&self) -> String {
        let end = self.link.end().await;
        end.unwrap_or_else(|| "it closed the connection".to_owned())
    }

    /// Ends the connection and the server, in that order, and leaves nothing behind.
    pub(super) async fn stop(&self, grace: Duration) {
        // Closing takes the server's input away, which tells it to end.
        self.service.cancellation_token().cancel();
        self.link.stop(grace).await;
    }

    async fn request(&self, request: ClientRequest) -> Result<Value, RequestError> {
        let handle = self
            .service
            .send_request_with_option(request, PeerRequestOptions::no_options())
            .await
            .map_err(RequestError::from)?;
        let mut guard = CancelOnDrop {
            peer: self.service.peer(),
            mailbox: &self.mailbox,
            id: Some(handle.id.clone()),
        };
        let response = handle.await_response().await;
        let id = guard.id.take();
        let delivery = id.and_then(|id| self.mailbox.take(&id));
        if let Err(ServiceError::TransportSend(_)) = &response
            && self.link.is_deaf_once_sending_failed()
        {
            self.is_deaf.store(true, Ordering::Relaxed);
        }
        response?;
        match delivery {
            Some(Ok(value)) => Ok(value),
            Some(Err(reason)) => Err(RequestError::Unreadable(reason)),
            None => Err(RequestError::Unreadable("there is no result".to_owned())),
        }
    }

    async fn list_error(&self, error: RequestError) -> StartError {
        let message = match error {
            RequestError::Refused(error) => {
                format!("it does not list its tools: {}", error.message)
            }
            RequestError::Unreadable(reason) => {
                format!("its list of tools cannot be read: {reason}")
            }
            RequestError::Lost(Some(reason)) => reason,
            RequestError::Lost(None) => self.reason().await,
        };
        StartError {
            message,
            help: "see what it wrote on its standard error".to_owned(),
        }
    }
}

impl StartError {
    fn spawn(config: &ProgramConfig, error: &std::io::Error) -> Self {
        let command = &config.command;
        let help = match &config.cwd {
            Some(cwd) if !cwd.is_dir() => format!("the folder `{}` is not there", cwd.display()),
            _ => format!("install `{command}`, or give its whole path as `command`"),
        };
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => format!("`{command}` was not found"),
            std::io::ErrorKind::PermissionDenied => format!("`{command}` may not be run"),
            _ => format!("`{command}` could not be run: {error}"),
        };
        Self { message, help }
    }

    async fn handshake(error: HandshakeError, link: &Link) -> Self {
        let message = match error {
            HandshakeError::Closed | HandshakeError::Send(_) => link.end().await,
            _ => link.fault(),
        };
        Self {
            message: message.unwrap_or_else(|| error.to_string()),
            help: "run its command by hand, and see what it says".to_owned(),
        }
    }
}

impl From<ServiceError> for RequestError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => Self::Refused(error),
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => Self::Lost(None),
            other => Self::Unreadable(other.to_string()),
        }
    }
}

/// Tells the server that nobody waits for a request any more.
struct CancelOnDrop<'a> {
    peer: &'a Peer<RoleClient>,
    mailbox: &'a Mailbox,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        self.mailbox.forget(&id);
        // Without a runtime the connection is gone, and the server with it.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let reason = Some("the caller stopped waiting".to_owned());
            // A lost connection needs no cancellation.
            let _ = peer
                .notify_cancelled(CancelledNotificationParam::new(Some(id), reason))
                .await;
        });
    }
}

/// A client that offers nothing to servers: it declines what they ask of it.
#[derive(Debug)]
struct Declining {
    config: ClientConfig,
}

impl ClientHandler for Declining {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }
}

/// The arguments of a call as `rmcp` takes them.
pub(super) fn arguments(value: &Value) -> Option<JsonObject> {
    match serde_json::Value::from(value) {
        serde_json::Value::Object(fields) => Some(fields),
        _ => None,
    }
}
