//! Migrations of the tables, each applied once.

use rusqlite::{Connection, OptionalExtension};

use crate::error::{FileProblem, QueryError, StoreError};
use crate::values::to_i64;

/// The migrations from an empty file to the newest layout. A published one is never changed.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("layout_1.sql"),
    include_str!("layout_2.sql"),
    include_str!("layout_3.sql"),
    include_str!("layout_4.sql"),
    include_str!("layout_5.sql"),
];

/// Returns true if the file has the newest layout.
pub(super) fn is_current(connection: &Connection) -> Result<bool, QueryError> {
    check(connection, MIGRATIONS.len()).map(|found| found == to_i64(MIGRATIONS.len()))
}

/// Applies the missing migrations in one transaction, and sets the `application_id` of the file.
pub(super) fn migrate(
    connection: &Connection,
    migrations: &[&str],
    application_id: i32,
) -> Result<(), QueryError> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // In the same transaction: another process would take a file with tables but without the id for a foreign one.
    let result = apply(connection, migrations)
        .and_then(|()| Ok(connection.pragma_update(None, "application_id", application_id)?));
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end)?;
    result
}

fn apply(connection: &Connection, migrations: &[&str]) -> Result<(), QueryError> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS layouts (version INTEGER PRIMARY KEY, taken_at INTEGER NOT NULL) STRICT;",
    )?;
    let found = check(connection, migrations.len())?;
    let numbered = (1_i64..).zip(migrations);
    for (version, migration) in numbered.filter(|(version, _)| found < *version) {
        connection.execute_batch(migration)?;
        connection.execute(
            "INSERT INTO layouts (version, taken_at) VALUES (?1, unixepoch())",
            [version],
        )?;
    }
    Ok(())
}

/// Returns the layout of the file, 0 for an empty one. Refuses a layout above `known`.
fn check(connection: &Connection, known: usize) -> Result<i64, QueryError> {
    let table: Option<String> = connection
        .query_row(
            "SELECT name FROM sqlite_schema WHERE name = 'layouts'",
            [],
            |row| row.get(0),
        )
        .optional()?;
    if table.is_none() {
        return Ok(0);
    }
    let found: i64 =
        connection.query_row("SELECT coalesce(max(version), 0) FROM layouts", [], |row| {
            row.get(0)
        })?;
    let known = to_i64(known);
    // A newer program may have changed the meaning of the tables, so this one neither reads nor writes them.
    if known < found {
        return Err(QueryError::Store(StoreError::File {
            path: connection.path().unwrap_or_default().into(),
            trouble: FileProblem::Newer { found, known },
        }));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[&str] = &["CREATE TABLE a (x INTEGER);"];
    const NEW: &[&str] = &[
        "CREATE TABLE a (x INTEGER);",
        "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7;",
    ];

    #[test]
    fn each_migration_is_applied_once() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, OLD, 1).unwrap();
        connection
            .execute_batch("INSERT INTO a VALUES (1)")
            .unwrap();
        migrate(&connection, NEW, 1).unwrap();
        migrate(&connection, NEW, 1).unwrap();
        let row = connection.query_row("SELECT x, y FROM a", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        });
        assert_eq!(row.unwrap(), (1, 7));
        assert_eq!(check(&connection, 2).unwrap(), 2);
    }

    #[test]
    fn a_newer_layout_is_refused() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, NEW, 1).unwrap();
        let error = migrate(&connection, OLD, 1).unwrap_err();
        let QueryError::Store(StoreError::File { trouble, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(trouble, FileProblem::Newer { found: 2, known: 1 });
    }

    #[test]
    fn a_failed_migration_is_rolled_back() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection, OLD, 1).unwrap();
        let broken = [
            OLD[0],
            "CREATE TABLE b (x INTEGER); CREATE TABLE a (x INTEGER);",
        ];
        assert!(migrate(&connection, &broken, 1).is_err());
        assert_eq!(check(&connection, 2).unwrap(), 1);
        assert!(connection.prepare("SELECT x FROM b").is_err());
    }
}
