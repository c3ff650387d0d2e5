//! Concurrent appends of many runs: all entries are written, in the order of each run.

use std::sync::Arc;
use std::thread;

use futures::future::join_all;
use futures_executor::block_on;
use planwright_core::Value;
use planwright_engine::journal::{Journal, Record};
use rusqlite::Connection;

use crate::scene::scene;
use crate::suite::support::{create, entries, entry, me, read, step};

#[test]
fn concurrent_runs_keep_their_order() {
    let scene = scene();
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let store = scene.store.clone();
            thread::spawn(move || {
                let run = create(&store, &format!("r{number}"));
                let mut waiting = Vec::new();
                for turn in 0..200 {
                    let [sent, ..] = step(&format!("s{turn}"), &Value::Null);
                    waiting.push(run.append(vec![entry(turn, sent), entry(turn, Record::Closed)]));
                }
                assert!(block_on(join_all(waiting)).iter().all(Result::is_ok));
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    for number in 0..8 {
        let turns: Vec<u64> = read(&scene.store, &format!("r{number}"))
            .iter()
            .map(|entry| entry.turn)
            .collect();
        let expected: Vec<u64> = (0..200).flat_map(|turn| [turn, turn]).collect();
        assert_eq!(turns, expected);
    }
}

#[test]
fn one_run_may_be_written_to_from_several_threads() {
    let scene = scene();
    let run = Arc::new(create(&scene.store, "r"));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for turn in 0..50 {
                    block_on(run.append(vec![entry(turn, Record::Closed); 3])).unwrap();
                }
            });
        }
    });
    let found = read(&scene.store, "r");
    assert_eq!(found.len(), 600);
    // The entries of one append stay together.
    for part in found.chunks(3) {
        assert!(part.iter().all(|entry| entry.turn == part[0].turn));
    }
}

#[test]
fn an_append_is_written_even_if_its_future_is_dropped() {
    let scene = scene();
    let run = create(&scene.store, "r");
    for _ in 0..20 {
        drop(run.append(entries(step("a", &Value::Null))));
    }
    drop(run);
    // The writer works in order: once the later job is done, the lease of the run has ended.
    drop(create(&scene.store, "other"));
    let again = scene.store.lease_run("r", &me()).unwrap();
    drop(again.append(entries([Record::Closed])));
    let path = scene.store.path().to_owned();
    drop((scene.store, again));
    let store = planwright_store::Store::open(path).unwrap();
    assert_eq!(read(&store, "r").len(), 61);
}

#[test]
fn a_failed_append_fails_only_its_own_run() {
    let scene = scene();
    let [a, b, c] = ["a", "b", "c"].map(|id| create(&scene.store, id));
    let elsewhere = Connection::open(scene.store.path()).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON entries WHEN NEW.turn = 13
        BEGIN SELECT RAISE(ABORT, 'bad luck'); END;";
    elsewhere.execute_batch(refuse).unwrap();
    // While another process writes, these appends are queued and form one group.
    elsewhere.execute_batch("BEGIN IMMEDIATE").unwrap();
    let close = |turn: u64| vec![entry(turn, Record::Closed)];
    let waiting = [
        a.append(close(1)),
        b.append(close(2)),
        b.append(close(13)),
        b.append(close(4)),
        a.append(close(5)),
        c.append(close(6)),
    ];
    elsewhere.execute_batch("COMMIT").unwrap();
    let results = block_on(join_all(waiting));
    let succeeded: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(succeeded, [true, true, false, false, true, true]);
    let error = results[2].as_ref().unwrap_err();
    assert!(
        error.message.ends_with("cannot be used: bad luck"),
        "{error}"
    );
    assert_eq!(results[3], results[2]);
    block_on(a.append(close(7))).unwrap();
    assert_eq!(block_on(b.append(close(8))), results[2]);

    elsewhere.execute_batch("DROP TRIGGER refuse").unwrap();
    drop(b);
    let b = scene.store.lease_run("b", &me()).unwrap();
    block_on(b.append(close(13))).unwrap();
    let turns = |id: &str| -> Vec<u64> {
        let found = read(&scene.store, id);
        found.iter().map(|entry| entry.turn).collect()
    };
    assert_eq!(
        (turns("a"), turns("b"), turns("c")),
        (vec![1, 5, 7], vec![2, 13], vec![6])
    );
}
