//! The tasks in columns: what is looked at in no particular order (states, counts, who waits for whom) lies close together,
//! so that even a million tasks leave the processor's caches of use.

use super::super::task::{TaskId, TaskState};

/// In place of a number: no task, no terms, the end of a list.
const NONE: u32 = u32::MAX;

/// All tasks of a scheduler.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    states: Vec<TaskState>,
    /// For how many others each still waits.
    open_waits: Vec<u32>,
    /// For each, the latest of the `waits` for it.
    latest_wait: Vec<u32>,
    waits: Vec<Wait>,
    rest: Vec<Task>,
}

/// Somebody waits for a task.
#[derive(Clone, Copy, Debug)]
struct Wait {
    who: TaskId,
    /// The one before of those for the same task.
    before: u32,
}

/// What is looked at only when a task's own turn has come: half a line of a cache.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) rank: u64,
    parent: u32,
    /// How many of its children have not settled.
    pub(super) open_children: u32,
    pub(super) attempt: u32,
    terms: u32,
    pub(super) sealed: bool,
    pub(super) stopping: bool,
    pub(super) step_timer: bool,
}

impl Task {
    /// The group that it belongs to.
    pub(super) fn parent(&self) -> Option<TaskId> {
        (self.parent != NONE).then_some(TaskId(self.parent))
    }

    /// The place of its terms in the table of all terms, where it makes a call.
    pub(super) fn terms(&self) -> Option<usize> {
        (self.terms != NONE).then_some(self.terms as usize)
    }

    /// Sets that place, or takes it away.
    pub(super) fn set_terms(&mut self, place: Option<usize>) {
        let place = place.and_then(|place| u32::try_from(place).ok());
        self.terms = place.unwrap_or(NONE);
    }
}

impl Tasks {
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// The id that the next task will get.
    pub(super) fn next_id(&self) -> TaskId {
        TaskId(u32::try_from(self.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn add(&mut self, parent: Option<TaskId>, rank: u64) -> TaskId {
        let id = self.next_id();
        self.states.push(TaskState::Waiting);
        self.open_waits.push(0);
        self.latest_wait.push(NONE);
        self.rest.push(Task {
            rank,
            parent: parent.map_or(NONE, |parent| parent.0),
            open_children: 0,
            attempt: 0,
            terms: NONE,
            sealed: false,
            stopping: false,
            step_timer: false,
        });
        id
    }

    /// Where a task stands; one that is not there counts as settled.
    pub(super) fn state(&self, id: TaskId) -> TaskState {
        let state = self.states.get(id.0 as usize).copied();
        state.unwrap_or(TaskState::Settled)
    }

    /// Puts a task into `state`, and gives the one that it was in; nothing where it is not there.
    pub(super) fn enter(&mut self, id: TaskId, state: TaskState) -> Option<TaskState> {
        let entry = self.states.get_mut(id.0 as usize)?;
        Some(std::mem::replace(entry, state))
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Task> {
        self.rest.get(id.0 as usize)
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.rest.get_mut(id.0 as usize)
    }

    /// All tasks in the order in which they were added, with where they stand.
    pub(super) fn all(&self) -> impl Iterator<Item = (TaskId, &Task, TaskState)> {
        let ids = (0..).map(TaskId);
        let rest = self.rest.iter().zip(&self.states);
        ids.zip(rest).map(|(id, (task, state))| (id, task, *state))
    }

    /// Makes `who` wait for those of `on` that have not settled; how many there are.
    pub(super) fn wait(&mut self, who: TaskId, on: &[TaskId]) -> u32 {
        let mut open = 0;
        for &other in on {
            if self.state(other) == TaskState::Settled {
                continue;
            }
            let place = u32::try_from(self.waits.len()).unwrap_or(NONE);
            if let Some(latest) = self.latest_wait.get_mut(other.0 as usize) {
                let before = std::mem::replace(latest, place);
                self.waits.push(Wait { who, before });
                open += 1;
            }
        }
        if let Some(count) = self.open_waits.get_mut(who.0 as usize) {
            *count = open;
        }
        open
    }

    /// Takes away those that wait for `id`, in the order in which they began to, and appends those to `free` that now wait
    /// for nothing more.
    pub(super) fn release(&mut self, id: TaskId, free: &mut Vec<TaskId>) {
        let Some(latest) = self.latest_wait.get_mut(id.0 as usize) else {
            return;
        };
        let mut at = std::mem::replace(latest, NONE);
        let first = free.len();
        while let Some(wait) = self.waits.get(at as usize) {
            at = wait.before;
            let who = wait.who;
            if let Some(count) = self.open_waits.get_mut(who.0 as usize) {
                *count = count.saturating_sub(1);
                if *count == 0 && self.state(who) == TaskState::Waiting {
                    free.push(who);
                }
            }
        }
        if let Some(freed) = free.get_mut(first..) {
            freed.reverse();
        }
    }
}
