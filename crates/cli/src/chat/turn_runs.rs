//! The runs of a turn that are in progress, and their end when a person interrupts the turn.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use planwright::engine::Canceller;
use tokio::sync::Notify;

use crate::run::stopping::{Reaction, Stopping};
use crate::system::signals::Signals;
use crate::view::printer::{Printer, counted};

/// The runs of a turn that are in progress.
#[derive(Default)]
pub(super) struct TurnRuns {
    state: Mutex<TurnState>,
    next: AtomicU64,
    /// Notified when a run has ended.
    ended: Notify,
}

#[derive(Default)]
struct TurnState {
    runs: IndexMap<u64, Canceller>,
    /// The grace period of calls in flight; `None` unless a person has interrupted the turn.
    interrupted: Option<Duration>,
}

/// A guard of a run in progress. Dropping it marks the run as ended.
pub(super) struct RunGuard<'a> {
    runs: &'a TurnRuns,
    number: u64,
}

impl TurnRuns {
    /// Begins a turn, and clears the interruption of the previous one.
    pub(super) fn begin(&self) {
        self.lock().interrupted = None;
    }

    /// Adds a run. A run that starts after the interruption of its turn is drained at once, like the others.
    pub(super) fn add(&self, canceller: Canceller) -> RunGuard<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        if let Some(limit) = state.interrupted {
            canceller.drain(limit);
        }
        state.runs.insert(number, canceller);
        drop(state);
        RunGuard { runs: self, number }
    }

    /// Waits until a person has interrupted the turn and its runs have ended. The first signal drains the runs; after the second one, this
    /// returns without waiting for them.
    pub(super) async fn wait_for_interruption(
        &self,
        signals: &mut Signals,
        limit: Duration,
        printer: Printer,
    ) {
        let mut stopping = Stopping::new(limit);
        loop {
            let signal = tokio::select! {
                signal = signals.next() => signal,
                () = self.all_ended(), if self.is_interrupted() => return,
            };
            let mut state = self.lock();
            state.interrupted = Some(limit);
            if state.runs.is_empty() {
                return;
            }
            match stopping.on_signal(signal) {
                Reaction::Drain(limit) => {
                    state.interrupted = Some(limit);
                    let seconds = limit.as_secs();
                    printer.status(&format!(
                        "interrupted: nothing new starts, and calls of {} have {seconds}s to end; press Ctrl-C again to cancel them",
                        counted(state.runs.len(), "run")
                    ));
                    state.runs.values().for_each(|run| run.drain(limit));
                }
                // The caller then drops the turn, which cancels its runs.
                Reaction::Cancel | Reaction::Leave => return,
            }
        }
    }

    /// Returns true if a person has interrupted the turn.
    pub(super) fn is_interrupted(&self) -> bool {
        self.lock().interrupted.is_some()
    }

    /// Returns at once, or never if a person has interrupted the turn: then no further run may start, and the caller is dropped once the
    /// runs in progress have ended.
    pub(super) async fn halt_if_interrupted(&self) {
        if self.is_interrupted() {
            std::future::pending::<()>().await;
        }
    }

    async fn all_ended(&self) {
        while !self.lock().runs.is_empty() {
            self.ended.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        self.runs.lock().runs.swap_remove(&self.number);
        self.runs.ended.notify_one();
    }
}
