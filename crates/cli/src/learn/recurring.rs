//! `planwright learn --from CLIENT`: work that recurs in stored runs and sessions.

use std::time::{Duration, UNIX_EPOCH};

use planwright::core::{Catalog, Tool};
use planwright::format::{RecurringV1, RecurringWorkV1, RunV1, timestamp};
use planwright::terminal_text::one_line;
use planwright_learn::Trace;
use planwright_learn::recurrence::recurring;
use planwright_store::RunFilter;

use super::traces;
use crate::args::{Format, LearnArguments, RunFormat};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::view::output;
use crate::view::printer::{Printer, counted};

/// The name that stands for all clients.
const ALL: &str = "all";

/// Maximum number of runs that are compared, the newest ones, and of sessions.
const MAX_RUNS: usize = 1000;

/// Maximum number of calls of the sessions that are compared, the newest ones.
const MAX_CALLS: usize = 10_000;

/// Maximum number of traces that a command names.
const MAX_NAMED: usize = 5;

/// Lists the work that recurs in the runs and sessions of `client`, and in the files of the arguments.
pub(super) fn list(
    client: &str,
    arguments: &LearnArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let mut found = traces::named(arguments)?;
    let files = found.len();
    let mut runs = files;
    if let Some(store) = store::open_existing(&arguments.store)? {
        let filter = RunFilter {
            limit: Some(MAX_RUNS),
            ..RunFilter::default()
        };
        for run in store.runs(&filter).map_err(store::explain)? {
            let header = store.header(run.id.as_str()).map_err(store::explain)?;
            let owner = RunV1::from_value(&header)
                .ok()
                .and_then(|header| header.client);
            if client == ALL || owner.as_deref() == Some(client) {
                found.push(traces::of_run(&store, &run)?);
            }
        }
        runs = found.len();
        let only = (client != ALL).then_some(client);
        let sessions = store.call_sessions(only, None, Some(MAX_RUNS));
        let mut calls = 0;
        let mut left_out = 0_usize;
        for session in sessions.map_err(store::explain)? {
            calls += session.calls;
            if calls <= MAX_CALLS {
                found.push(traces::of_session(&store, &session.id)?);
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            printer.status(&format!(
                "{} left out, since the newer ones have {MAX_CALLS} calls or more",
                counted(left_out, "session")
            ));
        }
    }
    let catalog = assumed_catalog(&found);
    for trace in &mut found {
        trace.resolve(&catalog);
    }
    let works: Vec<RecurringWorkV1> = recurring(&found, &catalog, 2)
        .into_iter()
        .map(|work| {
            let names = work
                .traces
                .iter()
                .filter_map(|position| Some((*position, found.get(*position)?)));
            let words: Vec<String> = names
                .clone()
                .take(MAX_NAMED)
                .map(|(position, trace)| {
                    let name = store::shell_word(&trace.name);
                    if position < files {
                        name
                    } else if position < runs {
                        format!("--run {name}")
                    } else {
                        format!("--session {name}")
                    }
                })
                .collect();
            RecurringWorkV1 {
                tools: work.tools,
                count: work.traces.len(),
                last: work
                    .last_unix_ms
                    .and_then(|time| UNIX_EPOCH.checked_add(Duration::from_millis(time)))
                    .map(timestamp),
                traces: names.map(|(_, trace)| trace.name.clone()).collect(),
                command: format!("planwright learn {}", words.join(" ")),
            }
        })
        .collect();
    match arguments.format {
        Format::Json => {
            output::json(&RecurringV1::new(works), RunFormat::Json, printer)?;
        }
        Format::Text => {
            for work in &works {
                let last = work
                    .last
                    .as_ref()
                    .map_or(String::new(), |last| format!(", last {last}"));
                let line = format!(
                    "{}{last}: {}",
                    counted(work.count, "time"),
                    work.tools.join(", ")
                );
                printer.data_line(&one_line(&line));
                printer.data_line(&format!("  {}", one_line(&work.command)));
            }
            if works.is_empty() {
                printer.status(&format!(
                    "nothing recurs in {}",
                    counted(found.len(), "trace")
                ));
            }
        }
    }
    Ok(Exit::Success)
}

/// Returns a catalog that has all tools of the traces, without schemas.
pub(super) fn assumed_catalog(traces: &[Trace]) -> Catalog {
    let names = traces
        .iter()
        .flat_map(|trace| &trace.calls)
        .map(|call| &call.tool);
    names
        .map(|name| {
            let bare = name.strip_prefix("mcp__").unwrap_or(name);
            let (server, tool) = bare
                .split_once('.')
                .or_else(|| bare.split_once("__"))
                .unwrap_or(("unknown", bare));
            Tool::new(server, tool)
        })
        .collect()
}
