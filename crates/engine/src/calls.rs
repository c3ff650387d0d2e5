//! The calls under way: each a task of its own, but for those that are done as soon as they are asked for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use planwright_core::{Hashing, Tool};
use tokio::task::{AbortHandle, JoinError, JoinSet, coop};
use tokio::time::Instant;

use crate::backend::{CallClock, ToolBackend, ToolCall, ToolError, ToolOutput};
use crate::execute;
use crate::schedule::TaskId;

/// The longest that a call may take which is done at once.
const AT_ONCE: Duration = Duration::from_micros(50);

/// How long the end of a run waits for calls that were given up. Those that block their thread cannot be interrupted.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a call that has ended leaves behind.
pub(crate) struct Ended {
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    pub(crate) result: Result<ToolOutput, ToolError>,
}

/// The time in which people were asked on behalf of the calls of one task.
#[derive(Default)]
struct Pauses {
    /// During calls that have ended.
    ended: Duration,
    /// The part that timers were already extended by.
    taken: Duration,
}

/// What a task leaves behind.
struct Joined {
    ended: Ended,
    tool: usize,
    at_once: bool,
}

/// The calls of a run that are under way.
///
/// A call that does next to nothing would wait for another thread to wake up, which takes many times as long as the call. So
/// a tool whose latest call was done when it was first looked at, and quickly, is asked where the run is driven; one that
/// turns out to wait becomes a task after all, and so does the next call of one that took its time.
pub(crate) struct Calls {
    backend: Arc<dyn ToolBackend>,
    tasks: JoinSet<Joined>,
    handles: HashMap<TaskId, (AbortHandle, CallClock), Hashing>,
    /// The time in which people were asked during earlier attempts of tasks, without what timers were already extended by.
    pauses: HashMap<TaskId, Pauses, Hashing>,
    /// The tools whose latest calls were done at once, by their addresses: the plan holds them as long as the run goes on.
    quick: HashSet<usize, Hashing>,
    done: VecDeque<Ended>,
}

impl Calls {
    pub(crate) fn new(backend: Arc<dyn ToolBackend>) -> Self {
        Self {
            backend,
            tasks: JoinSet::new(),
            handles: HashMap::default(),
            pauses: HashMap::default(),
            quick: HashSet::default(),
            done: VecDeque::new(),
        }
    }

    pub(crate) fn begin(&mut self, task: TaskId, attempt: u32, call: ToolCall) {
        let tool = address(&call.tool);
        let clock = call.clock.clone();
        clock.restart();
        let mut result = Box::pin(execute::attempt(Arc::clone(&self.backend), call));
        if self.quick.contains(&tool) {
            let begun = Instant::now();
            let done = result.as_mut().now_or_never();
            if done.is_none() || AT_ONCE < begun.elapsed() {
                self.quick.remove(&tool);
            }
            if let Some(result) = done {
                return self.done.push_back(Ended {
                    task,
                    attempt,
                    result,
                });
            }
        }
        let handle = self.tasks.spawn(async move {
            let (result, at_once) = watched(result).await;
            let ended = Ended {
                task,
                attempt,
                result,
            };
            Joined {
                ended,
                tool,
                at_once,
            }
        });
        self.handles.insert(task, (handle, clock));
    }

    /// The least time until the call of `task` may have been without a sign of life for `limit`.
    pub(crate) fn left(&self, task: TaskId, limit: Duration) -> Duration {
        let call = self.handles.get(&task);
        call.map_or(Duration::ZERO, |(_, clock)| clock.left(limit))
    }

    /// The time in which people were asked during the calls of `task`, without what was taken before.
    pub(crate) fn take_paused(&mut self, task: TaskId) -> Duration {
        let current = self.handles.get(&task);
        let current = current.map_or(Duration::ZERO, |(_, clock)| clock.paused());
        if current.is_zero() && !self.pauses.contains_key(&task) {
            return Duration::ZERO;
        }
        let pauses = self.pauses.entry(task).or_default();
        let all = pauses.ended + current;
        let new = all.saturating_sub(pauses.taken);
        pauses.taken = all;
        new
    }

    /// Removes the handle of a call that has ended or is given up.
    fn remove(&mut self, task: TaskId) -> Option<AbortHandle> {
        let (handle, clock) = self.handles.remove(&task)?;
        let paused = clock.paused();
        if !paused.is_zero() {
            self.pauses.entry(task).or_default().ended += paused;
        }
        Some(handle)
    }

    /// Gives a call up.
    pub(crate) fn abort(&mut self, task: TaskId) {
        if let Some(handle) = self.remove(task) {
            handle.abort();
        }
    }

    /// Whether the latest call that was done at once is that of `task`.
    pub(crate) fn is_just_done(&self, task: TaskId) -> bool {
        self.done.back().is_some_and(|ended| ended.task == task)
    }

    /// Gives up all calls, and waits until they are gone: no tool is at work any more where a run has ended.
    pub(crate) async fn leave(&mut self) {
        if !self.tasks.is_empty() {
            // Whoever is not gone by then is heard of no more.
            let _ = tokio::time::timeout(PATIENCE, self.tasks.shutdown()).await;
        }
    }

    /// Whether no end of a call is to be expected.
    pub(crate) fn is_empty(&self) -> bool {
        self.done.is_empty() && self.tasks.is_empty()
    }

    /// Waits for the next call to end. Nothing where it was given up.
    pub(crate) async fn next(&mut self) -> Option<Ended> {
        if !self.done.is_empty() {
            // However many are done at once, others have their turn.
            coop::consume_budget().await;
            return self.done.pop_front();
        }
        let joined = self.tasks.join_next().await?;
        self.joined(joined)
    }

    /// The next call that has ended already.
    pub(crate) fn try_next(&mut self) -> Option<Ended> {
        let done = self.done.pop_front();
        done.or_else(|| {
            // Of calls that were given up nothing is heard.
            while let Some(joined) = self.tasks.try_join_next() {
                let ended = self.joined(joined);
                if ended.is_some() {
                    return ended;
                }
            }
            None
        })
    }

    fn joined(&mut self, joined: Result<Joined, JoinError>) -> Option<Ended> {
        let Joined {
            ended,
            tool,
            at_once,
        } = joined.ok()?;
        self.remove(ended.task);
        if at_once {
            self.quick.insert(tool);
        }
        Some(ended)
    }
}

fn address(tool: &Arc<Tool>) -> usize {
    Arc::as_ptr(tool).addr()
}

/// What comes of `work`, and whether it was done when it was first looked at, and quickly.
async fn watched<T>(mut work: Pin<Box<impl Future<Output = T>>>) -> (T, bool) {
    let (begun, mut looks) = (Instant::now(), 0_u32);
    let done = poll_fn(|context| {
        looks = looks.saturating_add(1);
        work.as_mut().poll(context)
    });
    let result = done.await;
    (result, looks == 1 && begun.elapsed() <= AT_ONCE)
}
