//! `planwright logs RUN`: what a run did, call by call.

mod text;

use std::time::SystemTime;

use planwright::core::StepId;
use planwright::engine::event::Address;
use planwright::format::{EntryV1, LogV1};
use planwright::stored::StoredRun;

use crate::args::{LogFormat, LogsArguments, RunFormat};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::question::ambiguous;
use crate::runs::list;
use crate::store;
use crate::view::output;

/// `planwright logs RUN`
pub(crate) fn logs(arguments: &LogsArguments, printer: Printer) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let info = store.run(&arguments.run).map_err(store::explain)?;
    let kept = StoredRun::read(&store, &info.id)?;
    let step = arguments.step.as_deref();
    let step = step
        .map(|step| address(step, &kept, info.created))
        .transpose()?;
    let step = step.as_deref();
    let entries = || EntryV1::of(&kept.entries, info.created, step);
    let log = || LogV1::new(list::described(&info), info.created, &kept.entries, step);
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

/// The address of the step, item or round that `step` names, as the entries show it.
fn address(step: &str, kept: &StoredRun, created: SystemTime) -> Result<String, CommandError> {
    let ids = kept.step_ids();
    let planned = ids.iter().map(|id| Address::of_step(StepId::new(&**id)));
    let mut known: Vec<Address> = planned.collect();
    let recorded = kept
        .entries
        .iter()
        .filter_map(|entry| entry.record.address());
    known.extend(recorded.map(|at| Address::clone(at)));
    match Address::find(step, &known) {
        Ok(Some(at)) => Ok(at.to_string()),
        Ok(None) if !EntryV1::of(&kept.entries, created, Some(step)).is_empty() => {
            Ok(step.to_owned())
        }
        Ok(None) => {
            let error = CommandError::new(format!("the run has no step `{step}`"));
            let near =
                planwright::dialects::document::nearest(step, ids.iter().map(String::as_str));
            Err(match near {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error,
            })
        }
        Err(similar) => Err(ambiguous(step, &similar)),
    }
}
