//! The tasks that may start, best first, under limits for the whole run, each server and each tool.
//!
//! Every tool has a lane: a heap of its ready tasks. A server keeps a heap of its lanes that may start something, by their
//! best task, the run does the same with servers; so a blocked tool or server is never looked at. What no longer holds stays
//! in these heaps until it comes up, and is dropped then; so each operation costs `O(log n)`, shared out over the run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::task::TaskId;
use planwright_core::Hashing;

/// How many calls may be under way at the same time.
#[derive(Clone, Debug)]
pub struct Limits {
    /// In the whole run.
    pub total: NonZeroUsize,
    /// At one server that is not listed; without limit where there is none.
    pub per_server: Option<NonZeroUsize>,
    /// At these servers.
    pub servers: HashMap<Arc<str>, NonZeroUsize>,
    /// Of one tool that is not listed; without limit where there is none.
    pub per_tool: Option<NonZeroUsize>,
    /// Of these tools, by `server.tool`.
    pub tools: HashMap<Arc<str>, NonZeroUsize>,
}

impl Default for Limits {
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

/// The lane of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaneId(u32);

/// The order in which tasks start, the least first: longest remaining path, then the one that was there first. One number,
/// for it is compared all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    fn new(rank: u64, task: TaskId) -> Self {
        Self(u128::from(!rank) << 32 | u128::from(task.0))
    }

    fn rank(self) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "the lower bits are the id")]
        let inverted = (self.0 >> 32) as u64;
        !inverted
    }

    fn task(self) -> TaskId {
        // The lower half is the id.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the upper bits are the rank"
        )]
        TaskId(self.0 as u32)
    }
}

/// Places in a table by their best tasks, best first. An entry counts only while the place still lists that task.
type Order = BinaryHeap<Reverse<(Key, usize)>>;

/// The tasks of a lane. Those that come in the order in which they will start, as most do, need no heap; the others have one
/// for each rank, since ranks are few where durations are not known.
#[derive(Debug, Default)]
struct Queue {
    in_order: VecDeque<Key>,
    others: BTreeMap<Reverse<u64>, BinaryHeap<Reverse<u32>>>,
}

impl Queue {
    fn push(&mut self, key: Key) {
        if self.in_order.back().is_none_or(|last| *last <= key) {
            self.in_order.push_back(key);
        } else {
            let equals = self.others.entry(Reverse(key.rank())).or_default();
            equals.push(Reverse(key.task().0));
        }
    }

    fn best(&self) -> Option<Key> {
        let first = self.in_order.front().copied();
        match (first, self.best_other()) {
            (Some(first), Some(other)) => Some(first.min(other)),
            (first, other) => first.or(other),
        }
    }

    fn best_other(&self) -> Option<Key> {
        let (Reverse(rank), equals) = self.others.first_key_value()?;
        let Reverse(task) = equals.peek()?;
        Some(Key::new(*rank, TaskId(*task)))
    }

    fn pop(&mut self) -> Option<Key> {
        let best = self.best()?;
        if self.in_order.front() == Some(&best) {
            return self.in_order.pop_front();
        }
        let mut equals = self.others.first_entry()?;
        equals.get_mut().pop();
        if equals.get().is_empty() {
            equals.remove();
        }
        Some(best)
    }
}

#[derive(Debug)]
struct Lane {
    server: usize,
    limit: usize,
    running: usize,
    queue: Queue,
    listed: Option<Key>,
}

#[derive(Debug)]
struct Server {
    limit: usize,
    running: usize,
    lanes: Order,
    listed: Option<Key>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ready {
    limits: Limits,
    lanes: Vec<Lane>,
    servers: Vec<Server>,
    lane_ids: HashMap<(Arc<str>, Arc<str>), LaneId, Hashing>,
    server_ids: HashMap<Arc<str>, usize>,
    startable: Order,
    alone: BinaryHeap<Reverse<Key>>,
    running: usize,
    running_alone: bool,
    queued: usize,
}

impl Ready {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// The lane of `tool` at `server`.
    pub(super) fn lane(&mut self, server: &Arc<str>, tool: &Arc<str>) -> LaneId {
        let key = (Arc::clone(server), Arc::clone(tool));
        if let Some(lane) = self.lane_ids.get(&key) {
            return *lane;
        }
        let unlimited = |limit: Option<NonZeroUsize>| limit.map_or(usize::MAX, NonZeroUsize::get);
        let server_index = if let Some(index) = self.server_ids.get(server) {
            *index
        } else {
            let limit = self.limits.servers.get(server).copied();
            self.servers.push(Server {
                limit: unlimited(limit.or(self.limits.per_server)),
                running: 0,
                lanes: Order::new(),
                listed: None,
            });
            let index = self.servers.len() - 1;
            self.server_ids.insert(Arc::clone(server), index);
            index
        };
        let qualified = format!("{server}.{tool}");
        let limit = self.limits.tools.get(qualified.as_str()).copied();
        let lane = LaneId(u32::try_from(self.lanes.len()).unwrap_or(u32::MAX));
        self.lanes.push(Lane {
            server: server_index,
            limit: unlimited(limit.or(self.limits.per_tool)),
            running: 0,
            queue: Queue::default(),
            listed: None,
        });
        self.lane_ids.insert(key, lane);
        lane
    }

    /// How many tasks are queued, stale ones included.
    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    pub(super) fn push(&mut self, task: TaskId, rank: u64, lane: LaneId, alone: bool) {
        let key = Key::new(rank, task);
        self.queued += 1;
        if alone {
            self.alone.push(Reverse(key));
        } else if let Some(entry) = self.lanes.get_mut(lane.0 as usize) {
            entry.queue.push(key);
            self.refresh(lane);
        }
    }

    /// The next task that the limits let start, if there is one; it then counts as running. `is_live` says whether a
    /// queued task still wants to start: those that were stopped meanwhile are dropped here.
    pub(super) fn pop(&mut self, is_live: &dyn Fn(TaskId) -> bool) -> Option<TaskId> {
        loop {
            if self.running_alone || self.running >= self.limits.total.get() {
                return None;
            }
            while let Some(Reverse(key)) = self.alone.peek() {
                if is_live(key.task()) {
                    break;
                }
                self.alone.pop();
                self.queued -= 1;
            }
            let alone = self.alone.peek().map(|Reverse(key)| *key);
            let shared = self.best_server();
            match (alone, shared) {
                (Some(key), other) if other.is_none_or(|(other, _)| key < other) => {
                    if self.running > 0 {
                        return None;
                    }
                    self.alone.pop();
                    self.queued -= 1;
                    self.running = 1;
                    self.running_alone = true;
                    return Some(key.task());
                }
                (_, Some((_, server))) => {
                    if let Some(task) = self.take(server, is_live) {
                        return Some(task);
                    }
                }
                _ => return None,
            }
        }
    }

    /// Takes the best task of `server`; `None` where it was stale.
    fn take(&mut self, server: usize, is_live: &dyn Fn(TaskId) -> bool) -> Option<TaskId> {
        let (_, lane_index) = best_lane(self.servers.get_mut(server)?, &self.lanes)?;
        let lane = self.lanes.get_mut(lane_index)?;
        let task = lane.queue.pop()?.task();
        self.queued -= 1;
        let live = is_live(task);
        if live {
            lane.running += 1;
            self.running += 1;
            if let Some(server) = self.servers.get_mut(server) {
                server.running += 1;
            }
        }
        self.refresh(LaneId(u32::try_from(lane_index).unwrap_or(u32::MAX)));
        live.then_some(task)
    }

    /// A task that ran has given its place back.
    pub(super) fn release(&mut self, lane: LaneId, alone: bool) {
        self.running = self.running.saturating_sub(1);
        if alone {
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

    /// Puts a lane, and its server, where their best tasks belong.
    fn refresh(&mut self, lane: LaneId) {
        let lane_index = lane.0 as usize;
        let Some(lane) = self.lanes.get_mut(lane_index) else {
            return;
        };
        let Some(server) = self.servers.get_mut(lane.server) else {
            return;
        };
        let best = (lane.running < lane.limit)
            .then(|| lane.queue.best())
            .flatten();
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
    fn best_server(&mut self) -> Option<(Key, usize)> {
        while let Some(&Reverse((key, server))) = self.startable.peek() {
            if self.servers.get(server)?.listed == Some(key) {
                return Some((key, server));
            }
            self.startable.pop();
        }
        None
    }
}

/// The lane of `server` with the best task, and that task.
fn best_lane(server: &mut Server, lanes: &[Lane]) -> Option<(Key, usize)> {
    while let Some(&Reverse((key, lane))) = server.lanes.peek() {
        if lanes.get(lane)?.listed == Some(key) {
            return Some((key, lane));
        }
        server.lanes.pop();
    }
    None
}
