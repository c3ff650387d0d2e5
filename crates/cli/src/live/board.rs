//! What is known of the steps under way, and the lines that say so. It neither prints nor looks at a clock.

use std::sync::Arc;
use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
use planwright::core::Step;
use planwright::core::check::CheckedPlan;
use planwright::core::plan::{Action, OnError, PlanTarget, Targets};
use planwright::engine::event::Address;
use planwright::engine::run::SkipReason;
use planwright::engine::{RunEvent, StampedEvent, StepStatus, ToolError};
use planwright::terminal_text;

use super::words::{BAD, BUSY, DIM, GOOD, ODD, code, counted, first_line, reason, styled, time};

/// The most steps under way that have a line each.
const MOST_LINES: usize = 10;

/// The widest that the columns of ids and tools become for the sake of one long name.
const WIDEST: usize = 28;

/// What turns in front of a step under way, a picture for each tenth of a second.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The steps under way.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// Who is still writing the plan.
    writer: Option<String>,
    running: IndexMap<String, Running>,
    /// What the steps of the plan do that call no tool, by id.
    deeds: IndexMap<String, String>,
    /// The steps whose failure the plan handles, by id.
    handled: IndexSet<String>,
    ended: usize,
    steps: usize,
    ids: usize,
    tools: usize,
}

#[derive(Debug)]
struct Running {
    tool: Option<Arc<str>>,
    started: Duration,
    attempt: u32,
    pause: Option<(Duration, Duration)>,
    asks: bool,
    /// How many items it has.
    items: Option<u64>,
    items_ended: u64,
    rounds: u64,
}

impl Board {
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

    /// There is more of the plan now.
    pub(super) fn grow(&mut self, plan: &CheckedPlan) {
        self.steps = plan.plan().steps.len() * plan.plan().instances.len().max(1);
        self.learn(plan, "");
    }

    /// The plan is there.
    pub(super) fn is_written(&mut self) {
        self.writer = None;
    }

    /// Another plan is written in the place of that so far.
    pub(super) fn begin_again(&mut self) {
        *self = Self {
            writer: self.writer.take(),
            ..Self::default()
        };
    }

    /// Learns what the steps of `plan` are called and do. `outer` is the address of the step that runs it, with a slash.
    fn learn(&mut self, plan: &CheckedPlan, outer: &str) {
        for (step, known) in plan.plan().steps.iter().zip(plan.steps()) {
            let id = format!("{outer}{}", step.id);
            let deed = deed_of(step);
            self.ids = self.ids.max(terminal_text::width(&id)).min(WIDEST);
            self.tools = self.tools.max(terminal_text::width(&deed)).min(WIDEST);
            if is_handled(step) {
                self.handled.insert(id.clone());
            }
            // What is inside of items and rounds has no lines of its own.
            if let Some(inner) = &known.plan
                && step.for_each.is_none()
                && step.repeat.is_none()
            {
                self.learn(inner, &format!("{id}/"));
            }
            self.deeds.insert(id, deed);
        }
    }

    /// Takes note of an event. Where it ends a step, gives the line about that.
    pub(super) fn event(&mut self, stamped: &StampedEvent) -> Option<String> {
        let now = stamped.at;
        match &stamped.event {
            RunEvent::PlanExtended { steps } => self.steps = *steps,
            RunEvent::StepStarted { at, tool, items } => {
                self.started(at, tool.as_ref(), now);
                if let Some(running) = self.running.get_mut(&at.to_string()) {
                    running.items = items.or(running.items);
                }
            }
            RunEvent::AttemptStarted { at, attempt, .. } => {
                if let Some(running) = self.running.get_mut(&whole(at)) {
                    running.attempt = *attempt;
                    running.pause = None;
                }
            }
            RunEvent::RetryScheduled { at, pause, .. } => {
                if let Some(running) = self.running.get_mut(&whole(at)) {
                    running.pause = Some((now, *pause));
                }
            }
            RunEvent::ApprovalAsked { at, tool, .. } => {
                if !is_part(at) {
                    self.started(at, Some(tool), now);
                }
                if let Some(running) = self.running.get_mut(&whole(at)) {
                    running.asks = true;
                }
            }
            RunEvent::ApprovalDecided { at, .. } => {
                if let Some(running) = self.running.get_mut(&whole(at)) {
                    running.asks = false;
                }
            }
            RunEvent::StepEnded {
                at,
                tool,
                status,
                error,
                reason,
                attempts,
                ..
            } => {
                if is_part(at) {
                    self.part_ended(at);
                    return None;
                }
                let running = self.running.shift_remove(&at.to_string());
                if at.inside.is_none() {
                    self.ended += 1;
                }
                let outcome = Outcome {
                    at,
                    tool: tool.as_ref(),
                    status: *status,
                    error: error.as_ref(),
                    reason: reason.as_ref(),
                    attempts: *attempts,
                };
                return Some(self.ended_line(&outcome, running.as_ref(), now));
            }
            _ => {}
        }
        None
    }

    fn started(&mut self, at: &Address, tool: Option<&Arc<str>>, now: Duration) {
        if is_part(at) {
            if let Some(running) = self.running.get_mut(&whole(at)) {
                let round = at.round.map_or(0, |round| round + 1);
                running.rounds = running.rounds.max(round);
            }
            return;
        }
        self.running
            .entry(at.to_string())
            .or_insert_with(|| Running {
                tool: tool.cloned(),
                started: now,
                attempt: 0,
                pause: None,
                asks: false,
                items: None,
                items_ended: 0,
                rounds: 0,
            });
    }

    fn part_ended(&mut self, at: &Address) {
        if at.item.is_some()
            && at.round.is_none()
            && let Some(running) = self.running.get_mut(&whole(at))
        {
            running.items_ended += 1;
        }
    }

    /// The lines about the steps under way.
    pub(super) fn lines(&self, now: Duration, width: usize) -> Vec<String> {
        let frame = usize::try_from(now.as_millis() / 100).unwrap_or(0) % SPINNER.len();
        let spinner = SPINNER.get(frame).copied().unwrap_or_default();
        let mut lines: Vec<String> = self
            .running
            .iter()
            .take(MOST_LINES)
            .map(|(id, running)| self.running_line(id, running, spinner, now, width))
            .collect();
        let more = self.running.len().saturating_sub(MOST_LINES);
        if more > 0 {
            lines.push(styled(DIM, format!("  and {more} more")));
        }
        if !self.running.is_empty() && self.steps > 1 {
            let progress = format!("  {} of {} steps, {}", self.ended, self.steps, time(now));
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
        running: &Running,
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
        if running.asks {
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
            self.deed(id, running.tool.as_ref()),
            &time,
            &notes.join(", "),
        );
        // The spinner and a space take two columns.
        let text = terminal_text::shortened(&text, width.saturating_sub(2), "…");
        format!("{spinner} {text}")
    }

    fn ended_line(
        &self,
        outcome: &Outcome<'_>,
        running: Option<&Running>,
        now: Duration,
    ) -> String {
        let id = outcome.at.to_string();
        let time = running.map_or_else(String::new, |running| {
            time(now.saturating_sub(running.started))
        });
        let deed = self.deed(&id, outcome.tool);
        match outcome.status {
            StepStatus::Succeeded => {
                let mut notes = Vec::new();
                if let Some(items) = running.and_then(|running| running.items) {
                    notes.push(counted(items, "item"));
                } else if let Some(rounds) =
                    running.map(|running| running.rounds).filter(|n| *n > 0)
                {
                    notes.push(counted(rounds, "round"));
                }
                if outcome.attempts > 1 {
                    notes.push(counted(u64::from(outcome.attempts), "attempt"));
                }
                let text = self.columns(&id, deed, &time, &notes.join(", "));
                format!("{} {text}", styled(GOOD, "✓"))
            }
            StepStatus::Failed => {
                let text = self.columns(&id, deed, &time, &failure(outcome.error));
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
                    _ => status.as_str(),
                };
                let id = terminal_text::one_line(&id).into_owned();
                let id = terminal_text::padded(&id, self.ids);
                let why = outcome
                    .reason
                    .map_or_else(String::new, |why| format!(": {}", reason(why)));
                format!(
                    "{} {}  {}",
                    styled(ODD, "–"),
                    id,
                    styled(DIM, format!("{what}{why}"))
                )
            }
        }
    }

    fn columns(&self, id: &str, deed: &str, time: &str, notes: &str) -> String {
        let id = terminal_text::padded(&terminal_text::one_line(id), self.ids);
        let deed = terminal_text::padded(&terminal_text::one_line(deed), self.tools);
        let line = if notes.is_empty() {
            format!("{id}  {deed}  {time}")
        } else {
            format!("{id}  {deed}  {time:<6}  {notes}")
        };
        line.trim_end().to_owned()
    }

    fn deed<'a>(&'a self, id: &str, tool: Option<&'a Arc<str>>) -> &'a str {
        match (tool, self.deeds.get(id)) {
            (Some(tool), _) => tool,
            (None, Some(deed)) => deed,
            (None, None) => "",
        }
    }
}

/// How a step ended.
struct Outcome<'a> {
    at: &'a Address,
    tool: Option<&'a Arc<str>>,
    status: StepStatus,
    error: Option<&'a ToolError>,
    reason: Option<&'a SkipReason>,
    attempts: u32,
}

/// Whether this is an item or round of a step, or something inside of one.
fn is_part(at: &Address) -> bool {
    at.item.is_some() || at.round.is_some() || at.inside.as_deref().is_some_and(is_part)
}

/// The address of the step that an item or round belongs to.
fn whole(at: &Address) -> String {
    let mut whole = at.clone();
    whole.item = None;
    whole.round = None;
    whole.to_string()
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

/// Seconds to a tenth, for what counts down.
fn seconds(left: Duration) -> String {
    format!("{:.1}s", left.as_secs_f64())
}

fn deed_of(step: &Step) -> String {
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
