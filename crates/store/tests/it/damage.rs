//! Errors for damaged, foreign and full files.

use std::fs;
use std::path::Path;

use planwright_core::Value;
use planwright_store::{FileProblem, Store, StoreError};
use rusqlite::Connection;

use crate::scene::scene;
use crate::suite::support::{append, create, entries, me, read, step};

fn trouble(path: &Path) -> FileProblem {
    match Store::open(path) {
        Err(StoreError::File { trouble, .. }) => trouble,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_full_disk_ends_a_run_and_no_other() {
    let scene = scene();
    let path = scene.store.path().to_owned();
    let (large, small) = (create(&scene.store, "large"), create(&scene.store, "small"));
    append(&small, entries(step("a", &Value::Null))).unwrap();
    scene.store.limit_size(250_000).unwrap();
    let noise: String = (0..1_000_000_u32)
        .map(|n| char::from(b'a' + (n * 7 % 26) as u8))
        .collect();
    let error = append(&large, entries(step("a", &Value::from(noise)))).unwrap_err();
    assert_eq!(
        error.message.to_string(),
        format!(
            "the store `{}` cannot grow: the disk is full",
            path.display()
        )
    );
    assert_eq!(append(&large, entries(step("b", &Value::Null))), Err(error));
    append(&small, entries(step("b", &Value::Null))).unwrap();
    drop((large, small, scene.store));

    let store = Store::open(&path).unwrap();
    assert_eq!(read(&store, "large").len(), 0);
    assert_eq!(read(&store, "small").len(), 6);
    let again = store.lease_run("large", &me()).unwrap();
    append(&again, entries(step("a", &Value::Null))).unwrap();
    assert_eq!(read(&store, "large").len(), 3);
}

#[test]
fn a_read_only_file_is_refused() {
    let scene = scene();
    drop(create(&scene.store, "r"));
    let path = scene.store.path().to_owned();
    drop(scene.store);
    let writable = fs::metadata(&path).unwrap().permissions();
    let mut readonly = writable.clone();
    readonly.set_readonly(true);
    fs::set_permissions(&path, readonly).unwrap();
    assert_eq!(trouble(&path), FileProblem::ReadOnly);
    fs::set_permissions(&path, writable).unwrap();
    Store::open(&path).unwrap().run("r").unwrap();
}

#[test]
fn foreign_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    fs::write(
        &path,
        "something else entirely, long enough to have a header of its own. ".repeat(20),
    )
    .unwrap();
    assert!(matches!(trouble(&path), FileProblem::Damaged(_)));
    let path = folder.path().join("other.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x)")
        .unwrap();
    assert_eq!(trouble(&path), FileProblem::Foreign);
    let path = folder.path().join("marked.db");
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "application_id", 7)
        .unwrap();
    assert_eq!(trouble(&path), FileProblem::Foreign);
    assert_eq!(trouble(folder.path()), FileProblem::NotAFile);
}

#[test]
fn a_store_of_a_newer_version_is_refused() {
    let scene = scene();
    let path = scene.store.path().to_owned();
    drop(scene.store);
    let layouts = "INSERT INTO layouts (version, taken_at) VALUES (99, 0)";
    Connection::open(&path)
        .unwrap()
        .execute_batch(layouts)
        .unwrap();
    assert_eq!(
        trouble(&path),
        FileProblem::Newer {
            found: 99,
            known: 8
        }
    );
}

#[test]
fn a_run_of_a_newer_version_is_refused_and_no_other() {
    let scene = scene();
    for id in ["old", "new", "odd"] {
        append(&create(&scene.store, id), entries(step("a", &Value::Null))).unwrap();
    }
    let direct = Connection::open(scene.store.path()).unwrap();
    direct
        .execute_batch(
            "UPDATE runs SET format = 'planwright.journal/2' WHERE id = 'new';
             UPDATE entries SET kind = 'dreamt', checksum = NULL WHERE number = 1 AND run = (SELECT key FROM runs WHERE id = 'odd');",
        )
        .unwrap();
    assert_eq!(read(&scene.store, "old").len(), 3);
    for error in [
        scene.store.entries("new").unwrap_err(),
        scene.store.lease_run("new", &me()).unwrap_err(),
    ] {
        assert_eq!(
            error.to_string(),
            "the run `new` cannot be read: its journal has the unknown format `planwright.journal/2`"
        );
    }
    let mut found = scene.store.entries("odd").unwrap();
    assert!(found.next().unwrap().is_ok());
    assert_eq!(
        found.next().unwrap().unwrap_err().to_string(),
        "the run `odd` cannot be read: entry 1 is invalid: unknown kind of entry `dreamt`"
    );
    assert!(found.next().is_none());
}

#[test]
fn changed_rows_are_detected() {
    let large = Value::from("x".repeat(20_000));
    for (change, message) in [
        (
            // The result of a step that no other step reads.
            "UPDATE entries SET body = replace(body, 'small', 'smell') WHERE kind = 'answered'",
            "the run `r` cannot be read: entry 4 was changed after it was stored",
        ),
        (
            "UPDATE entries SET at_ns = at_ns + 1 WHERE number = 3",
            "the run `r` cannot be read: entry 3 was changed after it was stored",
        ),
        (
            "UPDATE blobs SET json = replace(json, 'xxx', 'yyy')",
            "was changed after it was stored",
        ),
    ] {
        let scene = scene();
        let run = create(&scene.store, "r");
        append(&run, entries(step("a", &large))).unwrap();
        append(&run, entries(step("b", &Value::from("small")))).unwrap();
        drop(run);
        assert_eq!(read(&scene.store, "r").len(), 6);
        let direct = Connection::open(scene.store.path()).unwrap();
        assert!(direct.execute(change, []).unwrap() > 0, "{change}");
        let found = scene.store.entries("r").unwrap();
        let error = found.collect::<Result<Vec<_>, _>>().unwrap_err();
        assert!(error.to_string().contains(message), "{change}: {error}");
        let error = scene.store.export("r").unwrap_err();
        assert!(error.to_string().contains(message), "{change}: {error}");
    }
}

#[test]
fn a_damaged_file_is_an_error_and_no_panic() {
    let scene = scene();
    let path = scene.store.path().to_owned();
    let run = create(&scene.store, "r");
    for _ in 0..200 {
        append(&run, entries(step("a", &Value::from("x".repeat(900))))).unwrap();
    }
    drop((run, scene.store));
    let whole = fs::read(&path).unwrap();
    assert!(20 * 4096 < whole.len());
    for length in [
        100,
        4096,
        5000,
        3 * 4096,
        whole.len() / 2,
        whole.len() - 4096,
    ] {
        fs::write(&path, &whole[..length]).unwrap();
        let result = Store::open(&path).and_then(|store| {
            store.run("r")?;
            store.entries("r")?.collect::<Result<Vec<_>, _>>()
        });
        assert!(
            matches!(result, Err(StoreError::File { .. })),
            "{length}: {result:?}"
        );
    }
    let mut noise = whole.clone();
    for byte in &mut noise[4096..] {
        *byte ^= 0x5a;
    }
    fs::write(&path, &noise).unwrap();
    let result = Store::open(&path).and_then(|store| store.run("r"));
    assert!(matches!(result, Err(StoreError::File { .. })), "{result:?}");
    fs::write(&path, &whole).unwrap();
    assert_eq!(read(&Store::open(&path).unwrap(), "r").len(), 600);
}
