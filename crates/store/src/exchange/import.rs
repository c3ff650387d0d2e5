//! Taking in a run from a file.

use std::collections::HashMap;

use planwright_core::Value;

use super::export::export;
use super::lines::{AnyHeadV1, DecisionV1, EXPORT_FORMAT, EndV1, HeadV1, LineV1, ValueV1};
use crate::decision::Written;
use crate::error::{Fault, StoreError};
use crate::format::{
    Batch, Blob, Digest, JOURNAL_FORMAT, Reference, Row, decode, parse, resolve, value_bytes,
};
use crate::names;
use crate::run::{self, NewRun};
use crate::store::Store;
use crate::times::from_nanos;
use crate::writer::{insert_batch, update_run};

/// What came of taking in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Its id.
    pub id: String,
    /// Whether there is one more now; it may have been there already, just as it is.
    pub is_new: bool,
    /// The number of decisions in the file, none of which was taken over.
    pub decisions: usize,
}

/// The most bytes that the values of a run may come to wherever they are written.
const MAX_WRITTEN: u64 = 4 * 1024 * 1024 * 1024;

/// A run from a file, as it is to be written.
struct Parcel {
    new: NewRun,
    batch: Batch,
    /// The number of its decisions, which are not written.
    decisions: usize,
}

impl Store {
    /// Takes in a run that [`Store::export`] gave, all of it or nothing, but for its decisions: people made them in front of
    /// another store, and anybody can write them into a file. The run is marked as [imported](crate::RunInfo::imported).
    ///
    /// # Errors
    ///
    /// [`StoreError::Format`] where the text is not whole, not sound, or of a newer version; [`StoreError::Exists`] where
    /// there is another run of its id.
    pub fn import(&self, text: &str) -> Result<Imported, StoreError> {
        let parcel = unpack(text)
            .map_err(|reason| StoreError::Format(format!("that is no run to take in: {reason}")))?;
        names::check("id of a run", &parcel.new.id)?;
        let text = text.to_owned();
        self.writer().change(move |connection| {
            let id = parcel.new.id.clone();
            let decisions = parcel.decisions;
            let key = match run::insert(connection, &parcel.new) {
                Err(Fault::Store(StoreError::Exists { what, id })) => {
                    let (key, _) = run::find(connection, &id)?;
                    let known = export(connection, key, &id)?;
                    let is_same = known == text
                        || run::is_imported(connection, key)? && known == without_decisions(&text);
                    if is_same {
                        return Ok(Imported {
                            id,
                            is_new: false,
                            decisions,
                        });
                    }
                    return Err(StoreError::Exists { what, id }.into());
                }
                inserted => inserted?,
            };
            insert_batch(connection, key, 0, &parcel.batch)?;
            update_run(connection, key, &parcel.batch.tally)?;
            run::mark_imported(connection, key, parcel.batch.rows.len())?;
            Ok(Imported {
                id,
                is_new: true,
                decisions,
            })
        })
    }
}

/// Reads a file, and everything in it.
fn unpack(text: &str) -> Result<Parcel, String> {
    let mut lines = (1..).zip(text.lines());
    let (_, first) = lines.next().ok_or("it is empty")?;
    let head = head(first)?;
    let mut parcel = Parcel {
        new: NewRun {
            header: head.run.header,
            id: head.run.id,
            plan: head.run.plan,
            digest: head.run.digest,
            dialect: head.run.dialect,
            steps: usize::try_from(head.run.steps).map_err(|_| "it has less than no steps")?,
            created: from_nanos(head.run.created_ns),
        },
        batch: Batch::default(),
        decisions: 0,
    };
    let mut values = Values::default();
    let mut end = None;
    for (number, line) in lines {
        let told = |reason: String| format!("line {number}: {reason}");
        if end.is_some() {
            return Err(told("there is more behind its end".to_owned()));
        }
        match parse(line).map_err(told)? {
            LineV1::Value(value) => take_value(value, &mut parcel, &mut values).map_err(told)?,
            LineV1::Entry(entry) => {
                let row = Row {
                    at_ns: entry.at_ns,
                    turn: entry.turn,
                    kind: entry.kind,
                    body: entry.body.to_json(),
                };
                take_entry(row, &mut parcel, &mut values).map_err(told)?;
            }
            LineV1::Decision(decision) => {
                written(decision).check().map_err(told)?;
                parcel.decisions += 1;
            }
            LineV1::End(counts) => end = Some(counts),
        }
    }
    let found = EndV1 {
        values: parcel.batch.blobs.len(),
        entries: parcel.batch.rows.len(),
        decisions: parcel.decisions,
    };
    match end {
        Some(end) if end == found => Ok(parcel),
        Some(_) => Err("it has not as many lines as it says".to_owned()),
        None => Err("it is cut off".to_owned()),
    }
}

fn head(line: &str) -> Result<HeadV1, String> {
    if !line.trim_start().starts_with('{') {
        return Err("its first line is no object".to_owned());
    }
    let any: AnyHeadV1 = parse(line)?;
    match any.format.as_deref() {
        Some(EXPORT_FORMAT) => {}
        Some(other) => {
            return Err(format!(
                "it has the format `{other}`, which is not known here"
            ));
        }
        None => return Err("it does not say which format it has".to_owned()),
    }
    let head: HeadV1 = parse(line)?;
    if head.journal != JOURNAL_FORMAT {
        let journal = head.journal;
        return Err(format!(
            "its entries have the format `{journal}`, which is not known here"
        ));
    }
    Ok(head)
}

fn take_value(value: ValueV1, parcel: &mut Parcel, values: &mut Values) -> Result<(), String> {
    let ValueV1 {
        digest,
        json: value,
    } = value;
    let json = value.to_json();
    if Digest::of(&json) != digest {
        return Err(format!("the value is not the one of `{digest}`"));
    }
    values.stored.insert(digest, value);
    parcel.batch.blobs.push(Blob { digest, json });
    Ok(())
}

/// The values of a file, and what entries read of them.
#[derive(Default)]
struct Values {
    stored: HashMap<Digest, Value>,
    resolved: HashMap<Reference, Value>,
    /// The bytes of all that entries read, as it is written.
    written: u64,
}

impl Values {
    fn find(&mut self, reference: Reference) -> Result<Value, String> {
        let stored = &self.stored;
        let value = resolve(reference, &mut self.resolved, &mut |digest| {
            let value = stored.get(digest).cloned();
            value.ok_or_else(|| format!("the value `{digest}` is not there"))
        })?;
        // Parts that are shared cost a file little, and whoever writes the run out much.
        self.written = self.written.saturating_add(value_bytes(&value)?);
        if self.written > MAX_WRITTEN {
            return Err(format!(
                "its values come to more than {MAX_WRITTEN} bytes as written"
            ));
        }
        Ok(value)
    }
}

/// Looks whether the entry can be read, now rather than when the run is to go on.
fn take_entry(row: Row, parcel: &mut Parcel, values: &mut Values) -> Result<(), String> {
    let entry = decode(&row, &mut |reference| values.find(reference))?;
    if row.at_ns < 0 || row.turn < 0 {
        return Err("an entry is older than its run".to_owned());
    }
    parcel.batch.tally.count(&entry);
    parcel.batch.rows.push(row);
    Ok(())
}

fn written(decision: DecisionV1) -> Written {
    Written {
        address: decision.at.to_json(),
        digest: decision.call_digest,
        approved: decision.approved,
        args: decision.args.as_ref().map(Value::to_json),
        because: decision.because,
        by: decision.by,
        decided_ns: decision.decided_ns,
    }
}

/// The text of a run as [`Store::export`] writes it, if its decisions are left out.
fn without_decisions(text: &str) -> String {
    let lines = text.lines().filter_map(|line| match parse(line) {
        Ok(LineV1::Decision(_)) => None,
        Ok(LineV1::End(end)) => {
            let end = EndV1 {
                decisions: 0,
                ..end
            };
            serde_json::to_string(&LineV1::End(end)).ok()
        }
        _ => Some(line.to_owned()),
    });
    lines.map(|line| line + "\n").collect()
}
