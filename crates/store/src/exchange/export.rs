//! A run as a file.

use planwright_core::Value;
use rusqlite::Connection;
use serde::Serialize;

use super::lines::{DecisionV1, EXPORT_FORMAT, EndV1, EntryV1, HeadV1, LineV1, RunV1, ValueV1};
use crate::decision;
use crate::entries;
use crate::error::{Fault, StoreError};
use crate::format::{Digest, JOURNAL_FORMAT, parse_value};
use crate::run::{self, unreadable};
use crate::store::Store;

/// How many entries are read at a time.
const CHUNK: i64 = 512;

impl Store {
    /// Everything of a run as a text that [`Store::import`] takes in, in this store or another.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`]; [`StoreError::Format`] where a newer version has written it.
    pub fn export(&self, selector: &str) -> Result<String, StoreError> {
        self.read(|connection| {
            let (run, id) = run::find(connection, selector)?;
            export(connection, run, &id)
        })
    }
}

/// The text of a run, all of it as it is at one moment.
pub(super) fn export(connection: &Connection, run: i64, id: &str) -> Result<String, Fault> {
    run::check_format(connection, run, id)?;
    let read =
        |json: String| parse_value(&json).map_err(|reason| Fault::Store(unreadable(id, &reason)));
    let mut text = String::new();
    let mut end = EndV1::default();
    add(&mut text, id, &head(connection, run, &read)?)?;
    for (digest, json) in values(connection, run)? {
        let is_intact = digest.check(&json);
        is_intact.map_err(|reason| Fault::Store(unreadable(id, &reason)))?;
        let json = read(json)?;
        add(&mut text, id, &LineV1::Value(ValueV1 { digest, json }))?;
        end.values += 1;
    }
    loop {
        let from = i64::try_from(end.entries).unwrap_or(i64::MAX);
        let rows = entries::rows(connection, run, id, from, CHUNK)?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            let entry = EntryV1 {
                at_ns: row.at_ns,
                turn: row.turn,
                kind: row.kind,
                body: read(row.body)?,
            };
            add(&mut text, id, &LineV1::Entry(entry))?;
            end.entries += 1;
        }
    }
    for (_, written) in decision::rows_after(connection, run, 0)? {
        let decision = DecisionV1 {
            at: read(written.address)?,
            call_digest: written.digest,
            approved: written.approved,
            args: written.args.map(&read).transpose()?,
            because: written.because,
            by: written.by,
            decided_ns: written.decided_ns,
        };
        add(&mut text, id, &LineV1::Decision(decision))?;
        end.decisions += 1;
    }
    add(&mut text, id, &LineV1::End(end))?;
    Ok(text)
}

fn head(
    connection: &Connection,
    run: i64,
    read: &impl Fn(String) -> Result<Value, Fault>,
) -> Result<HeadV1, Fault> {
    let (known, header) = connection.query_row(
        "SELECT id, plan, digest, dialect, created_ns, steps, header FROM runs WHERE key = ?1",
        [run],
        |row| {
            let known = RunV1 {
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
    Ok(HeadV1 {
        format: EXPORT_FORMAT.to_owned(),
        journal: JOURNAL_FORMAT.to_owned(),
        run: RunV1 {
            header: read(header)?,
            ..known
        },
    })
}

fn values(connection: &Connection, run: i64) -> Result<Vec<(Digest, String)>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT digest, json FROM uses JOIN blobs USING (digest) WHERE run = ?1 ORDER BY digest",
    )?;
    let rows = statement.query_map([run], |row| Ok((Digest(row.get(0)?), row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn add(text: &mut String, id: &str, line: &impl Serialize) -> Result<(), Fault> {
    let line = serde_json::to_string(line);
    let line = line.map_err(|error| Fault::Store(unreadable(id, &error.to_string())))?;
    text.push_str(&line);
    text.push('\n');
    Ok(())
}
