//! Tests with a real server over HTTP.

use std::process::Stdio;

use futures::future::join_all;
use insta::assert_snapshot;
use planwright_mcp::{ConnectOptions, HttpConfig, ServerConfig};
use planwright_testkit::real_servers::program;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::{call, connect, connect_with, describe};

/// Starts the reference server on a free port. Returns it and its address.
async fn everything() -> (Child, String) {
    // Another process could take the port before the server does, but this has not happened.
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let mut server = Command::new(program("mcp-server-everything"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("listening on port") {
            break;
        }
    }
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (server, format!("http://127.0.0.1:{port}/mcp"))
}

fn at(url: &str) -> ServerConfig {
    let http = HttpConfig {
        url: url.to_owned(),
        ..HttpConfig::default()
    };
    ServerConfig::http("everything", http)
}

#[tokio::test]
async fn everything_works_over_http() {
    let (_server, url) = everything().await;
    let connections = connect([at(&url)]).await;
    assert_eq!(connections.failures(), []);
    let calls = [
        ("echo", json!({"message": "02134"})),
        ("get-sum", json!({"a": 1.5, "b": 2})),
        ("get-sum", json!({"a": 1, "b": "x"})),
        ("get-annotated-message", json!({"messageType": "error"})),
        (
            "trigger-long-running-operation",
            json!({"duration": 0.2, "steps": 2}),
        ),
    ];
    let outcomes = calls.map(|(tool, args)| call(&connections, "everything", tool, args));
    let lines: Vec<String> = join_all(outcomes).await.into_iter().map(describe).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    "Echo: 02134"
    "The sum of 1.5 and 2 is 3.5."
    tool: MCP error -32602: Input validation error: Invalid arguments for tool get-sum: Invalid input: expected number, received string at b
    "Error: Operation failed"
    "Long running operation completed. Duration: 0.2 seconds, Steps: 2."
    "#);
    let many = (0..100).map(|number| {
        let args = json!({"message": number.to_string()});
        call(&connections, "everything", "echo", args)
    });
    for (number, outcome) in join_all(many).await.into_iter().enumerate() {
        assert_eq!(describe(outcome), format!("\"Echo: {number}\""));
    }
    connections.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_gone_says_so() {
    let (mut server, url) = everything().await;
    let options = ConnectOptions {
        restart_limit: 1,
        ..ConnectOptions::default()
    };
    let connections = connect_with([at(&url)], options).await;
    assert_eq!(connections.failures(), []);
    server.kill().await.unwrap();
    let outcome = call(&connections, "everything", "echo", json!({"message": "x"})).await;
    assert_snapshot!(describe(outcome), @"unavailable: the server `everything` was not reached: it cannot be reached: Connection refused (os error 111) (retry)");
}
