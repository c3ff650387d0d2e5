//! The queue of the messages of a call to its client. It holds a limited number of notifications, also while the call is suspended and no
//! client takes them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright_core::Value;
use tokio::sync::{Notify, oneshot};

use crate::session::error::UpstreamError;

/// A message of a call to its client.
#[derive(Debug)]
pub(crate) enum CallMessage {
    Notification {
        method: String,
        params: Value,
    },
    Question(ClientQuestion),
    /// The name from [`Caller::bind`], such as the id of a run, by which the host can continue the call in another process.
    Bound(String),
}

impl CallMessage {
    fn is_notification(&self) -> bool {
        match self {
            Self::Notification { .. } => true,
            Self::Question(_) | Self::Bound(_) => false,
        }
    }
}

/// A question to a client, and the channel of its answer.
#[derive(Debug)]
pub(crate) struct ClientQuestion {
    pub(crate) method: String,
    pub(crate) params: Value,
    /// The subject of the question, by which another process recognises it.
    pub(crate) subject: Option<String>,
    pub(crate) answer: oneshot::Sender<Result<Value, UpstreamError>>,
}

/// Maximum number of notifications that wait for their client. Beyond it, the oldest ones are dropped.
const MAX_NOTIFICATIONS: usize = 1024;

#[derive(Debug, Default)]
struct CallQueue {
    state: Mutex<QueueState>,
    /// Notified when a message has arrived.
    arrived: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    messages: VecDeque<CallMessage>,
    /// The number of notifications among them.
    notifications: usize,
    /// True once no client will take a message.
    is_closed: bool,
}

/// The sending end. Messages keep their order.
#[derive(Clone, Debug)]
pub(super) struct CallSender(Arc<CallQueue>);

/// The receiving end. Dropping it drops the messages in the queue.
#[derive(Debug)]
pub(crate) struct CallReceiver(Arc<CallQueue>);

/// Creates a queue.
pub(super) fn call_queue() -> (CallSender, CallReceiver) {
    let queue = Arc::<CallQueue>::default();
    (CallSender(Arc::clone(&queue)), CallReceiver(queue))
}

impl CallQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallSender {
    /// Adds a message. It is dropped if the receiver is gone.
    pub(super) fn send(&self, message: CallMessage) {
        let Self(queue) = self;
        let mut state = queue.lock();
        if state.is_closed {
            return;
        }
        if message.is_notification() {
            state.notifications += 1;
        }
        state.messages.push_back(message);
        if state.notifications > MAX_NOTIFICATIONS {
            let oldest = state.messages.iter().position(CallMessage::is_notification);
            if let Some(oldest) = oldest {
                state.messages.remove(oldest);
                state.notifications -= 1;
            }
        }
        drop(state);
        queue.arrived.notify_one();
    }
}

impl CallReceiver {
    /// Waits for the next message. Dropping the future loses none.
    pub(super) async fn recv(&mut self) -> CallMessage {
        loop {
            if let Some(message) = self.try_recv() {
                return message;
            }
            let Self(queue) = self;
            queue.arrived.notified().await;
        }
    }

    /// Returns the next message, if there is one.
    pub(super) fn try_recv(&mut self) -> Option<CallMessage> {
        let Self(queue) = self;
        let mut state = queue.lock();
        let message = state.messages.pop_front()?;
        if message.is_notification() {
            state.notifications -= 1;
        }
        Some(message)
    }
}

impl Drop for CallReceiver {
    fn drop(&mut self) {
        let Self(queue) = self;
        let mut state = queue.lock();
        state.is_closed = true;
        let messages = std::mem::take(&mut state.messages);
        drop(state);
        // Dropped outside of the lock, because dropping a question wakes the call that waits for its answer.
        drop(messages);
    }
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::*;

    fn notification(number: usize) -> CallMessage {
        CallMessage::Notification {
            method: number.to_string(),
            params: Value::Null,
        }
    }

    #[tokio::test]
    async fn the_oldest_notifications_are_dropped_and_nothing_else() {
        let (sender, mut receiver) = call_queue();
        sender.send(CallMessage::Bound("work".to_owned()));
        for number in 0..MAX_NOTIFICATIONS + 2 {
            sender.send(notification(number));
        }
        assert!(matches!(receiver.recv().await, CallMessage::Bound(work) if work == "work"));
        let mut methods = Vec::new();
        while let Some(CallMessage::Notification { method, .. }) = receiver.try_recv() {
            methods.push(method);
        }
        assert_eq!(methods.len(), MAX_NOTIFICATIONS);
        assert_eq!(methods.first().map(String::as_str), Some("2"));
        sender.send(notification(0));
        let waiting = receiver.recv();
        assert!(waiting.await.is_notification());
    }
}
