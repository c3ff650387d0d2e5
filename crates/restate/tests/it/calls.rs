//! Calls, failures, retries, time limits and loops.

use std::time::Duration;

use planwright::engine::{Guards, RunId};
use planwright_restate::{RestateError, Submission};
use serde_json::json;

use crate::scene::{Scene, tools};

#[tokio::test(flavor = "multi_thread")]
async fn plans_have_the_same_outcome_as_on_the_engine() {
    let scene = Scene::new(tools()).await;
    let plans = [
        json!({"name": "chain", "steps": [
            {"id": "a", "tool": "read", "args": {"n": 1}},
            {"id": "b", "tool": "write", "args": {"of": "${a.n}"}},
        ]}),
        json!({"name": "parallel", "steps": [
            {"id": "a", "tool": "slow", "args": {"n": 1}},
            {"id": "b", "tool": "read", "args": {"n": 2}},
            {"id": "c", "tool": "write", "args": {"n": 3}},
            {"id": "all", "tool": "read", "args": {"a": "${a.n}", "b": "${b.n}", "c": "${c.n}"}},
        ]}),
        json!({"name": "failure", "steps": [
            {"id": "a", "tool": "fail"},
            {"id": "after", "tool": "read", "args": {"a": "${a}"}},
            {"id": "b", "tool": "fail", "on_error": {"output": "instead"}},
            {"id": "c", "tool": "read", "args": {"b": "${b}"}},
        ]}),
        json!({"name": "retry", "steps": [
            {"id": "a", "tool": "flaky", "retry": {"attempts": 3, "delay": "20ms"}},
            {"id": "b", "tool": "read", "args": {"a": "${a.ok}"}},
        ]}),
        json!({"name": "limits", "steps": [
            {"id": "a", "tool": "slower", "timeout": "100ms", "on_error": "continue"},
            {"id": "b", "tool": "slow", "args": {"n": 1}},
        ]}),
        json!({"name": "loops", "inputs": {"of": {"default": [1, 2, 3, 4, 5]}}, "steps": [
            {"id": "each", "for_each": "${inputs.of}", "tool": "slow", "args": {"n": "${item}"}},
            {"id": "rounds", "repeat": {"until": "${rounds.n >= 2}", "max": 5}, "tool": "read", "args": {"n": "${index}"}},
            {"id": "never", "when": "${each[0].n > 1}", "tool": "write", "args": {"n": 0}},
        ], "output": ["each", "rounds"]}),
    ];
    for plan in &plans {
        scene.compare(plan).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_limits_of_attempts_and_runs_hold() {
    let mut scene = Scene::new(tools()).await;
    scene.options.attempt_timeout = Some(Duration::from_millis(100));
    let slow = json!({"steps": [{"id": "a", "tool": "slower"}]});
    let report = scene.compare(&slow).await;
    assert_eq!(report["steps"][0]["error"]["kind"], "timeout", "{report:#}");
    scene.options.attempt_timeout = None;
    scene.options.guards = Guards::new().wall_time(Duration::from_millis(100));
    let report = scene.compare(&slow).await;
    assert_eq!(report["status"], "failed", "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_submitted_once() {
    let scene = Scene::new(tools()).await;
    let plan = json!({"steps": [{"id": "a", "tool": "write", "args": {"n": 1}}]});
    let (id, request, client) = (RunId::random(), scene.request(&plan), scene.client());
    let first = client.submit(&id, &request).await.unwrap();
    assert_eq!(first, Submission::Accepted);
    for _ in 0..2 {
        let again = client.submit(&id, &request).await.unwrap();
        assert_eq!(again, Submission::Existing);
        assert_eq!(scene.ended(&id).await.unwrap().status, "succeeded");
    }
    assert_eq!(scene.summary(&id).calls.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_other_tools_refuses_a_run() {
    let scene = Scene::new(tools()).await;
    let mut other = tools();
    other["tools"]["read"]["annotations"] = json!({"destructiveHint": true});
    let plan = json!({"steps": [{"id": "a", "tool": "read"}]});
    let request = scene.request_over(&other, &plan);
    let id = RunId::random();
    scene.client().submit(&id, &request).await.unwrap();
    let refused = scene.ended(&id).await.unwrap_err();
    let RestateError::Refused { message, .. } = &refused else {
        panic!("{refused:?}");
    };
    assert!(
        message
            .contains("another tool `simulated.read` than the plan was checked with: its effects"),
        "{message}"
    );
    assert!(scene.store.run(id.as_str()).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_the_store_that_is_another_one_is_not_continued() {
    let scene = Scene::new(tools()).await;
    let id = RunId::random();
    let plan = json!({"steps": [{"id": "a", "tool": "slow"}]});
    scene.run_here_stored(&id, &plan).await;
    let request = scene.request(&json!({"steps": [{"id": "b", "tool": "slow"}]}));
    scene.client().submit(&id, &request).await.unwrap();
    let error = scene.ended(&id).await.unwrap_err();
    assert!(
        error.to_string().contains("the store has another run"),
        "{error}"
    );
}
