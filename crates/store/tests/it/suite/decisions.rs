//! Stored decisions and their watchers.

use planwright_core::Value;
use planwright_engine::Decision;
use planwright_store::{NewDecision, StoreError, StoredDecision};

use super::support::{at, create, time};
use crate::scene::scene;

/// Approves the call of `step` whose digest is that of `call`.
pub(crate) fn approve(step: &str, call: impl Into<Value>) -> NewDecision {
    NewDecision {
        at: at(step),
        digest: format!("{step} {}", call.into()),
        decision: Decision::Approve { args: None },
        by: Some("ada".to_owned()),
        decided: time(7),
    }
}

/// Returns the ids of the steps that were decided.
pub(crate) fn steps(decisions: &[StoredDecision]) -> Vec<&str> {
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
        "`a` of the run `r` was already decided, by ada"
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
