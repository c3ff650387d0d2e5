//! The run's data about each task, beside that of the scheduler.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Tool, Value};

use crate::backend::ToolError;
use crate::event::Address;
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
    /// The longest path after its end, in microseconds.
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
    /// The output of the round before.
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
