//! Opening of a store: its folder on this machine, and the rights that it needs.

use planwright_postgres::{PostgresOptions, open};
use planwright_store::StoreError;

use crate::scene::{options, scene};
use crate::suite::support::{append, create, entries, opened};

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
