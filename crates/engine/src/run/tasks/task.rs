//! Tasks of a run, as data.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Tool, Value};

use crate::address::Address;
use crate::backend::ToolError;
use crate::run::outcome::Outcome;
use crate::schedule::TaskId;

/// The part of a step that a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// The whole step.
    Step,
    /// An item of its `for_each`.
    Item,
    /// A round of its `repeat`.
    Round,
}

/// The data of one task. Rare parts are boxed, since there can be many tasks.
#[derive(Debug)]
pub(crate) struct TaskData {
    pub(crate) frame: usize,
    pub(crate) step: u32,
    pub(crate) kind: TaskKind,
    pub(crate) address: Arc<Address>,
    /// The item or the round, if it is one.
    pub(crate) iteration: Option<Box<Iteration>>,
    pub(crate) tool: Option<Arc<Tool>>,
    pub(crate) args: Option<Value>,
    pub(crate) group: Option<Box<Group>>,
    /// The outcome, until the scheduler has settled the task.
    pub(crate) pending_outcome: Option<Box<Outcome>>,
    /// The error of its last attempt.
    pub(crate) last_error: Option<Box<ToolError>>,
    /// The final outcome.
    pub(crate) outcome: Option<Arc<Outcome>>,
    /// Items, rounds, or steps of an inner plan, in order.
    pub(crate) parts: Vec<TaskId>,
    pub(crate) attempts: u32,
    /// The number of attempts of earlier processes.
    pub(crate) earlier_attempts: u32,
    /// True if an earlier process sent a call whose outcome is unknown.
    pub(crate) outcome_unknown: bool,
    /// True if a question about its call is open.
    pub(crate) question_is_open: bool,
    /// True if its call was postponed by a rate limit.
    pub(crate) postponed: bool,
    /// The longest path from its end to that of the run, in microseconds.
    pub(crate) path_after: u64,
    /// The index of its last call.
    pub(crate) last_call: Option<usize>,
    pub(crate) started: Option<Duration>,
    pub(crate) ended: Option<Duration>,
}

/// An item of a `for_each`, or a round of a `repeat`.
#[derive(Debug)]
pub(crate) struct Iteration {
    /// The item; in a round, that of the enclosing `for_each`.
    pub(crate) item: Option<Value>,
    /// The position of the item, or the number of the round.
    pub(crate) index: u64,
    /// The output of the previous round.
    pub(crate) last: Option<Value>,
}

/// The progress of a group.
#[derive(Debug)]
pub(crate) enum Group {
    /// The items of a `for_each`.
    Items {
        /// The list.
        items: Arc<Vec<Value>>,
        /// The position of the next item to start.
        next: usize,
        /// The expected duration of one item, in microseconds.
        item_cost: u64,
        /// The maximum number of concurrent items.
        parallelism: u64,
    },
    /// The rounds of a `repeat`.
    Rounds {
        /// The current round, from 0.
        number: u64,
        /// The maximum number of rounds.
        max: u64,
        /// The number of latest consecutive rounds with the same output.
        same: u64,
    },
    /// An inner plan.
    Plan {
        /// The index of its frame.
        frame: usize,
    },
}

/// An attempt at a call, for the report.
#[derive(Clone, Debug)]
pub(crate) struct CallRecord {
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    pub(crate) args: Value,
    pub(crate) error: Option<Box<ToolError>>,
    pub(crate) sent: Duration,
    pub(crate) ended: bool,
}

impl TaskData {
    pub(crate) fn new(frame: usize, step: u32, kind: TaskKind, address: Arc<Address>) -> Self {
        Self {
            frame,
            step,
            kind,
            address,
            iteration: None,
            tool: None,
            args: None,
            group: None,
            pending_outcome: None,
            last_error: None,
            outcome: None,
            parts: Vec::new(),
            attempts: 0,
            earlier_attempts: 0,
            outcome_unknown: false,
            question_is_open: false,
            postponed: false,
            path_after: 0,
            last_call: None,
            started: None,
            ended: None,
        }
    }
}

/// The tasks of a run by id, and the attempts at their calls in the order of sending.
#[derive(Debug, Default)]
pub(in crate::run) struct TaskTable {
    tasks: Vec<TaskData>,
    calls: Vec<CallRecord>,
}

impl TaskTable {
    /// Adds the data of the task that the scheduler has added last: ids of tasks count from 0.
    pub(in crate::run) fn push(&mut self, data: TaskData) {
        self.tasks.push(data);
    }

    /// Reserves room for `more` tasks with one call each.
    pub(in crate::run) fn reserve(&mut self, more: usize) {
        self.tasks.reserve(more);
        self.calls.reserve(more);
    }

    pub(in crate::run) fn get(&self, task: TaskId) -> Option<&TaskData> {
        self.tasks.get(task.0 as usize)
    }

    pub(in crate::run) fn get_mut(&mut self, task: TaskId) -> Option<&mut TaskData> {
        self.tasks.get_mut(task.0 as usize)
    }

    pub(in crate::run) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// The tasks from the index `first` on.
    pub(in crate::run) fn since(&self, first: usize) -> impl Iterator<Item = &TaskData> {
        self.tasks.iter().skip(first)
    }

    /// Adds an attempt and returns its index.
    pub(in crate::run) fn push_call(&mut self, call: CallRecord) -> usize {
        self.calls.push(call);
        self.calls.len() - 1
    }

    /// The last attempt of a task.
    pub(in crate::run) fn last_call(&self, task: TaskId) -> Option<&CallRecord> {
        self.calls.get(self.get(task)?.last_call?)
    }

    /// The last attempt of a task, if it is number `attempt` and has not ended. It ends with `error`, if there is one.
    pub(in crate::run) fn end_call(
        &mut self,
        task: TaskId,
        attempt: u32,
        error: Option<&ToolError>,
    ) -> bool {
        let index = self.get(task).and_then(|data| data.last_call);
        match index.and_then(|index| self.calls.get_mut(index)) {
            Some(call) if call.attempt == attempt && !call.ended => {
                call.ended = true;
                call.error = error.cloned().map(Box::new);
                true
            }
            Some(_) | None => false,
        }
    }

    pub(in crate::run) fn calls(&self) -> &[CallRecord] {
        &self.calls
    }
}
