//! The task that sends and receives the messages of a connection, and the state of a transport besides its messages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

#[cfg(feature = "http")]
use super::http::{HttpFailure, HttpHandle};
use super::stdio::process::Process;
use crate::session::router::{RequestError, ResponseRouter};

const EXIT_STATUS_TIMEOUT: Duration = Duration::from_millis(200);

/// The time without a response after which a child process gets the second handshake request as well.
const HANDSHAKE_FALLBACK_DELAY: Duration = Duration::from_secs(2);

/// A handle of a transport. Dropping it ends a child process and its descendants.
#[derive(Debug)]
pub(crate) enum TransportHandle {
    /// A child process, over its pipes.
    Process {
        process: Process,
        /// The reason why this side has closed the connection.
        problem: Arc<OnceLock<String>>,
    },
    #[cfg(feature = "http")]
    Http(HttpHandle),
    /// An HTTP API, with the note about its operations without a tool.
    #[cfg(feature = "http")]
    OpenApi { note: Option<String> },
}

impl TransportHandle {
    /// Returns the time to wait for the response to the first handshake request before the second is sent as well.
    pub(crate) fn fallback_delay(&self) -> Duration {
        match self {
            Self::Process { .. } => HANDSHAKE_FALLBACK_DELAY,
            // Over HTTP each response belongs to its request, so no fallback is needed; the start has a separate timeout.
            #[cfg(feature = "http")]
            Self::Http(_) | Self::OpenApi { .. } => Duration::MAX,
        }
    }

    /// Returns the reason why this side has closed the connection, as one clause.
    pub(crate) fn problem(&self) -> Option<String> {
        match self {
            Self::Process { problem, .. } => problem.get().cloned(),
            #[cfg(feature = "http")]
            Self::Http(http) => http.problem().map(|failure| failure.message),
            #[cfg(feature = "http")]
            Self::OpenApi { .. } => None,
        }
    }

    /// Returns the reason why the connection is closed, as one clause, if known.
    pub(crate) async fn close_reason(&self) -> Option<String> {
        if let Some(problem) = self.problem() {
            return Some(problem);
        }
        match self {
            Self::Process { process, .. } => {
                let status = process.wait_for_exit(EXIT_STATUS_TIMEOUT).await?;
                Some(format!("it stopped ({status})"))
            }
            #[cfg(feature = "http")]
            Self::Http(http) => http.last_failure().map(|failure| failure.message),
            #[cfg(feature = "http")]
            Self::OpenApi { .. } => None,
        }
    }

    /// Returns a hint for a server that did not start.
    pub(crate) fn help(&self) -> String {
        match self {
            Self::Process { .. } => "run its command by hand, and see what it says".to_owned(),
            #[cfg(feature = "http")]
            Self::Http(http) => match http.last_failure() {
                Some(failure) => failure.help,
                None => "check that its `url` is the address of its MCP endpoint".to_owned(),
            },
            #[cfg(feature = "http")]
            Self::OpenApi { .. } => "check its OpenAPI document".to_owned(),
        }
    }

    /// Returns true if requests have headers besides their messages.
    pub(crate) fn has_headers(&self) -> bool {
        match self {
            Self::Process { .. } => false,
            #[cfg(feature = "http")]
            Self::Http(_) => true,
            #[cfg(feature = "http")]
            Self::OpenApi { .. } => false,
        }
    }

    /// Returns the consequence of a message that could not be sent.
    pub(crate) fn send_failure(&self) -> SendFailure {
        match self {
            Self::Process { .. } => SendFailure::ClosesConnection,
            #[cfg(feature = "http")]
            Self::Http(_) | Self::OpenApi { .. } => SendFailure::FailsMessage,
        }
    }

    /// Ends the child process, or waits for the end of the HTTP session, after the connection is closed.
    pub(crate) async fn stop(&self, grace: Duration) {
        match self {
            Self::Process { process, .. } => process.stop(grace).await,
            #[cfg(feature = "http")]
            Self::Http(http) => http.wait_closed(grace).await,
            #[cfg(feature = "http")]
            Self::OpenApi { .. } => {}
        }
    }

    /// Returns the note about the operations of an API that have no tool.
    pub(crate) fn note(&self) -> Option<&str> {
        match self {
            Self::Process { .. } => None,
            #[cfg(feature = "http")]
            Self::Http(_) => None,
            #[cfg(feature = "http")]
            Self::OpenApi { note } => note.as_deref(),
        }
    }
}

/// A connection to a server. Dropping it, and all that may send on it, closes it.
#[derive(Debug)]
pub(crate) struct Connection {
    queue: mpsc::UnboundedSender<QueueItem>,
    is_closed: Arc<AtomicBool>,
}

/// A sender that does not keep the connection open.
#[derive(Clone, Debug)]
pub(crate) struct WeakSender(mpsc::WeakUnboundedSender<QueueItem>);

#[derive(Debug)]
enum QueueItem {
    Message(Box<ClientJsonRpcMessage>),
    Close,
}

/// The consequence of a message that could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendFailure {
    /// The connection is broken for all messages.
    ClosesConnection,
    /// Only this message has failed.
    #[cfg(feature = "http")]
    FailsMessage,
}

impl Connection {
    /// Takes over `transport` after the handshake.
    pub(crate) fn open<T>(transport: T, router: Arc<ResponseRouter>, failure: SendFailure) -> Self
    where
        T: Transport<RoleClient> + 'static,
    {
        let (queue, outgoing) = mpsc::unbounded_channel();
        let is_closed = Arc::new(AtomicBool::new(false));
        tokio::spawn(forward_messages(
            transport,
            outgoing,
            router,
            failure,
            Arc::clone(&is_closed),
        ));
        Self { queue, is_closed }
    }

    /// Queues `message`. If sending fails, so does the request that it contains.
    pub(crate) fn send(&self, message: ClientJsonRpcMessage) {
        // If the task has ended, it has failed all requests, including this one.
        let _ = self.queue.send(QueueItem::Message(Box::new(message)));
    }

    /// Closes the connection after the queued messages are sent.
    pub(crate) fn close(&self) {
        let _ = self.queue.send(QueueItem::Close);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    pub(crate) fn sender(&self) -> WeakSender {
        WeakSender(self.queue.downgrade())
    }
}

impl WeakSender {
    /// Queues `message` if the connection is open.
    pub(crate) fn send(&self, message: ClientJsonRpcMessage) {
        if let Some(queue) = self.0.upgrade() {
            let _ = queue.send(QueueItem::Message(Box::new(message)));
        }
    }
}

/// Sends the queued messages and receives those of the server, until either side closes the connection.
async fn forward_messages<T>(
    mut transport: T,
    mut outgoing: mpsc::UnboundedReceiver<QueueItem>,
    router: Arc<ResponseRouter>,
    failure: SendFailure,
    is_closed: Arc<AtomicBool>,
) where
    T: Transport<RoleClient> + 'static,
{
    let mut sends = FuturesUnordered::new();
    loop {
        tokio::select! {
            message = outgoing.recv() => match message {
                Some(QueueItem::Message(message)) => {
                    let id = request_id(&message);
                    let send = transport.send(*message);
                    // Sends run concurrently, so that a slow HTTP request does not delay others.
                    sends.push(async move { (id, send.await) });
                }
                Some(QueueItem::Close) | None => break,
            },
            // The transport has already routed the message.
            received = transport.receive() => if received.is_none() { break },
            Some((id, outcome)) = sends.next(), if !sends.is_empty() => {
                let Err(error) = outcome else {
                    continue;
                };
                tracing::debug!(%error, "a message was not sent");
                let error = match failure {
                    // A server that reads no more messages may still hold its output open.
                    SendFailure::ClosesConnection => {
                        is_closed.store(true, Ordering::Relaxed);
                        RequestError::Lost(None)
                    }
                    #[cfg(feature = "http")]
                    SendFailure::FailsMessage => unsent_or_lost(&error),
                };
                if let Some(id) = id {
                    router.fail(&id, error);
                }
            }
        }
    }
    is_closed.store(true, Ordering::Relaxed);
    router.close();
    // The other end is gone or about to be, so an error has no consequence.
    let _ = transport.close().await;
}

#[cfg(feature = "http")]
pub(super) fn unsent_or_lost(error: &(dyn std::error::Error + 'static)) -> RequestError {
    let message = error.to_string();
    match error.downcast_ref::<HttpFailure>() {
        Some(failure) if !failure.may_have_happened => RequestError::Unsent(message),
        _ => RequestError::Lost(Some(message)),
    }
}

fn request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}
