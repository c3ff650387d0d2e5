//! Malformed MCP messages: the gateway rejects or ignores them, and continues.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use planwright_testkit::fake_server;
use planwright_testkit::http_wire::HttpRequest;
use planwright_testkit::listening::HttpServerProcess;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::serve::Behind;

/// The timeout of each wait of a test.
const TIMEOUT: Duration = Duration::from_mins(1);

const OLDER: &str = "2025-11-25";
const NEWEST: &str = "2026-07-28";

/// The server under test.
trait Gateway {
    /// Says something, and sees to it that it is answered as JSON-RPC has it, or not at all.
    fn say(&mut self, text: &str);

    /// Sees to it that a good request is still answered.
    fn is_well(&mut self, after: &str);

    fn survives(&mut self, text: &str) {
        self.say(text);
        self.is_well(text);
    }
}

/// A gateway over standard input and output.
struct Piped {
    server: Child,
    input: ChildStdin,
    output: Receiver<String>,
    asked: u64,
    _behind: Behind,
}

impl Piped {
    fn start() -> Self {
        let behind = behind();
        let mut server = behind
            .command(&["--mode", "plain", "--with-plans"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program can be started");
        let input = server.stdin.take().expect("its input is piped");
        let output = server.stdout.take().expect("its output is piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            server,
            input,
            output: lines,
            asked: 0,
            _behind: behind,
        }
    }

    fn greeted() -> Self {
        let mut gateway = Self::start();
        gateway.greet();
        gateway
    }

    fn greet(&mut self) {
        self.write(&greeting().to_string());
        self.answer("greeting", "a greeting");
        self.write(&ready().to_string());
    }

    fn write(&mut self, line: &str) {
        // A write to an ended server fails; the next read reports the end.
        let _ = writeln!(self.input, "{line}");
    }

    /// Returns the next response. A server that becomes ready meanwhile changes the list of tools, which is a notification.
    fn response(&mut self) -> Value {
        loop {
            let line = self.output.recv_timeout(TIMEOUT).expect("an answer");
            let message: Value = serde_json::from_str(&line).expect("it says JSON");
            if message["method"].is_null() {
                return message;
            }
        }
    }

    fn answer(&mut self, id: &str, after: &str) {
        loop {
            let line = self.output.recv_timeout(TIMEOUT);
            let line = line.unwrap_or_else(|error| panic!("{error} after {}", shown(after)));
            let message: Value = serde_json::from_str(&line).expect("it says JSON");
            proper(&message);
            if message["id"] == id {
                assert!(message["result"].is_object(), "{message}");
                return;
            }
        }
    }
}

impl Gateway for Piped {
    fn say(&mut self, text: &str) {
        self.write(text);
    }

    fn is_well(&mut self, after: &str) {
        self.asked += 1;
        let id = format!("well {}", self.asked);
        self.write(&list(&id).to_string());
        self.answer(&id, after);
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A gateway over HTTP, in a session or, of the newest revision, without one.
struct Reached {
    listening: HttpServerProcess,
    session: Option<String>,
    _behind: Behind,
}

impl Reached {
    fn start(has_session: bool) -> Self {
        let behind = behind();
        let listening = behind.listening(&["--mode", "plain", "--with-plans"]);
        let mut reached = Self {
            listening,
            session: None,
            _behind: behind,
        };
        if has_session {
            let url = reached.listening.url();
            let greeted = HttpRequest::post(url, &greeting()).send();
            reached.session = greeted.header("mcp-session-id").map(str::to_owned);
            reached.request(&ready()).send();
        }
        reached
    }

    /// With the headers that go with a message as it should be.
    fn request(&self, message: &Value) -> HttpRequest {
        let mut request = HttpRequest::post(self.listening.url(), message);
        if let Some(session) = &self.session {
            return request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", OLDER);
        }
        request = request.header("mcp-protocol-version", NEWEST);
        for (header, value) in [
            ("mcp-method", &message["method"]),
            ("mcp-name", &message["params"]["name"]),
            ("mcp-name", &message["params"]["uri"]),
        ] {
            if let Some(value) = value.as_str().filter(|value| value.len() < 100) {
                let is_plain = value.chars().all(|letter| letter.is_ascii_graphic());
                if is_plain {
                    request = request.header(header, value);
                }
            }
        }
        request
    }
}

impl Gateway for Reached {
    fn say(&mut self, text: &str) {
        let message = serde_json::from_str(text).unwrap_or_default();
        let mut answer = self.request(&message).body(text).send();
        assert!(
            answer.status() < 500,
            "{} to {}",
            answer.status(),
            shown(text)
        );
        let kind = answer.header("content-type").unwrap_or_default();
        if kind.starts_with("application/json")
            && let Some(message) = answer.message()
        {
            proper(&message);
        }
    }

    fn is_well(&mut self, after: &str) {
        let mut request = list("well");
        if self.session.is_none() {
            request["params"]["_meta"] = meta();
        }
        let answer = self.request(&request).send().answer();
        let tools = &answer["result"]["tools"];
        assert!(tools.is_array(), "{answer} after {}", shown(after));
    }
}

fn behind() -> Behind {
    let script = json!({"tools": [{"name": "echo"}], "resources": [{"uri": "x://y", "name": "y"}]});
    Behind::new(&[("fake", fake_server::program(), &[&script.to_string()])])
}

/// A message is one of JSON-RPC.
#[track_caller]
fn proper(message: &Value) {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    let error = &message["error"];
    let is_answer =
        message["result"].is_object() || error["code"].is_i64() && error["message"].is_string();
    assert!(message["method"].is_string() || is_answer, "{message}");
}

fn shown(text: &str) -> String {
    text.chars().take(300).collect()
}

fn greeting() -> Value {
    json!({"jsonrpc": "2.0", "id": "greeting", "method": "initialize", "params": {
        "protocolVersion": OLDER,
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "hostile", "version": "1"},
    }})
}

fn ready() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

fn list(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {}})
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "hostile", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Valid messages, one for each request and notification.
fn good() -> Vec<Value> {
    let steps = json!([{"id": "a", "tool": "echo", "args": {"x": 1}}]);
    let call = |tool: &str, arguments: Value| {
        let meta = json!({"progressToken": 7});
        json!({"name": tool, "arguments": arguments, "_meta": meta})
    };
    let plan = json!({"plan": {"steps": steps, "output": ["a"]}, "inputs": {}});
    let run = json!({"run": "0000000000000000"});
    let prompt = json!({"type": "ref/prompt", "name": "p"});
    let argument = json!({"name": "a", "value": "v"});
    let requests = [
        ("initialize", greeting()["params"].clone()),
        ("ping", json!({})),
        ("tools/list", json!({"cursor": "1"})),
        ("tools/call", call("echo", json!({"x": 1}))),
        ("tools/call", call("execute_plan", plan.clone())),
        ("tools/call", call("check_plan", plan)),
        ("tools/call", call("get_run", run.clone())),
        ("tools/call", call("resume_plan", run)),
        ("tools/call", call("search_tools", json!({"query": "x"}))),
        (
            "tools/call",
            call("describe_tools", json!({"tools": ["echo"]})),
        ),
        ("tasks/get", json!({"taskId": "0"})),
        (
            "tasks/update",
            json!({"taskId": "0", "inputResponses": {"a": {}}}),
        ),
        ("tasks/cancel", json!({"taskId": "0"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        (
            "resources/read",
            json!({"uri": "planwright://runs/0/output"}),
        ),
        ("resources/read", json!({"uri": "x://y"})),
        ("resources/subscribe", json!({"uri": "x://y"})),
        ("resources/unsubscribe", json!({"uri": "x://y"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "p", "arguments": {"a": "b"}})),
        (
            "completion/complete",
            json!({"ref": prompt, "argument": argument, "context": {"arguments": {}}}),
        ),
        ("logging/setLevel", json!({"level": "error"})),
        ("server/discover", json!({"_meta": meta()})),
        ("no/such", json!({})),
    ];
    let notifications = [
        ("notifications/initialized", json!({})),
        (
            "notifications/cancelled",
            json!({"requestId": 5, "reason": "r"}),
        ),
        (
            "notifications/progress",
            json!({"progressToken": 1, "progress": 0.5, "total": 1, "message": "m"}),
        ),
        ("notifications/roots/list_changed", json!({})),
        ("notifications/no/such", json!({})),
    ];
    let requests = requests.map(
        |(method, params)| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
    );
    let notifications = notifications
        .map(|(method, params)| json!({"jsonrpc": "2.0", "method": method, "params": params}));
    requests.into_iter().chain(notifications).collect()
}

/// Values that replace each field in turn.
fn junk() -> Vec<Value> {
    let mut deep = json!([]);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!("\u{0}\u{202e}💥"),
        json!("x".repeat(100_000)),
        json!([]),
        json!([{}, null]),
        json!({}),
        json!({"a": {"": null}}),
        deep,
    ]
}

/// The places of all that is in a message, itself not.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let fields: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.replace('~', "~0").replace('/', "~1"), field))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| (index.to_string(), item))
            .collect(),
        _ => Vec::new(),
    };
    for (name, field) in fields {
        let place = format!("{at}/{name}");
        places(field, &place, found);
        found.push(place);
    }
}

fn places_of(message: &Value) -> Vec<String> {
    let mut found = Vec::new();
    places(message, "", &mut found);
    found
}

fn with(message: &Value, place: &str, value: Value) -> String {
    let mut changed = message.clone();
    *changed.pointer_mut(place).expect("the place is there") = value;
    changed.to_string()
}

fn without(message: &Value, place: &str) -> String {
    let mut changed = message.clone();
    let (parent, name) = place.rsplit_once('/').expect("a place has a parent");
    match changed.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(&name.replace("~1", "/"))),
        Some(Value::Array(items)) => drop(items.pop()),
        _ => {}
    }
    changed.to_string()
}

/// Messages that are malformed as a whole, not in one field.
fn odd() -> Vec<String> {
    let call = &good()[3];
    let mut odd: Vec<String> = [
        "",
        " ",
        "null",
        "true",
        "1",
        "\"tools/list\"",
        "[]",
        "{}",
        "{",
        "}",
        "[1,2",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}",
        "{\"id\":1,\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1e400,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"never asked\",\"result\":{\"action\":\"accept\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":77,\"error\":{\"code\":-1,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-1,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{},\"error\":{\"code\":-1,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"notifications/initialized\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
        "GET / HTTP/1.1",
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
        "\u{0}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\\ud800\"}}",
    ]
    .map(str::to_owned)
    .into();
    odd.push(format!("[{call},{call}]"));
    odd.push(format!("[[{call}]]"));
    odd.push(json!({"jsonrpc": "2.0", "id": 1, "method": "x".repeat(1_000_000)}).to_string());
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [1_000, 100_000] {
            let inner = if open == "[" { "" } else { "1" };
            let nest = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
            odd.push(
                call.to_string()
                    .replace("\"x\":1", &format!("\"x\":{nest}")),
            );
            // A plan as text is read by us.
            let text = json!({"name": "execute_plan", "arguments": {"plan": nest}});
            odd.push(
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": text})
                    .to_string(),
            );
            odd.push(nest);
        }
    }
    odd
}

fn check(gateway: &mut dyn Gateway) {
    for text in odd() {
        gateway.survives(&text);
    }
    for message in good() {
        gateway.survives(&message.to_string());
        for place in places_of(&message) {
            gateway.survives(&without(&message, &place));
            for value in junk() {
                gateway.say(&with(&message, &place, value));
            }
            gateway.is_well(&format!("junk at {place} of {message}"));
        }
    }
}

#[test]
fn nothing_over_stdio_takes_it_down() {
    check(&mut Piped::greeted());
}

#[test]
fn nothing_in_a_session_takes_it_down() {
    check(&mut Reached::start(true));
}

#[test]
fn nothing_without_a_session_takes_it_down() {
    check(&mut Reached::start(false));
}

#[test]
fn messages_before_the_greeting_are_refused_or_ignored() {
    let is_message =
        |text: &String| text.len() < 200 && serde_json::from_str::<Value>(text).is_ok();
    for text in odd().into_iter().filter(is_message) {
        let mut gateway = Piped::start();
        gateway.say(&text);
        gateway.greet();
        gateway.is_well(&text);
    }
}

#[test]
fn parameters_that_do_not_fit_are_called_that() {
    let behind = behind();
    let plain = ["--mode", "plain", "--with-plans"];
    let mut client = behind.client(&plain, OLDER, &[]);
    for (method, params, code) in [
        ("tools/call", json!({"name": 5}), -32602),
        (
            "tools/call",
            json!({"name": "get_run", "arguments": []}),
            -32602,
        ),
        ("tasks/get", json!({"taskId": null}), -32602),
        ("resources/read", json!({"url": "x://y"}), -32602),
        ("completion/complete", json!({"ref": 5}), -32602),
        ("initialize", json!({}), -32602),
        ("no/such", json!({}), -32601),
    ] {
        let answer = client.request(method, params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
}

#[test]
fn requests_with_one_id_at_a_time_are_all_answered() {
    let mut gateway = Piped::greeted();
    let message = list("same").to_string();
    for _ in 0..50 {
        gateway.say(&message);
    }
    gateway.answer("same", "one id fifty times");
    gateway.is_well("one id fifty times");
}

/// A strategy that mutates a message.
#[derive(Clone, Debug)]
enum Change {
    Value(prop::sample::Index, Value),
    Bytes(prop::sample::Index, Vec<u8>),
    Cut(prop::sample::Index),
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z_/]{0,12}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (index(), anything()).prop_map(|(at, value)| Change::Value(at, value)),
        2 => (index(), prop::collection::vec(any::<u8>(), 0..6)).prop_map(|(at, bytes)| Change::Bytes(at, bytes)),
        1 => index().prop_map(Change::Cut),
    ]
}

fn changed(message: &Value, changes: &[Change]) -> String {
    let mut message = message.clone();
    let mut text = None;
    for change in changes {
        match change {
            Change::Value(at, value) => {
                let places = places_of(&message);
                if !places.is_empty() {
                    let place = at.get(&places);
                    *message.pointer_mut(place).expect("it is there") = value.clone();
                }
            }
            Change::Bytes(at, bytes) => {
                let mut all = message.to_string().into_bytes();
                let at = at.index(all.len());
                all.splice(at..at, bytes.iter().copied());
                text = Some(all);
            }
            Change::Cut(at) => {
                let mut all = message.to_string().into_bytes();
                all.truncate(at.index(all.len()));
                text = Some(all);
            }
        }
    }
    let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    // A line is a message; what a line break parts is two.
    text.unwrap_or_else(|| message.to_string())
}

#[test]
fn whatever_is_changed_in_a_message_it_goes_on() {
    let gateways: [RefCell<Box<dyn Gateway>>; 3] = [
        RefCell::new(Box::new(Piped::greeted())),
        RefCell::new(Box::new(Reached::start(true))),
        RefCell::new(Box::new(Reached::start(false))),
    ];
    let mut runner = TestRunner::new(Config {
        cases: 300,
        failure_persistence: None,
        ..Config::default()
    });
    let message = prop::sample::select(good());
    let strategy = (message, prop::collection::vec(change(), 1..4));
    let result = runner.run(&strategy, |(message, changes)| {
        let text = changed(&message, &changes);
        for gateway in &gateways {
            gateway.borrow_mut().survives(&text);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Unreadable requests and the expected error codes; the first one has the id 1.
fn unreadable() -> Vec<(Vec<u8>, i64)> {
    let call = |argument: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"x":{argument}}}}}}}"#
        )
    };
    let nest = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let steps = format!(r#"{{"plan":{{"steps":[{{"id":"a","value":{nest}}}]}}}}"#);
    let mut broken = call("\"?\"").into_bytes();
    let at = broken.iter().position(|byte| *byte == b'?').unwrap();
    broken[at] = 0xff;
    vec![
        (call(r#""\ud83d""#).into(), -32700),
        (call("1e400").into(), -32700),
        (call(&nest).into(), -32700),
        (call("\"").into(), -32700),
        (call("NaN").into(), -32700),
        (
            call("echo")
                .replace("\"echo\"", "\"execute_plan\"")
                .replace("{\"x\":echo}", &steps)
                .into(),
            -32700,
        ),
        (broken, -32700),
        (call("1").replace("2.0", "1.0").into(), -32600),
    ]
}

#[test]
fn unreadable_messages_over_stdio_are_answered() {
    let mut gateway = Piped::greeted();
    for (text, code) in unreadable() {
        gateway.input.write_all(&text).unwrap();
        gateway.input.write_all(b"\n").unwrap();
        let answer = gateway.response();
        let shown = String::from_utf8_lossy(&text);
        assert_eq!(answer["error"]["code"], code, "{answer} to {shown}");
        assert_eq!(answer["id"], 1, "{answer} to {shown}");
    }
    gateway.is_well("what cannot be read");
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"ping","params":{{"a":"{}"}}}}"#,
        "a".repeat(17 << 20)
    );
    gateway.write(&long);
    let answer = gateway.response();
    assert_eq!(answer["id"], 2, "{answer}");
    assert_eq!(
        answer["error"]["message"],
        "the message has more than 16777216 bytes"
    );
    gateway.is_well("what is too long");
}

#[test]
fn unreadable_messages_over_http_are_answered() {
    for has_session in [true, false] {
        let gateway = Reached::start(has_session);
        for (text, code) in unreadable() {
            let shown = String::from_utf8_lossy(&text).into_owned();
            let call = json!({"method": "tools/call", "params": {"name": "echo"}});
            let mut answer = gateway.request(&call).body(text).send();
            assert_eq!(answer.status(), 400, "{shown}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
            let answer = answer.message().expect("an answer");
            assert_eq!(answer["error"]["code"], code, "{answer} to {shown}");
            assert_eq!(answer["id"], 1, "{answer} to {shown}");
        }
        let ping = json!({"method": "ping"});
        let mut answer = gateway.request(&ping).body(b" \n".to_vec()).send();
        assert_eq!(answer.status(), 400);
        let answer = answer.message().expect("an answer");
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
        assert_eq!(answer["error"]["message"], "the request has no message");
    }
}
