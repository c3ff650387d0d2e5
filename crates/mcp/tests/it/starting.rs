//! Tests of concurrent starts of servers of all revisions.

use std::collections::BTreeSet;
use std::time::Duration;

use insta::assert_snapshot;
use planwright_core::{Tool, ToolName};
use planwright_mcp::{ConnectOptions, Connections, ProgramConfig, ServerConfig, ServersConfig};
use planwright_testkit::fake_server::Recorder;
use serde_json::json;

use crate::support::{call, connect, connect_fake, connect_with, describe, fake};

/// Connects to a server that follows `script`. Returns its failure, or the methods that it received.
async fn check(mut script: serde_json::Value) -> String {
    let recorder = Recorder::new();
    script["record"] = recorder.address().into();
    script["tools"] = json!([{"name": "echo"}]);
    let config = ServerConfig {
        start_timeout: Some(Duration::from_secs(20)),
        ..fake("fake", script)
    };
    let connections = connect([config]).await;
    if let [failure] = connections.failures() {
        return format!(
            "{}\nhelp: {}\nstderr: {}",
            failure.message, failure.help, failure.stderr
        );
    }
    let outcome = call(&connections, "fake", "echo", json!({"a": 1})).await;
    connections.shutdown().await;
    let methods = tokio::task::spawn_blocking(move || recorder.methods_until_end());
    format!(
        "{} -> {}",
        methods.await.unwrap().join(", "),
        describe(outcome)
    )
}

#[tokio::test]
async fn speaks_every_revision() {
    assert_snapshot!(check(json!({"revisions": ["2026-07-28"]})).await,
        @r#"server/discover, tools/list, tools/call -> {"a":1} text "{\"a\":1}""#);
    assert_snapshot!(check(json!({"revisions": ["2025-11-25"]})).await,
        @r#"server/discover, initialize, notifications/initialized, tools/list, tools/call -> {"a":1} text "{\"a\":1}""#);
    assert_snapshot!(check(json!({"revisions": ["2025-06-18"]})).await,
        @r#"server/discover, initialize, notifications/initialized, tools/list, tools/call -> {"a":1} text "{\"a\":1}""#);
    assert_snapshot!(check(json!({})).await,
        @r#"server/discover, tools/list, tools/call -> {"a":1} text "{\"a\":1}""#);
}

#[tokio::test]
async fn waits_for_slow_servers_of_any_revision() {
    // Both requests arrive before the servers wake up and answer them in a row.
    let (old, new, silent) = tokio::join!(
        check(json!({"revisions": ["2025-11-25"], "start_delay_ms": 2500})),
        check(json!({"revisions": ["2026-07-28"], "start_delay_ms": 2500})),
        check(json!({"revisions": ["2025-11-25"], "silent_on_unknown": true})),
    );
    assert_snapshot!(old, @r#"server/discover, initialize, notifications/initialized, tools/list, tools/call -> {"a":1} text "{\"a\":1}""#);
    assert_snapshot!(new, @r#"server/discover, initialize, tools/list, tools/call -> {"a":1} text "{\"a\":1}""#);
    assert_snapshot!(silent, @r#"server/discover, initialize, notifications/initialized, tools/list, tools/call -> {"a":1} text "{\"a\":1}""#);
}

#[tokio::test]
async fn ignores_noise_on_stdout() {
    let connections = connect_fake(json!({
        "stdout": "npm notice\n\n\"a text\"\n[1,2]\n{\"no\": \"message\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"hi\"}}",
        "tools": [{"name": "echo"}]
    }))
    .await;
    assert_eq!(connections.tools().len(), 1);
    assert_snapshot!(connections.stderr("fake").unwrap(), @r#"
    [on stdout, not a message] npm notice
    [on stdout, not a message] "a text"
    [on stdout, not a message] [1,2]
    [on stdout, not a message] {"no": "message"}
    "#);
    assert_eq!(connections.stderr("other"), None);
}

#[tokio::test]
async fn says_why_a_server_did_not_start() {
    assert_snapshot!(check(json!({"exit": 3, "stderr": "no key given\nset KEY"})).await, @"
    the server `fake` did not start: it stopped (exit status: 3)
    help: run its command by hand, and see what it says
    stderr: no key given
    set KEY
    ");
    assert_snapshot!(check(json!({"revisions": []})).await, @"
    the server `fake` did not start: it rejected the handshake: Method not found
    help: run its command by hand, and see what it says
    stderr: 
    ");
    let missing = ServerConfig::new("lost", "no-such-program-anywhere", [""; 0]);
    let elsewhere = ServerConfig::program(
        "elsewhere",
        ProgramConfig {
            command: "sh".to_owned(),
            cwd: Some("/no/such/folder".into()),
            ..ProgramConfig::default()
        },
    );
    let connections = connect([missing, elsewhere]).await;
    let lines: Vec<String> = connections
        .failures()
        .iter()
        .map(|failure| format!("{}\nhelp: {}", failure.message, failure.help))
        .collect();
    assert_snapshot!(lines.join("\n"), @"
    the server `lost` did not start: `no-such-program-anywhere` was not found
    help: install `no-such-program-anywhere`, or give its whole path as `command`
    the server `elsewhere` did not start: `sh` was not found
    help: the folder `/no/such/folder` does not exist
    ");
}

#[tokio::test]
async fn servers_start_concurrently() {
    let recorder = Recorder::new();
    let script = json!({"hang": true, "record": recorder.address()});
    let servers = ["a", "b", "c", "d"].map(|name| endless(fake(name, script.clone())));
    meanwhile(connect(servers), move || {
        for _ in 0..4 {
            recorder.started();
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_hangs_does_not_hold_up_the_others() {
    let recorder = Recorder::new();
    let script = json!({"record": recorder.address(), "tools": [{"name": "echo"}]});
    let hanging = endless(fake("hanging", json!({"hang": true})));
    let other = |name| fake(name, script.clone());
    let servers = [hanging, other("a"), other("b"), other("c"), other("d")];
    meanwhile(connect(servers), move || {
        for _ in 0..4 {
            recorder.message("tools/list");
        }
    })
    .await;
}

/// Creates a server without an effective start timeout.
fn endless(server: ServerConfig) -> ServerConfig {
    ServerConfig {
        start_timeout: Some(Duration::from_hours(1)),
        ..server
    }
}

/// Runs `event` while `waiting` is polled, then drops `waiting`.
async fn meanwhile(
    waiting: impl Future<Output = Connections>,
    event: impl FnOnce() + Send + 'static,
) {
    tokio::select! {
        _ = waiting => panic!("nothing was left to wait for"),
        event = tokio::task::spawn_blocking(event) => event.unwrap(),
    }
}

#[tokio::test]
async fn a_server_that_never_answers_fails_alone() {
    let script = json!({"hang": true, "stderr": "waiting for godot"});
    let hanging = ServerConfig {
        start_timeout: Some(Duration::from_secs(3)),
        ..fake("hanging", script)
    };
    let other = fake("other", json!({"tools": [{"name": "echo"}]}));
    let connections = connect([hanging, other]).await;
    let names: Vec<&str> = connections.servers().map(AsRef::as_ref).collect();
    assert_eq!(names, ["other"]);
    let [failure] = connections.failures() else {
        panic!("one failure was expected");
    };
    assert_snapshot!(format!("{failure}\n{}", failure.stderr), @"
    the server `hanging` did not start: it was not ready within 3s
    waiting for godot
    ");
    let output = call(&connections, "other", "echo", json!({}))
        .await
        .unwrap();
    assert_eq!(output.value.to_json(), "{}");
}

#[tokio::test]
async fn starts_only_required_servers() {
    let text = r#"{"mcpServers": {"remote": {"url": "https://example.com"}, "unset": {"command": "${NONE}"}}}"#;
    let (mut config, _) = ServersConfig::parse(text, "mcp.json", &|_| None).unwrap();
    let recorder = Recorder::new();
    let needed = fake("needed", json!({"tools": [{"name": "echo"}]}));
    let other = fake("other", json!({"record": recorder.address()}));
    config.servers.extend([needed, other]);
    let options = ConnectOptions {
        only: Some(BTreeSet::from(["needed".into(), "remote".into()])),
        ..ConnectOptions::default()
    };
    let connections = Connections::connect(&config, options).await;
    let names: Vec<&str> = connections.servers().map(AsRef::as_ref).collect();
    assert_eq!(names, ["needed"]);
    let failed: Vec<&str> = connections
        .failures()
        .iter()
        .map(|failure| &*failure.server)
        .collect();
    assert_eq!(failed, ["remote"]);
    assert!(recorder.has_seen_nothing());
}

#[tokio::test]
async fn lists_all_pages_of_tools() {
    let tools: Vec<_> = (0..7)
        .map(|index| json!({"name": format!("t{index}")}))
        .collect();
    let connections = connect_fake(json!({"page_size": 3, "tools": tools})).await;
    let names: Vec<ToolName> = connections
        .tools()
        .iter()
        .map(Tool::qualified_name)
        .collect();
    assert_eq!(
        names,
        [
            "fake.t0", "fake.t1", "fake.t2", "fake.t3", "fake.t4", "fake.t5", "fake.t6"
        ]
    );
}

#[tokio::test]
async fn says_what_is_wrong_with_a_list_of_tools() {
    let check = async |answer: serde_json::Value, expected: &[&str]| {
        let connections = connect([fake("fake", json!({"answers": {"tools/list": answer}}))]).await;
        let failures = connections.failures().iter().map(|one| one.message.clone());
        let said: Vec<String> = failures
            .chain(connections.warnings().iter().cloned())
            .collect();
        assert_eq!(said, expected);
    };
    let endless = json!({"tools": [{"name": "a"}], "nextCursor": "more"});
    let said = [
        "the list of tools of the server `fake` has no end: 2 were read",
        "the server `fake` lists the tool `a` twice: the later one counts",
    ];
    check(endless, &said).await;
    let none = [
        "the server `fake` did not start: its list of tools cannot be read: the response has no list `tools`",
    ];
    check(json!({}), &none).await;
    check(json!({"tools": null}), &none).await;
}

#[tokio::test]
async fn trusts_annotations_of_trusted_servers_only() {
    let script =
        json!({"tools": [{"name": "read", "annotations": {"readOnlyHint": true}}, {"name": ""}]});
    let trusted = ServerConfig {
        trusted: true,
        ..fake("trusted", script.clone())
    };
    let connections = connect([trusted, fake("other", script)]).await;
    let repeatable: Vec<bool> = connections
        .tools()
        .iter()
        .map(Tool::is_repeatable)
        .collect();
    assert_eq!(repeatable, [true, false]);
    assert_eq!(connections.warnings().len(), 2);
}

#[tokio::test]
async fn a_message_beyond_the_limit_ends_the_connection() {
    let options = ConnectOptions {
        message_limit: 10_000,
        ..ConnectOptions::default()
    };
    let script =
        json!({"tools": [{"name": "big", "does": {"text_bytes": 20_000}}, {"name": "echo"}]});
    let connections = connect_with([fake("fake", script)], options).await;
    let outcome = call(&connections, "fake", "big", json!({})).await;
    assert_snapshot!(describe(outcome),
        @"unavailable: the server `fake` did not answer: it sent a message that is longer than the limit (unknown)");
    let outcome = call(&connections, "fake", "echo", json!({})).await;
    assert_snapshot!(describe(outcome), @r#"{} text "{}""#);
}
