//! Calls that need consent, and requests to cancel a run.

use std::time::Duration;

use planwright::engine::{Decision, RunId, RunStatus};
use planwright::stored::{Decider, OpenQuestion, StoredRun, approve_plan, open_questions};
use planwright_core::Value;
use planwright_restate::AutomaticDecision;
use serde_json::json;

use crate::scene::{Scene, now, tools};

/// A plan whose calls of `pay` need consent.
fn payments() -> serde_json::Value {
    json!({"name": "payments", "steps": [
        {"id": "price", "tool": "read", "args": {"amount": 3}},
        {"id": "one", "tool": "pay", "args": {"amount": "${price.amount}"}},
        {"id": "other", "tool": "pay", "args": {"amount": 4}},
        {"id": "receipt", "tool": "write", "args": {"paid": "${one.amount}"}},
    ]})
}

/// Waits until as many calls wait for a decision.
async fn questions(scene: &Scene, id: &RunId, count: usize) -> Vec<OpenQuestion> {
    let mut changes = scene.store.watch_changes().unwrap();
    let found = async {
        loop {
            changes.next().await.unwrap();
            let questions = open_questions(&scene.store, id.as_str()).unwrap_or_default();
            if questions.len() == count {
                return questions;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), found)
        .await
        .expect("no question")
}

fn decide(scene: &Scene, question: &OpenQuestion, decision: Decision) {
    let decider = Decider::new(Some("tester".to_owned()));
    question
        .decide(&scene.store, decision, &decider, now())
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_in_the_store_reach_the_run() {
    let scene = Scene::new(tools()).await;
    let id = scene.submit(&payments()).await;
    let open = questions(&scene, &id, 2).await;
    let args = Some(Value::object([("amount", Value::from(2))]));
    decide(&scene, &open[0], Decision::Approve { args });
    decide(
        &scene,
        &open[1],
        Decision::Reject {
            because: Some("too much".to_owned()),
        },
    );
    assert_eq!(scene.ended(&id).await.unwrap().status, "failed");
    let summary = scene.summary(&id);
    assert_eq!(summary.calls.len(), 3, "{:?}", summary.calls);
    assert_eq!(summary.calls[1].args.to_json(), "{\"amount\":2}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_the_whole_plan_reaches_the_run() {
    let scene = Scene::new(tools()).await;
    let id = scene.submit(&payments()).await;
    let open = questions(&scene, &id, 2).await;
    let stored = StoredRun::read(&scene.store, id.as_str()).unwrap();
    let consent = stored.plan_consent().unwrap();
    let decider = Decider::new(None);
    let shown: Vec<_> = open.iter().collect();
    approve_plan(
        &scene.store,
        id.as_str(),
        (consent, &shown),
        &decider,
        now(),
    )
    .unwrap();
    assert_eq!(scene.ended(&id).await.unwrap().status, "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn automatic_decisions_do_not_wait() {
    let mut scene = Scene::new(tools()).await;
    for decision in [AutomaticDecision::Approve, AutomaticDecision::Reject] {
        scene.decision = Some(decision);
        scene.compare(&payments()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_cancel_reaches_calls_and_questions() {
    let scene = Scene::new(tools()).await;
    let slow = |id: &str| json!({"id": id, "tool": "slower"});
    for steps in [
        json!([slow("alone")]),
        json!([slow("one"), slow("other")]),
        payments()["steps"].clone(),
    ] {
        let id = scene.submit(&json!({"steps": steps})).await;
        let mut changes = scene.store.watch_changes().unwrap();
        let holder = loop {
            changes.next().await.unwrap();
            let calls = scene.store.run(id.as_str()).map_or(0, |run| run.calls);
            if 0 < calls {
                break scene
                    .store
                    .request_cancel(id.as_str(), None, now())
                    .unwrap();
            }
        };
        assert_eq!(holder.pid, std::process::id());
        assert_eq!(scene.ended(&id).await.unwrap().status, "cancelled");
        let summary = scene.summary(&id);
        assert_eq!(summary.status, RunStatus::Cancelled);
        assert!(
            summary.duration < Duration::from_millis(2_500),
            "{:?}",
            summary.duration
        );
    }
}
