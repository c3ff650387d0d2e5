//! The tasks. What is looked at when something happens to one lies together, in a quarter of a line of a processor's cache: of a million
//! tasks the next is seldom near the one before, and each line that has to be fetched takes as long as all the rest. For how
//! many others a task waits lies apart, since the end of each of them counts it down and mostly wants nothing else.

use super::super::task::{TaskId, TaskState};
use super::families::Families;
use super::standing::{Mark, Standing};

/// In place of a number: no task, no terms, the end of a list.
const NONE: u32 = u32::MAX;

/// All tasks of a scheduler.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    all: Vec<Task>,
    /// For how many others each still waits.
    open_waits: Vec<u32>,
    /// All waits but the latest for each task.
    waits: Vec<Wait>,
    families: Families,
}

/// Somebody waits for a task.
#[derive(Clone, Copy, Debug)]
struct Wait {
    who: u32,
    /// The one before of those for the same task.
    before: u32,
}

impl Wait {
    const NONE: Self = Self {
        who: NONE,
        before: NONE,
    };
}

/// One task.
#[derive(Debug)]
pub(super) struct Task {
    /// The latest of the waits for it.
    latest_wait: Wait,
    terms: u32,
    standing: Standing,
}

impl Task {
    fn new() -> Self {
        Self {
            latest_wait: Wait::NONE,
            terms: NONE,
            standing: Standing::default(),
        }
    }

    pub(super) fn state(&self) -> TaskState {
        self.standing.state()
    }

    /// The attempt that it is at; 0 before the first.
    pub(super) fn attempt(&self) -> u32 {
        self.standing.attempt()
    }

    pub(super) fn set_attempt(&mut self, attempt: u32) {
        self.standing.set_attempt(attempt);
    }

    pub(super) fn has(&self, mark: Mark) -> bool {
        self.standing.has(mark)
    }

    pub(super) fn mark(&mut self, mark: Mark) {
        self.standing.mark(mark);
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
        self.all.len()
    }

    /// The id that the next task will get.
    pub(super) fn next_id(&self) -> TaskId {
        TaskId(u32::try_from(self.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn add(&mut self, parent: Option<TaskId>) -> TaskId {
        let id = self.next_id();
        self.open_waits.push(0);
        self.all.push(Task::new());
        if let Some(group) = parent {
            self.families.add(id, group);
        }
        id
    }

    /// Which tasks belong to which groups.
    pub(super) fn families(&self) -> &Families {
        &self.families
    }

    /// The same, to be changed.
    pub(super) fn families_mut(&mut self) -> &mut Families {
        &mut self.families
    }

    /// Where a task stands; one that is not there counts as settled.
    pub(super) fn state(&self, id: TaskId) -> TaskState {
        self.get(id).map_or(TaskState::Settled, Task::state)
    }

    /// Puts a task into `state`, and gives the one that it was in; nothing where it is not there.
    pub(super) fn enter(&mut self, id: TaskId, state: TaskState) -> Option<TaskState> {
        let task = self.get_mut(id)?;
        let before = task.state();
        task.standing.set_state(state);
        Some(before)
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Task> {
        self.all.get(id.0 as usize)
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.all.get_mut(id.0 as usize)
    }

    /// All tasks in the order in which they were added, with where they stand.
    pub(super) fn all(&self) -> impl Iterator<Item = (TaskId, TaskState)> {
        let ids = (0..).map(TaskId);
        ids.zip(&self.all).map(|(id, task)| (id, task.state()))
    }

    /// Looks at what will be needed when `soon` start and end: at themselves, and at those that wait for them, the latest two for
    /// each, about which `also` looks at more. It changes nothing; see [`Ahead`](super::super::ahead::Ahead).
    pub(super) fn look_at(&self, soon: &[TaskId], also: impl Fn(TaskId) -> usize) {
        let mut seen = 0;
        for task in soon {
            let mut wait = self.get(*task).map_or(Wait::NONE, |task| task.latest_wait);
            for _ in 0..2 {
                let who = TaskId(wait.who);
                let Some(task) = self.get(who) else { break };
                seen ^= task.terms as usize ^ also(who);
                if let Some(count) = self.open_waits.get(wait.who as usize) {
                    seen ^= *count as usize;
                }
                let before = self.waits.get(wait.before as usize);
                wait = before.copied().unwrap_or(Wait::NONE);
            }
        }
        // So that it is not left out for giving nothing.
        std::hint::black_box(seen);
    }

    /// Makes `who` wait for those of `on` that have not settled; how many there are.
    pub(super) fn wait(&mut self, who: TaskId, on: &[TaskId]) -> u32 {
        let mut open = 0;
        for other in on {
            if let Some(other) = self.all.get_mut(other.0 as usize)
                && other.state() != TaskState::Settled
            {
                let mut before = NONE;
                if other.latest_wait.who != NONE {
                    before = u32::try_from(self.waits.len()).unwrap_or(NONE);
                    self.waits.push(other.latest_wait);
                }
                other.latest_wait = Wait { who: who.0, before };
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
        let Some(task) = self.get_mut(id) else {
            return;
        };
        let mut wait = std::mem::replace(&mut task.latest_wait, Wait::NONE);
        let first = free.len();
        while let Some(count) = self.open_waits.get_mut(wait.who as usize) {
            *count = count.saturating_sub(1);
            if *count == 0 && self.state(TaskId(wait.who)) == TaskState::Waiting {
                free.push(TaskId(wait.who));
            }
            let before = self.waits.get(wait.before as usize);
            wait = before.copied().unwrap_or(Wait::NONE);
        }
        if let Some(freed) = free.get_mut(first..) {
            freed.reverse();
        }
    }
}
