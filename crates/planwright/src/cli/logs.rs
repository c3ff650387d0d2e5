//! `planwright logs RUN`: what a run did, call by call.

mod text;

use planwright::kept::KeptRun;
use planwright::wire::{EntryV1, LogV1};
use planwright_store::RunInfo;

use super::args::{LogFormat, LogsArguments, RunFormat};
use super::error::CommandError;
use super::exit::Exit;
use super::printer::Printer;
use super::{output, runs, store};

/// `planwright logs RUN`
pub(crate) fn logs(arguments: &LogsArguments, printer: Printer) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let info = store.run(&arguments.run).map_err(store::explain)?;
    let kept = KeptRun::read(&store, &info.id)?;
    let step = arguments.step.as_deref();
    if let Some(step) = step {
        known(step, &kept, &info)?;
    }
    let entries = || EntryV1::of(&kept.entries, info.created, step);
    let log = || LogV1::new(runs::described(&info), info.created, &kept.entries, step);
    match arguments.format {
        LogFormat::Text => printer.data(&text::text(&log(), Printer::data_width())),
        LogFormat::Json => output::json(&log(), RunFormat::Json, printer)?,
        LogFormat::Events => {
            for entry in entries() {
                output::json(&entry, RunFormat::Events, printer)?;
            }
        }
    }
    Ok(Exit::Success)
}

/// Makes sure that the run has heard of a step.
fn known(step: &str, kept: &KeptRun, info: &RunInfo) -> Result<(), CommandError> {
    if !EntryV1::of(&kept.entries, info.created, Some(step)).is_empty() {
        return Ok(());
    }
    let ids = kept.step_ids();
    if ids.iter().any(|id| id == step) {
        return Ok(());
    }
    let error = CommandError::new(format!("the run has no step `{step}`"));
    let near = planwright::dialects::document::nearest(step, ids.iter().map(String::as_str));
    Err(match near {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    })
}
