//! Metadata of runs: the table `runs`.

use std::slice;
use std::time::{Duration, SystemTime};

use planwright_core::{PlanDigest, Value};
use planwright_engine::{RunId, RunStatus};

use super::batch::RunState;
use crate::database::{QueryError, SqlRow, SqlSession, params};
use crate::error::LeaseHolder;
use crate::error::StoreError;
use crate::store::Store;
use crate::values;
use crate::values::{from_nanos, run_id, to_i64, to_nanos, to_usize};
use planwright_format::journal::{JOURNAL_FORMAT, parse_value, run_status};

/// The maximum number of ids that an error for an ambiguous selector names.
const MAX_CANDIDATES: i64 = 8;

/// The metadata of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInfo {
    /// The id.
    pub id: RunId,
    /// The name of the plan.
    pub plan: Option<String>,
    /// The digest of the plan that the run began with.
    pub digest: PlanDigest,
    /// The dialect that the plan is written in.
    pub dialect: Option<String>,
    /// The time of creation.
    pub created: SystemTime,
    /// The state of the run.
    pub state: RunState,
    /// The number of steps of the plan.
    pub steps: usize,
    /// The number of steps that succeeded, failed or were skipped. A step that failed before the run was resumed counts once it has ended again.
    pub done: usize,
    /// The number of calls that were sent.
    pub calls: usize,
    /// The duration, without the time between two processes.
    pub duration: Duration,
    /// The process that has leased the run.
    pub holder: Option<LeaseHolder>,
    /// The number of entries that were [imported](Store::import); `None` for a run that began in this store. Consent and tool
    /// sources in imported entries are unverified.
    pub imported: Option<usize>,
}

impl RunInfo {
    /// Returns true if the run can be cancelled: a process drives it, it was interrupted, or it waits for a decision.
    pub fn is_cancellable(&self) -> bool {
        let is_left = matches!(
            self.state,
            RunState::Open | RunState::Ended(RunStatus::Waiting)
        );
        is_left || self.holder.is_some()
    }
}

/// A filter for [`Store::runs`]. The default selects all runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Selects the runs in this state.
    pub state: Option<RunState>,
    /// Selects the runs of plans of this name.
    pub plan: Option<String>,
    /// Selects the runs that were created at this time or later.
    pub since: Option<SystemTime>,
    /// The maximum number of runs. The newest ones are selected.
    pub limit: Option<usize>,
}

impl Store {
    /// Returns the metadata of the run with the id `selector`, or of the only run whose id begins with it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if no run matches, [`StoreError::Ambiguous`] if several do.
    pub fn run(&self, selector: &str) -> Result<RunInfo, StoreError> {
        let mut found = self.read(|session| {
            let (key, _) = find(session, selector)?;
            let row =
                session.single(&format!("{COLUMNS} WHERE key = ?1"), params![key], read_row)?;
            let mut found = row.read(session)?;
            self.add_holders(session, slice::from_mut(&mut found))?;
            Ok(found)
        })?;
        self.read_ended(slice::from_mut(&mut found))?;
        Ok(found)
    }

    /// Returns the header that the run was [created](super::NewRun::header) with.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn header(&self, selector: &str) -> Result<Value, StoreError> {
        self.read(|session| {
            let (key, id) = find(session, selector)?;
            let json: String = session.single(
                "SELECT header FROM runs WHERE key = ?1",
                params![key],
                |row| row.get(0),
            )?;
            Ok(parse_value(&json).map_err(|reason| unreadable(&id, &reason))?)
        })
    }

    /// Returns the runs that `filter` selects, the newest first.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunInfo>, StoreError> {
        let mut runs = self.read(|session| {
            // The casts tell PostgreSQL the types of parameters that are only compared with `NULL`.
            let sql = format!(
                "{COLUMNS}
                 WHERE (?1 = 0 OR status IS NOT DISTINCT FROM CAST(?2 AS TEXT))
                 AND (CAST(?3 AS TEXT) IS NULL OR plan = ?3) AND (CAST(?4 AS BIGINT) IS NULL OR ?4 <= created_ns)
                 ORDER BY created_ns DESC, key DESC LIMIT ?5"
            );
            let found: Vec<RunRow> = session.rows(
                &sql,
                params![
                    filter.state.is_some(),
                    filter.state.and_then(RunState::keyword),
                    filter.plan,
                    filter.since.map(to_nanos),
                    filter.limit.map_or(i64::MAX, to_i64),
                ],
                read_row,
            )?;
            let found = found.into_iter().map(|row| row.read(session));
            let mut found = found.collect::<Result<Vec<_>, QueryError>>()?;
            self.add_holders(session, &mut found)?;
            Ok(found)
        })?;
        self.read_ended(&mut runs)?;
        // A run may have ended since it was selected.
        runs.retain(|info| filter.state.is_none_or(|state| state == info.state));
        Ok(runs)
    }

    fn add_holders(
        &self,
        session: &dyn SqlSession,
        runs: &mut [RunInfo],
    ) -> Result<(), QueryError> {
        let ids: Vec<&RunId> = runs.iter().map(|info| &info.id).collect();
        let holders = self.database().holders(session, &ids)?;
        for (info, holder) in runs.iter_mut().zip(holders) {
            info.holder = holder;
        }
        Ok(())
    }

    /// Reads the open runs without a holder again: they may have ended between the read of the row and that of the holder, and
    /// would look interrupted. A process stores the end before it releases the lease, so a second read of the row finds it.
    fn read_ended(&self, runs: &mut [RunInfo]) -> Result<(), StoreError> {
        let mut left: Vec<&mut RunInfo> = runs
            .iter_mut()
            .filter(|info| info.holder.is_none() && info.state == RunState::Open)
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        // In a new transaction: a snapshot that was taken before would show the same rows again.
        self.read(|session| {
            for info in &mut left {
                let row = session.row(
                    &format!("{COLUMNS} WHERE id = ?1"),
                    params![info.id.as_str()],
                    read_row,
                )?;
                // The run may also have been pruned meanwhile; it stays as it was read.
                if let Some(row) = row {
                    **info = row.read(session)?;
                }
            }
            Ok(())
        })
    }
}

/// Returns the key and id of the run that `selector` names.
pub(crate) fn find(session: &dyn SqlSession, selector: &str) -> Result<(i64, RunId), QueryError> {
    let missing = || StoreError::Missing {
        what: "run",
        selector: selector.to_owned(),
    };
    // Other texts cannot be ids, and might sort after the end of the range below.
    if !values::is_name(selector) {
        return Err(missing().into());
    }
    // An exact id wins, even if other ids begin with it.
    let exact = session.row(
        "SELECT key, id FROM runs WHERE id = ?1",
        params![selector],
        |row| Ok((row.get(0)?, run_id(row, 1)?)),
    )?;
    if let Some(found) = exact {
        return Ok(found);
    }
    // Ids are ASCII, so this character sorts after every character of an id.
    let end = format!("{selector}\u{7f}");
    let found: Vec<(i64, RunId)> = session.rows(
        "SELECT key, id FROM runs WHERE ?1 <= id AND id < ?2 ORDER BY id LIMIT ?3",
        params![selector, end, MAX_CANDIDATES],
        |row| Ok((row.get(0)?, run_id(row, 1)?)),
    )?;
    match <[_; 1]>::try_from(found) {
        Ok([only]) => Ok(only),
        Err(none) if none.is_empty() => Err(missing().into()),
        Err(several) => Err(QueryError::Store(StoreError::Ambiguous {
            what: "run",
            selector: selector.to_owned(),
            candidates: several.into_iter().map(|(_, id)| id.to_string()).collect(),
        })),
    }
}

/// Marks a run as imported with this many entries.
pub(crate) fn mark_imported(
    session: &dyn SqlSession,
    key: i64,
    entries: usize,
) -> Result<(), QueryError> {
    session.execute(
        "UPDATE runs SET imported = ?2 WHERE key = ?1",
        params![key, to_i64(entries)],
    )?;
    Ok(())
}

/// Returns true if the run was imported.
pub(crate) fn is_imported(session: &dyn SqlSession, key: i64) -> Result<bool, QueryError> {
    session.single(
        "SELECT imported IS NOT NULL FROM runs WHERE key = ?1",
        params![key],
        |row| row.get(0),
    )
}

/// Returns true if the run has not ended.
pub(super) fn is_open(session: &dyn SqlSession, key: i64) -> Result<bool, QueryError> {
    session.single(
        "SELECT status IS NULL FROM runs WHERE key = ?1",
        params![key],
        |row| row.get(0),
    )
}

/// Fails if the journal of the run has an unknown format.
pub(crate) fn check_format(
    session: &dyn SqlSession,
    key: i64,
    id: &RunId,
) -> Result<(), QueryError> {
    let format: String = session.single(
        "SELECT format FROM runs WHERE key = ?1",
        params![key],
        |row| row.get(0),
    )?;
    if format != JOURNAL_FORMAT {
        let reason = format!("its journal has the unknown format `{format}`");
        return Err(unreadable(id, &reason).into());
    }
    Ok(())
}

/// Creates the error for a run with invalid data.
pub(crate) fn unreadable(id: &RunId, reason: &str) -> StoreError {
    StoreError::Format(format!("the run `{id}` cannot be read: {reason}"))
}

const COLUMNS: &str = "SELECT key, id, plan, digest, dialect, created_ns, status, steps, done, calls, duration_ns, imported FROM runs";

/// A row of the table, not yet interpreted.
struct RunRow {
    key: i64,
    status: Option<String>,
    info: RunInfo,
}

fn read_row(row: &dyn SqlRow) -> Result<RunRow, QueryError> {
    let count = |index: usize| Ok::<usize, QueryError>(to_usize(row.get(index)?));
    Ok(RunRow {
        key: row.get(0)?,
        status: row.get(6)?,
        info: RunInfo {
            id: run_id(row, 1)?,
            plan: row.get(2)?,
            digest: row.get::<String>(3)?.into(),
            dialect: row.get(4)?,
            created: from_nanos(row.get(5)?),
            state: RunState::Open,
            steps: count(7)?,
            done: count(8)?,
            calls: count(9)?,
            duration: Duration::from_nanos(row.get::<i64>(10)?.unsigned_abs()),
            holder: None,
            imported: row.get::<Option<i64>>(11)?.map(to_usize),
        },
    })
}

impl RunRow {
    fn read(self, session: &dyn SqlSession) -> Result<RunInfo, QueryError> {
        let mut info = self.info;
        match self.status {
            Some(word) => {
                let status = run_status(&word).map_err(|reason| unreadable(&info.id, &reason))?;
                info.state = RunState::Ended(status);
            }
            // The writer updates the row only when the run begins, grows or ends; in between, the entries are counted.
            None => {
                let counts = count_entries(session, self.key)?;
                info.done = counts.done;
                info.calls = counts.calls;
                info.duration = counts.duration;
            }
        }
        Ok(info)
    }
}

/// The totals of a run's entries, computed from the table.
pub(crate) struct JournalCounts {
    pub(crate) entries: i64,
    pub(crate) done: usize,
    pub(crate) calls: usize,
    pub(crate) duration: Duration,
}

/// Computes the totals of a run.
pub(crate) fn count_entries(
    session: &dyn SqlSession,
    key: i64,
) -> Result<JournalCounts, QueryError> {
    // A step of the plan counts, but not the items and rounds of its loop or the steps of an inner plan.
    // Counted by the database: a page that lists runs reads no bodies of entries.
    let sql = format!(
        "SELECT count(*), count(*) FILTER (WHERE kind = 'sent'), count(DISTINCT {}),
             (SELECT at_ns FROM entries WHERE run = ?1 ORDER BY number DESC LIMIT 1)
         FROM (SELECT kind, body,
                 number > (SELECT max(number) FROM entries WHERE run = ?1 AND kind = 'opened') AS is_latest
             FROM entries WHERE run = ?1) AS of_run",
        session.ended_step()
    );
    session.single(&sql, params![key], |row| {
        let last: Option<i64> = row.get(3)?;
        Ok(JournalCounts {
            entries: row.get(0)?,
            calls: to_usize(row.get(1)?),
            done: to_usize(row.get(2)?),
            duration: Duration::from_nanos(last.unwrap_or(0).unsigned_abs()),
        })
    })
}
