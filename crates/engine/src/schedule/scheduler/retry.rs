//! Attempts at calls, and the ends of tasks.

use std::time::Duration;

use planwright_core::plan::RetryPolicy;

use super::super::task::{AttemptEnd, SchedulerCommand, SettledBy, TaskId, TaskState, Timer};
use super::Scheduler;
use super::tasks::{PackedState, TaskFlag};

/// The maximum pause between two attempts, before variation.
const MAX_PAUSE: Duration = Duration::from_mins(1);

impl Scheduler {
    pub(super) fn attempt_ended(
        &mut self,
        id: TaskId,
        attempt: u32,
        end: AttemptEnd,
        by: SettledBy,
        out: &mut Vec<SchedulerCommand>,
    ) {
        // The call may have timed out, or its task may have been cancelled, while the response was on its way.
        if self.state(id) != TaskState::Running || self.attempt(id) != attempt {
            return;
        }
        // The slot is free during the pause before a retry, so a failing server does not delay other calls.
        self.release_slot(id, out);
        let pause = self
            .terms_of(id)
            .filter(|terms| attempt < terms.retry.attempts.get().min(PackedState::LAST_ATTEMPT))
            .and_then(|terms| match end {
                AttemptEnd::Final => None,
                AttemptEnd::Retryable(least) => {
                    Some(pause_after(&terms.retry, id, attempt).max(least))
                }
                AttemptEnd::Uncertain => terms
                    .retry_uncertain
                    .then(|| pause_after(&terms.retry, id, attempt)),
            });
        match pause {
            // A stopped scope makes no further attempt.
            Some(_) if self.is_stopped(id) => self.settle(id, SettledBy::Stop, out),
            Some(pause) => {
                self.enter(id, TaskState::Backoff);
                out.push(SchedulerCommand::RetryLater {
                    task: id,
                    attempt,
                    pause,
                });
                out.push(SchedulerCommand::SetTimer {
                    task: id,
                    timer: Timer::Pause(attempt),
                    after: pause,
                });
            }
            None => self.settle(id, by, out),
        }
    }

    /// Handles a postponed call: the task begins the same attempt again later.
    pub(super) fn postponed(
        &mut self,
        id: TaskId,
        attempt: u32,
        pause: Duration,
        out: &mut Vec<SchedulerCommand>,
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
        out.push(SchedulerCommand::SetTimer {
            task: id,
            timer: Timer::Pause(before),
            after: pause,
        });
    }

    /// Releases the slot of a running task.
    fn release_slot(&mut self, id: TaskId, out: &mut Vec<SchedulerCommand>) {
        let Some(terms) = self.terms_of(id) else {
            return;
        };
        let (lane, is_exclusive) = (terms.lane, terms.is_exclusive);
        if terms.attempt_timeout.is_some() {
            let timer = Timer::Attempt(self.attempt(id));
            out.push(SchedulerCommand::ClearTimer(id, timer));
        }
        self.ready.release(lane, is_exclusive);
    }

    pub(super) fn timer_fired(
        &mut self,
        id: TaskId,
        timer: Timer,
        out: &mut Vec<SchedulerCommand>,
    ) {
        let state = self.state(id);
        match timer {
            Timer::Attempt(attempt) => {
                if state == TaskState::Running && self.attempt(id) == attempt {
                    out.push(SchedulerCommand::Abort { task: id, attempt });
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
            // The run itself ends when its time is up.
            Timer::Run => {}
            Timer::Step => {
                if state != TaskState::Settled {
                    // The children end first, so that the group does not close as if it had succeeded.
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
        out: &mut Vec<SchedulerCommand>,
    ) {
        let Some(after) = after else {
            return;
        };
        // The limit covers all attempts, so its timer is set once.
        if let Some(entry) = self.task_mut(task)
            && !entry.has_flag(TaskFlag::StepTimer)
        {
            entry.set_flag(TaskFlag::StepTimer);
            out.push(SchedulerCommand::SetTimer {
                task,
                timer: Timer::Step,
                after,
            });
        }
    }
}

/// The pause after an attempt: it doubles each time, and varies by up to a fifth so that tasks that failed together do
/// not retry together. The variation depends on task and attempt alone, so a replay computes the same pause.
fn pause_after(policy: &RetryPolicy, task: TaskId, attempt: u32) -> Duration {
    let doubled = policy
        .delay
        .saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1).min(20)));
    // The mixing function of SplitMix64 spreads neighbouring inputs, and has no state that a replay would have to restore.
    let mut mixed =
        (u64::from(task.0) << 32 | u64::from(attempt)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let per_mille = u32::try_from(800 + (mixed >> 33) % 401).unwrap_or(1000);
    (doubled.min(MAX_PAUSE) / 1000).saturating_mul(per_mille)
}

impl Scheduler {
    pub(super) fn stop(&mut self, scope: Option<TaskId>, out: &mut Vec<SchedulerCommand>) {
        match scope.and_then(|scope| self.task_mut(scope)) {
            Some(group) => group.set_flag(TaskFlag::Stopping),
            None => self.stopping = true,
        }
        for id in self.unsettled_below(scope) {
            match self.state(id) {
                TaskState::Waiting
                | TaskState::Preparing
                | TaskState::AwaitingApproval
                | TaskState::Ready
                | TaskState::Backoff => self.settle(id, SettledBy::Stop, out),
                // Calls in flight may finish, and groups close after their children.
                TaskState::Running | TaskState::Group | TaskState::Settled => {}
            }
        }
    }

    /// Ends everything below `scope` at once, including running tasks.
    pub(super) fn end_all(
        &mut self,
        scope: Option<TaskId>,
        by: SettledBy,
        out: &mut Vec<SchedulerCommand>,
    ) {
        match scope.and_then(|scope| self.task_mut(scope)) {
            Some(group) => group.set_flag(TaskFlag::Stopping),
            None => self.stopping = true,
        }
        // Children come after their group, so in reverse order no group closes by itself.
        for id in self.unsettled_below(scope).into_iter().rev() {
            self.end(id, by, out);
        }
    }

    pub(super) fn end(&mut self, id: TaskId, by: SettledBy, out: &mut Vec<SchedulerCommand>) {
        if self.state(id) == TaskState::Running {
            let attempt = self.attempt(id);
            out.push(SchedulerCommand::Abort { task: id, attempt });
            self.release_slot(id, out);
        }
        self.settle(id, by, out);
    }

    /// The unsettled tasks below `scope`, parents before children.
    fn unsettled_below(&self, scope: Option<TaskId>) -> Vec<TaskId> {
        let mut below = vec![scope.is_none(); self.tasks.len()];
        let mut found = Vec::new();
        for (id, state) in self.tasks.all() {
            let inside = scope.is_none()
                || self.tasks.tree().parent(id).is_some_and(|parent| {
                    Some(parent) == scope || below.get(parent.0 as usize) == Some(&true)
                });
            if let Some(mark) = below.get_mut(id.0 as usize) {
                *mark = inside;
            }
            if inside && state != TaskState::Settled {
                found.push(id);
            }
        }
        found
    }

    pub(super) fn settle(&mut self, id: TaskId, by: SettledBy, out: &mut Vec<SchedulerCommand>) {
        if self.state(id) == TaskState::Settled {
            return;
        }
        self.enter(id, TaskState::Settled);
        self.unsettled -= 1;
        let Some(task) = self.task_mut(id) else {
            return;
        };
        task.set_terms(None);
        let had_timer = task.has_flag(TaskFlag::StepTimer);
        let parent = self.tasks.tree().parent(id);
        // A timer that has fired needs no clearing.
        if had_timer && by != SettledBy::StepTimeout {
            out.push(SchedulerCommand::ClearTimer(id, Timer::Step));
        }
        out.push(SchedulerCommand::Settled(id, by));
        let mut free = std::mem::take(&mut self.free);
        self.tasks.release(id, &mut free);
        for id in free.drain(..) {
            self.enter(id, TaskState::Preparing);
            out.push(SchedulerCommand::Prepare(id));
        }
        self.free = free;
        if let Some(parent) = parent {
            self.child_settled(parent, id, out);
        }
    }

    fn child_settled(&mut self, group: TaskId, child: TaskId, out: &mut Vec<SchedulerCommand>) {
        self.tasks.tree_mut().count_settled(group);
        if self.state(group) != TaskState::Group {
            return;
        }
        if self
            .task(group)
            .is_some_and(|group| group.has_flag(TaskFlag::Sealed))
        {
            self.close_if_done(group, out);
        } else {
            out.push(SchedulerCommand::ChildSettled { group, child });
        }
    }

    pub(super) fn close_if_done(&mut self, group: TaskId, out: &mut Vec<SchedulerCommand>) {
        if let Some(entry) = self.task(group)
            && entry.state() == TaskState::Group
            && entry.has_flag(TaskFlag::Sealed)
            && self.tasks.tree().all_settled(group)
        {
            out.push(SchedulerCommand::Close(group));
        }
    }
}
