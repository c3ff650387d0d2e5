//! Tests with real servers in JavaScript and Python, of the latest and earlier revisions.

use std::path::Path;
use std::process::Command;

use futures::future::join_all;
use insta::assert_snapshot;
use planwright_core::{Tool, Value};
use planwright_mcp::{Connections, ServerConfig};
use planwright_testkit::real_servers::program;
use serde_json::json;
use tempfile::TempDir;

use crate::support::{call, connect, describe};

fn server(name: &str, args: &[&str]) -> ServerConfig {
    let program = program(&format!("mcp-server-{name}"));
    ServerConfig {
        trusted: true,
        ..ServerConfig::new(name, program.to_str().unwrap(), args.iter().copied())
    }
}

async fn started(servers: impl IntoIterator<Item = ServerConfig>) -> Connections {
    let connections = connect(servers).await;
    assert_eq!(connections.failures(), []);
    assert_eq!(connections.warnings(), [""; 0]);
    connections
}

/// Calls `tool` of `server`, which must succeed, and returns its value.
async fn value(
    connections: &Connections,
    server: &str,
    tool: &str,
    args: serde_json::Value,
) -> Value {
    call(connections, server, tool, args).await.unwrap().value
}

fn tool<'a>(connections: &'a Connections, name: &str) -> &'a Tool {
    let mut tools = connections.tools().iter();
    tools.find(|tool| &*tool.name == name).unwrap()
}

/// Creates a folder with an empty repository.
fn repository() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["init", "--quiet", "--initial-branch", "main"][..],
        &["config", "user.name", "Ada"],
        &["config", "user.email", "ada@example.com"],
    ] {
        let status = Command::new("git").args(args).current_dir(&folder).status();
        assert!(status.unwrap().success());
    }
    folder
}

#[tokio::test]
async fn tools_of_the_reference_server() {
    let connections = started([server("everything", &[])]).await;
    let calls = [
        ("echo", json!({"message": "02134"})),
        ("get-sum", json!({"a": 1.5, "b": 2})),
        ("get-sum", json!({"a": 1, "b": "x"})),
        ("no-such-tool", json!({})),
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
    tool: MCP error -32602: Tool no-such-tool not found
    "Error: Operation failed"
    "Long running operation completed. Duration: 0.2 seconds, Steps: 2."
    "#);

    let weather = call(
        &connections,
        "everything",
        "get-structured-content",
        json!({"location": "Chicago"}),
    );
    let weather = weather.await.unwrap();
    assert!(
        weather
            .value
            .get("temperature")
            .and_then(Value::as_f64)
            .is_some(),
        "{weather:?}"
    );
    assert_eq!(weather.text.as_deref(), Some(&*weather.value.to_json()));
    let structured = tool(&connections, "get-structured-content");
    assert!(structured.output.is_valid(&weather.value));
    assert!(
        !structured
            .output
            .is_valid(&json!({"temperature": "warm"}).into())
    );
    assert!(structured.is_repeatable());

    let image = call(&connections, "everything", "get-tiny-image", json!({}))
        .await
        .unwrap();
    let kinds: Vec<&str> = image
        .content
        .iter()
        .filter_map(|block| block.get("type")?.as_text())
        .collect();
    assert_eq!(kinds, ["image"]);
    let links = call(
        &connections,
        "everything",
        "get-resource-links",
        json!({"count": 3}),
    )
    .await
    .unwrap();
    assert_eq!(links.content.len(), 3);
    connections.shutdown().await;
}

#[tokio::test]
async fn files_are_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let connections = started([server("filesystem", &[root.to_str().unwrap()])]).await;
    let path = root.join("note.txt");
    let text = "first\n\"second\" ä \u{1f980}\n";
    value(
        &connections,
        "filesystem",
        "write_file",
        json!({"path": path, "content": text}),
    )
    .await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let read = call(
        &connections,
        "filesystem",
        "read_text_file",
        json!({"path": path}),
    )
    .await
    .unwrap();
    assert_eq!(read.value, json!({"content": text}).into());
    assert_eq!(read.text.as_deref(), Some(text));
    let outside = call(
        &connections,
        "filesystem",
        "read_text_file",
        json!({"path": "/etc/hostname"}),
    )
    .await;
    assert!(describe(outside).starts_with("tool: Access denied"));
    assert!(tool(&connections, "read_text_file").annotations.read_only);
    assert!(tool(&connections, "write_file").annotations.destructive);
    connections.shutdown().await;
}

#[tokio::test]
async fn times_are_converted() {
    let connections = started([server("time", &[])]).await;
    let args = json!({"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"});
    let converted = value(&connections, "time", "convert_time", args).await;
    let target = converted
        .get("target")
        .and_then(|target| target.get("datetime")?.as_text());
    assert!(target.unwrap().ends_with("T21:30:00+09:00"), "{converted}");
    assert!(
        tool(&connections, "convert_time")
            .output
            .is_valid(&converted)
    );
    let nowhere = call(
        &connections,
        "time",
        "get_current_time",
        json!({"timezone": "Mars/Base"}),
    )
    .await;
    assert!(describe(nowhere).starts_with("tool: Error executing tool get_current_time"));
    connections.shutdown().await;
}

#[tokio::test]
async fn commits_are_made() {
    let folder = repository();
    let path = folder.path().to_str().unwrap();
    let connections = started([server("git", &["--repository", path])]).await;
    std::fs::write(folder.path().join("a.txt"), "a").unwrap();
    let status = value(
        &connections,
        "git",
        "git_status",
        json!({"repo_path": path}),
    )
    .await;
    assert!(
        status.as_text().unwrap().contains("Untracked files"),
        "{status}"
    );
    let elsewhere = call(&connections, "git", "git_status", json!({"repo_path": "/"})).await;
    assert!(describe(elsewhere).starts_with("tool: "));
    connections.shutdown().await;
}

#[tokio::test]
async fn data_goes_from_server_to_server() {
    let folder = repository();
    let root = folder.path().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let connections = started([
        server("everything", &[]),
        server("filesystem", &[root]),
        server("time", &[]),
        server("git", &["--repository", root]),
    ])
    .await;
    let now = value(
        &connections,
        "time",
        "get_current_time",
        json!({"timezone": "Asia/Tokyo"}),
    )
    .await;
    let now = now.get("datetime").and_then(Value::as_text).unwrap();
    let path = Path::new(root).join("time.txt");
    value(
        &connections,
        "filesystem",
        "write_file",
        json!({"path": path, "content": now}),
    )
    .await;
    value(
        &connections,
        "git",
        "git_add",
        json!({"repo_path": root, "files": ["time.txt"]}),
    )
    .await;
    let message = format!("Note that it is {now}");
    value(
        &connections,
        "git",
        "git_commit",
        json!({"repo_path": root, "message": message}),
    )
    .await;
    let log = value(
        &connections,
        "git",
        "git_log",
        json!({"repo_path": root, "max_count": 1}),
    )
    .await;
    let echo = value(&connections, "everything", "echo", json!({"message": log})).await;
    assert!(echo.as_text().unwrap().contains(&message), "{echo}");
    connections.shutdown().await;
}
