//! Runs of this process: those under way, and those that ended lately.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use planwright::Run;
use planwright_core::CheckedPlan;
use planwright_engine::guard::WrittenMeter;
use planwright_engine::{Canceller, RunSummary};
use planwright_mcp::gateway::ClientId;
use tokio::sync::{oneshot, watch};
use tokio::time::{Duration, Instant};

use super::board::Board;
use super::progress::Progress;
use planwright::stored::StaleStep;

/// The most runs of one client that have ended and are remembered here. Older ones are read from the store.
const ENDED_KEPT: usize = 16;
/// The most bytes that the values of those runs may come to as written.
const ENDED_BYTES: u64 = 32 * 1024 * 1024;

/// A run of this process.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) id: Arc<str>,
    pub(super) client: ClientId,
    pub(super) plan: CheckedPlan,
    /// The steps that were done and are run again, since a new plan made their results stale.
    pub(super) rerun: Vec<StaleStep>,
    pub(super) board: Arc<Board>,
    pub(super) began: SystemTime,
    meter: WrittenMeter,
    canceller: Canceller,
    stand: watch::Receiver<Stand>,
    idle: watch::Receiver<bool>,
    suspend: Mutex<Option<oneshot::Sender<()>>>,
    ended: Mutex<Option<Ended>>,
}

/// The end of a run, and the size of its values as JSON.
#[derive(Clone, Copy, Debug)]
struct Ended {
    at: Instant,
    bytes: u64,
}

/// The state of a run.
#[derive(Clone, Debug)]
pub(super) enum Stand {
    /// In progress.
    Going {
        /// The number of steps that have ended.
        done: usize,
        /// The number of steps.
        of: usize,
    },
    /// Ended.
    Ended(Arc<RunSummary>),
    /// Suspended, for another process to resume.
    Suspended,
}

impl Running {
    /// Ends the run: calls under way are cancelled.
    pub(super) fn cancel(&self) {
        self.canceller.cancel();
    }

    pub(super) fn stand(&self) -> Stand {
        self.stand.borrow().clone()
    }

    /// Waits until the run goes on no longer.
    pub(super) async fn ended(&self) -> Stand {
        let mut stand = self.stand.clone();
        let ended = stand.wait_for(|stand| !matches!(stand, Stand::Going { .. }));
        match ended.await {
            Ok(stand) => stand.clone(),
            Err(_) => Stand::Suspended,
        }
    }

    /// Waits until the run goes on no longer, or only people can bring it on.
    async fn settled(&self) {
        let mut idle = self.idle.clone();
        tokio::select! {
            _ = self.ended() => {}
            // Without a sender the run has ended.
            _ = idle.wait_for(|idle| *idle) => {}
        }
    }

    /// Leaves the run as it is: calls under way are dropped, and what is kept is enough to go on.
    fn suspend(&self) {
        let suspend = self.suspend.lock().unwrap_or_else(PoisonError::into_inner);
        // A run that has ended needs no telling.
        let _ = { suspend }.take().map(|suspend| suspend.send(()));
    }
}

/// A run that was launched.
pub(super) struct Follow {
    pub(super) run: Run,
    pub(super) client: ClientId,
    pub(super) plan: CheckedPlan,
    pub(super) rerun: Vec<StaleStep>,
    pub(super) board: Arc<Board>,
    pub(super) began: SystemTime,
    pub(super) meter: WrittenMeter,
    pub(super) progress: Progress,
}

/// All runs of this process.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<HashMap<Arc<str>, Arc<Running>>>);

impl Registry {
    /// The run `id`, if it is this client's.
    pub(super) fn get(&self, client: &ClientId, id: &str) -> Option<Arc<Running>> {
        let runs = self.lock();
        runs.get(id).filter(|run| run.client == *client).cloned()
    }

    /// Forgets a run of this client that goes on no longer.
    pub(super) fn forget(&self, client: &ClientId, id: &str) {
        let mut runs = self.lock();
        let is_over = runs.get(id).is_some_and(|run| {
            run.client == *client && !matches!(*run.stand.borrow(), Stand::Going { .. })
        });
        if is_over {
            runs.remove(id);
        }
    }

    /// Returns the number of runs of this client in progress, and the bytes that they have written so far.
    pub(super) fn under_way(&self, client: &ClientId) -> (usize, u64) {
        let runs = self.lock();
        let going = |run: &&Arc<Running>| {
            run.client == *client && matches!(*run.stand.borrow(), Stand::Going { .. })
        };
        let going = runs.values().filter(going);
        going.fold((0, 0), |(count, bytes), run| {
            (count + 1, bytes + run.meter.bytes())
        })
    }

    /// Cancels all runs of a client.
    pub(super) fn cancel_all(&self, client: &ClientId) {
        let runs = self.lock();
        for run in runs.values().filter(|run| run.client == *client) {
            run.cancel();
        }
    }

    /// Follows a run from now on.
    pub(super) fn follow(&self, follow: Follow) -> Arc<Running> {
        let Follow {
            mut run,
            client,
            plan,
            rerun,
            board,
            began,
            meter,
            mut progress,
        } = follow;
        let id = Arc::clone(run.id());
        let (stand, watched) = watch::channel(Stand::Going {
            done: 0,
            of: progress.steps(),
        });
        let (idle, idle_watched) = watch::channel(false);
        let (suspend, mut suspended) = oneshot::channel();
        let running = Arc::new(Running {
            id: Arc::clone(&id),
            client: client.clone(),
            plan,
            rerun,
            board,
            began,
            meter,
            canceller: run.canceller(),
            stand: watched,
            idle: idle_watched,
            suspend: Mutex::new(Some(suspend)),
            ended: Mutex::new(None),
        });
        self.forget_old(&client);
        self.lock().insert(id, Arc::clone(&running));
        let followed = Arc::downgrade(&running);
        tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    biased;
                    Ok(()) = &mut suspended => {
                        run.abandon().await;
                        stand.send_replace(Stand::Suspended);
                        return;
                    }
                    event = run.next_event() => event,
                };
                let Some(event) = event else {
                    break;
                };
                let is_counted = progress.event(&event);
                idle.send_if_modified(|idle| {
                    std::mem::replace(idle, progress.waits_for_people()) != *idle
                });
                if is_counted {
                    stand.send_replace(Stand::Going {
                        done: progress.done(),
                        of: progress.steps(),
                    });
                }
            }
            let summary = Arc::new(run.finish().await);
            if let Some(running) = followed.upgrade() {
                let ended = Ended {
                    at: Instant::now(),
                    bytes: summary.written_bytes,
                };
                *running.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
            }
            stand.send_replace(Stand::Ended(summary));
        });
        running
    }

    /// Lets runs under way come to their end for `grace`, then leaves them as they are.
    pub(super) async fn suspend(&self, grace: Duration) {
        let runs: Vec<Arc<Running>> = self.lock().values().cloned().collect();
        let all = futures::future::join_all(runs.iter().map(|run| run.settled()));
        // Those that have not ended by then are left.
        let _ = tokio::time::timeout(grace, all).await;
        for run in &runs {
            run.suspend();
        }
        for run in &runs {
            run.ended().await;
        }
    }

    /// Forgets the oldest of the runs of a client that have ended, where there are many.
    fn forget_old(&self, client: &ClientId) {
        let mut runs = self.lock();
        let mut ended: Vec<(Ended, Arc<str>)> = runs
            .values()
            .filter(|run| run.client == *client)
            .filter_map(|run| {
                let ended = run.ended.lock().unwrap_or_else(PoisonError::into_inner);
                Some(((*ended)?, Arc::clone(&run.id)))
            })
            .collect();
        // The latest first.
        ended.sort_by_key(|(ended, _)| std::cmp::Reverse(ended.at));
        let mut bytes = 0_u64;
        let kept = ended.iter().take(ENDED_KEPT - 1).take_while(|(ended, _)| {
            bytes = bytes.saturating_add(ended.bytes);
            bytes <= ENDED_BYTES
        });
        let kept = kept.count();
        for (_, id) in ended.into_iter().skip(kept) {
            runs.remove(&id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Running>>> {
        // Nothing that may panic happens while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cancels a run whose caller has gone, unless it goes on without.
#[derive(Debug)]
pub(super) struct CancelOnDrop(Option<Arc<Running>>);

impl CancelOnDrop {
    pub(super) fn new(run: &Arc<Running>) -> Self {
        Self(Some(Arc::clone(run)))
    }

    /// Lets the run go on.
    pub(super) fn release(&mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run.cancel();
        }
    }
}
