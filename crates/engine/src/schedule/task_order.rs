//! Priorities of tasks: the longest remaining path first, then the task that was added first.
//!
//! Most tasks are added before the first one may start. They are sorted once, and each is then identified by its place in
//! that order; later ones are compared by key.

use std::ops::Range;

use super::task::TaskId;

/// The estimate for an unknown task. Ranks are sums of estimates, in microseconds.
pub const UNIT: u64 = 1_000_000;

/// The longest remaining path from the start of each task, including its own estimate.
///
/// `weights` are the estimates of the tasks; `waits` lists the tasks that each one waits for. The graph must be
/// acyclic (a task on a cycle counts as if nothing followed it). Linear in tasks and waits.
pub fn ranks(weights: &[u64], waits: &[Vec<u32>]) -> Vec<u64> {
    // Most plans are in order. Their ranks need neither counts nor a list of finished tasks.
    if is_in_order(waits) {
        return ranks_in_order(weights, waits);
    }
    let mut ranks = weights.to_vec();
    let mut open: Vec<u32> = vec![0; weights.len()];
    for list in waits {
        for &on in list {
            if let Some(count) = open.get_mut(on as usize) {
                *count += 1;
            }
        }
    }
    let mut done: Vec<usize> = open
        .iter()
        .enumerate()
        .filter(|(_, count)| **count == 0)
        .map(|(task, _)| task)
        .collect();
    while let Some(task) = done.pop() {
        let behind = ranks.get(task).copied().unwrap_or(0);
        for &on in waits.get(task).into_iter().flatten() {
            let on = on as usize;
            let weight = weights.get(on).copied().unwrap_or(0);
            if let Some(rank) = ranks.get_mut(on) {
                *rank = (*rank).max(weight.saturating_add(behind));
            }
            if let Some(count) = open.get_mut(on) {
                *count -= 1;
                if *count == 0 {
                    done.push(on);
                }
            }
        }
    }
    ranks
}

/// Returns true if each task waits only for earlier ones.
fn is_in_order(waits: &[Vec<u32>]) -> bool {
    (0..)
        .zip(waits)
        .all(|(task, on): (u32, _)| on.iter().all(|on| *on < task))
}

/// The ranks for tasks that wait only for earlier ones, as in most plans: backwards, each task comes before those that
/// it waits for.
fn ranks_in_order(weights: &[u64], waits: &[Vec<u32>]) -> Vec<u64> {
    // Before its turn, the entry of a task is the longest path after it.
    let mut ranks = vec![0_u64; weights.len()];
    for (task, weight) in weights.iter().enumerate().rev() {
        let Some(rank) = ranks.get_mut(task) else {
            continue;
        };
        *rank = rank.saturating_add(*weight);
        let rank = *rank;
        for on in waits.get(task).into_iter().flatten() {
            if let Some(behind) = ranks.get_mut(*on as usize) {
                *behind = (*behind).max(rank);
            }
        }
    }
    ranks
}

/// The priority of a task, the minimum first: the longest remaining path, then the task that was added first. It is a
/// single number, since it is compared very often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PriorityKey(u128);

impl PriorityKey {
    pub(super) fn new(rank: u64, task: TaskId) -> Self {
        Self(u128::from(!rank) << 32 | u128::from(task.0))
    }

    pub(super) fn rank(self) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "the lower bits are the id")]
        let inverted = (self.0 >> 32) as u64;
        !inverted
    }

    pub(super) fn task(self) -> TaskId {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the upper bits are the rank"
        )]
        TaskId(self.0 as u32)
    }
}

/// The ranks of all tasks, and the places of the sorted ones.
#[derive(Debug, Default)]
pub(super) struct TaskOrder {
    /// The rank of each task.
    ranks: Vec<u64>,
    /// The number of sorted tasks, once sorted.
    sorted: Option<usize>,
    /// The place of each sorted task. Empty if it equals the id.
    places: Vec<u32>,
    /// The task at each place. Empty if it equals the place.
    tasks: Vec<TaskId>,
    /// True for sorted tasks that have been re-ranked since, and so have lost their place. Empty if none has.
    displaced: Vec<bool>,
}

impl TaskOrder {
    /// Adds the next task.
    pub(super) fn add(&mut self, rank: u64) {
        self.ranks.push(rank);
    }

    /// The rank of a task.
    pub(super) fn rank(&self, task: TaskId) -> u64 {
        self.ranks.get(task.0 as usize).copied().unwrap_or(0)
    }

    /// The key of a task.
    pub(super) fn key(&self, task: TaskId) -> PriorityKey {
        PriorityKey::new(self.rank(task), task)
    }

    /// Changes the rank of a task, which loses its place.
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

    /// Sorts the tasks added so far, at the first call only.
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
        // The sort is stable and fast on presorted input: most plans are written in an order in which they can run.
        sorted.sort_by(|(one, _), (other, _)| other.cmp(one));
        self.tasks = sorted.into_iter().map(|(_, task)| task).collect();
        self.places = vec![0; self.tasks.len()];
        for (place, task) in (0..).zip(&self.tasks) {
            if let Some(entry) = self.places.get_mut(task.0 as usize) {
                *entry = place;
            }
        }
    }

    /// The number of places.
    pub(super) fn len(&self) -> usize {
        self.sorted.unwrap_or(0)
    }

    /// The place of a task, if it has one.
    pub(super) fn place(&self, task: TaskId) -> Option<usize> {
        let index = task.0 as usize;
        if self.len() <= index || self.displaced.get(index) == Some(&true) {
            return None;
        }
        let place = self.places.get(index).copied();
        Some(place.unwrap_or(task.0) as usize)
    }

    /// The tasks at these places; empty if tasks start in the order in which they were added, which the processor
    /// prefetches by itself.
    pub(super) fn tasks_at(&self, places: Range<usize>) -> &[TaskId] {
        self.tasks.get(places).unwrap_or_default()
    }

    /// The task at a place.
    pub(super) fn at(&self, place: usize) -> TaskId {
        let own = || TaskId(u32::try_from(place).unwrap_or(u32::MAX));
        self.tasks.get(place).copied().unwrap_or_else(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(ranks: &[u64]) -> TaskOrder {
        let mut order = TaskOrder::default();
        for rank in ranks {
            order.add(*rank);
        }
        order.sort();
        order
    }

    /// Compares the tasks at the places of an order, in both directions.
    #[track_caller]
    fn check(ranks: &[u64], expected: &[u32]) {
        let order = order(ranks);
        assert_eq!(order.len(), ranks.len());
        for (place, task) in expected.iter().enumerate() {
            assert_eq!(order.at(place), TaskId(*task));
            assert_eq!(order.place(TaskId(*task)), Some(place));
        }
    }

    #[test]
    fn the_highest_rank_comes_first_then_the_first() {
        check(&[1, 3, 2, 3], &[1, 3, 2, 0]);
        check(&[3, 3, 2, 1], &[0, 1, 2, 3]);
        check(&[], &[]);
    }

    #[test]
    fn only_what_was_there_when_it_was_sorted_has_a_place() {
        let mut order = order(&[1, 2]);
        order.add(3);
        order.sort();
        assert_eq!(order.len(), 2);
        assert_eq!(order.place(TaskId(2)), None);
        order.rank_as(TaskId(2), 5);
        assert_eq!(order.rank(TaskId(2)), 5);
        assert!(order.displaced.is_empty());
    }

    #[test]
    fn what_is_ranked_anew_has_no_place() {
        let mut order = order(&[1, 2]);
        order.rank_as(TaskId(1), 0);
        assert_eq!(order.key(TaskId(1)), PriorityKey::new(0, TaskId(1)));
        assert_eq!(order.place(TaskId(1)), None);
        assert_eq!(order.place(TaskId(0)), Some(1));
    }

    #[test]
    fn tasks_are_listed_where_they_are_not_in_order_as_they_are() {
        let shuffled = order(&[1, 3, 2]);
        assert_eq!(shuffled.tasks_at(0..2), [TaskId(1), TaskId(2)]);
        assert_eq!(shuffled.tasks_at(2..4), []);
        assert_eq!(order(&[3, 2, 1]).tasks_at(0..2), []);
    }
}
