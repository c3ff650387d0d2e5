//! The timers of a run, in its own time. Restate keeps one sleep until the earliest of them, not one for each, so that a long run does not
//! leave thousands of them behind.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use planwright_engine::schedule::{TaskId, Timer};

/// The timers that are set.
#[derive(Debug, Default)]
pub(crate) struct DurableTimers {
    due: BTreeSet<(Duration, TaskId, Timer)>,
    by_timer: HashMap<(TaskId, Timer), Duration>,
    /// The time limits of whole steps that an open question suspends.
    suspended: BTreeSet<TaskId>,
    /// The ends of the sleeps that Restate keeps.
    sleeps: BTreeSet<Duration>,
}

impl DurableTimers {
    pub(crate) fn set(&mut self, task: TaskId, timer: Timer, due: Duration) {
        self.clear(task, timer);
        self.by_timer.insert((task, timer), due);
        self.due.insert((due, task, timer));
    }

    pub(crate) fn clear(&mut self, task: TaskId, timer: Timer) {
        if let Some(due) = self.by_timer.remove(&(task, timer)) {
            self.due.remove(&(due, task, timer));
        }
        if timer == Timer::Step {
            self.suspended.remove(&task);
        }
    }

    /// Returns true if nothing is due at any time.
    pub(crate) fn is_empty(&self) -> bool {
        self.due.is_empty() && self.suspended.is_empty()
    }

    /// Suspends the limit of the step `task` until its questions are closed.
    pub(crate) fn suspend(&mut self, task: TaskId) {
        self.suspended.insert(task);
    }

    /// Returns the suspended limits, and suspends none.
    pub(crate) fn take_suspended(&mut self) -> BTreeSet<TaskId> {
        std::mem::take(&mut self.suspended)
    }

    /// Removes and returns the first timer that is due at `now`.
    pub(crate) fn next_due(&mut self, now: Duration) -> Option<(TaskId, Timer)> {
        let (due, task, timer) = *self.due.first()?;
        if now < due {
            return None;
        }
        self.due.pop_first();
        self.by_timer.remove(&(task, timer));
        Some((task, timer))
    }

    /// Returns the end of the sleep that has to be added, so that no timer is missed.
    pub(crate) fn next_sleep(&mut self) -> Option<Duration> {
        let (due, ..) = *self.due.first()?;
        if self.sleeps.first().is_some_and(|end| *end <= due) {
            return None;
        }
        self.sleeps.insert(due);
        Some(due)
    }

    /// Removes a sleep that has ended.
    pub(crate) fn sleep_ended(&mut self, end: Duration) {
        self.sleeps.remove(&end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn one_sleep_serves_later_timers() {
        let mut timers = DurableTimers::default();
        let (one, other) = (TaskId(1), TaskId(2));
        timers.set(one, Timer::Step, 5 * SECOND);
        assert_eq!(timers.next_sleep(), Some(5 * SECOND));
        timers.set(other, Timer::Step, 6 * SECOND);
        assert_eq!(timers.next_sleep(), None);
        timers.set(other, Timer::Pause(1), SECOND);
        assert_eq!(timers.next_sleep(), Some(SECOND));
        timers.sleep_ended(SECOND);
        assert_eq!(timers.next_due(SECOND), Some((other, Timer::Pause(1))));
        assert_eq!(timers.next_due(SECOND), None);
        timers.clear(one, Timer::Step);
        // The sleep until the fifth second is still there.
        assert_eq!(timers.next_sleep(), None);
        timers.sleep_ended(5 * SECOND);
        assert_eq!(timers.next_due(5 * SECOND), None);
        assert_eq!(timers.next_sleep(), Some(6 * SECOND));
    }
}
