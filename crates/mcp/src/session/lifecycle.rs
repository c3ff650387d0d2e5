//! A session of a server: its connection, from start to stop.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use planwright_core::Value;
use rmcp::RoleClient;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::transport::Transport;

use super::handshake as revision;
use super::handshake::{HandshakeError, HandshakePlan, ServerInfo, shake_hands};
use super::observer::Counterpart;
use super::request::Identity;
use super::router::Mailbox;
use super::server_requests::{Desk, Hearing};
use crate::config::{ProgramConfig, Reach, ServerConfig};
use crate::transport::connection::{Connection, SendFailure};
use crate::transport::handle::Link;
use crate::transport::http::{HttpFailure, open};
use crate::transport::stdio::log::Log;
use crate::transport::stdio::pipe::PipeTransport;
use crate::transport::stdio::process::Process;
use crate::upstream::ConnectOptions;

/// A started and connected server.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) identity: Identity,
    pub(crate) greeting: ServerInfo,
    pub(crate) next_id: AtomicI64,
    link: Link,
}

/// The reason why a server did not start.
#[derive(Clone, Debug)]
pub(crate) struct StartError {
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Session {
    /// Starts a server and connects to it for a client.
    pub(crate) async fn start(
        config: &ServerConfig,
        options: &ConnectOptions,
        log: &Arc<Log>,
        counterpart: Counterpart,
    ) -> Result<Self, StartError> {
        let program = match &config.reach {
            Reach::Program(program) => program,
            Reach::Http(http) => {
                let mailbox = Arc::default();
                let (transport, link) = open(&config.name, http, Arc::clone(&mailbox), options)
                    .map_err(StartError::from)?;
                let link = Link::Http(link);
                return Self::over(transport, link, mailbox, (config, options), counterpart).await;
            }
        };
        let (process, pipes) = Process::start(&config.name, program, options, Arc::clone(log))
            .map_err(|error| StartError::spawn(program, &error))?;
        let transport = PipeTransport::new(
            pipes.stdout,
            pipes.stdin,
            options.message_limit,
            Arc::clone(log),
        );
        let mailbox = transport.mailbox();
        let link = Link::process(process, transport.fault());
        Self::over(transport, link, mailbox, (config, options), counterpart).await
    }

    /// Connects over a `transport` that routes its messages to `mailbox`.
    async fn over<T>(
        mut transport: T,
        link: Link,
        mailbox: Arc<Mailbox>,
        (config, options): (&ServerConfig, &ConnectOptions),
        counterpart: Counterpart,
    ) -> Result<Self, StartError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let Counterpart { client, watcher } = counterpart;
        let greetings = match config.protocol.as_deref().and_then(revision::named) {
            Some(revision) => HandshakePlan::only(revision),
            None => HandshakePlan::preferring(client.is_asked_by_requests),
        };
        let capabilities = client.capabilities;
        let (name, version) = options.client.clone();
        let client = ClientConfig::new(
            client_capabilities(&capabilities),
            Implementation::new(name, version),
        );
        let info = match shake_hands(&mut transport, &client, greetings, link.patience()).await {
            Ok(info) => info,
            Err(error) => return Err(StartError::handshake(error, &link).await),
        };
        let greeting = ServerInfo::take(&mailbox, &info.protocol_version);
        let identity = Identity {
            client: options.client.clone(),
            capabilities: capabilities.clone(),
            stateless_revision: greeting.is_stateless.then(|| greeting.revision.to_string()),
        };
        let desk = Arc::new(Desk::new(
            capabilities,
            watcher,
            greeting.is_stateless.then(|| Arc::downgrade(&mailbox)),
        ));
        mailbox.listen(Arc::new(Hearing(Arc::clone(&desk))));
        let failure = if link.is_deaf_once_sending_failed() {
            SendFailure::EndsTheConnection
        } else {
            SendFailure::ConcernsTheMessage
        };
        let connection = Connection::open(transport, Arc::clone(&mailbox), failure);
        desk.answer_through(connection.sender());
        Ok(Self {
            connection,
            mailbox,
            desk,
            identity,
            greeting,
            next_id: AtomicI64::new(0),
            link,
        })
    }

    /// Returns true if the connection is closed.
    pub(crate) fn is_over(&self) -> bool {
        self.connection.is_over()
    }

    /// Returns the reason why the connection is closed, as one clause.
    pub(crate) async fn reason(&self) -> String {
        let end = self.link.end().await;
        end.unwrap_or_else(|| "it closed the connection".to_owned())
    }

    /// Returns true if tools may require arguments to be repeated in headers.
    pub(crate) fn sends_arguments_as_headers(&self) -> bool {
        self.greeting.is_stateless && matches!(self.link, Link::Http(_))
    }

    /// Returns a hint for a server that does not list its tools.
    pub(crate) fn help(&self) -> String {
        match &self.link {
            Link::Process { .. } => "see what it wrote on its standard error".to_owned(),
            Link::Http(_) => self.link.help(),
        }
    }

    /// Closes the connection, then ends the server and its descendants.
    pub(crate) async fn stop(&self, grace: Duration) {
        // Closing ends the server's input, which asks it to exit.
        self.connection.end();
        self.link.stop(grace).await;
    }
}

impl StartError {
    /// The server was stopped during its start.
    pub(crate) fn stopped() -> Self {
        Self {
            message: "it has been stopped".to_owned(),
            help: "start it again".to_owned(),
        }
    }

    /// The start took longer than `limit`.
    pub(crate) fn late(limit: Duration) -> Self {
        Self {
            message: format!("it was not ready within {limit:?}"),
            help: "give it more time with `startTimeout`, or run its command by hand and see what it waits for"
                .to_owned(),
        }
    }

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
            help: link.help(),
        }
    }
}

impl From<HttpFailure> for StartError {
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
