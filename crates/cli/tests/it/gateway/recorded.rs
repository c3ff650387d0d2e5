//! Calls without a plan are recorded by session, for `learn --from`.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use planwright::core::{Tool, Value};
use planwright::mcp::gateway::Host;
use planwright::mcp::{ServerConfig, ServersConfig};
use planwright_serve::GatewayMode;
use planwright_store::{GatewayCall, Store};
use serde_json::json;

use super::host::{Scene, named};
use crate::program::{planwright, stderr, stdout};

/// The setting that switches records on.
const ON: &str = "[serve]\nrecord_calls = true\n";

/// The tool, the arguments and the answer of a record.
type RecordedRow = (String, String, Option<Result<String, String>>);

/// The calls of the only session of `scene`, as tool, arguments and answer.
fn recorded(scene: &Scene) -> Vec<RecordedRow> {
    let sessions = scene.store.call_sessions(None, None, None).unwrap();
    let [session] = &sessions[..] else {
        panic!("{sessions:?}");
    };
    assert_eq!(session.client, "ana");
    let (_, calls) = scene.store.calls_of_session(&session.id).unwrap();
    let calls = calls.into_iter().map(|call| {
        let answer = call
            .answer
            .map(|answer| answer.map(|value| value.to_json()));
        (call.tool.to_string(), call.args.to_json(), answer)
    });
    calls.collect()
}

#[tokio::test]
async fn calls_in_search_mode_are_recorded() {
    let scene = Scene::governed(ON, |settings| settings.mode = GatewayMode::Search);
    let call = |tool: &str, arguments: serde_json::Value| {
        scene.call(
            "ana",
            "call_tool",
            json!({"tool": tool, "arguments": arguments}),
        )
    };
    call("echo", json!({"text": "hi"})).await;
    call("broken", json!({})).await;
    // It waits, since a person has to decide and this client cannot ask.
    call("pay", json!({})).await;
    let calls = recorded(&scene);
    assert_eq!(
        calls[0],
        (
            "simulated.echo".to_owned(),
            r#"{"text":"hi"}"#.to_owned(),
            Some(Ok(r#"{"text":"hi"}"#.to_owned()))
        )
    );
    assert_eq!(calls[1].0, "simulated.broken");
    let failed = calls[1].2.clone().unwrap().unwrap_err();
    assert!(failed.contains("it cannot be done"), "{failed}");
    assert_eq!(
        calls[2..],
        [("simulated.pay".to_owned(), "{}".to_owned(), None)]
    );
    // The call that waits is a run as well, and the others are none.
    assert_eq!(
        scene
            .store
            .runs(&planwright_store::RunFilter::default())
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn calls_that_are_passed_through_are_recorded() {
    let scene = Scene::governed(ON, |settings| settings.mode = GatewayMode::Plain);
    let tool = Tool::new("shop", "find");
    let arguments = Value::from(json!({"id": "a-1"}));
    let result = Ok(Value::from(
        json!({"content": [{"type": "text", "text": "{\"n\": 1}"}]}),
    ));
    let took = Duration::from_millis(2);
    scene
        .host
        .note_result(&named("ana"), &tool, &arguments, took, &result);
    let calls = recorded(&scene);
    assert_eq!(
        calls,
        [(
            "shop.find".to_owned(),
            r#"{"id":"a-1"}"#.to_owned(),
            Some(Ok(r#"{"n":1}"#.to_owned()))
        )]
    );
    // Only those of models, and only if the user wants it.
    let off = Scene::governed("", |_| {});
    off.host
        .note_result(&named("ana"), &tool, &arguments, took, &result);
    assert_eq!(off.store.call_sessions(None, None, None).unwrap(), []);
    let view = Tool {
        for_views: true,
        ..tool
    };
    let scene = Scene::governed(ON, |_| {});
    scene
        .host
        .note_result(&named("ana"), &view, &arguments, took, &result);
    assert_eq!(scene.store.call_sessions(None, None, None).unwrap(), []);
}

#[tokio::test]
async fn records_have_no_secrets_of_servers_and_no_large_values() {
    let mut shop = ServerConfig::new("shop", "shop-server", ["--stdio"]);
    shop.secrets = vec!["tok-of-the-shop".into()];
    let servers = ServersConfig {
        servers: vec![shop],
        ..ServersConfig::default()
    };
    let scene = Scene::before(servers, ON, |settings| settings.mode = GatewayMode::Plain);
    let tool = Tool::new("shop", "find");
    let note = |arguments: serde_json::Value, text: &str, is_error: bool| {
        let result = Ok(Value::from(
            json!({"content": [{"type": "text", "text": text}], "isError": is_error}),
        ));
        let took = Duration::from_millis(2);
        scene
            .host
            .note_result(&named("ana"), &tool, &arguments.into(), took, &result);
    };
    note(json!({"id": "a-1"}), "401 for Bearer tok-of-the-shop", true);
    let large = "x".repeat(300_000);
    note(json!({"id": "a-2"}), &large, false);
    note(json!({"text": large}), "written", false);
    let calls = recorded(&scene);
    let failed = calls[0].2.clone().unwrap().unwrap_err();
    assert!(failed.contains("401 for Bearer [redacted]"), "{failed}");
    assert_eq!((&*calls[1].1, &calls[1].2), (r#"{"id":"a-2"}"#, &None));
    assert_eq!((&*calls[2].1, &calls[2].2), ("null", &None));
    // The text of the error may have led to the later calls.
    let (_, calls) = scene
        .store
        .calls_of_session(&scene.store.call_sessions(None, None, None).unwrap()[0].id)
        .unwrap();
    let exposed: Vec<bool> = calls.iter().map(|call| call.is_exposed).collect();
    assert_eq!(exposed, [false, true, true]);
}

/// Stores a session of `client`: an order is found, and its payment is refunded.
fn add_session(store: &Store, session: &str, client: &str, number: u64) {
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(number * 100 + seconds);
    let call =
        |began: u64, tool: &str, args: serde_json::Value, answer: serde_json::Value| GatewayCall {
            session: session.into(),
            client: client.into(),
            began: at(began),
            ended: at(began + 1),
            tool: tool.into(),
            args: args.into(),
            answer: Some(Ok(answer.into())),
            is_exposed: false,
        };
    let (order, payment) = (format!("ORD-{number}0417"), format!("pay_5521{number}"));
    assert!(store.record_call(&call(
        0,
        "shop.get_order",
        json!({"order": order}),
        json!({"payment": payment})
    )));
    assert!(store.record_call(&call(
        2,
        "shop.refund",
        json!({"payment": payment}),
        json!("ok")
    )));
}

fn run(folder: &Path, args: &[&str]) -> String {
    let output = planwright(folder)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn recurring_sessions_become_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.db");
    let store = Store::open(&file).unwrap();
    add_session(&store, "aaaaaaaa0001", "token:agent", 1);
    add_session(&store, "bbbbbbbb0002", "token:agent", 2);
    add_session(&store, "cccccccc0003", "other", 3);
    drop(store);
    let listed = run(
        folder.path(),
        &["learn", "--from", "token:agent", "--store", "s.db"],
    );
    assert_eq!(
        listed.lines().collect::<Vec<_>>(),
        [
            "2 times, last 1970-01-01T00:03:23.000Z: get_order, refund",
            "  planwright learn --session bbbbbbbb --session aaaaaaaa",
        ]
    );
    // They are no runs.
    let runs = run(
        folder.path(),
        &["runs", "--format", "json", "--store", "s.db"],
    );
    assert!(runs.contains("\"runs\": []"), "{runs}");
    let sessions = run(folder.path(), &["runs", "--sessions", "--store", "s.db"]);
    assert_eq!(sessions.lines().count(), 3, "{sessions}");
    assert!(sessions.starts_with("cccccccc  "), "{sessions}");
    let plan = run(
        folder.path(),
        &[
            "learn",
            "--session",
            "aaaa",
            "--session",
            "bbbb",
            "--store",
            "s.db",
            "--to",
            "lines",
        ],
    );
    assert!(
        plan.contains("refund = refund(payment=${get_order.payment})"),
        "{plan}"
    );
    for (args, name) in [
        (&["runs", "--sessions"][..], "sessions"),
        (&["learn", "--from", "all"], "recurring"),
        (&["learn", "--session", "aaaa"], "learn"),
    ] {
        let args = [args, &["--format", "json", "--store", "s.db"]].concat();
        crate::runs::schemas::fits(&run(folder.path(), &args), name);
    }
    let pruned = planwright(folder.path())
        .args(["prune", "--older-than", "1d", "--store", "s.db"])
        .output()
        .unwrap();
    assert!(
        stderr(&pruned).contains("6 calls without a plan deleted"),
        "{}",
        stderr(&pruned)
    );
}
