//! Commits whose answer is lost, and sessions that stop in the middle of a transaction.

use std::time::UNIX_EPOCH;

use futures::FutureExt;
use futures_executor::block_on;
use planwright_core::Value;
use planwright_engine::journal::{Journal, JournalError};
use planwright_store::LeasedRun;

use crate::proxy::{Fate, Proxy};
use crate::scene::{Direct, Scene, scene};
use crate::suite::decisions::{approve, steps};
use crate::suite::support::{append, create, entries, me, opened, read, step};

/// The key of the advisory lock of writing transactions.
const WRITE_LOCK: i64 = 0x5057_7374;

type Appended = futures::future::BoxFuture<'static, Result<(), JournalError>>;

/// Appends a step, without waiting for it.
fn begin(run: &LeasedRun, name: &str) -> Appended {
    run.append(entries(step(name, &Value::from(name))))
}

/// Makes appends of stores that are opened later transactions of several statements.
fn refuse_functions(scene: &Scene) {
    scene.direct().execute("DROP EXTENSION plpgsql CASCADE");
}

/// Appends the first step alone and all others in one transaction, which has this fate.
fn doomed(scene: &Scene, proxy: &Proxy, fate: Fate, steps: &[(&LeasedRun, &str)]) -> Vec<Appended> {
    let direct = scene.direct();
    direct.execute(&format!("SELECT pg_advisory_lock({WRITE_LOCK})"));
    proxy.doom(1, fate);
    let mut appended = Vec::new();
    for (index, (run, name)) in steps.iter().enumerate() {
        appended.push(begin(run, name));
        if index == 0 {
            direct.wait_until("SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())");
        }
    }
    direct.execute(&format!("SELECT pg_advisory_unlock({WRITE_LOCK})"));
    proxy.wait();
    appended
}

#[test]
fn batches_whose_commit_was_not_answered_are_stored_once() {
    let scene = scene();
    let proxy = Proxy::start(scene.url());
    let store = scene.open_at(proxy.url());
    let run = create(&store, "r");
    append(&run, entries([opened()])).unwrap();
    let names = ["a", "b", "c", "d"];
    let steps: Vec<_> = names.iter().map(|name| (&run, *name)).collect();
    let appended = doomed(&scene, &proxy, Fate::Unanswered, &steps);
    assert_eq!(read(&scene.store, "r").len(), 13);
    proxy.accept();
    for result in appended {
        block_on(result).unwrap();
    }
    append(&run, entries(step("e", &Value::from(1)))).unwrap();
    assert_eq!(read(&scene.store, "r").len(), 16);
}

#[test]
fn a_lost_lease_fails_its_own_run_alone_after_an_unanswered_commit() {
    let scene = scene();
    let proxy = Proxy::start(scene.url());
    let store = scene.open_at(proxy.url());
    let (kept, lost) = (create(&store, "kept"), create(&store, "lost"));
    for run in [&kept, &lost] {
        append(run, entries([opened()])).unwrap();
    }
    let steps = [(&kept, "a"), (&kept, "b"), (&lost, "x"), (&kept, "c")];
    let mut appended = doomed(&scene, &proxy, Fate::Unanswered, &steps);
    scene.expire_lease("lost");
    let taken = scene.store.lease_run("lost", &me()).unwrap();
    proxy.accept();
    let error = block_on(appended.remove(2)).unwrap_err();
    assert!(
        error.message.contains("resumed by another process"),
        "{error}"
    );
    for result in appended {
        block_on(result).unwrap();
    }
    assert_eq!(read(&scene.store, "kept").len(), 10);
    append(&taken, entries(step("y", &Value::from(1)))).unwrap();
}

#[test]
fn an_append_is_one_call() {
    let scene = scene();
    let run = create(&scene.store, "r");
    append(&run, entries([opened()])).unwrap();
    append(&run, entries(step("a", &Value::from(1)))).unwrap();
    let calls = "query LIKE 'SELECT pg_temp.planwright_append%'";
    assert_eq!(scene.direct().sessions(calls), 1);
}

#[test]
fn a_call_that_arrives_after_the_next_attempt_changes_nothing() {
    let scene = scene();
    let proxy = Proxy::start(scene.url());
    let store = scene.open_at(proxy.url());
    let run = create(&store, "r");
    append(&run, entries([opened()])).unwrap();
    proxy.doom(0, Fate::Late);
    let appended = begin(&run, "a");
    proxy.wait();
    block_on(appended).unwrap();
    assert_eq!(read(&scene.store, "r").len(), 4);
    let direct = scene.direct();
    let before = direct.sessions("true");
    proxy.pass_late();
    // The session ends behind its last message.
    direct.wait_until(&format!(
        "SELECT count(*) < {before} FROM pg_stat_activity WHERE datname = current_database()"
    ));
    assert_eq!(read(&scene.store, "r").len(), 4);
    append(&run, entries(step("b", &Value::from(1)))).unwrap();
    assert_eq!(read(&scene.store, "r").len(), 7);
}

#[test]
fn a_commit_that_arrives_during_the_next_attempt_is_found() {
    let scene = scene();
    refuse_functions(&scene);
    let proxy = Proxy::start(scene.url());
    let store = scene.open_at(proxy.url());
    let run = create(&store, "r");
    append(&run, entries([opened()])).unwrap();
    let appended = doomed(
        &scene,
        &proxy,
        Fate::Late,
        &[(&run, "a"), (&run, "b"), (&run, "c")],
    );
    // The next attempt inserts the same rows, and waits for the transaction that has inserted them.
    scene
        .direct()
        .wait_until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO entries%' AND datname = current_database()");
    proxy.pass_late();
    for result in appended {
        block_on(result).unwrap();
    }
    assert_eq!(read(&scene.store, "r").len(), 10);
}

#[test]
fn a_process_that_stops_in_a_transaction_stops_no_other() {
    let scene = scene();
    refuse_functions(&scene);
    let proxy = Proxy::start(scene.url());
    let store = scene.open_at(proxy.url());
    let run = create(&store, "r");
    append(&run, entries([opened()])).unwrap();
    proxy.doom(0, Fate::Stopped);
    let appended = begin(&run, "a");
    proxy.wait();
    // A change waits for all appends.
    scene.store.decide("r", &approve("a", 1)).unwrap();
    assert_eq!(steps(&scene.store.decisions("r").unwrap()), ["a"]);
    // The server has ended the transaction, so that it is repeated.
    block_on(appended).unwrap();
    assert_eq!(read(&scene.store, "r").len(), 4);
}

#[test]
fn an_append_after_lost_entries_is_refused() {
    let scene = scene();
    let run = create(&scene.store, "r");
    append(&run, entries([opened()])).unwrap();
    append(&run, entries(step("a", &Value::from(1)))).unwrap();
    // As a failover to a copy does that was behind.
    let direct: Direct = scene.direct();
    direct.execute("DELETE FROM planwright.entries WHERE number = 3");
    let error = append(&run, entries(step("b", &Value::from(1)))).unwrap_err();
    assert!(
        error.message.contains("has lost its entries from 3 on"),
        "{error}"
    );
}

#[test]
fn an_append_is_no_request() {
    let scene = scene();
    let other = scene.open_again();
    let run = create(&scene.store, "r");
    let mut changes = scene.store.watch_changes().unwrap();
    let mut requests = scene.store.watch_requests().unwrap();
    // The first ones are reported at once.
    block_on(changes.next()).unwrap();
    block_on(requests.next()).unwrap();
    append(&run, entries([opened()])).unwrap();
    block_on(changes.next()).unwrap();
    assert!(requests.next().now_or_never().is_none());
    other.request_cancel("r", None, UNIX_EPOCH).unwrap();
    block_on(requests.next()).unwrap();
    let holder = run.holder();
    assert!(scene.store.is_cancel_requested(run.id(), holder).unwrap());
}

#[test]
fn defaults_of_the_database_have_no_effect() {
    let scene = scene();
    let direct = scene.direct();
    for setting in [
        "default_transaction_read_only TO on",
        "default_transaction_isolation TO serializable",
        "synchronous_commit TO off",
        "search_path TO pg_catalog",
    ] {
        direct.execute(&format!(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET {setting}', current_database()); END $$"
        ));
    }
    let store = scene.open_again();
    let run = create(&store, "r");
    append(&run, entries([opened()])).unwrap();
    assert_eq!(read(&store, "r").len(), 1);
}
