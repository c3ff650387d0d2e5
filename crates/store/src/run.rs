//! Runs: what is known of each as a whole.

use std::time::{Duration, SystemTime};

use planwright_core::Value;
use planwright_engine::RunStatus;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::{Fault, StoreError};
use crate::format::{JOURNAL_FORMAT, parse_value, run_status, value_json};
use crate::lease::{Holder, Lease};
use crate::names;
use crate::store::Store;
use crate::times::{from_nanos, to_nanos};

/// How many ids are named where several would do.
const CANDIDATES: i64 = 8;

/// A run that is about to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    /// Its id: letters, digits, `_`, `-` and `.`.
    pub id: String,
    /// The plan's name.
    pub plan: Option<String>,
    /// The plan's digest.
    pub digest: String,
    /// The dialect that the plan is written in.
    pub dialect: Option<String>,
    /// How many steps the plan has.
    pub steps: usize,
    /// When it begins.
    pub created: SystemTime,
    /// What else whoever resumes or shows it needs to know. It is theirs to give it a version.
    pub header: Value,
}

/// What is known of a run as a whole.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunInfo {
    /// Its id.
    pub id: String,
    /// The plan's name.
    pub plan: Option<String>,
    /// The plan's digest, as the run began.
    pub digest: String,
    /// The dialect that the plan is written in.
    pub dialect: Option<String>,
    /// When it began.
    pub created: SystemTime,
    /// How it stands.
    pub standing: Standing,
    /// How many steps the plan has.
    pub steps: usize,
    /// How many of them have succeeded, failed or been skipped. A step that was tried anew after a resumption counts
    /// each time.
    pub done: usize,
    /// How many calls were sent.
    pub calls: usize,
    /// How long it took, without the time between two processes.
    pub duration: Duration,
    /// The process that has it.
    pub holder: Option<Holder>,
    /// How many of its entries came with the file that it was [imported](Store::import) from; `None` for a run that began in
    /// this store. Consent and tool sources in these entries are a stranger's word.
    pub imported: Option<usize>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// No process has brought it to an end. Where none has it, either, it was interrupted.
    Open,
    /// The last process that had it has brought it to this end.
    Ended(RunStatus),
}

impl Standing {
    /// The word in the table.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Self::Open => None,
            Self::Ended(status) => Some(status.as_str()),
        }
    }
}

/// Which runs are of interest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Those that stand like this.
    pub standing: Option<Standing>,
    /// Those of plans of this name.
    pub plan: Option<String>,
    /// Those that began at this time or later.
    pub since: Option<SystemTime>,
    /// No more than this many, the newest.
    pub limit: Option<usize>,
}

impl Store {
    /// What is known of the run whose id is `selector`, or begins with it and is the only one that does.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] and [`StoreError::Ambiguous`] where it is not just one.
    pub fn run(&self, selector: &str) -> Result<RunInfo, StoreError> {
        let found = self.read(|connection| {
            let (key, _) = find(connection, selector)?;
            let row = connection.query_row(&format!("{COLUMNS} WHERE key = ?1"), [key], columns)?;
            row.read(connection)
        })?;
        self.with_holder(found)
    }

    /// What the run was created with for those who resume or show it.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn header(&self, selector: &str) -> Result<Value, StoreError> {
        self.read(|connection| {
            let (key, id) = find(connection, selector)?;
            let json: String =
                connection.query_row("SELECT header FROM runs WHERE key = ?1", [key], |row| {
                    row.get(0)
                })?;
            Ok(parse_value(&json).map_err(|reason| unreadable(&id, &reason))?)
        })
    }

    /// The runs that `filter` lets through, the newest first.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunInfo>, StoreError> {
        let found = self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "{COLUMNS}
                 WHERE (?1 IS NULL OR status IS ?2) AND (?3 IS NULL OR plan = ?3) AND (?4 IS NULL OR ?4 <= created_ns)
                 ORDER BY created_ns DESC, key DESC LIMIT ?5"
            ))?;
            let rows = statement.query_map(
                params![
                    filter.standing.map(|_| true),
                    filter.standing.and_then(Standing::word),
                    filter.plan,
                    filter.since.map(to_nanos),
                    filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1)),
                ],
                columns,
            )?;
            rows.map(|row| row?.read(connection)).collect::<Result<Vec<_>, Fault>>()
        })?;
        found
            .into_iter()
            .map(|info| self.with_holder(info))
            .collect()
    }

    fn with_holder(&self, mut info: RunInfo) -> Result<RunInfo, StoreError> {
        info.holder = Lease::holder(self.file(), &info.id, &self.lease_path(&info.id))
            .map_err(|error| self.io(&error))?;
        Ok(info)
    }
}

/// The run's key and id.
pub(crate) fn find(connection: &Connection, selector: &str) -> Result<(i64, String), Fault> {
    let missing = || StoreError::Missing {
        what: "run",
        selector: selector.to_owned(),
    };
    if !names::is_name(selector) {
        return Err(missing().into());
    }
    let exact = connection
        .prepare_cached("SELECT key, id FROM runs WHERE id = ?1")?
        .query_row([selector], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some(found) = exact {
        return Ok(found);
    }
    // No letter of an id comes after the last one of ASCII.
    let mut statement = connection.prepare_cached(
        "SELECT key, id FROM runs WHERE ?1 <= id AND id < ?1 || char(127) ORDER BY id LIMIT ?2",
    )?;
    let found = statement
        .query_map(params![selector, CANDIDATES], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<Vec<(i64, String)>, _>>()?;
    match <[_; 1]>::try_from(found) {
        Ok([only]) => Ok(only),
        Err(none) if none.is_empty() => Err(missing().into()),
        Err(several) => Err(Fault::Store(StoreError::Ambiguous {
            what: "run",
            selector: selector.to_owned(),
            candidates: several.into_iter().map(|(_, id)| id).collect(),
        })),
    }
}

/// Adds a run, and gives its key.
pub(crate) fn insert(connection: &Connection, new: &NewRun) -> Result<i64, Fault> {
    names::check("id of a run", &new.id)?;
    let header = value_json(&new.header).map_err(|reason| unreadable(&new.id, &reason))?;
    let added = connection
        .prepare_cached(
            "INSERT INTO runs (id, format, plan, digest, dialect, created_ns, steps, header)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            new.id,
            JOURNAL_FORMAT,
            new.plan,
            new.digest,
            new.dialect,
            to_nanos(new.created),
            i64::try_from(new.steps).unwrap_or(i64::MAX),
            header,
        ])?;
    if added == 0 {
        return Err(Fault::Store(StoreError::Exists {
            what: "run",
            id: new.id.clone(),
        }));
    }
    Ok(connection.last_insert_rowid())
}

/// Marks a run as one that came from a file with this many entries.
pub(crate) fn mark_imported(
    connection: &Connection,
    key: i64,
    entries: usize,
) -> Result<(), Fault> {
    connection
        .prepare_cached("UPDATE runs SET imported = ?2 WHERE key = ?1")?
        .execute(params![key, i64::try_from(entries).unwrap_or(i64::MAX)])?;
    Ok(())
}

/// Whether a run came from a file.
pub(crate) fn is_imported(connection: &Connection, key: i64) -> Result<bool, Fault> {
    Ok(connection
        .prepare_cached("SELECT imported IS NOT NULL FROM runs WHERE key = ?1")?
        .query_row([key], |row| row.get(0))?)
}

/// The format of a run, which must be known, or nothing of it can be read.
pub(crate) fn check_format(connection: &Connection, key: i64, id: &str) -> Result<(), Fault> {
    let format: String =
        connection.query_row("SELECT format FROM runs WHERE key = ?1", [key], |row| {
            row.get(0)
        })?;
    if format != JOURNAL_FORMAT {
        let reason = format!("it is kept as `{format}`, which is not known here");
        return Err(unreadable(id, &reason).into());
    }
    Ok(())
}

/// A run of which something cannot be understood.
pub(crate) fn unreadable(id: &str, reason: &str) -> StoreError {
    StoreError::Format(format!("the run `{id}` cannot be read: {reason}"))
}

const COLUMNS: &str = "SELECT key, id, plan, digest, dialect, created_ns, status, steps, done, calls, duration_ns, imported FROM runs";

/// A row as it is.
struct Columns {
    key: i64,
    status: Option<String>,
    info: RunInfo,
}

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    let count = |index: usize| -> rusqlite::Result<usize> {
        Ok(usize::try_from(row.get::<_, i64>(index)?).unwrap_or(0))
    };
    Ok(Columns {
        key: row.get(0)?,
        status: row.get(6)?,
        info: RunInfo {
            id: row.get(1)?,
            plan: row.get(2)?,
            digest: row.get(3)?,
            dialect: row.get(4)?,
            created: from_nanos(row.get(5)?),
            standing: Standing::Open,
            steps: count(7)?,
            done: count(8)?,
            calls: count(9)?,
            duration: Duration::from_nanos(row.get::<_, i64>(10)?.unsigned_abs()),
            holder: None,
            imported: row
                .get::<_, Option<i64>>(11)?
                .map(|entries| usize::try_from(entries).unwrap_or(0)),
        },
    })
}

impl Columns {
    fn read(self, connection: &Connection) -> Result<RunInfo, Fault> {
        let mut info = self.info;
        match self.status {
            Some(word) => {
                let status = run_status(&word).map_err(|reason| unreadable(&info.id, &reason))?;
                info.standing = Standing::Ended(status);
            }
            // What is known of a run as a whole is written when it ends; until then it is counted.
            None => {
                let counts = count(connection, self.key)?;
                info.done = counts.done;
                info.calls = counts.calls;
                info.duration = counts.duration;
            }
        }
        Ok(info)
    }
}

/// What the entries of a run come to.
pub(crate) struct Counts {
    pub(crate) entries: i64,
    pub(crate) done: usize,
    pub(crate) calls: usize,
    pub(crate) duration: Duration,
}

/// Counts what a run has come to so far.
pub(crate) fn count(connection: &Connection, key: i64) -> Result<Counts, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*),
             count(*) FILTER (WHERE kind = 'sent'),
             count(*) FILTER (WHERE kind = 'settled' AND json_array_length(body, '$.at') = 1
                 AND body ->> '$.at[0].item' IS NULL AND body ->> '$.at[0].round' IS NULL
                 AND body ->> '$.status' IN ('succeeded', 'failed', 'skipped')),
             (SELECT at_ns FROM entries WHERE run = ?1 ORDER BY number DESC LIMIT 1)
         FROM entries WHERE run = ?1",
    )?;
    let size = |number: i64| usize::try_from(number).unwrap_or(0);
    Ok(statement.query_row([key], |row| {
        let last: Option<i64> = row.get(3)?;
        Ok(Counts {
            entries: row.get(0)?,
            calls: size(row.get(1)?),
            done: size(row.get(2)?),
            duration: Duration::from_nanos(last.unwrap_or(0).unsigned_abs()),
        })
    })?)
}
