//! Leases of runs in a table. A lease expires unless its process renews it; then another process may take it over, with a higher
//! token. The token fences off a process that was silent for too long: each transaction that appends to a journal verifies it, and
//! has the row locked until its commit.
//!
//! All times are those of the server, so the clocks of the machines need not agree.

use std::collections::HashMap;
use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use planwright_engine::RunId;
use planwright_store::database::{Connection, QueryError, RunLease, Session, SqlRow, SqlValue};
use planwright_store::{LeaseHolder, StoreError};

use crate::connection::PostgresConnection;
use crate::server::Server;

/// The number of renewals within the time of a lease.
const RENEWALS: u32 = 3;

/// The leases of this process.
pub(crate) struct Leases {
    /// The connection of all operations on leases: they must not wait for the writer of journals.
    connection: Mutex<PostgresConnection>,
    /// The tokens of the leases that are renewed, by the ids of their runs.
    tokens: Mutex<HashMap<RunId, i64>>,
    lease_time: Duration,
    /// Ends the thread that renews, once it is dropped.
    _renewals: Sender<()>,
}

impl Leases {
    /// Creates the leases, and starts the thread that renews them.
    pub(crate) fn new(server: &Arc<Server>, lease_time: Duration) -> Result<Arc<Self>, QueryError> {
        let (sender, ended) = mpsc::channel();
        let leases = Arc::new(Self {
            connection: Mutex::new(PostgresConnection::open(server)?),
            tokens: Mutex::default(),
            lease_time,
            _renewals: sender,
        });
        let renewed = Arc::downgrade(&leases);
        let pause = lease_time / RENEWALS;
        thread::Builder::new()
            .name("planwright-leases".to_owned())
            .spawn(move || {
                while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout)
                    && let Some(leases) = renewed.upgrade()
                {
                    if let Err(error) = leases.renew() {
                        tracing::warn!(%error, "leases of runs were not renewed");
                    }
                }
            })
            .map_err(|error| QueryError::failed(error.to_string()))?;
        Ok(leases)
    }

    /// Leases the run `id`, unless another process has a lease that has not expired.
    pub(crate) fn take(
        self: &Arc<Self>,
        id: &RunId,
        holder: &LeaseHolder,
    ) -> Result<PostgresLease, QueryError> {
        let taken = self.in_transaction(|session| {
            // A journal that is being appended to has the row locked until its commit.
            session.query(
                "SELECT token FROM leases WHERE run = ?1 FOR UPDATE",
                &[text(id.as_str())],
                &mut |_| Ok(()),
            )?;
            first(
                session,
                "INSERT INTO leases (run, token, pid, host, since_ns, expires)
                 VALUES (?1, 1, ?2, ?3, ?4, clock_timestamp() + CAST(?5 AS BIGINT)::float8 * interval '1 microsecond')
                 ON CONFLICT (run) DO UPDATE SET token = leases.token + 1, pid = excluded.pid,
                     host = excluded.host, since_ns = excluded.since_ns, expires = excluded.expires
                 WHERE leases.expires <= clock_timestamp() RETURNING token",
                &[
                    text(id.as_str()),
                    SqlValue::Integer(holder.pid.into()),
                    text(&holder.host),
                    SqlValue::Integer(nanos(holder.since)),
                    SqlValue::Integer(micros(self.lease_time)),
                ],
                |row| integer(row, 0),
            )
        })?;
        match taken {
            Some(token) => {
                self.tokens().insert(id.clone(), token);
                Ok(PostgresLease {
                    leases: Arc::clone(self),
                    run: id.clone(),
                    token,
                })
            }
            None => Err(QueryError::Store(StoreError::Held {
                run: id.clone(),
                holder: self.holder(id)?.unwrap_or(LeaseHolder {
                    pid: 0,
                    host: String::new(),
                    since: UNIX_EPOCH,
                }),
            })),
        }
    }

    /// Returns the process that has leased the run `id`.
    pub(crate) fn holder(&self, id: &RunId) -> Result<Option<LeaseHolder>, QueryError> {
        self.in_transaction(|session| {
            first(
                session,
                "SELECT pid, host, since_ns FROM leases WHERE run = ?1 AND clock_timestamp() < expires",
                &[text(id.as_str())],
                |row| {
                    let host = match row.value(1)? {
                        SqlValue::Text(host) => host.into_owned(),
                        SqlValue::Null | SqlValue::Integer(_) | SqlValue::Bytes(_) => String::new(),
                    };
                    Ok(LeaseHolder {
                        pid: u32::try_from(integer(row, 0)?).unwrap_or(0),
                        host,
                        since: UNIX_EPOCH + Duration::from_nanos(integer(row, 2)?.unsigned_abs()),
                    })
                },
            )
        })
    }

    /// Renews the leases of this process. A lease that has expired meanwhile, because the server was lost, and that no process took
    /// over, is renewed, too.
    fn renew(&self) -> Result<(), QueryError> {
        let tokens: Vec<(RunId, i64)> = self
            .tokens()
            .iter()
            .map(|(id, token)| (id.clone(), *token))
            .collect();
        if tokens.is_empty() {
            return Ok(());
        }
        let time = micros(self.lease_time);
        self.in_transaction(|session| {
            session.execute_each(
                "UPDATE leases SET expires = clock_timestamp() + CAST(?3 AS BIGINT)::float8 * interval '1 microsecond'
                 WHERE run = ?1 AND token = ?2",
                &mut tokens.iter().map(|(id, token)| {
                    vec![
                        text(id.as_str()),
                        SqlValue::Integer(*token),
                        SqlValue::Integer(time),
                    ]
                }),
            )
        })
    }

    /// Ends a lease, if it is still the one with this token.
    fn release(&self, run: &RunId, token: i64) -> Result<(), QueryError> {
        self.tokens().remove(run);
        self.in_transaction(|session| {
            // The row stays, so that no later lease has the same token.
            session.execute(
                "UPDATE leases SET expires = clock_timestamp() WHERE run = ?1 AND token = ?2",
                &[text(run.as_str()), SqlValue::Integer(token)],
            )
        })
        .map(drop)
    }

    /// Runs `work` in a transaction of its own, which waits for no change and no append.
    fn in_transaction<T>(
        &self,
        work: impl FnOnce(&PostgresConnection) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        connection.begin_plain()?;
        let result = match work(&connection) {
            Ok(result) => connection.commit().map(|()| result),
            Err(error) => Err(error),
        };
        if result.is_err() {
            connection.roll_back();
        }
        result
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<RunId, i64>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Leases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leases").finish_non_exhaustive()
    }
}

/// A lease of a run.
#[derive(Debug)]
pub(crate) struct PostgresLease {
    leases: Arc<Leases>,
    run: RunId,
    token: i64,
}

impl RunLease for PostgresLease {
    fn verify(&self, session: &dyn Session) -> Result<(), QueryError> {
        // The lock of the row makes a process that takes the lease over wait for this transaction, but no renewal.
        let held = first(
            session,
            "SELECT token FROM leases WHERE run = ?1 AND token = ?2 FOR KEY SHARE",
            &[text(self.run.as_str()), SqlValue::Integer(self.token)],
            |row| integer(row, 0),
        )?;
        held.map(drop).ok_or_else(|| {
            QueryError::Store(StoreError::Superseded {
                run: self.run.clone(),
            })
        })
    }
}

impl Drop for PostgresLease {
    fn drop(&mut self) {
        if let Err(error) = self.leases.release(&self.run, self.token) {
            // It expires by itself.
            tracing::debug!(run = %self.run, %error, "a lease was not released");
        }
    }
}

/// Returns the first row of a result.
fn first<T>(
    session: &dyn Session,
    sql: &str,
    params: &[SqlValue<'_>],
    read: impl Fn(&dyn SqlRow) -> Result<T, QueryError>,
) -> Result<Option<T>, QueryError> {
    let mut found = None;
    session.query(sql, params, &mut |row| {
        if found.is_none() {
            found = Some(read(row)?);
        }
        Ok(())
    })?;
    Ok(found)
}

fn integer(row: &dyn SqlRow, index: usize) -> Result<i64, QueryError> {
    match row.value(index)? {
        SqlValue::Integer(number) => Ok(number),
        SqlValue::Null | SqlValue::Text(_) | SqlValue::Bytes(_) => {
            Err(QueryError::failed("a column is not an integer"))
        }
    }
}

fn text(text: &str) -> SqlValue<'_> {
    SqlValue::Text(text.into())
}

fn nanos(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
