//! The state of every step of a run, computed from its journal, for graphs, timelines and lists.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::run::StepHistory;
use planwright_engine::{RunId, StepStatus};

use super::{ActiveStep, EndedStep, RunView, enclosing, is_part, whole};
use crate::format::ProcessV1;

/// The states of the steps of a run after the journal entries that were applied.
/// Items and rounds have no separate state. They are counted with their step.
#[derive(Clone, Debug)]
pub struct StepStates {
    run: RunId,
    entries: usize,
    view: RunView,
    ended: HashMap<String, StepView>,
    questions: IndexMap<String, Arc<str>>,
    /// The steps with such a call.
    asking: HashSet<String>,
    /// The addresses of steps of instances, by the address without instances.
    instances: HashMap<String, BTreeSet<String>>,
}

/// The state of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepView {
    /// The phase.
    pub phase: StepPhase,
    /// The tool that it calls, if it has called one.
    pub tool: Option<Arc<str>>,
    /// The time of its start, since the start of the run.
    pub started: Option<Duration>,
    /// The time of its end, since the start of the run.
    pub ended: Option<Duration>,
    /// The current or last attempt, from 1; 0 before the first call.
    pub attempt: u32,
    /// The number of items that have ended, if it runs for each of a list.
    pub items_ended: u64,
    /// The number of rounds that have started, if it repeats.
    pub rounds: u64,
    /// The message of its failure, or the reason why it did not run.
    pub error: Option<String>,
}

/// The phase of a step at any moment of its run. A [`StepStatus`](planwright_engine::run::StepStatus) is how a step has ended: it has no name for a
/// step in progress, and reports store its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepPhase {
    /// Not started.
    Pending,
    /// In progress.
    Running,
    /// Waiting for the decision of a person.
    Waiting,
    /// Pausing before the next attempt.
    Retrying,
    /// Succeeded.
    Succeeded,
    /// Failed.
    Failed,
    /// Skipped.
    Skipped,
    /// Not run, because an earlier step did not succeed.
    NotRun,
    /// Cancelled.
    Cancelled,
    /// A call of it was not answered, and may or may not have happened.
    Unknown,
}

impl StepPhase {
    /// The name of the phase.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::NotRun => "not_run",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

impl StepPhase {
    /// The rank by which the state of one instance represents all instances.
    fn rank(self) -> u8 {
        match self {
            Self::Failed => 0,
            Self::Unknown => 1,
            Self::Waiting => 2,
            Self::Retrying => 3,
            Self::Running => 4,
            Self::Pending => 5,
            Self::Cancelled => 6,
            Self::NotRun => 7,
            Self::Skipped => 8,
            Self::Succeeded => 9,
        }
    }
}

/// The address without its instances; `None` if it has none. An `@` in a name is percent-encoded.
fn without_instances(address: &str) -> Option<String> {
    if !address.contains('@') {
        return None;
    }
    let parts = address.split('/').map(|part| {
        let Some((step, rest)) = part.split_once('@') else {
            return part.to_owned();
        };
        let suffix = rest.find(['[', '#']).and_then(|at| rest.get(at..));
        format!("{step}{}", suffix.unwrap_or_default())
    });
    Some(parts.collect::<Vec<_>>().join("/"))
}

impl From<StepStatus> for StepPhase {
    fn from(status: StepStatus) -> Self {
        match status {
            StepStatus::Succeeded => Self::Succeeded,
            StepStatus::Failed => Self::Failed,
            StepStatus::Skipped => Self::Skipped,
            StepStatus::NotRun => Self::NotRun,
            StepStatus::Cancelled => Self::Cancelled,
            StepStatus::Waiting => Self::Waiting,
            StepStatus::Unknown => Self::Unknown,
        }
    }
}

impl StepStates {
    /// The states of a run before its first entry. `steps` is the number of steps of its plan.
    pub fn new(run: RunId, steps: usize) -> Self {
        Self {
            run,
            entries: 0,
            view: RunView {
                steps,
                ..RunView::default()
            },
            ended: HashMap::new(),
            questions: IndexMap::new(),
            asking: HashSet::new(),
            instances: HashMap::new(),
        }
    }

    /// The number of entries that were applied.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The calls that wait for a decision, by address, with the digest that a decision names. Includes those of a run that has ended as
    /// waiting.
    pub fn questions(&self) -> &IndexMap<String, Arc<str>> {
        &self.questions
    }

    /// Returns the state of the step at `address`. An address without instances means the step in all instances of its plan: the result
    /// is their most important state, from the first start to the last end.
    pub fn step(&self, address: &str) -> StepView {
        let Some(instances) = self.instances.get(address) else {
            return self.single(address);
        };
        let states: Vec<StepView> = instances.iter().map(|one| self.single(one)).collect();
        let worst = states.iter().min_by_key(|state| state.phase.rank());
        let has_ended = states.iter().all(|state| state.ended.is_some());
        let ended = states.iter().filter_map(|state| state.ended).max();
        StepView {
            started: states.iter().filter_map(|state| state.started).min(),
            ended: ended.filter(|_| has_ended),
            ..worst.cloned().unwrap_or(StepView::PENDING)
        }
    }

    fn single(&self, address: &str) -> StepView {
        let mut state = match self.view.active.get(address) {
            Some(active) => StepView::of_active(active),
            None => self
                .ended
                .get(address)
                .cloned()
                .unwrap_or(StepView::PENDING),
        };
        // A loop waits as long as one of its calls does. A run that has ended as waiting has not ended its waiting steps.
        if self.asking.contains(address) {
            state.phase = StepPhase::Waiting;
        }
        state
    }

    /// The addresses of all steps that have begun, or have ended without a beginning. Steps of instances are included with and without the
    /// instance.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let ended = self.ended.keys();
        let ended = ended.filter(|address| !self.view.active.contains_key(&***address));
        let asking = self.asking.iter().filter(|address| {
            !self.view.active.contains_key(&***address) && !self.ended.contains_key(&***address)
        });
        ended
            .chain(self.view.active.keys())
            .chain(self.instances.keys())
            .chain(asking)
            .map(String::as_str)
    }

    /// Applies the next entry of the journal. Returns the addresses of the steps that it concerns. An entry about the whole run, such as
    /// the start of a process, may change the states of all steps.
    pub fn entry(&mut self, entry: &Entry) -> Vec<String> {
        self.entries += 1;
        if let Record::Opened { header, .. } = &entry.record {
            self.opened(header);
        }
        let ended = self.view.entry(&self.run, entry);
        self.ask(entry);
        let Some(at) = entry.record.address() else {
            return Vec::new();
        };
        let mut changed = enclosing(at);
        if !is_part(at) {
            changed.push(whole(at));
        }
        if let Some(ended) = ended {
            let address = ended.at.to_string();
            let start = if let Record::Settled { started, .. } = &entry.record {
                *started
            } else {
                None
            };
            self.ended
                .insert(address, StepView::of_ended(&ended, start, entry.at));
        }
        for index in 0..changed.len() {
            if let Some(merged) = without_instances(&changed[index]) {
                let of_step = self.instances.entry(merged.clone()).or_default();
                of_step.insert(changed[index].clone());
                changed.push(merged);
            }
        }
        changed
    }

    /// Removes the states of the steps that the next process resumes.
    fn opened(&mut self, header: &planwright_core::Value) {
        // The header of another program does not name the steps that it forgets.
        let forgotten = ProcessV1::from_value(header).map(|process| process.forgotten);
        let forgotten = forgotten.unwrap_or_default();
        let left = &self.view.ended_steps;
        self.ended.retain(|address, _| {
            let outermost = address
                .split(['/', '@', '[', '#'])
                .next()
                .unwrap_or(address);
            let is_done = left.get(address).is_none_or(|is_left| !*is_left);
            is_done && !forgotten.iter().any(|step| step.as_str() == outermost)
        });
        self.questions.clear();
        self.asking.clear();
    }

    fn ask(&mut self, entry: &Entry) {
        match &entry.record {
            Record::Asked { at, subject, .. } => {
                let digest = subject.digest(&self.run, at).into();
                self.questions.insert(at.to_string(), digest);
                self.asking.insert(asking_step(at));
            }
            Record::Decided { at, .. } => self.answered(at),
            // A run that ends as waiting leaves its questions open.
            Record::Settled { at, status, .. } if *status != StepStatus::Waiting => {
                self.answered(at);
            }
            Record::Opened { .. }
            | Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. } => {}
        }
    }

    fn answered(&mut self, at: &Address) {
        if self.questions.shift_remove(&at.to_string()).is_none() {
            return;
        }
        let step = asking_step(at);
        let is_of_step = |question: &&String| {
            let rest = question.strip_prefix(step.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '#', '/']))
        };
        if self.questions.keys().find(is_of_step).is_none() {
            self.asking.remove(&step);
        }
    }
}

/// The step whose state shows that the call at `at` waits: the calling one, or the loop around it.
fn asking_step(at: &Address) -> String {
    let mut enclosing = enclosing(at).into_iter();
    let innermost = enclosing.next().filter(|_| is_part(at));
    innermost.unwrap_or_else(|| whole(at))
}

impl StepView {
    const PENDING: Self = Self {
        phase: StepPhase::Pending,
        tool: None,
        started: None,
        ended: None,
        attempt: 0,
        items_ended: 0,
        rounds: 0,
        error: None,
    };

    /// The state of an item or round, or of a step inside of one, by its history.
    pub fn of_past(past: &StepHistory) -> Self {
        let first = past.calls.first().map(|call| call.sent);
        let end = past.settled.as_ref();
        let error = end.and_then(|end| end.error.as_ref());
        Self {
            phase: match end {
                Some(end) => StepPhase::from(end.status),
                None if past.open_question().is_some() => StepPhase::Waiting,
                None if past.calls.is_empty() => StepPhase::Pending,
                None => StepPhase::Running,
            },
            tool: past.calls.last().map(|call| Arc::clone(&call.tool)),
            started: end.and_then(|end| end.started).or(first),
            ended: end.map(|end| end.ended),
            attempt: past.attempts(),
            error: error.map(|error| error.message.clone()),
            ..Self::PENDING
        }
    }

    fn of_active(active: &ActiveStep) -> Self {
        let phase = match (active.is_asking, active.pause) {
            (true, _) => StepPhase::Waiting,
            (false, Some(_)) => StepPhase::Retrying,
            (false, None) => StepPhase::Running,
        };
        Self {
            phase,
            tool: active.tool.clone(),
            started: Some(active.started),
            ended: None,
            attempt: active.attempt,
            items_ended: active.items_ended,
            rounds: active.rounds,
            error: None,
        }
    }

    fn of_ended(step: &EndedStep, start: Option<Duration>, end: Duration) -> Self {
        let active = step.active.clone().unwrap_or_default();
        let error = step.error.as_ref().map(|error| error.message.clone());
        Self {
            phase: StepPhase::from(step.status),
            tool: step.tool.clone(),
            started: start.or_else(|| step.active.as_ref().map(|active| active.started)),
            ended: Some(end),
            attempt: active.attempt,
            items_ended: active.items_ended,
            rounds: active.rounds,
            error: error.or_else(|| step.reason.as_ref().map(ToString::to_string)),
        }
    }
}
