//! Attempts at a call: their ends, retries and timers.

use std::time::Duration;

use super::super::task::{AttemptEnd, Command, SettledBy, TaskId, TaskState, Timer};
use super::Scheduler;
use super::packed_state::{PackedState, TaskFlag};

/// The maximum pause between two attempts, before variation.
const MAX_PAUSE: Duration = Duration::from_mins(1);

impl Scheduler {
    pub(super) fn attempt_ended(
        &mut self,
        id: TaskId,
        attempt: u32,
        end: AttemptEnd,
        by: SettledBy,
        out: &mut Vec<Command>,
    ) {
        if self.state(id) != TaskState::Running || self.attempt(id) != attempt {
            return;
        }
        self.release_slot(id, out);
        let stopped = self.is_stopped(id);
        let pause = self
            .terms_of(id)
            .filter(|terms| attempt < terms.attempts.min(PackedState::LAST_ATTEMPT) && !stopped)
            .and_then(|terms| match end {
                AttemptEnd::Final => None,
                AttemptEnd::Retryable(least) => {
                    Some(pause_after(terms.retry_pause, id, attempt).max(least))
                }
                AttemptEnd::Uncertain => terms
                    .retry_uncertain
                    .then(|| pause_after(terms.retry_pause, id, attempt)),
            });
        match pause {
            Some(pause) => {
                self.enter(id, TaskState::Backoff);
                out.push(Command::RetryLater {
                    task: id,
                    attempt,
                    pause,
                });
                out.push(Command::SetTimer {
                    task: id,
                    timer: Timer::Pause(attempt),
                    after: pause,
                });
            }
            None => self.settle(id, by, out),
        }
    }

    /// Returns a call that was to be made: the task begins the same attempt again later.
    pub(super) fn postponed(
        &mut self,
        id: TaskId,
        attempt: u32,
        pause: Duration,
        out: &mut Vec<Command>,
    ) {
        if self.state(id) != TaskState::Running || self.attempt(id) != attempt {
            return;
        }
        self.release_slot(id, out);
        // The attempt was not made, so it does not count.
        let before = attempt.saturating_sub(1);
        if let Some(task) = self.task_mut(id) {
            task.set_attempt(before);
        }
        self.enter(id, TaskState::Backoff);
        out.push(Command::SetTimer {
            task: id,
            timer: Timer::Pause(before),
            after: pause,
        });
    }

    /// Releases the slot of a running task.
    pub(super) fn release_slot(&mut self, id: TaskId, out: &mut Vec<Command>) {
        let Some(terms) = self.terms_of(id) else {
            return;
        };
        let (lane, alone) = (terms.lane, terms.alone);
        if terms.attempt_timeout.is_some() {
            let timer = Timer::Attempt(self.attempt(id));
            out.push(Command::ClearTimer(id, timer));
        }
        self.ready.release(lane, alone);
    }

    pub(super) fn timer_fired(&mut self, id: TaskId, timer: Timer, out: &mut Vec<Command>) {
        let state = self.state(id);
        match timer {
            Timer::Attempt(attempt) => {
                if state == TaskState::Running && self.attempt(id) == attempt {
                    out.push(Command::Abort { task: id, attempt });
                    // A call that timed out may have happened.
                    let end = AttemptEnd::Uncertain;
                    self.attempt_ended(id, attempt, end, SettledBy::AttemptTimeout, out);
                }
            }
            Timer::Pause(attempt) => {
                if state == TaskState::Backoff && self.attempt(id) == attempt {
                    self.enqueue(id, out);
                }
            }
            Timer::Run => {}
            Timer::Step => {
                if state != TaskState::Settled {
                    // The children end first, so the group does not close as if it were done.
                    if state == TaskState::Group {
                        self.end_all(Some(id), SettledBy::Cancel, out);
                    }
                    self.end(id, SettledBy::StepTimeout, out);
                }
            }
        }
    }

    pub(super) fn set_step_timer(
        &mut self,
        task: TaskId,
        after: Option<Duration>,
        out: &mut Vec<Command>,
    ) {
        let Some(after) = after else {
            return;
        };
        // The limit covers all attempts, so its timer is set once.
        if let Some(entry) = self.task_mut(task)
            && !entry.has_flag(TaskFlag::StepTimer)
        {
            entry.set_flag(TaskFlag::StepTimer);
            out.push(Command::SetTimer {
                task,
                timer: Timer::Step,
                after,
            });
        }
    }
}

/// The pause after an attempt: it doubles each time, and varies by up to a fifth so that tasks that failed together do
/// not retry together. The variation depends on task and attempt alone, so a replay computes the same pause.
fn pause_after(first: Duration, task: TaskId, attempt: u32) -> Duration {
    let doubled = first.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1).min(20)));
    let mut mixed =
        (u64::from(task.0) << 32 | u64::from(attempt)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let per_mille = u32::try_from(800 + (mixed >> 33) % 401).unwrap_or(1000);
    (doubled.min(MAX_PAUSE) / 1000).saturating_mul(per_mille)
}
