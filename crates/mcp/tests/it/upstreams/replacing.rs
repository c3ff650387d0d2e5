//! Tests of servers that are replaced while they are in use.

use planwright_engine::ToolBackend;
use planwright_mcp::{ServerChanges, ServerConfig, ServersConfig, UpstreamState};
use planwright_testkit::fake_server::Recorder;
use serde_json::json;

use super::support::{EVENT_TIMEOUT, raw_call, ready, states, upstreams, view_when};
use crate::support::{fake, tool_call};

fn config(servers: impl IntoIterator<Item = ServerConfig>) -> ServersConfig {
    ServersConfig {
        servers: servers.into_iter().collect(),
        ..ServersConfig::default()
    }
}

fn names(names: &[&str]) -> Vec<planwright_core::ServerName> {
    names.iter().map(|name| (*name).into()).collect()
}

#[tokio::test]
async fn equal_servers_go_on_and_others_start() {
    let same = || fake("same", json!({"tools": [{"name": "a"}]}));
    let other = |tool: &str| fake("other", json!({"tools": [{"name": tool}]}));
    let upstreams = upstreams([same(), other("b"), fake("gone", json!({}))]);
    upstreams.start(&json!({}).into());
    assert!(upstreams.settled(EVENT_TIMEOUT).await);
    let before = upstreams.view();
    let changes = upstreams.replace(config([fake("new", json!({})), other("c"), same()]));
    let expected = ServerChanges {
        added: names(&["new"]),
        changed: names(&["other"]),
        removed: names(&["gone"]),
    };
    assert_eq!(changes, expected);
    let view = view_when(&upstreams, |view| {
        let mut servers = view.servers.iter();
        servers.all(|server| matches!(server.state, UpstreamState::Ready))
    })
    .await;
    assert_eq!(states(&upstreams), "new ready, other ready, same ready");
    let tools: Vec<&str> = view.tools().map(|tool| &*tool.name).collect();
    assert_eq!(tools, ["c", "a"]);
    assert_eq!(
        view.server("same").unwrap().id,
        before.server("same").unwrap().id
    );
    assert!(view.server("other").unwrap().id > before.server("other").unwrap().id);
    assert!(view.changes.tools > before.changes.tools);
    assert!(
        upstreams
            .replace(config([fake("new", json!({})), other("c"), same()]))
            .is_empty()
    );
    upstreams.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_ends_after_the_calls_that_use_it() {
    let recorder = Recorder::new();
    let does = json!({"wait_for_release": true, "text": "late"});
    let script = json!({"record": recorder.address(), "tools": [{"name": "slow", "does": does}]});
    let upstreams = ready(script).await;
    let backends = upstreams.backends(None);
    let call = tokio::spawn(async move {
        let output = backends.call(tool_call("fake", "slow", json!({}))).await;
        // The run goes on with the same server.
        (output.is_ok(), backends)
    });
    tokio::task::block_in_place(|| recorder.message("tools/call"));
    let script = json!({"tools": [{"name": "quick", "does": {"text": "now"}}]});
    upstreams.replace(config([fake("fake", script)]));
    let now = raw_call(&upstreams, "quick", None).await.unwrap();
    assert!(now.to_json().contains("now"), "{now}");
    recorder.release();
    let (is_done, backends) = call.await.unwrap();
    assert!(is_done);
    drop(backends);
    tokio::task::block_in_place(|| recorder.ended());
    upstreams.shutdown().await;
}
