//! Stored decisions and their watchers.

use std::time::Duration;

use planwright_core::Value;
use planwright_engine::Decision;
use planwright_store::{NewDecision, Store, StoreError, StoredDecision};

use crate::support::{append, at, create, entries, opened, scene, time};

/// Approves the call of `step` whose digest is that of `call`.
fn approve(step: &str, call: impl Into<Value>) -> NewDecision {
    NewDecision {
        at: at(step),
        digest: format!("{step} {}", call.into()),
        decision: Decision::Approve { args: None },
        by: Some("ada".to_owned()),
        decided: time(7),
    }
}

fn steps(decisions: &[StoredDecision]) -> Vec<&str> {
    decisions
        .iter()
        .map(|decision| decision.at.step.as_str())
        .collect()
}

#[test]
fn decisions_come_back_as_they_were() {
    let scene = scene();
    drop(create(&scene.store, "run"));
    let odd = "a/b@c[0]\u{0}";
    let all = [
        approve("a", 1),
        NewDecision {
            decision: Decision::Approve {
                args: Some(Value::Null),
            },
            by: None,
            ..approve(odd, "x")
        },
        NewDecision {
            decision: Decision::Reject {
                because: Some("too much".to_owned()),
            },
            ..approve("c", Value::empty_object())
        },
    ];
    for new in &all {
        scene.store.decide("ru", new).unwrap();
    }
    let found = scene.store.decisions("run").unwrap();
    assert_eq!(steps(&found), ["a", odd, "c"]);
    for (found, new) in found.iter().zip(&all) {
        assert_eq!(found.decision, new.decision);
        assert_eq!((&found.by, found.decided), (&new.by, new.decided));
        assert_eq!(found.digest, new.digest);
    }
}

#[test]
fn a_decision_is_replaced_only_on_request() {
    let scene = scene();
    drop(create(&scene.store, "r"));
    scene.store.decide("r", &approve("a", 1)).unwrap();
    let no = NewDecision {
        decision: Decision::Reject { because: None },
        ..approve("a", 1)
    };
    let error = scene.store.decide("r", &no).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`a` of the run `r` was decided about before, by ada"
    );
    scene.store.decide("r", &approve("a", 2)).unwrap();
    scene.store.replace_decision("r", &no).unwrap();
    let found = scene.store.decisions("r").unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].decision, Decision::Reject { because: None });
    let later = NewDecision {
        decision: Decision::Later,
        ..approve("b", 1)
    };
    assert!(matches!(
        scene.store.decide("r", &later),
        Err(StoreError::Format(_))
    ));
    let missing = scene.store.decide("x", &approve("a", 1));
    assert!(matches!(missing, Err(StoreError::Missing { .. })));
}

#[test]
fn several_decisions_are_stored_together_or_not_at_all() {
    let scene = scene();
    let run = create(&scene.store, "r").id().clone();
    scene.store.decide("r", &approve("b", 1)).unwrap();
    let all = |steps: &[&str]| -> Vec<_> {
        let new = steps.iter().map(|step| (run.clone(), approve(step, 1)));
        new.collect()
    };
    let refused = scene.store.decide_all(&all(&["a", "b", "c"])).unwrap_err();
    assert!(matches!(refused, StoreError::Decided { at, .. } if at == "b"));
    assert_eq!(steps(&scene.store.decisions("r").unwrap()), ["b"]);
    scene.store.decide_all(&all(&["a", "c"])).unwrap();
    assert_eq!(steps(&scene.store.decisions("r").unwrap()), ["b", "a", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_process_receives_each_decision_once() {
    let scene = scene();
    let run = create(&scene.store, "r");
    drop(create(&scene.store, "other"));
    scene.store.decide("r", &approve("early", 1)).unwrap();
    let mut decisions = scene.store.watch_decisions("r").unwrap();
    assert_eq!(steps(&decisions.next().await.unwrap()), ["early"]);

    let elsewhere = Store::open(scene.store.path()).unwrap();
    elsewhere.decide("other", &approve("x", 1)).unwrap();
    append(&run, entries([opened()])).unwrap();
    let patience = Duration::from_secs(5);
    assert!(
        tokio::time::timeout(patience, decisions.next())
            .await
            .is_err()
    );

    elsewhere.decide("r", &approve("b", 1)).unwrap();
    scene.store.decide("r", &approve("c", 1)).unwrap();
    assert_eq!(steps(&decisions.next().await.unwrap()), ["b", "c"]);
    elsewhere.replace_decision("r", &approve("b", 1)).unwrap();
    assert_eq!(steps(&decisions.next().await.unwrap()), ["b"]);
    assert!(
        tokio::time::timeout(patience, decisions.next())
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_comes_while_one_waits_is_heard_of() {
    let scene = scene();
    drop(create(&scene.store, "r"));
    let mut decisions = scene.store.watch_decisions("r").unwrap();
    let decider = async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        scene.store.decide("r", &approve("a", 1)).unwrap();
    };
    let (found, ()) = tokio::join!(decisions.next(), decider);
    assert_eq!(steps(&found.unwrap()), ["a"]);
}
