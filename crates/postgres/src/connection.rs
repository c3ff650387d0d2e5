//! A connection, which executes the statements of the store.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures::future::try_join_all;
use planwright_store::database::{
    Connection, QueryError, RowReader, Session, SqlValue, TransactionKind,
};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use crate::server::{CHANNEL, Server};
use crate::tables::SCHEMA;
use crate::values::{Param, PostgresRow, query_error};

/// The key of the advisory lock of writing transactions: a change has it alone, appends to journals share it. So a change sees no
/// part of an append, and no append refers to a value that a change is deleting.
const WRITE_LOCK: i64 = 0x5057_7374;

/// The number of statements of [`Session::execute_each`] that are sent before the first result is awaited.
const PIPELINE_DEPTH: usize = 256;

/// A connection. If it is lost, the next transaction opens another one.
pub(crate) struct PostgresConnection {
    server: Arc<Server>,
    client: Client,
    /// The prepared statements, by the text that the store has for them.
    statements: RefCell<HashMap<String, Statement>>,
    is_synced: bool,
    /// The open transaction.
    transaction: Option<TransactionKind>,
}

impl PostgresConnection {
    pub(crate) fn open(server: &Arc<Server>) -> Result<Self, QueryError> {
        let connection = Self {
            client: server.connect(false)?,
            server: Arc::clone(server),
            statements: RefCell::default(),
            is_synced: true,
            transaction: None,
        };
        connection.set_up()?;
        Ok(connection)
    }

    fn set_up(&self) -> Result<(), QueryError> {
        self.batch(&format!("SET search_path TO {SCHEMA}"))
    }

    /// Executes statements without parameters.
    pub(crate) fn batch(&self, sql: &str) -> Result<(), QueryError> {
        pollster::block_on(self.client.batch_execute(sql)).map_err(|error| query_error(&error))
    }

    /// Begins a transaction on leases, which waits for no change of the store.
    pub(crate) fn begin_plain(&mut self) -> Result<(), QueryError> {
        self.revive(false)?;
        self.batch("BEGIN")?;
        // Its commit is not announced.
        self.transaction = Some(TransactionKind::Read);
        Ok(())
    }

    /// Opens another connection if this one is lost. If the caller `waits`, a server that cannot be reached is waited for.
    fn revive(&mut self, waits: bool) -> Result<(), QueryError> {
        if self.client.is_closed() {
            self.statements.get_mut().clear();
            self.client = self.server.connect(waits)?;
            self.set_up()?;
        }
        Ok(())
    }

    fn statement(&self, sql: &str) -> Result<Statement, QueryError> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = pollster::block_on(self.client.prepare(&with_dollars(sql)))
            .map_err(|error| query_error(&error))?;
        let mut statements = self.statements.borrow_mut();
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Session for PostgresConnection {
    fn execute(&self, sql: &str, params: &[SqlValue<'_>]) -> Result<usize, QueryError> {
        let statement = self.statement(sql)?;
        let params: Vec<Param<'_>> = params.iter().map(Param).collect();
        let changed = pollster::block_on(self.client.execute(&statement, &references(&params)))
            .map_err(|error| query_error(&error))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn execute_each(
        &self,
        sql: &str,
        rows: &mut dyn Iterator<Item = Vec<SqlValue<'_>>>,
    ) -> Result<(), QueryError> {
        let statement = self.statement(sql)?;
        loop {
            let rows: Vec<Vec<SqlValue<'_>>> = rows.take(PIPELINE_DEPTH).collect();
            if rows.is_empty() {
                return Ok(());
            }
            // All are sent before the first result is there: one round trip for all.
            let results = try_join_all(rows.iter().map(|row| async {
                let params: Vec<Param<'_>> = row.iter().map(Param).collect();
                self.client.execute(&statement, &references(&params)).await
            }));
            pollster::block_on(results).map_err(|error| query_error(&error))?;
        }
    }

    fn query(
        &self,
        sql: &str,
        params: &[SqlValue<'_>],
        read: &mut RowReader<'_>,
    ) -> Result<(), QueryError> {
        let statement = self.statement(sql)?;
        let params: Vec<Param<'_>> = params.iter().map(Param).collect();
        let rows = pollster::block_on(self.client.query(&statement, &references(&params)))
            .map_err(|error| query_error(&error))?;
        rows.iter().try_for_each(|row| read(&PostgresRow(row)))
    }

    fn is_end_of_step(&self) -> &'static str {
        // The server may evaluate the parts of a condition in any order, but not those of a `CASE`. Its functions for JSON refuse
        // `\u0000`, which is left out, unless its backslash is itself escaped.
        r"CASE WHEN kind = 'settled' THEN (
             SELECT json_array_length(json -> 'at') = 1
                 AND json #>> '{at,0,item}' IS NULL AND json #>> '{at,0,round}' IS NULL
                 AND json ->> 'status' IN ('succeeded', 'failed', 'skipped')
             FROM (SELECT regexp_replace(body, '(\\\\)|\\u0000', '\1', 'g')::json AS json) AS settled
         ) ELSE false END"
    }
}

impl Connection for PostgresConnection {
    fn begin(&mut self, kind: TransactionKind) -> Result<(), QueryError> {
        // Writers have a thread of their own. A reader may be in the middle of other work, and can say that the server is away.
        self.revive(kind != TransactionKind::Read)?;
        let begin = match kind {
            TransactionKind::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned(),
            TransactionKind::Write => format!("BEGIN; SELECT pg_advisory_xact_lock({WRITE_LOCK})"),
            TransactionKind::Append => {
                format!("BEGIN; SELECT pg_advisory_xact_lock_shared({WRITE_LOCK})")
            }
        };
        self.batch(&begin)?;
        self.transaction = Some(kind);
        if !self.is_synced {
            self.batch("SET LOCAL synchronous_commit TO OFF")?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), QueryError> {
        let end = match self.transaction {
            Some(TransactionKind::Write | TransactionKind::Append) => {
                &*format!("NOTIFY {CHANNEL}; COMMIT")
            }
            Some(TransactionKind::Read) | None => "COMMIT",
        };
        self.batch(end)?;
        self.transaction = None;
        Ok(())
    }

    fn roll_back(&mut self) {
        if self.transaction.take().is_some() {
            // If the connection is lost, the server rolls back by itself.
            let _ = self.batch("ROLLBACK");
        }
    }

    fn set_synced(&mut self, is_synced: bool) -> Result<(), QueryError> {
        self.is_synced = is_synced;
        Ok(())
    }

    fn version(&self) -> Result<i64, QueryError> {
        Ok(self.server.version())
    }

    fn used_bytes(&self) -> Result<u64, QueryError> {
        let mut used = 0_i64;
        // The sizes of the tables shrink only once the server has cleaned up.
        let sql = "SELECT (SELECT coalesce(sum(octet_length(body)), 0) FROM entries)::bigint
                   + (SELECT coalesce(sum(octet_length(json)), 0) FROM blobs)::bigint";
        self.query(sql, &[], &mut |row| {
            if let SqlValue::Integer(bytes) = row.value(0)? {
                used = bytes;
            }
            Ok(())
        })?;
        Ok(used.unsigned_abs())
    }

    fn free_bytes(&self) -> Result<u64, QueryError> {
        // The server reuses and returns its space by itself.
        Ok(0)
    }

    fn free_space(&mut self) -> Result<bool, QueryError> {
        Ok(false)
    }

    fn limit_size(&mut self, _bytes: u64) -> Result<(), QueryError> {
        Err(QueryError::failed("only its server can limit its size"))
    }
}

impl fmt::Debug for PostgresConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConnection")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

fn references<'a>(params: &'a [Param<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params
        .iter()
        .map(|param| param as &(dyn ToSql + Sync))
        .collect()
}

/// Returns a statement with its parameters as PostgreSQL writes them: `$1` for `?1`. No statement of the store has a question mark in
/// a text.
fn with_dollars(sql: &str) -> String {
    sql.replace('?', "$")
}
