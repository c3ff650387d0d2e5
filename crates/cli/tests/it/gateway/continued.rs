//! Runs that one process continues or drives while another one answers for them.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright::core::Value;
use planwright::engine::{Decision, RunId};
use planwright::mcp::UpstreamError;
use planwright::mcp::gateway::{Host, TaskRequest};
use planwright::stored::StoredRun;
use planwright_store::{NewDecision, RunFilter, Store};
use serde_json::json;

use super::host::{Scene, named, now, run_of};

/// Approves the first call of a run, as another process does.
pub(super) fn approve(store: &Store, run: &str) {
    let stored = StoredRun::read(store, run).unwrap().history().unwrap();
    let mut steps = stored.steps();
    let (at, past) = steps
        .find(|(_, past)| past.open_question().is_some())
        .unwrap();
    let decision = NewDecision {
        at: Arc::clone(at),
        digest: past
            .open_question()
            .unwrap()
            .digest(&run.parse().unwrap(), at),
        decision: Decision::Approve { args: None },
        by: None,
        decided: now(),
    };
    store.decide(run, &decision).unwrap();
}

/// Starts a run of `client` with a call that never ends. Returns the request and the id of the run.
pub(super) async fn endless(
    scene: &Scene,
    client: &str,
) -> (BoxFuture<'static, Result<Value, UpstreamError>>, RunId) {
    let plan = json!({"steps": [{"id": "never", "tool": "never", "args": {}}]});
    let mut call = scene.start(client, "execute_plan", json!({"plan": plan}));
    let filter = RunFilter::default();
    loop {
        assert!(futures::poll!(&mut call).is_pending());
        let runs = scene.store.runs(&filter).unwrap();
        if let Some(run) = runs.iter().find(|run| run.calls == 1) {
            return (call, run.id.clone());
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_run_that_another_process_continues_is_read_again() {
    let here = Scene::new();
    let there = Scene::with(|settings| settings.store = Some(here.store.clone()));
    let pay = json!({"steps": [{"id": "pay", "tool": "pay"}]});
    let run = run_of(&here.execute("a", pay).await).to_owned();
    let id = json!({"run": run});
    let waiting = here.call("a", "get_run", id.clone()).await;
    assert_eq!(waiting["structuredContent"]["status"], "waiting");
    approve(&here.store, &run);
    there.call("a", "resume_plan", id.clone()).await;
    let result = here.call("a", "get_run", id).await;
    assert_eq!(result["structuredContent"]["status"], "succeeded");
    let request = TaskRequest::Get { id: run.clone() };
    let task = Arc::clone(&here.host).task(named("a"), request).await;
    let task = serde_json::Value::from(task.unwrap());
    assert_eq!(task["result"]["structuredContent"]["status"], "succeeded");
    let paid = format!("${{runs.{run}.pay.paid}}");
    let plan = json!({"steps": [{"id": "again", "tool": "echo", "args": {"paid": paid}}]});
    let result = here.execute("a", plan).await;
    assert_eq!(
        result["structuredContent"]["output"],
        json!({"again": {"paid": true}})
    );
}

#[tokio::test]
async fn a_run_that_another_process_drives_is_not_interrupted() {
    let here = Scene::new();
    let mut there = Scene::with(|settings| settings.store = Some(here.store.clone()));
    there.store = here.store.clone();
    let (_call, run) = endless(&there, "a").await;
    let result = here
        .call("a", "get_run", json!({"run": run.as_str()}))
        .await;
    assert_eq!(result["structuredContent"]["status"], "running");
}
