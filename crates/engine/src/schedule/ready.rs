//! The set of ready tasks, under limits for the whole run, each server and each tool. Tools without limits share a queue. Every other tool
//! has a lane: a queue of its ready tasks. A server has a heap of its startable lanes, ordered by their best tasks. The run has a heap of
//! servers. So blocked tools and servers are never visited. Stale heap entries are dropped when they reach the top, so each operation takes
//! amortized `O(log n)`. With a million tasks, the next one is seldom near the previous one in memory, so the processor waits for memory at
//! each start. If a batch of tasks is read at once, it waits for all of them together, and finds them in its caches later. Prefetching a
//! single task gains nothing.
//!
//! Design: [Tasks are prefetched in batches](https://github.com/planwright/planwright/blob/main/docs/design/scheduling.md#tasks-are-prefetched-in-batches).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::{Hashing, ServerName, ToolName};

use super::queue::ReadyQueue;
use super::task::{LaneId, TaskId};
use super::task_order::{PriorityKey, TaskOrder};

/// Limits on concurrent calls.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimits {
    /// The limit of the whole run.
    pub total: NonZeroUsize,
    /// The limit of each server that is not listed, if any.
    pub per_server: Option<NonZeroUsize>,
    /// Limits by server.
    pub servers: HashMap<ServerName, NonZeroUsize>,
    /// The limit of each tool that is not listed, if any.
    pub per_tool: Option<NonZeroUsize>,
    /// Limits by `server.tool`.
    pub tools: HashMap<ToolName, NonZeroUsize>,
}

impl Default for ConcurrencyLimits {
    fn default() -> Self {
        Self {
            total: const { NonZeroUsize::new(16).unwrap() },
            per_server: None,
            servers: HashMap::new(),
            per_tool: None,
            tools: HashMap::new(),
        }
    }
}

impl ConcurrencyLimits {
    /// Returns true if no server and no tool has a limit of its own.
    fn is_total_only(&self) -> bool {
        self.per_server.is_none()
            && self.per_tool.is_none()
            && self.servers.is_empty()
            && self.tools.is_empty()
    }
}

/// Indices by their best tasks, best first. An entry is stale unless its lane or server is still listed with that
/// task.
type RankedIndices = BinaryHeap<Reverse<(PriorityKey, usize)>>;

#[derive(Debug)]
struct ToolLane {
    server: usize,
    limit: usize,
    running: usize,
    queue: ReadyQueue,
    listed: Option<PriorityKey>,
}

#[derive(Debug)]
struct ServerLimit {
    limit: usize,
    running: usize,
    lanes: RankedIndices,
    listed: Option<PriorityKey>,
}

/// The queue with the best task.
#[derive(Clone, Copy)]
enum BestQueue {
    /// Tasks that run exclusively.
    Alone,
    /// Tasks of tools without limits.
    Free,
    /// Tasks of this server.
    Limited(usize),
}

/// The set of ready tasks, see the module.
#[derive(Debug, Default)]
pub(super) struct ReadySet {
    limits: ConcurrencyLimits,
    order: TaskOrder,
    prefetch: Prefetch,
    free: ReadyQueue,
    lanes: Vec<ToolLane>,
    servers: Vec<ServerLimit>,
    lane_ids: HashMap<(ServerName, Arc<str>), LaneId, Hashing>,
    server_ids: HashMap<ServerName, usize>,
    startable: RankedIndices,
    exclusive: BinaryHeap<Reverse<PriorityKey>>,
    running: usize,
    running_alone: bool,
    queued: usize,
}

impl ReadySet {
    pub(super) fn new(limits: ConcurrencyLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// The lane of `tool` at `server`.
    pub(super) fn lane(&mut self, server: &ServerName, tool: &Arc<str>) -> LaneId {
        // A fast path for the most common case: only the whole run has a limit.
        if self.limits.is_total_only() {
            return LaneId::FREE;
        }
        let key = (server.clone(), Arc::clone(tool));
        if let Some(lane) = self.lane_ids.get(&key) {
            return *lane;
        }
        let limits = &self.limits;
        let of_server = limits.servers.get(server).copied().or(limits.per_server);
        let of_tool = limits
            .tools
            .get(format!("{server}.{tool}").as_str())
            .copied()
            .or(limits.per_tool);
        // Tools without limits need no lane of their own.
        let lane = if of_server.is_none() && of_tool.is_none() {
            LaneId::FREE
        } else {
            let unlimited =
                |limit: Option<NonZeroUsize>| limit.map_or(usize::MAX, NonZeroUsize::get);
            let server = self.server(server, unlimited(of_server));
            self.lanes.push(ToolLane {
                server,
                limit: unlimited(of_tool),
                running: 0,
                queue: ReadyQueue::default(),
                listed: None,
            });
            LaneId(u32::try_from(self.lanes.len() - 1).unwrap_or(u32::MAX))
        };
        self.lane_ids.insert(key, lane);
        lane
    }

    fn server(&mut self, name: &ServerName, limit: usize) -> usize {
        if let Some(index) = self.server_ids.get(name) {
            return *index;
        }
        self.servers.push(ServerLimit {
            limit,
            running: 0,
            lanes: RankedIndices::new(),
            listed: None,
        });
        let index = self.servers.len() - 1;
        self.server_ids.insert(name.clone(), index);
        index
    }

    /// Adds the next task.
    pub(super) fn add(&mut self, rank: u64) {
        self.order.add(rank);
    }

    pub(super) fn rank(&self, task: TaskId) -> u64 {
        self.order.rank(task)
    }

    /// Changes the rank of a task. A queued one keeps its position in `lane`, unless it runs exclusively.
    pub(super) fn rank_as(&mut self, task: TaskId, rank: u64, lane: Option<LaneId>) {
        if let Some(lane) = lane {
            let queue = match self.lanes.get_mut(lane.0 as usize) {
                Some(lane) => &mut lane.queue,
                None => &mut self.free,
            };
            queue.displace(task, &self.order);
        }
        self.order.rank_as(task, rank);
    }

    /// The places to prefetch when this task starts; see [`Prefetch`].
    pub(super) fn prefetch_range(&mut self, started: TaskId) -> Range<usize> {
        match self.order.place(started) {
            Some(place) => self.prefetch.batch(place, self.order.len()),
            None => 0..0,
        }
    }

    /// The priority order of tasks.
    pub(super) fn order(&self) -> &TaskOrder {
        &self.order
    }

    /// The number of queued tasks, including stale ones.
    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    pub(super) fn push(&mut self, task: TaskId, lane: LaneId, is_exclusive: bool) {
        self.queued += 1;
        if is_exclusive {
            return self.exclusive.push(Reverse(self.order.key(task)));
        }
        // When the first task is ready, most tasks of the run have been added.
        self.order.sort();
        match self.lanes.get_mut(lane.0 as usize) {
            Some(entry) => {
                entry.queue.push(task, &self.order);
                self.refresh(lane);
            }
            None => self.free.push(task, &self.order),
        }
    }

    /// The next task that the limits allow to start, which then counts as running. `is_live` returns false for queued
    /// tasks that were stopped meanwhile; they are dropped here.
    pub(super) fn pop(&mut self, is_live: &dyn Fn(TaskId) -> bool) -> Option<TaskId> {
        while !self.running_alone && self.running < self.limits.total.get() {
            // A stopped task must not block the others.
            while let Some(Reverse(key)) = self.exclusive.peek()
                && !is_live(key.task())
            {
                self.exclusive.pop();
                self.queued -= 1;
            }
            let task = match self.best()? {
                // An exclusive task waits until nothing runs, and nothing else may overtake it meanwhile.
                BestQueue::Alone if self.running > 0 => return None,
                BestQueue::Alone => {
                    self.running_alone = true;
                    self.exclusive.pop().map(|Reverse(key)| key.task())
                }
                BestQueue::Free => self.free.pop(&self.order),
                BestQueue::Limited(server) => self.take(server, is_live),
            };
            let task = task?;
            self.queued -= 1;
            if is_live(task) {
                self.running += 1;
                return Some(task);
            }
        }
        None
    }

    /// The queue with the best task.
    fn best(&mut self) -> Option<BestQueue> {
        if self.exclusive.is_empty() && self.startable.is_empty() {
            // A fast path for the most common case: without limits, nothing has to be compared.
            return (!self.free.is_empty()).then_some(BestQueue::Free);
        }
        let exclusive = self
            .exclusive
            .peek()
            .map(|Reverse(key)| (*key, BestQueue::Alone));
        let free = self
            .free
            .best(&self.order)
            .map(|key| (key, BestQueue::Free));
        let limited = self
            .best_server()
            .map(|(key, server)| (key, BestQueue::Limited(server)));
        let all = [exclusive, free, limited].into_iter().flatten();
        all.min_by_key(|(key, _)| *key).map(|(_, best)| best)
    }

    /// Takes the best task of `server`, which then counts as running if it is live.
    fn take(&mut self, server: usize, is_live: &dyn Fn(TaskId) -> bool) -> Option<TaskId> {
        let (_, lane_index) = best_lane(self.servers.get_mut(server)?, &self.lanes)?;
        let lane = self.lanes.get_mut(lane_index)?;
        let task = lane.queue.pop(&self.order)?;
        if is_live(task) {
            lane.running += 1;
            if let Some(server) = self.servers.get_mut(server) {
                server.running += 1;
            }
        }
        self.refresh(LaneId(u32::try_from(lane_index).unwrap_or(u32::MAX)));
        Some(task)
    }

    /// Releases the slot of a task that ran.
    pub(super) fn release(&mut self, lane: LaneId, is_exclusive: bool) {
        self.running = self.running.saturating_sub(1);
        if is_exclusive {
            self.running_alone = false;
            return;
        }
        if let Some(entry) = self.lanes.get_mut(lane.0 as usize) {
            entry.running = entry.running.saturating_sub(1);
            if let Some(server) = self.servers.get_mut(entry.server) {
                server.running = server.running.saturating_sub(1);
            }
        }
        self.refresh(lane);
    }

    /// Updates the heap entries of a lane and its server.
    fn refresh(&mut self, lane: LaneId) {
        let lane_index = lane.0 as usize;
        let Some(lane) = self.lanes.get_mut(lane_index) else {
            return;
        };
        let Some(server) = self.servers.get_mut(lane.server) else {
            return;
        };
        let best = (lane.running < lane.limit)
            .then(|| lane.queue.best(&self.order))
            .flatten();
        // An unchanged best task is in the heap already.
        if best != lane.listed {
            lane.listed = best;
            if let Some(best) = best {
                server.lanes.push(Reverse((best, lane_index)));
            }
        }
        let server_index = lane.server;
        let best = (server.running < server.limit)
            .then(|| best_lane(server, &self.lanes))
            .flatten()
            .map(|(key, _)| key);
        if best != server.listed {
            server.listed = best;
            if let Some(best) = best {
                self.startable.push(Reverse((best, server_index)));
            }
        }
    }

    /// The server with the best task, and that task.
    fn best_server(&mut self) -> Option<(PriorityKey, usize)> {
        while let Some(&Reverse((key, server))) = self.startable.peek() {
            if self.servers.get(server)?.listed == Some(key) {
                return Some((key, server));
            }
            self.startable.pop();
        }
        None
    }
}

/// The number of tasks in one batch.
const BATCH: usize = 128;

/// The distance from the current task. It is large enough that few tasks start before they are prefetched, and small enough that tasks are
/// still in the caches when they start.
const DISTANCE: usize = 2 * BATCH;

/// The minimum number of tasks. Fewer fit into the caches anyway.
const MIN_TASKS: usize = 1 << 15;

/// The progress of prefetching.
#[derive(Debug, Default)]
pub(super) struct Prefetch {
    /// The first place that has not been prefetched.
    next: usize,
}

impl Prefetch {
    /// The places to prefetch when the task at `place` of `count` starts. Mostly empty.
    pub(super) fn batch(&mut self, place: usize, count: usize) -> Range<usize> {
        if count < MIN_TASKS || self.next > place + DISTANCE {
            return 0..0;
        }
        let first = self.next.max(place).min(count);
        self.next = first + BATCH;
        first..self.next.min(count)
    }
}

/// The lane of `server` with the best task, and that task.
fn best_lane(server: &mut ServerLimit, lanes: &[ToolLane]) -> Option<(PriorityKey, usize)> {
    while let Some(&Reverse((key, lane))) = server.lanes.peek() {
        if lanes.get(lane)?.listed == Some(key) {
            return Some((key, lane));
        }
        server.lanes.pop();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    /// The batches that are prefetched while tasks start at these places.
    #[track_caller]
    fn check(count: usize, starts: impl IntoIterator<Item = usize>, batches: &[Range<usize>]) {
        let mut ahead = Prefetch::default();
        let looked = starts.into_iter().map(|place| ahead.batch(place, count));
        let looked: Vec<Range<usize>> = looked.filter(|batch| !batch.is_empty()).collect();
        assert_eq!(looked, batches);
    }

    #[test]
    fn batch_after_batch_ahead_of_the_tasks_that_start() {
        check(MIN_TASKS, 0..129, &[0..128, 128..256, 256..384, 384..512]);
        check(MIN_TASKS, [5, 3, 4], &[5..133, 133..261]);
    }

    #[test]
    fn what_is_passed_over_is_not_looked_at_later() {
        check(
            MIN_TASKS,
            [0, 5000, 1, 5001],
            &[0..128, 5000..5128, 5128..5256],
        );
    }

    #[test]
    fn it_ends_with_the_last_place() {
        check(
            MIN_TASKS,
            [MIN_TASKS - 1, MIN_TASKS - 1],
            slice::from_ref(&(MIN_TASKS - 1..MIN_TASKS)),
        );
        check(MIN_TASKS, [MIN_TASKS + 5], &[]);
    }

    #[test]
    fn few_are_not_looked_at() {
        check(MIN_TASKS - 1, 0..MIN_TASKS, &[]);
    }
}
