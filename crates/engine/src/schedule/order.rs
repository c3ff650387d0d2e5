//! How urgent tasks are: the longest remaining path goes first, then the task that was there first.
//!
//! Most tasks of a run are there before the first of them may start. Those are sorted once, and from then on each is known by
//! its place in that order; what comes later is compared by its key.

use std::ops::Range;

use super::task::TaskId;

/// The order in which tasks start, the least first: longest remaining path, then the one that was there first. One number,
/// for it is compared all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u128);

impl Key {
    pub(super) fn new(rank: u64, task: TaskId) -> Self {
        Self(u128::from(!rank) << 32 | u128::from(task.0))
    }

    pub(super) fn rank(self) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "the lower bits are the id")]
        let inverted = (self.0 >> 32) as u64;
        !inverted
    }

    pub(super) fn task(self) -> TaskId {
        // The lower half is the id.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the upper bits are the rank"
        )]
        TaskId(self.0 as u32)
    }
}

/// The ranks of all tasks, and the places of those that were sorted.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// By task.
    ranks: Vec<u64>,
    /// How many tasks were sorted, once they were.
    sorted: Option<usize>,
    /// By task that was sorted: its place. Empty where that is its own number.
    places: Vec<u32>,
    /// By place: whose it is. Empty likewise.
    tasks: Vec<TaskId>,
    /// By task that was sorted: whether it was ranked anew since, and so has no place. Empty where none was.
    displaced: Vec<bool>,
}

impl Order {
    /// Adds the next task.
    pub(super) fn add(&mut self, rank: u64) {
        self.ranks.push(rank);
    }

    /// The rank of a task.
    pub(super) fn rank(&self, task: TaskId) -> u64 {
        self.ranks.get(task.0 as usize).copied().unwrap_or(0)
    }

    /// The key of a task.
    pub(super) fn key(&self, task: TaskId) -> Key {
        Key::new(self.rank(task), task)
    }

    /// Ranks a task anew; it has no place any more.
    pub(super) fn rank_as(&mut self, task: TaskId, rank: u64) {
        let index = task.0 as usize;
        if let Some(entry) = self.ranks.get_mut(index) {
            *entry = rank;
        }
        if index < self.len() {
            self.displaced.resize(self.len(), false);
            if let Some(displaced) = self.displaced.get_mut(index) {
                *displaced = true;
            }
        }
    }

    /// Gives all tasks that are there a place, the first time.
    pub(super) fn sort(&mut self) {
        if self.sorted.is_some() {
            return;
        }
        self.sorted = Some(self.ranks.len());
        if self.ranks.is_sorted_by(|one, next| next <= one) {
            return;
        }
        let ids = (0..).map(TaskId);
        let mut sorted: Vec<(u64, TaskId)> = self.ranks.iter().copied().zip(ids).collect();
        // Equal ones stay as they were. Plans are mostly written in an order in which they can run, so much is in order already.
        sorted.sort_by(|(one, _), (other, _)| other.cmp(one));
        self.tasks = sorted.into_iter().map(|(_, task)| task).collect();
        self.places = vec![0; self.tasks.len()];
        for (place, task) in (0..).zip(&self.tasks) {
            if let Some(entry) = self.places.get_mut(task.0 as usize) {
                *entry = place;
            }
        }
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.sorted.unwrap_or(0)
    }

    /// The place of a task, where it has one.
    pub(super) fn place(&self, task: TaskId) -> Option<usize> {
        let index = task.0 as usize;
        if self.len() <= index || self.displaced.get(index) == Some(&true) {
            return None;
        }
        let place = self.places.get(index).copied();
        Some(place.unwrap_or(task.0) as usize)
    }

    /// The tasks at these places; none where all start in the order in which they were added, which a processor foresees.
    pub(super) fn tasks_at(&self, places: Range<usize>) -> &[TaskId] {
        self.tasks.get(places).unwrap_or_default()
    }

    /// The task at a place.
    pub(super) fn at(&self, place: usize) -> TaskId {
        let own = || TaskId(u32::try_from(place).unwrap_or(u32::MAX));
        self.tasks.get(place).copied().unwrap_or_else(own)
    }
}
