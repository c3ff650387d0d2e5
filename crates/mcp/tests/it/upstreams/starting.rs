//! Tests of servers that start on demand and independently.

use std::time::Duration;

use insta::assert_snapshot;
use planwright_engine::backend::ToolBackend;
use planwright_mcp::{
    ConnectOptions, ServerConfig, ServersConfig, UpstreamClient, UpstreamState, Upstreams,
};
use planwright_testkit::fake_server::{Recorder, program};
use serde_json::json;

use super::support::{
    EVENT_TIMEOUT, line, raw_call, ready, states, upstreams, upstreams_with, view_when,
};
use crate::support::{describe, fake, tool_call};

fn echo() -> serde_json::Value {
    json!({"tools": [{"name": "echo"}]})
}

/// Creates a server that exits at once, except at its start number `good`. The folder counts its starts.
#[cfg(unix)]
fn failing(folder: &std::path::Path, good: usize, script: &serde_json::Value) -> ServerConfig {
    let shell = format!(
        "echo >> {0}/starts; [ $(wc -l < {0}/starts) -eq {good} ] && exec \"$0\" \"$1\"; echo gone >&2; exit 3",
        folder.display()
    );
    let program = program().to_str().unwrap().to_owned();
    let args = ["-c".to_owned(), shell, program, script.to_string()];
    ServerConfig::new("fake", "sh", args)
}

#[tokio::test]
async fn a_hanging_or_dying_server_delays_no_other() {
    let text = r#"{"mcpServers": {"unset": {"command": "${NONE}"}}}"#;
    let (mut config, _) = ServersConfig::parse(text, "mcp.json", &|_| None).unwrap();
    let hanging = ServerConfig {
        start_timeout: Some(Duration::from_hours(1)),
        ..fake("hanging", json!({"hang": true}))
    };
    let dead = fake("dead", json!({"exit": 3}));
    config.servers.extend([hanging, dead, fake("fine", echo())]);
    let upstreams = Upstreams::new(config, ConnectOptions::default());
    assert_snapshot!(states(&upstreams), @"hanging idle, dead idle, fine idle, unset failed (the server `unset` cannot be started: the environment variable `NONE` is not set)");
    upstreams.start(&json!({}).into());
    view_when(&upstreams, |view| {
        let settled = view
            .servers
            .iter()
            .filter(|server| server.state.is_settled());
        settled.count() == 3
    })
    .await;
    assert_snapshot!(states(&upstreams), @"hanging starting, dead failed (the server `dead` did not start: it stopped (exit status: 3)), fine ready, unset failed (the server `unset` cannot be started: the environment variable `NONE` is not set)");
    assert!(!upstreams.settled(Duration::from_millis(50)).await);
    let backends = upstreams.backends(None);
    let outcome = backends
        .call(tool_call("fine", "echo", json!({"a": 1})))
        .await;
    assert_snapshot!(describe(outcome), @r#"{"a":1} text "{\"a\":1}""#);
    let outcome = upstreams
        .request("unset", "ping", json!({}).into(), None)
        .await;
    assert_snapshot!(line(outcome), @"-32602: there is no server `unset`");
    upstreams.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_starts_before_it_is_needed() {
    let recorder = Recorder::new();
    let mut script = echo();
    script["record"] = recorder.address().into();
    let upstreams = upstreams([fake("fake", script), fake("other", echo())]);
    assert!(upstreams.settled(EVENT_TIMEOUT).await);
    assert!(recorder.has_seen_nothing());
    let backends = upstreams.backends(None);
    let outcome = backends.call(tool_call("fake", "echo", json!({}))).await;
    assert_snapshot!(describe(outcome), @r#"{} text "{}""#);
    assert!(upstreams.settled(EVENT_TIMEOUT).await);
    assert_snapshot!(states(&upstreams), @"fake ready, other idle");
    // Running servers are not started again.
    upstreams.start(&json!({}).into());
    view_when(&upstreams, |view| {
        view.servers.iter().all(|server| server.state.is_settled())
    })
    .await;
    tokio::task::block_in_place(|| recorder.started());
    upstreams.shutdown().await;
    let methods = tokio::task::block_in_place(|| recorder.methods_until_end());
    let greetings = methods.iter().filter(|method| *method == "server/discover");
    assert_eq!(greetings.count(), 1);
}

#[tokio::test]
async fn a_dead_server_is_restarted_on_demand() {
    let upstreams = ready(json!({
        "tools": [{"name": "die", "does": {"exit": 1}}, {"name": "echo"}]
    }))
    .await;
    let outcome = raw_call(&upstreams, "die", None).await;
    assert_snapshot!(line(outcome), @r#"-32603: the server `fake` did not answer: it stopped (exit status: 1) {"outcome":"unknown"}"#);
    let view = view_when(&upstreams, |view| {
        matches!(view.servers[0].state, UpstreamState::Idle)
    })
    .await;
    // The view still has its lists.
    assert_eq!(view.servers[0].tools.len(), 2);
    let tools = view.changes.tools;
    let outcome = raw_call(&upstreams, "echo", None).await;
    assert_snapshot!(line(outcome), @r#"{"content":[{"type":"text","text":"{}"}],"structuredContent":{},"resultType":"complete"}"#);
    let view = view_when(&upstreams, |view| {
        matches!(view.servers[0].state, UpstreamState::Ready)
    })
    .await;
    // The lists are the same, so no change is reported.
    assert_eq!(view.changes.tools, tools);
    upstreams.shutdown().await;
    let outcome = raw_call(&upstreams, "echo", None).await;
    assert_snapshot!(line(outcome), @"-32603: the server `fake` has been stopped");
}

#[cfg(unix)]
#[tokio::test]
async fn a_failed_start_is_tried_again_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let upstreams = upstreams([failing(folder.path(), 3, &echo())]);
    upstreams.start(&json!({}).into());
    assert!(upstreams.settled(EVENT_TIMEOUT).await);
    assert_snapshot!(states(&upstreams), @"fake failed (the server `fake` did not start: it stopped (exit status: 3))");
    let outcome = raw_call(&upstreams, "echo", None).await;
    assert_snapshot!(line(outcome), @r#"-32603: the server `fake` did not start again: it stopped (exit status: 3) {"stderr":"gone\ngone"}"#);
    raw_call(&upstreams, "echo", None).await.unwrap();
    view_when(&upstreams, |view| {
        matches!(view.servers[0].state, UpstreamState::Ready)
    })
    .await;
    upstreams.shutdown().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_failed_start_is_tried_again_on_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let upstreams = upstreams([failing(folder.path(), 2, &echo())]);
    upstreams.start(&json!({}).into());
    assert!(upstreams.settled(EVENT_TIMEOUT).await);
    assert_eq!(upstreams.view().tools().count(), 0);
    upstreams.start(&json!({}).into());
    assert_snapshot!(states(&upstreams), @"fake starting");
    // Callers wait only once for this server.
    assert!(upstreams.settled(Duration::ZERO).await);
    let view = view_when(&upstreams, |view| view.changes.tools == 1).await;
    assert_eq!(view.tools().count(), 1);
    upstreams.shutdown().await;
}

#[cfg(unix)]
#[tokio::test]
async fn restarts_of_a_failing_server_are_limited() {
    let starts = |folder: &tempfile::TempDir| {
        let starts = std::fs::read_to_string(folder.path().join("starts"));
        starts.unwrap().lines().count()
    };
    for (pause, expected) in [(Duration::from_hours(1), 3), (Duration::ZERO, 6)] {
        let folder = tempfile::tempdir().unwrap();
        let options = ConnectOptions {
            restart_limit: 2,
            restart_pause: Some(pause),
            ..ConnectOptions::default()
        };
        let upstreams = upstreams_with([failing(folder.path(), 0, &echo())], options);
        let mut outcome = String::new();
        for _ in 0..6 {
            outcome = line(raw_call(&upstreams, "echo", None).await);
        }
        assert_eq!(starts(&folder), expected);
        let in_vain = outcome.contains("was restarted 2 times without success");
        assert_eq!(in_vain, expected == 3, "{outcome}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_continues_without_waiting_callers() {
    let recorder = Recorder::new();
    let mut script = echo();
    script["record"] = recorder.address().into();
    script["start_delay_ms"] = 200.into();
    let upstreams = upstreams([fake("fake", script)]);
    let waiting = upstreams.clone();
    let request = tokio::spawn(async move { raw_call(&waiting, "echo", None).await });
    tokio::task::block_in_place(|| recorder.started());
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    raw_call(&upstreams, "echo", None).await.unwrap();
    upstreams.shutdown().await;
    let methods = tokio::task::block_in_place(|| recorder.methods_until_end());
    let greetings = methods.iter().filter(|method| *method == "server/discover");
    assert_eq!(greetings.count(), 1);
}

#[tokio::test]
async fn dropping_them_leaves_nothing() {
    // The first is still starting, the second is running and monitored.
    for script in [json!({"hang": true, "stays": true}), json!({"stays": true})] {
        let recorder = Recorder::new();
        let mut recorded = script.clone();
        recorded["record"] = recorder.address().into();
        let upstreams = upstreams([fake("fake", recorded)]);
        upstreams.start(&json!({}).into());
        if script["hang"] != true {
            assert!(upstreams.settled(EVENT_TIMEOUT).await);
        }
        let recorder = tokio::task::spawn_blocking(move || {
            recorder.started();
            recorder
        });
        let recorder = recorder.await.unwrap();
        drop(upstreams);
        tokio::task::spawn_blocking(move || recorder.ended())
            .await
            .unwrap();
    }
}

/// Returns the negotiated revision of a server with these revisions, started for a client that receives requests or
/// does not.
async fn spoken(revisions: &[&str], receives_requests: bool, protocol: Option<&str>) -> String {
    let mut script = echo();
    script["revisions"] = revisions.into();
    let mut server = fake("fake", script);
    server.protocol = protocol.map(Into::into);
    let upstreams = upstreams([server]);
    upstreams.start_for(&UpstreamClient {
        receives_requests,
        ..UpstreamClient::new(json!({"elicitation": {}}).into())
    });
    assert!(upstreams.settled(EVENT_TIMEOUT).await);
    let view = upstreams.view();
    let server = view.server("fake").unwrap();
    match &server.revision {
        Some(revision) => revision.to_string(),
        None => format!("{:?}", server.state),
    }
}

#[tokio::test]
async fn the_revision_is_the_clients_if_the_server_has_it() {
    const BOTH: &[&str] = &["2026-07-28", "2025-11-25"];
    for (revisions, receives_requests, protocol, expected) in [
        (BOTH, false, None, "2026-07-28"),
        (BOTH, true, None, "2025-11-25"),
        (&["2026-07-28"][..], true, None, "2026-07-28"),
        (&["2025-06-18"][..], false, None, "2025-06-18"),
        (BOTH, true, Some("2026-07-28"), "2026-07-28"),
        (BOTH, false, Some("2025-11-25"), "2025-11-25"),
    ] {
        let spoken = spoken(revisions, receives_requests, protocol).await;
        assert_eq!(
            spoken, expected,
            "{revisions:?} {receives_requests} {protocol:?}"
        );
    }
    let refused = spoken(&["2025-11-25"], false, Some("2026-07-28")).await;
    assert!(refused.contains("it rejected the handshake"), "{refused}");
}
