//! What a test sees of a fake server: every message that it received, and its end.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

/// How long a test waits for what has to happen before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Listens to fake servers. Each connects to it as it starts and tells it of every message; the connection ends with
/// the server's process, however that ends.
#[derive(Debug)]
pub struct Recorder {
    address: String,
    seen: Receiver<Seen>,
    servers: Arc<Mutex<Vec<TcpStream>>>,
}

#[derive(Debug)]
enum Seen {
    Started(u32),
    Message(Value),
    Ended,
}

impl Recorder {
    /// A recorder of its own.
    ///
    /// # Panics
    ///
    /// Where no port is free.
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let (sender, seen) = channel();
        let servers = Arc::new(Mutex::new(Vec::new()));
        let streams = Arc::clone(&servers);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                let kept = stream.try_clone().expect("a connection can be shared");
                streams
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(kept);
                std::thread::spawn(move || listen(stream, &sender));
            }
        });
        Self {
            address: address.to_string(),
            seen,
            servers,
        }
    }

    /// What stands as `record` in a script.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits until a server starts, and gives its process id.
    ///
    /// # Panics
    ///
    /// Where that does not happen in time.
    pub fn started(&self) -> u32 {
        self.wait("a start", |seen| match seen {
            Seen::Started(id) => Some(id),
            _ => None,
        })
    }

    /// Waits for a message of `method`, and gives it.
    ///
    /// # Panics
    ///
    /// Where it does not come in time.
    pub fn message(&self, method: &str) -> Value {
        self.wait(method, |seen| match seen {
            Seen::Message(message) if message["method"] == method => Some(message),
            _ => None,
        })
    }

    /// Waits until a server's process has ended.
    ///
    /// # Panics
    ///
    /// Where that does not happen in time.
    pub fn ended(&self) {
        self.wait("an end", |seen| matches!(seen, Seen::Ended).then_some(()));
    }

    /// Waits until a server's process has ended, and gives the methods of all messages up to then that nobody has
    /// waited for.
    ///
    /// # Panics
    ///
    /// Where that does not happen in time.
    pub fn methods_until_end(&self) -> Vec<String> {
        let mut methods = Vec::new();
        self.wait("an end", |seen| match seen {
            Seen::Ended => Some(()),
            Seen::Message(message) => {
                methods.extend(message["method"].as_str().map(str::to_owned));
                None
            }
            Seen::Started(_) => None,
        });
        methods
    }

    /// Whether no server has started so far.
    pub fn has_seen_nothing(&self) -> bool {
        self.seen.try_recv().is_err()
    }

    /// Lets every tool go on that waits for it.
    ///
    /// # Panics
    ///
    /// Where a server is gone.
    pub fn release(&self) {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        for mut server in servers.iter() {
            server.write_all(b"\n").expect("the server listens");
        }
    }

    fn wait<T>(&self, what: &str, mut wanted: impl FnMut(Seen) -> Option<T>) -> T {
        loop {
            let seen = self
                .seen
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("waited in vain for {what}"));
            if let Some(found) = wanted(seen) {
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

fn listen(stream: TcpStream, sender: &Sender<Seen>) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).expect("servers send JSON");
        let seen = match message["started"].as_u64() {
            Some(id) => Seen::Started(u32::try_from(id).expect("a process id")),
            None => Seen::Message(message),
        };
        // A test that is over listens no more.
        let _ = sender.send(seen);
    }
    let _ = sender.send(Seen::Ended);
}
