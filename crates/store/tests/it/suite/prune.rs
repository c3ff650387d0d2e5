//! Pruning of runs.

use planwright_core::Value;
use planwright_engine::{RunId, RunStatus};
use planwright_store::{LeasedRun, NewRun, Prune, PruneReport, Store, StoreError};

use super::support::{append, ended, entries, me, new_run, read, step, time};
use crate::scene::scene;

fn large(text: &str) -> Value {
    Value::from(text.repeat(200_000))
}

fn run(
    store: &Store,
    id: &str,
    created: u64,
    output: &Value,
    status: Option<RunStatus>,
) -> LeasedRun {
    let new = NewRun {
        created: time(created),
        ..new_run(id)
    };
    let run = store.create_run(new, &me()).unwrap();
    append(&run, entries(step("a", output))).unwrap();
    append(&run, entries(status.map(ended))).unwrap();
    run
}

/// Prunes the runs that were created before this second.
pub(crate) fn prune(before: u64) -> Prune {
    Prune {
        before: time(before),
        newest: 0,
        unfinished: false,
        dry_run: false,
    }
}

fn ids(store: &Store) -> Vec<RunId> {
    let runs = store.runs(&planwright_store::RunFilter::default()).unwrap();
    runs.into_iter().map(|run| run.id).collect()
}

/// Adds runs, the oldest first: four that have ended, one that waits, one that was interrupted.
pub(crate) fn fill(store: &Store) {
    drop(run(store, "a", 1, &large("a"), Some(RunStatus::Succeeded)));
    drop(run(store, "b", 2, &large("b"), Some(RunStatus::Failed)));
    drop(run(store, "c", 3, &large("b"), Some(RunStatus::Cancelled)));
    drop(run(store, "d", 4, &Value::Null, Some(RunStatus::Succeeded)));
    drop(run(store, "e", 5, &Value::Null, Some(RunStatus::Waiting)));
    drop(run(store, "f", 6, &Value::Null, None));
}

fn check(what: Prune, forgotten: &[&str], left: &[&str]) -> PruneReport {
    let scene = scene();
    fill(&scene.store);
    let all = ids(&scene.store);
    let said = scene
        .store
        .prune(
            &Prune {
                dry_run: true,
                ..what.clone()
            },
            &me(),
        )
        .unwrap();
    assert_eq!(said.runs, forgotten, "{what:?}");
    assert_eq!(ids(&scene.store), all);
    let done = scene.store.prune(&what, &me()).unwrap();
    assert_eq!(done.runs, forgotten, "{what:?}");
    assert_eq!(ids(&scene.store), left, "{what:?}");
    for id in left {
        assert!(3 <= read(&scene.store, id).len());
    }
    for id in forgotten {
        assert!(matches!(
            scene.store.run(id),
            Err(StoreError::Missing { .. })
        ));
    }
    done
}

#[test]
fn old_runs_that_have_ended_are_deleted() {
    check(prune(1), &[], &["f", "e", "d", "c", "b", "a"]);
    check(prune(3), &["b", "a"], &["f", "e", "d", "c"]);
    check(prune(100), &["d", "c", "b", "a"], &["f", "e"]);
    let newest = Prune {
        newest: 2,
        ..prune(100)
    };
    check(newest, &["b", "a"], &["f", "e", "d", "c"]);
    let all = Prune {
        unfinished: true,
        ..prune(100)
    };
    check(all, &["f", "e", "d", "c", "b", "a"], &[]);
}

#[test]
fn a_value_is_deleted_with_the_last_run_that_refers_to_it() {
    assert_eq!(
        check(prune(2), &["a"], &["f", "e", "d", "c", "b"]).values,
        1
    );
    assert_eq!(
        check(prune(3), &["b", "a"], &["f", "e", "d", "c"]).values,
        1
    );
    assert_eq!(
        check(prune(4), &["c", "b", "a"], &["f", "e", "d"]).values,
        2
    );
}

#[test]
fn a_leased_run_is_not_deleted() {
    let scene = scene();
    let leased = run(&scene.store, "h", 1, &Value::Null, Some(RunStatus::Failed));
    let pruned = scene.store.prune(&prune(100), &me()).unwrap();
    assert_eq!(
        (pruned.runs.len(), pruned.in_use),
        (0, vec!["h".parse().unwrap()])
    );
    drop(leased);
    let pruned = scene.store.prune(&prune(100), &me()).unwrap();
    assert_eq!(pruned.runs, ["h"]);
    drop(run(&scene.store, "h", 1, &Value::Null, None));
    assert_eq!(read(&scene.store, "h").len(), 3);
}

#[test]
fn a_store_keeps_to_its_size() {
    let scene = scene();
    fill(&scene.store);
    let to = |limit: u64| {
        scene
            .store
            .prune_to(limit, &prune(100), &me())
            .unwrap()
            .runs
    };
    assert_eq!(to(1 << 30), Vec::<RunId>::new());
    assert_eq!(ids(&scene.store).len(), 6);
    assert_eq!(to(0), ["d", "c", "b", "a"]);
    // Leased runs stay, even if the store is too large.
    assert_eq!(ids(&scene.store), ["f", "e"]);
}

#[test]
fn the_oldest_are_deleted_first_to_reach_a_size() {
    let scene = scene();
    for number in 0..200 {
        let text = Value::from(format!("{number}").repeat(20_000));
        drop(run(
            &scene.store,
            &format!("{number:03}"),
            number,
            &text,
            Some(RunStatus::Succeeded),
        ));
    }
    let pruned = scene.store.prune_to(6 << 20, &prune(1000), &me()).unwrap();
    let left = ids(&scene.store);
    assert!(!left.is_empty() && !pruned.runs.is_empty(), "{left:?}");
    assert_eq!(left.len() + pruned.runs.len(), 200);
    assert!(
        left.iter().min() > pruned.runs.iter().max(),
        "{left:?} {pruned:?}"
    );
}
