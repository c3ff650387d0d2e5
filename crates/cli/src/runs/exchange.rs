//! `planwright export`, `import` and `prune`: runs that leave the store, or come into it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use planwright::engine::journal::{Entry, Record};
use planwright::engine::run::History;
use planwright_store::{ImportOutcome, Prune, Store, StoreError};

use super::{run_storage, store};
use crate::args::{ExportArguments, ImportArguments, PruneArguments};
use crate::error::{CommandError, Exit};
use crate::system::text_file::{self, may_write, write};
use crate::view::live::words::counted;
use crate::view::printer::Printer;

/// The default age, in days, at which runs are deleted.
const USUAL_DAYS: u64 = 30;

/// The most bytes that a run may have which is taken in.
const MAX_BYTES: u64 = 1 << 30;

/// The number of bytes that show whether a file may hold a run.
const HEAD: u64 = 4096;

/// The hint for a file that holds no run.
const NO_RUN: &str = "take a file that `planwright export RUN -o FILE` wrote";

/// `planwright export RUN`
pub(crate) fn export(arguments: &ExportArguments, printer: Printer) -> Result<Exit, CommandError> {
    if let Some(file) = &arguments.output {
        may_write(file, arguments.force)?;
    }
    let store = store::open(&arguments.store, printer)?;
    let text = store.export(&arguments.run).map_err(store::explain)?;
    match &arguments.output {
        Some(file) => write(&text, file, arguments.force)?,
        None => printer.data(&text),
    }
    Ok(Exit::Success)
}

/// `planwright import FILE`
pub(crate) fn import(arguments: &ImportArguments, printer: Printer) -> Result<Exit, CommandError> {
    let text = read(&arguments.file)?;
    let store = store::open(&arguments.store, printer)?;
    let imported = store.import(&text).map_err(|error| {
        let is_no_run = matches!(error, StoreError::Format(_));
        let explained = store::explain(error);
        if is_no_run {
            explained.hint(NO_RUN)
        } else {
            explained
        }
    })?;
    let run = run_storage::short(&imported.id);
    if imported.is_new {
        printer.status(&left_behind(&store, &imported)?);
        printer.status(&format!(
            "look at it with `planwright show {run}` or `planwright logs {run}`"
        ));
    } else {
        printer.status(&format!("the run {run} was there already, just as it is"));
    }
    printer.data_line(&imported.id);
    Ok(Exit::Success)
}

/// Returns the parts of an imported run that do not count here.
fn left_behind(store: &Store, imported: &ImportOutcome) -> Result<String, CommandError> {
    let entries = store
        .entries(&imported.id)
        .and_then(Iterator::collect::<Result<Vec<Entry>, _>>)
        .map_err(store::explain)?;
    let history = History::new(&entries);
    let mut left = vec!["its tool sources".to_owned()];
    let mut count = |count: usize, what: &str| {
        if 0 < count {
            left.push(counted(count, what));
        }
    };
    count(imported.decisions, "stored decision");
    let decided = history.steps().filter(|(_, past)| past.decided.is_some());
    count(decided.count(), "decision in its journal");
    let asked = history
        .steps()
        .filter(|(_, past)| past.open_question().is_some());
    count(asked.count(), "open question");
    let approves = |entry: &Entry| match &entry.record {
        Record::Opened { header, .. } => header
            .get("approved_plan")
            .is_some_and(|digest| !digest.is_null()),
        Record::Sent { .. }
        | Record::Answered { .. }
        | Record::Aborted { .. }
        | Record::Asked { .. }
        | Record::Decided { .. }
        | Record::Chosen { .. }
        | Record::TimerFired { .. }
        | Record::Extended { .. }
        | Record::Closed
        | Record::Cancelled
        | Record::OutOfTime
        | Record::Paused { .. }
        | Record::Resumed
        | Record::Settled { .. }
        | Record::Ended { .. } => false,
    };
    if entries.iter().any(approves) {
        left.push("the approval of its plan".to_owned());
    }
    Ok(format!("not taken over: {}", left.join(", ")))
}

fn read(file: &Path) -> Result<String, CommandError> {
    if file == Path::new("-") {
        let name = Path::new("standard input");
        return read_run(std::io::stdin(), name);
    }
    let opened = File::open(file).map_err(|error| CommandError::unreadable(file, &error))?;
    read_run(opened, file)
}

/// Reads the text of a run, unless its first byte shows that it is none: a device may give bytes without end.
fn read_run(mut from: impl Read, name: &Path) -> Result<String, CommandError> {
    let unreadable = |error: std::io::Error| CommandError::unreadable(name, &error);
    let head = text_file::at_most(&mut from, HEAD).map_err(unreadable)?;
    let begins = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&head);
    match begins.trim_ascii_start().first() {
        Some(b'{') => text_file::text(head.as_slice().chain(from), MAX_BYTES).map_err(unreadable),
        _ => Err(CommandError::new(format!(
            "`{}` is no run to take in: it does not begin with an object",
            name.display()
        ))
        .hint(NO_RUN)),
    }
}

/// `planwright prune`
pub(crate) fn prune(arguments: &PruneArguments, printer: Printer) -> Result<Exit, CommandError> {
    const DAY: std::time::Duration = std::time::Duration::from_hours(24);
    let now = run_storage::now();
    let age = match (arguments.older_than, arguments.keep) {
        (Some(age), _) => Some(age),
        // `--keep` alone deletes all others, of any age.
        (None, Some(_)) => None,
        (None, None) => u32::try_from(USUAL_DAYS).ok().map(|days| DAY * days),
    };
    let prune = Prune {
        before: age.map_or(now, |age| {
            now.checked_sub(age).unwrap_or(std::time::UNIX_EPOCH)
        }),
        keep: arguments.keep.unwrap_or(0),
        unfinished: arguments.unfinished,
        dry_run: arguments.dry_run,
    };
    let store = store::open(&arguments.store, printer)?;
    let pruned = store
        .prune(&prune, &store::this_process())
        .map_err(store::explain)?;
    for run in &pruned.runs {
        printer.data_line(run);
    }
    for run in &pruned.held {
        let run = run_storage::short(run);
        printer.status(&format!("the run {run} is left alone: a process has it"));
    }
    let runs = counted(pruned.runs.len(), "run");
    let would = if arguments.dry_run { "would be " } else { "" };
    printer.status(&if pruned.runs.is_empty() {
        format!("no run {would}forgotten")
    } else {
        format!("{runs} {would}forgotten, {} given back", size(pruned.bytes))
    });
    Ok(Exit::Success)
}

/// `512 bytes`, `3.4 KiB`, `1.2 MiB`.
fn size(bytes: u64) -> String {
    const STEP: u64 = 1024;
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..STEP => counted(bytes, "byte"),
        _ if bytes < STEP * STEP => format!("{} KiB", tenths(STEP)),
        _ => format!("{} MiB", tenths(STEP * STEP)),
    }
}
