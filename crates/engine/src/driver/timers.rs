//! The timers of a run: one sleep of the runtime, set for the earliest of them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::pin::Pin;
use std::time::Duration;

use planwright_core::Hashing;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::schedule::{TaskId, Timer};

/// The timers of a run, at most one for each task and kind of timer.
#[derive(Default)]
pub(super) struct Timers {
    /// The timers that run, the earliest first.
    queue: BTreeSet<(Instant, TaskId, Timer)>,
    deadlines: HashMap<(TaskId, Timer), Instant, Hashing>,
    /// The sleep of an earlier wait. It is reset only if it ends at another time than the earliest timer, because registering it with the
    /// runtime at each event of a run would cost more than the event.
    sleep: Option<Pin<Box<Sleep>>>,
    /// The timers that have expired during a question and are set again after it.
    suspended: HashSet<(TaskId, Timer), Hashing>,
}

impl Timers {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sets a timer, which replaces an earlier one of the same task and kind. A time that the clock cannot represent never comes.
    pub(super) fn set(&mut self, task: TaskId, timer: Timer, after: Duration) {
        // The queue is ordered by time, so an earlier entry of the same timer has to be found through `deadlines`.
        self.clear(task, timer);
        if let Some(deadline) = Instant::now().checked_add(after) {
            self.queue.insert((deadline, task, timer));
            self.deadlines.insert((task, timer), deadline);
        }
    }

    /// Suspends an expired timer until it is set again.
    pub(super) fn suspend(&mut self, task: TaskId, timer: Timer) {
        self.suspended.insert((task, timer));
    }

    /// Removes and returns the suspended timers.
    pub(super) fn take_suspended(&mut self) -> HashSet<(TaskId, Timer), Hashing> {
        std::mem::take(&mut self.suspended)
    }

    pub(super) fn clear(&mut self, task: TaskId, timer: Timer) {
        // Calls that complete at once have no timer, so mostly there is none to look for.
        if self.deadlines.is_empty() && self.suspended.is_empty() {
            return;
        }
        self.suspended.remove(&(task, timer));
        if let Some(deadline) = self.deadlines.remove(&(task, timer)) {
            self.queue.remove(&(deadline, task, timer));
        }
    }

    /// Waits for the next timer to expire. `None` if there is none.
    pub(super) async fn next(&mut self) -> Option<(TaskId, Timer)> {
        loop {
            // A timer that expired during other work must not wait for the runtime.
            if let Some(expired) = self.try_next() {
                return Some(expired);
            }
            let (deadline, ..) = *self.queue.first()?;
            let sleep = self
                .sleep
                .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            if sleep.deadline() != deadline || sleep.is_elapsed() {
                sleep.as_mut().reset(deadline);
            }
            sleep.await;
        }
    }

    /// A timer that has already expired.
    pub(super) fn try_next(&mut self) -> Option<(TaskId, Timer)> {
        let (deadline, task, timer) = *self.queue.first()?;
        if Instant::now() < deadline {
            return None;
        }
        self.queue.pop_first();
        self.deadlines.remove(&(task, timer));
        Some((task, timer))
    }
}

/// Waits until `time`, or forever without one.
pub(super) async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
