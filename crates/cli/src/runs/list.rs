//! `planwright runs`: the stored runs.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anstyle::Style;
use planwright::engine::RunId;
use planwright::engine::RunStatus;
use planwright::format::{RunListingV1, RunV1, RunsV1};
use planwright::stored::listing;
use planwright::terminal_text;
use planwright_store::{RunFilter, RunState, Store, StoreError};

use super::store;
use crate::approval::decide::OpenCall;
use crate::args::{Format, RunFormat, RunStateArgument, RunsArguments};
use crate::error::{CommandError, Exit};
use crate::system::environment;
use crate::tools::changed_tools;
use crate::view::output;
use crate::view::printer::Printer;
use crate::view::printer::{BAD, BUSY, DIM, GOOD, ODD, styled, time};

/// The maximum width of the name of a plan, in columns.
const MAX_NAME_WIDTH: usize = 32;

/// `planwright runs`
pub(crate) fn runs(arguments: &RunsArguments, printer: Printer) -> Result<Exit, CommandError> {
    if arguments.sessions {
        return super::sessions::list(arguments, printer);
    }
    let filter = filter(arguments);
    // Listing no runs must not create a store.
    let Some(store) = store::open_existing(&arguments.store)? else {
        match arguments.format {
            Format::Json => output::json(&document(Vec::new()), RunFormat::Json, printer)?,
            Format::Text => printer.status("no runs are stored yet"),
        }
        return Ok(Exit::Success);
    };
    let runs = selected(&store, arguments).map_err(store::explain)?;
    match arguments.format {
        Format::Json => output::json(&document(runs), RunFormat::Json, printer)?,
        Format::Text if runs.is_empty() => printer.status(match filter {
            RunFilter {
                state: None,
                plan: None,
                since: None,
                ..
            } => "no runs are stored yet",
            _ => "no run matches",
        }),
        Format::Text => {
            let mut text = text(&store, &runs)?;
            if filter.state == Some(RunState::Ended(RunStatus::Waiting)) {
                for run in &runs {
                    for call in OpenCall::of_stored(&store, &run.id)? {
                        // Writing to a text cannot fail.
                        let _ = writeln!(text, "\n{}", call.text());
                    }
                }
            }
            printer.pages(&text);
        }
    }
    changed_tools::report_pending(&store, printer)?;
    Ok(Exit::Success)
}

fn filter(arguments: &RunsArguments) -> RunFilter {
    RunFilter {
        state: arguments.status.map(run_state),
        plan: arguments.plan.clone(),
        since: arguments.since.map(|since| since.moment(store::now())),
        limit: arguments.limit,
    }
}

/// The runs that the arguments select.
pub(super) fn selected(
    store: &Store,
    arguments: &RunsArguments,
) -> Result<Vec<RunListingV1>, StoreError> {
    let found = store.runs(&filter(arguments))?;
    Ok(found.iter().map(listing).collect())
}

/// The table of `runs`.
pub(super) fn text(store: &Store, runs: &[RunListingV1]) -> Result<String, CommandError> {
    let plans = runs.iter().map(|run| {
        let name = plan_name(store, &run.id, run.plan.as_deref())?;
        Ok(name.unwrap_or_else(|| "–".to_owned()))
    });
    let plans = plans.collect::<Result<Vec<_>, CommandError>>()?;
    let room = if Printer::shows_data() {
        Printer::data_width()
    } else {
        usize::MAX
    };
    Ok(table(runs, &plans, room))
}

/// The document that lists `runs`.
pub(super) fn document(runs: Vec<RunListingV1>) -> RunsV1 {
    RunsV1::new(runs)
}

fn run_state(argument: RunStateArgument) -> RunState {
    match argument {
        RunStateArgument::Succeeded => RunState::Ended(RunStatus::Succeeded),
        RunStateArgument::Failed => RunState::Ended(RunStatus::Failed),
        RunStateArgument::Waiting => RunState::Ended(RunStatus::Waiting),
        RunStateArgument::Cancelled => RunState::Ended(RunStatus::Cancelled),
        RunStateArgument::Open => RunState::Open,
    }
}

/// Returns the `name` of the plan of a run, or else that of its file. `None` if it has neither.
pub(crate) fn plan_name(
    store: &Store,
    run: &RunId,
    name: Option<&str>,
) -> Result<Option<String>, CommandError> {
    if let Some(name) = name {
        return Ok(Some(name.to_owned()));
    }
    let header = store.header(run.as_str()).map_err(store::explain)?;
    let header = RunV1::from_value(&header).ok();
    let source = header.as_ref().map(|header| Path::new(&header.plan.source));
    let file = source.and_then(|path| path.file_name()?.to_str());
    Ok(file.map(str::to_owned))
}

/// The number of columns of the table of runs.
const COLUMNS: usize = 7;

/// The column of the time at which a run began, of its plan, and of the number of its calls.
const BEGAN: usize = 1;
const PLAN: usize = 3;
const CALLS: usize = 5;

/// The minimum width of the names of plans on a narrow terminal, in columns.
const MIN_NAME_WIDTH: usize = 12;

/// Returns a table with a heading and one line for each run. `plans` are the names of their plans. On a narrow terminal, the names of plans
/// are shortened first, then the times; then the number of calls is left out.
fn table(runs: &[RunListingV1], plans: &[String], room: usize) -> String {
    let here = environment::host();
    let titles = ["run", "began", "status", "plan", "steps", "calls", "time"];
    let mut rows: Vec<[String; COLUMNS]> = vec![titles.map(str::to_owned)];
    rows.extend((runs.iter().zip(plans)).map(|(run, plan)| row(run, plan, &here)));
    let mut shown: Vec<usize> = (0..COLUMNS).collect();
    let excess = |rows: &[[String; COLUMNS]], shown: &[usize]| {
        let gaps = 2 * shown.len().saturating_sub(1);
        let widths: usize = shown.iter().map(|column| width(rows, *column)).sum();
        (widths + gaps).saturating_sub(room)
    };
    let shorten = |rows: &mut [[String; COLUMNS]], shown: &[usize]| {
        let width = width(rows, PLAN);
        let width = width
            .saturating_sub(excess(rows, shown))
            .max(MIN_NAME_WIDTH);
        for row in rows {
            row[PLAN] = terminal_text::shortened(&row[PLAN], width, "…").into_owned();
        }
    };
    shorten(&mut rows, &shown);
    if excess(&rows, &shown) > 0 {
        for (row, run) in rows.iter_mut().skip(1).zip(runs) {
            row[BEGAN] = environment::local_time(&run.created, "%m-%d %H:%M");
        }
    }
    if excess(&rows, &shown) > 0 {
        shown.retain(|column| *column != CALLS);
    }
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells = shown.iter().map(|column| {
            let (entry, width) = (&row[*column], width(&rows, *column));
            let cell = match *column {
                4 | CALLS => {
                    let gap = width.saturating_sub(terminal_text::width(entry));
                    format!("{}{entry}", " ".repeat(gap))
                }
                6 => entry.clone(),
                _ => terminal_text::padded(entry, width),
            };
            match (index.checked_sub(1), *column) {
                (None, _) => styled(DIM, cell),
                (Some(run), 2) => styled(status_style(runs[run].status), cell),
                (Some(_), _) => cell,
            }
        });
        text += &cells.collect::<Vec<_>>().join("  ");
        text.push('\n');
    }
    text
}

/// The width of a column of the table of runs.
fn width(rows: &[[String; COLUMNS]], column: usize) -> usize {
    let entries = rows.iter().map(|row| terminal_text::width(&row[column]));
    entries.max().unwrap_or(0)
}

fn row(run: &RunListingV1, plan: &str, here: &str) -> [String; COLUMNS] {
    let status = match (&run.pid, &run.host) {
        (Some(pid), Some(host)) if host != here => {
            format!("running ({pid} on {})", terminal_text::one_line(host))
        }
        (Some(pid), _) => format!("running ({pid})"),
        (None, _) => run.status.to_owned(),
    };
    let status = if run.imported {
        format!("{status}, imported")
    } else {
        status
    };
    [
        store::short_id(&run.id).to_owned(),
        moment(&run.created),
        status,
        terminal_text::shortened(&terminal_text::one_line(plan), MAX_NAME_WIDTH, "…").into_owned(),
        format!("{}/{}", run.done, run.steps),
        run.calls.to_string(),
        time(milliseconds_to_duration(run.duration_ms)),
    ]
}

/// A point in time in the local time zone.
pub(super) fn moment(timestamp: &str) -> String {
    environment::local_time(timestamp, "%Y-%m-%d %H:%M:%S")
}

/// A point in time in the local time zone, with the name of the zone.
pub(crate) fn moment_in_zone(timestamp: &str) -> String {
    environment::local_time(timestamp, "%Y-%m-%d %H:%M:%S %Z")
}

/// Converts milliseconds to a duration.
pub(crate) fn milliseconds_to_duration(milliseconds: f64) -> Duration {
    Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default()
}

pub(crate) fn status_style(status: &str) -> Style {
    match status {
        "succeeded" => GOOD,
        "failed" => BAD,
        "running" => BUSY,
        _ => ODD,
    }
}
