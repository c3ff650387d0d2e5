//! The file of a store: permissions, lock files, size.

use planwright_core::Value;
use planwright_engine::RunStatus;
use planwright_engine::journal::Record;
use planwright_store::{PlanApproval, Prune, Store};
use rusqlite::Connection;

use crate::scene::scene;
use crate::suite::decisions::approve;
use crate::suite::prune::{fill, prune};
use crate::suite::support::{append, create, ended, entries, me, opened, step, time};

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_created_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/store.db");
    let store = Store::open(&path).unwrap();
    let run = create(&store, "r");
    append(&run, entries([opened()])).unwrap();
    for (file, expected) in [
        ("a", 0o700),
        ("a/b", 0o700),
        ("a/b/store.db", 0o600),
        ("a/b/store.db-wal", 0o600),
        ("a/b/store.db.runs", 0o700),
        ("a/b/store.db.runs/run-r.lock", 0o600),
    ] {
        let mode = std::fs::metadata(folder.path().join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, expected, "{file}");
    }
}

#[test]
fn the_lock_file_is_removed_with_the_lease() {
    let scene = scene();
    drop(create(&scene.store, "r"));
    let mut left = std::fs::read_dir(scene.folder.path().join("store.db.runs"))
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect::<Vec<_>>();
    left.sort();
    assert_eq!(left, ["inode", "setup.lock"]);
}

#[test]
fn pruning_shrinks_the_file() {
    let scene = scene();
    fill(&scene.store);
    let size = || std::fs::metadata(scene.store.path()).unwrap().len();
    let pruned = scene.store.prune(&prune(4), &me()).unwrap();
    assert!(
        400_000 < pruned.bytes && pruned.bytes < 500_000,
        "{pruned:?}"
    );
    assert!(size() < 150_000, "{}", size());
}

#[test]
fn a_large_value_is_stored_once() {
    let scene = scene();
    let run = create(&scene.store, "r");
    let large = Value::from("x".repeat(100_000));
    let records = (0..50).flat_map(|index| {
        let [mut sent, ..] = step(&format!("b{index}"), &Value::Null);
        if let Record::Sent { args, .. } = &mut sent {
            *args = Value::object([("text", large.clone()), ("n", Value::from(index))]);
        }
        [sent]
    });
    append(&run, entries(records)).unwrap();
    drop(run);
    let path = scene.store.path().to_owned();
    drop(scene.store);
    let size = std::fs::metadata(path).unwrap().len();
    assert!(size < 300_000, "{size}");
}

/// The number of rows about a run, by table: all tables with a column `run`, so that a new table cannot be forgotten.
fn rows_by_table(store: &Store) -> Vec<(String, i64)> {
    let database = Connection::open(store.path()).unwrap();
    let tables: Vec<String> = database
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table'
             AND EXISTS (SELECT 1 FROM pragma_table_info(sqlite_schema.name) WHERE name = 'run')",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let count = |table: String| {
        let sql = format!("SELECT count(*) FROM {table}");
        let rows = database.query_row(&sql, [], |row| row.get(0)).unwrap();
        (table, rows)
    };
    tables.into_iter().map(count).collect()
}

#[test]
fn a_pruned_run_leaves_no_rows() {
    let scene = scene();
    let run = create(&scene.store, "r");
    let output = Value::from("x".repeat(200_000));
    append(&run, entries(step("a", &output))).unwrap();
    scene.store.decide("r", &approve("a", 1)).unwrap();
    let approval = PlanApproval {
        consent: "c".into(),
        by: None,
        approved: time(7),
    };
    scene.store.approve_plan("r", &approval).unwrap();
    scene.store.request_cancel("r", None, time(8)).unwrap();
    append(&run, entries([ended(RunStatus::Cancelled)])).unwrap();
    drop(run);
    for (table, rows) in rows_by_table(&scene.store) {
        assert_ne!(rows, 0, "`{table}` has no row of the run: add one above");
    }
    let all = Prune {
        unfinished: true,
        ..prune(10_000)
    };
    assert_eq!(scene.store.prune(&all, &me()).unwrap().runs, ["r"]);
    for (table, rows) in rows_by_table(&scene.store) {
        assert_eq!(rows, 0, "`{table}` still has rows of the run");
    }
}
