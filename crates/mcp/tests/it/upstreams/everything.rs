//! Tests that compare the reference server through upstreams with direct access to it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use insta::assert_snapshot;
use planwright_core::Value;
use planwright_mcp::{Caller, ServerConfig, Upstreams};
use planwright_testkit::real_servers;
use serde_json::json;

use super::support::Client;
use super::support::{EVENT_TIMEOUT, upstreams};

/// A minimal client that reads responses unchanged.
struct Direct {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Direct {
    fn start(capabilities: &serde_json::Value) -> Self {
        let program = real_servers::program("mcp-server-everything");
        let mut server = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = server.stdin.take().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut direct = Self {
            server,
            input,
            output,
        };
        let client = json!({"name": "planwright", "version": "1"});
        direct.request("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}));
        direct.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        direct
    }

    fn request(&mut self, method: &str, params: &serde_json::Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "the server closed its output"
            );
            let message = Value::from_json(&line).unwrap();
            if message.get("id").and_then(Value::as_text) == Some(method) {
                let error = message.get("error").cloned();
                return message.get("result").cloned().or(error).unwrap();
            }
        }
    }

    fn send(&mut self, message: &serde_json::Value) {
        writeln!(self.input, "{message}").unwrap();
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

async fn everything(capabilities: &serde_json::Value) -> Upstreams {
    let program = real_servers::program("mcp-server-everything");
    let server = ServerConfig::new("everything", program.to_str().unwrap(), [""; 0]);
    let upstreams = upstreams([server]);
    upstreams.start(&capabilities.clone().into());
    assert!(upstreams.settled(EVENT_TIMEOUT).await);
    upstreams
}

async fn request(
    upstreams: &Upstreams,
    method: &str,
    params: serde_json::Value,
    caller: Option<Arc<dyn Caller>>,
) -> Value {
    let outcome = upstreams.request("everything", method, params.into(), caller);
    match outcome.await {
        Ok(result) => result,
        Err(error) => {
            let mut fields = vec![
                ("code", Value::from(error.code)),
                ("message", error.message.into()),
            ];
            fields.extend(error.data.map(|data| ("data", data)));
            Value::object(fields)
        }
    }
}

#[tokio::test]
async fn responses_equal_those_of_direct_access() {
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let mut direct = Direct::start(&capabilities);
    let upstreams = everything(&capabilities).await;
    let call = |name: &str, arguments: serde_json::Value| {
        ("tools/call", json!({"name": name, "arguments": arguments}))
    };
    let requests = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        call("echo", json!({"message": "\u{1f980} ä"})),
        call("get-tiny-image", json!({})),
        call("get-resource-links", json!({"count": 2})),
        call(
            "get-annotated-message",
            json!({"messageType": "error", "includeImage": true}),
        ),
        call("get-structured-content", json!({"location": "Chicago"})),
        call("get-sum", json!({"a": 1, "b": "x"})),
        call("no-such-tool", json!({})),
        ("prompts/get", json!({"name": "simple-prompt"})),
        ("prompts/get", json!({"name": "no-such-prompt"})),
        ("resources/read", json!({"uri": "no://such"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "completable-prompt"}, "argument": {"name": "department", "value": "E"}}),
        ),
        ("made/up", json!({})),
    ];
    for (method, params) in requests {
        let expected = direct.request(method, &params);
        let got = request(&upstreams, method, params.clone(), None).await;
        assert_eq!(got.to_json(), expected.to_json(), "{method} {params}");
    }
    let view = upstreams.view();
    let server = view.server("everything").unwrap();
    for (method, field, entries) in [
        ("tools/list", "tools", &server.tool_entries),
        ("prompts/list", "prompts", &server.prompts),
        ("resources/list", "resources", &server.resources),
        (
            "resources/templates/list",
            "resourceTemplates",
            &server.resource_templates,
        ),
    ] {
        let listed = direct.request(method, &json!({}));
        assert_eq!(
            listed.get(field),
            Some(&Value::from(entries.clone())),
            "{method}"
        );
        assert!(!entries.is_empty(), "{method}");
    }
    upstreams.shutdown().await;
}

#[tokio::test]
async fn progress_and_elicitations_reach_the_caller() {
    let upstreams = everything(&json!({"elicitation": {}})).await;
    let answer = json!({"action": "accept", "content": {"name": "Ada", "check": true}});
    let client = Client::new(None, Some(Ok(answer)));
    let params = json!({
        "name": "trigger-long-running-operation", "arguments": {"duration": 0.2, "steps": 2},
        "_meta": {"progressToken": 5},
    });
    request(
        &upstreams,
        "tools/call",
        params,
        Some(Arc::clone(&client) as Arc<dyn Caller>),
    )
    .await;
    assert_snapshot!(client.lines().join("\n"), @r#"
    notifications/progress {"progress":1,"total":2,"progressToken":5}
    notifications/progress {"progress":2,"total":2,"progressToken":5}
    "#);

    let params = json!({"name": "trigger-elicitation-request", "arguments": {}});
    let result = request(
        &upstreams,
        "tools/call",
        params,
        Some(Arc::clone(&client) as Arc<dyn Caller>),
    )
    .await;
    let text = result.to_json();
    assert!(text.contains("Ada"), "{text}");
    let lines = client.lines();
    let asked = lines
        .iter()
        .filter(|line| line.starts_with("elicitation/create?"));
    assert_eq!(asked.count(), 1, "{lines:?}");
    upstreams.shutdown().await;
}
