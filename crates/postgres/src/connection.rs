//! A connection, which executes the statements of the store.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{LocalBoxFuture, MaybeDone, maybe_done, try_join_all};
use planwright_store::database::{
    QueryError, RowReader, SqlSession, SqlStatement, SqlValue, StoreConnection, TransactionKind,
};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::combined::{self, CombinedStatement};
use crate::own_thread::OwnThread;
use crate::server::PostgresServer;
use crate::session_functions::{FunctionStatement, SessionFunctions};
use crate::tables::{self, SCHEMA};
use crate::values::{Param, PostgresRow};

/// The key of the advisory lock of writing transactions: a change has it alone, appends to journals share it. So a change sees no
/// part of an append, and no append refers to a value that a change is deleting.
const WRITE_LOCK: i64 = 0x5057_7374;

/// The begin of a transaction that writes, stated in full: the server or the role may have other defaults.
const BEGIN_WRITING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// A statement after which the transaction may be lost in a crash of the server.
const UNSYNCED: &str = "SET LOCAL synchronous_commit TO OFF";

/// The commit of a transaction that is not synced, and then of one that is: it writes a record without a meaning to the log, and returns once
/// the log is on the disk, with the first commit in front of it.
const COMMIT_THEN_SYNC: &str = "COMMIT; SELECT pg_logical_emit_message(true, 'planwright', '')";

/// The number of statements of [`SqlSession::execute_each`] that are sent before the first result is awaited.
const PIPELINE_DEPTH: usize = 256;

/// The commit of a change. Transactions with notices are committed one after the other, so the notice is a transaction of its own, which does
/// not wait for the disk. It is in the same message: the process may end right after it.
const ANNOUNCED_COMMIT: &str = "COMMIT; NOTIFY planwright_commits";

/// The minimum time limit of a statement. The deletion of a long journal, for example, takes its time.
const MIN_STATEMENT_TIME: Duration = Duration::from_mins(1);

/// The time without an answer after which a warning says that a statement waits. A lost connection is noticed sooner.
const SILENT_WAIT: Duration = Duration::from_secs(5);

/// A connection. If it is lost, the next transaction opens another one.
pub(crate) struct PostgresConnection {
    server: Arc<PostgresServer>,
    client: Client,
    /// The driver of the connection; `None` if it is one of the server's.
    own_thread: Option<OwnThread>,
    /// The prepared statements, by their text in the SQL of the store.
    statements: RefCell<HashMap<String, Statement>>,
    functions: SessionFunctions,
    is_synced: bool,
    /// The open transaction.
    transaction: Option<TransactionKind>,
    /// The time that each statement may take.
    limit: Duration,
    /// True if the session of the client may be in the middle of a transaction, so that it cannot be used any more.
    is_broken: Cell<bool>,
}

impl PostgresConnection {
    /// Opens a connection whose statements may take as long as an operation of the store.
    pub(crate) fn open(server: &Arc<PostgresServer>) -> Result<Self, QueryError> {
        let limit = server.write_timeout().max(MIN_STATEMENT_TIME);
        Self::verified(server, limit)
    }

    /// Opens the connection of a thread that is not a part of a tokio runtime, and that drives the connection while it waits for an answer.
    pub(crate) fn open_on_own_thread(server: &Arc<PostgresServer>) -> Result<Self, QueryError> {
        Self::with_limit(server, server.write_timeout().max(MIN_STATEMENT_TIME), true)
    }

    /// Opens a connection for leases: each statement ends within [`PostgresServer::silence`], also if it waits for a lock.
    pub(crate) fn for_leases(server: &Arc<PostgresServer>) -> Result<Self, QueryError> {
        Self::verified(server, server.silence())
    }

    /// Opens a connection to tables that exist. The server may have been restored from a backup of another version since they were created.
    fn verified(server: &Arc<PostgresServer>, limit: Duration) -> Result<Self, QueryError> {
        let connection = Self::with_limit(server, limit, false)?;
        tables::verify(&connection)?;
        Ok(connection)
    }

    fn with_limit(
        server: &Arc<PostgresServer>,
        limit: Duration,
        on_own_thread: bool,
    ) -> Result<Self, QueryError> {
        let (client, own_thread) = open_session(server, limit, on_own_thread)?;
        Ok(Self {
            client,
            own_thread,
            server: Arc::clone(server),
            statements: RefCell::default(),
            functions: SessionFunctions::default(),
            is_synced: true,
            transaction: None,
            limit,
            is_broken: Cell::new(false),
        })
    }

    /// Executes statements without parameters.
    pub(crate) fn batch(&self, sql: &str) -> Result<(), QueryError> {
        self.wait(self.client.batch_execute(sql))
    }

    /// Executes statements on leases in one transaction, and returns the rows of each. It waits for no change of the store, and its commit
    /// is not announced. If it is not `is_synced`, a crash of the server may undo it.
    pub(crate) fn transact_on_leases(
        &mut self,
        is_synced: bool,
        statements: &[SqlStatement<'_>],
    ) -> Result<Vec<Vec<Row>>, QueryError> {
        let begin = if is_synced {
            BEGIN_WRITING.to_owned()
        } else {
            format!("{BEGIN_WRITING}; {UNSYNCED}")
        };
        self.transact(TransactionKind::Read, &begin, statements, "COMMIT")
    }

    /// Executes additions in one transaction that releases its locks before it is synced, and returns the rows of each statement once it is. Its
    /// commit is not announced.
    pub(crate) fn add_then_sync(
        &mut self,
        statements: &[SqlStatement<'_>],
    ) -> Result<Vec<Vec<Row>>, QueryError> {
        let begin = format!("{BEGIN_WRITING}; SELECT {}; {UNSYNCED}", shared_lock());
        self.transact(
            TransactionKind::Append,
            &begin,
            statements,
            COMMIT_THEN_SYNC,
        )
    }

    /// Executes a whole transaction, and returns the rows of each statement. All is sent at once: the server executes nothing after a failure,
    /// since nothing outside of a transaction may write. In a session where it may, the rest is sent once the transaction has begun.
    fn transact(
        &mut self,
        kind: TransactionKind,
        begin: &str,
        statements: &[SqlStatement<'_>],
        commit: &str,
    ) -> Result<Vec<Vec<Row>>, QueryError> {
        self.revive()?;
        let statements = combined::combine(statements);
        let prepared: Vec<Statement> = statements
            .iter()
            .map(|statement| self.prepared(statement))
            .collect::<Result<_, _>>()?;
        self.transaction = Some(kind);
        let answers = {
            let client = &self.client;
            let batch = |sql| {
                let done = client.batch_execute(sql);
                done.map(|done| done.map(|()| Vec::new())).boxed_local()
            };
            let (first, begin) = if self.own_thread.is_some() {
                (self.batch(begin), None)
            } else {
                (Ok(()), Some(begin))
            };
            let executed = statements.iter().zip(&prepared);
            let executed = executed.map(|(statement, prepared)| {
                let params = statement.params();
                async move {
                    let params: Vec<&(dyn ToSql + Sync)> =
                        params.iter().map(|param| &**param as _).collect();
                    client.query(prepared, &params).await
                }
                .boxed_local()
            });
            let messages = begin.map(batch).into_iter().chain(executed);
            first.and_then(|()| self.wait(in_order(messages.chain([batch(commit)]).collect())))
        };
        match answers {
            Ok(mut answers) => {
                self.transaction = None;
                // Those of the begin and the commit.
                answers.pop();
                Ok(answers.split_off(answers.len() - statements.len()))
            }
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }

    /// Executes additions as one call of a function, which is a transaction of its own. Returns false, without a change, if they are not a function.
    fn call(&mut self, statements: &[SqlStatement<'_>]) -> Result<bool, QueryError> {
        if self.own_thread.is_none() || !self.is_synced {
            return Ok(false);
        }
        self.revive()?;
        let statements = combined::combine(statements);
        if !self.functions.allows(statements.len()) {
            return Ok(false);
        }
        let key: String = statements
            .iter()
            .flat_map(|one| [one.sql, if one.has_several_rows() { ";*" } else { ";" }])
            .collect();
        let call = match self.functions.call(&key) {
            Some(call) => Some(call),
            None => self.create_function(key, &statements)?,
        };
        let Some(call) = call else {
            return Ok(false);
        };
        let params: Vec<Box<dyn ToSql + Sync>> = statements
            .iter()
            .flat_map(CombinedStatement::params)
            .collect();
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|param| &**param as _).collect();
        self.wait(self.client.query(&call, &params))?;
        Ok(true)
    }

    /// Creates the function of a transaction that appends, and returns its prepared call; `None` if the server refuses it.
    fn create_function(
        &self,
        key: String,
        statements: &[CombinedStatement<'_>],
    ) -> Result<Option<Statement>, QueryError> {
        let parts = statements.iter().map(|statement| {
            Ok(FunctionStatement {
                sql: with_dollars(&self.text(statement)?),
                is_required: statement.is_required,
                types: self.prepared(statement)?.params().to_vec(),
            })
        });
        let parts: Vec<FunctionStatement> = parts.collect::<Result<_, QueryError>>()?;
        self.functions.create(
            key,
            &shared_lock(),
            &parts,
            |sql| self.batch(sql),
            |sql| self.wait(self.client.prepare(sql)),
        )
    }

    fn begin_text(&self, kind: TransactionKind) -> String {
        let lock = match kind {
            TransactionKind::Read => {
                return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned();
            }
            TransactionKind::Write => format!("pg_advisory_xact_lock({WRITE_LOCK})"),
            TransactionKind::Append => shared_lock(),
        };
        let begin = format!("{BEGIN_WRITING}; SELECT {lock}");
        if self.is_synced {
            begin
        } else {
            format!("{begin}; {UNSYNCED}")
        }
    }

    /// Opens another connection if this one is lost.
    fn revive(&mut self) -> Result<(), QueryError> {
        if let Some(own_thread) = &self.own_thread {
            own_thread.read();
        }
        if self.client.is_closed() || self.is_broken.get() {
            // Complete before it is used: a connection without its settings would find no tables.
            let on_own_thread = self.own_thread.is_some();
            (self.client, self.own_thread) = open_session(&self.server, self.limit, on_own_thread)?;
            self.statements.get_mut().clear();
            self.functions.clear();
            self.is_broken.set(false);
            // The server may have been restored from a backup of another version.
            let verified = tables::verify(self);
            if verified.is_err() {
                self.is_broken.set(true);
            }
            return verified;
        }
        Ok(())
    }

    /// Waits for the answer of the server.
    fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, QueryError> {
        // Until there is an answer, the session is in the middle of a statement.
        self.is_broken.set(true);
        let answer = async {
            let mut answer = pin!(answer);
            let answer = match timeout(SILENT_WAIT, answer.as_mut()).await {
                Ok(answer) => answer,
                Err(_) => {
                    let location = self.server.location().display();
                    // The target is the one whose warnings each command shows.
                    tracing::warn!(
                        target: "planwright_store",
                        "the store `{location}` has not answered for {} seconds; waiting for the store",
                        SILENT_WAIT.as_secs()
                    );
                    answer.await
                }
            };
            self.is_broken.set(false);
            answer
        };
        // The server ends a statement that takes too long. If it does not, it has stopped.
        let limit = self.limit + self.server.silence();
        match &self.own_thread {
            Some(own_thread) => own_thread.wait_within(limit, answer),
            None => self.server.wait_within(limit, answer),
        }
    }

    /// Prepares a statement of a transaction that is sent at once.
    fn prepared(&self, statement: &CombinedStatement<'_>) -> Result<Statement, QueryError> {
        self.statement(&self.text(statement)?)
    }

    /// Returns the text of a statement that is executed without a wait for its result.
    fn text<'a>(&self, statement: &CombinedStatement<'a>) -> Result<Cow<'a, str>, QueryError> {
        let (sql, is_required) = (statement.sql, statement.is_required);
        if statement.has_several_rows() {
            let one = self.statement(sql)?;
            return Ok(combined::for_rows(sql, is_required, one.params()).into());
        }
        if is_required {
            // The server has to fail by itself, before the commit.
            return Ok(combined::required(sql).into());
        }
        Ok(sql.into())
    }

    fn statement(&self, sql: &str) -> Result<Statement, QueryError> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.wait(self.client.prepare(&with_dollars(sql)))?;
        let mut statements = self.statements.borrow_mut();
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl SqlSession for PostgresConnection {
    fn execute(&self, sql: &str, params: &[SqlValue<'_>]) -> Result<usize, QueryError> {
        let statement = self.statement(sql)?;
        let params: Vec<Param<'_>> = params.iter().map(Param).collect();
        let changed = self.wait(self.client.execute(&statement, &references(&params)))?;
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
            // All are sent before the first result arrives, so they share one round trip.
            let results = try_join_all(rows.iter().map(|row| async {
                let params: Vec<Param<'_>> = row.iter().map(Param).collect();
                self.client.execute(&statement, &references(&params)).await
            }));
            self.wait(results)?;
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
        let rows = self.wait(self.client.query(&statement, &references(&params)))?;
        rows.iter().try_for_each(|row| read(&PostgresRow(row)))
    }

    fn ended_step(&self) -> &'static str {
        // The server may evaluate the parts of a condition in any order, but not those of a `CASE`. Its functions for JSON refuse
        // `\u0000`, which is left out, unless its backslash is itself escaped.
        r"CASE WHEN kind = 'settled' THEN (
             SELECT json #>> '{at,0,step}'
             FROM (SELECT regexp_replace(body, '(\\\\)|\\u0000', '\1', 'g')::json AS json) AS settled
             WHERE json_array_length(json -> 'at') = 1
                 AND json #>> '{at,0,item}' IS NULL AND json #>> '{at,0,round}' IS NULL
                 AND (json ->> 'status' IN ('succeeded', 'skipped')
                     OR json ->> 'status' = 'failed' AND (is_latest OR json ->> 'handled' = 'true'))
         ) END"
    }
}

impl StoreConnection for PostgresConnection {
    fn begin(&mut self, kind: TransactionKind) -> Result<(), QueryError> {
        self.revive()?;
        self.transaction = Some(kind);
        let begun = self.batch(&self.begin_text(kind));
        if begun.is_err() {
            // Otherwise the server would refuse all that follows, as a part of the failed transaction.
            self.roll_back();
        }
        begun
    }

    fn try_append(&mut self, statements: &[SqlStatement<'_>]) -> Result<bool, QueryError> {
        let kind = TransactionKind::Append;
        let appended = match self.call(statements) {
            Ok(false) => {
                let begin = self.begin_text(kind);
                self.transact(kind, &begin, statements, "COMMIT").map(drop)
            }
            called => called.map(drop),
        };
        match appended {
            Ok(()) => {
                self.server.announce();
                Ok(true)
            }
            Err(error) if error.is_transient() => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn commit(&mut self) -> Result<(), QueryError> {
        let end = match self.transaction {
            Some(TransactionKind::Write | TransactionKind::Append) => ANNOUNCED_COMMIT,
            Some(TransactionKind::Read) | None => "COMMIT",
        };
        self.batch(end)?;
        self.transaction = None;
        Ok(())
    }

    fn roll_back(&mut self) {
        let is_open = self.transaction.take().is_some() && !self.is_broken.get();
        if is_open && self.batch("ROLLBACK").is_err() {
            // The server rolls back by itself when it notices that the connection is lost.
            self.is_broken.set(true);
        }
    }

    fn set_synced(&mut self, is_synced: bool) -> Result<(), QueryError> {
        self.is_synced = is_synced;
        Ok(())
    }

    fn used_bytes(&self) -> Result<u64, QueryError> {
        let mut used = 0_i64;
        // The sizes of the tables shrink only once the server has cleaned up.
        let sql = "SELECT (SELECT coalesce(sum(octet_length(body)), 0) FROM entries)::bigint
                   + (SELECT coalesce(sum(octet_length(json)), 0) FROM blobs)::bigint
                   + (SELECT coalesce(sum(octet_length(args) + coalesce(octet_length(answer), 0) + coalesce(octet_length(error), 0)), 0)
                      FROM gateway_calls)::bigint";
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

    fn shrink(&mut self) -> Result<bool, QueryError> {
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

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        // The process may end right after its last commit.
        if self.own_thread.is_some() && !self.is_broken.get() && self.server.has_to_announce() {
            // Without a server, there is no one to tell.
            let _ = self.batch("NOTIFY planwright_commits");
        }
    }
}

/// Opens a session with the settings that the store relies on, whatever the defaults of the server and the role are.
fn open_session(
    server: &PostgresServer,
    limit: Duration,
    on_own_thread: bool,
) -> Result<(Client, Option<OwnThread>), QueryError> {
    let (client, own_thread) = if on_own_thread {
        let (client, own_thread) = OwnThread::connect(server)?;
        (client, Some(own_thread))
    } else {
        (server.connect()?, None)
    };
    let (silence, lease_time) = (server.silence(), server.lease_time());
    let millis = |time: Duration| time.as_millis().max(1);
    // The server rounds them down to whole seconds.
    let seconds = silence.as_secs().max(1);
    // A process that is stopped in the middle of a transaction must not stop all others: its locks end with its session. A statement
    // whose transaction has not begun must not write, except for calls that are transactions of their own.
    let outside = if on_own_thread { "off" } else { "on" };
    let settings = format!(
        "SET search_path TO {SCHEMA};
         SET default_transaction_isolation TO 'read committed';
         SET default_transaction_read_only TO {outside};
         SET idle_in_transaction_session_timeout TO {};
         SET lock_timeout TO {};
         SET statement_timeout TO {};
         SET tcp_keepalives_idle TO {seconds};
         SET tcp_keepalives_interval TO {seconds};
         SET tcp_keepalives_count TO 2;
         SET tcp_user_timeout TO {};
         SELECT set_config('synchronous_commit', 'on', false)
             WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')",
        millis(lease_time / 2),
        millis(lease_time.min(limit)),
        millis(limit),
        millis(lease_time),
    );
    let set = client.batch_execute(&settings);
    match &own_thread {
        Some(own_thread) => own_thread.wait_within(server.silence(), set)?,
        None => server.wait_within(server.silence(), set)?,
    }
    Ok((client, own_thread))
}

/// Returns the call that shares the lock of changes.
fn shared_lock() -> String {
    format!("pg_advisory_xact_lock_shared({WRITE_LOCK})")
}

/// Sends all messages in their order, and returns the answers, or the first error.
async fn in_order<T>(
    messages: Vec<LocalBoxFuture<'_, Result<T, tokio_postgres::Error>>>,
) -> Result<Vec<T>, tokio_postgres::Error> {
    let mut messages: Vec<_> = messages.into_iter().map(maybe_done).collect();
    for message in &mut messages {
        // The first poll sends it.
        let _ = futures::poll!(&mut *message);
        // A message that cannot be sent, such as one with an invalid value, is the last one.
        if let MaybeDone::Done(Err(_)) = message {
            break;
        }
    }
    let mut answers = Vec::with_capacity(messages.len());
    for mut message in messages {
        (&mut message).await;
        answers.extend(Pin::new(&mut message).take_output().transpose()?);
    }
    Ok(answers)
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
