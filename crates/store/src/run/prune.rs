//! Pruning: deletion of runs, and of large values that no other run refers to.

use std::time::SystemTime;
use std::{fs, io};

use crate::database::{QueryError, SqlSession, StoreConnection, params};
use crate::error::LeaseHolder;
use crate::error::StoreError;
use crate::store::Store;
use crate::values::{run_id, to_i64, to_nanos};
use planwright_core::Value;
use planwright_engine::RunId;

/// The number of runs that are deleted before the size is measured again.
const RUNS_PER_BATCH: usize = 64;

/// The runs to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prune {
    /// Only runs that were created before this time are deleted.
    pub before: SystemTime,
    /// The number of newest runs that are retained in any case.
    pub newest: usize,
    /// True if runs that wait for a person or were interrupted are deleted as well. A leased run is never deleted.
    pub unfinished: bool,
    /// True to report the runs without deleting them.
    pub dry_run: bool,
}

/// The result of pruning, or of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// The ids of the deleted runs, the newest first.
    pub runs: Vec<RunId>,
    /// The ids of the runs that were skipped because they are leased.
    pub in_use: Vec<RunId>,
    /// The number of deleted large values. A dry run does not count those that several of the runs share.
    pub values: usize,
    /// The number of deleted calls that clients made without a plan.
    pub calls: usize,
    /// The approximate number of freed bytes.
    pub bytes: u64,
}

impl Store {
    /// Deletes runs and their decisions, calls without a plan of the same age, and the recorded answers of tools that no remaining run is old
    /// enough to have called, and returns the space to the disk. The number of newest runs to retain is none of calls. `holder` leases each
    /// run meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`]. Runs that were deleted before the error stay deleted.
    pub fn prune(&self, prune: &Prune, holder: &LeaseHolder) -> Result<PruneReport, StoreError> {
        let ids = self.read(|session| candidates(session, prune))?;
        let mut pruned = self.delete_runs(ids, prune, holder)?;
        pruned.calls = self.prune_calls(prune.before, prune.dry_run)?;
        if !prune.dry_run {
            self.prune_answers(prune.before)?;
        }
        Ok(pruned)
    }

    /// Deletes the oldest calls without a plan that [`Store::prune`] would delete, then the oldest such runs, until the store has at most
    /// `max_bytes` or none is left. A run can be resumed or undone, so it outlives the records of calls.
    ///
    /// # Errors
    ///
    /// Those of [`Store::prune`].
    pub fn prune_to(
        &self,
        max_bytes: u64,
        prune: &Prune,
        holder: &LeaseHolder,
    ) -> Result<PruneReport, StoreError> {
        // Calls that are not written yet take space as well.
        self.wait_for_calls()?;
        let mut all = PruneReport::default();
        if self.used_bytes()? <= max_bytes {
            return Ok(all);
        }
        while max_bytes < self.used_bytes()? {
            let calls = self.prune_oldest_calls(prune.before)?;
            if calls == 0 {
                break;
            }
            all.calls += calls;
            self.free_space()?;
        }
        let mut ids = self.read(|session| candidates(session, prune))?;
        while !ids.is_empty() && max_bytes < self.used_bytes()? {
            // The oldest are at the end.
            let oldest = ids.split_off(ids.len().saturating_sub(RUNS_PER_BATCH));
            let pruned = self.delete_runs(oldest, prune, holder)?;
            all.runs.splice(..0, pruned.runs);
            all.in_use.splice(..0, pruned.in_use);
            all.values += pruned.values;
            all.bytes += pruned.bytes;
        }
        Ok(all)
    }

    fn delete_runs(
        &self,
        ids: Vec<RunId>,
        prune: &Prune,
        holder: &LeaseHolder,
    ) -> Result<PruneReport, StoreError> {
        let mut pruned = PruneReport::default();
        for id in ids {
            // The lease keeps other processes from resuming the run while it is deleted.
            let lease = match self.database().lease(&id, holder) {
                Err(StoreError::Leased { .. }) => {
                    pruned.in_use.push(id);
                    continue;
                }
                taken => taken?,
            };
            if self.reverts_stored_run(&id)? {
                continue;
            }
            let is_dry = prune.dry_run;
            let (unfinished, name) = (prune.unfinished, id.clone());
            // A dry run deletes, too, and rolls back, so that it can count the values and bytes.
            let removed = self.writer().try_change(is_dry, move |connection| {
                remove(connection, &name, unfinished)
            })?;
            if removed.is_some() && !is_dry {
                // The list exists only if the process of the run was killed.
                match fs::remove_file(self.database().processes_path(&id)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(self.io_error(&error));
                    }
                    _ => {}
                }
            }
            drop(lease);
            if let Some((values, bytes)) = removed {
                pruned.runs.push(id);
                pruned.values += values;
                pruned.bytes += bytes;
            }
        }
        if !prune.dry_run && !pruned.runs.is_empty() {
            self.free_space()?;
        }
        Ok(pruned)
    }

    /// Returns true if the run undoes calls of another one that is still stored, which would be undone a second time without it.
    fn reverts_stored_run(&self, id: &RunId) -> Result<bool, StoreError> {
        let header = match self.header(id.as_str()) {
            Err(StoreError::Missing { .. }) => return Ok(false),
            header => header?,
        };
        let of = header
            .get("reverts")
            .and_then(|reverts| reverts.get("run"))
            .and_then(Value::as_text);
        let Some(of) = of else {
            return Ok(false);
        };
        match self.run(of) {
            Ok(info) => Ok(info.id.as_str() == of),
            Err(StoreError::Missing { .. } | StoreError::Ambiguous { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns unused space to the disk, in steps, so that other jobs of the writer run in between.
    fn free_space(&self) -> Result<(), StoreError> {
        while self
            .writer()
            .with_connection(|connection| connection.shrink())?
        {}
        Ok(())
    }
}

/// Returns the ids of the runs that may be deleted, the newest first.
fn candidates(session: &dyn SqlSession, prune: &Prune) -> Result<Vec<RunId>, QueryError> {
    let sql = format!(
        "SELECT id, created_ns < ?1 FROM runs WHERE {IS_PRUNABLE}
         ORDER BY created_ns DESC, key DESC LIMIT ?4 OFFSET ?3"
    );
    let rows: Vec<(RunId, bool)> = session.rows(
        &sql,
        params![
            to_nanos(prune.before),
            prune.unfinished,
            to_i64(prune.newest),
            i64::MAX
        ],
        |row| Ok((run_id(row, 0)?, row.get(1)?)),
    )?;
    Ok(rows
        .into_iter()
        .filter_map(|(id, is_old)| is_old.then_some(id))
        .collect())
}

/// The condition for finished runs, or for all runs if `?2` is 1.
const IS_PRUNABLE: &str = "(?2 = 1 OR status IN ('succeeded', 'failed', 'cancelled'))";

/// Deletes a run, and returns the number of deleted large values and freed bytes; `None` if the run was deleted or resumed in the
/// meantime.
fn remove(
    connection: &dyn StoreConnection,
    id: &RunId,
    unfinished: bool,
) -> Result<Option<(usize, u64)>, QueryError> {
    let session: &dyn SqlSession = connection;
    let sql = format!("SELECT key FROM runs WHERE id = ?1 AND {IS_PRUNABLE}");
    let key: Option<i64> = session.row(&sql, params![id.as_str(), unfinished], |row| row.get(0))?;
    let Some(run) = key else {
        return Ok(None);
    };
    let before = connection.free_bytes()?;
    let delete = |sql: &str| session.execute(sql, params![run]);
    delete("DELETE FROM entries WHERE run = ?1")?;
    // Other runs may refer to the same values.
    let values = delete(
        "DELETE FROM blobs WHERE digest IN (SELECT digest FROM uses WHERE run = ?1)
         AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.digest = blobs.digest AND uses.run <> ?1)",
    )?;
    delete("DELETE FROM uses WHERE run = ?1")?;
    delete("DELETE FROM decisions WHERE run = ?1")?;
    delete("DELETE FROM plan_approvals WHERE run = ?1")?;
    delete("DELETE FROM cancel_requests WHERE run = ?1")?;
    delete("DELETE FROM runs WHERE key = ?1")?;
    let freed = connection.free_bytes()?.saturating_sub(before);
    Ok(Some((values, freed)))
}
