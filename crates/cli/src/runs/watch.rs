//! `planwright runs --watch`: the list of runs, again whenever it changes.

use std::time::Duration;

use super::list;
use crate::args::{Format, RunFormat, RunsArguments};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::system::signals::Signals;
use crate::view::output;
use crate::view::printer::Printer;

/// The time between two looks at the store.
const INTERVAL: Duration = Duration::from_millis(500);

/// `planwright runs --watch`. Lists the runs until a signal arrives.
pub(crate) async fn watch(
    arguments: &RunsArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let mut signal = Signals::new()?.insist();
    let mut clock = tokio::time::interval(INTERVAL);
    let mut shown = None;
    loop {
        tokio::select! {
            _ = clock.tick() => {}
            _ = &mut signal => return Ok(Exit::Success),
        }
        let runs = list::selected(&store, arguments)?;
        let text = match arguments.format {
            Format::Text => list::text(&store, &runs)?,
            Format::Json => String::new(),
        };
        // Times that go on are no change of the JSON, whose reader has a clock.
        let state = runs
            .iter()
            .map(|run| (run.id.clone(), run.status, run.done, run.calls));
        let now = (state.collect::<Vec<_>>(), text);
        if shown.as_ref() == Some(&now) {
            continue;
        }
        let is_drawn = arguments.format == Format::Text && Printer::is_watched();
        if is_drawn {
            Printer::clear();
        }
        match arguments.format {
            Format::Json => output::json(&list::document(runs), RunFormat::Events, printer)?,
            Format::Text if runs.is_empty() => printer.status("no run matches"),
            Format::Text => printer.data(&now.1),
        }
        if is_drawn {
            printer.status("watching the runs; Ctrl-C ends");
        }
        shown = Some(now);
    }
}
