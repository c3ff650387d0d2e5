//! A client that speaks MCP by hand, line by line.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A client of a server over standard input and output, which asks one thing after the other.
pub(super) struct StdioClient {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
    /// The text that it samples for the server, and the requests that it got.
    samples: VecDeque<String>,
    pub(super) sampled: Vec<Value>,
}

impl StdioClient {
    /// Starts the server and shakes hands.
    pub(super) fn start(command: Command) -> Self {
        Self::begin(command, json!({}))
    }

    /// The same, as a client whose model says these things one after the other.
    pub(super) fn sampling<T: Into<String>>(
        command: Command,
        samples: impl IntoIterator<Item = T>,
    ) -> Self {
        let mut client = Self::begin(command, json!({"sampling": {}}));
        client.samples = samples.into_iter().map(Into::into).collect();
        client
    }

    fn begin(mut command: Command, capabilities: Value) -> Self {
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().expect("output is a pipe"));
        let mut client = Self {
            server,
            input,
            output,
            asked: 0,
            samples: VecDeque::new(),
            sampled: Vec::new(),
        };
        client.request(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "clientInfo": {"name": "by-hand", "version": "1"}
            }),
        );
        client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Returns the response to a request.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("the server talks");
            assert!(read > 0, "the server ended before it answered `{method}`");
            let mut message: Value = serde_json::from_str(&line).expect("messages are JSON");
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
            if message["method"] == "sampling/createMessage" {
                self.sampled.push(message["params"].take());
                let text = self.samples.pop_front().expect("there is a further sample");
                let result = json!({"role": "assistant", "model": "mine", "content": {"type": "text", "text": text}});
                self.write(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            }
        }
    }

    /// Calls a tool and returns its result.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    fn write(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("the server listens");
        writeln!(input, "{message}").expect("the server reads");
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        // It ends when all senders are dropped.
        self.input = None;
        let _ = self.server.wait();
    }
}
