//! The tables of the store, and the migrations to the newest ones.

use planwright_store::FileProblem;
use planwright_store::database::{
    QueryError, SqlSession, SqlValue, StoreConnection, TransactionKind,
};

use crate::connection::PostgresConnection;

/// The schema of the tables, so that a database of other programs can be used.
pub(crate) const SCHEMA: &str = "planwright";

/// The migrations from an empty schema to the newest tables. A published one is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/schema_1.sql"),
    include_str!("migrations/schema_2.sql"),
    include_str!("migrations/schema_3.sql"),
    include_str!("migrations/schema_4.sql"),
    include_str!("migrations/schema_5.sql"),
    include_str!("migrations/schema_6.sql"),
];

/// Applies the missing migrations, in one transaction. If none is missing, it needs neither the right to create tables nor a lock.
pub(crate) fn migrate(connection: &mut PostgresConnection) -> Result<(), QueryError> {
    if newest_applied(connection)? == newest_known() {
        return Ok(());
    }
    // One process at a time: the transaction has the lock of changes.
    connection.begin(TransactionKind::Write)?;
    let result = apply_missing(connection);
    if result.is_err() {
        connection.roll_back();
        return result;
    }
    connection.commit()
}

/// Refuses tables of another version than those that this process has opened.
pub(crate) fn verify(connection: &PostgresConnection) -> Result<(), QueryError> {
    let (found, known) = (newest_applied(connection)?, newest_known());
    if found == known {
        return Ok(());
    }
    let version = if found < known { "an older" } else { "a newer" };
    Err(QueryError::failed(format!(
        "its tables are those of {version} version since it is back: their schema version is {found}, and {known} is needed"
    )))
}

fn apply_missing(connection: &PostgresConnection) -> Result<(), QueryError> {
    // Another process may have applied some since.
    let found = newest_applied(connection)?;
    if integer(
        connection,
        &format!("SELECT to_regnamespace('{SCHEMA}') IS NULL"),
    )? == 1
    {
        connection.batch(&format!("CREATE SCHEMA {SCHEMA}"))?;
    }
    if found == 0 {
        connection.batch(&format!(
            "CREATE TABLE IF NOT EXISTS {SCHEMA}.layouts (version BIGINT PRIMARY KEY, applied TIMESTAMPTZ NOT NULL DEFAULT now())"
        ))?;
    }
    let numbered = (1_i64..).zip(MIGRATIONS);
    for (version, migration) in numbered.filter(|(version, _)| found < *version) {
        connection.batch(migration)?;
        let applied = "INSERT INTO layouts (version) VALUES (?1)";
        connection.execute(applied, &[SqlValue::Integer(version)])?;
    }
    Ok(())
}

/// Returns the number of the newest applied migration, 0 if there is none. Refuses those of a newer program, which may have changed the
/// meaning of the tables: this one neither reads nor writes them.
fn newest_applied(connection: &PostgresConnection) -> Result<i64, QueryError> {
    let is_empty = format!("SELECT to_regclass('{SCHEMA}.layouts') IS NULL");
    if integer(connection, &is_empty)? == 1 {
        return Ok(0);
    }
    let found = integer(connection, "SELECT coalesce(max(version), 0) FROM layouts")?;
    let known = newest_known();
    if known < found {
        return Err(QueryError::of(FileProblem::Newer { found, known }));
    }
    Ok(found)
}

/// Returns the number of the newest migration of this program.
fn newest_known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Returns the integer in the only row of a result.
fn integer(connection: &PostgresConnection, sql: &str) -> Result<i64, QueryError> {
    let mut found = None;
    connection.query(sql, &[], &mut |row| {
        if let SqlValue::Integer(number) = row.value(0)? {
            found = Some(number);
        }
        Ok(())
    })?;
    found.ok_or_else(|| QueryError::failed("a query returned no integer"))
}
