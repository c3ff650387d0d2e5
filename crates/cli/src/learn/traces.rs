//! The traces of a command: files, and stored runs.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use planwright::engine::journal::Entry;
use planwright_learn::reader::{SessionCall, detect, trace_of_run, trace_of_session};
use planwright_learn::{ReadError, Trace, TraceAnswer, TraceFormat, read};
use planwright_store::{ExportedRun, RunInfo, Store};

use crate::args::{LearnArguments, TraceFormatArgument};
use crate::error::CommandError;
use crate::runs::selector::find_run;
use crate::runs::store;
use crate::system::text_file;

/// The maximum size of a file of traces, in bytes.
const MAX_BYTES: u64 = 1 << 28;

/// Reads the traces that the arguments name.
pub(super) fn named(arguments: &LearnArguments) -> Result<Vec<Trace>, CommandError> {
    let mut traces = Vec::new();
    for file in &arguments.files {
        traces.extend(of_file_or_part(file, arguments.traces)?);
    }
    if !arguments.runs.is_empty() || !arguments.sessions.is_empty() {
        let Some(store) = store::open_existing(&arguments.store)? else {
            return Err(CommandError::new(
                "there is no store, so there are no runs and sessions",
            ));
        };
        for selector in &arguments.runs {
            let run = find_run(&store, Some(selector))?;
            traces.push(of_run(&store, &run)?);
        }
        for selector in &arguments.sessions {
            traces.push(of_session(&store, selector)?);
        }
    }
    Ok(traces)
}

/// Returns the trace of a stored run.
pub(super) fn of_run(store: &Store, run: &RunInfo) -> Result<Trace, CommandError> {
    let entries: Result<Vec<Entry>, _> = store
        .entries(run.id.as_str())
        .and_then(Iterator::collect)
        .map_err(store::explain);
    let name = store::short_id(&run.id).to_owned();
    Ok(with_time(
        trace_of_run(&name, &entries?),
        run.created,
        run.duration,
    ))
}

/// Returns the trace of a session of a client: of its calls without a plan.
pub(super) fn of_session(store: &Store, selector: &str) -> Result<Trace, CommandError> {
    let (session, calls) = store.calls_of_session(selector).map_err(store::explain)?;
    let calls = calls.into_iter().map(|call| SessionCall {
        tool: call.tool.as_str().into(),
        args: call.args,
        answer: match call.answer {
            Some(Ok(output)) => TraceAnswer::Output(output),
            Some(Err(message)) => TraceAnswer::Failed(message),
            None => TraceAnswer::Missing,
        },
        began: call.began,
        ended: call.ended,
        is_exposed: call.is_exposed,
    });
    Ok(trace_of_session(store::short_id(&session.id), calls))
}

fn with_time(trace: Trace, created: SystemTime, duration: Duration) -> Trace {
    let ended = created.duration_since(UNIX_EPOCH).unwrap_or_default() + duration;
    Trace {
        ended_unix_ms: u64::try_from(ended.as_millis()).ok(),
        ..trace
    }
}

/// Reads the traces of a file, or the one that is named as `recurring` names it: `FILE#2` is the second one of `FILE`.
fn of_file_or_part(file: &Path, format: TraceFormatArgument) -> Result<Vec<Trace>, CommandError> {
    let name = file.display().to_string();
    if let Some((whole, number)) = name.rsplit_once('#')
        && number.parse::<usize>().is_ok()
        && !file.exists()
        && Path::new(whole).exists()
    {
        let mut traces = of_file(Path::new(whole), format)?;
        traces.retain(|trace| trace.name == name);
        if !traces.is_empty() {
            return Ok(traces);
        }
    }
    of_file(file, format)
}

fn of_file(file: &Path, format: TraceFormatArgument) -> Result<Vec<Trace>, CommandError> {
    let unreadable = |error: std::io::Error| CommandError::unreadable(file, &error);
    let text = if file == Path::new("-") {
        text_file::text(std::io::stdin(), MAX_BYTES).map_err(unreadable)?
    } else {
        let opened = std::fs::File::open(file).map_err(unreadable)?;
        text_file::text(opened, MAX_BYTES).map_err(unreadable)?
    };
    let name = file.display().to_string();
    let explain = |error: ReadError| {
        let names = TraceFormat::ALL.map(TraceFormat::as_str).join(", ");
        CommandError::new(format!("`{name}` cannot be read: {error}"))
            .hint(format!("`--traces FORMAT` names the format: {names}"))
    };
    let format = match format {
        TraceFormatArgument::Auto => match detect(&text) {
            Some(format) => format,
            // A text that is not JSON has a more exact reason.
            None => {
                return read(&name, &text, TraceFormat::OpenAi).map_err(|error| match error {
                    ReadError::NotJson { .. } => explain(error),
                    ReadError::UnknownFormat
                    | ReadError::NoCalls { .. }
                    | ReadError::Malformed(_) => explain(ReadError::UnknownFormat),
                });
            }
        },
        TraceFormatArgument::Openai => TraceFormat::OpenAi,
        TraceFormatArgument::Anthropic => TraceFormat::Anthropic,
        TraceFormatArgument::Otel => TraceFormat::Otel,
        TraceFormatArgument::Run => TraceFormat::Run,
    };
    match format {
        TraceFormat::Run => {
            let run = ExportedRun::read(&text).map_err(store::explain)?;
            let duration = run.entries.last().map(|entry| entry.at).unwrap_or_default();
            let trace = trace_of_run(&name, &run.entries);
            Ok(vec![with_time(trace, run.created, duration)])
        }
        TraceFormat::OpenAi | TraceFormat::Anthropic | TraceFormat::Otel => {
            read(&name, &text, format).map_err(explain)
        }
    }
}
