//! `planwright runs --watch`: prints the list of runs whenever it changes.

use std::collections::HashMap;
use std::time::Duration;

use planwright::engine::RunId;
use planwright::format::RunListingV1;

use super::list;
use crate::args::{Format, RunFormat, RunsArguments};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::system::signals::Signals;
use crate::view::output;
use crate::view::printer::Printer;

/// The interval of polling for runs in progress. Polling is needed because elapsed times grow, and a killed process stores nothing.
const INTERVAL: Duration = Duration::from_millis(500);

/// `planwright runs --watch`. Lists the runs until a signal arrives: all of them in a terminal and as JSON, else the changed ones.
pub(crate) async fn watch(
    arguments: &RunsArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let mut signal = Signals::new()?.exit_after_first();
    let mut changes = store.watch_changes().map_err(store::explain)?;
    let mut is_live = false;
    let mut shown = None;
    let mut drawn = String::new();
    loop {
        tokio::select! {
            changed = changes.next() => changed.map_err(store::explain)?,
            () = tokio::time::sleep(INTERVAL), if is_live => {}
            _ = &mut signal => return Ok(Exit::Success),
        }
        let runs = match list::selected(&store, arguments) {
            // The last list stays until the server can be reached again.
            Err(error) if error.is_transient() => {
                is_live = true;
                continue;
            }
            selected => selected.map_err(store::explain)?,
        };
        is_live = runs.iter().any(|run| run.pid.is_some());
        let states = states(&runs);
        let is_first = shown.is_none();
        let before = shown.replace(states).unwrap_or_default();
        let is_changed = |run: &RunListingV1| before.get(&run.id) != Some(&state(run));
        let is_same = !is_first && before.len() == runs.len() && !runs.iter().any(is_changed);
        match arguments.format {
            // Elapsed times are not a change of the JSON, whose reader has a clock.
            Format::Json if is_same => {}
            Format::Json => output::json(&list::document(runs), RunFormat::Events, printer)?,
            Format::Text if Printer::shows_both() => {
                let text = list::text(&store, &runs)?;
                if !is_first && text == drawn {
                    continue;
                }
                Printer::clear();
                if runs.is_empty() {
                    printer.status("no run matches");
                } else {
                    printer.data(&text);
                }
                printer.status("watching the runs; Ctrl-C ends");
                drawn = text;
            }
            Format::Text if runs.is_empty() && is_first => printer.status("no run matches"),
            Format::Text => {
                let changed: Vec<RunListingV1> = runs.into_iter().filter(is_changed).collect();
                if changed.is_empty() {
                    continue;
                }
                let text = list::text(&store, &changed)?;
                // The heading is printed once, above the first runs.
                let rows = text.split_once('\n').map_or("", |(_, rows)| rows);
                printer.data(if before.is_empty() { &text } else { rows });
            }
        }
    }
}

/// The part of a run whose change is shown.
type State = (&'static str, usize, usize);

fn state(run: &RunListingV1) -> State {
    (run.status, run.done, run.calls)
}

fn states(runs: &[RunListingV1]) -> HashMap<RunId, State> {
    runs.iter()
        .map(|run| (run.id.clone(), state(run)))
        .collect()
}
