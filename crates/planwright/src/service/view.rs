//! The state of a run for a screen, computed from its events or from its journal.

mod step_states;
mod time_left;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use planwright_core::CheckedPlan;
use planwright_engine::RunId;
use planwright_engine::backend::CallProgress;
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::run::SkipReason;
use planwright_engine::{RunEvent, RunStatus, StampedEvent, StepStatus, ToolError};

pub use step_states::{StepPhase, StepStates, StepView};
pub use time_left::TimeLeft;

/// The state of a run after the events, or journal entries, that were applied. Times count from the run's start.
/// Items and rounds have no separate entry. They are counted with their step.
#[derive(Clone, Debug, Default)]
pub struct RunView {
    /// The number of steps of the run's own plan, over all instances.
    pub steps: usize,
    /// The number of steps that have ended. Steps that a later process of the run resumes do not count.
    pub ended: usize,
    /// The status, once the run has ended.
    pub status: Option<RunStatus>,
    /// The steps in progress, by address, in the order in which they started.
    pub active: IndexMap<String, ActiveStep>,
    /// The number of calls in flight.
    pub calls: usize,
    /// True once the run drains: nothing new starts.
    pub is_draining: bool,
    /// The calls that wait for a decision, by address, with the digest that a decision names if the view folds a journal.
    pub questions: IndexMap<String, Option<Arc<str>>>,
    /// The steps that have ended, by address; true for those that a later process resumes.
    pub(super) ended_steps: HashMap<String, bool>,
}

/// A step in progress.
#[derive(Clone, Debug, Default)]
pub struct ActiveStep {
    /// The tool that it calls.
    pub tool: Option<Arc<str>>,
    /// The time of its start.
    pub started: Duration,
    /// The current attempt, from 1; 0 before the first call.
    pub attempt: u32,
    /// The start and the length of the pause before the next attempt.
    pub pause: Option<(Duration, Duration)>,
    /// The latest progress that the tool of a call of it has reported. A journal has none.
    pub progress: Option<CallProgress>,
    /// True if a call of the step waits for a decision.
    pub is_asking: bool,
    /// The number of its items, if it runs for each of a list.
    pub items: Option<u64>,
    /// The number of items that have ended.
    pub items_ended: u64,
    /// The number of rounds that have started.
    pub rounds: u64,
}

/// A whole step that has ended.
#[derive(Clone, Debug)]
pub struct EndedStep {
    /// The address of the step.
    pub at: Arc<Address>,
    /// The tool that it calls.
    pub tool: Option<Arc<str>>,
    /// The status of the step.
    pub status: StepStatus,
    /// The reason of its failure.
    pub error: Option<ToolError>,
    /// The reason why it did not run.
    pub reason: Option<SkipReason>,
    /// The number of calls.
    pub attempts: u32,
    /// The state before the step ended; `None` if it never started.
    pub active: Option<ActiveStep>,
}

impl RunView {
    /// The view of a run of `plan` that has not started.
    pub fn new(plan: &CheckedPlan) -> Self {
        let mut view = Self::default();
        view.extend(plan);
        view
    }

    /// Updates the number of steps to that of a plan that has grown.
    pub fn extend(&mut self, plan: &CheckedPlan) {
        self.steps = plan.plan().steps.len() * plan.plan().instances.len().max(1);
    }

    /// Applies an event. Returns the whole step that it ends, if it ends one.
    pub fn event(&mut self, stamped: &StampedEvent) -> Option<EndedStep> {
        let now = stamped.at;
        match &stamped.event {
            RunEvent::RunStarted { steps, .. } => self.steps = self.steps.max(*steps),
            RunEvent::PlanExtended { steps } => self.steps = *steps,
            RunEvent::StepStarted { at, tool, items } => {
                let step = self.started(at, tool.as_ref(), now);
                if let Some(step) = step.filter(|_| !is_part(at)) {
                    step.items = items.or(step.items);
                }
            }
            RunEvent::AttemptStarted {
                at, tool, attempt, ..
            } => self.sent(at, tool, *attempt, now),
            RunEvent::CallProgress { at, progress, .. } => {
                if let Some(step) = self.active.get_mut(&whole(at)) {
                    step.progress = Some(progress.clone());
                }
            }
            RunEvent::RunDraining => self.is_draining = true,
            RunEvent::AttemptEnded { .. } => self.calls = self.calls.saturating_sub(1),
            RunEvent::RetryScheduled { at, pause, .. } => {
                if let Some(step) = self.active.get_mut(&whole(at)) {
                    step.pause = Some((now, *pause));
                }
            }
            RunEvent::ApprovalAsked { at, tool, .. } => self.asked(at, Some(tool), None, now),
            RunEvent::ApprovalDecided { at, .. } => self.decided(at),
            RunEvent::OutcomeUnknown { .. } => {}
            RunEvent::StepEnded {
                at,
                tool,
                status,
                error,
                reason,
                attempts,
                ..
            } => {
                let ended = EndedStep {
                    at: Arc::clone(at),
                    tool: tool.clone(),
                    status: *status,
                    error: error.clone(),
                    reason: reason.clone(),
                    attempts: *attempts,
                    active: None,
                };
                return self.step_ended(ended, false);
            }
            RunEvent::RunEnded { status } => self.run_ended(*status),
        }
        None
    }

    /// Applies an entry of the journal of `run`. Returns the whole step that it ends, if it ends one.
    pub fn entry(&mut self, run: &RunId, entry: &Entry) -> Option<EndedStep> {
        let now = entry.at;
        match &entry.record {
            // Calls in flight of an earlier process have ended with it.
            Record::Opened { .. } => {
                self.status = None;
                self.ended_steps.retain(|_, is_left| !*is_left);
                self.ended = self.ended_steps.len();
                self.calls = 0;
                self.is_draining = false;
                self.active.clear();
                self.questions.clear();
            }
            Record::Sent {
                at, tool, attempt, ..
            } => {
                self.begin_enclosing(at, now);
                self.sent(at, tool, *attempt, now);
            }
            Record::Answered { .. } | Record::Aborted { .. } => {
                self.calls = self.calls.saturating_sub(1);
            }
            Record::Asked { at, subject, .. } => {
                let digest = subject.digest(run, at).into();
                self.begin_enclosing(at, now);
                self.asked(at, None, Some(digest), now);
            }
            Record::Decided { at, .. } => self.decided(at),
            Record::Extended { steps, .. } => self.steps = *steps,
            Record::Settled {
                at,
                status,
                error,
                reason,
                handled,
                ..
            } => {
                let is_left = match status {
                    StepStatus::Succeeded | StepStatus::Skipped => false,
                    StepStatus::Failed => !handled,
                    StepStatus::NotRun
                    | StepStatus::Cancelled
                    | StepStatus::Waiting
                    | StepStatus::Unknown => true,
                };
                let ended = EndedStep {
                    at: Arc::clone(at),
                    tool: None,
                    status: *status,
                    error: error.clone(),
                    reason: reason.clone(),
                    attempts: 0,
                    active: None,
                };
                return self.step_ended(ended, is_left);
            }
            Record::Draining => self.is_draining = true,
            Record::Ended { status } => self.run_ended(*status),
            Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Closed
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed => {}
        }
        None
    }

    /// Returns true if nothing happens before a person decides.
    pub fn waits_for_people(&self) -> bool {
        self.calls == 0 && !self.questions.is_empty()
    }

    /// Returns the whole step at `at`, if it has started. For an item or a round, this is its step.
    fn started(
        &mut self,
        at: &Address,
        tool: Option<&Arc<str>>,
        now: Duration,
    ) -> Option<&mut ActiveStep> {
        if is_part(at) {
            let step = self.active.get_mut(&whole(at))?;
            let round = at.round.map_or(0, |round| round + 1);
            step.rounds = step.rounds.max(round);
            return Some(step);
        }
        let step = self.active.entry(at.to_string());
        Some(step.or_insert_with(|| ActiveStep {
            tool: tool.cloned(),
            started: now,
            ..ActiveStep::default()
        }))
    }

    /// Starts the loops and the steps with a plan that a call belongs to: a journal has no record of their start.
    fn begin_enclosing(&mut self, at: &Address, now: Duration) {
        for address in enclosing(at) {
            self.active.entry(address).or_insert_with(|| ActiveStep {
                started: now,
                ..ActiveStep::default()
            });
        }
    }

    fn sent(&mut self, at: &Address, tool: &Arc<str>, attempt: u32, now: Duration) {
        self.calls += 1;
        if let Some(step) = self.started(at, Some(tool), now) {
            step.attempt = attempt;
            step.pause = None;
            step.progress = None;
        }
    }

    fn asked(
        &mut self,
        at: &Address,
        tool: Option<&Arc<str>>,
        digest: Option<Arc<str>>,
        now: Duration,
    ) {
        self.questions.insert(at.to_string(), digest);
        if let Some(step) = self.started(at, tool, now) {
            step.is_asking = true;
        }
    }

    fn decided(&mut self, at: &Address) {
        self.questions.shift_remove(&at.to_string());
        if let Some(step) = self.active.get_mut(&whole(at)) {
            step.is_asking = false;
        }
    }

    fn step_ended(&mut self, mut ended: EndedStep, is_left: bool) -> Option<EndedStep> {
        let at = &ended.at;
        self.questions.shift_remove(&at.to_string());
        if is_part(at) {
            if at.item.is_some()
                && at.round.is_none()
                && let Some(step) = self.active.get_mut(&whole(at))
            {
                step.items_ended += 1;
            }
            return None;
        }
        let address = at.to_string();
        ended.active = self.active.shift_remove(&address);
        if ended.tool.is_none() {
            ended.tool = ended.active.as_ref().and_then(|step| step.tool.clone());
        }
        if at.inside.is_none() {
            self.ended_steps.insert(address, is_left);
            self.ended = self.ended_steps.len();
            // Several instances have the same steps.
            self.steps = self.steps.max(self.ended);
        }
        Some(ended)
    }

    fn run_ended(&mut self, status: RunStatus) {
        self.status = Some(status);
        self.calls = 0;
        self.active.clear();
    }
}

/// Returns true if an address is an item or round of a step, or a step inside of one.
fn is_part(at: &Address) -> bool {
    at.item.is_some() || at.round.is_some() || at.inside.as_deref().is_some_and(is_part)
}

/// The whole steps that the call at `at` belongs to, without the calling step itself; steps inside an item or a round are not
/// included.
fn enclosing(at: &Address) -> Vec<String> {
    let mut found = Vec::new();
    let mut level = Some(at);
    while let Some(address) = level {
        let is_calling =
            std::ptr::eq(address, at) && address.item.is_none() && address.round.is_none();
        if !is_calling && !address.inside.as_deref().is_some_and(is_part) {
            found.push(whole(address));
        }
        level = address.inside.as_deref();
    }
    found
}

/// The address of the whole step that an item or round belongs to.
fn whole(at: &Address) -> String {
    let mut whole = at.clone();
    whole.item = None;
    whole.round = None;
    whole.to_string()
}
