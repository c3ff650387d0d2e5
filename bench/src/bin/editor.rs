//! Prints the times of the language server's answers for plans of a thousand steps.
//!
//! ```console
//! $ cargo build --release -p planwright-cli && cargo run --release -p planwright-bench --bin editor [PLANWRIGHT]
//! ```
//!
//! The client edits the text before each request, as a person who writes does, so that each answer includes the analysis of a new text. The
//! time of the diagnostics is that from the edit to their arrival.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![expect(clippy::disallowed_methods, reason = "time is what is measured")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use planwright_bench::program;
use serde_json::{Value, json};

const STEPS: usize = 1000;

/// The number of measured answers of each kind.
const ROUNDS: usize = 40;

/// Requests by their method, and the names of the table.
const REQUESTS: [(&str, &str); 7] = [
    ("textDocument/hover", "hover over a reference"),
    ("textDocument/completion", "completion of a reference"),
    ("textDocument/definition", "go to step"),
    ("textDocument/references", "references of a step"),
    ("textDocument/rename", "rename a step"),
    ("textDocument/codeAction", "fixes"),
    ("textDocument/documentSymbol", "outline"),
];

fn main() {
    let planwright = program::planwright();
    let folder = tempfile::tempdir().expect("a folder");
    let tools = json!({"tools": {"look": {
        "input_schema": {"type": "object", "properties": {"n": {}}, "required": ["n"], "additionalProperties": false},
        "output_schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        "returns": {"n": 1},
    }}});
    std::fs::write(folder.path().join("tools.json"), tools.to_string()).expect("a file");
    for (name, file, text) in [
        ("JSON", "plan.json", json_text()),
        ("lines", "plan.plan", lines_text()),
    ] {
        let mut command = Command::new(&planwright);
        command
            .args(["lsp", "--simulate", "tools.json"])
            .env("XDG_CONFIG_HOME", folder.path())
            .env("XDG_DATA_HOME", folder.path())
            .current_dir(folder.path());
        let mut editor = Editor::start(&mut command, file, text);
        println!("a plan of {STEPS} steps in {name}: median, longest of {ROUNDS}");
        for (method, label) in REQUESTS {
            let mut answers = Vec::new();
            let mut diagnostics = Vec::new();
            for round in 0..ROUNDS {
                let (answer, published) = editor.edit_and_ask(method, round);
                answers.push(answer);
                diagnostics.push(published);
            }
            row(label, answers);
            if method == REQUESTS[0].0 {
                row("diagnostics after an edit", diagnostics);
            }
        }
    }
}

/// Prints the median and the longest time.
fn row(label: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let median = times[times.len() / 2];
    let longest = times[times.len() - 1];
    println!("  {label:<28} {median:>10.2?} {longest:>10.2?}");
}

/// Returns a chain whose steps stand on lines of their own; step 500 is at line 501.
fn json_text() -> String {
    let steps: Vec<String> = (0..STEPS)
        .map(|step| match step {
            0 => r#"{"id": "s0", "tool": "look", "args": {"n": 0}}"#.to_owned(),
            _ => format!(
                r#"{{"id": "s{step}", "tool": "look", "args": {{"n": "${{s{}.n}}"}}}}"#,
                step - 1
            ),
        })
        .collect();
    format!("{{\"steps\": [\n{}\n]}}\n", steps.join(",\n"))
}

/// Returns the same chain in lines.
fn lines_text() -> String {
    let steps = (1..STEPS).map(|step| format!("s{step} = look(n=${{s{}.n}})\n", step - 1));
    let first = "s0 = look(n=0)\n".to_owned();
    std::iter::once(first).chain(steps).collect()
}

/// A language server, and a client with one open text.
struct Editor {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    uri: String,
    lines: Vec<String>,
    version: i32,
    requests: i64,
}

impl Editor {
    fn start(command: &mut Command, file: &str, text: String) -> Self {
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut editor = Self {
            input: server.stdin.take().expect("an input"),
            output: BufReader::new(server.stdout.take().expect("an output")),
            server,
            uri: format!("file:///{file}"),
            lines: text.lines().map(str::to_owned).collect(),
            version: 1,
            requests: 0,
        };
        editor.ask("initialize", json!({"capabilities": {}}));
        editor.notify("initialized", json!({}));
        editor.notify(
            "textDocument/didOpen",
            json!({"textDocument": {"uri": editor.uri, "languageId": "planwright", "version": 1, "text": text}}),
        );
        // The tools may arrive after the text. A plan that is sound with its tools has no diagnostics.
        while !editor.next_diagnostics().is_empty() {}
        editor
    }

    /// Inserts or removes a line break at the end, asks about the reference in step 500, and returns the time until the answer and until
    /// the diagnostics.
    fn edit_and_ask(&mut self, method: &str, round: usize) -> (Duration, Duration) {
        let line = self
            .lines
            .iter()
            .position(|line| line.contains("s500"))
            .expect("step 500");
        let column = self.lines[line].find("s499").expect("a reference") + 1;
        let mut text = self.lines.join("\n");
        text.push_str(&"\n".repeat(1 + round % 2));
        self.version += 1;
        let (uri, version) = (self.uri.clone(), self.version);
        let began = Instant::now();
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}),
        );
        let position = json!({"line": line, "character": column});
        let mut params = json!({"textDocument": {"uri": uri}, "position": position});
        match method {
            "textDocument/rename" => params["newName"] = json!("renamed"),
            "textDocument/references" => params["context"] = json!({"includeDeclaration": true}),
            "textDocument/codeAction" => {
                params["range"] = json!({"start": position, "end": position});
                params["context"] = json!({"diagnostics": []});
            }
            _ => {}
        }
        self.send(
            &json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}),
        );
        self.requests += 1;
        let (mut answer, mut published) = (None, None);
        while answer.is_none() || published.is_none() {
            // The client's own reading of a long answer does not count.
            let body = self.receive_body();
            let arrived = began.elapsed();
            let message: Value = serde_json::from_slice(&body).expect("JSON");
            if message["method"] == "textDocument/publishDiagnostics" {
                assert_eq!(
                    message["params"]["diagnostics"],
                    json!([]),
                    "the plan is sound"
                );
                published = Some(arrived);
            } else if message["id"] == self.requests - 1 {
                assert!(
                    method == "textDocument/codeAction" || !is_empty(&message["result"]),
                    "{method} has no result: {message}"
                );
                answer = Some(arrived);
            }
        }
        answer.zip(published).expect("both have arrived")
    }

    fn next_diagnostics(&mut self) -> Vec<Value> {
        loop {
            let message = self.receive();
            if message["method"] == "textDocument/publishDiagnostics" {
                return message["params"]["diagnostics"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.requests;
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len())
            .and_then(|()| self.input.flush())
            .expect("the server reads");
    }

    fn receive(&mut self) -> Value {
        serde_json::from_slice(&self.receive_body()).expect("JSON")
    }

    fn receive_body(&mut self) -> Vec<u8> {
        let mut length = 0;
        loop {
            let mut header = String::new();
            self.output.read_line(&mut header).expect("a header");
            assert!(!header.is_empty(), "the server has ended");
            match header.trim().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().expect("a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("a message");
        body
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Returns true if an answer has nothing in it.
fn is_empty(result: &Value) -> bool {
    match result {
        Value::Null => true,
        Value::Array(entries) => entries.is_empty(),
        _ => false,
    }
}
