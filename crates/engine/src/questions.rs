//! The questions that people have not answered.

use std::collections::HashMap;

use futures::future::{AbortHandle, Abortable, Aborted, BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use planwright_core::Hashing;

use crate::approval::Decision;
use crate::schedule::TaskId;

/// The questions of a run that are open.
#[derive(Default)]
pub(crate) struct Questions {
    asked: FuturesUnordered<BoxFuture<'static, (TaskId, Result<Decision, Aborted>)>>,
    handles: HashMap<TaskId, AbortHandle, Hashing>,
}

impl Questions {
    pub(crate) fn ask(&mut self, task: TaskId, decision: BoxFuture<'static, Decision>) {
        let (handle, registration) = AbortHandle::new_pair();
        let decision = Abortable::new(decision, registration);
        self.asked
            .push(decision.map(move |decided| (task, decided)).boxed());
        self.handles.insert(task, handle);
    }

    /// Takes a question back, where there is one. It is gone when a decision is waited for the next time.
    pub(crate) fn withdraw(&mut self, task: TaskId) {
        if let Some(handle) = self.handles.remove(&task) {
            handle.abort();
        }
    }

    /// Whether one is open.
    pub(crate) fn are_open(&self) -> bool {
        !self.handles.is_empty()
    }

    /// Whether there is nothing to wait for, not even for the end of what was taken back.
    pub(crate) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Waits for the next decision. Nothing where no question is open any more.
    pub(crate) async fn next(&mut self) -> Option<(TaskId, Decision)> {
        while let Some((task, decided)) = self.asked.next().await {
            if let Ok(decision) = decided {
                self.handles.remove(&task);
                return Some((task, decision));
            }
        }
        None
    }
}
