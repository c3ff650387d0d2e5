//! The outcome of a run in a few lines, for the person who watched it.

use std::fmt::Write as _;

use planwright::core::Severity;
use planwright::engine::run::StepSummary;
use planwright::engine::{RunStatus, RunSummary, StepStatus};
use planwright::terminal_text;

use crate::view::printer::{BAD, BOLD, DIM, GOOD, ODD, code, counted, styled, time};

/// The maximum number of failures that are listed one by one, and of items of one step.
const MAX_ROWS: usize = 10;

/// The maximum number of lines of one failure's message.
const MAX_LINES: usize = 8;

/// The maximum width of such a line, in columns.
const MAX_LINE_WIDTH: usize = 2000;

/// The summary, each line ended.
pub(super) fn summary_text(run: &RunSummary, is_stored: bool) -> String {
    let steps = counted(run.steps.len(), "step");
    let took = time(run.duration);
    let failures: Vec<&StepSummary> = run
        .steps
        .iter()
        .filter(|step| step.status == StepStatus::Failed && !step.handled)
        .collect();
    let mut waiting: Vec<&StepSummary> = with(run, StepStatus::Waiting);
    waiting.extend(with(run, StepStatus::Unknown));
    let headline = match run.status {
        RunStatus::Succeeded => format!("{} {steps} in {took}", styled(GOOD, "✓")),
        RunStatus::Waiting => {
            let what = counted(waiting.len(), "step");
            let verb = if waiting.len() == 1 { "waits" } else { "wait" };
            format!(
                "{} {what} of {} {verb} for a decision, after {took}",
                styled(ODD, "○"),
                run.steps.len()
            )
        }
        RunStatus::Cancelled => {
            let done = with(run, StepStatus::Succeeded).len();
            format!(
                "{} interrupted after {took}: {done} of {steps} done",
                styled(ODD, "–")
            )
        }
        RunStatus::Failed if failures.is_empty() => format!(
            "{} {steps} in {took}, but the output cannot be computed",
            styled(BAD, "✗")
        ),
        RunStatus::Failed => {
            let count = failures.len();
            format!("{} {count} of {steps} failed in {took}", styled(BAD, "✗"))
        }
    };
    let mut text = format!("{headline}{}\n", counts(run));
    // Steps that had not begun are only counted.
    let not_started = with(run, StepStatus::NotRun).len();
    if run.status == RunStatus::Cancelled && not_started > 0 {
        let _ = writeln!(text, "  {} not started", counted(not_started, "step"));
    }
    for step in failures.iter().take(MAX_ROWS) {
        failure(step, &mut text);
    }
    if failures.len() > MAX_ROWS {
        let _ = writeln!(text, "  and {} more", failures.len() - MAX_ROWS);
    }
    let waiting: Vec<&StepSummary> = waiting.into_iter().flat_map(waiting_parts).collect();
    for step in waiting.iter().take(MAX_ROWS) {
        let at = step.at.to_string();
        let id = terminal_text::one_line(&at).into_owned();
        let tool = step
            .tool
            .as_deref()
            .map(terminal_text::one_line)
            .unwrap_or_default();
        let note = if step.status == StepStatus::Unknown {
            "  (may or may not have happened)"
        } else {
            ""
        };
        let _ = writeln!(text, "  {}  {tool}{note}", styled(BOLD, id));
    }
    if waiting.len() > MAX_ROWS {
        let _ = writeln!(text, "  and {} more", waiting.len() - MAX_ROWS);
    }
    for warning in run.warnings.iter().take(MAX_ROWS) {
        let message = terminal_text::one_line(&warning.message).into_owned();
        let severity = match warning.severity {
            Severity::Error => styled(BAD, "error"),
            Severity::Warning => styled(ODD, "warning"),
            Severity::Note => styled(DIM, "note"),
        };
        let _ = writeln!(text, "{severity} {}: {message}", warning.code);
    }
    if run.warnings.len() > MAX_ROWS {
        let _ = writeln!(
            text,
            "and {} more",
            counted(run.warnings.len() - MAX_ROWS, "warning")
        );
    }
    if let Some(hint) = hint(run, is_stored) {
        let _ = writeln!(text, "{}", styled(DIM, hint));
    }
    text
}

fn hint(run: &RunSummary, is_stored: bool) -> Option<&'static str> {
    match run.status {
        // The commands that continue an interrupted run follow.
        RunStatus::Succeeded | RunStatus::Cancelled => None,
        // Each call with an unknown outcome has its own advice.
        RunStatus::Waiting if !asks(&run.steps) => None,
        RunStatus::Waiting if !is_stored => {
            Some("decide with `--approvals FILE` or `--approve all` when you run it again")
        }
        RunStatus::Waiting => {
            Some("decide with `planwright approve`, `--approvals FILE` or `--approve all`")
        }
        RunStatus::Failed if is_stored => Some("see every call with `planwright logs`"),
        RunStatus::Failed => {
            Some("a stored run shows every call with `planwright logs`: leave out `--no-store`")
        }
    }
}

/// Returns true if one of the steps, or a part of one, waits for consent.
fn asks(steps: &[StepSummary]) -> bool {
    let mut steps = steps.iter();
    steps.any(|step| {
        if step.parts.is_empty() {
            step.status == StepStatus::Waiting
        } else {
            asks(&step.parts)
        }
    })
}

fn with(run: &RunSummary, status: StepStatus) -> Vec<&StepSummary> {
    run.steps
        .iter()
        .filter(|step| step.status == status)
        .collect()
}

/// ` (8 calls, 2 skipped)`
fn counts(run: &RunSummary) -> String {
    let mut counts = Vec::new();
    if !run.calls.is_empty() {
        counts.push(counted(run.calls.len(), "call"));
    }
    let others = [
        (StepStatus::Skipped, "skipped"),
        (StepStatus::NotRun, "not run"),
        (StepStatus::Cancelled, "cancelled"),
    ];
    for (status, what) in others {
        let count = with(run, status).len();
        // An interrupted run has a line about steps that did not run.
        let is_listed = status == StepStatus::NotRun && run.status == RunStatus::Cancelled;
        if count > 0 && !is_listed {
            // Unlike a step, a call is never cancelled once it was answered.
            let count = match status {
                StepStatus::Cancelled => counted(count, "step"),
                _ => count.to_string(),
            };
            counts.push(format!("{count} {what}"));
        }
    }
    let handled = run
        .steps
        .iter()
        .filter(|step| step.status == StepStatus::Failed && step.handled)
        .count();
    if handled > 0 {
        counts.push(format!("{} handled", counted(handled, "failure")));
    }
    if counts.is_empty() {
        String::new()
    } else {
        format!(" ({})", counts.join(", "))
    }
}

/// A failed step, and the items, rounds or inner steps that failed it.
fn failure(step: &StepSummary, text: &mut String) {
    let parts: Vec<&StepSummary> = failed_parts(step);
    if parts.is_empty() {
        one_failure(step, text);
        return;
    }
    for part in parts.iter().take(MAX_ROWS) {
        one_failure(part, text);
    }
    if parts.len() > MAX_ROWS {
        let id = terminal_text::one_line(step.at.step.as_str()).into_owned();
        let _ = writeln!(text, "  and {} more of `{id}`", parts.len() - MAX_ROWS);
    }
}

/// The innermost parts that wait, else the step itself.
fn waiting_parts(step: &StepSummary) -> Vec<&StepSummary> {
    let waits =
        |part: &&StepSummary| matches!(part.status, StepStatus::Waiting | StepStatus::Unknown);
    let parts: Vec<&StepSummary> = step
        .parts
        .iter()
        .filter(waits)
        .flat_map(waiting_parts)
        .collect();
    if parts.is_empty() { vec![step] } else { parts }
}

/// The innermost parts that failed.
fn failed_parts(step: &StepSummary) -> Vec<&StepSummary> {
    step.parts
        .iter()
        .filter(|part| part.status == StepStatus::Failed && !part.handled)
        .flat_map(|part| match failed_parts(part) {
            inner if inner.is_empty() => vec![part],
            inner => inner,
        })
        .collect()
}

fn one_failure(step: &StepSummary, text: &mut String) {
    let at = step.at.to_string();
    let at = terminal_text::one_line(&at).into_owned();
    let tool = step
        .tool
        .as_deref()
        .map(terminal_text::one_line)
        .unwrap_or_default();
    let Some(error) = &step.error else {
        let _ = writeln!(text, "  {}  {tool}", styled(BOLD, at));
        return;
    };
    let mut kind = error.kind.as_str().to_owned();
    if let Some(code) = code(error) {
        kind.push_str(", ");
        kind.push_str(&code);
    }
    let _ = writeln!(
        text,
        "  {}  {tool}  {}",
        styled(BOLD, at),
        styled(DIM, format!("({kind})"))
    );
    let message = terminal_text::lines(error.message.trim()).into_owned();
    let lines: Vec<&str> = message.lines().collect();
    for line in lines.iter().take(MAX_LINES) {
        let line = terminal_text::shortened(line, MAX_LINE_WIDTH, "…");
        let _ = writeln!(text, "    {line}");
    }
    if lines.len() > MAX_LINES {
        let more = counted(lines.len() - MAX_LINES, "line");
        let _ = writeln!(text, "    {}", styled(DIM, format!("and {more} more")));
    }
}
