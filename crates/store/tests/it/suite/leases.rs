//! Leases of runs.

use std::thread;

use planwright_engine::RunStatus;
use planwright_store::{LeaseHolder, StoreError};

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
        format!("the run `r` is held by process {pid} on `here`")
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

#[test]
fn a_request_to_cancel_ends_with_the_lease_that_it_is_about() {
    let scene = scene();
    let run = create(&scene.store, "r");
    append(&run, entries([opened()])).unwrap();
    let asked = scene.store.request_cancel("r", None, time(9)).unwrap();
    assert!(scene.store.is_cancel_requested(run.id(), &asked).unwrap());
    drop(run);
    let found = scene.store.interrupted_runs().unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|run| (run.id.as_str(), run.is_cancel_requested))
        .collect();
    assert_eq!(found, [("r", true)]);
    // A gateway leases all of its runs under the same name.
    let again = scene.store.lease_run("r", &me()).unwrap();
    assert!(
        !scene
            .store
            .is_cancel_requested(again.id(), again.holder())
            .unwrap()
    );
    assert_eq!(scene.store.interrupted_runs().unwrap(), []);
    scene.store.request_cancel("r", None, time(10)).unwrap();
    assert!(
        scene
            .store
            .is_cancel_requested(again.id(), again.holder())
            .unwrap()
    );
    append(&again, entries([ended(RunStatus::Cancelled)])).unwrap();
    drop(again);
    assert_eq!(scene.store.interrupted_runs().unwrap(), []);
}
