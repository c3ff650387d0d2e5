//! How long calls take, learned by many runs in many processes.

use std::sync::Arc;
use std::time::Duration;

use planwright_engine::Durations;
use planwright_engine::durations::{HALF_LIFE, Learned};
use rusqlite::{Connection, params};

use crate::error::{Fault, StoreError};
use crate::store::Store;

impl Store {
    /// What is known about how long calls take.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn durations(&self) -> Result<Durations, StoreError> {
        self.read(durations)
    }

    /// Adds what a run has learned: `before` is what it was given, `after` what it came to. What other runs have
    /// learned in the meantime is not lost: each side counts as many calls as it saw, up to those that still matter.
    /// Nothing waits for the disk here: a machine that crashes may have learned a little less.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn save_durations(&self, before: &Durations, after: &Durations) -> Result<(), StoreError> {
        let learned: Vec<_> = after
            .tools()
            .into_iter()
            .filter_map(|(server, tool, learned)| {
                let given = before.of(server, tool).unwrap_or_default();
                let is_new = given != learned && 0 < learned.calls;
                is_new.then(|| (Arc::clone(server), Arc::clone(tool), given, learned))
            })
            .collect();
        if learned.is_empty() {
            return Ok(());
        }
        self.writer().change_soon(move |connection| {
            let known = durations(connection)?;
            for (server, tool, given, learned) in learned {
                let known = known.of(&server, &tool).unwrap_or_default();
                insert(connection, &server, &tool, merge(known, given, learned))?;
            }
            Ok(())
        })
    }
}

/// What is known after a run that began with `given` came to `learned`, while others came to `known`.
fn merge(known: Learned, given: Learned, learned: Learned) -> Learned {
    if known == given || known.calls == 0 {
        return learned;
    }
    let seen = learned.calls.saturating_sub(given.calls).max(1);
    let most = u64::from(HALF_LIFE) * 2;
    let (ours, theirs) = (
        u128::from(seen.min(most)),
        u128::from(known.calls.min(most)),
    );
    let mean = |learned: Duration, known: Duration| {
        let sum = learned.as_nanos() * ours + known.as_nanos() * theirs;
        Duration::from_nanos(u64::try_from(sum / (ours + theirs)).unwrap_or(u64::MAX))
    };
    Learned {
        mean: mean(learned.mean, known.mean),
        spread: mean(learned.spread, known.spread),
        calls: known.calls.saturating_add(seen),
    }
}

fn durations(connection: &Connection) -> Result<Durations, Fault> {
    let mut durations = Durations::new();
    let mut statement = connection
        .prepare_cached("SELECT server, tool, mean_ns, spread_ns, calls FROM durations")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (server, tool): (String, String) = (row.get(0)?, row.get(1)?);
        let time = |index| -> rusqlite::Result<Duration> {
            Ok(Duration::from_nanos(
                row.get::<_, i64>(index)?.unsigned_abs(),
            ))
        };
        let learned = Learned {
            mean: time(2)?,
            spread: time(3)?,
            calls: row.get::<_, i64>(4)?.unsigned_abs(),
        };
        durations.insert(&server.into(), &tool.into(), learned);
    }
    Ok(durations)
}

fn insert(
    connection: &Connection,
    server: &str,
    tool: &str,
    learned: Learned,
) -> Result<(), Fault> {
    let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO durations (server, tool, mean_ns, spread_ns, calls) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            server,
            tool,
            nanos(learned.mean),
            nanos(learned.spread),
            i64::try_from(learned.calls).unwrap_or(i64::MAX),
        ])?;
    Ok(())
}
