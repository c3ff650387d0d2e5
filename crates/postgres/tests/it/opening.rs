//! Opening of a store: its folder on this machine, and the rights that it needs.

use planwright_postgres::{PostgresOptions, open};
use planwright_store::StoreError;

use crate::scene::{options, scene, server_scene};
use crate::suite::support::{append, create, entries, opened};

/// Replaces the tables by those of the first version.
const OLDER: &str = concat!(
    "DROP SCHEMA planwright CASCADE; CREATE SCHEMA planwright; SET search_path TO planwright;
     CREATE TABLE layouts (version BIGINT PRIMARY KEY, applied TIMESTAMPTZ NOT NULL DEFAULT now());
     INSERT INTO layouts (version) VALUES (1);",
    include_str!("../../src/migrations/schema_1.sql")
);

#[test]
fn a_server_that_comes_back_with_older_tables_is_not_written_to() {
    let mut scene = server_scene();
    let run = create(&scene.store, "r");
    append(&run, entries([opened()])).unwrap();
    scene.server.kill();
    scene.server.start_again().unwrap();
    scene.server.execute(OLDER).unwrap();
    let error = append(&run, entries([opened()])).unwrap_err();
    assert!(
        error.message.contains(
            "its tables are those of an older version since it is back: their schema version is 1"
        ),
        "{error}"
    );
    drop(run);
    // A process that starts now brings them up to date, and knows no run of the time before.
    let store = scene.open_again();
    assert!(matches!(store.run("r"), Err(StoreError::Missing { .. })));
    append(&create(&store, "r"), entries([opened()])).unwrap();
}

#[test]
fn newer_tables_are_refused() {
    let scene = scene();
    let newer = "INSERT INTO planwright.layouts (version) VALUES (99)";
    scene.direct().execute(newer);
    let folder = tempfile::tempdir().unwrap();
    let error = open(scene.url(), options(&folder)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("was created by a newer version: its schema version is 99"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn the_folder_of_process_lists_is_for_this_user_alone() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    let scene = scene();
    let folder = tempfile::tempdir().unwrap();
    let lists = folder.path().join("a/servers");
    let options = PostgresOptions {
        folder: lists.clone(),
        ..options(&folder)
    };
    drop(open(scene.url(), options.clone()).unwrap());
    let mode = fs::metadata(&lists).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    fs::set_permissions(&lists, fs::Permissions::from_mode(0o777)).unwrap();
    let error = open(scene.url(), options).unwrap_err();
    assert!(
        matches!(&error, StoreError::File { path, .. } if *path == lists),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("is owned or writable by another user"),
        "{error}"
    );
}

#[test]
fn a_store_with_all_tables_needs_no_right_to_create_any() {
    let scene = scene();
    let direct = scene.direct();
    let (base, database) = scene.url().rsplit_once('/').unwrap();
    let role = format!("role_{database}");
    direct.execute(&format!(
        "CREATE ROLE {role} LOGIN;
         GRANT USAGE ON SCHEMA planwright TO {role};
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA planwright TO {role};
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA planwright TO {role};"
    ));
    let (_, host) = base.split_once('@').unwrap();
    let store = scene.open_at(&format!("postgres://{role}@{host}/{database}"));
    append(&create(&store, "r"), entries([opened()])).unwrap();
    drop(store);
    direct.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}
