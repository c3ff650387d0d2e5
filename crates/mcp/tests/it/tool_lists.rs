//! Tests of the tool lists that are stored between processes.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use planwright_mcp::{
    ConnectOptions, Connections, ProgramConfig, ServerConfig, ServerTransport, ToolLists,
};
use serde_json::json;

use crate::support::{call, connect_with, fake};

/// The key that a server gets.
const KEY: &str = "key-of-a-person";

fn lists(folder: &Path, clock: fn() -> SystemTime) -> ToolLists {
    ToolLists::in_folder(folder.join("lists"), clock, Some("/usr/bin".into()))
}

async fn connect(server: ServerConfig, lists: &ToolLists) -> Connections {
    let options = ConnectOptions {
        tool_lists: Some(lists.clone()),
        ..ConnectOptions::default()
    };
    connect_with([server], options).await
}

fn server(change: impl FnOnce(&mut ProgramConfig)) -> ServerConfig {
    let tools = json!([
        {"name": "pay", "description": "Pays\u{200b} an order.", "annotations": {"destructiveHint": true}, "x": 12_345_678_901_234_567_890_u64},
        {"name": "pay"},
        {"description": "without a name"},
    ]);
    let mut server = fake("shop", json!({"tools": tools}));
    if let ServerTransport::Program(program) = &mut server.reach {
        program.env = vec![("KEY".into(), Some(KEY.into()))];
        change(program);
    }
    server.secrets = vec![KEY.into()];
    server
}

fn after(time: Duration) -> SystemTime {
    SystemTime::now() + time
}

#[tokio::test]
async fn a_stored_list_gives_the_same_tools() {
    let folder = tempfile::tempdir().unwrap();
    let lists = lists(folder.path(), SystemTime::now);
    let server = server(|_| {});
    assert!(lists.tools(&server).is_none());
    let connections = connect(server.clone(), &lists).await;
    connections.shutdown().await;
    let stored = lists.tools(&server).unwrap();
    let digests = |tools: &[planwright_core::Tool]| {
        let digests = tools.iter().map(planwright_core::Tool::definition_digest);
        digests.collect::<Vec<_>>()
    };
    assert_eq!(digests(&stored.tools), digests(connections.tools()));
    assert!(stored.tools[0].approval);
    assert_eq!(stored.warnings, connections.warnings());
    assert_eq!(stored.version.as_deref(), Some("1"));
    assert!(!stored.is_failed);
    lists.forget(&server);
    assert!(lists.tools(&server).is_none());
}

#[tokio::test]
async fn a_list_is_for_one_configuration_of_its_server_and_one_day() {
    let folder = tempfile::tempdir().unwrap();
    let now = lists(folder.path(), SystemTime::now);
    connect(server(|_| {}), &now).await.shutdown().await;
    let script = folder.path().join("script.json");
    fs::write(&script, r#"{"tools": [{"name": "a"}]}"#).unwrap();
    let in_file = server(|program| program.args = vec![format!("@{}", script.display())]);
    connect(in_file.clone(), &now).await.shutdown().await;
    assert!(now.tools(&server(|_| {})).is_some());
    assert!(now.tools(&in_file).is_some());

    let secret = |program: &mut ProgramConfig| program.env[0].1 = Some("key-of-another".into());
    let mut others = vec![
        server(secret),
        server(|program| program.env.clear()),
        server(|program| program.args.push("more".into())),
        server(|program| program.cwd = Some("/".into())),
        ServerConfig {
            name: "other".into(),
            ..server(|_| {})
        },
    ];
    // A new key is the same server to a person, but it may have other tools.
    others[0].secrets = vec!["key-of-another".into()];
    assert_eq!(others[0].origin(), server(|_| {}).origin());
    for other in others {
        assert!(now.tools(&other).is_none(), "{other:?}");
    }
    let elsewhere = ToolLists::in_folder(
        folder.path().join("lists"),
        SystemTime::now,
        Some("/bin".into()),
    );
    assert!(elsewhere.tools(&server(|_| {})).is_none());
    fs::write(&script, r#"{"tools": [{"name": "ab"}]}"#).unwrap();
    assert!(now.tools(&in_file).is_none());

    let tomorrow = lists(folder.path(), || after(Duration::from_hours(24)));
    assert!(tomorrow.tools(&server(|_| {})).is_none());
    let today = lists(folder.path(), || after(Duration::from_hours(23)));
    assert!(today.tools(&server(|_| {})).is_some());
    let before = lists(folder.path(), || {
        SystemTime::now() - Duration::from_hours(1)
    });
    assert!(before.tools(&server(|_| {})).is_none());
}

#[tokio::test]
async fn a_file_of_another_program_is_no_list() {
    let folder = tempfile::tempdir().unwrap();
    let lists = lists(folder.path(), SystemTime::now);
    connect(server(|_| {}), &lists).await.shutdown().await;
    let files = fs::read_dir(folder.path().join("lists")).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    let [file] = files.as_slice() else {
        panic!("{files:?}");
    };
    let text = fs::read_to_string(file).unwrap();
    assert!(!text.contains(KEY), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(file), 0o600);
        assert_eq!(mode(file.parent().unwrap()), 0o700);
    }
    for broken in ["", "{", "[]", "{}", &text[..text.len() / 2]] {
        fs::write(file, broken).unwrap();
        assert!(lists.tools(&server(|_| {})).is_none(), "{broken}");
    }
    fs::write(
        file,
        text.replace("planwright.tool-list/1", "planwright.tool-list/2"),
    )
    .unwrap();
    assert!(lists.tools(&server(|_| {})).is_none());
    fs::write(file, text).unwrap();
    assert!(lists.tools(&server(|_| {})).is_some());
}

#[tokio::test]
async fn a_failed_start_is_remembered_for_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let now = lists(folder.path(), SystemTime::now);
    let broken = ServerConfig::new("broken", "no-such-program", ["x"]);
    let connections = connect(broken.clone(), &now).await;
    assert_eq!(connections.failures().len(), 1);
    let stored = now.tools(&broken).unwrap();
    assert!(stored.is_failed);
    assert!(stored.tools.is_empty());
    let later = lists(folder.path(), || after(Duration::from_mins(11)));
    assert!(later.tools(&broken).is_none());
}

#[tokio::test]
async fn a_server_that_reports_a_change_is_listed_again() {
    for (kind, stays) in [("tools", false), ("prompts", true)] {
        let folder = tempfile::tempdir().unwrap();
        let lists = lists(folder.path(), SystemTime::now);
        let changed =
            json!({"jsonrpc": "2.0", "method": format!("notifications/{kind}/list_changed")});
        let tools = json!([{"name": "change", "does": {"first": [changed]}}]);
        let server = fake("shop", json!({"revisions": ["2025-11-25"], "tools": tools}));
        let connections = connect(server.clone(), &lists).await;
        assert!(lists.tools(&server).is_some());
        // The notification is sent before the answer.
        call(&connections, "shop", "change", json!({}))
            .await
            .unwrap();
        assert_eq!(lists.tools(&server).is_some(), stays, "{kind}");
        connections.shutdown().await;
    }
}
