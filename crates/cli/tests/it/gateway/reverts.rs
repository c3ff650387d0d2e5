//! Reverts that a model asks for: it decides nothing about them.

use planwright::stored::open_questions;
use planwright_store::RunFilter;
use serde_json::json;

use super::host::{Scene, approve, run_of};

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
