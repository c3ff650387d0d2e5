//! A session with an MCP server over lines, as a client holds it that passes results on to a model.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The method by which a model uses the tools of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMethod {
    /// Direct calls of each tool.
    Direct,
    /// The gateway's search.
    Search,
    /// Plans.
    Plan,
}

impl AccessMethod {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::Direct, Self::Search, Self::Plan];

    /// Returns the name for tables, which is the gateway's mode for all but the first.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Search => "search",
            Self::Plan => "plan",
        }
    }
}

/// A running server with the protocol version 2025-11-25.
#[derive(Debug)]
pub struct Session {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: u64,
}

impl Session {
    /// Starts the server and initializes the session.
    ///
    /// # Panics
    ///
    /// If that fails.
    pub fn start(command: &mut Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let input = process.stdin.take().expect("it is piped");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut session = Self {
            process,
            input,
            output,
            requests: 0,
        };
        session.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tokens", "version": "1"}}),
        );
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    /// Returns the tools as a client shows them to a model: name, description and input schema.
    pub fn tools(&mut self) -> Vec<Value> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.request("tools/list", &params);
            let listed = page["tools"].as_array().into_iter().flatten();
            tools.extend(listed.map(|tool| {
                json!({"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]})
            }));
            let Some(cursor) = page["nextCursor"].as_str() else {
                return tools;
            };
            params = json!({"cursor": cursor});
        }
    }

    /// Calls a tool, and returns the result as a model reads it.
    ///
    /// # Panics
    ///
    /// If the call fails: the cost of a failed task could not be compared.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let blocks = result["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        assert!(result["isError"] != true, "{tool} {arguments}: {result}");
        texts.join("\n")
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("it can be read");
            assert!(
                read > 0,
                "the server has ended, and {method} is not answered"
            );
            let mut message: Value = serde_json::from_str(&line).expect("servers write JSON");
            if message["id"] == id && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("it can be written to");
        self.input.flush().expect("it can be written to");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
