//! The tables of the store, and the migrations to the newest ones.

use planwright_store::FileProblem;
use planwright_store::database::{Connection, QueryError, Session, SqlValue, TransactionKind};

use crate::connection::PostgresConnection;

/// The schema of the tables, so that a database of other programs can be used.
pub(crate) const SCHEMA: &str = "planwright";

/// The migrations from an empty schema to the newest tables. A published one is never changed.
const MIGRATIONS: &[&str] = &[include_str!("migrations/schema_1.sql")];

/// Applies the missing migrations, in one transaction.
pub(crate) fn migrate(connection: &mut PostgresConnection) -> Result<(), QueryError> {
    // One process at a time: the transaction has the lock of changes.
    connection.begin(TransactionKind::Write)?;
    let result = apply_missing(connection);
    if result.is_err() {
        connection.roll_back();
        return result;
    }
    connection.commit()
}

fn apply_missing(connection: &PostgresConnection) -> Result<(), QueryError> {
    connection.batch(&format!(
        "CREATE SCHEMA IF NOT EXISTS {SCHEMA};
         CREATE TABLE IF NOT EXISTS {SCHEMA}.layouts (version BIGINT PRIMARY KEY, applied TIMESTAMPTZ NOT NULL DEFAULT now())"
    ))?;
    let mut found = 0;
    let newest = "SELECT coalesce(max(version), 0) FROM layouts";
    connection.query(newest, &[], &mut |row| {
        if let SqlValue::Integer(version) = row.value(0)? {
            found = version;
        }
        Ok(())
    })?;
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    // A newer program may have changed the meaning of the tables, so this one neither reads nor writes them.
    if known < found {
        return Err(QueryError::of(FileProblem::Newer { found, known }));
    }
    let numbered = (1_i64..).zip(MIGRATIONS);
    for (version, migration) in numbered.filter(|(version, _)| found < *version) {
        connection.batch(migration)?;
        let applied = "INSERT INTO layouts (version) VALUES (?1)";
        connection.execute(applied, &[SqlValue::Integer(version)])?;
    }
    Ok(())
}
