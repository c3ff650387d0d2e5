//! The tables, and how they came to be: step by step, each step once.

use rusqlite::{Connection, OptionalExtension};

use crate::error::{Fault, FileTrouble, StoreError};

/// From an empty file to the newest layout. A step that has been published is never changed.
pub(super) const STEPS: &[&str] = &[
    include_str!("layout_1.sql"),
    include_str!("layout_2.sql"),
    include_str!("layout_3.sql"),
    include_str!("layout_4.sql"),
    include_str!("layout_5.sql"),
];

/// Whether nothing is left to be done.
pub(super) fn is_current(connection: &Connection) -> Result<bool, Fault> {
    check(connection, STEPS.len()).map(|found| found == newest(STEPS.len()))
}

/// Takes the steps that have not been taken yet, all or none of them, and marks the file.
pub(super) fn migrate(connection: &Connection, steps: &[&str], mark: i32) -> Result<(), Fault> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let result = take(connection, steps)
        .and_then(|()| Ok(connection.pragma_update(None, "application_id", mark)?));
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    connection.execute_batch(end)?;
    result
}

fn take(connection: &Connection, steps: &[&str]) -> Result<(), Fault> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS layouts (version INTEGER PRIMARY KEY, taken_at INTEGER NOT NULL) STRICT;",
    )?;
    let found = check(connection, steps.len())?;
    for (version, step) in (1_i64..).zip(steps).filter(|(version, _)| found < *version) {
        connection.execute_batch(step)?;
        connection.execute(
            "INSERT INTO layouts (version, taken_at) VALUES (?1, unixepoch())",
            [version],
        )?;
    }
    Ok(())
}

/// The layout that the file has, which must be one of those that are known; 0 where it has none yet.
fn check(connection: &Connection, known: usize) -> Result<i64, Fault> {
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
    let known = newest(known);
    if known < found {
        return Err(Fault::Store(StoreError::File {
            path: connection.path().unwrap_or_default().into(),
            trouble: FileTrouble::Newer { found, known },
        }));
    }
    Ok(found)
}

fn newest(steps: usize) -> i64 {
    i64::try_from(steps).unwrap_or(i64::MAX)
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
    fn each_step_is_taken_once() {
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
        let fault = migrate(&connection, OLD, 1).unwrap_err();
        let Fault::Store(StoreError::File { trouble, .. }) = fault else {
            panic!("{fault:?}");
        };
        assert_eq!(trouble, FileTrouble::Newer { found: 2, known: 1 });
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_behind() {
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
