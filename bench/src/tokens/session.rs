//! A server that is spoken to line by line, as a client does that hands on to a model what it gets.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// How a model reaches the tools of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Each tool by itself.
    Direct,
    /// Through the gateway's search.
    Search,
    /// By plans.
    Plan,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Direct, Self::Search, Self::Plan];

    /// What it is called, in tables; the gateway's mode for all but the first.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Search => "search",
            Self::Plan => "plan",
        }
    }
}

/// A server that runs, of the revision 2025-11-25.
#[derive(Debug)]
pub struct Session {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: u64,
}

impl Session {
    /// Starts the server and shakes hands with it.
    ///
    /// # Panics
    ///
    /// Where that fails.
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

    /// The tools, as a client shows them to a model: name, description and schema of the arguments.
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

    /// Calls a tool; its answer as a model reads it.
    ///
    /// # Panics
    ///
    /// Where the call fails: a task that is not done costs nothing that could be compared.
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
