//! The tasks. The data that every event reads is adjacent, in a quarter of a cache line, with the state of the task packed into one number.
//! With a million tasks, the next one is seldom near the previous one in memory, and fetching a cache line takes as long as all other work.
//! The number of open waits is stored separately, because the end of an awaited task mostly needs nothing else.

use super::super::task::{TaskId, TaskState};

/// The state of a task, its current attempt and three flags. The lowest three bits are the state, the next three are the flags, and the
/// others are the attempt.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PackedState(u32);

/// A flag of a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum TaskFlag {
    /// The group is complete: no further children are added.
    Sealed = 1 << 3,
    /// The scope is stopped: nothing new may start below.
    Stopping = 1 << 4,
    /// The timer of the whole task is set.
    StepTimer = 1 << 5,
}

impl PackedState {
    const STATE: u32 = 0b111;
    const ATTEMPT_SHIFT: u32 = 6;

    /// The last attempt that can be represented.
    pub(super) const LAST_ATTEMPT: u32 = u32::MAX >> Self::ATTEMPT_SHIFT;

    pub(super) fn state(self) -> TaskState {
        match self.0 & Self::STATE {
            0 => TaskState::Waiting,
            1 => TaskState::Preparing,
            2 => TaskState::AwaitingApproval,
            3 => TaskState::Ready,
            4 => TaskState::Running,
            5 => TaskState::Backoff,
            6 => TaskState::Group,
            _ => TaskState::Settled,
        }
    }

    fn set_state(&mut self, state: TaskState) {
        // The discriminants of `TaskState` must agree with the numbers in `state`.
        self.0 = self.0 & !Self::STATE | state as u32;
    }

    /// The attempt; 0 before the first.
    pub(super) fn attempt(self) -> u32 {
        self.0 >> Self::ATTEMPT_SHIFT
    }

    pub(super) fn set_attempt(&mut self, attempt: u32) {
        // 67 million attempts take longer than any run, so the last number may repeat.
        let attempt = attempt.min(Self::LAST_ATTEMPT);
        self.0 = self.0 & ((1 << Self::ATTEMPT_SHIFT) - 1) | attempt << Self::ATTEMPT_SHIFT;
    }

    pub(super) fn has_flag(self, flag: TaskFlag) -> bool {
        self.0 & flag as u32 != 0
    }

    pub(super) fn set_flag(&mut self, flag: TaskFlag) {
        self.0 |= flag as u32;
    }
}

/// A sentinel: no task, no terms, the end of a list.
const NONE: u32 = u32::MAX;

/// All tasks of a scheduler.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    all: Vec<Task>,
    /// The number of open waits of each task.
    open_waits: Vec<u32>,
    /// All list nodes except the latest of each task.
    waits: Vec<WaitNode>,
    tree: TaskTree,
}

/// A node in the linked list of tasks that wait for a task.
#[derive(Clone, Copy, Debug)]
struct WaitNode {
    waiter: u32,
    /// The previous node of the list.
    previous: u32,
}

impl WaitNode {
    const NONE: Self = Self {
        waiter: NONE,
        previous: NONE,
    };
}

/// The state of one task.
#[derive(Debug)]
pub(super) struct Task {
    /// The latest task that waits for this one, the head of the list.
    latest_wait: WaitNode,
    terms: u32,
    packed: PackedState,
}

impl Task {
    fn new() -> Self {
        Self {
            latest_wait: WaitNode::NONE,
            terms: NONE,
            packed: PackedState::default(),
        }
    }

    pub(super) fn state(&self) -> TaskState {
        self.packed.state()
    }

    /// The current attempt; 0 before the first.
    pub(super) fn attempt(&self) -> u32 {
        self.packed.attempt()
    }

    pub(super) fn set_attempt(&mut self, attempt: u32) {
        self.packed.set_attempt(attempt);
    }

    pub(super) fn has_flag(&self, set_flag: TaskFlag) -> bool {
        self.packed.has_flag(set_flag)
    }

    pub(super) fn set_flag(&mut self, set_flag: TaskFlag) {
        self.packed.set_flag(set_flag);
    }

    /// The index of its terms in the table, if it makes a call.
    pub(super) fn terms(&self) -> Option<usize> {
        (self.terms != NONE).then_some(self.terms as usize)
    }

    /// Sets or clears that index.
    pub(super) fn set_terms(&mut self, place: Option<usize>) {
        let place = place.and_then(|place| u32::try_from(place).ok());
        self.terms = place.unwrap_or(NONE);
    }
}

impl Tasks {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The id of the next task.
    pub(super) fn next_id(&self) -> TaskId {
        TaskId(u32::try_from(self.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn add(&mut self, parent: Option<TaskId>) -> TaskId {
        let id = self.next_id();
        self.open_waits.push(0);
        self.all.push(Task::new());
        if let Some(group) = parent {
            self.tree.add(id, group);
        }
        id
    }

    /// The membership of tasks in groups.
    pub(super) fn tree(&self) -> &TaskTree {
        &self.tree
    }

    pub(super) fn tree_mut(&mut self) -> &mut TaskTree {
        &mut self.tree
    }

    /// The state of a task; an unknown one counts as settled.
    pub(super) fn state(&self, id: TaskId) -> TaskState {
        // A task that does not exist must delay no other.
        self.get(id).map_or(TaskState::Settled, Task::state)
    }

    /// Changes the state of a task and returns the previous one; `None` if the task is unknown.
    pub(super) fn enter(&mut self, id: TaskId, state: TaskState) -> Option<TaskState> {
        let task = self.get_mut(id)?;
        let previous = task.state();
        task.packed.set_state(state);
        Some(previous)
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Task> {
        self.all.get(id.0 as usize)
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.all.get_mut(id.0 as usize)
    }

    /// All tasks in the order in which they were added, with their states.
    pub(super) fn all(&self) -> impl Iterator<Item = (TaskId, TaskState)> {
        let ids = (0..).map(TaskId);
        ids.zip(&self.all).map(|(id, task)| (id, task.state()))
    }

    /// Reads the data that is needed when the tasks in `soon` start and end: their own data, and that of the latest two tasks that wait for
    /// each. `also` reads further data about a task. Nothing is changed; see [`Prefetch`](crate::schedule::ready::Prefetch).
    pub(super) fn prefetch_data(&self, soon: &[TaskId], also: impl Fn(TaskId) -> usize) {
        let mut seen = 0;
        for task in soon {
            let mut wait = self
                .get(*task)
                .map_or(WaitNode::NONE, |task| task.latest_wait);
            for _ in 0..2 {
                let waiter = TaskId(wait.waiter);
                let Some(task) = self.get(waiter) else { break };
                seen ^= task.terms as usize ^ also(waiter);
                if let Some(count) = self.open_waits.get(wait.waiter as usize) {
                    seen ^= *count as usize;
                }
                let previous = self.waits.get(wait.previous as usize);
                wait = previous.copied().unwrap_or(WaitNode::NONE);
            }
        }
        // Keeps the compiler from removing reads without a result.
        std::hint::black_box(seen);
    }

    /// Makes `who` wait for the unsettled tasks of `on` and returns their number.
    pub(super) fn wait(&mut self, waiter: TaskId, on: &[TaskId]) -> u32 {
        let mut open = 0;
        for other in on {
            if let Some(other) = self.all.get_mut(other.0 as usize)
                && other.state() != TaskState::Settled
            {
                // The latest wait is stored in the task itself: most tasks have only one, which needs no further memory.
                let mut previous = NONE;
                if other.latest_wait.waiter != NONE {
                    previous = u32::try_from(self.waits.len()).unwrap_or(NONE);
                    self.waits.push(other.latest_wait);
                }
                other.latest_wait = WaitNode {
                    waiter: waiter.0,
                    previous,
                };
                open += 1;
            }
        }
        if let Some(count) = self.open_waits.get_mut(waiter.0 as usize) {
            *count = open;
        }
        open
    }

    /// Removes the waits for `id`, in the order in which they were added, and appends the tasks to `free` that wait
    /// for nothing more.
    pub(super) fn release(&mut self, id: TaskId, free: &mut Vec<TaskId>) {
        let Some(task) = self.get_mut(id) else {
            return;
        };
        // Settled tasks accept no further waits, so the list can be taken as a whole.
        let mut wait = std::mem::replace(&mut task.latest_wait, WaitNode::NONE);
        let first = free.len();
        while let Some(count) = self.open_waits.get_mut(wait.waiter as usize) {
            *count = count.saturating_sub(1);
            // A task that was stopped meanwhile is settled, and must not be prepared.
            if *count == 0 && self.state(TaskId(wait.waiter)) == TaskState::Waiting {
                free.push(TaskId(wait.waiter));
            }
            let previous = self.waits.get(wait.previous as usize);
            wait = previous.copied().unwrap_or(WaitNode::NONE);
        }
        // The list leads from the latest wait to the first.
        if let Some(freed) = free.get_mut(first..) {
            freed.reverse();
        }
    }
}

/// The tree of tasks and groups.
#[derive(Debug, Default)]
pub(super) struct TaskTree {
    /// The node of each task, up to the last one that belongs to a group.
    all: Vec<TreeNode>,
}

#[derive(Clone, Copy, Debug, Default)]
struct TreeNode {
    parent: Option<TaskId>,
    open_children: u32,
}

impl TaskTree {
    /// Adds `child` to `group`, which has one more unsettled child.
    pub(super) fn add(&mut self, child: TaskId, group: TaskId) {
        let needed = child.0.max(group.0) as usize + 1;
        let count = self.all.len().max(needed);
        // Most runs have no groups, and their tasks need no nodes.
        self.all.resize(count, TreeNode::default());
        if let Some(node) = self.all.get_mut(child.0 as usize) {
            node.parent = Some(group);
        }
        if let Some(node) = self.all.get_mut(group.0 as usize) {
            node.open_children += 1;
        }
    }

    /// The group that a task belongs to.
    pub(super) fn parent(&self, task: TaskId) -> Option<TaskId> {
        self.all.get(task.0 as usize)?.parent
    }

    /// Returns true if all children of `group` added so far have settled.
    pub(super) fn all_settled(&self, group: TaskId) -> bool {
        let node = self.all.get(group.0 as usize);
        node.is_none_or(|node| node.open_children == 0)
    }

    /// Counts another settled child of `group`.
    pub(super) fn count_settled(&mut self, group: TaskId) {
        if let Some(node) = self.all.get_mut(group.0 as usize) {
            node.open_children = node.open_children.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_given_back() {
        let states = [
            TaskState::Waiting,
            TaskState::Preparing,
            TaskState::AwaitingApproval,
            TaskState::Ready,
            TaskState::Running,
            TaskState::Backoff,
            TaskState::Group,
            TaskState::Settled,
        ];
        let mut packed = PackedState::default();
        for state in states {
            packed.set_state(state);
            assert_eq!(packed.state(), state);
        }
    }

    #[test]
    fn its_parts_do_not_touch_each_other() {
        let mut packed = PackedState::default();
        assert_eq!((packed.state(), packed.attempt()), (TaskState::Waiting, 0));
        packed.set_attempt(3);
        packed.set_state(TaskState::Settled);
        packed.set_flag(TaskFlag::Stopping);
        packed.set_attempt(u32::MAX);
        packed.set_state(TaskState::AwaitingApproval);
        assert_eq!(packed.state(), TaskState::AwaitingApproval);
        assert_eq!(packed.attempt(), PackedState::LAST_ATTEMPT);
        assert!(packed.has_flag(TaskFlag::Stopping));
        assert!(!packed.has_flag(TaskFlag::Sealed) && !packed.has_flag(TaskFlag::StepTimer));
        packed.set_attempt(0);
        assert!(packed.has_flag(TaskFlag::Stopping));
        assert_eq!(
            (packed.state(), packed.attempt()),
            (TaskState::AwaitingApproval, 0)
        );
    }
}
