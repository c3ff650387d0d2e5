//! The lines about steps in progress. Pure: it neither prints nor reads a clock.

use std::sync::Arc;
use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
use planwright::core::Step;
use planwright::core::check::CheckedPlan;
use planwright::core::plan::{Action, OnError, PlanTarget, Targets};
use planwright::engine::backend::CallProgress;
use planwright::engine::journal::Entry;
use planwright::engine::{RunEvent, RunId, StampedEvent, StepStatus, ToolError};
use planwright::service::{ActiveStep, EndedStep, RunView, TimeLeft};
use planwright::terminal_text;

use crate::view::printer::{BAD, BUSY, DIM, GOOD, ODD, code, counted, first_line, styled, time};

/// Maximum number of lines for steps in flight.
const MAX_LINES: usize = 10;

/// The maximum number of lines about ended steps that are drawn before they are printed.
pub(super) const MAX_BUFFERED_LINES: usize = 8;

/// The maximum number of steps that are named in one line.
const MAX_NAMES: usize = 5;

/// The maximum width of the columns of ids and tools.
const MAX_COLUMN_WIDTH: usize = 28;

/// The frames of the spinner in front of a step in progress, one for each tenth of a second.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The steps in flight.
#[derive(Debug, Default)]
pub(super) struct StepLines {
    /// The model that is still writing the plan.
    writer: Option<String>,
    view: RunView,
    /// The actions of steps that call no tool, by id.
    actions: IndexMap<String, String>,
    /// The steps whose failure the plan handles, by id.
    handled: IndexSet<String>,
    ids: usize,
    tools: usize,
    /// The expected time that the run has left, if it can be estimated.
    time_left: Option<TimeLeft>,
    /// The time of the run at which the calls in flight are cancelled, if it drains.
    drain_end: Option<Duration>,
    /// True if the run belongs to another process.
    is_watched: bool,
    /// The columns for the line of a step that has succeeded, if they are limited.
    columns: Option<fn() -> usize>,
}

impl StepLines {
    pub(super) fn new(plan: &CheckedPlan) -> Self {
        let mut board = Self::default();
        board.grow(plan);
        board
    }

    /// The steps of a plan that `writer` is still writing.
    pub(super) fn written_by(writer: &str) -> Self {
        Self {
            writer: Some(terminal_text::one_line(writer).into_owned()),
            ..Self::default()
        }
    }

    /// Marks the run as driven by another process.
    pub(super) fn watch(&mut self) {
        self.is_watched = true;
    }

    /// Shortens the lines of succeeded steps to this number of columns.
    pub(super) fn limit_columns(&mut self, columns: fn() -> usize) {
        self.columns = Some(columns);
    }

    /// Sets the expected time that the run has left.
    pub(super) fn expect(&mut self, time_left: Option<TimeLeft>) {
        self.time_left = time_left;
    }

    /// Marks the run as draining until this time of it.
    pub(super) fn drain(&mut self, until: Duration) {
        self.drain_end = Some(until);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.drain_end.is_some()
    }

    /// The calls in flight: ``2 calls in flight (`a`, `b`)``.
    pub(super) fn in_flight(&self) -> String {
        let calling = self.view.active.iter().filter(|(id, step)| {
            // The calls of an inner plan are those of its steps, which have their own lines.
            let is_plan = |other: &String| other.starts_with(&format!("{id}/"));
            0 < step.attempt && step.pause.is_none() && !self.view.active.keys().any(is_plan)
        });
        let ids: Vec<String> = calling
            .map(|(id, _)| terminal_text::one_line(id).into_owned())
            .collect();
        let mut names: Vec<String> = ids
            .iter()
            .take(MAX_NAMES)
            .map(|id| format!("`{id}`"))
            .collect();
        if ids.len() > MAX_NAMES {
            names.push(format!("{} more", ids.len() - MAX_NAMES));
        }
        format!(
            "{} in flight ({})",
            counted(self.view.calls, "call"),
            names.join(", ")
        )
    }

    /// The number of calls in flight.
    pub(super) fn calls(&self) -> usize {
        self.view.calls
    }

    /// Adds steps to the plan.
    pub(super) fn grow(&mut self, plan: &CheckedPlan) {
        self.view.extend(plan);
        self.add_actions(plan, "");
    }

    /// Marks the plan as written.
    pub(super) fn mark_written(&mut self) {
        self.writer = None;
    }

    /// Clears the lines, because another plan replaces the current one.
    pub(super) fn restart(&mut self) {
        *self = Self {
            writer: self.writer.take(),
            ..Self::default()
        };
    }

    /// Adds the names and actions of the steps of `plan`. `outer` is the address of the step that runs it, with a slash.
    fn add_actions(&mut self, plan: &CheckedPlan, outer: &str) {
        for (step, known) in plan.plan().steps.iter().zip(plan.steps()) {
            let id = format!("{outer}{}", step.id);
            let action = action_of(step);
            self.ids = self
                .ids
                .max(terminal_text::width(&id))
                .min(MAX_COLUMN_WIDTH);
            self.tools = self
                .tools
                .max(terminal_text::width(&action))
                .min(MAX_COLUMN_WIDTH);
            if is_handled(step) {
                self.handled.insert(id.clone());
            }
            // Parts of items and rounds have no separate lines.
            if let Some(inner) = &known.plan
                && step.for_each.is_none()
                && step.repeat.is_none()
            {
                self.add_actions(inner, &format!("{id}/"));
            }
            self.actions.insert(id, action);
        }
    }

    /// Applies an event. Returns a line if the event ends a step that had begun or was skipped. Other steps are counted in the summary.
    pub(super) fn event(&mut self, stamped: &StampedEvent) -> Option<String> {
        let ended = self.view.event(stamped)?;
        self.step_ended(&ended, stamped.at, result_keys(&stamped.event))
    }

    /// Applies an entry of the journal that `run` wrote, with the same result.
    pub(super) fn entry(&mut self, run: &RunId, entry: &Entry) -> Option<String> {
        let ended = self.view.entry(run, entry)?;
        // The journal has outputs in the entries of calls only.
        self.step_ended(&ended, entry.at, None)
    }

    fn step_ended(
        &mut self,
        ended: &EndedStep,
        at: Duration,
        result_keys: Option<String>,
    ) -> Option<String> {
        if let Some(time_left) = &mut self.time_left {
            time_left.step_ended(ended);
        }
        let is_shown = ended.status != StepStatus::NotRun;
        is_shown.then(|| self.ended_line(ended, at, result_keys))
    }

    /// `3 of 12 steps, 5.0s, about 8s left`
    pub(super) fn progress(&self, now: Duration) -> String {
        let RunView { ended, steps, .. } = &self.view;
        let left = self.time_left.as_ref();
        let left = left.map(|left| left.expected(&self.view, now).as_secs());
        let left = match left {
            Some(seconds @ 1..) => format!(", about {} left", whole_seconds(seconds)),
            Some(0) | None => String::new(),
        };
        format!("{ended} of {steps} steps, {}{left}", time(now))
    }

    /// `stopping: 2 calls in flight, cancelled in 28s`
    fn stopping(&self, now: Duration) -> String {
        let calls = counted(self.view.calls, "call");
        match self.drain_end {
            Some(end) => {
                let left = end.saturating_sub(now).as_secs_f64().ceil();
                format!("stopping: {calls} in flight, cancelled in {left}s")
            }
            None => format!("stopping: {calls} in flight"),
        }
    }

    /// Returns the lines of the steps in flight, for a terminal of `columns` and `rows`.
    pub(super) fn lines(&self, now: Duration, width: usize, rows: usize) -> Vec<String> {
        // Two lines follow the steps, and lines about ended ones may precede them.
        let limit = rows
            .saturating_sub(MAX_BUFFERED_LINES + 3)
            .clamp(1, MAX_LINES);
        let frame = usize::try_from(now.as_millis() / 100).unwrap_or(0) % SPINNER.len();
        let spinner = SPINNER.get(frame).copied().unwrap_or_default();
        let mut lines: Vec<String> = self
            .view
            .active
            .iter()
            .take(limit)
            .map(|(id, running)| self.running_line(id, running, spinner, now, width))
            .collect();
        let more = self.view.active.len().saturating_sub(limit);
        if more > 0 {
            lines.push(styled(DIM, format!("  and {more} more")));
        }
        let is_stopping = self.is_draining() || self.view.is_draining;
        if !self.view.active.is_empty() && (is_stopping || self.view.steps > 1) {
            let progress = if is_stopping {
                self.stopping(now)
            } else {
                self.progress(now)
            };
            let progress = format!("  {progress}");
            lines.push(styled(DIM, terminal_text::shortened(&progress, width, "…")));
        }
        if let Some(writer) = &self.writer {
            let writes = format!("{writer} writes the plan");
            let writes = terminal_text::shortened(&writes, width.saturating_sub(2), "…");
            lines.push(format!("{} {writes}", styled(BUSY, spinner)));
        }
        lines
    }

    fn running_line(
        &self,
        id: &str,
        running: &ActiveStep,
        spinner: &str,
        now: Duration,
        width: usize,
    ) -> String {
        let spinner = styled(BUSY, spinner);
        let time = time(now.saturating_sub(running.started));
        let mut notes = Vec::new();
        if let Some(items) = running.items {
            notes.push(format!("{}/{items}", running.items_ended));
        } else if running.rounds > 0 {
            notes.push(format!("round {}", running.rounds));
        }
        if running.is_asking {
            let whose = if self.is_watched {
                "a decision"
            } else {
                "your answer"
            };
            notes.push(format!("waits for {whose}"));
        }
        if let Some(progress) = &running.progress {
            notes.extend(progress_note(progress));
        }
        if running.attempt > 1 {
            notes.push(format!("attempt {}", running.attempt));
        }
        if let Some((since, pause)) = running.pause {
            let left = (since + pause).saturating_sub(now);
            notes.push(format!("retry in {}", seconds(left)));
        }
        let text = self.columns(
            id,
            self.action_text(id, running.tool.as_ref()),
            &time,
            &notes.join(", "),
        );
        // The spinner and a space take two columns.
        let text = terminal_text::shortened(&text, width.saturating_sub(2), "…");
        format!("{spinner} {text}")
    }

    fn ended_line(&self, ended: &EndedStep, now: Duration, result_keys: Option<String>) -> String {
        let id = ended.at.to_string();
        let running = ended.active.as_ref();
        let time = running.map_or_else(String::new, |running| {
            if is_earlier(running, ended) {
                return "earlier".to_owned();
            }
            time(now.saturating_sub(running.started))
        });
        let action = self.action_text(&id, ended.tool.as_ref());
        match ended.status {
            StepStatus::Succeeded => {
                let mut notes = Vec::new();
                if let Some(items) = running.and_then(|running| running.items) {
                    notes.push(counted(items, "item"));
                } else if let Some(rounds) =
                    running.map(|running| running.rounds).filter(|n| *n > 0)
                {
                    notes.push(counted(rounds, "round"));
                }
                if ended.attempts > 1 {
                    notes.push(counted(u64::from(ended.attempts), "attempt"));
                }
                notes.extend(result_keys);
                let text = self.columns(&id, action, &time, &notes.join(", "));
                // The sign and a space take two columns.
                let text = match self.columns {
                    Some(columns) => {
                        terminal_text::shortened(&text, columns().saturating_sub(2), "…")
                    }
                    None => text.into(),
                };
                format!("{} {text}", styled(GOOD, "✓"))
            }
            StepStatus::Failed => {
                let text = self.columns(&id, action, &time, &failure(ended.error.as_ref()));
                if self.handled.contains(&id) {
                    format!("{} {text} (ignored: the plan continues)", styled(ODD, "✗"))
                } else {
                    format!("{} {text}", styled(BAD, "✗"))
                }
            }
            status @ (StepStatus::Skipped
            | StepStatus::NotRun
            | StepStatus::Cancelled
            | StepStatus::Waiting
            | StepStatus::Unknown) => {
                let what = match status {
                    StepStatus::Skipped => "skipped",
                    StepStatus::NotRun => "not run",
                    StepStatus::Cancelled => "cancelled",
                    StepStatus::Waiting => "waits for a decision",
                    StepStatus::Succeeded | StepStatus::Failed | StepStatus::Unknown => {
                        status.as_str()
                    }
                };
                let id = terminal_text::one_line(&id).into_owned();
                let id = terminal_text::padded(&id, self.ids);
                let why = ended.reason.as_ref().map_or_else(String::new, |why| {
                    format!(": {}", terminal_text::one_line(&why.to_string()))
                });
                format!(
                    "{} {}  {}",
                    styled(ODD, "–"),
                    id,
                    styled(DIM, format!("{what}{why}"))
                )
            }
        }
    }

    fn columns(&self, id: &str, action: &str, time: &str, notes: &str) -> String {
        let id = terminal_text::padded(&terminal_text::one_line(id), self.ids);
        let action = terminal_text::padded(&terminal_text::one_line(action), self.tools);
        let line = if notes.is_empty() {
            format!("{id}  {action}  {time}")
        } else {
            format!("{id}  {action}  {time:<6}  {notes}")
        };
        line.trim_end().to_owned()
    }

    fn action_text<'a>(&'a self, id: &str, tool: Option<&'a Arc<str>>) -> &'a str {
        match (tool, self.actions.get(id)) {
            (Some(tool), _) => tool,
            (None, Some(action)) => action,
            (None, None) => "",
        }
    }
}

/// Maximum number of keys of a result that are shown.
const MAX_KEYS: usize = 4;

/// The keys of the object that a call returned: `→ city, temp`.
fn result_keys(event: &RunEvent) -> Option<String> {
    let RunEvent::StepEnded {
        tool: Some(_),
        output: Some(output),
        ..
    } = event
    else {
        return None;
    };
    let fields = output.as_object().filter(|fields| !fields.is_empty())?;
    let shown = fields.keys().take(MAX_KEYS);
    let mut keys: Vec<String> = shown
        .map(|key| terminal_text::one_line(key).into_owned())
        .collect();
    if fields.len() > MAX_KEYS {
        keys.push("…".to_owned());
    }
    Some(format!("→ {}", keys.join(", ")))
}

fn failure(error: Option<&ToolError>) -> String {
    let Some(error) = error else {
        return String::new();
    };
    match code(error) {
        Some(code) => format!("{} ({code})", first_line(error)),
        None => first_line(error),
    }
}

/// The progress of a call, as its tool reports it: `40%: page 4 of 10`.
fn progress_note(progress: &CallProgress) -> Option<String> {
    let message = progress.message.as_deref().map(terminal_text::one_line);
    match (progress.fraction(), message) {
        (Some(fraction), Some(message)) => Some(format!("{:.0}%: {message}", fraction * 100.0)),
        (Some(fraction), None) => Some(format!("{:.0}%", fraction * 100.0)),
        (None, Some(message)) => Some(message.into_owned()),
        (None, None) => None,
    }
}

/// Returns true if an earlier process made all calls of a step, whose result this one only reads.
fn is_earlier(running: &ActiveStep, ended: &EndedStep) -> bool {
    let is_single = running.items.is_none() && running.rounds == 0;
    is_single && running.attempt == 0 && 0 < ended.attempts
}

/// Formats a number of seconds, as `8s` or `2m 05s`.
fn whole_seconds(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        _ => time(Duration::from_secs(seconds)),
    }
}

/// Formats seconds to a tenth, for countdowns.
fn seconds(left: Duration) -> String {
    format!("{:.1}s", left.as_secs_f64())
}

fn action_of(step: &Step) -> String {
    match &step.action {
        Action::Tool(name) => name.text.to_string(),
        Action::Value(_) => "value".to_owned(),
        Action::Plan(call) => match &call.target {
            PlanTarget::Named(name) => format!("plan {}", name.text),
            PlanTarget::Inline(_) => "plan".to_owned(),
        },
    }
}

fn is_handled(step: &Step) -> bool {
    let is_branching = step
        .writes
        .as_ref()
        .is_some_and(|writes| matches!(writes.targets, Targets::OneOf(_)));
    is_branching || step.on_error == OnError::Continue
}
