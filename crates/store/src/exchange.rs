//! Export and import of runs as `planwright.run-export`, a self-contained text for a store on another machine.
//!
//! The format is JSON Lines: a header with the run's metadata, the large values, the entries, the decisions, and a footer
//! that counts them, so that a truncated file is detected. Further runs may follow, which the footer counts as well. Then the header has
//! version 2, so that a reader of single runs refuses the text by its version.

use std::collections::{HashMap, HashSet};
use std::time::SystemTime;

use planwright_core::{PlanDigest, Value};
use planwright_engine::RunId;
use planwright_engine::journal::Entry;
use planwright_format::journal::{
    Blob, BlobRef, Digest, JOURNAL_FORMAT, parse, parse_value, resolve, value_bytes,
};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};

use crate::database::{QueryError, SqlSession, params};
use crate::decisions::{self, DecisionRow};
use crate::error::StoreError;
use crate::run::batch::{EntryBatch, EntryRow, insert_batch, insert_blobs, update_run};
use crate::run::{self, NewRun, unreadable};
use crate::store::Store;
use crate::values::{self, from_nanos, to_i64};

/// The number of entries that one query reads.
const ENTRIES_PER_READ: i64 = 512;

impl Store {
    /// Exports a run as a text for [`Store::import`].
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`]; [`StoreError::Format`] if a newer version has written it.
    pub fn export(&self, selector: &str) -> Result<String, StoreError> {
        self.export_with(selector, &[])
    }

    /// Exports a run and `further` ones, without which it must not be imported.
    ///
    /// # Errors
    ///
    /// Those of [`Store::export`].
    pub fn export_with(&self, selector: &str, further: &[RunId]) -> Result<String, StoreError> {
        self.read(|session| {
            let (run, id) = run::find(session, selector)?;
            let mut text = export(session, run, &id, further.len())?;
            for (index, id) in further.iter().enumerate() {
                let (run, id) = run::find(session, id.as_str())?;
                text += &export(session, run, &id, further.len() - index - 1)?;
            }
            Ok(text)
        })
    }
}

/// The format of an exported run that no other one follows.
pub const EXPORT_FORMAT: &str = "planwright.run-export/1";

/// The format of an exported run that others follow.
const FOLLOWED_FORMAT: &str = "planwright.run-export/2";

/// The part of the first line that all versions of the format share.
#[derive(Deserialize)]
struct FormatProbe {
    format: Option<String>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportHeaderV1 {
    /// [`EXPORT_FORMAT`] or [`FOLLOWED_FORMAT`].
    format: String,
    /// The format of the entries.
    journal: String,
    run: ExportedRunV1,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedRunV1 {
    id: String,
    plan: Option<String>,
    digest: PlanDigest,
    dialect: Option<String>,
    created_ns: i64,
    steps: i64,
    header: Value,
}

/// A line after the first one.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExportLineV1 {
    Value(ExportedValueV1),
    Entry(ExportedEntryV1),
    Decision(ExportedDecisionV1),
    End(ExportFooterV1),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedValueV1 {
    digest: Digest,
    json: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedEntryV1 {
    at_ns: i64,
    turn: i64,
    kind: String,
    body: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportedDecisionV1 {
    at: Value,
    /// The digest of the call. Older versions bound a decision to the arguments alone and wrote `args_digest`.
    #[serde(alias = "args_digest")]
    call_digest: String,
    approved: bool,
    /// The changed arguments. `null` is a value, not their absence.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "deserialize_present"
    )]
    args: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    decided_ns: i64,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportFooterV1 {
    values: usize,
    entries: usize,
    decisions: usize,
    /// The number of runs that follow.
    #[serde(default, skip_serializing_if = "is_zero")]
    following: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde requires"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The result of [`Store::import`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportOutcome {
    /// The id of the first run.
    pub id: RunId,
    /// True if it is new; false if the store had the same run already.
    pub is_new: bool,
    /// The number of decisions about it in the text, which are not imported.
    pub decisions: usize,
    /// The further runs of the text that are new.
    pub further: Vec<RunId>,
}

/// The maximum length of the JSON of all values of a run if each occurrence is written out, in bytes.
const MAX_WRITTEN: u64 = 4 * 1024 * 1024 * 1024;

/// A decoded run.
struct DecodedRun {
    run: ExportedRunV1,
    steps: usize,
    batch: EntryBatch,
    /// The number of decisions, which are not imported.
    decisions: usize,
    /// The number of runs that follow.
    following: usize,
    lines: LinesDigest,
    /// The digest of the lines that the run would have without decisions.
    undecided_lines: LinesDigest,
}

/// A digest of lines, which suffices to recognise a run without a copy of its text.
#[derive(Clone, Default)]
struct LinesDigest(Sha256);

impl LinesDigest {
    fn of(text: &str) -> Self {
        let mut digest = Self::default();
        for line in text.lines() {
            digest.add(line);
        }
        digest
    }

    fn add(&mut self, line: &str) {
        self.0.update(line.trim_end());
        self.0.update("\n");
    }
}

impl PartialEq for LinesDigest {
    fn eq(&self, other: &Self) -> bool {
        self.0.clone().finalize() == other.0.clone().finalize()
    }
}

impl DecodedRun {
    /// Returns the run to create.
    fn new_run(&self) -> Result<NewRun, StoreError> {
        Ok(NewRun {
            // The id becomes a part of file names, and anyone may have written the text.
            id: values::new_run_id(&self.run.id)?,
            plan: self.run.plan.clone(),
            digest: self.run.digest.clone(),
            dialect: self.run.dialect.clone(),
            steps: self.steps,
            created: from_nanos(self.run.created_ns),
            header: self.run.header.clone(),
        })
    }
}

impl Store {
    /// Imports the runs that [`Store::export_with`] wrote, in one transaction, without their decisions: they cannot be verified, since anyone
    /// can write them into a file. The runs are marked as [imported](crate::RunInfo::imported).
    ///
    /// # Errors
    ///
    /// [`StoreError::Format`] if the text is incomplete, invalid, of a newer version, or has a run that reverts one that began in this store;
    /// [`StoreError::Exists`] if another run has the id of one of them. Then none is imported.
    pub fn import(&self, text: &str) -> Result<ImportOutcome, StoreError> {
        let decoded = decode_runs(text, &mut |_| {}).map_err(|reason| {
            StoreError::Format(format!("the file is not an exported run: {reason}"))
        })?;
        let (first, further) = decoded;
        let first = (first.new_run()?, first);
        let further = further.into_iter();
        let further = further.map(|decoded| Ok((decoded.new_run()?, decoded)));
        let further = further.collect::<Result<Vec<_>, StoreError>>()?;
        self.writer().change(move |session| {
            // In one transaction, so that no process finds a run without its entries and resumes it from the beginning.
            let is_new = import(session, &first)?;
            let mut outcome = ImportOutcome {
                id: first.0.id.clone(),
                is_new,
                decisions: first.1.decisions,
                further: Vec::new(),
            };
            for run in &further {
                if import(session, run)? {
                    outcome.further.push(run.0.id.clone());
                }
            }
            let further = further.iter().map(|(new, _)| new);
            let further = further.filter(|new| outcome.further.contains(&new.id));
            for new in further.chain(is_new.then_some(&first.0)) {
                check_reverted(session, new)?;
            }
            Ok(outcome)
        })
    }
}

/// Imports one run. Returns false if the store had the same run already.
fn import(
    session: &dyn SqlSession,
    (new, decoded): &(NewRun, DecodedRun),
) -> Result<bool, QueryError> {
    let key = match run::insert(session, new) {
        // The second import of the same run is not an error, so that an interrupted one can be repeated.
        Err(error @ QueryError::Store(StoreError::Exists { .. })) => {
            let (key, id) = run::find(session, new.id.as_str())?;
            let stored = LinesDigest::of(&export(session, key, &id, decoded.following)?);
            // The text may have decisions, but an imported run is exported without them.
            let is_same = stored == decoded.lines
                || run::is_imported(session, key)? && stored == decoded.undecided_lines;
            return if is_same { Ok(false) } else { Err(error) };
        }
        inserted => inserted?,
    };
    insert_blobs(session, std::iter::once(&decoded.batch))?;
    insert_batch(session, key, 0, &decoded.batch)?;
    update_run(session, key, &decoded.batch.totals)?;
    run::mark_imported(session, key, decoded.batch.rows.len())?;
    Ok(true)
}

/// Rejects a new run that claims to have undone calls of a run that began in this store: anyone can write that into a file, and what it
/// says is undone would never be undone here.
fn check_reverted(session: &dyn SqlSession, new: &NewRun) -> Result<(), QueryError> {
    let reverts = new.header.get("reverts");
    let reverted = reverts.and_then(|reverts| reverts.get("run"));
    let Some(reverted) = reverted.and_then(Value::as_text) else {
        return Ok(());
    };
    match run::find(session, reverted) {
        Ok((key, id)) if id.as_str() == reverted && !run::is_imported(session, key)? => {
            Err(QueryError::Store(StoreError::Format(format!(
                "the run `{}` of the file reverts the run `{reverted}`, which began in this store",
                new.id
            ))))
        }
        // The beginning of another id does not count.
        Ok(_)
        | Err(QueryError::Store(StoreError::Missing { .. } | StoreError::Ambiguous { .. })) => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// An exported run that is read without a store.
#[derive(Debug)]
pub struct ExportedRun {
    /// The id.
    pub id: RunId,
    /// The time of creation.
    pub created: SystemTime,
    /// The journal entries, in order.
    pub entries: Vec<Entry>,
}

impl ExportedRun {
    /// Reads the first run of a text that [`Store::export_with`] wrote.
    ///
    /// # Errors
    ///
    /// [`StoreError::Format`] if the text is incomplete, invalid, or of a newer version.
    pub fn read(text: &str) -> Result<Self, StoreError> {
        let mut entries = Vec::new();
        let decoded = decode_runs(text, &mut |entry| entries.push(entry)).map_err(|reason| {
            StoreError::Format(format!("the file is not an exported run: {reason}"))
        })?;
        let NewRun { id, created, .. } = decoded.0.new_run()?;
        Ok(Self {
            id,
            created,
            entries,
        })
    }
}

/// The large values of an export, with a cache of the resolved references to them.
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
                "its values have more than {MAX_WRITTEN} bytes of JSON"
            ));
        }
        Ok(value)
    }
}

/// Returns the text of a run before `following` others, which the caller's transaction makes consistent.
fn export(
    session: &dyn SqlSession,
    run: i64,
    id: &RunId,
    following: usize,
) -> Result<String, QueryError> {
    run::check_format(session, run, id)?;
    let read = |json: String| {
        parse_value(&json).map_err(|reason| QueryError::Store(unreadable(id, &reason)))
    };
    let mut text = String::new();
    let mut end = ExportFooterV1 {
        following,
        ..ExportFooterV1::default()
    };
    let mut header = read_header(session, run, &read)?;
    if 0 < following {
        FOLLOWED_FORMAT.clone_into(&mut header.format);
    }
    add(&mut text, id, &header)?;
    // Values precede the entries that refer to them, so that an import can decode each line when it is read.
    for (digest, json) in read_values(session, run)? {
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
    // In batches, so that the rows of a long journal are not in memory twice.
    loop {
        let from = to_i64(end.entries);
        let rows = run::read_rows(session, run, id, from, ENTRIES_PER_READ)?;
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
    for (_, row) in decisions::rows_after(session, run, 0)? {
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

fn read_header(
    session: &dyn SqlSession,
    run: i64,
    read: &impl Fn(String) -> Result<Value, QueryError>,
) -> Result<ExportHeaderV1, QueryError> {
    let (known, header) = session.single(
        "SELECT id, plan, digest, dialect, created_ns, steps, header FROM runs WHERE key = ?1",
        params![run],
        |row| {
            let known = ExportedRunV1 {
                id: row.get(0)?,
                plan: row.get(1)?,
                digest: row.get::<String>(2)?.into(),
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

fn read_values(session: &dyn SqlSession, run: i64) -> Result<Vec<(Digest, String)>, QueryError> {
    session.rows(
        "SELECT digest, json FROM uses JOIN blobs USING (digest) WHERE run = ?1 ORDER BY digest",
        params![run],
        |row| Ok((Digest(row.get(0)?), row.get(1)?)),
    )
}

fn add(text: &mut String, id: &RunId, line: &impl Serialize) -> Result<(), QueryError> {
    let line = serde_json::to_string(line);
    let line = line.map_err(|error| QueryError::Store(unreadable(id, &error.to_string())))?;
    text.push_str(&line);
    text.push('\n');
    Ok(())
}

/// Deserializes a field that exists as `Some`, even if it is `null`.
fn deserialize_present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Decodes the exported runs of a text, including all of their values, entries and decisions. Passes each entry of the first one to
/// `visit`.
fn decode_runs(
    text: &str,
    visit: &mut dyn FnMut(Entry),
) -> Result<(DecodedRun, Vec<DecodedRun>), String> {
    let mut lines = (1..).zip(text.split_inclusive('\n'));
    let first = decode_run(&mut lines, visit)?.ok_or("it is empty")?;
    let mut further: Vec<DecodedRun> = Vec::new();
    let mut ids = HashSet::from([first.run.id.clone()]);
    for following in (0..first.following).rev() {
        let run = decode_run(&mut lines, &mut |_| {})?.ok_or("it is truncated")?;
        if run.following != following {
            return Err("its number of runs differs from the one that it states".to_owned());
        }
        if !ids.insert(run.run.id.clone()) {
            return Err(format!("it has the run `{}` twice", run.run.id));
        }
        further.push(run);
    }
    match lines.next() {
        // Lines after the end are not covered by its counts.
        Some((number, _)) => Err(format!("line {number}: there is a line after the end")),
        None => Ok((first, further)),
    }
}

/// Decodes the next exported run, up to its footer, and passes each entry to `visit`. `None` if there are no more lines.
fn decode_run(
    lines: &mut dyn Iterator<Item = (usize, &str)>,
    visit: &mut dyn FnMut(Entry),
) -> Result<Option<DecodedRun>, String> {
    let Some((_, first)) = lines.next() else {
        return Ok(None);
    };
    let head = parse_header(first.trim_end())?;
    let is_followed = head.format == FOLLOWED_FORMAT;
    let mut decoded = DecodedRun {
        steps: usize::try_from(head.run.steps).map_err(|_| "the number of steps is negative")?,
        run: head.run,
        batch: EntryBatch::default(),
        decisions: 0,
        following: 0,
        lines: LinesDigest::of(first),
        undecided_lines: LinesDigest::of(first),
    };
    let mut values = ExportedValues::default();
    for (number, line) in lines {
        decoded.lines.add(line);
        let with_line = |reason: String| format!("line {number}: {reason}");
        let parsed = parse(line.trim_end()).map_err(with_line)?;
        match &parsed {
            ExportLineV1::Value(_) | ExportLineV1::Entry(_) => decoded.undecided_lines.add(line),
            ExportLineV1::Decision(_) => {}
            ExportLineV1::End(end) => {
                let end = ExportFooterV1 {
                    decisions: 0,
                    ..*end
                };
                let end = serde_json::to_string(&ExportLineV1::End(end));
                let end = end.map_err(|error| with_line(error.to_string()))?;
                decoded.undecided_lines.add(&end);
            }
        }
        match parsed {
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
                visit(add_entry(row, &mut decoded, &mut values).map_err(with_line)?);
            }
            ExportLineV1::Decision(decision) => {
                decision_row(decision).check().map_err(with_line)?;
                decoded.decisions += 1;
            }
            // The footer counts everything before it, so a file without one is truncated.
            ExportLineV1::End(end) => {
                decoded.following = end.following;
                let found = ExportFooterV1 {
                    values: decoded.batch.blobs.len(),
                    entries: decoded.batch.rows.len(),
                    decisions: decoded.decisions,
                    following: end.following,
                };
                if end != found {
                    return Err(
                        "its number of lines differs from the one that its last line states"
                            .to_owned(),
                    );
                }
                if is_followed != (0 < end.following) {
                    return Err(
                        "the version of its format does not fit its number of runs".to_owned()
                    );
                }
                return Ok(Some(decoded));
            }
        }
    }
    Err("it is truncated".to_owned())
}

fn parse_header(line: &str) -> Result<ExportHeaderV1, String> {
    if !line.trim_start().starts_with('{') {
        return Err("its first line is not an object".to_owned());
    }
    // The format is read alone first: a newer version may have other fields, and the error must name the version.
    let any: FormatProbe = parse(line)?;
    match any.format.as_deref() {
        Some(EXPORT_FORMAT | FOLLOWED_FORMAT) => {}
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
        return Err(format!("a value does not match its digest `{digest}`"));
    }
    // Encoded anew, so the digest also proves that the value survives the round trip.
    values.stored.insert(digest, value);
    decoded.batch.blobs.push(Blob { digest, json });
    Ok(())
}

/// Adds an entry and returns it. Decodes it first, so that an invalid one fails the import and not a later resume.
fn add_entry(
    row: EntryRow,
    decoded: &mut DecodedRun,
    values: &mut ExportedValues,
) -> Result<Entry, String> {
    let entry = row.decode(&mut |reference| values.find(reference))?;
    if row.at_ns < 0 || row.turn < 0 {
        return Err("an entry is older than its run".to_owned());
    }
    decoded.batch.totals.add(&entry);
    decoded.batch.rows.push(row);
    Ok(entry)
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
