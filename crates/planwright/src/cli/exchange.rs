//! `planwright export`, `import` and `prune`: runs that leave the store, or come into it.

use std::fs::File;
use std::path::Path;

use planwright_store::{Prune, StoreError};

use super::args::{ExportArguments, ImportArguments, PruneArguments};
use super::convert::{may_write, write};
use super::error::CommandError;
use super::exit::Exit;
use super::live::words::counted;
use super::printer::Printer;
use super::{keeping, store, text_file};

/// How old a run is that is forgotten where nothing else is said, in days.
const USUAL_DAYS: u64 = 30;

/// The most bytes that a run may have which is taken in.
const MOST: u64 = 1 << 30;

/// `planwright export RUN`
pub(crate) fn export(arguments: &ExportArguments, printer: Printer) -> Result<Exit, CommandError> {
    if let Some(file) = &arguments.output {
        may_write(file, arguments.force)?;
    }
    let store = store::open(&arguments.store)?;
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
    let store = store::open(&arguments.store)?;
    let imported = store.import(&text).map_err(|error| {
        let is_no_run = matches!(error, StoreError::Format(_));
        let explained = store::explain(error);
        if is_no_run {
            explained.hint("take a file that `planwright export RUN -o FILE` wrote")
        } else {
            explained
        }
    })?;
    let run = keeping::short(&imported.id);
    printer.talk(&if imported.is_new {
        format!("look at it with `planwright show {run}` or `planwright logs {run}`")
    } else {
        format!("the run {run} was there already, just as it is")
    });
    printer.data_line(&imported.id);
    Ok(Exit::Success)
}

fn read(file: &Path) -> Result<String, CommandError> {
    if file == Path::new("-") {
        return text_file::text(std::io::stdin(), MOST)
            .map_err(|error| CommandError::unreadable(Path::new("standard input"), &error));
    }
    File::open(file)
        .and_then(|opened| text_file::text(opened, MOST))
        .map_err(|error| CommandError::unreadable(file, &error))
}

/// `planwright prune`
pub(crate) fn prune(arguments: &PruneArguments, printer: Printer) -> Result<Exit, CommandError> {
    const DAY: std::time::Duration = std::time::Duration::from_hours(24);
    let now = keeping::now();
    let age = match (arguments.older_than, arguments.keep) {
        (Some(age), _) => Some(age),
        // Who says how many are to be kept wants to keep no others.
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
    let store = store::open(&arguments.store)?;
    let pruned = store
        .prune(&prune, &store::this_process())
        .map_err(store::explain)?;
    for run in &pruned.runs {
        printer.data_line(run);
    }
    for run in &pruned.held {
        let run = keeping::short(run);
        printer.talk(&format!("the run {run} is left alone: a process has it"));
    }
    let runs = counted(pruned.runs.len(), "run");
    let would = if arguments.dry_run { "would be " } else { "" };
    printer.talk(&if pruned.runs.is_empty() {
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
