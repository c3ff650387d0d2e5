//! Calls, failures, retries, time limits, decisions and loops.

use serde_json::json;

use crate::scene::{Scene, tools};

#[tokio::test(flavor = "multi_thread")]
async fn plans_have_the_same_outcome_as_on_the_engine() {
    let scene = Scene::new(tools()).await;
    let report = scene
        .compare(&json!({"name": "chain", "steps": [
            {"id": "a", "tool": "read", "args": {"n": 1}},
            {"id": "b", "tool": "write", "args": {"of": "${a.n}"}},
        ]}))
        .await;
    assert_eq!(report["status"], "succeeded", "{report:#}");
    scene
        .compare(&json!({"name": "parallel", "steps": [
            {"id": "a", "tool": "slow", "args": {"n": 1}},
            {"id": "b", "tool": "read", "args": {"n": 2}},
            {"id": "c", "tool": "write", "args": {"n": 3}},
            {"id": "all", "tool": "read", "args": {"a": "${a.n}", "b": "${b.n}", "c": "${c.n}"}},
        ]}))
        .await;
}
