//! A server that never answers does not delay the clients of other servers, and a plan waits for a server that is slow to start.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright::config::Config;
use planwright::core;
use planwright::mcp::gateway::{CALL_GRACE, ClientId, GatewayClient, Host, HostCall};
use planwright::mcp::{
    Caller, ConnectOptions, ServerConfig, ServersConfig, UpstreamError, Upstreams,
};
use planwright_serve::{GatewaySettings, PlanHost};
use planwright_store::LeaseHolder;
use planwright_testkit::fake_server::{self, Recorder};
use planwright_testkit::wire_client::WireClient;
use serde_json::{Value, json};

use super::serve::Behind;

/// The start timeout of the server: more than the requests take on a busy machine, and less than they
/// would if each waited for it.
const START_TIMEOUT: &str = "14s";

fn behind() -> Behind {
    let mute = json!({"hang": true}).to_string();
    let quick = json!({
        "tools": [{"name": "echo", "annotations": {"readOnlyHint": true}}],
        "resources": [{"uri": "x://y", "name": "y"}],
        "prompts": [{"name": "p"}],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
    });
    let quick = quick.to_string();
    let program = fake_server::program();
    Behind::reaching(&json!({
        "mute": {"command": program, "args": [mute], "startTimeout": START_TIMEOUT},
        "quick": {"command": program, "args": [quick]},
    }))
}

/// Sends `requests`, which are answered with what the ready server has. Then the other one is still starting, which the list says.
#[track_caller]
fn check(client: &mut WireClient, requests: &[(&str, Value, &str)], listed: &str) {
    for (method, params, expected) in requests {
        let answer = client.request(method, params.clone()).to_string();
        assert!(answer.contains(expected), "{method} {params}: {answer}");
    }
    let list = client.request("tools/list", json!({})).to_string();
    assert!(list.contains(listed), "{list}");
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

const STARTING: &str = "the server `mute` is still starting";

#[test]
fn in_plain_mode() {
    let requests = [
        ("tools/list", json!({}), "echo"),
        ("tools/list", json!({}), "echo"),
        ("resources/list", json!({}), "x://y"),
        ("prompts/list", json!({}), r#""name":"p""#),
        ("tools/call", call("echo", json!({"a": 7})), r#"{\"a\":7}"#),
    ];
    for revision in ["2025-11-25", "2026-07-28"] {
        let behind = behind();
        let mut client = behind.client(&["--mode", "plain"], revision, &[]);
        check(&mut client, &requests, r#""planwright/starting":["mute"]"#);
    }
}

#[test]
fn in_search_mode() {
    let echo = json!({"tool": "echo", "arguments": {"a": 7}});
    let requests = [
        ("tools/list", json!({}), "echo"),
        (
            "tools/call",
            call("search_tools", json!({"query": "echo"})),
            STARTING,
        ),
        (
            "tools/call",
            call("call_tool", echo.clone()),
            r#"{\"a\":7}"#,
        ),
        ("tools/call", call("call_tool", echo), r#"{\"a\":7}"#),
    ];
    let behind = behind();
    let mut client = behind.client(&["--mode", "search"], "2025-11-25", &[]);
    check(&mut client, &requests, STARTING_LISTED);
}

const STARTING_LISTED: &str = "The server `mute` is still starting.";

#[test]
fn in_plan_mode() {
    let plan = json!({"plan": {"steps": [{"id": "a", "tool": "echo", "args": {"a": 7}}], "output": ["a"]}});
    let requests = [
        ("tools/list", json!({}), "echo"),
        (
            "tools/call",
            call("describe_tools", json!({"tools": ["echo"]})),
            "echo",
        ),
        (
            "tools/call",
            call("describe_tools", json!({"tools": ["nil"]})),
            STARTING,
        ),
        (
            "tools/call",
            call("execute_plan", plan),
            r#""status":"succeeded""#,
        ),
    ];
    let behind = behind();
    let mut client = behind.client(&[], "2025-11-25", &[]);
    check(&mut client, &requests, STARTING_LISTED);
}

/// A client that is notified of late servers waits a second, not the five seconds of others, even if its first list directly
/// follows the handshake.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test measures how long a client waits"
)]
fn the_first_list_does_not_wait_long() {
    for mode in ["plain", "search", "plan"] {
        let behind = behind();
        let mut client = behind.client(&["--mode", mode], "2025-11-25", &[]);
        let begin = Instant::now();
        let list = client.request("tools/list", json!({})).to_string();
        assert!(list.contains("echo"), "{mode}: {list}");
        let waited = begin.elapsed();
        assert!(waited < Duration::from_secs(4), "{mode}: {waited:?}");
    }
}

/// A tool that no server has may still appear; the refusal says so.
#[test]
fn the_error_for_an_unknown_name_names_the_server() {
    let behind = behind();
    let mut client = behind.client(&["--mode", "plain"], "2025-11-25", &[]);
    let refused = client.request("tools/call", call("nil", json!({})));
    assert_eq!(
        refused["error"]["message"],
        format!("unknown tool `nil`; {STARTING}")
    );
}

/// A client that is never asked.
struct Silent;

impl Caller for Silent {
    fn notify(&self, _: &str, _: core::Value) {}

    fn ask(
        &self,
        method: &str,
        _: core::Value,
    ) -> BoxFuture<'static, Result<core::Value, UpstreamError>> {
        panic!("the client was asked: {method}")
    }

    fn meta(&self) -> core::Value {
        core::Value::Null
    }
}

/// A host before the server `shop`, without a store.
struct Late {
    host: Arc<PlanHost>,
    upstreams: Upstreams,
    recorder: Recorder,
}

impl Late {
    /// Starts `command` with the script of a server that waits for its release before it answers anything.
    fn start(command: impl FnOnce(String) -> ServerConfig) -> Self {
        let recorder = Recorder::new();
        let script = json!({
            "record": recorder.address(), "start_waits_for_release": true,
            "tools": [{"name": "echo", "annotations": {"readOnlyHint": true}}],
        });
        let servers = ServersConfig {
            servers: vec![ServerConfig {
                start_timeout: Some(Duration::from_hours(1)),
                ..command(script.to_string())
            }],
            ..ServersConfig::default()
        };
        let upstreams = Upstreams::new(servers, ConnectOptions::default());
        let holder = LeaseHolder::this_process("here", SystemTime::UNIX_EPOCH);
        let settings = GatewaySettings::new(Config::default(), holder, || SystemTime::UNIX_EPOCH);
        let host = PlanHost::new(settings, upstreams.clone());
        upstreams.start(&core::Value::empty_object());
        Self {
            host,
            upstreams,
            recorder,
        }
    }

    fn execute(&self, tool: &str) -> BoxFuture<'static, String> {
        let plan = json!({"steps": [{"id": "a", "tool": tool, "args": {"a": 7}}], "output": ["a"]});
        let call = HostCall {
            name: "execute_plan".to_owned(),
            arguments: json!({"plan": plan}).into(),
            client: GatewayClient::new(ClientId::new("a")),
            caller: Arc::new(Silent),
            progress_token: None,
        };
        let host = Arc::clone(&self.host);
        async move { host.call(call).await.unwrap().to_json() }.boxed()
    }

    /// Releases the server once its process runs.
    async fn release(self) -> Upstreams {
        let release = move || {
            self.recorder.started();
            self.recorder.release();
        };
        tokio::task::spawn_blocking(release).await.unwrap();
        self.upstreams
    }
}

#[tokio::test]
async fn a_plan_waits_for_the_first_start_of_a_server() {
    let late = Late::start(|script| {
        let program = fake_server::program().display().to_string();
        ServerConfig::new("shop", program, [script])
    });
    // Longer than other requests wait.
    tokio::time::pause();
    tokio::time::advance(CALL_GRACE * 2).await;
    tokio::time::resume();
    let mut answer = late.execute("echo");
    assert!((&mut answer).now_or_never().is_none());
    let upstreams = late.release().await;
    let answer = answer.await;
    assert!(answer.contains(r#""status":"succeeded""#), "{answer}");
    upstreams.shutdown().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_plan_waits_for_the_restart_of_a_server_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let late = Late::start(|script| {
        // The first start fails.
        let shell = r#"[ -e "$2" ] && exec "$0" "$1"; touch "$2"; exit 3"#.to_owned();
        let program = fake_server::program().display().to_string();
        let mark = folder.path().join("started").display().to_string();
        ServerConfig::new(
            "shop",
            "sh",
            ["-c".to_owned(), shell, program, script, mark],
        )
    });
    assert!(late.upstreams.settled(Duration::from_mins(1)).await);
    late.upstreams.start(&core::Value::empty_object());
    let mut answer = late.execute("shop.echo");
    assert!((&mut answer).now_or_never().is_none());
    // The wait would delay every misspelt name.
    let refused = late.execute("ehco").await;
    assert!(
        refused.contains("the server `shop` is still starting"),
        "{refused}"
    );
    let upstreams = late.release().await;
    let answer = answer.await;
    assert!(answer.contains(r#""status":"succeeded""#), "{answer}");
    upstreams.shutdown().await;
}
