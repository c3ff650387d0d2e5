//! The tasks that may start, best first, under limits for the whole run, each server and each tool.
//!
//! Tools without limits share a queue. Every other has a lane: a queue of its ready tasks. A server keeps a heap of its lanes
//! that may start something, by their best task, the run does the same with servers; so a blocked tool or server is never looked
//! at. What no longer holds stays in these heaps until it comes up, and is dropped then; so each operation costs `O(log n)`,
//! shared out over the run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use super::ahead::Ahead;
use super::order::{Key, Order};
use super::queue::Queue;
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

/// The lane of one tool, or of all that have no limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaneId(u32);

impl LaneId {
    /// That of all tools without limits.
    const FREE: Self = Self(u32::MAX);
}

/// Places in a table by their best tasks, best first. An entry counts only while the place still lists that task.
type Places = BinaryHeap<Reverse<(Key, usize)>>;

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
    lanes: Places,
    listed: Option<Key>,
}

/// Where the best of all tasks waits.
#[derive(Clone, Copy)]
enum Best {
    /// Among those that run alone.
    Alone,
    /// Among those of tools without limits.
    Free,
    /// Among those of this server.
    Limited(usize),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ready {
    limits: Limits,
    order: Order,
    ahead: Ahead,
    free: Queue,
    lanes: Vec<Lane>,
    servers: Vec<Server>,
    lane_ids: HashMap<(Arc<str>, Arc<str>), LaneId, Hashing>,
    server_ids: HashMap<Arc<str>, usize>,
    startable: Places,
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
        let limits = &self.limits;
        let of_server = limits.servers.get(server).copied().or(limits.per_server);
        let of_tool = limits
            .tools
            .get(format!("{server}.{tool}").as_str())
            .copied()
            .or(limits.per_tool);
        let lane = if of_server.is_none() && of_tool.is_none() {
            LaneId::FREE
        } else {
            let unlimited =
                |limit: Option<NonZeroUsize>| limit.map_or(usize::MAX, NonZeroUsize::get);
            let server = self.server(server, unlimited(of_server));
            self.lanes.push(Lane {
                server,
                limit: unlimited(of_tool),
                running: 0,
                queue: Queue::default(),
                listed: None,
            });
            LaneId(u32::try_from(self.lanes.len() - 1).unwrap_or(u32::MAX))
        };
        self.lane_ids.insert(key, lane);
        lane
    }

    fn server(&mut self, name: &Arc<str>, limit: usize) -> usize {
        if let Some(index) = self.server_ids.get(name) {
            return *index;
        }
        self.servers.push(Server {
            limit,
            running: 0,
            lanes: Places::new(),
            listed: None,
        });
        let index = self.servers.len() - 1;
        self.server_ids.insert(Arc::clone(name), index);
        index
    }

    /// Adds the next task.
    pub(super) fn add(&mut self, rank: u64) {
        self.order.add(rank);
    }

    pub(super) fn rank(&self, task: TaskId) -> u64 {
        self.order.rank(task)
    }

    /// Ranks a task anew. One that is queued, in `lane` where it does not run alone, keeps its place there.
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

    /// The places of the tasks to look at now that this one starts, since their turn will come; see [`Ahead`].
    pub(super) fn soon(&mut self, started: TaskId) -> Range<usize> {
        match self.order.place(started) {
            Some(place) => self.ahead.batch(place, self.order.len()),
            None => 0..0,
        }
    }

    /// The order in which tasks start.
    pub(super) fn order(&self) -> &Order {
        &self.order
    }

    /// How many tasks are queued, stale ones included.
    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    pub(super) fn push(&mut self, task: TaskId, lane: LaneId, alone: bool) {
        self.queued += 1;
        if alone {
            return self.alone.push(Reverse(self.order.key(task)));
        }
        self.order.sort();
        match self.lanes.get_mut(lane.0 as usize) {
            Some(entry) => {
                entry.queue.push(task, &self.order);
                self.refresh(lane);
            }
            None => self.free.push(task, &self.order),
        }
    }

    /// The next task that the limits let start, if there is one; it then counts as running. `is_live` says whether a
    /// queued task still wants to start: those that were stopped meanwhile are dropped here.
    pub(super) fn pop(&mut self, is_live: &dyn Fn(TaskId) -> bool) -> Option<TaskId> {
        while !self.running_alone && self.running < self.limits.total.get() {
            while let Some(Reverse(key)) = self.alone.peek()
                && !is_live(key.task())
            {
                self.alone.pop();
                self.queued -= 1;
            }
            let task = match self.best()? {
                Best::Alone if self.running > 0 => return None,
                Best::Alone => {
                    self.running_alone = true;
                    self.alone.pop().map(|Reverse(key)| key.task())
                }
                Best::Free => self.free.pop(&self.order),
                Best::Limited(server) => self.take(server, is_live),
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

    /// Where the best of all tasks waits.
    fn best(&mut self) -> Option<Best> {
        if self.alone.is_empty() && self.startable.is_empty() {
            // So it mostly is: nothing is to be compared.
            return (!self.free.is_empty()).then_some(Best::Free);
        }
        let alone = self.alone.peek().map(|Reverse(key)| (*key, Best::Alone));
        let free = self.free.best(&self.order).map(|key| (key, Best::Free));
        let limited = self
            .best_server()
            .map(|(key, server)| (key, Best::Limited(server)));
        let all = [alone, free, limited].into_iter().flatten();
        all.min_by_key(|(key, _)| *key).map(|(_, best)| best)
    }

    /// Takes the best task of `server`, which is running then if it is live.
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
            .then(|| lane.queue.best(&self.order))
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
