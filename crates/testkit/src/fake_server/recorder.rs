//! The recorder of fake servers: the messages that they receive, and the ends of their processes.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

/// The time after which a test fails if an expected event does not occur.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A recorder on a free port.
///
/// # Panics
///
/// If no port is free.
#[derive(Debug)]
pub struct Recorder {
    address: String,
    events: Receiver<ServerEvent>,
    servers: Arc<Mutex<Vec<TcpStream>>>,
}

#[derive(Debug)]
enum ServerEvent {
    Started(u32),
    Message(Value),
    Ended,
}

impl Recorder {
    /// Creates a recorder on a free port.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let (sender, events) = channel();
        let servers = Arc::new(Mutex::new(Vec::new()));
        let streams = Arc::clone(&servers);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                // `release` writes to this clone.
                let shared = stream.try_clone().expect("a connection can be shared");
                streams
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(shared);
                std::thread::spawn(move || listen(stream, &sender));
            }
        });
        Self {
            address: address.to_string(),
            events,
            servers,
        }
    }

    /// Returns the address, for the field `record` of a script.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits until a server starts; returns its process id.
    ///
    /// # Panics
    ///
    /// If none starts in time.
    pub fn started(&self) -> u32 {
        self.wait("a start", |events| match events {
            ServerEvent::Started(id) => Some(id),
            _ => None,
        })
    }

    /// Waits for a message of `method`, and returns it.
    ///
    /// # Panics
    ///
    /// If none arrives in time.
    pub fn message(&self, method: &str) -> Value {
        self.wait(method, |events| match events {
            ServerEvent::Message(message) if message["method"] == method => Some(message),
            _ => None,
        })
    }

    /// Waits until the process of a server has ended.
    ///
    /// # Panics
    ///
    /// If it does not end in time.
    pub fn ended(&self) {
        self.wait("an end", |events| {
            matches!(events, ServerEvent::Ended).then_some(())
        });
    }

    /// Waits until the process of a server has ended; returns the methods of all messages that the test has not waited
    /// for.
    ///
    /// # Panics
    ///
    /// If it does not end in time.
    pub fn methods_until_end(&self) -> Vec<String> {
        let messages = self.messages_until_end();
        let methods = messages
            .iter()
            .filter_map(|message| message["method"].as_str());
        methods.map(str::to_owned).collect()
    }

    /// Waits until the process of a server has ended; returns all messages that the test has not waited for.
    ///
    /// # Panics
    ///
    /// If it does not end in time.
    pub fn messages_until_end(&self) -> Vec<Value> {
        let mut messages = Vec::new();
        self.wait("an end", |events| match events {
            ServerEvent::Ended => Some(()),
            ServerEvent::Message(message) => {
                messages.push(message);
                None
            }
            ServerEvent::Started(_) => None,
        });
        messages
    }

    /// Returns true if no server has started so far.
    pub fn has_seen_nothing(&self) -> bool {
        self.events.try_recv().is_err()
    }

    /// Releases every server and tool whose script waits for the recorder.
    ///
    /// # Panics
    ///
    /// If a server is gone.
    pub fn release(&self) {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        for mut server in servers.iter() {
            server.write_all(b"\n").expect("the server listens");
        }
    }

    fn wait<T>(&self, what: &str, mut wanted: impl FnMut(ServerEvent) -> Option<T>) -> T {
        loop {
            let events = self
                .events
                .recv_timeout(TIMEOUT)
                .unwrap_or_else(|_| panic!("timed out waiting for {what}"));
            if let Some(found) = wanted(events) {
                return found;
            }
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

fn listen(stream: TcpStream, sender: &Sender<ServerEvent>) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).expect("servers send JSON");
        let events = match message["started"].as_u64() {
            Some(id) => ServerEvent::Started(u32::try_from(id).expect("a process id")),
            None => ServerEvent::Message(message),
        };
        // The test may have ended already.
        let _ = sender.send(events);
    }
    let _ = sender.send(ServerEvent::Ended);
}
