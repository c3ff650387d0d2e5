//! Many runs at once: everything is kept, in the order in which each run handed it over.

use std::sync::Arc;
use std::thread;

use futures::executor::block_on;
use futures::future::join_all;
use planwright_core::Value;
use planwright_engine::journal::{Journal, Record};

use crate::support::{create, entries, entry, me, read, scene, step};

#[test]
fn each_run_keeps_its_order_whoever_else_writes() {
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
    // What was handed over together stays together.
    for part in found.chunks(3) {
        assert!(part.iter().all(|entry| entry.turn == part[0].turn));
    }
}

#[test]
fn what_was_handed_over_is_kept_although_nobody_waits_for_it() {
    let scene = scene();
    let run = create(&scene.store, "r");
    for _ in 0..20 {
        drop(run.append(entries(step("a", &Value::Null))));
    }
    drop(run);
    let again = scene.store.hold("r", &me()).unwrap();
    drop(again.append(entries([Record::Closed])));
    let path = scene.store.path().to_owned();
    drop((scene.store, again));
    let store = planwright_store::Store::open(path).unwrap();
    assert_eq!(read(&store, "r").len(), 61);
}
