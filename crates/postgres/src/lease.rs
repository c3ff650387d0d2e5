//! Leases of runs in a table. A lease expires unless its process renews it; then another process may take it over, with a higher
//! token. The token fences off a process that was silent for too long: each transaction that appends to a journal verifies it, and
//! has the row locked until its commit.
//!
//! All times are those of the server, so the clocks of the machines need not agree.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use planwright_engine::RunId;
use planwright_store::database::{
    QueryError, RunLease, SqlRow, SqlSession, SqlStatement, SqlValue,
};
use planwright_store::{LeaseHolder, StoreError};

use crate::batches::RequestBatches;
use crate::connection::PostgresConnection;
use crate::server::PostgresServer;
use crate::values::{PostgresRow, first, integer, micros, string, text};

/// The pause after a renewal that failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Locks an expired lease. A journal that is being appended to has the row locked until its commit; a lease that is alive is not locked.
const LOCK_EXPIRED: &str =
    "SELECT token FROM leases WHERE run = ?1 AND expires <= now() FOR UPDATE";

/// Locks the limit of a client: its leases begin one after the other, so that two processes cannot both take the last one.
const LOCK_CLIENT: &str = "SELECT pg_advisory_xact_lock(hashtextextended(?1, 0))";

/// Takes a lease, unless the client has as many others as it may have. As [`LOCK_EXPIRED`], it compares with the begin of the transaction: a
/// lease that expires between them, unlocked, is not taken.
const TAKE: &str = "INSERT INTO leases (run, token, pid, host, since_ns, expires, client)
     SELECT ?1, nextval('lease_tokens'), ?2, ?3, ?4,
         clock_timestamp() + CAST(?5 AS BIGINT)::float8 * interval '1 microsecond', ?6
     WHERE CAST(?6 AS TEXT) IS NULL OR (SELECT count(*) FROM leases
         WHERE client = ?6 AND run <> ?1 AND clock_timestamp() < expires) < ?7
     ON CONFLICT (run) DO UPDATE SET token = excluded.token, pid = excluded.pid,
         host = excluded.host, since_ns = excluded.since_ns, expires = excluded.expires,
         client = excluded.client
     WHERE leases.expires <= now() RETURNING token";

/// Renews leases. A row that another process is taking over is skipped: it must not delay the others.
const RENEW: &str =
    "UPDATE leases SET expires = clock_timestamp() + CAST(?2 AS BIGINT)::float8 * interval '1 microsecond'
     WHERE token IN (
         SELECT token FROM leases
         WHERE token IN (SELECT CAST(json_array_elements_text(CAST(?1 AS TEXT)::json) AS BIGINT))
         FOR NO KEY UPDATE SKIP LOCKED
     ) RETURNING token";

const RENEW_ONE: &str =
    "UPDATE leases SET expires = clock_timestamp() + CAST(?3 AS BIGINT)::float8 * interval '1 microsecond'
     WHERE run = ?1 AND token = ?2 RETURNING token";

/// Ends leases. Their tokens are in a JSON object, by run.
const RELEASE: &str =
    "DELETE FROM leases USING json_each_text(CAST(?1 AS TEXT)::json) AS ended (id, number)
     WHERE run = id AND token = CAST(number AS BIGINT)";

/// Finds a lease. The lock of the row makes a process that takes the lease over wait for this transaction, but no renewal.
const VERIFY: &str = "SELECT token FROM leases WHERE run = ?1 AND token = ?2 FOR KEY SHARE";

/// The leases of this process.
pub(crate) struct Leases {
    /// The connection that begins and ends leases. The writer of journals has another one, for which leases must not wait.
    connection: Mutex<PostgresConnection>,
    server: Arc<PostgresServer>,
    /// The connection that creates runs, opened with the first one. It waits for changes of the store, for which leases must not wait.
    creations: Mutex<Option<PostgresConnection>>,
    created: RequestBatches<Creation, Created>,
    /// The tokens of leases that end.
    released: RequestBatches<(RunId, i64), ()>,
    /// The leases that are renewed, by the ids of their runs.
    own: Mutex<HashMap<RunId, OwnLease>>,
    lease_time: Duration,
    /// True from a failure until the server answers again. Leases that end meanwhile are left to expire: their owners must not
    /// wait, one after the other, for an unreachable server.
    is_away: AtomicBool,
    /// Ends the thread that renews, once it is dropped.
    _renewals: Sender<()>,
}

/// A lease of this process.
struct OwnLease {
    token: i64,
    holder: LeaseHolder,
    certain_until: Arc<CertainTime>,
}

/// The time until which a lease cannot expire, in milliseconds of [`boot_time`].
#[derive(Debug, Default)]
struct CertainTime(AtomicU64);

impl CertainTime {
    /// Sets it after a renewal that was sent at `sent`.
    fn set(&self, sent: Duration, lease_time: Duration) {
        self.0
            .store(millis(sent.saturating_add(lease_time)), Ordering::Release);
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Acquire) <= millis(boot_time())
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Leases {
    /// Creates the leases, and starts the thread that renews them, over a separate connection: a lease that waits to be taken
    /// over from another process must not delay the renewals.
    pub(crate) fn new(server: &Arc<PostgresServer>) -> Result<Arc<Self>, QueryError> {
        let (sender, ended) = mpsc::channel();
        let leases = Arc::new(Self {
            connection: Mutex::new(PostgresConnection::for_leases(server)?),
            server: Arc::clone(server),
            creations: Mutex::default(),
            created: RequestBatches::new(),
            released: RequestBatches::new(),
            own: Mutex::default(),
            lease_time: server.lease_time(),
            is_away: AtomicBool::new(false),
            _renewals: sender,
        });
        let renewed = Arc::downgrade(&leases);
        let mut connection = PostgresConnection::for_leases(server)?;
        // The maximum duration of a renewal, so that after a failed one there is time for another.
        let pause = server.silence();
        thread::Builder::new()
            .name("planwright-leases".to_owned())
            .spawn(move || {
                let mut next = pause;
                while ended.recv_timeout(next) == Err(RecvTimeoutError::Timeout)
                    && let Some(leases) = renewed.upgrade()
                {
                    next = match leases.renew(&mut connection) {
                        Ok(()) => pause,
                        Err(error) => {
                            // One warning for each outage.
                            if leases.is_away.swap(true, Ordering::AcqRel) {
                                tracing::debug!(%error, "leases of runs were not renewed; trying again");
                            } else {
                                tracing::warn!(%error, "leases of runs were not renewed; trying again");
                            }
                            RETRY_PAUSE
                        }
                    };
                }
            })
            .map_err(|error| QueryError::failed(error.to_string()))?;
        Ok(leases)
    }

    /// Leases the run `id`, unless a process has a lease that has not expired, or this one has a lease that has not ended.
    pub(crate) fn take(
        self: &Arc<Self>,
        id: &RunId,
        holder: &LeaseHolder,
    ) -> Result<PostgresLease, QueryError> {
        // Locked until the token is known, so that two parts of this process cannot take the same run.
        let mut connection = locked(&self.connection);
        self.check_free(id)?;
        let sent = boot_time();
        // All in one message. Each statement sees what other processes have committed before it.
        let mut statements = vec![SqlStatement::new(LOCK_EXPIRED, vec![text(id.as_str())])];
        if let Some(limit) = &holder.client {
            statements.push(lock_client(&limit.client));
        }
        let mut params = vec![text(id.as_str())];
        params.extend(self.take_params(holder));
        statements.push(SqlStatement::new(TAKE, params));
        let answers = connection.transact_on_leases(true, &statements)?;
        let Some(row) = answers.last().and_then(|rows| rows.first()) else {
            return Err(refusal(&*connection, id, holder));
        };
        let token = integer(&PostgresRow(row), 0)?;
        Ok(self.begin(id, holder, token, sent))
    }

    /// Leases the run `id` and inserts its row. Runs that are created at the same time share a transaction, which is on the disk of
    /// the server then.
    pub(crate) fn create(
        self: &Arc<Self>,
        id: &RunId,
        holder: &LeaseHolder,
        insert: &SqlStatement<'static>,
    ) -> Result<(i64, PostgresLease), QueryError> {
        self.check_free(id)?;
        let creation = Creation {
            id: id.clone(),
            holder: holder.clone(),
            insert: insert.clone(),
        };
        let created = self.created.submit(id, creation, |creations| {
            let mut connection = self
                .creations
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let opened = match connection.take() {
                Some(open) => Ok(open),
                None => PostgresConnection::open(&self.server),
            };
            match opened {
                Ok(open) => self.create_all(connection.insert(open), &creations),
                Err(error) => creations.iter().map(|_| Err(error.clone())).collect(),
            }
        })?;
        let lease = self.begin(id, holder, created.token, created.sent);
        // Otherwise the lease ends here.
        let run = created.run.ok_or_else(|| {
            QueryError::Store(StoreError::Exists {
                what: "run",
                id: id.to_string(),
            })
        })?;
        Ok((run, lease))
    }

    /// Creates runs in one transaction, or each in its own if one of them may be the reason of a failure.
    fn create_all(
        &self,
        connection: &mut PostgresConnection,
        creations: &[Creation],
    ) -> Vec<Result<Created, QueryError>> {
        match self.try_create(connection, creations) {
            Ok(created) => created,
            Err(error) if error.is_transient() || creations.len() <= 1 => {
                creations.iter().map(|_| Err(error.clone())).collect()
            }
            Err(_) => creations
                .chunks(1)
                .flat_map(|creation| self.create_all(connection, creation))
                .collect(),
        }
    }

    fn try_create(
        &self,
        connection: &mut PostgresConnection,
        creations: &[Creation],
    ) -> Result<Vec<Result<Created, QueryError>>, QueryError> {
        let texts: Vec<String> = creations
            .iter()
            .map(|new| create_text(&new.insert))
            .collect();
        let limits = creations
            .iter()
            .filter_map(|new| new.holder.client.as_ref());
        // Locked in the same order by all processes.
        let clients: BTreeSet<&str> = limits.map(|limit| limit.client.as_str()).collect();
        let mut statements = Vec::with_capacity(clients.len() + creations.len());
        statements.extend(clients.into_iter().map(lock_client));
        for (new, sql) in creations.iter().zip(&texts) {
            let mut params = new.insert.params.clone();
            params.extend(self.take_params(&new.holder));
            statements.push(SqlStatement::new(sql, params));
        }
        let sent = boot_time();
        // Synced: a client gets the id of the run before the first entries are stored, and the server may crash in between. The locks of clients
        // are released before, since all processes create the runs of a client one after the other.
        let answers = connection.add_then_sync(&statements)?;
        let answers = answers.iter().skip(statements.len() - creations.len());
        let created = creations.iter().zip(answers).map(|(new, rows)| {
            let row = PostgresRow(
                rows.first()
                    .ok_or_else(|| refusal(connection, &new.id, &new.holder))?,
            );
            let run = match row.value(1)? {
                SqlValue::Integer(run) => Some(run),
                _ => None,
            };
            let token = integer(&row, 0)?;
            Ok(Created { run, token, sent })
        });
        Ok(created.collect())
    }

    /// Returns the parameters of [`TAKE`] from the second one.
    fn take_params(&self, holder: &LeaseHolder) -> [SqlValue<'static>; 6] {
        let owned = |value: &str| SqlValue::Text(value.to_owned().into());
        let (client, max) = match &holder.client {
            None => (SqlValue::Null, i64::MAX),
            Some(limit) => (
                owned(&limit.client),
                i64::try_from(limit.max).unwrap_or(i64::MAX),
            ),
        };
        [
            SqlValue::Integer(holder.pid.into()),
            owned(&holder.host),
            SqlValue::Integer(nanos(holder.since)),
            SqlValue::Integer(micros(self.lease_time)),
            client,
            SqlValue::Integer(max),
        ]
    }

    /// Fails if this process has a lease of the run that has not ended.
    fn check_free(&self, id: &RunId) -> Result<(), QueryError> {
        match self.own().get(id) {
            Some(own) => Err(leased_error(id, own.holder.clone())),
            None => Ok(()),
        }
    }

    /// Begins to renew a lease that was taken by a message that was sent at `sent`.
    fn begin(
        self: &Arc<Self>,
        id: &RunId,
        holder: &LeaseHolder,
        token: i64,
        sent: Duration,
    ) -> PostgresLease {
        self.is_away.store(false, Ordering::Release);
        let certain_until = Arc::<CertainTime>::default();
        certain_until.set(sent, self.lease_time);
        let own = OwnLease {
            token,
            holder: holder.clone(),
            certain_until: Arc::clone(&certain_until),
        };
        self.own().insert(id.clone(), own);
        PostgresLease {
            leases: Arc::clone(self),
            run: id.clone(),
            token,
            certain_until,
        }
    }

    /// Renews the leases of this process. A lease that has expired meanwhile, because the server was lost, and that no process took
    /// over, is renewed, too. One that was released meanwhile is not.
    fn renew(&self, connection: &mut PostgresConnection) -> Result<(), QueryError> {
        let leases: HashMap<i64, Arc<CertainTime>> = self
            .own()
            .values()
            .map(|own| (own.token, Arc::clone(&own.certain_until)))
            .collect();
        if leases.is_empty() {
            return Ok(());
        }
        let tokens: Vec<String> = leases.keys().map(i64::to_string).collect();
        let sent = boot_time();
        let renew = SqlStatement::new(
            RENEW,
            vec![
                SqlValue::Text(format!("[{}]", tokens.join(",")).into()),
                SqlValue::Integer(micros(self.lease_time)),
            ],
        );
        let answers = connection.transact_on_leases(true, &[renew])?;
        let renewed: Vec<i64> = answers
            .iter()
            .flatten()
            .map(|row| integer(&PostgresRow(row), 0))
            .collect::<Result<_, _>>()?;
        self.is_away.store(false, Ordering::Release);
        for time in renewed.iter().filter_map(|token| leases.get(token)) {
            time.set(sent, self.lease_time);
        }
        Ok(())
    }

    /// Renews one lease. Fails if another process has taken it over.
    fn renew_one(&self, lease: &PostgresLease) -> Result<(), QueryError> {
        let mut connection = locked(&self.connection);
        let sent = boot_time();
        let renew = SqlStatement::new(
            RENEW_ONE,
            vec![
                text(lease.run.as_str()),
                SqlValue::Integer(lease.token),
                SqlValue::Integer(micros(self.lease_time)),
            ],
        );
        let renewed = connection.transact_on_leases(true, &[renew])?;
        if renewed.iter().all(Vec::is_empty) {
            return Err(superseded_error(&lease.run));
        }
        lease.certain_until.set(sent, self.lease_time);
        Ok(())
    }

    /// Ends a lease, if it is still the one with this token. While the server is away, it is left to expire. Leases that end at the same time
    /// share a transaction.
    fn release(&self, run: &RunId, token: i64) -> Result<(), QueryError> {
        self.own().remove(run);
        let ended = (run.clone(), token);
        self.released.submit(run, ended, |ended| {
            let released = self.release_all(&ended);
            ended.iter().map(|_| released.clone()).collect()
        })
    }

    fn release_all(&self, ended: &[(RunId, i64)]) -> Result<(), QueryError> {
        let mut connection = locked(&self.connection);
        // Read while the connection is locked, since the release of other leases may just have set it.
        if self.is_away.load(Ordering::Acquire) {
            return Ok(());
        }
        // Ids have no characters that JSON escapes.
        let tokens: Vec<String> = ended
            .iter()
            .map(|(run, token)| format!("\"{run}\":{token}"))
            .collect();
        let params = vec![SqlValue::Text(format!("{{{}}}", tokens.join(",")).into())];
        // A row that is there again after a crash of the server expires.
        let released = connection.transact_on_leases(false, &[SqlStatement::new(RELEASE, params)]);
        self.is_away.store(released.is_err(), Ordering::Release);
        released.map(drop)
    }

    fn own(&self) -> MutexGuard<'_, HashMap<RunId, OwnLease>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run to create.
struct Creation {
    id: RunId,
    holder: LeaseHolder,
    insert: SqlStatement<'static>,
}

/// A lease of a run to create.
struct Created {
    /// The key of its row; `None` if a run with its id exists.
    run: Option<i64>,
    token: i64,
    sent: Duration,
}

/// Returns the text of a statement that takes a lease and inserts a run with it. The parameters of `insert` come first.
fn create_text(insert: &SqlStatement<'_>) -> String {
    let before = insert.params.len() - 1;
    // Its first parameter is the id of the run, as that of the other.
    let take = (2..=7).rev().fold(TAKE.to_owned(), |sql, number| {
        sql.replace(&format!("?{number}"), &format!("?{}", before + number))
    });
    format!(
        "WITH lease AS ({take}), created AS ({} FROM lease ON CONFLICT DO NOTHING RETURNING key)
         SELECT token, (SELECT key FROM created) FROM lease",
        insert.sql
    )
}

/// Returns the statement that locks the limit of a client.
fn lock_client<'a>(client: &str) -> SqlStatement<'a> {
    let name = format!("planwright client {client}");
    SqlStatement::new(LOCK_CLIENT, vec![SqlValue::Text(name.into())])
}

fn locked(connection: &Mutex<PostgresConnection>) -> MutexGuard<'_, PostgresConnection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the reason why a run was not leased.
fn refusal(session: &dyn SqlSession, id: &RunId, holder: &LeaseHolder) -> QueryError {
    let other = match holders(session, &[id]) {
        Ok(mut holders) => holders.pop().flatten(),
        Err(error) => return error,
    };
    if let (Some(limit), None) = (&holder.client, &other) {
        return QueryError::Store(StoreError::ClientBusy { max: limit.max });
    }
    let unknown = || LeaseHolder {
        pid: 0,
        host: String::new(),
        client: None,
        since: UNIX_EPOCH,
    };
    leased_error(id, other.unwrap_or_else(unknown))
}

/// Returns the processes that have leased the runs.
pub(crate) fn holders(
    session: &dyn SqlSession,
    ids: &[&RunId],
) -> Result<Vec<Option<LeaseHolder>>, QueryError> {
    // Ids have no characters that JSON escapes.
    let list: Vec<String> = ids.iter().map(|id| format!("\"{id}\"")).collect();
    let mut found = HashMap::new();
    session.query(
        "SELECT run, pid, host, since_ns FROM leases
         WHERE run IN (SELECT json_array_elements_text(CAST(?1 AS TEXT)::json)) AND clock_timestamp() < expires",
        &[SqlValue::Text(format!("[{}]", list.join(",")).into())],
        &mut |row| {
            let holder = LeaseHolder {
                pid: u32::try_from(integer(row, 1)?).unwrap_or(0),
                host: string(row, 2)?,
                client: None,
                since: UNIX_EPOCH + Duration::from_nanos(integer(row, 3)?.unsigned_abs()),
            };
            found.insert(string(row, 0)?, holder);
            Ok(())
        },
    )?;
    Ok(ids.iter().map(|id| found.remove(id.as_str())).collect())
}

fn leased_error(run: &RunId, holder: LeaseHolder) -> QueryError {
    QueryError::Store(StoreError::Leased {
        run: run.clone(),
        holder,
    })
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
    certain_until: Arc<CertainTime>,
}

impl RunLease for PostgresLease {
    fn verify(&self, session: &dyn SqlSession) -> Result<(), QueryError> {
        let params = [text(self.run.as_str()), SqlValue::Integer(self.token)];
        let found = first(session, VERIFY, &params, |row| integer(row, 0))?;
        found.map(drop).ok_or_else(|| superseded_error(&self.run))
    }

    fn query(&self) -> Option<SqlStatement<'_>> {
        let params = vec![text(self.run.as_str()), SqlValue::Integer(self.token)];
        Some(SqlStatement::required(VERIFY, params))
    }

    fn is_certain(&self) -> bool {
        !self.certain_until.is_over()
    }

    fn renew(&self) -> Result<(), QueryError> {
        self.leases.renew_one(self)
    }
}

fn superseded_error(run: &RunId) -> QueryError {
    QueryError::Store(StoreError::Superseded { run: run.clone() })
}

impl Drop for PostgresLease {
    fn drop(&mut self) {
        if let Err(error) = self.leases.release(&self.run, self.token) {
            // It expires by itself.
            tracing::debug!(run = %self.run, %error, "a lease was not released");
        }
    }
}

fn nanos(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

// Leases expire while the machine sleeps.
/// Returns the time since some point in the past. It includes the time in which this process is stopped or the machine sleeps.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn boot_time() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    // The clock exists on each such system, so the fallback has no effect.
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::MAX, Duration::from)
}

/// Returns the time since some point in the past. It includes the time in which this process is stopped.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(
    clippy::disallowed_methods,
    reason = "the age of a lease is real time, whatever a test does with its clock"
)]
fn boot_time() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
