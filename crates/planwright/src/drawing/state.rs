//! The state of steps in a run that is drawn.

use std::time::Duration;

use planwright_engine::StepStatus;
use planwright_engine::run::{StepHistory, StepSummary};

use super::symbols::{Mark, Symbols};
use crate::terminal_text;

/// The state of a step in a run that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepState {
    /// The status.
    pub mark: Mark,
    /// Returns the status as in reports; `running` and `interrupted` if the run has not ended.
    pub status: &'static str,
    /// The time of its start, counted from the start of the run.
    pub started: Option<Duration>,
    /// The time of its end, counted from the start of the run.
    pub ended: Option<Duration>,
    /// The number of calls of its tool; for a step that runs a plan, the number of calls in that plan.
    pub attempts: u32,
    /// True if it runs a plan.
    pub runs_plan: bool,
    /// The number of its items, rounds or instances that have succeeded, and the number of all.
    pub parts: Option<(usize, usize)>,
    /// A further note.
    pub note: Option<String>,
}

impl StepState {
    /// Returns the state of a step. It is in progress only if the run `is_running`, else it was interrupted.
    pub fn of(step: &StepSummary, is_running: bool) -> Self {
        let is_open = step.status == StepStatus::NotRun && step.started.is_some();
        let (mark, status) = mark_of(step.status, is_open, is_running);
        let parts: Vec<&StepSummary> = step
            .parts
            .iter()
            .filter(|part| part.at.item.is_some() || part.at.round.is_some())
            .collect();
        let error = step.error.as_ref().map(|error| error.message.as_str());
        Self {
            mark,
            status,
            started: step.started,
            ended: step.ended,
            attempts: step.attempts,
            runs_plan: step.tool.is_none(),
            parts: (!parts.is_empty()).then(|| done(&parts)),
            note: note(status, error),
        }
    }

    /// Returns the state of a step by its stored history alone.
    pub fn of_past(past: &StepHistory, is_running: bool) -> Self {
        let status = past.settled.as_ref().map(|end| end.status);
        let is_asked = past.asked.is_some() && past.decided.is_none();
        let (mark, status) = match status {
            Some(status) => mark_of(status, false, is_running),
            None if is_asked => mark_of(StepStatus::Waiting, false, is_running),
            None => mark_of(StepStatus::NotRun, !past.calls.is_empty(), is_running),
        };
        let end = past.settled.as_ref();
        let error = end.and_then(|end| end.error.as_ref());
        let first = past.calls.first().map(|call| call.sent);
        Self {
            mark,
            status,
            started: end.and_then(|end| end.started).or(first),
            ended: end.map(|end| end.ended),
            attempts: past.attempts(),
            runs_plan: false,
            parts: None,
            note: note(status, error.map(|error| error.message.as_str())),
        }
    }

    /// Returns the notes beside the step, in short pieces.
    pub(super) fn notes(&self, symbols: Symbols) -> Vec<String> {
        let mut notes = Vec::new();
        if let (Some(started), Some(ended)) = (self.started, self.ended)
            && 0 < self.attempts
        {
            notes.push(terminal_text::time(ended.saturating_sub(started)));
        }
        if let Some((done, of)) = self.parts {
            notes.push(format!("{done} of {of} done"));
        } else if 1 < self.attempts {
            let what = if self.runs_plan { "calls" } else { "attempts" };
            notes.push(format!("{} {what}", self.attempts));
        }
        if let Some(note) = &self.note {
            let note = terminal_text::one_line(note);
            notes.push(
                terminal_text::shortened(&note, MAX_NOTE_WIDTH, symbols.ellipsis()).into_owned(),
            );
        }
        notes
    }
}

/// The maximum width of a note, in columns.
const MAX_NOTE_WIDTH: usize = 60;

fn mark_of(status: StepStatus, is_open: bool, is_running: bool) -> (Mark, &'static str) {
    match (is_open, is_running) {
        (true, true) => (Mark::Running, "running"),
        (true, false) => (Mark::Unknown, "interrupted"),
        (false, _) if status == StepStatus::NotRun => (Mark::Waiting, status.as_str()),
        (false, _) => (Mark::from(status), status.as_str()),
    }
}

fn note(status: &str, error: Option<&str>) -> Option<String> {
    Some(match (status, error) {
        ("failed", Some(message)) => message.trim().lines().next()?.to_owned(),
        (_, Some(message)) => format!("failed: {}", message.trim().lines().next()?),
        ("running", _) => "in flight".to_owned(),
        ("interrupted", _) => "was in flight".to_owned(),
        ("waiting", _) => "waits for a decision".to_owned(),
        ("unknown", _) => "may or may not have happened".to_owned(),
        ("succeeded" | "failed", _) => return None,
        (other, _) => other.replace('_', " "),
    })
}

fn done(parts: &[&StepSummary]) -> (usize, usize) {
    let done = parts
        .iter()
        .filter(|part| part.status == StepStatus::Succeeded);
    (done.count(), parts.len())
}

/// Returns the state of a step in all instances of its plan together.
pub(super) fn together(steps: &[&StepSummary], is_running: bool) -> Option<StepState> {
    let states: Vec<StepState> = steps
        .iter()
        .map(|step| StepState::of(step, is_running))
        .collect();
    // The worst state represents all instances.
    let order = [
        Mark::Failed,
        Mark::Unknown,
        Mark::Running,
        Mark::Waiting,
        Mark::Skipped,
    ];
    let mut worst = order
        .iter()
        .find_map(|mark| states.iter().find(|state| state.mark == *mark))
        .or(states.first())?
        .clone();
    if 1 < states.len() {
        worst.started = states.iter().filter_map(|state| state.started).min();
        worst.ended = states.iter().filter_map(|state| state.ended).max();
        worst.attempts = states.iter().map(|state| state.attempts).sum();
        worst.parts = Some(done(steps));
    }
    Some(worst)
}
