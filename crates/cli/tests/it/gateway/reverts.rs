//! Reverts that a model asks for: it decides nothing about them.

use std::time::Duration;

use futures::future::BoxFuture;
use planwright::core::Value;
use planwright::engine::{RunId, RunStatus};
use planwright::mcp::UpstreamError;
use planwright::stored::{StoredRun, open_questions};
use planwright_store::{LeaseHolder, RunFilter, RunInfo};
use serde_json::json;

use super::continued::approve;
use super::host::{Scene, named, now, run_of, simulated};

#[tokio::test]
async fn a_run_is_undone_once_a_person_has_decided() {
    let scene = Scene::new();
    let plan = json!({"steps": [{
        "id": "a", "tool": "echo", "args": {"text": "secretly"},
        "undo": {"tool": "pay", "arguments": {"to": "${arguments.text}"}}
    }]});
    let run = run_of(&scene.execute("a", plan).await).to_owned();
    let check = json!({"run": run, "check": true});
    let listed = scene.call("a", "revert_run", check.clone()).await;
    let proposal = &listed["structuredContent"];
    assert_eq!(proposal["status"], "sound", "{listed}");
    let undos = json!([{"call": "a", "tool": "simulated.echo", "undo": "pay"}]);
    assert_eq!(proposal["undos"], undos);
    assert!(!listed.to_string().contains("secretly"), "{listed}");
    let stranger = scene.start("b", "revert_run", check.clone()).await.unwrap();
    assert!(stranger.to_json().contains("there is no run"));

    let asked = json!({"run": run});
    let waiting = scene.call("a", "revert_run", asked.clone()).await;
    assert_eq!(waiting["structuredContent"]["status"], "waiting");
    let revert = run_of(&waiting).to_owned();
    assert_ne!(revert, run);
    let second = scene.start("a", "revert_run", asked).await.unwrap();
    assert!(second.to_json().contains("waits for a decision"));
    approve(&scene.store, &revert);
    let undone = scene.call("a", "resume_plan", json!({"run": revert})).await;
    assert_eq!(undone["structuredContent"]["status"], "succeeded");
    let again = scene.call("a", "revert_run", check).await;
    assert_eq!(again["structuredContent"]["undone_before"], 1);
    assert_eq!(again["structuredContent"]["undos"], json!([]));
}

#[tokio::test]
async fn what_cannot_be_undone_is_left_to_a_person() {
    let scene = Scene::new();
    let plan = json!({"steps": [
        {"id": "a", "tool": "echo", "undo": {"tool": "echo", "arguments": {}}},
        {"id": "b", "tool": "long", "after": ["a"]}
    ]});
    let run = run_of(&scene.execute("a", plan).await).to_owned();
    let refused = scene.call("a", "revert_run", json!({"run": run})).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let proposal = &refused["structuredContent"];
    assert_eq!(proposal["status"], "rejected");
    let left = json!([{"call": "b", "tool": "simulated.long"}]);
    assert_eq!(proposal["not_undone"], left);
    let runs = scene.store.runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len(), 1);
}

#[tokio::test]
async fn the_undos_of_a_failed_plan_wait_for_a_decision() {
    let scene = Scene::new();
    let plan = json!({"on_failure": "revert", "steps": [
        {"id": "a", "tool": "echo", "undo": {"tool": "pay", "arguments": {}}},
        {"id": "b", "tool": "broken", "after": ["a"]}
    ]});
    let failed = scene.execute("a", plan).await;
    let structured = &failed["structuredContent"];
    assert_eq!(structured["status"], "failed", "{failed}");
    assert_eq!(structured["reverted"]["status"], "waiting", "{failed}");
    let revert = structured["reverted"]["run"].as_str().unwrap();
    assert_eq!(open_questions(&scene.store, revert).unwrap().len(), 1);
    approve(&scene.store, revert);
    let undone = scene.call("a", "resume_plan", json!({"run": revert})).await;
    assert_eq!(undone["structuredContent"]["status"], "succeeded");
}

#[tokio::test]
async fn the_outcome_of_an_undo_is_not_for_the_model_to_say() {
    let scene = Scene::new();
    let plan = json!({"steps": [{
        "id": "a", "tool": "echo", "undo": {"tool": "broken", "arguments": {}}
    }]});
    let run = run_of(&scene.execute("a", plan).await).to_owned();
    let failed = scene.call("a", "revert_run", json!({"run": run})).await;
    assert_eq!(failed["structuredContent"]["status"], "failed", "{failed}");
    let revert = run_of(&failed);
    for choice in [
        json!({"run": revert, "set": {"undo_a": "ok"}}),
        json!({"run": revert, "skip": ["undo_a"]}),
        json!({"run": revert, "retry": ["undo_a"]}),
    ] {
        let refused = scene.start("a", "resume_plan", choice).await.unwrap();
        let refused = refused.to_json();
        assert!(refused.contains("a person decides"), "{refused}");
    }
    let check = json!({"run": run, "check": true});
    let listed = scene.call("a", "revert_run", check).await;
    assert_eq!(listed["structuredContent"]["undone_before"], 0, "{listed}");
    assert_eq!(listed["structuredContent"]["undos"][0]["call"], "a");
}

#[tokio::test]
async fn a_model_does_not_choose_the_part_that_is_undone() {
    let scene = Scene::new();
    let plan = json!({"steps": [
        {"id": "mail", "tool": "long"},
        {"id": "book", "tool": "echo", "after": ["mail"], "undo": {"tool": "echo", "arguments": {}}}
    ]});
    let run = run_of(&scene.execute("a", plan).await).to_owned();
    let part = json!({"run": run, "from": "book"});
    let refused = scene.call("a", "revert_run", part).await;
    let proposal = &refused["structuredContent"];
    assert_eq!(proposal["status"], "rejected", "{refused}");
    let left = json!([{"call": "mail", "tool": "simulated.long"}]);
    assert_eq!(proposal["not_undone"], left);
    assert_eq!(proposal["undos"][0]["call"], "book");
    let runs = scene.store.runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len(), 1);
}

/// A scene with a tool `release` that takes a moment.
fn slow_scene() -> Scene {
    Scene::with(|settings| {
        let script = Value::from(json!({"tools": {
            "echo": {"approval": false, "echo": true},
            "broken": {"approval": false, "fails": {"code": "no", "message": "it cannot be done"}},
            "release": {"approval": false, "sleep_ms": 300, "returns": "released"},
        }}));
        settings.own = simulated(&script);
    })
}

/// Polls a call until the journal of a run that undoes others satisfies `is_reached`, and returns the run.
async fn undoing(
    scene: &Scene,
    call: &mut BoxFuture<'static, Result<Value, UpstreamError>>,
    is_reached: impl Fn(&RunInfo) -> bool,
) -> RunId {
    loop {
        assert!(futures::poll!(&mut *call).is_pending());
        let runs = scene.store.runs(&RunFilter::default()).unwrap();
        let is_undoing = |run: &&RunInfo| {
            let stored = StoredRun::read(&scene.store, run.id.as_str()).unwrap();
            stored.run.reverts.is_some() && is_reached(run)
        };
        if let Some(run) = runs.iter().find(is_undoing) {
            return run.id.clone();
        }
        tokio::task::yield_now().await;
    }
}

/// Polls a call until a run that undoes `echo` has called `release`, drops it, and returns the end of the run.
async fn dropped_while_undoing(
    scene: &Scene,
    mut call: BoxFuture<'static, Result<Value, UpstreamError>>,
) -> RunStatus {
    let undoing = undoing(scene, &mut call, |run| run.calls == 1).await;
    drop(call);
    loop {
        let stored = StoredRun::read(&scene.store, undoing.as_str()).unwrap();
        if let Some(status) = stored.status() {
            return status;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_no_undo() {
    let scene = slow_scene();
    let undo = json!({"tool": "release", "arguments": {}});
    let plan = json!({"steps": [{"id": "a", "tool": "echo", "undo": undo}]});
    let run = run_of(&scene.execute("a", plan).await).to_owned();
    let asked = scene.start("a", "revert_run", json!({"run": run}));
    let ended = dropped_while_undoing(&scene, asked).await;
    assert_eq!(ended, RunStatus::Succeeded);

    let scene = slow_scene();
    let plan = json!({"on_failure": "revert", "steps": [
        {"id": "a", "tool": "echo", "undo": undo},
        {"id": "b", "tool": "broken", "after": ["a"]}
    ]});
    let failing = scene.start("a", "execute_plan", json!({"plan": plan}));
    let ended = dropped_while_undoing(&scene, failing).await;
    assert_eq!(ended, RunStatus::Succeeded);
}

/// A plan that fails after a call that `undo` undoes.
fn failing(undo: &str) -> serde_json::Value {
    json!({"on_failure": "revert", "steps": [
        {"id": "a", "tool": "echo", "undo": {"tool": undo, "arguments": {}}},
        {"id": "b", "tool": "broken", "after": ["a"]}
    ]})
}

#[tokio::test]
async fn a_gateway_that_ends_abandons_the_undos_of_a_failed_plan() {
    let scene = Scene::new();
    let plan = json!({"plan": failing("never")});
    let mut call = scene.start("a", "execute_plan", plan);
    let revert = undoing(&scene, &mut call, |run| run.calls == 1).await;
    scene.host.suspend(Duration::ZERO).await;
    // No process drives either of the two any more.
    let other = LeaseHolder::this_process("other", now());
    for run in scene.store.runs(&RunFilter::default()).unwrap() {
        let lease = scene.store.lease_run(run.id.as_str(), &other);
        assert!(lease.is_ok(), "{lease:?}");
    }
    let stored = StoredRun::read(&scene.store, revert.as_str()).unwrap();
    assert_eq!(stored.status(), None);
}

#[tokio::test]
async fn a_gateway_that_ends_does_not_wait_for_decisions_about_undos() {
    let scene = Scene::new();
    let mut client = named("a");
    client.capabilities = Value::from(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let plan = json!({"plan": failing("pay")});
    let mut call = scene.start_as(client, "execute_plan", plan);
    let revert = undoing(&scene, &mut call, |run| {
        !open_questions(&scene.store, run.id.as_str())
            .unwrap()
            .is_empty()
    });
    let revert = revert.await;
    let grace = Duration::from_hours(1);
    let ended = tokio::time::timeout(Duration::from_mins(1), scene.host.suspend(grace));
    ended.await.unwrap();
    assert_eq!(
        open_questions(&scene.store, revert.as_str()).unwrap().len(),
        1
    );
}
