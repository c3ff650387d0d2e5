//! Tests that no process is left after a server ends in any way.

use std::time::{Duration, Instant};

use planwright_mcp::{ConnectOptions, ServerConfig};
use planwright_testkit::fake_server::{Recorder, program};
use serde_json::json;

use crate::support::{call, connect_with, describe, fake, tool_call};
use planwright_engine::backend::ToolBackend;

const GRACE: Duration = Duration::from_millis(200);

fn options() -> ConnectOptions {
    ConnectOptions {
        stop_grace: GRACE,
        ..ConnectOptions::default()
    }
}

/// Creates a shell that starts a fake server as its child and runs `then`, as launchers do.
fn wrapped(script: serde_json::Value, then: &str) -> ServerConfig {
    let shell = format!("exec 3<&0; \"$0\" \"$1\" <&3 & {then}");
    let program = program().to_str().unwrap();
    ServerConfig::new("fake", "sh", ["-c", &shell, program, &script.to_string()])
}

fn is_running(process: u32) -> bool {
    // A zombie has ended: its parent has not reaped it yet.
    std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .is_some_and(|rest| rest.starts_with(" Z"))
    })
}

/// Connects to a server, ends it by `end`, and waits until its process is gone.
async fn check<F: Future<Output = ()>>(
    config: impl FnOnce(serde_json::Value) -> ServerConfig,
    script: serde_json::Value,
    end: impl FnOnce(planwright_mcp::Connections) -> F,
) {
    let recorder = Recorder::new();
    let mut script = script;
    script["record"] = recorder.address().into();
    script["tools"] = json!([{"name": "echo"}]);
    let connections = connect_with([config(script)], options()).await;
    assert_eq!(connections.failures(), []);
    call(&connections, "fake", "echo", json!({})).await.unwrap();
    end(connections).await;
    tokio::task::spawn_blocking(move || {
        let process = recorder.started();
        recorder.ended();
        // A dying process closes its files first; its final exit sends no event, so it is polled.
        let dying = Instant::now();
        while cfg!(target_os = "linux") && is_running(process) {
            assert!(
                dying.elapsed() < Duration::from_secs(10),
                "{process} is still there"
            );
            std::thread::yield_now();
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_server_ends_when_its_input_is_closed() {
    let started = Instant::now();
    check(
        |script| fake("fake", script),
        json!({}),
        |connections| async move {
            connections.shutdown().await;
        },
    )
    .await;
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_server_that_stays_is_terminated() {
    check(
        |script| fake("fake", script),
        json!({"stays": true}),
        |connections| async move {
            connections.shutdown().await;
        },
    )
    .await;
}

#[tokio::test]
async fn a_server_behind_a_wrapper_ends_too() {
    for then in ["wait", "trap '' TERM; wait; wait", "sleep 1000"] {
        check(
            |script| wrapped(script, then),
            json!({"stays": true}),
            |connections| async move {
                connections.shutdown().await;
            },
        )
        .await;
    }
}

#[tokio::test]
async fn dropping_everything_kills_everything() {
    check(
        |script| wrapped(script, "wait"),
        json!({"stays": true}),
        |connections| async move {
            drop(connections);
        },
    )
    .await;
}

#[tokio::test]
async fn a_panic_leaves_nothing() {
    check(
        |script| wrapped(script, "wait"),
        json!({"stays": true}),
        |connections| async move {
            let task = tokio::spawn(async move {
                let _kept = connections;
                panic!("this is the test");
            });
            assert!(task.await.unwrap_err().is_panic());
        },
    )
    .await;
}

#[test]
fn the_end_of_the_runtime_leaves_nothing() {
    let recorder = Recorder::new();
    let script = json!({"stays": true, "record": recorder.address()});
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let connections = runtime.block_on(connect_with([wrapped(script, "wait")], options()));
    assert_eq!(connections.failures(), []);
    drop(runtime);
    drop(connections);
    recorder.ended();
}

#[tokio::test]
async fn a_cancelled_start_leaves_no_process() {
    let recorder = Recorder::new();
    let script = json!({"hang": true, "stays": true, "record": recorder.address()});
    let config = ServerConfig {
        start_timeout: Some(Duration::from_millis(300)),
        ..wrapped(script, "wait")
    };
    let connections = connect_with([config], options()).await;
    assert_eq!(connections.failures().len(), 1);
    tokio::task::spawn_blocking(move || recorder.ended())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_call_after_the_end_fails() {
    let connections = connect_with(
        [fake("fake", json!({"tools": [{"name": "echo"}]}))],
        options(),
    )
    .await;
    let backends = connections.backends();
    connections.shutdown().await;
    let outcome = backends.call(tool_call("fake", "echo", json!({}))).await;
    assert_eq!(
        describe(outcome),
        "unavailable: the server `fake` has been stopped"
    );
}
