//! `planwright check --watch`: repeats the check whenever a file that it reads changes. The files are polled: there are few of them, and
//! a poll costs microseconds. Events of the system would be lost on network file systems and in mounted folders of containers, and would
//! follow the old file if an editor replaces it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::fix::plan_in_file;
use super::single;
use crate::args::{CheckArguments, Format};
use crate::error::{CommandError, Exit};
use crate::setup::settings;
use crate::system::signals::Signals;
use crate::system::text_file::{self, FileState};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox;
use crate::view::printer::{Printer, counted};

/// The interval of polling: short enough for a person, and long enough for an editor to finish its file.
const INTERVAL: Duration = Duration::from_millis(150);

/// `planwright check --watch PLAN…`. Returns the exit status of the last check when a signal arrives.
pub(crate) async fn watch(
    arguments: &CheckArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    for plan in arguments.plans() {
        plan_in_file(&plan.text, "--watch")?;
    }
    let mut signal = Signals::new()?.exit_after_first();
    let mut last = Exit::Interrupted;
    // A server that a check has started lists the same tools shortly afterwards, so its list is used again.
    let repeated = ServerUse::RepeatedLists(Instant::now());
    let mut server_use = if arguments.refresh {
        ServerUse::FreshLists
    } else {
        repeated
    };
    loop {
        // The state is read before the check, so that no change is missed.
        let checked = states(arguments)?;
        let is_drawn = arguments.format == Format::Text && Printer::is_watched();
        if is_drawn {
            Printer::clear();
        }
        tokio::select! {
            exit = Box::pin(single::check(arguments, server_use, printer)) => {
                last = exit.unwrap_or_else(|error| {
                    printer.error(&error);
                    error.exit()
                });
            }
            _ = &mut signal => return Ok(last),
        }
        server_use = repeated;
        if is_drawn {
            let files = counted(checked.values().flatten().count(), "file");
            printer.status(&format!("watching {files}; Ctrl-C ends"));
        }
        tokio::select! {
            changed = changed(&checked, || states(arguments)) => changed?,
            _ = &mut signal => return Ok(last),
        }
    }
}

/// The states of the files. A file that does not exist has none.
pub(crate) type FileStates = BTreeMap<PathBuf, Option<FileState>>;

/// Waits until the state of a file, as `states` reads it, differs from that in `checked`.
pub(crate) async fn changed(
    checked: &FileStates,
    states: impl Fn() -> Result<FileStates, CommandError>,
) -> Result<(), CommandError> {
    let mut clock = tokio::time::interval(INTERVAL);
    loop {
        clock.tick().await;
        if states()? != *checked {
            break;
        }
    }
    // An editor may write a file in several parts.
    let mut before = states()?;
    loop {
        clock.tick().await;
        let now = states()?;
        if now == before {
            return Ok(());
        }
        before = now;
    }
}

/// The state of all files that the check reads.
fn states(arguments: &CheckArguments) -> Result<FileStates, CommandError> {
    let mut files: Vec<PathBuf> = arguments.plans().map(|plan| plan.text.plan).collect();
    let tools = &arguments.tools;
    files.extend(arguments.plan.vars_file.clone());
    files.extend(tools.simulate.clone());
    files.extend(settings::candidates(Path::new("."))?);
    if tools.simulate.is_none() {
        files.extend(toolbox::servers_file_candidates(tools)?);
    }
    if let Some(folder) = &arguments.plan.library {
        // A missing folder is an error of the check.
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.extend(entries.map(|entry| entry.path()));
        files.push(folder.clone());
    }
    Ok(states_of(files))
}

/// The states of `files`.
pub(crate) fn states_of(files: Vec<PathBuf>) -> FileStates {
    let states = files.into_iter().map(|file| {
        let state = text_file::state(&file);
        (file, state)
    });
    states.collect()
}
