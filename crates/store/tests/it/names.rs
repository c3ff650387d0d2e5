//! Stores with several names, and stores that are removed or replaced while in use.

use std::fs;
#[cfg(unix)]
use std::path::PathBuf;

use planwright_core::Value;
use planwright_store::{FileProblem, LeaseHolder, Prune, PruneReport, Store, StoreError};
use rusqlite::Connection;

use crate::scene::scene;
use crate::suite::support::{append, create, entries, me, opened, read, step, time};

fn everything() -> Prune {
    Prune {
        before: time(10_000_000_000),
        newest: 0,
        unfinished: true,
        dry_run: false,
    }
}

/// Checks that a run can neither be leased nor deleted.
#[track_caller]
pub(crate) fn check_leased(store: &Store, by: &LeaseHolder) {
    let refused = store.lease_run("r", &me()).unwrap_err();
    let expected = StoreError::Leased {
        run: "r".parse().unwrap(),
        holder: by.clone(),
    };
    assert_eq!(refused, expected);
    let pruned = store.prune(&everything(), &me()).unwrap();
    let expected = PruneReport {
        in_use: vec!["r".parse().unwrap()],
        ..PruneReport::default()
    };
    assert_eq!(pruned, expected);
    assert_eq!(store.run("r").unwrap().holder.as_ref(), Some(by));
}

fn trouble(opened: Result<Store, StoreError>) -> FileProblem {
    match opened.unwrap_err() {
        StoreError::File { trouble, .. } => trouble,
        other => panic!("{other}"),
    }
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_leads_to_the_same_locks() {
    let scene = scene();
    let run = create(&scene.store, "r");
    let folder = scene.folder.path();
    let link = folder.join("elsewhere.db");
    std::os::unix::fs::symlink(scene.store.path(), &link).unwrap();
    let by_link = Store::open(&link).unwrap();
    check_leased(&by_link, &me());
    assert!(!folder.join("elsewhere.db.runs").exists());
    append(&run, entries([opened()])).unwrap();
    drop(run);
    drop(by_link.lease_run("r", &me()).unwrap());
    // The target need not exist yet.
    let dangling = folder.join("dangling.db");
    std::os::unix::fs::symlink(folder.join("new.db"), &dangling).unwrap();
    drop(create(&Store::open(&dangling).unwrap(), "r"));
    Store::open(folder.join("new.db"))
        .unwrap()
        .run("r")
        .unwrap();
}

#[cfg(unix)]
#[test]
fn a_store_with_hard_links_is_used_by_its_own_name_alone() {
    let scene = scene();
    let run = create(&scene.store, "r");
    let link = scene.folder.path().join("link.db");
    fs::hard_link(scene.store.path(), &link).unwrap();
    assert_eq!(trouble(Store::open(&link)), FileProblem::Linked);
    assert!(!scene.folder.path().join("link.db.runs").exists());
    append(&run, entries(step("a", &Value::Null))).unwrap();
    drop(run);
    let again = Store::open(scene.store.path()).unwrap();
    assert_eq!(read(&again, "r").len(), 3);
    // A name that is the only one left is accepted.
    let path = scene.store.path().to_owned();
    drop((again, scene.store));
    fs::remove_file(path).unwrap();
    assert_eq!(read(&Store::open(&link).unwrap(), "r").len(), 3);
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn a_run_is_held_though_its_lock_file_was_removed() {
    let scene = scene();
    let run = create(&scene.store, "r");
    fs::remove_dir_all(scene.folder.path().join("store.db.runs")).unwrap();
    let unknown = LeaseHolder {
        pid: 0,
        host: String::new(),
        client: None,
        since: time(0),
    };
    let again = Store::open(scene.store.path()).unwrap();
    for store in [&scene.store, &again] {
        check_leased(store, &unknown);
    }
    append(&run, entries(step("a", &Value::Null))).unwrap();
    drop(run);
    let taken = again.lease_run("r", &me()).unwrap();
    check_leased(&scene.store, &me());
    drop(taken);
}

#[test]
fn special_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::create_dir(&path).unwrap();
    assert_eq!(trouble(Store::open(&path)), FileProblem::NotAFile);
    assert!(!folder.path().join("store.db.runs").exists());
    if cfg!(unix) {
        assert_eq!(trouble(Store::open("/dev/null")), FileProblem::NotAFile);
        assert!(!std::path::Path::new("/dev/null.runs").exists());
    }
    // No lock folder is created for the file of another program.
    let other = folder.path().join("other.db");
    let theirs = "CREATE TABLE theirs (x)";
    Connection::open(&other)
        .unwrap()
        .execute_batch(theirs)
        .unwrap();
    assert_eq!(trouble(Store::open(&other)), FileProblem::Foreign);
    assert!(!folder.path().join("other.db.runs").exists());
}

/// Changes the store of a run in progress, and returns the error of its next append.
fn refused(behind: impl FnOnce(&Connection, &std::path::Path)) -> String {
    let scene = scene();
    let other = create(&scene.store, "other");
    let run = create(&scene.store, "r");
    append(&run, entries([opened()])).unwrap();
    let path = scene.store.path();
    behind(&Connection::open(path).unwrap(), path);
    let error = append(&run, entries(step("a", &Value::Null))).unwrap_err();
    let again = append(&run, entries([opened()])).unwrap_err();
    assert_eq!(again, error, "nothing is stored behind a gap");
    if path.exists() && !error.message.contains("replaced") {
        append(&other, entries([opened()])).unwrap();
    }
    error.message.to_string()
}

#[test]
fn appends_to_a_removed_or_replaced_store_fail() {
    let sql =
        |sql: &'static str| refused(move |connection, _| connection.execute_batch(sql).unwrap());
    assert_eq!(
        sql("DELETE FROM runs WHERE id = 'r'"),
        "the run `r` was removed from the store while it was in progress"
    );
    assert_eq!(
        sql("INSERT INTO entries SELECT run, 1, at_ns, turn, kind, body, checksum FROM entries"),
        "the run `r` was resumed by another process while it was in progress"
    );
    if cfg!(unix) {
        let removed = refused(|_, path| fs::remove_file(path).unwrap());
        assert!(
            removed.ends_with("was removed or replaced while it was in use"),
            "{removed}"
        );
        let replaced = refused(|_, path| {
            fs::rename(path, path.with_extension("old")).unwrap();
            fs::write(path, "").unwrap();
        });
        assert!(
            replaced.ends_with("was removed or replaced while it was in use"),
            "{replaced}"
        );
    }
}

#[cfg(unix)]
#[test]
fn paths_that_others_may_write_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let scene = scene();
    let folder = scene.folder.path().canonicalize().unwrap();
    let (file, beside) = (folder.join("store.db"), folder.join("store.db.runs"));
    assert!(scene.store.writable_by_others().is_empty());
    for (path, mode, is_open) in [
        (&file, 0o620, true),
        (&file, 0o602, true),
        (&file, 0o644, false),
        (&beside, 0o707, true),
        (&beside, 0o700, false),
        (&folder, 0o777, true),
        (&folder, 0o1777, false),
        (&folder, 0o755, false),
    ] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let expected: &[PathBuf] = if is_open {
            std::slice::from_ref(path)
        } else {
            &[]
        };
        assert_eq!(scene.store.writable_by_others(), expected, "{mode:o}");
        let closed = if *path == file { 0o600 } else { 0o700 };
        fs::set_permissions(path, fs::Permissions::from_mode(closed)).unwrap();
    }
}
