//! Learned durations of calls, shared by runs of all processes.

use std::sync::Arc;
use std::time::Duration;

use planwright_engine::Durations;
use planwright_engine::durations::{HALF_LIFE, LearnedDuration};

use super::values::to_i64;
use crate::database::{QueryError, SqlSession, params};
use crate::error::StoreError;
use crate::store::Store;

impl Store {
    /// Returns the learned durations of calls.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn durations(&self) -> Result<Durations, StoreError> {
        self.read(read_durations)
    }

    /// Merges the durations that a run has learned: `before` is the state that it began with, `after` the one that it ended with.
    /// Updates of other runs in between are preserved: both sides are weighted by their calls, up to those that still matter in a
    /// decaying mean. The write is not synced: a crash of the machine may lose it.
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
                is_new.then(|| (server.clone(), Arc::clone(tool), before, learned))
            })
            .collect();
        if learned.is_empty() {
            return Ok(());
        }
        self.writer().change_unsynced(move |session| {
            // Read by the writer thread, so no other run of this process stores durations in between.
            let stored = read_durations(session)?;
            for (server, tool, before, learned) in learned {
                let stored = stored.of(&server, &tool).unwrap_or_default();
                insert(session, &server, &tool, merge(stored, before, learned))?;
            }
            Ok(())
        })
    }
}

/// Merges the durations of a run that began with `before` and ended with `learned` into `stored`, which other runs may have changed.
fn merge(
    stored: LearnedDuration,
    before: LearnedDuration,
    learned: LearnedDuration,
) -> LearnedDuration {
    // No other run has changed the durations meanwhile, so the new ones replace them.
    if stored == before || stored.calls == 0 {
        return learned;
    }
    let new_calls = learned.calls.saturating_sub(before.calls).max(1);
    // Observations further back weigh next to nothing in a decaying mean, so they must not outweigh those of other
    // runs.
    let max_weight = u64::from(HALF_LIFE) * 2;
    let (ours, theirs) = (
        u128::from(new_calls.min(max_weight)),
        u128::from(stored.calls.min(max_weight)),
    );
    let mean = |learned: Duration, stored: Duration| {
        let sum = learned.as_nanos() * ours + stored.as_nanos() * theirs;
        Duration::from_nanos(u64::try_from(sum / (ours + theirs)).unwrap_or(u64::MAX))
    };
    LearnedDuration {
        mean: mean(learned.mean, stored.mean),
        spread: mean(learned.spread, stored.spread),
        calls: stored.calls.saturating_add(new_calls),
    }
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

fn insert(
    session: &dyn SqlSession,
    server: &str,
    tool: &str,
    learned: LearnedDuration,
) -> Result<(), QueryError> {
    let nanos = |time: Duration| to_i64(time.as_nanos());
    session
        .execute("INSERT INTO durations (server, tool, mean_ns, spread_ns, calls) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (server, tool) DO UPDATE
         SET mean_ns = excluded.mean_ns, spread_ns = excluded.spread_ns, calls = excluded.calls", params![
            server,
            tool,
            nanos(learned.mean),
            nanos(learned.spread),
            to_i64(learned.calls),
        ])?;
    Ok(())
}
