//! The state machine itself.

mod attempts;
mod ending;
mod families;
mod standing;
mod tasks;

use std::sync::Arc;

use indexmap::IndexSet;
use planwright_core::Hashing;

use self::standing::Mark;
use self::tasks::{Task, Tasks};

use super::ready::{LaneId, Limits, Ready};
use super::task::{CallTerms, Command, Event, Prepared, SettledBy, TaskId, TaskState, Timer};

/// A pure scheduler: no clock, no randomness, nothing that waits. See the [module](super).
#[derive(Debug, Default)]
pub struct Scheduler {
    tasks: Tasks,
    /// The terms on which calls are made; most tasks share theirs with many others.
    terms: IndexSet<CallTerms, Hashing>,
    latest_terms: usize,
    ready: Ready,
    /// Room for those that a settled task sets free.
    free: Vec<TaskId>,
    stopping: bool,
    unsettled: usize,
    running: usize,
    pausing: usize,
    asking: usize,
}

impl Scheduler {
    /// A scheduler without tasks.
    pub fn new(limits: Limits) -> Self {
        Self {
            ready: Ready::new(limits),
            ..Self::default()
        }
    }

    /// The lane for calls of `tool` at `server`.
    pub fn lane(&mut self, server: &Arc<str>, tool: &Arc<str>) -> LaneId {
        self.ready.lane(server, tool)
    }

    /// The id that the next task will get.
    pub fn next_id(&self) -> TaskId {
        self.tasks.next_id()
    }

    /// Adds a task that waits for others, which may be added later as long as their ids are known. `rank` is the longest
    /// path behind it, see [`ranks`](super::ranks). Call [`start`](Self::start) once all of a batch are there.
    pub fn add(&mut self, parent: Option<TaskId>, rank: u64) -> TaskId {
        let id = self.tasks.add(parent);
        self.ready.add(rank);
        self.unsettled += 1;
        id
    }

    /// Makes `task` wait for `on`, and asks for its preparation as soon as nothing is left to wait for.
    pub fn start(&mut self, task: TaskId, on: &[TaskId], out: &mut Vec<Command>) {
        if self.is_stopped(task) {
            self.settle(task, SettledBy::Stop, out);
            return;
        }
        self.wait_for(task, on, out);
    }

    /// Takes in what happened; appends what is to be done.
    pub fn handle(&mut self, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Prepared(task, prepared) => self.prepared(task, prepared, out),
            Event::AttemptEnded { task, attempt, end } => {
                self.attempt_ended(task, attempt, end, SettledBy::Attempt, out);
            }
            Event::Postponed {
                task,
                attempt,
                pause,
            } => self.postponed(task, attempt, pause, out),
            Event::Approved(task) => {
                if self.state(task) == TaskState::Asking {
                    self.enqueue(task, out);
                }
            }
            Event::Rejected(task) => {
                if self.state(task) == TaskState::Asking {
                    self.settle(task, SettledBy::Rejection, out);
                }
            }
            Event::TimerFired(task, timer) => self.timer_fired(task, timer, out),
            Event::Sealed(task) => {
                if let Some(group) = self.task_mut(task) {
                    group.mark(Mark::Sealed);
                }
                self.close_if_done(task, out);
            }
            Event::Closed(task) => self.settle(task, SettledBy::Itself, out),
            Event::Stop(scope) => self.stop(scope, out),
            Event::Cancel => self.end_all(None, SettledBy::Cancel, out),
        }
    }

    /// Where a task stands.
    pub fn state(&self, task: TaskId) -> TaskState {
        self.tasks.state(task)
    }

    /// The longest path behind a task.
    pub fn rank(&self, task: TaskId) -> u64 {
        self.ready.rank(task)
    }

    /// Ranks a task anew. One that is queued already keeps its place there.
    pub fn rank_as(&mut self, task: TaskId, rank: u64) {
        let queued = self.state(task) == TaskState::Ready;
        let terms = self.terms_of(task).filter(|terms| queued && !terms.alone);
        let lane = terms.map(|terms| terms.lane);
        self.ready.rank_as(task, rank, lane);
    }

    /// The attempt that a task is at; 0 before the first.
    pub fn attempt(&self, task: TaskId) -> u32 {
        self.task(task).map_or(0, Task::attempt)
    }

    /// Whether every task has settled.
    pub fn is_done(&self) -> bool {
        self.unsettled == 0
    }

    /// Whether nothing can happen before a person decides.
    pub fn waits_for_people(&self) -> bool {
        self.asking > 0 && self.running == 0 && self.pausing == 0 && self.ready.queued() == 0
    }

    /// Whether tasks are left of which none can ever start. A sound plan never gets there.
    pub fn is_stuck(&self) -> bool {
        self.unsettled > 0
            && self.asking == 0
            && self.running == 0
            && self.pausing == 0
            && self.ready.queued() == 0
    }

    fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(id)
    }

    fn task_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.tasks.get_mut(id)
    }

    /// The terms of a task's call, where it makes one.
    fn terms_of(&self, id: TaskId) -> Option<&CallTerms> {
        self.terms.get_index(self.task(id)?.terms()?)
    }

    /// Where `terms` are in the table. Mostly they are those of the call before.
    fn place_of(&mut self, terms: CallTerms) -> usize {
        if self.terms.get_index(self.latest_terms) != Some(&terms) {
            self.latest_terms = self.terms.insert_full(terms).0;
        }
        self.latest_terms
    }

    /// Whether a task belongs to something that starts nothing new.
    pub fn is_stopped(&self, task: TaskId) -> bool {
        let mut at = Some(task);
        while let Some(id) = at {
            if self.task(id).is_some_and(|task| task.has(Mark::Stopping)) {
                return true;
            }
            at = self.tasks.families().parent(id);
        }
        self.stopping
    }

    /// The one place where a task changes its state, so that the counts stay right.
    fn enter(&mut self, id: TaskId, state: TaskState) {
        let Some(old) = self.tasks.enter(id, state) else {
            return;
        };
        for (count, counted) in [
            (&mut self.running, TaskState::Running),
            (&mut self.pausing, TaskState::Pausing),
            (&mut self.asking, TaskState::Asking),
        ] {
            if old == counted {
                *count = count.saturating_sub(1);
            }
            if state == counted {
                *count += 1;
            }
        }
    }

    fn wait_for(&mut self, task: TaskId, on: &[TaskId], out: &mut Vec<Command>) {
        if self.tasks.wait(task, on) == 0 {
            self.enter(task, TaskState::Preparing);
            out.push(Command::Prepare(task));
        } else {
            self.enter(task, TaskState::Waiting);
        }
    }

    fn prepared(&mut self, task: TaskId, prepared: Prepared, out: &mut Vec<Command>) {
        if self.state(task) != TaskState::Preparing {
            return;
        }
        match prepared {
            Prepared::WaitFor(on) => self.wait_for(task, &on, out),
            Prepared::Done => self.settle(task, SettledBy::Itself, out),
            Prepared::Call(terms) => {
                let approval = terms.approval;
                let place = self.place_of(terms);
                if let Some(entry) = self.task_mut(task) {
                    entry.set_terms(Some(place));
                }
                if approval {
                    self.enter(task, TaskState::Asking);
                    out.push(Command::Ask(task));
                } else {
                    self.enqueue(task, out);
                }
            }
            Prepared::Group(timeout) => {
                self.enter(task, TaskState::Group);
                self.set_step_timer(task, timeout, out);
            }
        }
    }

    fn enqueue(&mut self, task: TaskId, out: &mut Vec<Command>) {
        if self.is_stopped(task) {
            self.settle(task, SettledBy::Stop, out);
            return;
        }
        let Some(terms) = self.terms_of(task) else {
            return;
        };
        let (lane, alone) = (terms.lane, terms.alone);
        self.enter(task, TaskState::Ready);
        self.ready.push(task, lane, alone);
    }

    /// Starts whatever the limits allow. Call it when all that has happened was taken in and every
    /// [`Command::Prepare`] was answered: only then is the best task known.
    pub fn start_ready(&mut self, out: &mut Vec<Command>) {
        loop {
            let tasks = &self.tasks;
            let is_live = |id: TaskId| tasks.state(id) == TaskState::Ready;
            let Some(id) = self.ready.pop(&is_live) else {
                return;
            };
            self.look_ahead(id);
            self.enter(id, TaskState::Running);
            let Some(task) = self.task_mut(id) else {
                return;
            };
            let attempt = task.attempt() + 1;
            task.set_attempt(attempt);
            let (attempt_timeout, step_timeout) = self.terms_of(id).map_or((None, None), |terms| {
                (terms.attempt_timeout, terms.step_timeout)
            });
            out.push(Command::Call { task: id, attempt });
            if let Some(after) = attempt_timeout {
                out.push(Command::SetTimer {
                    task: id,
                    timer: Timer::Attempt(attempt),
                    after,
                });
            }
            self.set_step_timer(id, step_timeout, out);
        }
    }

    /// Looks at tasks that will soon start, now that `started` does.
    fn look_ahead(&mut self, started: TaskId) {
        let places = self.ready.soon(started);
        if !places.is_empty() {
            let order = self.ready.order();
            let place = |task| order.place(task).unwrap_or(0);
            self.tasks.look_at(order.tasks_at(places), place);
        }
    }
}
