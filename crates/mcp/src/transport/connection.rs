//! The task that sends and receives the messages of a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{FuturesUnordered, StreamExt};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

#[cfg(feature = "http")]
use super::http::HttpFailure;
use crate::session::router::{RequestError, ResponseRouter};

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
        tokio::spawn(run(
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

async fn run<T>(
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
fn unsent_or_lost(error: &(dyn std::error::Error + 'static)) -> RequestError {
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
