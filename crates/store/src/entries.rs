//! Entries, read back in order.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use planwright_core::Value;
use planwright_engine::journal::{Entry, Record};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::{Fault, StoreError};
use crate::format::{Digest, Reference, Row, decode, parse_value, resolve};
use crate::run;
use crate::store::Store;

/// How many entries are read at a time.
const CHUNK: i64 = 512;
/// How many large values are kept at hand, so that what several entries speak of is in memory once.
const SHARED: usize = 1024;

impl Store {
    /// What a run remembers, in order.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`]; [`StoreError::Format`] where a newer version has written it. While entries are read:
    /// [`StoreError::File`] and [`StoreError::Format`], after which there are none.
    pub fn entries(&self, selector: &str) -> Result<Entries, StoreError> {
        let (run, id) = self.read(|connection| {
            let (key, id) = run::find(connection, selector)?;
            run::check_format(connection, key, &id)?;
            Ok((key, id))
        })?;
        Ok(Entries {
            connection: self.connect()?,
            store: self.clone(),
            run,
            id,
            next: 0,
            chunk: VecDeque::new(),
            values: HashMap::new(),
            is_over: false,
        })
    }
}

/// The entries of a run, in order. Those that join while it is read are read as well.
#[derive(Debug)]
pub struct Entries {
    store: Store,
    connection: Connection,
    run: i64,
    id: String,
    next: i64,
    chunk: VecDeque<Row>,
    values: HashMap<Reference, Value>,
    is_over: bool,
}

impl Iterator for Entries {
    type Item = Result<Entry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let entry = self.read().map_err(|fault| fault.of(self.store.path()));
        self.is_over = !matches!(entry, Ok(Some(_)));
        entry.transpose()
    }
}

impl Entries {
    fn read(&mut self) -> Result<Option<Entry>, Fault> {
        if self.chunk.is_empty() {
            self.chunk = rows(&self.connection, self.run, &self.id, self.next, CHUNK)?;
        }
        let Some(row) = self.chunk.pop_front() else {
            return Ok(None);
        };
        let number = self.next;
        self.next += 1;
        let (connection, values) = (&self.connection, &mut self.values);
        let entry = decode(&row, &mut |reference| find(connection, values, reference));
        let mut entry = entry.map_err(|reason| {
            run::unreadable(
                &self.id,
                &format!("entry {number} makes no sense: {reason}"),
            )
        })?;
        if let Record::Opened { run, .. } = &mut entry.record {
            *run = Some(Arc::from(self.id.as_str()));
        }
        Ok(Some(entry))
    }
}

/// The rows of a run from number `from` on, each as it was written.
pub(crate) fn rows(
    connection: &Connection,
    run: i64,
    id: &str,
    from: i64,
    limit: i64,
) -> Result<VecDeque<Row>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT at_ns, turn, kind, body, number, checksum FROM entries
         WHERE run = ?1 AND ?2 <= number ORDER BY number LIMIT ?3",
    )?;
    let found = statement.query_map(params![run, from, limit], |row| {
        let entry = Row {
            at_ns: row.get(0)?,
            turn: row.get(1)?,
            kind: row.get(2)?,
            body: row.get(3)?,
        };
        Ok((entry, row.get(4)?, row.get(5)?))
    })?;
    let mut rows = VecDeque::new();
    for found in found {
        let (row, number, checksum): (Row, i64, Option<i64>) = found?;
        if checksum.is_some_and(|checksum| checksum != row.checksum(run, number)) {
            let reason = format!("entry {number} was changed after it was stored");
            return Err(Fault::Store(run::unreadable(id, &reason)));
        }
        rows.push_back(row);
    }
    Ok(rows)
}

fn find(
    connection: &Connection,
    values: &mut HashMap<Reference, Value>,
    reference: Reference,
) -> Result<Value, String> {
    if SHARED <= values.len() {
        values.clear();
    }
    resolve(reference, values, &mut |digest| read(connection, digest))
}

fn read(connection: &Connection, digest: &Digest) -> Result<Value, String> {
    let json: Option<String> = connection
        .prepare_cached("SELECT json FROM blobs WHERE digest = ?1")
        .and_then(|mut statement| statement.query_row([digest.0], |row| row.get(0)).optional())
        .map_err(|error| error.to_string())?;
    let json = json.ok_or_else(|| format!("the value `{digest}` is not there"))?;
    digest.check(&json)?;
    parse_value(&json)
}
