//! What the run knows of each task beside what the scheduler knows.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Tool, Value};

use super::outcome::Outcome;
use crate::backend::ToolError;
use crate::event::Address;
use crate::schedule::TaskId;

/// Which part of a step a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The step as a whole.
    Step,
    /// One item of its `for_each`.
    Item,
    /// One round of its `repeat`.
    Round,
}

/// One task. What few of them have is boxed: there are many.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) frame: usize,
    pub(crate) step: u32,
    pub(crate) layer: Layer,
    pub(crate) address: Arc<Address>,
    /// What only an item or a round has.
    pub(crate) turn: Option<Box<Turn>>,
    pub(crate) tool: Option<Arc<Tool>>,
    pub(crate) args: Option<Value>,
    pub(crate) group: Option<Box<Group>>,
    /// What it will have become once the scheduler agrees.
    pub(crate) pending: Option<Box<Outcome>>,
    /// Why its last attempt failed.
    pub(crate) last_error: Option<Box<ToolError>>,
    /// What has become of it.
    pub(crate) outcome: Option<Arc<Outcome>>,
    /// Items, rounds, or steps of an inner plan, in their order.
    pub(crate) parts: Vec<TaskId>,
    pub(crate) attempts: u32,
    /// How many of the attempts earlier processes made.
    pub(crate) attempts_before: u32,
    /// Whether an earlier process sent a call of which nobody knows what became.
    pub(crate) in_doubt: bool,
    /// Whether somebody was asked about its call who has not decided.
    pub(crate) asked: bool,
    /// Whether its call was told to come again later.
    pub(crate) postponed: bool,
    /// The longest path behind its end, in microseconds.
    pub(crate) behind: u64,
    /// The record of its last call.
    pub(crate) last_call: Option<usize>,
    pub(crate) started: Option<Duration>,
    pub(crate) ended: Option<Duration>,
}

/// One item of a `for_each`, or one round of a `repeat`.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The item, of the nearest `for_each` where this is a round.
    pub(crate) item: Option<Value>,
    /// Its position, or the number of the round.
    pub(crate) index: u64,
    /// What the round before gave.
    pub(crate) last: Option<Value>,
}

/// What a group is in the middle of.
#[derive(Debug)]
pub(crate) enum Group {
    /// The items of a `for_each`.
    Items {
        /// The list.
        items: Arc<Vec<Value>>,
        /// The first item that has not begun.
        next: usize,
        /// How long one item is expected to take, in microseconds.
        each: u64,
        /// How many may be under way together.
        together: u64,
    },
    /// The rounds of a `repeat`.
    Rounds {
        /// The round that is under way, from 0.
        number: u64,
        /// The most rounds.
        max: u64,
        /// How many of the latest rounds gave the same.
        same: u64,
    },
    /// An inner plan.
    Plan {
        /// Its frame.
        frame: usize,
    },
}

/// One attempt at a call, for the report.
#[derive(Clone, Debug)]
pub(crate) struct CallRecord {
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    pub(crate) args: Value,
    pub(crate) error: Option<Box<ToolError>>,
    pub(crate) sent: Duration,
    pub(crate) ended: bool,
}

impl Work {
    pub(crate) fn new(frame: usize, step: u32, layer: Layer, address: Arc<Address>) -> Self {
        Self {
            frame,
            step,
            layer,
            address,
            turn: None,
            tool: None,
            args: None,
            group: None,
            pending: None,
            last_error: None,
            outcome: None,
            parts: Vec::new(),
            attempts: 0,
            attempts_before: 0,
            in_doubt: false,
            asked: false,
            postponed: false,
            behind: 0,
            last_call: None,
            started: None,
            ended: None,
        }
    }
}
