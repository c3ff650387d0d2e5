//! The structure of the answers that tools gave, recorded for tools that declare no output schema.

use std::time::SystemTime;

use planwright_core::{SeenAnswers, ToolName, Value};

use crate::database::{QueryError, SqlSession, params};
use crate::error::StoreError;
use crate::store::Store;
use crate::values::to_nanos;

/// The maximum number of tools whose answers are recorded. Those that were called longest ago are removed first.
const MAX_TOOLS: i64 = 2_000;

/// The maximum size of the record of a tool, in bytes of JSON.
const MAX_BYTES: usize = 64 << 10;

/// The answers of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAnswers {
    /// The digest of the tool's definition. A tool whose definition has changed is another one.
    pub digest: String,
    /// The name of the tool, `server.tool`.
    pub tool: ToolName,
    /// The answers.
    pub answers: SeenAnswers,
}

impl Store {
    /// Returns the answers of the tool with this definition, if any are recorded.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn seen_answers(&self, digest: &str) -> Result<Option<SeenAnswers>, StoreError> {
        self.read(|session| read_answers(session, digest))
    }

    /// Adds answers to those that are recorded already. The write is not synced: a crash of the machine may lose it.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn add_answers(
        &self,
        recorded: Vec<RecordedAnswers>,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        if recorded.is_empty() {
            return Ok(());
        }
        self.writer().change_unsynced(move |session| {
            for record in recorded {
                // Read by the writer thread, so no other run of this process adds answers in between.
                let mut answers = read_answers(session, &record.digest)?.unwrap_or_default();
                answers.merge(&record.answers);
                let json = answers.to_value().to_json();
                if json.len() > MAX_BYTES {
                    continue;
                }
                session.execute(
                    "INSERT INTO seen_answers (digest, tool, json, seen_ns) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (digest) DO UPDATE
                     SET tool = excluded.tool, json = excluded.json, seen_ns = excluded.seen_ns",
                    params![record.digest, record.tool.as_str(), json, to_nanos(now)],
                )?;
            }
            session.execute(
                "DELETE FROM seen_answers WHERE digest IN
                     (SELECT digest FROM seen_answers ORDER BY seen_ns DESC LIMIT ?2 OFFSET ?1)",
                params![MAX_TOOLS, i64::MAX],
            )?;
            Ok(())
        })
    }

    /// Deletes the answers of tools whose last call was before `time` and before the oldest remaining run.
    pub(crate) fn prune_answers(&self, time: SystemTime) -> Result<(), StoreError> {
        self.writer().change(move |session| {
            session.execute(
                "DELETE FROM seen_answers WHERE seen_ns < ?1
                 AND NOT EXISTS (SELECT 1 FROM runs WHERE created_ns <= seen_answers.seen_ns)",
                params![to_nanos(time)],
            )?;
            Ok(())
        })
    }
}

fn read_answers(session: &dyn SqlSession, digest: &str) -> Result<Option<SeenAnswers>, QueryError> {
    let json: Option<String> = session.row(
        "SELECT json FROM seen_answers WHERE digest = ?1",
        params![digest],
        |row| row.get(0),
    )?;
    // A record that cannot be read is replaced.
    Ok(json.and_then(|json| SeenAnswers::from_value(&Value::from_json(&json).ok()?)))
}
