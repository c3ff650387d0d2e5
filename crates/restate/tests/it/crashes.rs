//! Crashes of the worker and of the Restate server in the middle of runs.

use std::time::Duration;

use planwright::engine::{RunId, RunStatus};
use serde_json::json;

use crate::scene::{Scene, tools};

/// Waits until as many calls of a run were sent.
async fn called(scene: &Scene, id: &RunId, calls: usize) {
    let mut changes = scene.store.watch_changes().unwrap();
    let called = async {
        loop {
            changes.next().await.unwrap();
            let sent = scene.store.run(id.as_str()).map_or(0, |run| run.calls);
            if calls <= sent {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), called)
        .await
        .expect("the run does not continue");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_worker_continues_a_run() {
    let mut scene = Scene::new(tools()).await;
    let id = scene
        .submit(&json!({"steps": [
            {"id": "first", "tool": "read", "args": {"n": 1}},
            {"id": "long", "tool": "slower", "args": {"n": "${first.n}"}},
            {"id": "beside", "tool": "slower", "args": {"n": 2}},
            {"id": "last", "tool": "write", "args": {"n": "${long.n}", "m": "${beside.n}"}},
        ]}))
        .await;
    called(&scene, &id, 3).await;
    scene.stop_worker();
    scene.start_worker().await;
    assert_eq!(scene.ended(&id).await.unwrap().status, "succeeded");
    // Replayed, so the second worker has decided the same again.
    let summary = scene.summary(&id);
    assert_eq!(summary.calls.len(), 4, "{:?}", summary.calls);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_effects_is_not_repeated() {
    let mut tools = tools();
    tools["tools"]["slow_write"] =
        json!({"annotations": {"destructiveHint": false}, "sleep_ms": 3_000, "echo": true});
    let mut scene = Scene::new(tools).await;
    for steps in [
        json!([{"id": "alone", "tool": "slow_write"}]),
        json!([{"id": "one", "tool": "slow_write"}, {"id": "other", "tool": "slow_write", "args": {"n": 2}}]),
    ] {
        let count = steps.as_array().unwrap().len();
        let id = scene.submit(&json!({"steps": steps})).await;
        called(&scene, &id, count).await;
        // The intent is stored by Restate after the decision to send the call.
        scene.sent(count).await;
        scene.stop_worker();
        scene.start_worker().await;
        assert_eq!(scene.ended(&id).await.unwrap().status, "failed");
        let summary = scene.summary(&id);
        assert_eq!(summary.calls.len(), count, "{:?}", summary.calls);
        for call in &summary.calls {
            let error = call.error.as_ref().unwrap();
            assert!(error.leaves_outcome_unknown(), "{error:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_continues_after_a_crash_of_the_server() {
    let mut scene = Scene::new(tools()).await;
    let id = scene
        .submit(&json!({"steps": [
            {"id": "first", "tool": "read", "args": {"n": 1}},
            {"id": "long", "tool": "slower", "args": {"n": "${first.n}"}},
            {"id": "beside", "tool": "slow", "args": {"n": 2}},
            {"id": "last", "tool": "write", "args": {"n": "${long.n}", "m": "${beside.n}"}},
        ]}))
        .await;
    called(&scene, &id, 3).await;
    scene.restate.kill();
    scene.restate.start_again().unwrap();
    assert_eq!(scene.ended(&id).await.unwrap().status, "succeeded");
    let summary = scene.summary(&id);
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(summary.calls.len(), 4, "{:?}", summary.calls);
}
