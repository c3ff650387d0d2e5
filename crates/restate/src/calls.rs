//! The calls in flight of this process, and the execution of one call.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use planwright_engine::{ErrorKind, RunId, ToolBackend, ToolCall, ToolError};
use tokio::sync::Notify;

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
