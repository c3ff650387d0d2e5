//! Import of runs.

use std::collections::HashMap;

use planwright_core::Value;

use super::export::{
    EXPORT_FORMAT, ExportFooterV1, ExportHeaderV1, ExportLineV1, ExportedDecisionV1,
    ExportedValueV1, FormatProbe, export,
};
use crate::decisions::DecisionRow;
use crate::error::{QueryError, StoreError};
use crate::rows::{EntryBatch, EntryRow, insert_batch, update_run};
use crate::run::{self, NewRun};
use crate::store::Store;
use crate::values;
use crate::values::from_nanos;
use planwright_format::journal::{
    Blob, BlobRef, Digest, JOURNAL_FORMAT, parse, resolve, value_bytes,
};

/// The result of [`Store::import`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportOutcome {
    /// The id of the run.
    pub id: String,
    /// True if the run is new; false if the store had the same run already.
    pub is_new: bool,
    /// The number of decisions in the text, which are not imported.
    pub decisions: usize,
}

/// The maximum length of the JSON of all values of a run if each occurrence is written out, in bytes.
const MAX_WRITTEN: u64 = 4 * 1024 * 1024 * 1024;

/// A decoded run, ready to be written.
struct DecodedRun {
    new: NewRun,
    batch: EntryBatch,
    /// The number of decisions, which are not written.
    decisions: usize,
}

impl Store {
    /// Imports a run that [`Store::export`] wrote, in one transaction, without its decisions: they cannot be verified, since anyone
    /// can write them into a file. The run is marked as [imported](crate::RunInfo::imported).
    ///
    /// # Errors
    ///
    /// [`StoreError::Format`] if the text is incomplete, invalid, or of a newer version; [`StoreError::Exists`] if another run has
    /// its id.
    pub fn import(&self, text: &str) -> Result<ImportOutcome, StoreError> {
        let decoded = decode_run(text).map_err(|reason| {
            StoreError::Format(format!("the text is no exported run: {reason}"))
        })?;
        // The id becomes a part of file names, and anyone may have written the text.
        values::check("id of a run", &decoded.new.id)?;
        let text = text.to_owned();
        self.writer().change(move |connection| {
            let id = decoded.new.id.clone();
            let decisions = decoded.decisions;
            let key = match run::insert(connection, &decoded.new) {
                // The second import of the same run is no error, so that an interrupted one can be repeated.
                Err(QueryError::Store(StoreError::Exists { what, id })) => {
                    let (key, _) = run::find(connection, &id)?;
                    let exported = export(connection, key, &id)?;
                    // An imported run is exported without the decisions that its text may have had.
                    let is_same = exported == text
                        || run::is_imported(connection, key)?
                            && exported == without_decisions(&text);
                    if is_same {
                        return Ok(ImportOutcome {
                            id,
                            is_new: false,
                            decisions,
                        });
                    }
                    return Err(StoreError::Exists { what, id }.into());
                }
                inserted => inserted?,
            };
            insert_batch(connection, key, 0, &decoded.batch)?;
            update_run(connection, key, &decoded.batch.totals)?;
            run::mark_imported(connection, key, decoded.batch.rows.len())?;
            Ok(ImportOutcome {
                id,
                is_new: true,
                decisions,
            })
        })
    }
}

/// Decodes an exported run, including all of its values, entries and decisions.
fn decode_run(text: &str) -> Result<DecodedRun, String> {
    let mut lines = (1..).zip(text.lines());
    let (_, first) = lines.next().ok_or("it is empty")?;
    let head = head(first)?;
    let mut decoded = DecodedRun {
        new: NewRun {
            header: head.run.header,
            id: head.run.id,
            plan: head.run.plan,
            digest: head.run.digest,
            dialect: head.run.dialect,
            steps: usize::try_from(head.run.steps)
                .map_err(|_| "the number of steps is negative")?,
            created: from_nanos(head.run.created_ns),
        },
        batch: EntryBatch::default(),
        decisions: 0,
    };
    let mut values = ExportedValues::default();
    let mut end = None;
    for (number, line) in lines {
        let with_line = |reason: String| format!("line {number}: {reason}");
        // Lines after the end are not covered by its counts.
        if end.is_some() {
            return Err(with_line("there is a line after the end".to_owned()));
        }
        match parse(line).map_err(with_line)? {
            ExportLineV1::Value(value) => {
                add_value(value, &mut decoded, &mut values).map_err(with_line)?;
            }
            ExportLineV1::Entry(entry) => {
                let row = EntryRow {
                    at_ns: entry.at_ns,
                    turn: entry.turn,
                    kind: entry.kind,
                    body: entry.body.to_json(),
                };
                add_entry(row, &mut decoded, &mut values).map_err(with_line)?;
            }
            ExportLineV1::Decision(decision) => {
                decision_row(decision).check().map_err(with_line)?;
                decoded.decisions += 1;
            }
            ExportLineV1::End(counts) => end = Some(counts),
        }
    }
    let found = ExportFooterV1 {
        values: decoded.batch.blobs.len(),
        entries: decoded.batch.rows.len(),
        decisions: decoded.decisions,
    };
    match end {
        Some(end) if end == found => Ok(decoded),
        Some(_) => Err("the number of lines is not the one that it states".to_owned()),
        None => Err("it is cut off".to_owned()),
    }
}

fn head(line: &str) -> Result<ExportHeaderV1, String> {
    if !line.trim_start().starts_with('{') {
        return Err("its first line is no object".to_owned());
    }
    // The format is read alone first: a newer version may have other fields, and the error must name the version.
    let any: FormatProbe = parse(line)?;
    match any.format.as_deref() {
        Some(EXPORT_FORMAT) => {}
        Some(other) => {
            return Err(format!("it has the unknown format `{other}`"));
        }
        None => return Err("it names no format".to_owned()),
    }
    let head: ExportHeaderV1 = parse(line)?;
    if head.journal != JOURNAL_FORMAT {
        let journal = head.journal;
        return Err(format!("its entries have the unknown format `{journal}`"));
    }
    Ok(head)
}

fn add_value(
    value: ExportedValueV1,
    decoded: &mut DecodedRun,
    values: &mut ExportedValues,
) -> Result<(), String> {
    let ExportedValueV1 {
        digest,
        json: value,
    } = value;
    let json = value.to_json();
    if Digest::of(&json) != digest {
        return Err(format!("the value is not the one of `{digest}`"));
    }
    // Encoded anew, so the digest also proves that the value survives the round trip.
    values.stored.insert(digest, value);
    decoded.batch.blobs.push(Blob { digest, json });
    Ok(())
}

/// The values of an export, and the parts of them that entries read.
#[derive(Default)]
struct ExportedValues {
    stored: HashMap<Digest, Value>,
    resolved: HashMap<BlobRef, Value>,
    /// The length of the JSON of all values that entries read.
    written: u64,
}

impl ExportedValues {
    fn find(&mut self, reference: BlobRef) -> Result<Value, String> {
        let stored = &self.stored;
        let value = resolve(reference, &mut self.resolved, &mut |digest| {
            let value = stored.get(digest).cloned();
            value.ok_or_else(|| format!("the value `{digest}` is missing"))
        })?;
        // Shared parts are cheap in the file, but readers that write out each occurrence could run out of memory.
        self.written = self.written.saturating_add(value_bytes(&value)?);
        if self.written > MAX_WRITTEN {
            return Err(format!(
                "its values come to more than {MAX_WRITTEN} bytes as written"
            ));
        }
        Ok(value)
    }
}

/// Adds an entry. Decodes it first, so that an invalid one fails the import and not a later resume.
fn add_entry(
    row: EntryRow,
    decoded: &mut DecodedRun,
    values: &mut ExportedValues,
) -> Result<(), String> {
    let entry = row.decode(&mut |reference| values.find(reference))?;
    if row.at_ns < 0 || row.turn < 0 {
        return Err("an entry is older than its run".to_owned());
    }
    decoded.batch.totals.add(&entry);
    decoded.batch.rows.push(row);
    Ok(())
}

fn decision_row(decision: ExportedDecisionV1) -> DecisionRow {
    DecisionRow {
        address: decision.at.to_json(),
        digest: decision.call_digest,
        approved: decision.approved,
        args: decision.args.as_ref().map(Value::to_json),
        because: decision.because,
        by: decision.by,
        decided_ns: decision.decided_ns,
    }
}

/// Returns the text that [`Store::export`] would write if the run had no decisions.
fn without_decisions(text: &str) -> String {
    let lines = text.lines().filter_map(|line| match parse(line) {
        Ok(ExportLineV1::Decision(_)) => None,
        Ok(ExportLineV1::End(end)) => {
            let end = ExportFooterV1 {
                decisions: 0,
                ..end
            };
            serde_json::to_string(&ExportLineV1::End(end)).ok()
        }
        Ok(ExportLineV1::Value(_) | ExportLineV1::Entry(_)) | Err(_) => Some(line.to_owned()),
    });
    lines.map(|line| line + "\n").collect()
}
