//! The lines of an export, and their writer.

use planwright_core::Value;
use rusqlite::Connection;
use serde::{Deserialize, Deserializer, Serialize};

use crate::decisions;
use crate::error::{QueryError, StoreError};
use crate::run::{self, unreadable};
use crate::store::Store;
use crate::values::to_i64;
use planwright_format::journal::{Digest, JOURNAL_FORMAT, parse_value};

/// The number of entries that one query reads.
const ENTRIES_PER_READ: i64 = 512;

impl Store {
    /// Exports a run as a text for [`Store::import`].
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`]; [`StoreError::Format`] if a newer version has written it.
    pub fn export(&self, selector: &str) -> Result<String, StoreError> {
        self.read(|connection| {
            let (run, id) = run::find(connection, selector)?;
            export(connection, run, &id)
        })
    }
}

/// Returns the text of a run, which the caller's transaction makes consistent.
pub(super) fn export(connection: &Connection, run: i64, id: &str) -> Result<String, QueryError> {
    run::check_format(connection, run, id)?;
    let read = |json: String| {
        parse_value(&json).map_err(|reason| QueryError::Store(unreadable(id, &reason)))
    };
    let mut text = String::new();
    let mut end = ExportFooterV1::default();
    add(&mut text, id, &head(connection, run, &read)?)?;
    for (digest, json) in values(connection, run)? {
        // Damage must not spread to other stores.
        let is_intact = digest.check(&json);
        is_intact.map_err(|reason| QueryError::Store(unreadable(id, &reason)))?;
        let json = read(json)?;
        add(
            &mut text,
            id,
            &ExportLineV1::Value(ExportedValueV1 { digest, json }),
        )?;
        end.values += 1;
    }
    loop {
        let from = to_i64(end.entries);
        let rows = run::rows(connection, run, id, from, ENTRIES_PER_READ)?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            let entry = ExportedEntryV1 {
                at_ns: row.at_ns,
                turn: row.turn,
                kind: row.kind,
                body: read(row.body)?,
            };
            add(&mut text, id, &ExportLineV1::Entry(entry))?;
            end.entries += 1;
        }
    }
    for (_, row) in decisions::rows_after(connection, run, 0)? {
        let decision = ExportedDecisionV1 {
            at: read(row.address)?,
            call_digest: row.digest,
            approved: row.approved,
            args: row.args.map(&read).transpose()?,
            because: row.because,
            by: row.by,
            decided_ns: row.decided_ns,
        };
        add(&mut text, id, &ExportLineV1::Decision(decision))?;
        end.decisions += 1;
    }
    add(&mut text, id, &ExportLineV1::End(end))?;
    Ok(text)
}

fn head(
    connection: &Connection,
    run: i64,
    read: &impl Fn(String) -> Result<Value, QueryError>,
) -> Result<ExportHeaderV1, QueryError> {
    let (known, header) = connection.query_row(
        "SELECT id, plan, digest, dialect, created_ns, steps, header FROM runs WHERE key = ?1",
        [run],
        |row| {
            let known = ExportedRunV1 {
                id: row.get(0)?,
                plan: row.get(1)?,
                digest: row.get(2)?,
                dialect: row.get(3)?,
                created_ns: row.get(4)?,
                steps: row.get(5)?,
                header: Value::Null,
            };
            Ok((known, row.get(6)?))
        },
    )?;
    Ok(ExportHeaderV1 {
        format: EXPORT_FORMAT.to_owned(),
        journal: JOURNAL_FORMAT.to_owned(),
        run: ExportedRunV1 {
            header: read(header)?,
            ..known
        },
    })
}

fn values(connection: &Connection, run: i64) -> Result<Vec<(Digest, String)>, QueryError> {
    let mut statement = connection.prepare_cached(
        "SELECT digest, json FROM uses JOIN blobs USING (digest) WHERE run = ?1 ORDER BY digest",
    )?;
    let rows = statement.query_map([run], |row| Ok((Digest(row.get(0)?), row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn add(text: &mut String, id: &str, line: &impl Serialize) -> Result<(), QueryError> {
    let line = serde_json::to_string(line);
    let line = line.map_err(|error| QueryError::Store(unreadable(id, &error.to_string())))?;
    text.push_str(&line);
    text.push('\n');
    Ok(())
}

/// The format of an exported run.
pub const EXPORT_FORMAT: &str = "planwright.run-export/1";

/// The part of the first line that all versions of the format share.
#[derive(Deserialize)]
pub(super) struct FormatProbe {
    pub(super) format: Option<String>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportHeaderV1 {
    /// [`EXPORT_FORMAT`].
    pub(super) format: String,
    /// The format of the entries.
    pub(super) journal: String,
    pub(super) run: ExportedRunV1,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportedRunV1 {
    pub(super) id: String,
    pub(super) plan: Option<String>,
    pub(super) digest: String,
    pub(super) dialect: Option<String>,
    pub(super) created_ns: i64,
    pub(super) steps: i64,
    pub(super) header: Value,
}

/// A line after the first one.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExportLineV1 {
    Value(ExportedValueV1),
    Entry(ExportedEntryV1),
    Decision(ExportedDecisionV1),
    End(ExportFooterV1),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportedValueV1 {
    pub(super) digest: Digest,
    pub(super) json: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportedEntryV1 {
    pub(super) at_ns: i64,
    pub(super) turn: i64,
    pub(super) kind: String,
    pub(super) body: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportedDecisionV1 {
    pub(super) at: Value,
    /// The digest of the call. Older versions bound a decision to the arguments alone and wrote `args_digest`.
    #[serde(alias = "args_digest")]
    pub(super) call_digest: String,
    pub(super) approved: bool,
    /// The changed arguments. `null` is a value, not their absence.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub(super) args: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) because: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<String>,
    pub(super) decided_ns: i64,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportFooterV1 {
    pub(super) values: usize,
    pub(super) entries: usize,
    pub(super) decisions: usize,
}

/// Deserializes a present field as `Some`, even if it is `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
