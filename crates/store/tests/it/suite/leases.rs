//! Leases of runs.

use std::thread;

use planwright_engine::RunStatus;
use planwright_store::{LeaseHolder, LeasedRun, Store, StoreError};

use super::support::{append, create, ended, entries, me, opened, time};
use crate::scene::scene;

#[test]
fn a_run_has_one_lease_at_a_time() {
    let scene = scene();
    let run = create(&scene.store, "r");
    let other = LeaseHolder::this_process("elsewhere", time(5));
    let error = scene.store.lease_run("r", &other).unwrap_err();
    let expected = StoreError::Leased {
        run: "r".parse().unwrap(),
        holder: me(),
    };
    assert_eq!(error, expected);
    let pid = std::process::id();
    assert_eq!(
        error.to_string(),
        format!("the run `r` is in use by process {pid} on `here`")
    );
    drop(run);
    let again = scene.store.lease_run("r", &other).unwrap();
    assert_eq!(scene.store.run("r").unwrap().holder, Some(other));
    drop(again);
    assert_eq!(scene.store.run("r").unwrap().holder, None);
}

#[test]
fn one_of_many_concurrent_requests_gets_the_lease() {
    let scene = scene();
    drop(create(&scene.store, "r"));
    for _ in 0..20 {
        let results: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..10)
                .map(|_| scope.spawn(|| scene.store.lease_run("r", &me())))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        for result in results {
            match result {
                Ok(run) => assert_eq!(run.id(), "r"),
                Err(StoreError::Leased { holder, .. }) => assert_eq!(holder, me()),
                Err(other) => panic!("{other}"),
            }
        }
    }
}

/// The interrupted runs, and whether their last processes were asked to cancel them.
fn interrupted(store: &Store) -> Vec<(String, bool)> {
    let found = store.interrupted_runs().unwrap();
    let found = found
        .iter()
        .map(|run| (run.id.to_string(), run.is_cancel_requested));
    found.collect()
}

#[test]
fn a_request_to_cancel_stays_until_it_is_carried_out_or_overruled() {
    let scene = scene();
    let store = &scene.store;
    let run = create(store, "r");
    append(&run, entries([opened()])).unwrap();
    let asked = store.request_cancel("r", None, time(9)).unwrap();
    assert!(store.is_cancel_requested(run.id(), &asked).unwrap());
    drop(run);
    assert_eq!(interrupted(store), [("r".to_owned(), true)]);
    // A process that leases the run and cannot resume it takes nothing away.
    for _ in 0..2 {
        let again = store.lease_run("r", &me()).unwrap();
        assert!(again.is_cancel_requested());
        assert_eq!(interrupted(store), []);
    }
    assert_eq!(interrupted(store), [("r".to_owned(), true)]);
    // A person resumes it all the same.
    let again = store.lease_run("r", &me()).unwrap();
    again.overrule_cancel_request().unwrap();
    let is_requested = |run: &LeasedRun| store.is_cancel_requested(run.id(), run.holder());
    assert!(!is_requested(&again).unwrap());
    store.request_cancel("r", None, time(10)).unwrap();
    assert!(is_requested(&again).unwrap());
    append(&again, entries([ended(RunStatus::Cancelled)])).unwrap();
    drop(again);
    assert_eq!(interrupted(store), []);
    // The run has ended: the request is not about a later process. A gateway leases all of its runs under the same name.
    let again = store.lease_run("r", &me()).unwrap();
    assert!(!again.is_cancel_requested());
    assert!(!is_requested(&again).unwrap());
}

#[test]
fn a_run_without_a_process_is_cancelled_by_the_next_one() {
    let scene = scene();
    let store = &scene.store;
    let run = create(store, "r");
    append(&run, entries([opened()])).unwrap();
    drop(run);
    let error = store.request_cancel("r", None, time(9)).unwrap_err();
    assert!(matches!(error, StoreError::Idle { .. }), "{error}");
    // Another process may lease the run between the two.
    let quick = store.lease_run("r", &me()).unwrap();
    assert!(!quick.is_cancel_requested());
    store.request_cancel_at_resume("r", None, time(9)).unwrap();
    assert!(
        store
            .is_cancel_requested(quick.id(), quick.holder())
            .unwrap()
    );
    drop(quick);
    let next = LeaseHolder::this_process("elsewhere", time(5));
    assert!(store.lease_run("r", &next).unwrap().is_cancel_requested());
}
