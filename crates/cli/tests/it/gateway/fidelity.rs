//! Fidelity of the gateway: each message of a response equals the one that the server sends directly.

use std::process::Command;

use planwright_testkit::real_servers;
use planwright_testkit::wire_client::WireClient;
use regex::Regex;
use serde_json::{Value, json};

use super::serve::Behind;

/// Asks the reference server for everything, directly and through the gateway, over stdio and over HTTP, as a client of `revision`.
fn check(revision: &'static str) {
    let program = real_servers::program("mcp-server-everything");
    let direct = experience(&mut WireClient::start(
        Command::new(&program),
        revision,
        &answers(),
    ));
    let behind = Behind::new(&[("everything", &program, &[])]);
    // The reference server returns texts, after which the gateway asks about calls with a guarded parameter.
    behind.set("[flow]\nenabled = false\n");
    let plain = ["--mode", "plain"];
    let over_stdio = experience(&mut behind.client(&plain, revision, &answers()));
    compare(&direct, &over_stdio, "stdio");
    let listening = behind.listening(&plain);
    let mut client = WireClient::reach(listening.url(), revision, &answers());
    compare(&shared(direct), &shared(experience(&mut client)), "HTTP");
}

/// The tools whose server asks its client: their requests have no owner if several clients share the server.
const FOR_ONE: [&str; 3] = [
    "trigger-sampling-request",
    "trigger-url-elicitation",
    "get-roots-list",
];

/// Requests that the server serves for each of several clients.
fn shared(steps: Vec<Value>) -> Vec<Value> {
    let is_for_one = |name: &Value| FOR_ONE.iter().any(|one| name == one);
    let mut steps = steps;
    steps.retain(|step| !is_for_one(&step["params"]["name"]));
    for step in &mut steps {
        if let Some(tools) = step
            .pointer_mut("/answer/result/tools")
            .and_then(Value::as_array_mut)
        {
            tools.retain(|tool| !is_for_one(&tool["name"]));
        }
    }
    steps
}

#[track_caller]
fn compare(direct: &[Value], through: &[Value], transport: &str) {
    assert_eq!(direct.len(), through.len());
    for (direct, through) in direct.iter().zip(through) {
        assert!(
            direct == through,
            "directly:\n{direct:#}\nthrough the gateway over {transport}:\n{through:#}"
        );
    }
}

#[test]
fn nothing_is_lost_at_2025_06_18() {
    check("2025-06-18");
}

#[test]
fn nothing_is_lost_at_2025_11_25() {
    check("2025-11-25");
}

/// Returns the client's response to a request of the server.
fn answers() -> Vec<(&'static str, Value)> {
    let form = json!({"action": "accept", "content": {"name": "Ada", "check": true}});
    let message = json!({
        "role": "assistant",
        "model": "none",
        "content": {"type": "text", "text": "as you say"},
    });
    let roots = json!({"roots": [{"uri": "file:///tmp", "name": "tmp"}]});
    vec![
        ("elicitation/create", form),
        ("sampling/createMessage", message),
        ("roots/list", roots),
    ]
}

/// Records the behaviour of the server towards a client, step by step.
fn experience(client: &mut WireClient) -> Vec<Value> {
    // The server lists more tools once it knows what the client is able to.
    let settled = (0..1000).any(|_| {
        let listed = client.request("tools/list", json!({}));
        listed.to_string().contains("trigger-elicitation-request")
    });
    assert!(settled, "the server never lists all its tools");
    let steps = lists().into_iter().chain(calls()).chain(others());
    steps
        .map(|(method, params)| step(client, method, params))
        .collect()
}

type Step = (&'static str, Value);

fn lists() -> Vec<Step> {
    vec![
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("logging/setLevel", json!({"level": "error"})),
    ]
}

/// All its tools except `get-env`, whose result depends on the machine, and the two that send notifications at any time.
fn calls() -> Vec<Step> {
    let call = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        ("tools/call", params)
    };
    let mut steps = vec![
        call("echo", json!({"message": "grüß dich 🦀"})),
        call("echo", json!({"message": 1})),
        call("echo", json!({})),
        call("get-sum", json!({"a": 1, "b": 0.5})),
        call("get-tiny-image", json!({})),
        call("get-structured-content", json!({"location": "Chicago"})),
        call("get-structured-content", json!({"location": "Atlantis"})),
        call(
            "get-annotated-message",
            json!({"messageType": "error", "includeImage": true}),
        ),
        call("get-annotated-message", json!({"messageType": "debug"})),
        call("get-resource-links", json!({"count": 4})),
        call(
            "get-resource-reference",
            json!({"resourceType": "Text", "resourceId": 1}),
        ),
        call(
            "get-resource-reference",
            json!({"resourceType": "Text", "resourceId": -1}),
        ),
        call(
            "gzip-file-as-resource",
            json!({
                "name": "a.txt.gz", "data": "data:text/plain,hello", "outputType": "resourceLink",
            }),
        ),
        call("trigger-elicitation-request", json!({})),
        call(
            "trigger-sampling-request",
            json!({"prompt": "say it", "maxTokens": 7}),
        ),
        call(
            "trigger-url-elicitation",
            json!({"url": "https://example.org/x", "elicitationId": "one"}),
        ),
        call(
            "trigger-url-elicitation",
            json!({
                "url": "https://example.org/x", "elicitationId": "two", "errorPath": true,
            }),
        ),
        call("simulate-research-query", json!({"topic": "crabs"})),
    ];
    steps.push((
        "tools/call",
        json!({
            "name": "trigger-long-running-operation",
            "arguments": {"duration": 0.3, "steps": 3},
            "_meta": {"progressToken": "how far"},
        }),
    ));
    steps
}

fn others() -> Vec<Step> {
    let complete = |reference: Value, name: &str, value: &str| {
        let argument = json!({"name": name, "value": value});
        (
            "completion/complete",
            json!({"ref": reference, "argument": argument}),
        )
    };
    let prompt = |name: &str, arguments: Value| {
        ("prompts/get", json!({"name": name, "arguments": arguments}))
    };
    let read = |uri: &str| ("resources/read", json!({"uri": uri}));
    let text = "demo://resource/dynamic/text/1";
    vec![
        prompt("simple-prompt", json!({})),
        prompt("args-prompt", json!({"city": "Oslo"})),
        prompt("args-prompt", json!({})),
        prompt(
            "resource-prompt",
            json!({"resourceType": "Text", "resourceId": "1"}),
        ),
        complete(
            json!({"type": "ref/prompt", "name": "completable-prompt"}),
            "department",
            "E",
        ),
        complete(
            json!({"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}),
            "resourceId",
            "1",
        ),
        read("demo://resource/static/document/features.md"),
        read(text),
        read("demo://resource/dynamic/blob/2"),
        read("demo://resource/dynamic/text/none"),
        ("resources/subscribe", json!({"uri": text})),
        ("resources/unsubscribe", json!({"uri": text})),
    ]
}

/// The messages of one request: the response, requests of the server meanwhile, and progress.
fn step(client: &mut WireClient, method: &str, params: Value) -> Value {
    client.asked.clear();
    client.notifications.clear();
    let answer = client.request(method, params.clone());
    // The server asks for roots whenever it sees fit.
    let asked = client
        .asked
        .iter()
        .filter(|asked| asked["method"] != "roots/list");
    let asked: Vec<Value> = asked.map(without_token).collect();
    let notification = client.notifications.iter();
    let progress: Vec<Value> = notification
        .filter(|notification| notification["method"] == "notifications/progress")
        .map(|notification| {
            let mut params = notification["params"].clone();
            // `1` and `1.0` are the same number in JSON.
            for field in ["progress", "total"] {
                params[field] = json!(params[field].as_f64());
            }
            params
        })
        .collect();
    timeless(&json!({
        "method": method,
        "params": params,
        "answer": answer,
        "asked": asked,
        "progress": progress,
    }))
}

/// A request without its progress token, which is specific to one connection.
fn without_token(asked: &Value) -> Value {
    let mut params = asked["params"].clone();
    if let Some(fields) = params.as_object_mut() {
        fields.remove("_meta");
    }
    json!({"method": asked["method"], "params": params})
}

/// The value without the times of day that the server puts into its texts.
fn timeless(value: &Value) -> Value {
    let time = Regex::new(r"\d{1,2}:\d\d:\d\d(\s[AP]M)?").expect("the pattern is sound");
    match value {
        Value::String(text) => time.replace_all(text, "TIME").into(),
        Value::Array(items) => items.iter().map(timeless).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| match field.as_str() {
                // The end of what is encoded holds such a time, too; each elicitation has an id of its own.
                Some(blob) if name == "blob" => (name.clone(), json!(blob.get(..40))),
                Some(id) if id.len() == 36 && name == "elicitationId" => {
                    (name.clone(), json!("ID"))
                }
                _ => (name.clone(), timeless(field)),
            })
            .collect(),
        other => other.clone(),
    }
}
