//! Opening of a store: its folder on this machine, and the rights that it needs.

use std::path::PathBuf;

use planwright_postgres::{PostgresOptions, open};
use planwright_store::StoreError;
use planwright_testkit::postgres::PostgresServer;

use crate::scene::{options, scene, server_scene};
use crate::suite::support::{append, create, entries, me, new_run, opened};

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
fn a_connection_that_is_new_writes_to_no_older_tables_either() {
    let mut scene = server_scene();
    scene.server.kill();
    scene.server.start_again().unwrap();
    scene.server.execute(OLDER).unwrap();
    // The connection that creates runs is opened with the first of them.
    let error = scene.store.create_run(new_run("r"), &me()).unwrap_err();
    assert!(
        error.to_string().contains(
            "its tables are those of an older version since it is back: their schema version is 1"
        ),
        "{error}"
    );
}

#[test]
fn a_run_that_was_created_outlives_a_crash_of_the_server() {
    let mut scene = server_scene();
    let run = create(&scene.store, "r");
    // A client has its id by now.
    scene.server.kill();
    scene.server.start_again().unwrap();
    append(&run, entries([opened()])).unwrap();
    drop(run);
    assert!(scene.open_again().run("r").is_ok());
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

/// A server with a certificate of its own, as Debian's clusters have one, and its certificate.
fn server_with_certificate() -> (PostgresServer, PathBuf) {
    let mut server = PostgresServer::start().unwrap();
    // The program runs as the user of the server, in its data folder.
    let program = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 \
         -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
         -keyout server.key -out server.crt 2>/dev/null && chmod 600 server.key";
    server
        .execute(&format!("COPY (SELECT 1) TO PROGRAM '{program}'"))
        .unwrap();
    server.execute("ALTER SYSTEM SET ssl = on").unwrap();
    server.kill();
    server.start_again().unwrap();
    let certificate = server.folder().join("data/server.crt");
    (server, certificate)
}

#[test]
fn a_server_whose_certificate_no_authority_knows_is_reached_encrypted() {
    let (server, certificate) = server_with_certificate();
    let folder = tempfile::tempdir().unwrap();
    let url = server.url();
    let store = open(&url, options(&folder)).unwrap();
    append(&create(&store, "r"), entries([opened()])).unwrap();
    // A division by zero, if no session of the store is encrypted.
    server
        .execute(
            "SELECT 1 / count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
             WHERE ssl AND application_name = 'planwright'",
        )
        .unwrap();
    drop(store);
    let error = open(&format!("{url}?sslmode=require"), options(&folder)).unwrap_err();
    assert!(
        error.to_string().contains("invalid peer certificate"),
        "{error}"
    );
    let verified = format!(
        "{url}?sslmode=verify-full&sslrootcert={}",
        certificate.display()
    );
    let store = open(&verified, options(&folder)).unwrap();
    append(&create(&store, "r2"), entries([opened()])).unwrap();
    drop(store);
    // The certificate is that of another name.
    let other = verified.replace("127.0.0.1", "localhost");
    let error = open(&other, options(&folder)).unwrap_err();
    assert!(
        error.to_string().contains("invalid peer certificate"),
        "{error}"
    );
}
