//! Export of runs.

use planwright_core::Value;
use rusqlite::Connection;
use serde::Serialize;

use super::lines::{
    EXPORT_FORMAT, ExportFooterV1, ExportHeaderV1, ExportLineV1, ExportedDecisionV1,
    ExportedEntryV1, ExportedRunV1, ExportedValueV1,
};
use crate::decisions;
use crate::error::{QueryError, StoreError};
use crate::format::{Digest, JOURNAL_FORMAT, parse_value};
use crate::numbers::to_i64;
use crate::run::{self, unreadable};
use crate::store::Store;

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
