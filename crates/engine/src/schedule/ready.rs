//! The tasks that may start, best first, under limits for the whole run, each server and each tool.
//!
//! Every tool has a lane: a heap of its ready tasks. A server keeps its lanes that may start something ordered by their
//! best task, the run does the same with servers; so a blocked tool or server is never looked at, and each operation
//! costs `O(log n)`.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
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

/// The order in which tasks start: longest remaining path first, then the one that was there first.
type Key = (Reverse<u64>, TaskId);

#[derive(Debug)]
struct Lane {
    server: usize,
    limit: usize,
    running: usize,
    queue: BinaryHeap<Reverse<Key>>,
    listed: Option<Key>,
}

#[derive(Debug)]
struct Server {
    limit: usize,
    running: usize,
    lanes: BTreeSet<(Key, usize)>,
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
    startable: BTreeSet<(Key, usize)>,
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
                lanes: BTreeSet::new(),
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
            queue: BinaryHeap::new(),
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
        let key = (Reverse(rank), task);
        self.queued += 1;
        if alone {
            self.alone.push(Reverse(key));
        } else if let Some(entry) = self.lanes.get_mut(lane.0 as usize) {
            entry.queue.push(Reverse(key));
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
            while let Some(Reverse((_, task))) = self.alone.peek() {
                if is_live(*task) {
                    break;
                }
                self.alone.pop();
                self.queued -= 1;
            }
            let alone = self.alone.peek().map(|Reverse(key)| *key);
            let shared = self.startable.first().copied();
            match (alone, shared) {
                (Some(key), other) if other.is_none_or(|(other, _)| key < other) => {
                    if self.running > 0 {
                        return None;
                    }
                    self.alone.pop();
                    self.queued -= 1;
                    self.running = 1;
                    self.running_alone = true;
                    return Some(key.1);
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
        let lane_index = self.servers.get(server)?.lanes.first()?.1;
        let lane = self.lanes.get_mut(lane_index)?;
        let Reverse((_, task)) = lane.queue.pop()?;
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
            .then(|| lane.queue.peek().map(|Reverse(key)| *key))
            .flatten();
        if best != lane.listed {
            if let Some(old) = lane.listed {
                server.lanes.remove(&(old, lane_index));
            }
            if let Some(new) = best {
                server.lanes.insert((new, lane_index));
            }
            lane.listed = best;
        }
        let best = (server.running < server.limit)
            .then(|| server.lanes.first().map(|(key, _)| *key))
            .flatten();
        if best != server.listed {
            if let Some(old) = server.listed {
                self.startable.remove(&(old, lane.server));
            }
            if let Some(new) = best {
                self.startable.insert((new, lane.server));
            }
            server.listed = best;
        }
    }
}
