//! Learned durations of calls, shared by runs of all processes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planwright_core::ServerName;
use planwright_engine::Durations;
use planwright_engine::durations::{HALF_LIFE, LearnedDuration};
use tokio::time::Instant;

use crate::database::{QueryError, SqlSession, SqlStatement, SqlValue};
use crate::error::StoreError;
use crate::store::Store;
use crate::values::to_i64;

impl Store {
    /// Returns the learned durations of calls.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn durations(&self) -> Result<Durations, StoreError> {
        self.read(read_durations)
    }

    /// Returns the learned durations of calls for a new run, as they were at most a tenth of a second ago: they only affect the order of its steps, so
    /// runs that begin together share a read.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn durations_for_run(&self) -> Result<Durations, StoreError> {
        // Locked during the read, so that runs that begin meanwhile wait for its result and need no connection.
        let mut recent = locked(self.recent_durations());
        if let Some((read, durations)) = &*recent
            && read.elapsed() < RECENT
        {
            return Ok(durations.clone());
        }
        let durations = self.durations()?;
        *recent = Some((Instant::now(), durations.clone()));
        Ok(durations)
    }

    /// Merges the durations that a run has learned: `before` is the state that it began with, `after` the one that it ended with.
    /// Updates of other runs in between are preserved: both sides are weighted by their calls, up to those that still matter in a
    /// decaying mean. The write is not synced: a crash of the machine may lose it. Runs that end together share it, and if it fails, one of
    /// them gets the error.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn save_durations(&self, before: &Durations, after: &Durations) -> Result<(), StoreError> {
        let learned: Vec<_> = after
            .tools()
            .into_iter()
            .filter_map(|(server, tool, learned)| {
                let before = before.of(server, tool).unwrap_or_default();
                let is_new = before != learned && 0 < learned.calls;
                is_new.then(|| ToolUpdate {
                    server: server.clone(),
                    tool: Arc::clone(tool),
                    before,
                    learned,
                })
            })
            .collect();
        if learned.is_empty() {
            return Ok(());
        }
        let queue = Arc::clone(self.learned());
        locked(&queue).extend(learned);
        self.writer().add_unsynced(move || {
            let learned = std::mem::take(&mut *locked(&queue));
            // Processes that change the same rows in the same order cannot wait for each other forever.
            let mut tools: BTreeMap<(ServerName, Arc<str>), ToolUpdate> = BTreeMap::new();
            for update in learned {
                match tools.entry((update.server.clone(), Arc::clone(&update.tool))) {
                    Entry::Occupied(mut earlier) => earlier.get_mut().add(&update),
                    Entry::Vacant(tool) => drop(tool.insert(update)),
                }
            }
            tools.values().map(merge).collect()
        })
    }
}

/// The time for which learned durations are not read again for new runs.
const RECENT: Duration = Duration::from_millis(100);

/// The learned durations as they were read last, and when.
pub(crate) type RecentDurations = Mutex<Option<(Instant, Durations)>>;

/// The durations that runs of this process have learned and that are not stored yet: one transaction stores those of all runs.
pub(crate) type LearnedQueue = Mutex<Vec<ToolUpdate>>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The change of a learned duration by a run.
#[derive(Debug)]
pub(crate) struct ToolUpdate {
    server: ServerName,
    tool: Arc<str>,
    before: LearnedDuration,
    learned: LearnedDuration,
}

impl ToolUpdate {
    /// The calls that the runs of this update have made.
    fn new_calls(&self) -> u64 {
        self.learned.calls.saturating_sub(self.before.calls).max(1)
    }

    /// Adds the update of another run, so that one row is written for both. Their means count by their calls, as those of two processes do.
    fn add(&mut self, other: &Self) {
        let weight = |update: &Self| update.new_calls().min(MAX_WEIGHT);
        let (own, others) = (weight(self), weight(other));
        let mean = |own_mean: Duration, other_mean: Duration| {
            let nanos = |mean: Duration| mean.as_nanos().min(u128::from(MAX_NANOS.unsigned_abs()));
            let sum = nanos(own_mean) * u128::from(own) + nanos(other_mean) * u128::from(others);
            // A mean of two durations of at most a century fits.
            Duration::from_nanos(u64::try_from(sum / u128::from(own + others)).unwrap_or(u64::MAX))
        };
        self.learned = LearnedDuration {
            mean: mean(self.learned.mean, other.learned.mean),
            spread: mean(self.learned.spread, other.learned.spread),
            calls: self.learned.calls.saturating_add(other.new_calls()),
        };
    }
}

/// Merges durations into the stored ones. They replace those that have not changed since the run began. Both are counted in one statement, so
/// that no update of another process is lost.
const MERGE: &str =
    "INSERT INTO durations AS stored (server, tool, mean_ns, spread_ns, calls) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT (server, tool) DO UPDATE SET
         mean_ns = CASE WHEN stored.calls = 0 OR (stored.mean_ns = ?6 AND stored.spread_ns = ?7 AND stored.calls = ?8)
             THEN excluded.mean_ns
             ELSE (excluded.mean_ns * ?9 + stored.mean_ns * CASE WHEN stored.calls < ?10 THEN stored.calls ELSE ?10 END)
                 / (?9 + CASE WHEN stored.calls < ?10 THEN stored.calls ELSE ?10 END) END,
         spread_ns = CASE WHEN stored.calls = 0 OR (stored.mean_ns = ?6 AND stored.spread_ns = ?7 AND stored.calls = ?8)
             THEN excluded.spread_ns
             ELSE (excluded.spread_ns * ?9 + stored.spread_ns * CASE WHEN stored.calls < ?10 THEN stored.calls ELSE ?10 END)
                 / (?9 + CASE WHEN stored.calls < ?10 THEN stored.calls ELSE ?10 END) END,
         calls = CASE WHEN stored.calls = 0 OR (stored.mean_ns = ?6 AND stored.spread_ns = ?7 AND stored.calls = ?8)
             THEN excluded.calls ELSE stored.calls + ?11 END";

/// The maximum weight of a mean. Observations further back weigh next to nothing in a decaying mean, so they must not outweigh those of
/// other runs.
const MAX_WEIGHT: u64 = HALF_LIFE as u64 * 2;

/// The longest time that is stored, a century: its product with a weight is an integer of the database.
const MAX_NANOS: i64 = 100 * 366 * 24 * 3600 * 1_000_000_000;

fn merge(update: &ToolUpdate) -> SqlStatement<'static> {
    let ToolUpdate {
        before, learned, ..
    } = update;
    let nanos = |time: Duration| SqlValue::Integer(to_i64(time.as_nanos()).min(MAX_NANOS));
    let number = |number: u64| SqlValue::Integer(to_i64(number));
    let new_calls = update.new_calls();
    SqlStatement::new(
        MERGE,
        vec![
            SqlValue::Text(update.server.to_string().into()),
            SqlValue::Text(update.tool.to_string().into()),
            nanos(learned.mean),
            nanos(learned.spread),
            number(learned.calls),
            nanos(before.mean),
            nanos(before.spread),
            number(before.calls),
            number(new_calls.min(MAX_WEIGHT)),
            number(MAX_WEIGHT),
            number(new_calls),
        ],
    )
}

fn read_durations(session: &dyn SqlSession) -> Result<Durations, QueryError> {
    let mut durations = Durations::new();
    let sql = "SELECT server, tool, mean_ns, spread_ns, calls FROM durations";
    session.query(sql, &[], &mut |row| {
        let (server, tool): (String, String) = (row.get(0)?, row.get(1)?);
        let number = |index| Ok::<u64, QueryError>(row.get::<i64>(index)?.unsigned_abs());
        let learned = LearnedDuration {
            mean: Duration::from_nanos(number(2)?),
            spread: Duration::from_nanos(number(3)?),
            calls: number(4)?,
        };
        durations.insert(&server.into(), &tool.into(), learned);
        Ok(())
    })?;
    Ok(durations)
}
