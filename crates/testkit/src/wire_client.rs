//! A client that sees exactly what a server sends: JSON-RPC over stdio or HTTP, message by message, without a library in between.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http_wire::{HttpAnswer, HttpRequest};

/// How long a test waits for what has to happen before it fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// The revision in which every request says by itself who sends it.
const NEWEST: &str = "2026-07-28";

/// A client, and the server where it has started it. Both end when this is dropped.
#[derive(Debug)]
pub struct WireClient {
    line: Line,
    output: Receiver<Value>,
    revision: &'static str,
    capabilities: Value,
    answers: BTreeMap<String, Value>,
    requests: u64,
    /// The server's own requests, as they came.
    pub asked: Vec<Value>,
    /// Its notifications, as they came.
    pub notifications: Vec<Value>,
}

impl WireClient {
    /// Starts the server and greets it, as clients of `revision` do. `answers` are those to the server's own requests, by
    /// their methods; they are also what the client says it is able to.
    ///
    /// # Panics
    ///
    /// Where the server cannot be started or refuses.
    pub fn start(mut command: Command, revision: &'static str, answers: &[(&str, Value)]) -> Self {
        let server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut server = server.expect("the server can be started");
        let input = server.stdin.take();
        let output = read(server.stdout.take().expect("its output is piped"));
        Self::on(Line::Pipe { server, input }, output, revision, answers)
    }

    /// Greets the server at `url`, and listens to what it says by itself. All else is as with [`WireClient::start`].
    ///
    /// # Panics
    ///
    /// Where the server refuses.
    pub fn reach(url: &str, revision: &'static str, answers: &[(&str, Value)]) -> Self {
        let (sender, output) = channel();
        let line = Line::Http {
            url: url.to_owned(),
            session: None,
            sender,
        };
        Self::on(line, output, revision, answers)
    }

    fn on(
        line: Line,
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
                other => panic!("no server asks `{other}`"),
            };
            capabilities[name] = ability;
        }
        let answers = answers
            .iter()
            .map(|(method, answer)| ((*method).to_owned(), answer.clone()));
        let mut client = Self {
            line,
            output,
            revision,
            capabilities,
            answers: answers.collect(),
            requests: 0,
            asked: Vec::new(),
            notifications: Vec::new(),
        };
        client.greet();
        client
    }

    fn greet(&mut self) {
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
        self.line.listen(self.revision);
    }

    /// Sends a request and waits for its answer: `{"result": …}` or `{"error": …}`.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Sends a request and gives its id.
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

    /// Kills the server that this client has started, without a word.
    ///
    /// # Panics
    ///
    /// If the client has not started it.
    pub fn kill(mut self) {
        let Line::Pipe { server, .. } = &mut self.line else {
            panic!("a server that listens belongs to nobody");
        };
        server.kill().expect("the server can be killed");
        server.wait().expect("the server has ended");
    }

    /// Sends nothing any more: the server reads the end of its input.
    pub fn close_input(&mut self) {
        if let Line::Pipe { input, .. } = &mut self.line {
            drop(input.take());
        }
    }

    /// The session that the server has opened over HTTP.
    pub fn session(&self) -> Option<&str> {
        match &self.line {
            Line::Http { session, .. } => session.as_deref(),
            Line::Pipe { .. } => None,
        }
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Waits for the answer to the request `id`.
    ///
    /// # Panics
    ///
    /// Where none comes.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut message = self.next(&format!("the answer to request {id}"));
            if message["id"] == id && message["method"].is_null() {
                let fields = message.as_object_mut().expect("an answer is an object");
                fields.remove("jsonrpc");
                fields.remove("id");
                return message;
            }
            self.take(message);
        }
    }

    /// Waits until a notification of this method has come, since this was asked last.
    ///
    /// # Panics
    ///
    /// Where none comes.
    pub fn notification(&mut self, method: &str) -> Value {
        loop {
            let mut seen = self.notifications.iter();
            if let Some(index) = seen.position(|notification| notification["method"] == method) {
                return self.notifications.remove(index);
            }
            let message = self.next(&format!("a notification `{method}`"));
            self.take(message);
        }
    }

    fn next(&mut self, what: &str) -> Value {
        self.output
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("waited for {what}: {error}"))
    }

    /// Takes a message that is no answer: keeps it, and answers it if it is a request.
    fn take(&mut self, message: Value) {
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
        self.line.write(message, self.revision);
    }
}

impl Drop for WireClient {
    fn drop(&mut self) {
        if let Line::Pipe { server, input } = &mut self.line {
            // A server ends when nobody writes to it any more.
            drop(input.take());
            while self.output.recv_timeout(PATIENCE).is_ok() {}
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// The way to a server.
#[derive(Debug)]
enum Line {
    /// Its standard input.
    Pipe {
        server: Child,
        input: Option<ChildStdin>,
    },
    /// Its address, and where what it says goes.
    Http {
        url: String,
        session: Option<String>,
        sender: Sender<Value>,
    },
}

impl Line {
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

    /// Listens to what the server says by itself, where revisions have that.
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

/// Hands on all messages of an answer as they come, until its end.
fn forward(mut answer: HttpAnswer, sender: &Sender<Value>) {
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
            // What is no JSON is no message; whoever waits for one says that none came.
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
