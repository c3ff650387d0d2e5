//! Calls that clients of a gateway make without a plan, recorded so that recurring work can be found.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use planwright_core::{ToolName, Value};

use crate::database::{QueryError, SqlRow, SqlStatement, SqlValue, params};
use crate::error::{FileProblem, StoreError};
use crate::store::Store;
use crate::values::{from_nanos, to_i64, to_nanos, to_usize};

/// The maximum number of calls that wait for the writer. Further calls are not recorded, so that an unreachable database costs no memory.
const MAX_QUEUED: usize = 4096;

/// The maximum size of the calls that wait for the writer, in bytes of JSON.
const MAX_QUEUED_BYTES: usize = 32 << 20;

/// The number of calls that are deleted before the size is measured again.
const CALLS_PER_BATCH: i64 = 1000;

/// A call that a client of a gateway made without a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayCall {
    /// The id of the session.
    pub session: Arc<str>,
    /// The client.
    pub client: Arc<str>,
    /// The time at which the call was sent.
    pub began: SystemTime,
    /// The time of the answer.
    pub ended: SystemTime,
    /// The tool.
    pub tool: ToolName,
    /// The arguments, without secrets; `null` if they are too large.
    pub args: Value,
    /// The answer, without secrets: the output, or the message of the error; `None` if it is too large, or if the call became a run that
    /// waited for a decision.
    pub answer: Option<Result<Value, String>>,
    /// True if the client had read untrusted data before the call.
    pub is_exposed: bool,
}

/// A session of a client: the calls that it made without a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSession {
    /// The id.
    pub id: String,
    /// The client.
    pub client: String,
    /// The time of the first call.
    pub began: SystemTime,
    /// The time of the last answer.
    pub ended: SystemTime,
    /// The number of calls.
    pub calls: usize,
}

/// The calls of this process that are not stored yet: one transaction stores those of all clients.
pub(crate) type CallQueue = Mutex<QueuedCalls>;

/// Statements that store calls.
#[derive(Debug, Default)]
pub(crate) struct QueuedCalls {
    statements: Vec<SqlStatement<'static>>,
    /// The size of the calls, in bytes of JSON.
    bytes: usize,
}

fn locked(queue: &CallQueue) -> MutexGuard<'_, QueuedCalls> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Records a call, without waiting for the disk. The write is not synced: a crash of the machine may lose the last ones. A failure is
    /// logged. Returns false if too many calls wait for the database, so that this one is not recorded.
    pub fn record_call(&self, call: &GatewayCall) -> bool {
        let queue = Arc::clone(self.calls());
        let (statement, bytes) = insertion(call);
        let is_first = {
            let mut queued = locked(&queue);
            if MAX_QUEUED <= queued.statements.len()
                || MAX_QUEUED_BYTES < queued.bytes.saturating_add(bytes)
            {
                return false;
            }
            queued.statements.push(statement);
            queued.bytes += bytes;
            queued.statements.len() == 1
        };
        // The job of the first one writes those that follow until it runs.
        if is_first {
            self.writer().queue_unsynced("calls of clients", move || {
                std::mem::take(&mut *locked(&queue)).statements
            });
        }
        true
    }

    /// Returns the sessions of `client`, or of all clients, whose last answer was at `since` or later, the newest first, at most `limit`. Calls
    /// that this process has recorded before count.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn call_sessions(
        &self,
        client: Option<&str>,
        since: Option<SystemTime>,
        limit: Option<usize>,
    ) -> Result<Vec<CallSession>, StoreError> {
        self.wait_for_calls()?;
        let of_client = client.map_or("", |_| "WHERE client = ?3");
        let sql = format!(
            "{SESSIONS} {of_client} GROUP BY session, client HAVING ?1 <= max(ended_ns)
             ORDER BY max(ended_ns) DESC, session LIMIT ?2"
        );
        let since = since.map_or(i64::MIN, to_nanos);
        let limit = limit.map_or(i64::MAX, to_i64);
        self.read(|session| match client {
            Some(client) => session.rows(&sql, params![since, limit, client], read_session),
            None => session.rows(&sql, params![since, limit], read_session),
        })
    }

    /// Returns the session with the id `selector`, or the only one whose id begins with it, and its calls in the order of sending.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if there is none, [`StoreError::Ambiguous`] if there are several.
    pub fn calls_of_session(
        &self,
        selector: &str,
    ) -> Result<(CallSession, Vec<GatewayCall>), StoreError> {
        self.wait_for_calls()?;
        let what = "session";
        let missing = || StoreError::Missing {
            what,
            selector: selector.to_owned(),
        };
        if selector.is_empty() || !selector.is_ascii() {
            return Err(missing());
        }
        // Ids are hexadecimal, so this character sorts after every character of an id.
        let end = format!("{selector}\u{7f}");
        let sql = format!(
            "{SESSIONS} WHERE ?1 <= session AND session < ?2 GROUP BY session, client ORDER BY session LIMIT 8"
        );
        self.read(|session| {
            let mut found: Vec<CallSession> =
                session.rows(&sql, params![selector, end], read_session)?;
            if let Some(exact) = found.iter().position(|one| one.id == selector) {
                found = vec![found.swap_remove(exact)];
            }
            let only = match <[_; 1]>::try_from(found) {
                Ok([only]) => only,
                Err(none) if none.is_empty() => return Err(missing().into()),
                Err(several) => {
                    return Err(QueryError::Store(StoreError::Ambiguous {
                        what,
                        selector: selector.to_owned(),
                        candidates: several.into_iter().map(|one| one.id).collect(),
                    }));
                }
            };
            let calls = session.rows(
                "SELECT session, client, began_ns, ended_ns, tool, args, answer, error, is_exposed FROM gateway_calls
                 WHERE session = ?1 ORDER BY began_ns, key",
                params![only.id.as_str()],
                read_call,
            )?;
            Ok((only, calls))
        })
    }

    /// Deletes the calls that were sent before `time`, and returns their number. A dry run only counts them.
    pub(crate) fn prune_calls(&self, time: SystemTime, is_dry: bool) -> Result<usize, StoreError> {
        let before = to_nanos(time);
        if is_dry {
            let count: i64 = self.read(|session| {
                session.single(
                    "SELECT count(*) FROM gateway_calls WHERE began_ns < ?1",
                    params![before],
                    |row| row.get(0),
                )
            })?;
            return Ok(to_usize(count));
        }
        self.writer().change(move |session| {
            session.execute(
                "DELETE FROM gateway_calls WHERE began_ns < ?1",
                params![before],
            )
        })
    }

    /// Deletes some of the oldest calls that were sent before `time`, and returns their number.
    pub(crate) fn prune_oldest_calls(&self, time: SystemTime) -> Result<usize, StoreError> {
        let before = to_nanos(time);
        self.writer().change(move |session| {
            session.execute(
                "DELETE FROM gateway_calls WHERE key IN
                     (SELECT key FROM gateway_calls WHERE began_ns < ?1 ORDER BY began_ns LIMIT ?2)",
                params![before, CALLS_PER_BATCH],
            )
        })
    }

    /// Waits until the calls that were recorded before are written.
    pub(crate) fn wait_for_calls(&self) -> Result<(), StoreError> {
        self.writer().with_connection(|_| Ok(()))
    }
}

const SESSIONS: &str =
    "SELECT session, client, min(began_ns), max(ended_ns), count(*) FROM gateway_calls";

fn read_session(row: &dyn SqlRow) -> Result<CallSession, QueryError> {
    Ok(CallSession {
        id: row.get(0)?,
        client: row.get(1)?,
        began: from_nanos(row.get(2)?),
        ended: from_nanos(row.get(3)?),
        calls: to_usize(row.get(4)?),
    })
}

fn read_call(row: &dyn SqlRow) -> Result<GatewayCall, QueryError> {
    let value = |json: String| {
        Value::from_json(&json)
            .map_err(|error| QueryError::of(FileProblem::Damaged(error.to_string())))
    };
    let text = |index| row.get::<String>(index);
    let (answer, error): (Option<String>, Option<String>) = (row.get(6)?, row.get(7)?);
    Ok(GatewayCall {
        session: text(0)?.into(),
        client: text(1)?.into(),
        began: from_nanos(row.get(2)?),
        ended: from_nanos(row.get(3)?),
        tool: text(4)?.as_str().into(),
        args: value(text(5)?)?,
        answer: match (answer, error) {
            (Some(answer), _) => Some(Ok(value(answer)?)),
            (None, Some(error)) => Some(Err(error)),
            (None, None) => None,
        },
        is_exposed: row.get::<i64>(8)? != 0,
    })
}

/// Returns the statement that stores a call, and the size of its texts in bytes.
fn insertion(call: &GatewayCall) -> (SqlStatement<'static>, usize) {
    let text = |text: String| SqlValue::Text(text.into());
    let (answer, error) = match &call.answer {
        None => (SqlValue::Null, SqlValue::Null),
        Some(Ok(value)) => (text(value.to_json()), SqlValue::Null),
        Some(Err(message)) => (SqlValue::Null, text(message.clone())),
    };
    let args = call.args.to_json();
    let bytes = args.len()
        + match (&answer, &error) {
            (SqlValue::Text(text), _) | (_, SqlValue::Text(text)) => text.len(),
            _ => 0,
        };
    let statement = SqlStatement::new(
        "INSERT INTO gateway_calls (session, client, began_ns, ended_ns, tool, args, answer, error, is_exposed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        vec![
            text(call.session.to_string()),
            text(call.client.to_string()),
            SqlValue::Integer(to_nanos(call.began)),
            SqlValue::Integer(to_nanos(call.ended)),
            text(call.tool.to_string()),
            text(args),
            answer,
            error,
            SqlValue::Integer(i64::from(call.is_exposed)),
        ],
    );
    (statement, bytes)
}
