//! `planwright logs RUN`: the journal of a run, as text and as JSON.

use std::fmt::Write as _;
use std::io;
use std::time::SystemTime;

use planwright::core::{StepId, Value};
use planwright::engine::event::Address;
use planwright::format::{EntryV1, ErrorV1, LogLineV1, LogV1, RevisionV1};
use planwright::stored::{StoredRun, listing};
use planwright::{call_view, terminal_text};
use planwright_store::RunInfo;

use super::list::{milliseconds_to_duration, moment_in_zone, plan_name, status_style};
use super::selector::find_run;
use super::store;
use crate::approval::decide::ambiguous;
use crate::args::{LogsArguments, RunFormat};
use crate::error::{CommandError, Exit};
use crate::view::output;
use crate::view::printer::Printer;
use crate::view::printer::{BAD, BOLD, BUSY, DIM, GOOD, ODD, counted, styled, time};

/// `planwright logs RUN`
pub(crate) fn logs(arguments: &LogsArguments, printer: Printer) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let info = find_run(&store, arguments.run.as_deref())?;
    let stored = StoredRun::read(&store, info.id.as_str())?;
    let step = arguments.step.as_deref();
    let step = step
        .map(|step| address(step, &stored, info.created))
        .transpose()?;
    let step = step.as_deref();
    let entries = || EntryV1::of(&stored.entries, info.created, step);
    let log = || LogV1::new(listing(&info), info.created, &stored.entries, step);
    match arguments.format {
        RunFormat::Text => {
            let plan = plan_name(&store, &info.id, info.plan.as_deref())?;
            printer.pages(&text(&log(), plan.as_deref(), Printer::data_width()));
        }
        RunFormat::Json => output::json(&log(), RunFormat::Json, printer)?,
        RunFormat::Events => {
            for entry in entries() {
                output::json(&entry, RunFormat::Events, printer)?;
            }
        }
    }
    Ok(Exit::Success)
}

/// The log of one step of a run.
pub(super) fn of_step(
    stored: &StoredRun,
    info: &RunInfo,
    step: &str,
) -> Result<LogV1, CommandError> {
    let step = address(step, stored, info.created)?;
    let (listing, created) = (listing(info), info.created);
    Ok(LogV1::new(listing, created, &stored.entries, Some(&step)))
}

/// The text of a log with whole values; `plan` is the name of its plan.
pub(super) fn whole_text(log: &LogV1, plan: Option<&str>) -> String {
    text(log, plan, WHOLE_VALUE_WIDTH)
}

/// The width of a line with a whole value, in columns.
const WHOLE_VALUE_WIDTH: usize = 64 * 1024;

/// The address of the step, item or round that `step` names, as the entries show it.
pub(super) fn address(
    step: &str,
    stored: &StoredRun,
    created: SystemTime,
) -> Result<String, CommandError> {
    let ids = stored.step_ids();
    let planned = ids.iter().map(|id| Address::of_step(StepId::new(&**id)));
    let mut known: Vec<Address> = planned.collect();
    let recorded = stored
        .entries
        .iter()
        .filter_map(|entry| entry.record.address());
    known.extend(recorded.map(|at| Address::clone(at)));
    match Address::find(step, &known) {
        Ok(Some(at)) => Ok(at.to_string()),
        Ok(None) if !EntryV1::of(&stored.entries, created, Some(step)).is_empty() => {
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

/// The indent of values below the times.
const MARGIN: &str = "             ";
/// The minimum width of a value, in columns.
const MIN_VALUE_WIDTH: usize = 40;
/// The maximum number of lines of one failure's message.
const MAX_LINES: usize = 8;

/// Formats a log, each line ended, no wider than `width` if possible.
fn text(log: &LogV1, plan: Option<&str>, width: usize) -> String {
    let run = &log.run;
    let plan = plan.unwrap_or("a plan without a name");
    let mut text = format!(
        "run {} of {}: {}, {} of {} done, {} in {}\n",
        styled(BOLD, store::short_id(&run.id)),
        terminal_text::one_line(plan),
        styled(status_style(run.status), run.status),
        run.done,
        counted(run.steps, "step"),
        counted(run.calls, "call"),
        time(milliseconds_to_duration(run.duration_ms))
    );
    for line in &log.lines {
        text += &line_text(line, width);
    }
    text
}

/// Formats one line of a log with its values, each line ended.
pub(super) fn line_text(line: &LogLineV1, width: usize) -> String {
    let mut text = String::new();
    if line.what != "began" {
        let room = width.saturating_sub(MARGIN.len() + 5).max(MIN_VALUE_WIDTH);
        write_event(line, room, &mut text);
        return text;
    }
    let version = line.version.as_deref().unwrap_or("of unknown version");
    let pid = line
        .pid
        .map_or_else(String::new, |pid| format!(", process {pid}"));
    let head = format!("{}  planwright {version}{pid}", moment_in_zone(&line.time));
    let _ = writeln!(text, "\n{}", styled(DIM, head));
    if let Some(revision) = &line.revision {
        let RevisionV1 {
            kind,
            step,
            error,
            model,
            ..
        } = revision;
        let why = format!("{kind} by {model}, since `{step}` failed ({error})");
        let _ = writeln!(text, "{}", styled(DIM, terminal_text::one_line(&why)));
    }
    for retained in &line.retained {
        let shown = retained.shown();
        let _ = writeln!(text, "{}", styled(DIM, terminal_text::one_line(&shown)));
    }
    text
}

fn write_event(line: &LogLineV1, room: usize, text: &mut String) {
    let at = format!("{:>8.3}s", line.at_ms / 1000.0);
    let _ = writeln!(text, "{}  {}", styled(DIM, at), headline(line));
    match (&line.args, line.what) {
        // Arguments of decisions and texts of people are shown as recorded.
        (Some(args), "asked" | "decided") => {
            for line in call_view::arguments(args) {
                let _ = writeln!(text, "{MARGIN}{line}");
            }
        }
        (Some(args), _) => value("with", args, room, text),
        (None, _) => {}
    }
    if let Some(error) = &line.error {
        failure(error, text);
    }
    match (&line.output, line.what) {
        (Some(output), "call") => value("gave", output, room, text),
        (Some(output), _) => value("to", output, room, text),
        (None, _) => {}
    }
    if !line.content.is_empty() {
        let others = counted(line.content.len(), "piece");
        let _ = writeln!(text, "{MARGIN}and {others} of content that is not text");
    }
}

/// Returns the event as a line.
fn headline(line: &LogLineV1) -> String {
    let address = line.address.as_deref().map(terminal_text::one_line);
    let address = styled(BOLD, address.unwrap_or_default());
    let tool = line
        .tool
        .as_deref()
        .map(terminal_text::one_line)
        .unwrap_or_default();
    let server = line
        .server
        .as_deref()
        .map(terminal_text::one_line)
        .unwrap_or_default();
    let tool = format!("{server}.{tool}");
    match line.what {
        "call" => {
            let mark = match line.status {
                Some("succeeded") => styled(GOOD, "✓"),
                Some("failed") => styled(BAD, "✗"),
                Some("running") => styled(BUSY, "◉"),
                Some("given_up") => styled(BAD, "–"),
                _ => styled(ODD, "?"),
            };
            let mut notes = Vec::new();
            if let Some(attempt) = line.attempt.filter(|attempt| *attempt > 1) {
                notes.push(format!("attempt {attempt}"));
            }
            match line.status {
                Some("running") => notes.push("in flight".to_owned()),
                Some("given_up") => notes.push("given up".to_owned()),
                Some("unknown") => {
                    notes.push("its process ended: it may or may not have happened".to_owned());
                }
                _ => {}
            }
            if let Some(took) = line.took_ms {
                notes.push(time(milliseconds_to_duration(took)));
            }
            let notes = styled(DIM, notes.join(", "));
            format!("{mark} {address}  {tool}  {notes}")
        }
        "asked" => format!("{} {address}  asks to call {tool}", styled(ODD, "○")),
        "decided" => decision(line, &address),
        "chosen" => {
            let choice = match line.choice.as_deref() {
                Some("retry") => "is called again",
                Some("skip") => "is skipped",
                _ => "is set",
            };
            format!(
                "{} {address}  {choice}, by a person's choice",
                styled(ODD, "!")
            )
        }
        "extended" => {
            let steps = counted(line.steps.unwrap_or(0), "step");
            format!("{} the plan was extended to {steps}", styled(ODD, "!"))
        }
        "draining" => format!("{} nothing new starts from here on", styled(ODD, "–")),
        "cancelled" => format!("{} cancellation requested", styled(ODD, "–")),
        "out_of_time" => format!("{} the time limit of the run was reached", styled(BAD, "–")),
        _ => {
            let status = line.status.unwrap_or("interrupted");
            let word = styled(status_style(status), status);
            match status {
                "interrupted" => format!("process died: {word}"),
                _ => format!("ended: {word}"),
            }
        }
    }
}

fn decision(line: &LogLineV1, address: &str) -> String {
    let because = line.because.as_deref().map(terminal_text::one_line);
    let because = because.map_or_else(String::new, |because| format!(": {because}"));
    match (line.approved, &line.args) {
        (Some(true), None) => format!("{} {address}  approved", styled(GOOD, "✓")),
        (Some(true), Some(_)) => {
            format!(
                "{} {address}  approved with other arguments",
                styled(GOOD, "✓")
            )
        }
        _ => format!("{} {address}  rejected{because}", styled(BAD, "✗")),
    }
}

/// A value on a separate line.
fn value(word: &str, value: &Value, room: usize, text: &mut String) {
    let json = beginning(value, room);
    let json = terminal_text::one_line(&json);
    let json = terminal_text::shortened(&json, room, "…");
    let _ = writeln!(text, "{MARGIN}{} {json}", styled(DIM, word));
}

/// Returns the visible beginning of a value: of its JSON, or of a text without quotes.
fn beginning(value: &Value, room: usize) -> String {
    match value {
        Value::Text(text) => {
            let some: String = text.chars().take(room + 1).collect();
            Value::from(some.as_str()).to_json()
        }
        other => {
            let mut some = PrefixWriter {
                json: Vec::new(),
                room: room.saturating_mul(CHARACTER_BYTES),
            };
            // Writing fails once the limit is reached. The text so far suffices.
            let _ = serde_json::to_writer(&mut some, other);
            String::from_utf8_lossy(&some.json).into_owned()
        }
    }
}

/// The maximum number of bytes of a column, including characters without a width.
const CHARACTER_BYTES: usize = 16;

/// A writer that accepts the first bytes only.
struct PrefixWriter {
    json: Vec<u8>,
    room: usize,
}

impl io::Write for PrefixWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.json.len() > self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let room = self.room + 1 - self.json.len();
        self.json
            .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failure(error: &ErrorV1, text: &mut String) {
    let code = match error.data.get("code") {
        None | Some(Value::Null) => String::new(),
        Some(code) => format!(", {}", terminal_text::one_line(&code.to_inserted_text())),
    };
    let message = terminal_text::lines(error.message.trim()).into_owned();
    let mut lines = message.lines();
    let first = lines.next().unwrap_or_default();
    let kind = styled(DIM, format!("({}{code})", error.kind));
    let _ = writeln!(text, "{MARGIN}{} {kind} {first}", styled(BAD, "failed"));
    let rest: Vec<&str> = lines.collect();
    for line in rest.iter().take(MAX_LINES - 1) {
        let _ = writeln!(text, "{MARGIN}{line}");
    }
    if rest.len() >= MAX_LINES {
        let more = counted(rest.len() - (MAX_LINES - 1), "line");
        let _ = writeln!(text, "{MARGIN}{}", styled(DIM, format!("and {more} more")));
    }
}
