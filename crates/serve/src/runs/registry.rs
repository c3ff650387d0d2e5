//! Runs of this process: those in progress, and those that ended recently.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use planwright::Run;
use planwright::stored::StaleStep;
use planwright_core::{CheckedPlan, Object, Value};
use planwright_engine::RunId;
use planwright_engine::guard::WrittenMeter;
use planwright_engine::{Canceller, RunSummary};
use planwright_mcp::gateway::ClientId;
use tokio::sync::{oneshot, watch};
use tokio::time::{Duration, Instant};

use crate::runs::progress::ProgressReporter;
use crate::runs::slots::{NoSlot, RunLimits, RunSlot, RunSlots};

/// The maximum number of ended runs of one client in memory. Older ones are read from the store.
const MAX_ENDED_RUNS: usize = 16;
/// The maximum size of the values of those runs as JSON, in bytes.
const MAX_ENDED_BYTES: u64 = 32 * 1024 * 1024;

/// Returns the stored form of the owner of a client's runs. Runs of the local user have none.
pub(crate) fn owner(client: &ClientId) -> Option<String> {
    (*client != ClientId::local()).then(|| client.as_str().to_owned())
}

/// A run of this process.
#[derive(Debug)]
pub(crate) struct TrackedRun {
    pub(crate) id: RunId,
    pub(crate) client: ClientId,
    pub(crate) plan: CheckedPlan,
    /// The steps that were done and are run again, since a new plan made their results stale.
    pub(crate) rerun: Vec<StaleStep>,
    /// The warnings about the plan, as a model reads them.
    pub(crate) warnings: Vec<Value>,
    pub(crate) questions: Arc<PendingQuestions>,
    pub(crate) began: SystemTime,
    is_revert: bool,
    meter: WrittenMeter,
    canceller: Canceller,
    progress: watch::Receiver<RunProgress>,
    idle: watch::Receiver<bool>,
    suspend: Mutex<Option<oneshot::Sender<()>>>,
    ended: Mutex<Option<RunEnd>>,
}

/// The end of a run, and the size of its values as JSON.
#[derive(Clone, Copy, Debug)]
struct RunEnd {
    at: Instant,
    bytes: u64,
}

/// The state of a run.
#[derive(Clone, Debug)]
pub(crate) enum RunProgress {
    /// The run is in progress.
    InProgress {
        /// The number of steps that have ended.
        done: usize,
        /// The number of steps.
        of: usize,
    },
    /// The run has ended.
    Ended(Arc<RunSummary>),
    /// Suspended, for another process to resume.
    Suspended,
}

impl TrackedRun {
    /// Cancels the run and its calls in flight.
    pub(crate) fn cancel(&self) {
        self.canceller.cancel();
    }

    /// Cancels the run for want of a caller. A run that undoes another one continues, and so does the revert of a run that has failed: an undo
    /// that is aborted may or may not have happened, and only a person could find out.
    fn cancel_unwanted(&self) {
        if !self.is_revert {
            self.canceller.cancel_alone();
        }
    }

    pub(crate) fn progress(&self) -> RunProgress {
        self.progress.borrow().clone()
    }

    /// Waits until the run has ended or is suspended.
    pub(crate) async fn wait_for_end(&self) -> RunProgress {
        let mut progress = self.progress.clone();
        let ended =
            progress.wait_for(|progress| !matches!(progress, RunProgress::InProgress { .. }));
        match ended.await {
            Ok(progress) => progress.clone(),
            Err(_) => RunProgress::Suspended,
        }
    }

    /// Waits until the run has ended or only a decision of a person can continue it.
    async fn wait_until_idle(&self) {
        let mut idle = self.idle.clone();
        tokio::select! {
            _ = self.wait_for_end() => {}
            // Without a sender the run has ended.
            _ = idle.wait_for(|idle| *idle) => {}
        }
    }

    /// Hands the run over: nothing new starts, and it is suspended once its calls in flight have ended, or after `limit`.
    fn hand_over(&self, limit: Duration) {
        self.canceller.hand_over(limit);
    }

    /// Suspends the run: calls in flight are dropped, and the stored journal suffices to resume it.
    fn suspend(&self) {
        let suspend = self.suspend.lock().unwrap_or_else(PoisonError::into_inner);
        // The receiver is gone if the run has ended.
        let _ = { suspend }.take().map(|suspend| suspend.send(()));
    }
}

/// A run that was launched.
pub(crate) struct RunTracking {
    pub(crate) run: Run,
    pub(crate) client: ClientId,
    pub(crate) plan: CheckedPlan,
    pub(crate) rerun: Vec<StaleStep>,
    /// The warnings about the plan, as a model reads them.
    pub(crate) warnings: Vec<Value>,
    pub(crate) questions: Arc<PendingQuestions>,
    pub(crate) began: SystemTime,
    /// True if the run undoes another one.
    pub(crate) is_revert: bool,
    pub(crate) meter: WrittenMeter,
    pub(crate) progress: ProgressReporter,
    /// The slot of the run.
    pub(crate) slot: RunSlot,
}

/// The sender of a run's progress. Dropping it without an outcome, because the driver panicked, suspends the run: the store has its
/// journal.
struct ProgressSender(watch::Sender<RunProgress>);

impl Drop for ProgressSender {
    fn drop(&mut self) {
        self.0.send_if_modified(|progress| {
            let is_open = matches!(progress, RunProgress::InProgress { .. });
            if is_open {
                *progress = RunProgress::Suspended;
            }
            is_open
        });
    }
}

/// All runs of this process.
#[derive(Debug, Default)]
pub(crate) struct RunRegistry {
    slots: RunSlots,
    runs: Mutex<HashMap<RunId, Arc<TrackedRun>>>,
    /// The number of runs that are being started and may not be tracked yet.
    starting: watch::Sender<usize>,
}

/// A run that is being started, until it is dropped.
#[derive(Debug)]
pub(crate) struct StartingRun(watch::Sender<usize>);

impl Drop for StartingRun {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl RunRegistry {
    /// Returns the run `id`.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<TrackedRun>> {
        self.lock().get(id).cloned()
    }

    /// Removes the run `id` if `may` is true for its client, and if it is not in progress.
    pub(crate) fn remove_ended(&self, id: &str, may: impl Fn(&ClientId) -> bool) {
        let mut runs = self.lock();
        let is_over = runs.get(id).is_some_and(|run| {
            may(&run.client) && !matches!(*run.progress.borrow(), RunProgress::InProgress { .. })
        });
        if is_over {
            runs.remove(id);
        }
    }

    /// Reserves the slot of one more run of this client beside those in progress.
    ///
    /// # Errors
    ///
    /// The client has reached its limits.
    pub(crate) fn reserve(&self, client: &ClientId, limits: RunLimits) -> Result<RunSlot, NoSlot> {
        let in_flight = || self.in_flight(client);
        self.slots.reserve(client, limits, in_flight)
    }

    /// Returns the number of runs of this client in progress, and the bytes that they have written so far.
    fn in_flight(&self, client: &ClientId) -> (usize, u64) {
        let runs = self.lock();
        let is_running = |run: &&Arc<TrackedRun>| {
            run.client == *client
                && matches!(*run.progress.borrow(), RunProgress::InProgress { .. })
        };
        let is_running = runs.values().filter(is_running);
        is_running.fold((0, 0), |(count, bytes), run| {
            (count + 1, bytes + run.meter.bytes())
        })
    }

    /// Registers a run that is about to start, so that [`suspend`](Self::suspend) waits until it is tracked.
    pub(crate) fn register_start(&self) -> StartingRun {
        self.starting.send_modify(|count| *count += 1);
        StartingRun(self.starting.clone())
    }

    /// Cancels all runs of a client.
    pub(crate) fn cancel_all(&self, client: &ClientId) {
        let runs = self.lock();
        for run in runs.values().filter(|run| run.client == *client) {
            run.cancel();
        }
    }

    /// Drives a run to its end in a separate task, and tracks its progress.
    pub(crate) fn track(&self, track: RunTracking) -> Arc<TrackedRun> {
        let RunTracking {
            mut run,
            client,
            plan,
            rerun,
            warnings,
            questions,
            began,
            is_revert,
            meter,
            progress: mut reporter,
            slot,
        } = track;
        let id = run.id().clone();
        let (progress, watched) = watch::channel(RunProgress::InProgress {
            done: 0,
            of: reporter.steps(),
        });
        let (idle, idle_watched) = watch::channel(false);
        let (suspend, mut suspended) = oneshot::channel();
        let running = Arc::new(TrackedRun {
            id: id.clone(),
            client: client.clone(),
            plan,
            rerun,
            warnings,
            questions,
            began,
            is_revert,
            meter,
            canceller: run.canceller(),
            progress: watched,
            idle: idle_watched,
            suspend: Mutex::new(Some(suspend)),
            ended: Mutex::new(None),
        });
        self.evict_ended(&client);
        slot.replace_by(|| drop(self.lock().insert(id, Arc::clone(&running))));
        let followed = Arc::downgrade(&running);
        let progress = ProgressSender(progress);
        tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    biased;
                    Ok(()) = &mut suspended => {
                        run.abandon().await;
                        progress.0.send_replace(RunProgress::Suspended);
                        return;
                    }
                    event = run.next_event() => event,
                };
                let Some(event) = event else {
                    break;
                };
                let is_counted = reporter.event(&event);
                idle.send_if_modified(|idle| {
                    std::mem::replace(idle, reporter.waits_for_people()) != *idle
                });
                if is_counted {
                    progress.0.send_replace(RunProgress::InProgress {
                        done: reporter.done(),
                        of: reporter.steps(),
                    });
                }
            }
            // If the plan wants a failed run to be undone, this takes as long as a person takes to decide about the undos.
            let suspended = async {
                if suspended.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let mut idles = |is_idle| {
                idle.send_replace(is_idle);
            };
            let Ok(summary) = run.finish_unless(suspended, &mut idles).await else {
                progress.0.send_replace(RunProgress::Suspended);
                return;
            };
            if summary.is_handed_over {
                progress.0.send_replace(RunProgress::Suspended);
                return;
            }
            let summary = Arc::new(summary);
            if let Some(running) = followed.upgrade() {
                let ended = RunEnd {
                    at: Instant::now(),
                    bytes: summary.written_bytes,
                };
                *running.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
            }
            progress.0.send_replace(RunProgress::Ended(summary));
        });
        running
    }

    /// Waits for half of `grace` for runs in progress to end, then hands them over: their calls in flight have the rest of it.
    pub(crate) async fn suspend(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        let middle = Instant::now() + grace / 2;
        // A run that is being started must be tracked first: the process would end without it, and it would look interrupted.
        let mut starting = self.starting.subscribe();
        let _ = tokio::time::timeout_at(deadline, starting.wait_for(|count| *count == 0)).await;
        let runs: Vec<Arc<TrackedRun>> = self.lock().values().cloned().collect();
        let all_idle = || futures::future::join_all(runs.iter().map(|run| run.wait_until_idle()));
        if tokio::time::timeout_at(middle, all_idle()).await.is_err() {
            for run in &runs {
                run.hand_over(deadline.saturating_duration_since(Instant::now()));
            }
            // Runs that outlast the deadline are suspended below.
            let _ = tokio::time::timeout_at(deadline, all_idle()).await;
        }
        for run in &runs {
            run.suspend();
        }
        for run in &runs {
            run.wait_for_end().await;
        }
    }

    /// Removes the oldest ended runs of a client, beyond the limits of number and size.
    fn evict_ended(&self, client: &ClientId) {
        let mut runs = self.lock();
        let mut ended: Vec<(RunEnd, RunId)> = runs
            .values()
            .filter(|run| run.client == *client)
            .filter_map(|run| {
                let ended = run.ended.lock().unwrap_or_else(PoisonError::into_inner);
                Some(((*ended)?, run.id.clone()))
            })
            .collect();
        // The latest first.
        ended.sort_by_key(|(ended, _)| std::cmp::Reverse(ended.at));
        let mut bytes = 0_u64;
        let retained = ended
            .iter()
            .take(MAX_ENDED_RUNS - 1)
            .take_while(|(ended, _)| {
                bytes = bytes.saturating_add(ended.bytes);
                bytes <= MAX_ENDED_BYTES
            });
        let retained = retained.count();
        for (_, id) in ended.into_iter().skip(retained) {
            runs.remove(&id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Arc<TrackedRun>>> {
        // No code that may panic runs while the lock is held.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cancels a run on drop, for callers that go away, unless it was released. Undos continue.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(Option<Arc<TrackedRun>>);

impl CancelOnDrop {
    pub(crate) fn new(run: &Arc<TrackedRun>) -> Self {
        Self(Some(Arc::clone(run)))
    }

    /// Lets the run continue without its caller.
    pub(crate) fn release(&mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run.cancel_unwanted();
        }
    }
}

/// Open questions of a run that has become a task.
#[derive(Debug, Default)]
pub(crate) struct PendingQuestions(Mutex<Questions>);

type Questions = BTreeMap<String, (Value, oneshot::Sender<Value>)>;

/// Returns the key of a question about `subject`. It is the same in each process, so a late answer is never taken for the answer to
/// another question.
pub(crate) fn key(subject: &str) -> String {
    let start = subject.get(..32).unwrap_or(subject);
    format!("question-{start}")
}

impl PendingQuestions {
    /// Adds a request to the client about `subject`, the digest of a call, and returns the receiver of its answer.
    pub(crate) fn ask(&self, request: Value, subject: &str) -> oneshot::Receiver<Value> {
        let (answer, answered) = oneshot::channel();
        self.lock().insert(key(subject), (request, answer));
        answered
    }

    /// Returns the open questions, by their keys: the `inputRequests` of MCP. `None` if there are none.
    pub(crate) fn open(&self) -> Option<Value> {
        let mut questions = self.lock();
        // A closed receiver got its answer elsewhere.
        questions.retain(|_, (_, answer)| !answer.is_closed());
        let requests = questions.iter();
        let requests: Object = requests
            .map(|(key, (request, _))| (key.as_str().into(), request.clone()))
            .collect();
        (!requests.is_empty()).then(|| Value::from(requests))
    }

    /// Delivers answers by the keys of their questions.
    pub(crate) fn answer(&self, responses: &Value) {
        let mut questions = self.lock();
        for (key, response) in responses.as_object().into_iter().flatten() {
            if let Some((_, answer)) = questions.remove(&**key) {
                // The call may have got its answer elsewhere.
                let _ = answer.send(response.clone());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Questions> {
        // No code that may panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_run_whose_driver_panics_is_suspended() {
        let (progress, mut watched) = watch::channel(RunProgress::InProgress { done: 1, of: 2 });
        let progress = ProgressSender(progress);
        let driver = tokio::spawn(async move {
            let _progress = progress;
            panic!("a driver that fails");
        });
        assert!(driver.await.unwrap_err().is_panic());
        let suspended = watched.wait_for(|progress| matches!(progress, RunProgress::Suspended));
        assert!(suspended.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_suspension_waits_for_runs_that_are_being_started() {
        let registry = RunRegistry::default();
        let started = registry.register_start();
        let began = Instant::now();
        let start = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            drop(started);
        };
        tokio::join!(registry.suspend(Duration::from_secs(5)), start);
        assert_eq!(began.elapsed().as_secs(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_that_takes_too_long_does_not_hold_up_a_suspension() {
        let registry = RunRegistry::default();
        let _started = registry.register_start();
        let began = Instant::now();
        registry.suspend(Duration::from_secs(5)).await;
        assert_eq!(began.elapsed().as_secs(), 5);
    }
}
