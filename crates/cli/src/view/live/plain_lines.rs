//! The progress of a run without a terminal: a line for each step that ends, or each event as JSON.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use planwright::engine::journal::Entry;
use planwright::engine::{RunEvent, RunId, StampedEvent};
use planwright::format::EventV1;

use super::step_lines::StepLines;
use crate::args::Progress;
use crate::runs::store;

/// The time after which the progress of a run without a terminal is reported. For a shorter run, its outcome suffices.
const QUIET: Duration = Duration::from_secs(5);

/// Maximum number of lines that wait for the end of that time; older ones are dropped, since the first line counts them.
const MAX_EARLY_LINES: usize = 100;

/// The progress of a run as lines.
#[derive(Debug)]
pub(super) enum PlainLines {
    /// A line for each step that ends.
    Steps(Box<Mutex<StepProgress>>),
    /// A line of JSON for each event.
    Events,
}

/// The steps of a run, for lines that stay.
#[derive(Debug)]
pub(super) struct StepProgress {
    board: StepLines,
    /// The time of the run at which printing begins.
    from: Duration,
    run: Option<String>,
    /// The lines about steps that ended before printing begins.
    early: VecDeque<String>,
    has_begun: bool,
}

impl PlainLines {
    /// Creates the lines that `progress` asks for without a terminal; `None` if it asks for none. `reports_events` is true if the events
    /// are printed in any case.
    pub(super) fn new(board: StepLines, progress: Progress, reports_events: bool) -> Option<Self> {
        let from = match progress {
            Progress::Auto if reports_events => return None,
            Progress::Auto => QUIET,
            Progress::Plain => Duration::ZERO,
            Progress::Json => return Some(Self::Events),
            Progress::None => return None,
        };
        Some(Self::Steps(Box::new(Mutex::new(StepProgress {
            board,
            from,
            run: None,
            early: VecDeque::new(),
            has_begun: false,
        }))))
    }

    /// The calls in flight, if they are known here.
    pub(super) fn in_flight(&self) -> Option<String> {
        match self {
            Self::Events => None,
            Self::Steps(steps) => {
                let steps = steps.lock().unwrap_or_else(PoisonError::into_inner);
                (0 < steps.board.calls()).then(|| steps.board.in_flight())
            }
        }
    }

    /// Applies an entry of the journal that `run` wrote, and returns the line about it.
    pub(super) fn entry(&self, run: &RunId, entry: &Entry) -> Option<String> {
        match self {
            Self::Events => None,
            Self::Steps(steps) => {
                let mut steps = steps.lock().unwrap_or_else(PoisonError::into_inner);
                steps.board.entry(run, entry)
            }
        }
    }

    /// Changes the steps of the plan.
    pub(super) fn change(&self, change: impl FnOnce(&mut StepLines)) {
        if let Self::Steps(steps) = self {
            change(&mut steps.lock().unwrap_or_else(PoisonError::into_inner).board);
        }
    }

    /// Applies an event, and returns the lines about it.
    pub(super) fn event(&self, stamped: &StampedEvent) -> Vec<String> {
        match self {
            Self::Events => {
                // Writing an event cannot fail: it has no maps with other keys than text.
                let line = serde_json::to_string(&EventV1::from(stamped));
                line.into_iter().collect()
            }
            Self::Steps(steps) => {
                let mut steps = steps.lock().unwrap_or_else(PoisonError::into_inner);
                steps.event(stamped)
            }
        }
    }
}

impl StepProgress {
    fn event(&mut self, stamped: &StampedEvent) -> Vec<String> {
        if let RunEvent::RunStarted { run, .. } = &stamped.event {
            self.run = Some(store::short_id(run).to_owned());
        }
        let Some(line) = self.board.event(stamped) else {
            return Vec::new();
        };
        if stamped.at < self.from {
            if self.early.len() == MAX_EARLY_LINES {
                self.early.pop_front();
            }
            self.early.push_back(line);
            return Vec::new();
        }
        let mut lines = Vec::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            let run = self.run.as_deref().unwrap_or_default();
            lines.push(format!("run {run}: {}", self.board.progress(stamped.at)));
            lines.extend(std::mem::take(&mut self.early));
        }
        lines.push(line);
        lines
    }
}
