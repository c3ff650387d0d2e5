//! The main loop of the fake server.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::listing;
use super::listing::{Answer, answer, structured};

/// The field with the subscription of a notification.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Runs the fake server on the standard streams, as the JSON `script` describes, until its input ends. `@PATH` is a
/// script in a file.
pub fn run(script: Option<&str>) -> ExitCode {
    let script = script.unwrap_or("{}");
    let text = match script.strip_prefix('@').map(std::fs::read_to_string) {
        None => script.to_owned(),
        Some(Ok(text)) => text,
        Some(Err(error)) => {
            say(&format!("the script cannot be read: {error}"));
            return ExitCode::from(2);
        }
    };
    let script = match serde_json::from_str(&text) {
        Ok(script) => script,
        Err(error) => {
            say(&format!("the script is not JSON: {error}"));
            return ExitCode::from(2);
        }
    };
    let server = Arc::new(Server::new(script));
    server.start();
    if let Some(status) = server.script["exit"].as_u64() {
        return ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX));
    }
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        server.record(&message);
        if server.script["hang"] != true {
            receive(&server, message);
        }
    }
    if server.script["stays"] == true {
        loop {
            std::thread::park();
        }
    }
    ExitCode::SUCCESS
}

struct Server {
    script: Value,
    // The script with the fields that calls have set.
    lists: Mutex<Value>,
    // The id of the newest subscription.
    subscription: Mutex<Value>,
    recorder: Option<Mutex<TcpStream>>,
    // The requests to the client without a response.
    pending: Mutex<HashMap<String, Sender<Value>>>,
    released: (Mutex<bool>, Condvar),
}

impl Server {
    fn new(script: Value) -> Self {
        let recorder = script["record"]
            .as_str()
            .map(|address| Mutex::new(TcpStream::connect(address).expect("the recorder listens")));
        Self {
            lists: Mutex::new(script.clone()),
            subscription: Mutex::default(),
            script,
            recorder,
            pending: Mutex::default(),
            released: (Mutex::new(false), Condvar::new()),
        }
    }

    fn start(self: &Arc<Self>) {
        self.record(&json!({"started": std::process::id()}));
        if let Some(recorder) = &self.recorder {
            let stream = lock(recorder).try_clone().expect("a connection is shared");
            let server = Arc::clone(self);
            std::thread::spawn(move || {
                for _ in BufReader::new(stream).lines().map_while(Result::ok) {
                    *lock(&server.released.0) = true;
                    server.released.1.notify_all();
                }
            });
        }
        if let Some(text) = self.script["stderr"].as_str() {
            say(text);
        }
        if let Some(text) = self.script["stdout"].as_str() {
            write(text);
        }
        wait(&self.script["start_delay_ms"]);
        if self.script["start_waits_for_release"] == true {
            self.wait_for_release();
        }
    }

    fn wait_for_release(&self) {
        let released = lock(&self.released.0);
        let _released = self
            .released
            .1
            .wait_while(released, |released| !*released)
            .unwrap_or_else(PoisonError::into_inner);
    }

    fn record(&self, message: &Value) {
        if let Some(recorder) = &self.recorder {
            let line = format!("{message}\n");
            // The test may have ended already.
            let _ = lock(recorder).write_all(line.as_bytes());
        }
    }

    fn handle(&self, request: &Value) {
        let id = &request["id"];
        let params = &request["params"];
        match request["method"].as_str().unwrap_or_default() {
            "server/discover" => match listing::discover_result(&self.script) {
                Some(result) => respond(id, result),
                None => self.refuse_unknown(id),
            },
            "initialize" => {
                match listing::initialize_result(&self.script, &params["protocolVersion"]) {
                    Some(result) => respond(id, result),
                    None => self.refuse_unknown(id),
                }
            }
            "ping" => respond(id, json!({})),
            "tools/call" => self.call(request),
            "subscriptions/listen" => self.subscribe(request),
            method => match (
                listing::list_field(method),
                self.script["answers"].get(method),
            ) {
                (_, Some(answer)) => respond(id, with_result_type(request, answer.clone())),
                (Some(field), None) => {
                    let page = listing::page(&lock(&self.lists), field, &params["cursor"]);
                    respond(id, with_result_type(request, page));
                }
                (None, None) => self.refuse_unknown(id),
            },
        }
    }

    fn subscribe(&self, request: &Value) {
        *lock(&self.subscription) = request["id"].clone();
        let params = json!({
            "_meta": {SUBSCRIPTION_ID: request["id"]},
            "notifications": request["params"]["notifications"],
        });
        let method = "notifications/subscriptions/acknowledged";
        write(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    fn call(&self, request: &Value) {
        let id = &request["id"];
        let name = &request["params"]["name"];
        let tools = lock(&self.lists)["tools"].clone();
        let tools = tools.as_array();
        let Some(tool) = tools.and_then(|tools| tools.iter().find(|tool| tool["name"] == *name))
        else {
            let message = format!("Unknown tool: {name}");
            return refuse(id, &json!({"code": -32602, "message": message}));
        };
        let does = &tool["does"];
        wait(&does["delay_ms"]);
        if let Some(path) = does["appends"].as_str() {
            append(path, request);
        }
        wait(&does["then_delay_ms"]);
        if does["wait_for_release"] == true {
            self.wait_for_release();
        }
        for (field, value) in does["sets"].as_object().into_iter().flatten() {
            lock(&self.lists)[field] = value.clone();
        }
        for line in does["first"].as_array().into_iter().flatten() {
            match line.as_str() {
                Some(text) => write(text),
                None => write(&self.with_placeholders(line, request)),
            }
        }
        for done in 1..=does["progress"]["times"].as_u64().unwrap_or(0) {
            wait(&does["progress"]["every_ms"]);
            let line = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": "$TOKEN", "progress": done}});
            write(&self.with_placeholders(&line, request));
        }
        if does["ends_subscription"] == true {
            let subscription = lock(&self.subscription).clone();
            respond(&subscription, json!({"resultType": "complete"}));
        }
        if does["ask"].is_object() {
            let reply = self.ask(id, &does["ask"]);
            return respond(id, with_result_type(request, structured(reply)));
        }
        if let Some(status) = does["exit"].as_i64() {
            end(i32::try_from(status).unwrap_or(1));
        }
        match answer(does, request) {
            Answer::Line(line) => write(&line),
            Answer::Result(result) => respond(id, with_result_type(request, result)),
            Answer::Error(error) => refuse(id, &error),
            Answer::Nothing => {}
        }
    }

    /// A line with the values that only the call provides in place of their placeholders.
    fn with_placeholders(&self, line: &Value, request: &Value) -> String {
        let token = &request["params"]["_meta"]["progressToken"];
        let subscription = lock(&self.subscription).to_string();
        let line = line.to_string();
        line.replace("\"$TOKEN\"", &token.to_string())
            .replace("\"$SUBSCRIPTION\"", &subscription)
    }

    /// Sends the client a request and waits for the response.
    fn ask(&self, id: &Value, request: &Value) -> Value {
        let key = format!("ask-{id}");
        let (sender, replies) = channel();
        lock(&self.pending).insert(key.clone(), sender);
        let mut request = request.clone();
        request["jsonrpc"] = "2.0".into();
        request["id"] = key.into();
        write(&request.to_string());
        let mut reply = replies.recv().expect("the loop keeps the sender");
        if let Some(fields) = reply.as_object_mut() {
            fields.remove("jsonrpc");
            fields.remove("id");
        }
        reply
    }

    fn refuse_unknown(&self, id: &Value) {
        if self.script["silent_on_unknown"] != true {
            refuse(id, &json!({"code": -32601, "message": "Method not found"}));
        }
    }
}

/// Handles a message. Each call runs on its own thread, so that calls run concurrently.
fn receive(server: &Arc<Server>, message: Value) {
    if message["method"].is_null() {
        let key = message["id"].as_str().unwrap_or_default();
        if let Some(pending) = lock(&server.pending).remove(key) {
            // The thread that sent the request waits for this response.
            let _ = pending.send(message);
        }
        return;
    }
    if message["id"].is_null() {
        return;
    }
    if message["method"] == "tools/call" {
        let server = Arc::clone(server);
        std::thread::spawn(move || server.handle(&message));
    } else {
        server.handle(&message);
    }
}

/// The side effect of a call: a line at the end of a file, synchronized so that it survives the end of this server and
/// of the machine.
fn append(path: &str, request: &Value) {
    let params = &request["params"];
    let line = json!({
        "tool": params["name"],
        "arguments": params["arguments"],
        "key": params["_meta"]["planwright/idempotency-key"],
    });
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .expect("the file can be written to");
    file.write_all(format!("{line}\n").as_bytes())
        .and_then(|()| file.sync_all())
        .expect("the file can be written to");
}

/// `result` with `resultType`, which the newest revision requires.
fn with_result_type(request: &Value, mut result: Value) -> Value {
    let revision = &request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    if revision == listing::NEWEST
        && let Some(fields) = result.as_object_mut()
    {
        fields
            .entry("resultType")
            .or_insert_with(|| "complete".into());
    }
    result
}

fn respond(id: &Value, result: Value) {
    write(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
}

fn refuse(id: &Value, error: &Value) {
    write(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
}

fn write(line: &str) {
    let mut out = std::io::stdout().lock();
    // A client that is gone reads no more; the input ends soon as well.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn wait(milliseconds: &Value) {
    if let Some(milliseconds) = milliseconds.as_u64() {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
}

#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "a server that crashes in the middle of a call is what is tested"
)]
fn end(status: i32) -> ! {
    std::process::exit(status)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
