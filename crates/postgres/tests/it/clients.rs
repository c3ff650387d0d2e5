//! Limits of clients over several processes.

use std::time::Duration;

use planwright_store::{ClientLimit, LeaseHolder, LeasedRun, RequestRate, Store, StoreError};

use crate::scene::scene;
use crate::suite::support::{me, new_run};

fn create_of(store: &Store, client: &str, run: &str) -> Result<LeasedRun, StoreError> {
    let holder = LeaseHolder {
        client: Some(ClientLimit {
            client: client.to_owned(),
            max: 2,
        }),
        ..me()
    };
    store.create_run(new_run(run), &holder)
}

#[test]
fn a_client_has_its_limit_of_runs_over_all_processes() {
    let scene = scene();
    let other = scene.open_again();
    let first = create_of(&scene.store, "ada", "a").unwrap();
    let _second = create_of(&other, "ada", "b").unwrap();
    for store in [&scene.store, &other] {
        let error = create_of(store, "ada", "c").unwrap_err();
        assert_eq!(error, StoreError::ClientBusy { max: 2 });
    }
    // The refused run was not created.
    assert!(scene.store.run("c").is_err());
    let _bob = create_of(&other, "bob", "d").unwrap();
    drop(first);
    let _third = create_of(&other, "ada", "e").unwrap();
    assert!(create_of(&scene.store, "ada", "f").is_err());
    // A run whose process died does not count.
    scene.expire_lease("e");
    create_of(&scene.store, "ada", "g").unwrap();
}

#[test]
fn two_processes_do_not_both_take_the_last_place() {
    let scene = scene();
    let stores = [scene.open_again(), scene.open_again()];
    let _first = create_of(&scene.store, "ada", "first").unwrap();
    for round in 0..20 {
        let created = std::thread::scope(|scope| {
            let threads = stores.each_ref().map(|store| {
                let run = format!("{round}-{:p}", std::ptr::from_ref(store));
                scope.spawn(move || create_of(store, "ada", &run))
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(created.iter().flatten().count(), 1, "round {round}");
    }
}

#[test]
fn a_client_has_its_rate_over_all_processes() {
    let scene = scene();
    let other = scene.open_again();
    let rate = RequestRate {
        burst: 3,
        gap: Duration::from_hours(1),
    };
    let count = |store: &Store, client: &str, count| store.count_requests(client, count, rate);
    assert_eq!(count(&scene.store, "ada", 2), Ok(None));
    // Two more are one too many, and none of them counts.
    let wait = count(&other, "ada", 2).unwrap().unwrap();
    assert!(
        Duration::from_mins(59) < wait && wait <= Duration::from_hours(1),
        "{wait:?}"
    );
    assert_eq!(count(&other, "ada", 1), Ok(None));
    assert!(count(&scene.store, "ada", 1).unwrap().is_some());
    assert_eq!(count(&other, "bob", 3), Ok(None));
}
