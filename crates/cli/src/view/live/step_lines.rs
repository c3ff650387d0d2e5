//! The lines about steps in progress. Pure: it neither prints nor reads a clock.

use std::sync::Arc;
use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
use planwright::core::Step;
use planwright::core::check::CheckedPlan;
use planwright::core::plan::{Action, OnError, PlanTarget, Targets};
use planwright::engine::{StampedEvent, StepStatus, ToolError};
use planwright::service::{ActiveStep, EndedStep, RunView};
use planwright::terminal_text;

use crate::view::printer::{
    BAD, BUSY, DIM, GOOD, ODD, code, counted, first_line, skip_reason, styled, time,
};

/// The most steps under way that have a line each.
const MAX_LINES: usize = 10;

/// The widest that the columns of ids and tools become for the sake of one long name.
const MAX_COLUMN_WIDTH: usize = 28;

/// The frames of the spinner in front of a step in progress, one for each tenth of a second.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The steps under way.
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

    /// Adds steps to the plan.
    pub(super) fn grow(&mut self, plan: &CheckedPlan) {
        self.view.extend(plan);
        self.learn(plan, "");
    }

    /// Marks the plan as written.
    pub(super) fn is_written(&mut self) {
        self.writer = None;
    }

    /// Restarts the lines for another plan that replaces the current one.
    pub(super) fn begin_again(&mut self) {
        *self = Self {
            writer: self.writer.take(),
            ..Self::default()
        };
    }

    /// Adds the names and actions of the steps of `plan`. `outer` is the address of the step that runs it, with a slash.
    fn learn(&mut self, plan: &CheckedPlan, outer: &str) {
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
                self.learn(inner, &format!("{id}/"));
            }
            self.actions.insert(id, action);
        }
    }

    /// Applies an event. Gives the line about the step that it ends, if it ends one that had begun, or was skipped: the summary counts the
    /// others.
    pub(super) fn event(&mut self, stamped: &StampedEvent) -> Option<String> {
        let ended = self.view.event(stamped)?;
        let is_shown = ended.status != StepStatus::NotRun;
        is_shown.then(|| self.ended_line(&ended, stamped.at))
    }

    /// `3 of 12 steps, 5.0s`
    pub(super) fn progress(&self, now: Duration) -> String {
        let RunView { ended, steps, .. } = &self.view;
        format!("{ended} of {steps} steps, {}", time(now))
    }

    /// The lines about the steps under way.
    pub(super) fn lines(&self, now: Duration, width: usize) -> Vec<String> {
        let frame = usize::try_from(now.as_millis() / 100).unwrap_or(0) % SPINNER.len();
        let spinner = SPINNER.get(frame).copied().unwrap_or_default();
        let mut lines: Vec<String> = self
            .view
            .active
            .iter()
            .take(MAX_LINES)
            .map(|(id, running)| self.running_line(id, running, spinner, now, width))
            .collect();
        let more = self.view.active.len().saturating_sub(MAX_LINES);
        if more > 0 {
            lines.push(styled(DIM, format!("  and {more} more")));
        }
        if !self.view.active.is_empty() && self.view.steps > 1 {
            let progress = format!("  {}", self.progress(now));
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
            notes.push("waits for your answer".to_owned());
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

    fn ended_line(&self, ended: &EndedStep, now: Duration) -> String {
        let id = ended.at.to_string();
        let running = ended.active.as_ref();
        let time = running.map_or_else(String::new, |running| {
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
                let text = self.columns(&id, action, &time, &notes.join(", "));
                format!("{} {text}", styled(GOOD, "✓"))
            }
            StepStatus::Failed => {
                let text = self.columns(&id, action, &time, &failure(ended.error.as_ref()));
                if self.handled.contains(&id) {
                    format!("{} {text} (the plan goes on)", styled(ODD, "✗"))
                } else {
                    format!("{} {text}", styled(BAD, "✗"))
                }
            }
            status => {
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
                let why = ended
                    .reason
                    .as_ref()
                    .map_or_else(String::new, |why| format!(": {}", skip_reason(why)));
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

fn failure(error: Option<&ToolError>) -> String {
    let Some(error) = error else {
        return String::new();
    };
    match code(error) {
        Some(code) => format!("{} ({code})", first_line(error)),
        None => first_line(error),
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
