//! The one task that sends and receives on a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{FuturesUnordered, StreamExt};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::http::HttpFailure;
use super::mailbox::{Mailbox, RequestError};

/// A connection that is open. What comes in goes to its mailbox. Dropping it, and all that may send on it, closes it.
#[derive(Debug)]
pub(super) struct Connection {
    queue: mpsc::UnboundedSender<Outgoing>,
    is_over: Arc<AtomicBool>,
}

/// What may send on a connection, but does not keep it open.
#[derive(Clone, Debug)]
pub(super) struct Sender(mpsc::WeakUnboundedSender<Outgoing>);

#[derive(Debug)]
enum Outgoing {
    Message(Box<ClientJsonRpcMessage>),
    End,
}

/// What it means that one message could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendFailure {
    /// None can be sent any more.
    EndsTheConnection,
    /// It concerns that message alone.
    ConcernsTheMessage,
}

impl Connection {
    /// Goes on over `transport`, on which hands were shaken.
    pub(super) fn open<T>(transport: T, mailbox: Arc<Mailbox>, failure: SendFailure) -> Self
    where
        T: Transport<RoleClient> + 'static,
    {
        let (queue, outgoing) = mpsc::unbounded_channel();
        let is_over = Arc::new(AtomicBool::new(false));
        tokio::spawn(run(
            transport,
            outgoing,
            mailbox,
            failure,
            Arc::clone(&is_over),
        ));
        Self { queue, is_over }
    }

    /// Sends `message` after all that was sent before. One that does not get through fails the request that it is.
    pub(super) fn send(&self, message: ClientJsonRpcMessage) {
        // The task that is gone has failed all requests, this one included.
        let _ = self.queue.send(Outgoing::Message(Box::new(message)));
    }

    /// Closes the connection, after all that was sent before.
    pub(super) fn end(&self) {
        let _ = self.queue.send(Outgoing::End);
    }

    /// Whether nothing will come or go any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(super) fn sender(&self) -> Sender {
        Sender(self.queue.downgrade())
    }
}

impl Sender {
    /// Sends `message`, if the connection is still open.
    pub(super) fn send(&self, message: ClientJsonRpcMessage) {
        if let Some(queue) = self.0.upgrade() {
            let _ = queue.send(Outgoing::Message(Box::new(message)));
        }
    }
}

async fn run<T>(
    mut transport: T,
    mut outgoing: mpsc::UnboundedReceiver<Outgoing>,
    mailbox: Arc<Mailbox>,
    failure: SendFailure,
    is_over: Arc<AtomicBool>,
) where
    T: Transport<RoleClient> + 'static,
{
    let mut sends = FuturesUnordered::new();
    loop {
        tokio::select! {
            message = outgoing.recv() => match message {
                Some(Outgoing::Message(message)) => {
                    let id = request_id(&message);
                    let send = transport.send(*message);
                    sends.push(async move { (id, send.await) });
                }
                Some(Outgoing::End) | None => break,
            },
            // What came is where it belongs already.
            received = transport.receive() => if received.is_none() { break },
            Some((id, outcome)) = sends.next(), if !sends.is_empty() => {
                let Err(error) = outcome else {
                    continue;
                };
                let error = match failure {
                    // A server that takes no messages any more may still hold its output open.
                    SendFailure::EndsTheConnection => {
                        is_over.store(true, Ordering::Relaxed);
                        RequestError::Lost(None)
                    }
                    SendFailure::ConcernsTheMessage => unsent_or_lost(&error),
                };
                if let Some(id) = id {
                    mailbox.fail(&id, error);
                }
            }
        }
    }
    is_over.store(true, Ordering::Relaxed);
    mailbox.close();
    // Its other end is gone, or about to be; there is nothing to be done about it.
    let _ = transport.close().await;
}

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
