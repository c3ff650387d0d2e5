//! An MCP client that sees every message of a server: JSON-RPC over stdio or HTTP, without a library.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http_wire::{HttpRequest, HttpResponse};

/// The time after which a test fails if an expected event does not occur.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The revision in which every request identifies its client.
const NEWEST: &str = "2026-07-28";

/// A client, and the server process if the client started it. Both end on drop.
#[derive(Debug)]
pub struct WireClient {
    connection: Connection,
    output: Receiver<Value>,
    revision: &'static str,
    capabilities: Value,
    answers: BTreeMap<String, Value>,
    requests: u64,
    /// The requests of the server, as received.
    pub asked: Vec<Value>,
    /// The notifications of the server, as received.
    pub notifications: Vec<Value>,
}

impl WireClient {
    /// Starts the server and initializes the session, as clients of `revision` do. `answers` are the responses to the
    /// server's own requests, by method; they also determine the client's capabilities.
    ///
    /// # Panics
    ///
    /// If the server cannot be started or refuses.
    pub fn start(mut command: Command, revision: &'static str, answers: &[(&str, Value)]) -> Self {
        let server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut server = server.expect("the server can be started");
        let input = server.stdin.take();
        let output = read(server.stdout.take().expect("its output is piped"));
        Self::connect(
            Connection::Pipe { server, input },
            output,
            revision,
            answers,
        )
    }

    /// Initializes a session with the server at `url`, and listens for its own messages. The rest is as in
    /// [`WireClient::start`].
    ///
    /// # Panics
    ///
    /// If the server refuses.
    pub fn reach(url: &str, revision: &'static str, answers: &[(&str, Value)]) -> Self {
        let (sender, output) = channel();
        let connection = Connection::Http {
            url: url.to_owned(),
            session: None,
            sender,
        };
        Self::connect(connection, output, revision, answers)
    }

    fn connect(
        connection: Connection,
        output: Receiver<Value>,
        revision: &'static str,
        answers: &[(&str, Value)],
    ) -> Self {
        let mut capabilities = json!({});
        for (method, _) in answers {
            let (name, ability) = match *method {
                "elicitation/create" => ("elicitation", json!({"form": {}, "url": {}})),
                "sampling/createMessage" => ("sampling", json!({})),
                "roots/list" => ("roots", json!({})),
                // A view asks its client, not a server; the client declares that it shows views.
                "ui/initialize" => (
                    "extensions",
                    json!({"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}),
                ),
                other => panic!("no server asks `{other}`"),
            };
            capabilities[name] = ability;
        }
        let answers = answers
            .iter()
            .map(|(method, answer)| ((*method).to_owned(), answer.clone()));
        let mut client = Self {
            connection,
            output,
            revision,
            capabilities,
            answers: answers.collect(),
            requests: 0,
            asked: Vec::new(),
            notifications: Vec::new(),
        };
        client.initialize();
        client
    }

    fn initialize(&mut self) {
        if self.revision == NEWEST {
            return;
        }
        let greeting = json!({
            "protocolVersion": self.revision,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "wire", "version": "1"},
        });
        let answer = self.request("initialize", greeting);
        assert_eq!(
            answer["result"]["protocolVersion"], self.revision,
            "{answer}"
        );
        self.notify("notifications/initialized", json!({}));
        self.connection.listen(self.revision);
    }

    /// Sends a request and waits for its response: `{"result": …}` or `{"error": …}`.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.requests += 1;
        if self.revision == NEWEST {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = NEWEST.into();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "wire", "version": "1"});
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        let request =
            json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params});
        self.write(&request);
        self.requests
    }

    /// Kills the server process that this client started.
    ///
    /// # Panics
    ///
    /// If the client did not start it.
    pub fn kill(mut self) {
        let Connection::Pipe { server, .. } = &mut self.connection else {
            panic!("the client did not start this server");
        };
        server.kill().expect("the server can be killed");
        server.wait().expect("the server has ended");
    }

    /// Closes the input of the server.
    pub fn close_input(&mut self) {
        if let Connection::Pipe { input, .. } = &mut self.connection {
            drop(input.take());
        }
    }

    /// The id of the session that the server opened over HTTP.
    pub fn session(&self) -> Option<&str> {
        match &self.connection {
            Connection::Http { session, .. } => session.as_deref(),
            Connection::Pipe { .. } => None,
        }
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Waits for the response to the request `id`.
    ///
    /// # Panics
    ///
    /// If none arrives.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut message = self.next(&format!("the answer to request {id}"));
            if message["id"] == id && message["method"].is_null() {
                let fields = message.as_object_mut().expect("an answer is an object");
                fields.remove("jsonrpc");
                fields.remove("id");
                return message;
            }
            self.handle(message);
        }
    }

    /// Waits for a notification of this method that was not returned yet.
    ///
    /// # Panics
    ///
    /// If none arrives.
    pub fn notification(&mut self, method: &str) -> Value {
        loop {
            let mut seen = self.notifications.iter();
            if let Some(index) = seen.position(|notification| notification["method"] == method) {
                return self.notifications.remove(index);
            }
            let message = self.next(&format!("a notification `{method}`"));
            self.handle(message);
        }
    }

    fn next(&mut self, what: &str) -> Value {
        self.output
            .recv_timeout(TIMEOUT)
            .unwrap_or_else(|error| panic!("waited for {what}: {error}"))
    }

    /// Records a message that is not a response, and answers it if it is a request.
    fn handle(&mut self, message: Value) {
        let id = &message["id"];
        if id.is_null() {
            self.notifications.push(message);
            return;
        }
        let method = message["method"].as_str().unwrap_or_default();
        let answer = match self.answers.get(method) {
            Some(answer) => json!({"jsonrpc": "2.0", "id": id, "result": answer}),
            None => {
                let error = json!({"code": -32601, "message": "Method not found"});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        self.write(&answer);
        self.asked.push(message);
    }

    fn write(&mut self, message: &Value) {
        self.connection.write(message, self.revision);
    }
}

impl Drop for WireClient {
    fn drop(&mut self) {
        if let Connection::Pipe { server, input } = &mut self.connection {
            // A server ends when its input is closed.
            drop(input.take());
            // The output is drained, so that the server can write its last messages and end by itself.
            while self.output.recv_timeout(TIMEOUT).is_ok() {}
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// The connection to a server.
#[derive(Debug)]
enum Connection {
    /// The standard input of a process.
    Pipe {
        server: Child,
        input: Option<ChildStdin>,
    },
    /// The URL, and the channel for the server's messages.
    Http {
        url: String,
        session: Option<String>,
        sender: Sender<Value>,
    },
}

impl Connection {
    fn write(&mut self, message: &Value, revision: &str) {
        match self {
            Self::Pipe { input, .. } => {
                let input = input.as_mut().expect("the client is not yet dropped");
                let written = input.write_all(format!("{message}\n").as_bytes());
                written.expect("the server reads");
            }
            Self::Http {
                url,
                session,
                sender,
            } => {
                let mut request = HttpRequest::post(url, message);
                let method = message["method"].as_str().unwrap_or_default();
                if method != "initialize" {
                    request = request.header("mcp-protocol-version", revision);
                }
                if let Some(session) = session {
                    request = request.header("mcp-session-id", session);
                }
                if revision == NEWEST {
                    request = request.header("mcp-method", method);
                    let about = ["name", "uri", "taskId"];
                    let mut about = about.into_iter();
                    let about = about.find_map(|field| message["params"][field].as_str());
                    if let Some(about) = about {
                        request = request.header("mcp-name", about);
                    }
                }
                let answer = request.send();
                if let Some(id) = answer.header("mcp-session-id") {
                    *session = Some(id.to_owned());
                }
                forward(answer, sender);
            }
        }
    }

    /// Listens for the server's own messages, in revisions that have a stream for them.
    fn listen(&self, revision: &str) {
        if let Self::Http {
            url,
            session: Some(session),
            sender,
        } = self
        {
            let request = HttpRequest::get(url)
                .header("mcp-protocol-version", revision)
                .header("mcp-session-id", session);
            forward(request.send(), sender);
        }
    }
}

/// Forwards all messages of a response as they arrive.
fn forward(mut answer: HttpResponse, sender: &Sender<Value>) {
    let sender = sender.clone();
    std::thread::spawn(move || {
        while let Some(message) = answer.message() {
            if sender.send(message).is_err() {
                break;
            }
        }
    });
}

fn read(output: impl std::io::Read + Send + 'static) -> Receiver<Value> {
    let (sender, messages) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // A line that is not JSON is not a message; the test that waits for one fails with a timeout.
            let Ok(message) = serde_json::from_str(&line) else {
                continue;
            };
            if sender.send(message).is_err() {
                break;
            }
        }
    });
    messages
}
