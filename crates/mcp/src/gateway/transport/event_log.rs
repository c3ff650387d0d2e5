//! The log of the events of request streams, from which a client resumes a stream after a broken connection.
//!
//! Design: [Our own log of the streams of requests](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#our-own-log-of-the-streams-of-requests).

use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::SessionConfig;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The maximum size of the events of all sessions, as JSON: a few of the largest results. It bounds the memory for clients
/// that never come back.
const MAX_BYTES: usize = 64 << 20;

/// The size of an event without its message, so that many small events are bounded as well.
const EVENT_BYTES: usize = 512;

/// The time for which an event is stored. A client that was away longer has lost its session, unless it sends other
/// requests.
const RETENTION: Duration = SessionConfig::DEFAULT_KEEP_ALIVE;

/// The events of all sessions. Clones share the state.
#[derive(Clone, Debug)]
pub(super) struct EventLog(Arc<Mutex<LogState>>);

#[derive(Debug)]
struct LogState {
    sessions: HashMap<SessionId, SessionLog>,
    bytes: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct SessionLog {
    /// The events of all streams of the session, the oldest first.
    events: VecDeque<StoredEvent>,
    bytes: usize,
    /// The readers of the streams that have not ended.
    open: HashMap<u64, Reader>,
}

#[derive(Debug)]
struct StoredEvent {
    position: Position,
    event: ServerSseMessage,
    bytes: usize,
    at: Instant,
}

/// The stream of an event and the event's index in the stream: together, its id in `rmcp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    stream: u64,
    index: u64,
}

/// The sending half of the connection that reads a stream.
#[derive(Clone, Debug)]
struct Reader {
    events: mpsc::Sender<ServerSseMessage>,
    /// Cancelled when another connection resumes the stream.
    replaced: CancellationToken,
}

impl EventLog {
    fn with_limit(max_bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(LogState {
            sessions: HashMap::new(),
            bytes: 0,
            max_bytes,
        })))
    }

    pub(super) fn open_session(&self, session: SessionId) {
        self.lock().sessions.insert(session, SessionLog::default());
    }

    /// Removes the events of a session that has ended.
    pub(super) fn close_session(&self, session: &SessionId) {
        let mut state = self.lock();
        if let Some(log) = state.sessions.remove(session) {
            state.bytes -= log.bytes;
        }
    }

    /// Records the stream of a request, also after its connection has broken off, and returns it for the connection.
    pub(super) async fn record<S>(
        &self,
        session: &SessionId,
        source: S,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<S>
    where
        S: Stream<Item = ServerSseMessage> + Send + 'static,
    {
        let mut source: Pin<Box<S>> = Box::pin(source);
        // The first event of a stream is sent before the request is read: it has an id and no message.
        let first = source.next().await;
        let stream = first.as_ref().and_then(Position::of).map(|at| at.stream);
        let (reader, events) = Reader::after(first.into_iter().collect());
        if let (Some(stream), Some(log)) = (stream, self.lock().sessions.get_mut(session)) {
            log.open.insert(stream, reader.clone());
        }
        let (log, session) = (self.clone(), session.clone());
        tokio::spawn(async move {
            let mut reader = reader;
            while let Some(event) = source.next().await {
                if let Some(current) = log.push(&session, &event) {
                    reader = current;
                }
                reader.send(event).await;
            }
            if let Some(stream) = stream {
                log.end(&session, stream);
            }
        });
        events
    }

    /// Returns the rest of a request's stream after an event, and ends the connection that has read it so far. Returns
    /// `None` if the session has no such stream, or its events are no longer stored.
    pub(super) fn resume(
        &self,
        session: &SessionId,
        last_event_id: &str,
    ) -> Option<impl Stream<Item = ServerSseMessage> + Send + Sync + use<>> {
        let last = Position::parse(last_event_id)?;
        let mut state = self.lock();
        let log = state.sessions.get_mut(session)?;
        let stored = log.events.iter();
        let mut stored = stored
            .filter(|stored| stored.position.stream == last.stream)
            .peekable();
        let open = log.open.get_mut(&last.stream);
        if open.is_none() && stored.peek().is_none() {
            return None;
        }
        let missed = stored.filter(|stored| stored.position.index > last.index);
        let (reader, events) = Reader::after(missed.map(|stored| stored.event.clone()).collect());
        if let Some(open) = open {
            std::mem::replace(open, reader).replaced.cancel();
        }
        Some(events)
    }

    /// Stores an event and returns the reader of its stream. Both happen under one lock, so that a connection that
    /// resumes the stream gets each event once.
    fn push(&self, session: &SessionId, event: &ServerSseMessage) -> Option<Reader> {
        let position = Position::of(event)?;
        let bytes = EVENT_BYTES + event.message.as_deref().map_or(0, json_bytes);
        let mut state = self.lock();
        let log = state.sessions.get_mut(session)?;
        let reader = log.open.get(&position.stream)?.clone();
        let at = Instant::now();
        log.events.push_back(StoredEvent {
            position,
            event: event.clone(),
            bytes,
            at,
        });
        log.bytes += bytes;
        let mut removed = 0;
        while log
            .events
            .front()
            .is_some_and(|event| at - event.at > RETENTION)
        {
            removed += log.remove_oldest();
        }
        state.bytes += bytes;
        state.bytes -= removed;
        state.shrink();
        Some(reader)
    }

    fn end(&self, session: &SessionId, stream: u64) {
        if let Some(log) = self.lock().sessions.get_mut(session) {
            log.open.remove(&stream);
        }
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        // No code that may panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for EventLog {
    fn default() -> Self {
        Self::with_limit(MAX_BYTES)
    }
}

impl LogState {
    /// Removes the oldest events of the largest sessions, so that a client with large results displaces its own events.
    fn shrink(&mut self) {
        while self.bytes > self.max_bytes {
            let largest = self.sessions.values_mut().max_by_key(|log| log.bytes);
            self.bytes -= largest.map_or(self.bytes, SessionLog::remove_oldest);
        }
    }
}

impl SessionLog {
    /// Removes the oldest event and returns its size.
    fn remove_oldest(&mut self) -> usize {
        let bytes = self.events.pop_front().map_or(0, |event| event.bytes);
        self.bytes -= bytes;
        bytes
    }
}

impl Position {
    fn of(event: &ServerSseMessage) -> Option<Self> {
        Self::parse(event.event_id.as_deref()?)
    }

    /// Parses the id of an event. Returns `None` for events of the listening stream, whose ids have no stream.
    fn parse(id: &str) -> Option<Self> {
        let (index, stream) = id.split_once('/')?;
        Some(Self {
            stream: stream.parse().ok()?,
            index: index.parse().ok()?,
        })
    }
}

impl Reader {
    /// Creates a reader, and the stream of its connection, which starts with `first`.
    fn after(
        first: Vec<ServerSseMessage>,
    ) -> (
        Self,
        impl Stream<Item = ServerSseMessage> + Send + Sync + use<>,
    ) {
        let (sender, mut events) = mpsc::channel(SessionConfig::DEFAULT_CHANNEL_CAPACITY);
        let replaced = CancellationToken::new();
        let ended = replaced.clone().cancelled_owned();
        let events = stream::poll_fn(move |context| events.poll_recv(context));
        let events = stream::iter(first).chain(events).take_until(ended);
        let reader = Self {
            events: sender,
            replaced,
        };
        (reader, events)
    }

    /// Waits for a connection that reads slowly, but not for one that is broken or replaced.
    async fn send(&self, event: ServerSseMessage) {
        tokio::select! {
            // A broken connection gets the event from the log when it resumes.
            _ = self.events.send(event) => {}
            () = self.replaced.cancelled() => {}
        }
    }
}

fn json_bytes(message: &impl serde::Serialize) -> usize {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0 += text.len();
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    // A message always has a JSON form, and counting never fails.
    let _ = serde_json::to_writer(&mut count, message);
    count.0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::{FutureExt, Stream, StreamExt, stream};
    use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
    use rmcp::transport::common::server_side_http::ServerSseMessage;
    use rmcp::transport::streamable_http_server::session::SessionId;
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::{EventLog, RETENTION};

    /// The stream of a request: its first event, and `others` of `bytes` bytes and more.
    async fn record(log: &EventLog, session: &str, stream: u64, others: usize, bytes: usize) {
        let events = (0..=others).map(move |index| event(stream, index, bytes));
        let events: Vec<_> = events.collect();
        let read = log.record(&session.into(), stream::iter(events)).await;
        assert_eq!(read.count().await, others + 1);
    }

    fn event(stream: u64, index: usize, bytes: usize) -> ServerSseMessage {
        let error = ErrorData::internal_error("x".repeat(bytes), None);
        let message = ServerJsonRpcMessage::error(error, Some(RequestId::Number(1)));
        ServerSseMessage::new(format!("{index}/{stream}"), message)
    }

    /// The number of events that a client can read after the first.
    async fn stored(log: &EventLog, session: &str, stream: u64) -> Option<usize> {
        let events = log.resume(&session.into(), &format!("0/{stream}"))?;
        Some(events.count().await)
    }

    fn log(max_bytes: usize, sessions: &[&str]) -> EventLog {
        let log = EventLog::with_limit(max_bytes);
        for session in sessions {
            log.open_session((*session).into());
        }
        log
    }

    #[tokio::test]
    async fn the_largest_session_loses_its_oldest_events() {
        let log = log(100_000, &["small", "large"]);
        record(&log, "small", 0, 3, 1000).await;
        for number in 0..100 {
            record(&log, "large", number, 2, 10_000).await;
        }
        assert_eq!(stored(&log, "small", 0).await, Some(3));
        assert_eq!(stored(&log, "large", 99).await, Some(2));
        assert_eq!(stored(&log, "large", 90).await, None);
        assert!(log.lock().bytes <= 100_000);
        // A client that reads gets a message above the limit as well.
        record(&log, "large", 100, 1, 200_000).await;
        assert_eq!(stored(&log, "large", 100).await, None);
        assert_eq!(stored(&log, "small", 0).await, Some(3));
        log.close_session(&"small".into());
        assert_eq!(stored(&log, "small", 0).await, None);
        log.close_session(&"large".into());
        assert_eq!(log.lock().bytes, 0);
    }

    #[tokio::test]
    async fn many_small_events_are_bounded() {
        let log = log(100_000, &["a"]);
        record(&log, "a", 0, 1000, 0).await;
        let events = stored(&log, "a", 0).await.unwrap();
        assert!((100..200).contains(&events), "{events}");
    }

    #[tokio::test(start_paused = true)]
    async fn old_events_are_removed() {
        let log = log(100_000, &["a", "b"]);
        record(&log, "a", 0, 1, 0).await;
        tokio::time::advance(RETENTION).await;
        record(&log, "a", 1, 1, 0).await;
        assert_eq!(stored(&log, "a", 0).await, Some(1));
        tokio::time::advance(Duration::from_millis(1)).await;
        record(&log, "a", 2, 1, 0).await;
        assert_eq!(stored(&log, "a", 0).await, None);
        assert_eq!(stored(&log, "a", 1).await, Some(1));
        assert_eq!(stored(&log, "b", 1).await, None);
    }

    #[tokio::test]
    async fn a_connection_that_does_not_read_does_not_delay_another() {
        let log = log(100_000, &["a"]);
        let (sender, mut source) = unbounded_channel();
        let source = stream::poll_fn(move |context| source.poll_recv(context));
        let send = |index: usize| UnboundedSender::send(&sender, event(0, index, 0)).unwrap();
        send(0);
        let session = SessionId::from("a");
        // It is not read, and so the events wait for it.
        let _blocked = log.record(&session, source).await;
        (1..100).for_each(send);
        let mut resumed = Box::pin(log.resume(&session, "0/0").unwrap());
        for index in 1..100 {
            assert_eq!(next(&mut resumed).await, format!("{index}/0"));
        }
        assert!(resumed.next().now_or_never().is_none());
        drop(sender);
        assert!(resumed.next().await.is_none());
    }

    async fn next(events: &mut (impl Stream<Item = ServerSseMessage> + Unpin)) -> String {
        events.next().await.unwrap().event_id.unwrap()
    }
}
