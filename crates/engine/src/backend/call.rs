//! Calls of tools: the trait of backends, one attempt at a call with its context and its timeout clock, and backends by server.

use crate::id::RunId;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::{Hashing, ServerName, StepId, Tool, Value};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::result::{ToolError, ToolOutput};
use super::{ErrorKind, IdempotencyKey};

/// Runs the tools of one server.
///
/// Dropping the future that [`call`](ToolBackend::call) returned cancels the call: an implementation notifies the
/// server and leaves nothing behind.
pub trait ToolBackend: Send + Sync + 'static {
    /// Calls a tool once. The arguments have been validated against the tool's schema.
    ///
    /// # Errors
    /// The tool's own error, or the reason why it could not be reached. [`ToolError::retry`] distinguishes them.
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// An attempt at a call.
#[derive(Clone)]
pub struct ToolCall {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The arguments, an object.
    pub args: Value,
    /// The run, the step, and the caller's data.
    pub context: CallContext,
    /// The clock that time limits of the call apply to. Progress restarts it, questions to people pause it.
    pub clock: CallClock,
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("tool", &self.tool.qualified_name())
            .field("step", &self.context.step)
            .field("attempt", &self.context.attempt)
            .finish_non_exhaustive()
    }
}

/// Data of the caller that all calls of one run can read, such as a tenant or a connection. Plans cannot see or change it.
#[derive(Clone, Default)]
pub struct RunData(Option<Arc<dyn Any + Send + Sync>>);

impl RunData {
    /// Wraps a value.
    pub fn new(value: impl Any + Send + Sync) -> Self {
        Self(Some(Arc::new(value)))
    }

    /// The value, if it has the type `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0
            .as_deref()
            .and_then(<dyn Any + Send + Sync>::downcast_ref)
    }
}

impl fmt::Debug for RunData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The value may hold secrets, and need not be printable.
        f.debug_tuple("RunData").field(&self.0.is_some()).finish()
    }
}

/// The context of one attempt at a call: the run, the step, and the caller's data.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallContext {
    /// The run's id; `None` outside of any run.
    pub run: Option<RunId>,
    /// The calling step.
    pub step: StepId,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    pub(crate) key: IdempotencyKey,
    /// The time after which the attempt is abandoned; `None` if it is not limited.
    pub time_limit: Option<Duration>,
    /// The caller's data of this run.
    pub data: RunData,
}

impl CallContext {
    /// The context of a call outside of any run: the first attempt of `step`, without a time limit.
    pub fn new(step: impl Into<StepId>, idempotency_key: impl Into<Arc<str>>) -> Self {
        Self {
            run: None,
            step: step.into(),
            attempt: 1,
            key: IdempotencyKey::Given(idempotency_key.into()),
            time_limit: None,
            data: RunData::default(),
        }
    }

    /// Returns a key shared by all attempts at the same call of the same run, and by no other call. It is computed from the arguments at
    /// each call of this function.
    pub fn idempotency_key(&self) -> Arc<str> {
        self.key.text()
    }
}

/// Backends by server name; a backend itself.
#[derive(Clone, Default)]
pub struct Backends {
    by_server: HashMap<ServerName, Arc<dyn ToolBackend>, Hashing>,
    extraction: Option<Arc<dyn ToolBackend>>,
}

impl Backends {
    /// Creates a router without servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Routes the calls of `server` to `backend`.
    pub fn with(mut self, server: impl Into<ServerName>, backend: impl ToolBackend) -> Self {
        self.add(server, Arc::new(backend));
        self
    }

    /// Routes the calls of `server` to `backend`.
    pub fn add(&mut self, server: impl Into<ServerName>, backend: Arc<dyn ToolBackend>) {
        self.by_server.insert(server.into(), backend);
    }

    /// Routes the calls of the [extraction tool](Tool::extraction), which belongs to no server, to `backend`.
    pub fn set_extraction(&mut self, backend: Arc<dyn ToolBackend>) {
        self.extraction = Some(backend);
    }

    /// Adds the servers of `other`, which replace servers of the same name.
    pub fn join(&mut self, other: Backends) {
        self.by_server.extend(other.by_server);
        self.extraction = other.extraction.or(self.extraction.take());
    }
}

impl ToolBackend for Backends {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let extraction = self.extraction.as_ref();
        let extraction = extraction.filter(|_| call.tool.is_extraction());
        match extraction.or_else(|| self.by_server.get(&call.tool.server)) {
            Some(backend) => backend.call(call),
            None => {
                let message = format!("no server `{}` is connected", call.tool.server);
                Box::pin(async move { Err(ToolError::new(ErrorKind::Unavailable, message)) })
            }
        }
    }
}

impl fmt::Debug for Backends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_server.keys()).finish()
    }
}

/// The progress of a call in flight, as its tool reports it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallProgress {
    /// The amount of work done, in a unit of the tool's own.
    pub done: f64,
    /// The total amount of work, in the same unit, if the tool knows it.
    pub total: Option<f64>,
    /// A message for people.
    pub message: Option<Arc<str>>,
}

impl CallProgress {
    /// The part of the work that is done, from 0 to 1; `None` if the total is unknown.
    pub fn fraction(&self) -> Option<f64> {
        let fraction = self.done / self.total?;
        fraction.is_finite().then(|| fraction.clamp(0.0, 1.0))
    }
}

/// Measures the time since a call last showed activity. Call timeouts apply to this clock.
///
/// A backend passes it the progress that a tool reports, which restarts it, and pauses it while a person answers a question of the tool.
/// Clones share one clock.
#[derive(Clone, Default)]
pub struct CallClock(Arc<SharedClock>);

#[derive(Default)]
struct SharedClock {
    state: Mutex<ClockState>,
    /// Wakes the limits of the backend when a pause ends.
    resumed: Notify,
}

#[derive(Debug, Default)]
struct ClockState {
    /// The last activity; `None` before the call is sent.
    since: Option<Instant>,
    questions: u32,
    /// The start of the current pause, set while at least one question is open.
    paused_at: Option<Instant>,
    /// The start and end of each finished pause.
    pauses: Vec<(Instant, Instant)>,
    is_limited_by_backend: bool,
    /// Wakes the driver when a pause ends.
    driver: Option<Arc<Notify>>,
    /// The latest reported progress, until the driver takes it.
    progress: Option<CallProgress>,
    /// Wakes the driver when progress is reported.
    on_progress: Option<Arc<Notify>>,
    /// Explains why the call may have got no answer.
    silence: Silence,
}

/// A function that explains a missing answer, if it can.
#[derive(Default)]
struct Silence(Option<Box<dyn Fn() -> Option<String> + Send>>);

impl fmt::Debug for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Silence").field(&self.0.is_some()).finish()
    }
}

/// Keeps a [`CallClock`] paused until it is dropped.
#[must_use = "the clock continues when this is dropped"]
#[derive(Debug)]
pub struct ClockPause(CallClock);

impl CallClock {
    /// Starts the clock: the call is sent `now`. `on_resume` is notified each time a pause ends, `on_progress` each time progress is
    /// reported.
    pub(crate) fn start(
        &self,
        now: Instant,
        on_resume: &Arc<Notify>,
        on_progress: Option<&Arc<Notify>>,
    ) {
        let mut state = self.state();
        state.since = Some(now);
        state.driver = Some(Arc::clone(on_resume));
        state.on_progress = on_progress.cloned();
    }

    /// Restarts the clock from zero: the call is sent.
    pub fn restart(&self) {
        self.state().since = Some(Instant::now());
    }

    /// Restarts the clock from zero, and passes the progress that the tool has reported to the listeners of the run. Of
    /// several reports that follow one another quickly, listeners get the last one.
    pub fn report(&self, progress: CallProgress) {
        let mut state = self.state();
        state.since = Some(Instant::now());
        state.progress = Some(progress);
        if let Some(driver) = &state.on_progress {
            driver.notify_one();
        }
    }

    /// Sets the function that explains, as one clause, why the call may have got no answer. It is called if the call exceeds the run's
    /// limit.
    pub fn explain_silence(&self, explain: impl Fn() -> Option<String> + Send + 'static) {
        self.state().silence = Silence(Some(Box::new(explain)));
    }

    /// Returns the explanation of the backend why the call may have got no answer.
    pub(crate) fn silence(&self) -> Option<String> {
        self.state().silence.0.as_ref()?()
    }

    /// Removes and returns the latest progress that was not taken before.
    pub(crate) fn take_progress(&self) -> Option<CallProgress> {
        self.state().progress.take()
    }

    /// Stops the clock while a person is asked. It restarts from zero once the last open question is answered.
    pub fn pause(&self) -> ClockPause {
        let mut state = self.state();
        state.questions += 1;
        // Overlapping questions count as one pause.
        state.paused_at.get_or_insert_with(Instant::now);
        drop(state);
        ClockPause(self.clone())
    }

    /// Completes once the call has been inactive for `limit`, which the backend sets itself. Afterwards, the run's limit does not apply to
    /// the call.
    pub async fn exceeds(&self, limit: Duration) {
        self.state().is_limited_by_backend = true;
        loop {
            // Created before the state is read, so that a resumption in between wakes it as well.
            let resumed = self.0.resumed.notified();
            // Progress may have moved the deadline during the sleep.
            let remaining = self.state().remaining(limit);
            match remaining {
                Some(Duration::ZERO) => return,
                Some(remaining) => tokio::time::sleep(remaining).await,
                None => resumed.await,
            }
        }
    }

    /// Returns true while a question is open.
    pub(crate) fn is_paused(&self) -> bool {
        self.state().paused_at.is_some()
    }

    /// Returns the minimum time until the run's `limit` can be exceeded, zero if it is exceeded. Returns `None` while the clock is paused,
    /// and if the backend limits the call.
    pub(crate) fn remaining(&self, limit: Duration) -> Option<Duration> {
        let state = self.state();
        state
            .remaining(limit)
            .filter(|_| !state.is_limited_by_backend)
    }

    /// The start and end of each pause. A current pause ends now.
    pub(crate) fn pauses(&self) -> Vec<(Instant, Instant)> {
        let state = self.state();
        let current = state.paused_at.map(|at| (at, Instant::now()));
        state.pauses.iter().copied().chain(current).collect()
    }

    // A blocking mutex is fine: it is held for a few assignments, never across an await.
    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClockState {
    /// The minimum time left; `None` while the clock is paused.
    fn remaining(&self, limit: Duration) -> Option<Duration> {
        match (self.paused_at, self.since) {
            (Some(_), _) => None,
            (None, Some(since)) => Some(limit.saturating_sub(since.elapsed())),
            (None, None) => Some(limit),
        }
    }
}

impl Drop for ClockPause {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.questions -= 1;
        // The tool gets the full limit again after the last answer.
        if state.questions == 0
            && let Some(at) = state.paused_at.take()
        {
            let now = Instant::now();
            state.pauses.push((at, now));
            state.since = Some(now);
            if let Some(driver) = &state.driver {
                driver.notify_one();
            }
            self.0.0.resumed.notify_waiters();
        }
    }
}

impl fmt::Debug for CallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallClock").field(&*self.state()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn total_pause(clock: &CallClock) -> Duration {
        let pauses = clock.pauses().into_iter();
        pauses.map(|(start, end)| end - start).sum()
    }

    #[tokio::test(start_paused = true)]
    async fn progress_restarts_and_questions_stop_the_clock() {
        let clock = CallClock::default();
        assert_eq!(clock.remaining(10 * SECOND), Some(10 * SECOND));
        clock.restart();
        tokio::time::advance(4 * SECOND).await;
        assert_eq!(clock.remaining(10 * SECOND), Some(6 * SECOND));
        clock.restart();
        assert_eq!(clock.remaining(10 * SECOND), Some(10 * SECOND));
        let (one, other) = (clock.pause(), clock.pause());
        tokio::time::advance(30 * SECOND).await;
        drop(one);
        tokio::time::advance(30 * SECOND).await;
        assert_eq!(clock.remaining(10 * SECOND), None);
        assert_eq!(total_pause(&clock), 60 * SECOND);
        drop(other);
        tokio::time::advance(3 * SECOND).await;
        assert_eq!(clock.remaining(10 * SECOND), Some(7 * SECOND));
        assert_eq!(total_pause(&clock), 60 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_of_the_backend_replaces_that_of_the_run() {
        let clock = CallClock::default();
        clock.restart();
        let begun = Instant::now();
        let exceeded = clock.exceeds(100 * SECOND);
        let progress = async {
            tokio::time::sleep(60 * SECOND).await;
            assert_eq!(clock.remaining(10 * SECOND), None);
            clock.restart();
        };
        tokio::join!(exceeded, progress);
        assert_eq!(begun.elapsed(), 160 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_of_the_backend_waits_for_the_end_of_a_pause() {
        let clock = CallClock::default();
        clock.restart();
        let begun = Instant::now();
        let pause = clock.pause();
        let exceeded = clock.exceeds(SECOND);
        let answer = async {
            tokio::time::sleep(60 * SECOND).await;
            drop(pause);
        };
        tokio::join!(exceeded, answer);
        assert_eq!(begun.elapsed(), 61 * SECOND);
    }
}
