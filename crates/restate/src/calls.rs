//! The calls in flight of this process, and the execution of one call.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use planwright_engine::{ErrorKind, RunId, ToolBackend, ToolCall, ToolError};
use tokio::sync::{Notify, watch};

use crate::message::{CallKey, ServiceOutcome};

/// The calls that are in flight in this process, so that a run can abort them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallsInFlight(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    in_flight: HashMap<CallKey, Arc<Notify>>,
    /// The runs that are cancelled here: they make no further calls.
    cancelled: HashSet<RunId>,
}

impl CallsInFlight {
    /// Executes one attempt at a call, until it is answered, exceeds its time limit or is aborted.
    pub(crate) async fn execute(
        &self,
        backend: &dyn ToolBackend,
        key: CallKey,
        call: ToolCall,
    ) -> ServiceOutcome {
        let abort = Arc::new(Notify::new());
        let _guard = InFlight {
            calls: self.clone(),
            key: key.clone(),
            abort: Arc::clone(&abort),
        };
        {
            let mut calls = self.lock();
            if calls.cancelled.contains(&key.run) {
                return ServiceOutcome::Aborted;
            }
            calls.in_flight.insert(key, Arc::clone(&abort));
        }
        let clock = call.clock.clone();
        let limit = call.context.time_limit;
        let tool = call.tool.qualified_name();
        clock.restart();
        let answered = AssertUnwindSafe(async { backend.call(call).await }).catch_unwind();
        let exceeded = async {
            match limit {
                Some(limit) => clock.exceeds(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = answered => ServiceOutcome::Answered(answer.unwrap_or_else(|_| {
                let lost = ToolError::lost(format!("the backend of `{tool}` panicked"));
                Err(ToolError { kind: ErrorKind::Internal, ..lost })
            })),
            () = abort.notified() => ServiceOutcome::Aborted,
            () = exceeded => ServiceOutcome::TimedOut,
        }
    }

    /// Aborts a call, if it is in flight in this process.
    pub(crate) fn abort(&self, key: &CallKey) {
        if let Some(abort) = self.lock().in_flight.get(key) {
            abort.notify_one();
        }
    }

    /// Aborts all calls of a run in this process, those in flight and those that would follow, until [`forget`](Self::forget).
    pub(crate) fn abort_all(&self, run: &RunId) {
        let mut calls = self.lock();
        calls.cancelled.insert(run.clone());
        for (key, abort) in &calls.in_flight {
            if key.run == *run {
                abort.notify_one();
            }
        }
    }

    /// Ends the effect of [`abort_all`](Self::abort_all): the run has ended here.
    pub(crate) fn forget(&self, run: &RunId) {
        self.lock().cancelled.remove(run);
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The executions of calls in this process, from before their intents until Restate has their replies. They are few once the worker ends: new
/// ones wait for ever, and Restate executes them with the next worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Executions(Arc<ExecutionCount>);

#[derive(Debug, Default)]
struct ExecutionCount {
    is_ending: AtomicBool,
    count: watch::Sender<usize>,
}

/// An execution, until it is dropped.
#[derive(Debug)]
pub(crate) struct Execution(Executions);

impl Executions {
    /// Begins an execution. It never does once the worker ends.
    pub(crate) async fn begin(&self) -> Execution {
        self.0.count.send_modify(|count| *count += 1);
        let execution = Execution(self.clone());
        // The counter comes first: a worker that ends now either sees this execution, or this one sees the end.
        if self.0.is_ending.load(Ordering::SeqCst) {
            drop(execution);
            return std::future::pending().await;
        }
        execution
    }

    /// Lets no execution begin from now on, and waits for those in progress, for at most `limit`.
    pub(crate) async fn end(&self, limit: Duration) {
        self.0.is_ending.store(true, Ordering::SeqCst);
        let mut count = self.0.count.subscribe();
        // After that, what the others did is unknown, as after a crash.
        let _ = tokio::time::timeout(limit, count.wait_for(|count| *count == 0)).await;
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.0.0.count.send_modify(|count| *count -= 1);
    }
}

/// The entry of a call in flight, which is removed when this is dropped.
struct InFlight {
    calls: CallsInFlight,
    key: CallKey,
    abort: Arc<Notify>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let calls = &mut self.calls.lock().in_flight;
        // Restate may have started the same attempt again before this one noticed that its connection is lost.
        if calls
            .get(&self.key)
            .is_some_and(|abort| Arc::ptr_eq(abort, &self.abort))
        {
            calls.remove(&self.key);
        }
    }
}

/// Returns the time since 1970. It is used in recorded results only: a run reads no clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the time is recorded with the result of each call"
)]
pub(crate) fn unix_time() -> Duration {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default()
}
