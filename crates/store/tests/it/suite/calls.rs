//! Tests of recorded calls of clients.

use std::time::{Duration, SystemTime};

use planwright_core::Value;
use planwright_store::{GatewayCall, Prune, StoreError};

use super::support::me;
use crate::scene::scene;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn call(session: &str, began: u64, answer: Option<Result<Value, String>>) -> GatewayCall {
    GatewayCall {
        session: session.into(),
        client: "local".into(),
        began: at(began),
        ended: at(began + 1),
        tool: "shop.pay".into(),
        args: Value::object([("id", Value::from("a\0b"))]),
        answer,
        is_exposed: began.is_multiple_of(4),
    }
}

#[test]
fn calls_are_read_by_session_and_pruned_by_age() {
    let scene = scene();
    let store = &scene.store;
    let first = [
        call("aa11", 10, Some(Ok(Value::from(1)))),
        call("aa11", 12, Some(Err("no".to_owned()))),
    ];
    for one in first.iter().rev() {
        assert!(store.record_call(one));
    }
    assert!(store.record_call(&call("aa22", 20, None)));
    let sessions = store.call_sessions(None, None, None).unwrap();
    let counts: Vec<(&str, usize)> = sessions.iter().map(|one| (&*one.id, one.calls)).collect();
    assert_eq!(counts, [("aa22", 1), ("aa11", 2)]);
    assert_eq!((sessions[1].began, sessions[1].ended), (at(10), at(13)));
    let sessions = store.call_sessions(None, Some(at(14)), Some(5)).unwrap();
    assert_eq!(sessions.len(), 1);
    assert_eq!(
        store
            .call_sessions(Some("local"), None, None)
            .unwrap()
            .len(),
        2
    );
    assert_eq!(store.call_sessions(Some("other"), None, None).unwrap(), []);
    // In the order of sending, whichever was recorded first.
    let (found, calls) = store.calls_of_session("aa1").unwrap();
    assert_eq!((&*found.id, &*found.client), ("aa11", "local"));
    assert_eq!(calls, first);
    assert!(matches!(
        store.calls_of_session("aa"),
        Err(StoreError::Ambiguous { .. })
    ));
    assert!(matches!(
        store.calls_of_session("b"),
        Err(StoreError::Missing { .. })
    ));
    let prune = |newest, dry_run| Prune {
        before: at(15),
        newest,
        unfinished: false,
        dry_run,
    };
    let pruned = |newest, dry_run| store.prune(&prune(newest, dry_run), &me()).unwrap().calls;
    assert_eq!(pruned(0, true), 2);
    // The number of newest runs to retain is none of calls.
    assert_eq!(pruned(1, false), 2);
    assert_eq!(store.call_sessions(None, None, None).unwrap().len(), 1);
}

#[test]
fn the_oldest_calls_make_room() {
    let scene = scene();
    let store = &scene.store;
    for second in 0..20 {
        assert!(store.record_call(&call(
            "aa",
            second,
            Some(Ok(Value::from("x".repeat(10_000))))
        )));
    }
    let prune = |before| Prune {
        before: at(before),
        newest: 0,
        unfinished: false,
        dry_run: false,
    };
    // Calls after the time stay, however large they are.
    let pruned = store.prune_to(1, &prune(15), &me()).unwrap();
    assert_eq!(pruned.calls, 15);
    assert_eq!(store.calls_of_session("aa").unwrap().1.len(), 5);
    let pruned = store.prune_to(u64::MAX, &prune(50), &me()).unwrap();
    assert_eq!(pruned.calls, 0);
}
