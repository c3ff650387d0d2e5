//! Lost leases, lost servers, and notice of other processes.

use std::time::Duration;

use planwright_core::Value;
use planwright_engine::journal::Journal;
use planwright_postgres::{PostgresOptions, open};
use planwright_store::{RunState, StoreError};
use tokio::time::Instant;

use crate::scene::{options, scene, server_scene};
use crate::suite::decisions::{approve, steps};
use crate::suite::support::{append, create, entries, me, opened, read, step};

#[test]
fn a_silent_process_loses_its_run_and_writes_nothing_more() {
    let scene = scene();
    let elsewhere = scene.open_again();
    let silent = create(&scene.store, "r");
    append(&silent, entries([opened()])).unwrap();
    // Longer than a lease lasts: another process cannot take the run as long as the lease is renewed.
    std::thread::sleep(Duration::from_secs(3));
    assert!(matches!(
        elsewhere.lease_run("r", &me()),
        Err(StoreError::Leased { .. })
    ));
    let taken = loop {
        // The process may renew its lease in between.
        scene.expire_lease("r");
        match elsewhere.lease_run("r", &me()) {
            Ok(taken) => break taken,
            Err(StoreError::Leased { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    };
    let error = append(&silent, entries(step("a", &Value::from(1)))).unwrap_err();
    assert!(
        error.message.contains("resumed by another process"),
        "{error}"
    );
    append(&taken, entries(step("b", &Value::from(2)))).unwrap();
    assert_eq!(read(&elsewhere, "r").len(), 4);
    // The end of the lost lease does not end the other one.
    drop(silent);
    assert!(elsewhere.run("r").unwrap().holder.is_some());
    drop(taken);
    assert_eq!(elsewhere.run("r").unwrap().holder, None);
}

#[test]
fn entries_survive_the_death_of_the_server() {
    let mut scene = server_scene();
    let run = create(&scene.store, "r");
    append(&run, entries([opened()])).unwrap();
    let expected = read(&scene.store, "r").len() + 300;
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..100 {
                append(
                    &run,
                    entries(step(&format!("s{number}"), &Value::from(number))),
                )
                .unwrap();
            }
        });
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(100));
            scene.server.kill();
            scene.server.start_again().unwrap();
        }
        writer.join().unwrap();
    });
    let again = scene.open_again();
    assert_eq!(read(&again, "r").len(), expected);
    assert_eq!(again.run("r").unwrap().state, RunState::Open);
}

#[test]
fn a_write_fails_when_the_patience_is_over() {
    let mut scene = server_scene();
    let folder = tempfile::tempdir().unwrap();
    let store = open(
        &scene.server.url(),
        PostgresOptions {
            write_timeout: Duration::from_millis(300),
            ..options(&folder)
        },
    )
    .unwrap();
    let run = create(&store, "r");
    scene.server.kill();
    let error = append(&run, entries([opened()])).unwrap_err();
    assert!(error.message.contains("cannot be used"), "{error}");
}

#[test]
fn a_store_that_is_closed_does_not_wait_for_its_server() {
    let mut scene = server_scene();
    let store = scene.open_again();
    let run = create(&store, "r");
    scene.server.kill();
    let appended = run.append(entries([opened()]));
    let began = Instant::now();
    drop(run);
    drop(store);
    // The patience is a minute.
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(futures_executor::block_on(appended).is_err());
}

#[tokio::test]
async fn a_decision_of_another_process_is_noticed() {
    let mut scene = server_scene();
    drop(create(&scene.store, "r"));
    let mut decisions = scene.store.watch_decisions("r").unwrap();
    let elsewhere = scene.open_again();
    elsewhere.decide("r", &approve("a", 1)).unwrap();
    assert_eq!(steps(&decisions.next().await.unwrap()), ["a"]);
    // The same watcher goes through a restart of the server.
    scene.server.kill();
    let nothing = tokio::time::timeout(Duration::from_secs(1), decisions.next()).await;
    assert!(nothing.is_err());
    scene.server.start_again().unwrap();
    elsewhere.decide("r", &approve("b", 1)).unwrap();
    assert_eq!(steps(&decisions.next().await.unwrap()), ["b"]);
}
