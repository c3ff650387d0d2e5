//! `planwright waiting`: all calls that wait for a decision, of all runs, with or without a process that drives them.

use planwright::engine::RunStatus;
use planwright::format::WaitingV1;
use planwright::terminal_text;
use planwright_store::{RunFilter, RunInfo, RunState, Store};

use super::decide::OpenCall;
use crate::args::{Format, RunFormat, WaitingArguments};
use crate::error::{CommandError, Exit};
use crate::runs::list::plan_name;
use crate::runs::store;
use crate::view::output;
use crate::view::printer::{BOLD, Printer, counted, styled};

/// `planwright waiting`
pub(crate) fn waiting(
    arguments: &WaitingArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let mut calls = Vec::new();
    if let Some(store) = store::open_existing(&arguments.store)? {
        for mut run in unfinished(&store)? {
            // A header that cannot be read is reported with the calls.
            if let Ok(name) = plan_name(&store, &run.id, run.plan.as_deref()) {
                run.plan = name;
            }
            match OpenCall::undecided(&store, &run.id) {
                Ok(open) => calls.extend(open.into_iter().map(|call| (run.clone(), call))),
                // A run that cannot be read must not hide the others.
                Err(error) => printer.quote(&format!(
                    "warning: the run {} cannot be read: {error}",
                    store::short_id(&run.id)
                )),
            }
        }
    }
    match arguments.format {
        Format::Json => {
            let calls = calls.iter().map(|(_, call)| call.to_wire());
            output::json(&WaitingV1::new(calls.collect()), RunFormat::Json, printer)?;
        }
        Format::Text if calls.is_empty() => printer.status("no call waits for a decision"),
        Format::Text => print(&calls, printer),
    }
    Ok(Exit::Success)
}

/// The runs that may have open questions, the newest first.
fn unfinished(store: &Store) -> Result<Vec<RunInfo>, CommandError> {
    let runs = store.runs(&RunFilter::default()).map_err(store::explain)?;
    let is_unfinished = |run: &RunInfo| match run.state {
        RunState::Open | RunState::Ended(RunStatus::Waiting) => true,
        RunState::Ended(RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled) => false,
    };
    Ok(runs.into_iter().filter(is_unfinished).collect())
}

fn print(calls: &[(RunInfo, OpenCall)], printer: Printer) {
    for (index, group) in calls
        .chunk_by(|(one, _), (next, _)| one.id == next.id)
        .enumerate()
    {
        if index > 0 {
            printer.data_line("");
        }
        let Some((run, _)) = group.first() else {
            continue;
        };
        let short = store::short_id(&run.id);
        let plan = run.plan.as_deref().map(terminal_text::one_line);
        let plan = plan.map_or_else(String::new, |plan| format!(" of `{plan}`"));
        let driven = match run.holder {
            Some(_) => "running, continues once all are decided",
            None => "not running",
        };
        printer.data_line(&format!("{}{plan}: {driven}", styled(BOLD, short)));
        for (_, call) in group {
            printer.data_line(&format!("\n{}", call.text()));
        }
    }
    let runs = calls
        .chunk_by(|(one, _), (next, _)| one.id == next.id)
        .count();
    printer.status(&format!(
        "{} of {}",
        counted(calls.len(), "call"),
        counted(runs, "run")
    ));
    printer
        .hint("`planwright approve RUN` shows all calls of a run, and decides about them at once");
}
