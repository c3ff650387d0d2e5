//! Forgetting runs, and what nothing speaks of any more.

use std::time::SystemTime;
use std::{fs, io};

use rusqlite::{Connection, params};

use crate::error::{Fault, StoreError};
use crate::lease::Holder;
use crate::store::Store;
use crate::times::to_nanos;

/// How many pages are given back in one go, so that runs under way need not wait for all of them.
const PAGES: i64 = 512;

/// How many runs are forgotten until the size is looked at again.
const AT_A_TIME: usize = 64;

/// Which runs are to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prune {
    /// Those that began before this time.
    pub before: SystemTime,
    /// But for this many, the newest.
    pub keep: usize,
    /// Those, too, that wait for a person or were interrupted. No run that somebody has is ever forgotten.
    pub unfinished: bool,
    /// Nothing is forgotten; it is only said what would be.
    pub dry_run: bool,
}

/// What was forgotten, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The ids of the runs, the newest first.
    pub runs: Vec<String>,
    /// Runs that somebody has.
    pub held: Vec<String>,
    /// How many large values. What several of the runs speak of does not count in a dry run.
    pub values: usize,
    /// How many bytes are given back, roughly.
    pub bytes: u64,
}

impl Store {
    /// Forgets runs, with their decisions, and gives back the room that they had. `holder` has each of them in the
    /// meantime.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`]. What was forgotten before stays forgotten.
    pub fn prune(&self, prune: &Prune, holder: &Holder) -> Result<Pruned, StoreError> {
        let ids = self.read(|connection| candidates(connection, prune))?;
        self.forget(ids, prune, holder)
    }

    /// Forgets the oldest of the runs that [`Store::prune`] would forget, until the store has `most` bytes or none of them is left.
    ///
    /// # Errors
    ///
    /// As those of [`Store::prune`].
    pub fn prune_to(
        &self,
        most: u64,
        prune: &Prune,
        holder: &Holder,
    ) -> Result<Pruned, StoreError> {
        let mut all = Pruned::default();
        if self.read(used_bytes)? <= most {
            return Ok(all);
        }
        let mut ids = self.read(|connection| candidates(connection, prune))?;
        while !ids.is_empty() && most < self.read(used_bytes)? {
            // The oldest stand at the end.
            let some = ids.split_off(ids.len().saturating_sub(AT_A_TIME));
            let pruned = self.forget(some, prune, holder)?;
            all.runs.splice(..0, pruned.runs);
            all.held.splice(..0, pruned.held);
            all.values += pruned.values;
            all.bytes += pruned.bytes;
        }
        Ok(all)
    }

    fn forget(
        &self,
        ids: Vec<String>,
        prune: &Prune,
        holder: &Holder,
    ) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        for id in ids {
            let lease = match self.lease(&id, holder) {
                Err(StoreError::Held { .. }) => {
                    pruned.held.push(id);
                    continue;
                }
                taken => taken?,
            };
            let is_dry = prune.dry_run;
            let (prune, name) = (prune.clone(), id.clone());
            let removed = self.writer().with_connection(move |connection| {
                let transaction = connection
                    .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
                let removed = remove(&transaction, &name, prune.unfinished)?;
                if prune.dry_run {
                    transaction.rollback()?;
                } else {
                    transaction.commit()?;
                }
                Ok(removed)
            })?;
            if removed.is_some() && !is_dry {
                match fs::remove_file(self.processes_path(&id)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(self.io(&error));
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
            self.give_back()?;
        }
        Ok(pruned)
    }

    /// Gives the room that nothing needs back to the disk, bit by bit.
    fn give_back(&self) -> Result<(), StoreError> {
        while 0 < self
            .writer()
            .with_connection(|connection| vacuum(connection))?
        {}
        Ok(())
    }
}

/// The ids of the runs that may be forgotten.
fn candidates(connection: &Connection, prune: &Prune) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare(&format!(
        "SELECT id, created_ns < ?1 FROM runs WHERE {OVER} ORDER BY created_ns DESC, key DESC LIMIT -1 OFFSET ?3"
    ))?;
    let rows = statement.query_map(
        params![
            to_nanos(prune.before),
            prune.unfinished,
            i64::try_from(prune.keep).unwrap_or(i64::MAX)
        ],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let rows = rows.collect::<Result<Vec<(String, bool)>, _>>()?;
    Ok(rows
        .into_iter()
        .filter_map(|(id, is_old)| is_old.then_some(id))
        .collect())
}

/// Runs that nobody will go on with, unless all are meant.
const OVER: &str = "(?2 OR status IN ('succeeded', 'failed', 'cancelled'))";

/// Removes a run, and says how many large values and bytes went with it; nothing where it is gone, or has been gone
/// on with, in the meantime.
fn remove(
    connection: &Connection,
    id: &str,
    unfinished: bool,
) -> Result<Option<(usize, u64)>, Fault> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT key FROM runs WHERE id = ?1 AND {OVER}"))?;
    let keys = statement
        .query_map(params![id, unfinished], |row| row.get(0))?
        .collect::<Result<Vec<i64>, _>>()?;
    let [run] = keys[..] else {
        return Ok(None);
    };
    let before = free_pages(connection)?;
    let delete = |sql: &str| Ok::<_, Fault>(connection.prepare_cached(sql)?.execute([run])?);
    delete("DELETE FROM entries WHERE run = ?1")?;
    let values = delete(
        "DELETE FROM blobs WHERE digest IN (SELECT digest FROM uses WHERE run = ?1)
         AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.digest = blobs.digest AND uses.run <> ?1)",
    )?;
    delete("DELETE FROM uses WHERE run = ?1")?;
    delete("DELETE FROM decisions WHERE run = ?1")?;
    delete("DELETE FROM runs WHERE key = ?1")?;
    let pages = free_pages(connection)?.saturating_sub(before);
    let size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    Ok(Some((values, pages.unsigned_abs() * size.unsigned_abs())))
}

/// Gives back some pages, and says how many are left to be given back.
fn vacuum(connection: &Connection) -> Result<i64, Fault> {
    let before = free_pages(connection)?;
    if 0 < before {
        let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
        let mut rows = statement.query([])?;
        // Each step gives back one page.
        while rows.next()?.is_some() {}
    }
    let left = free_pages(connection)?;
    if 0 < left && left < before {
        return Ok(left);
    }
    // Until then the file is as long as before. Where a reader is in the way, the next commit of somebody does it.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(0)
}

/// The bytes of the store that something needs.
fn used_bytes(connection: &Connection) -> Result<u64, Fault> {
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    let size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let used = pages.saturating_sub(free_pages(connection)?);
    Ok(used.unsigned_abs().saturating_mul(size.unsigned_abs()))
}

fn free_pages(connection: &Connection) -> Result<i64, Fault> {
    Ok(connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?)
}
