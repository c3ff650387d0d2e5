//! `planwright runs`: the stored runs.

use std::time::Duration;

use anstyle::Style;
use planwright::engine::RunStatus;
use planwright::format::{RunListingV1, RunsV1};
use planwright::terminal_text;
use planwright_store::{RunFilter, RunInfo, RunState};

use super::{run_storage, store};
use crate::approval::question::OpenCall;
use crate::args::{Format, RunFormat, RunStateArgument, RunsArguments};
use crate::error::{CommandError, Exit};
use crate::system::environment;
use crate::tools::changed_tools;
use crate::view::live::words::{BAD, BUSY, DIM, GOOD, ODD, styled, time};
use crate::view::output;
use crate::view::printer::Printer;

/// The longest name of a plan that is shown whole, in columns.
const MAX_NAME_WIDTH: usize = 32;

/// `planwright runs`
pub(crate) fn runs(arguments: &RunsArguments, printer: Printer) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let filter = RunFilter {
        standing: arguments.status.map(run_state),
        plan: arguments.plan.clone(),
        since: arguments
            .since
            .map(|since| since.begins(run_storage::now())),
        limit: arguments.limit,
    };
    let found = store.runs(&filter).map_err(store::explain)?;
    let runs: Vec<RunListingV1> = found.iter().map(described).collect();
    match arguments.format {
        Format::Json => output::json(&RunsV1::new(runs), RunFormat::Json, printer)?,
        Format::Text if runs.is_empty() => printer.status(match filter {
            RunFilter {
                standing: None,
                plan: None,
                since: None,
                ..
            } => "no runs are stored yet",
            _ => "no run matches",
        }),
        Format::Text => {
            printer.data(&table(&runs));
            if filter.standing == Some(RunState::Ended(RunStatus::Waiting)) {
                for run in &runs {
                    for call in OpenCall::of_stored(&store, &run.id)? {
                        printer.data_line(&format!("\n{}", call.text()));
                    }
                }
            }
        }
    }
    changed_tools::mention(&store, printer)?;
    Ok(Exit::Success)
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

/// Returns a run as documents list it.
pub(crate) fn described(info: &RunInfo) -> RunListingV1 {
    let holder = info.holder.as_ref();
    // A holder without a lock file has no name any more.
    let known = holder.filter(|holder| holder.pid != 0);
    RunListingV1 {
        status: match (holder, info.standing) {
            (Some(_), _) => "running",
            (None, RunState::Ended(status)) => status.as_str(),
            (None, RunState::Open) => "interrupted",
        },
        imported: info.imported.is_some(),
        pid: known.map(|holder| holder.pid),
        host: known.map(|holder| holder.host.clone()),
        plan: info.plan.clone(),
        digest: info.digest.clone(),
        dialect: info.dialect.clone(),
        steps: info.steps,
        // One that was tried anew has ended more than once.
        done: info.done.min(info.steps),
        calls: info.calls,
        ..RunListingV1::new(&info.id, info.created, info.duration)
    }
}

/// Returns a table with one line a run, below a heading.
fn table(runs: &[RunListingV1]) -> String {
    let here = environment::host();
    let rows: Vec<[String; 7]> = runs.iter().map(|run| row(run, &here)).collect();
    let titles = [
        "run",
        "began (UTC)",
        "status",
        "plan",
        "steps",
        "calls",
        "time",
    ];
    let widths: Vec<usize> = titles
        .iter()
        .enumerate()
        .map(|(column, title)| {
            let entries = rows.iter().map(|row| terminal_text::width(&row[column]));
            entries.chain([title.len()]).max().unwrap_or(0)
        })
        .collect();
    let line = |entries: &[String; 7], style: &dyn Fn(usize, String) -> String| {
        let mut cells = Vec::new();
        for (column, entry) in entries.iter().enumerate() {
            let gap = widths[column].saturating_sub(terminal_text::width(entry));
            let cell = match column {
                4 | 5 => format!("{}{entry}", " ".repeat(gap)),
                6 => entry.clone(),
                _ => terminal_text::padded(entry, widths[column]),
            };
            cells.push(style(column, cell));
        }
        cells.join("  ") + "\n"
    };
    let mut text = line(&titles.map(str::to_owned), &|_, cell| styled(DIM, cell));
    for (run, row) in runs.iter().zip(&rows) {
        text += &line(row, &|column, cell| match column {
            2 => styled(status_style(run.status), cell),
            _ => cell,
        });
    }
    text
}

fn row(run: &RunListingV1, here: &str) -> [String; 7] {
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
    let plan = run.plan.as_deref().unwrap_or("–");
    [
        run_storage::short(&run.id).to_owned(),
        moment(&run.created),
        status,
        terminal_text::shortened(&terminal_text::one_line(plan), MAX_NAME_WIDTH, "…").into_owned(),
        format!("{}/{}", run.done, run.steps),
        run.calls.to_string(),
        time(span(run.duration_ms)),
    ]
}

/// A point in time, as people read it.
pub(crate) fn moment(timestamp: &str) -> String {
    let whole = timestamp.split('.').next().unwrap_or(timestamp);
    whole.replace('T', " ")
}

/// A stretch of time from its milliseconds.
pub(crate) fn span(milliseconds: f64) -> Duration {
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
