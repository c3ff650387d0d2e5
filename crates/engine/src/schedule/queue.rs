//! Queues of ready tasks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::bitset::HierarchicalBitSet;
use super::task::TaskId;
use super::task_order::{PriorityKey, TaskOrder};

/// A priority queue of ready tasks. Tasks with a place in the order are in a bit set of places. Of the others,
/// those pushed in priority order need no heap; the rest have one heap per rank, since there are few ranks if
/// durations are unknown.
#[derive(Debug, Default)]
pub(super) struct ReadyQueue {
    placed: HierarchicalBitSet,
    unplaced: UnplacedQueue,
}

#[derive(Debug, Default)]
struct UnplacedQueue {
    in_order: VecDeque<PriorityKey>,
    by_rank: BTreeMap<Reverse<u64>, BinaryHeap<Reverse<u32>>>,
}

impl ReadyQueue {
    pub(super) fn push(&mut self, task: TaskId, order: &TaskOrder) {
        match order.place(task) {
            Some(place) => {
                if self.placed.is_unset() {
                    self.placed = HierarchicalBitSet::below(order.len());
                }
                self.placed.insert(place);
            }
            None => self.unplaced.push(order.key(task)),
        }
    }

    /// Keeps a queued task at its current priority although it is about to lose its place.
    pub(super) fn displace(&mut self, task: TaskId, order: &TaskOrder) {
        if let Some(place) = order.place(task) {
            self.placed.remove(place);
            self.unplaced.push(order.key(task));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.placed.first().is_none() && self.unplaced.is_empty()
    }

    pub(super) fn best(&self, order: &TaskOrder) -> Option<PriorityKey> {
        let placed = self.placed.first().map(|place| order.key(order.at(place)));
        match (placed, self.unplaced.best()) {
            (Some(placed), Some(unplaced)) => Some(placed.min(unplaced)),
            (placed, unplaced) => placed.or(unplaced),
        }
    }

    pub(super) fn pop(&mut self, order: &TaskOrder) -> Option<TaskId> {
        let Some(place) = self.placed.first() else {
            return self.unplaced.pop();
        };
        let task = order.at(place);
        if self
            .unplaced
            .best()
            .is_some_and(|unplaced| unplaced < order.key(task))
        {
            return self.unplaced.pop();
        }
        self.placed.remove(place);
        Some(task)
    }
}

impl UnplacedQueue {
    fn is_empty(&self) -> bool {
        self.in_order.is_empty() && self.by_rank.is_empty()
    }

    fn push(&mut self, key: PriorityKey) {
        // Keys that arrive in order need no heap.
        if self.in_order.back().is_none_or(|last| *last <= key) {
            self.in_order.push_back(key);
        } else {
            let equals = self.by_rank.entry(Reverse(key.rank())).or_default();
            equals.push(Reverse(key.task().0));
        }
    }

    fn best(&self) -> Option<PriorityKey> {
        let first = self.in_order.front().copied();
        match (first, self.best_other()) {
            (Some(first), Some(other)) => Some(first.min(other)),
            (first, other) => first.or(other),
        }
    }

    fn best_other(&self) -> Option<PriorityKey> {
        let (Reverse(rank), equals) = self.by_rank.first_key_value()?;
        let Reverse(task) = equals.peek()?;
        Some(PriorityKey::new(*rank, TaskId(*task)))
    }

    fn pop(&mut self) -> Option<TaskId> {
        let best = self.best()?;
        if self.in_order.front() == Some(&best) {
            self.in_order.pop_front();
            return Some(best.task());
        }
        let mut equals = self.by_rank.first_entry()?;
        equals.get_mut().pop();
        if equals.get().is_empty() {
            equals.remove();
        }
        Some(best.task())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An operation on a queue.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// Queues this task, unless it is queued.
        Push(u32),
        /// Gives this task a new rank, which a queued one gets the next time.
        Rank(u32, u64),
        /// Takes the best task.
        Pop,
    }

    /// A queue in which the first `sorted` tasks have places and others come later, compared with a heap.
    fn check(ranks: &[u64], sorted: usize, steps: &[Step]) {
        let mut order = TaskOrder::default();
        for (index, rank) in ranks.iter().enumerate() {
            if index == sorted {
                order.sort();
            }
            order.add(*rank);
        }
        order.sort();
        let mut ranks = ranks.to_vec();
        let mut queue = ReadyQueue::default();
        let mut heap = BinaryHeap::new();
        for step in steps {
            match *step {
                Step::Push(task) => {
                    let is_queued =
                        |Reverse(key): &Reverse<PriorityKey>| key.task() == TaskId(task);
                    if !heap.iter().any(is_queued) {
                        queue.push(TaskId(task), &order);
                        heap.push(Reverse(PriorityKey::new(
                            ranks[task as usize],
                            TaskId(task),
                        )));
                    }
                }
                Step::Rank(task, rank) => {
                    let is_queued =
                        |Reverse(key): &Reverse<PriorityKey>| key.task() == TaskId(task);
                    if heap.iter().any(is_queued) {
                        queue.displace(TaskId(task), &order);
                    }
                    order.rank_as(TaskId(task), rank);
                    ranks[task as usize] = rank;
                }
                Step::Pop => {
                    let best = heap.pop().map(|Reverse(key)| key);
                    assert_eq!(queue.best(&order), best);
                    assert_eq!(queue.pop(&order), best.map(PriorityKey::task));
                }
            }
            assert_eq!(queue.is_empty(), heap.is_empty());
        }
        while let Some(Reverse(key)) = heap.pop() {
            assert_eq!(queue.pop(&order), Some(key.task()));
        }
        assert_eq!(queue.pop(&order), None);
    }

    #[test]
    fn sorted_ones_and_others_are_one_queue() {
        use Step::{Pop, Push, Rank};
        // The ranks are in order, so the place of every task is its own number.
        check(&[9, 7, 7, 3], 4, &[Push(3), Push(1), Pop, Push(0), Push(2)]);
        check(&[3, 9, 7, 7], 4, &[Push(0), Push(3), Pop, Push(1), Push(2)]);
        // The third task comes later, with a rank equal to one and between those of the others.
        check(&[3, 9, 7], 2, &[Push(0), Push(1), Push(2), Pop, Pop]);
        check(&[3, 7, 7], 2, &[Push(2), Push(1), Pop, Push(0)]);
        // A queued task keeps its key when its rank changes, and gets the new one the next time.
        check(&[3, 9], 2, &[Push(0), Push(1), Rank(0, 99), Pop, Pop]);
        check(
            &[3, 9],
            2,
            &[Push(0), Rank(0, 99), Pop, Push(0), Push(1), Pop],
        );
    }

    prop_compose! {
        fn queued()(size in 1_u32..60)(
            ranks in prop::collection::vec(0_u64..9, size as usize),
            sorted in 0..=size as usize,
            steps in prop::collection::vec(
                prop_oneof![
                    6 => (0..size).prop_map(Step::Push),
                    1 => (0..size, 0_u64..9).prop_map(|(task, rank)| Step::Rank(task, rank)),
                    4 => Just(Step::Pop),
                ],
                0..200,
            ),
        ) -> (Vec<u64>, usize, Vec<Step>) {
            (ranks, sorted, steps)
        }
    }

    proptest! {
        #[test]
        fn as_a_heap_would((ranks, sorted, steps) in queued()) {
            check(&ranks, sorted, &steps);
        }
    }
}
