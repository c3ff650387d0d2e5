//! Queues of ready tasks. The sorted ones are in a hierarchical bit set of small numbers that finds its minimum in constant
//! time: one bit for each number, and above every 64 words one word that marks the non-empty ones. A million numbers take
//! four levels, so every operation reads at most four words.
//!
//! Design: [Tasks are sorted once and queued as bits](https://github.com/planwright/planwright/blob/main/docs/design/scheduling.md#tasks-are-sorted-once-and-queued-as-bits).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::task::TaskId;
use super::task_order::{PriorityKey, TaskOrder};

/// The number of bits in a word.
const WORD: usize = u64::BITS as usize;

/// A hierarchical bit set, see the module.
#[derive(Debug, Default)]
pub(super) struct HierarchicalBitSet {
    /// The levels, from the numbers themselves up to a single word.
    levels: Vec<Vec<u64>>,
}

impl HierarchicalBitSet {
    /// Creates an empty set for numbers below `end`.
    pub(super) fn below(end: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = end;
        // The last level is a single word, so that `first` has one place to start at.
        while words != 1 || levels.is_empty() {
            words = words.div_ceil(WORD).max(1);
            levels.push(vec![0; words]);
        }
        Self { levels }
    }

    /// Returns true if it has no capacity.
    fn is_unset(&self) -> bool {
        self.levels.is_empty()
    }

    /// Inserts `number`; one beyond the end is ignored.
    pub(super) fn insert(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(at / WORD) else {
                return;
            };
            let before = *word;
            *word |= 1 << (at % WORD);
            // The levels above mark this word already.
            if before != 0 {
                return;
            }
            at /= WORD;
        }
    }

    /// Removes `number`, if it is in the set.
    pub(super) fn remove(&mut self, number: usize) {
        let mut at = number;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(at / WORD) else {
                return;
            };
            *word &= !(1 << (at % WORD));
            // The word is not empty, so the levels above stay as they are.
            if *word != 0 {
                return;
            }
            at /= WORD;
        }
    }

    /// The minimum.
    pub(super) fn first(&self) -> Option<usize> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level.get(at)?;
            if *word == 0 {
                return None;
            }
            at = at * WORD + word.trailing_zeros() as usize;
        }
        (!self.levels.is_empty()).then_some(at)
    }
}

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

    /// Moves a queued task that is about to lose its place to the other queue, at its current priority.
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
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    /// Inserts (`Ok`) and removes (`Err`) numbers, takes the minimum after each operation or not, and compares with a
    /// heap.
    fn check(end: usize, steps: &[(Result<usize, usize>, bool)]) {
        let mut marks = HierarchicalBitSet::below(end);
        let mut heap = BinaryHeap::new();
        for (step, pops) in steps {
            match step {
                Ok(number) => {
                    marks.insert(*number);
                    heap.retain(|Reverse(other)| other != number);
                    heap.push(Reverse(*number));
                }
                Err(number) => {
                    marks.remove(*number);
                    heap.retain(|Reverse(other)| other != number);
                }
            }
            let first = marks.first();
            assert_eq!(first, heap.peek().map(|Reverse(number)| *number));
            if *pops && let Some(first) = first {
                marks.remove(first);
                heap.pop();
            }
        }
        while let Some(Reverse(number)) = heap.pop() {
            assert_eq!(marks.first(), Some(number));
            marks.remove(number);
        }
        assert_eq!(marks.first(), None);
    }

    #[test]
    fn one_word_and_the_first_bit_of_the_next_level() {
        for end in [1, 63, 64, 65, 4095, 4096, 4097, 262_145] {
            let (last, middle) = (end - 1, end / 2);
            check(
                end,
                &[
                    (Err(last), false),
                    (Ok(last), false),
                    (Ok(middle), false),
                    (Ok(0), true),
                    (Err(middle), false),
                    (Ok(last), true),
                ],
            );
        }
    }

    #[test]
    fn beyond_the_end_there_is_nothing() {
        let mut empty = HierarchicalBitSet::default();
        empty.insert(0);
        empty.remove(0);
        assert_eq!(empty.first(), None);
        let mut none = HierarchicalBitSet::below(0);
        assert_eq!(none.first(), None);
        none.insert(64);
        none.remove(64);
        assert_eq!(none.first(), None);
    }

    prop_compose! {
        /// Numbers below the end, near each other and far from each other.
        fn steps()(end in prop_oneof![1_usize..200, 4_000_usize..300_000])(
            end in Just(end),
            steps in prop::collection::vec((any::<bool>(), 0..end, any::<bool>()), 0..200),
        ) -> (usize, Vec<(Result<usize, usize>, bool)>) {
            let step = |(inserts, number, pops)| (if inserts { Ok(number) } else { Err(number) }, pops);
            (end, steps.into_iter().map(step).collect())
        }
    }

    proptest! {
        #[test]
        fn as_a_heap_would((end, steps) in steps()) {
            check(end, &steps);
        }
    }

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
    fn check_queue(ranks: &[u64], sorted: usize, steps: &[Step]) {
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
        check_queue(&[9, 7, 7, 3], 4, &[Push(3), Push(1), Pop, Push(0), Push(2)]);
        check_queue(&[3, 9, 7, 7], 4, &[Push(0), Push(3), Pop, Push(1), Push(2)]);
        // The third task comes later, with a rank equal to one and between those of the others.
        check_queue(&[3, 9, 7], 2, &[Push(0), Push(1), Push(2), Pop, Pop]);
        check_queue(&[3, 7, 7], 2, &[Push(2), Push(1), Pop, Push(0)]);
        // A queued task keeps its key when its rank changes, and gets the new one the next time.
        check_queue(&[3, 9], 2, &[Push(0), Push(1), Rank(0, 99), Pop, Pop]);
        check_queue(
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
        fn ready_tasks_leave_as_from_a_heap((ranks, sorted, steps) in queued()) {
            check_queue(&ranks, sorted, &steps);
        }
    }
}
