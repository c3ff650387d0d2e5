//! The timeout clock of one call, paused while people are asked.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Measures the time since a call last showed activity. Call timeouts apply to this clock.
///
/// A backend restarts it when the tool reports progress, and pauses it while a person answers a question of the tool.
/// Clones share one clock.
#[derive(Clone, Default)]
pub struct CallClock(Arc<Mutex<ClockState>>);

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
}

/// Keeps a [`CallClock`] paused until it is dropped.
#[must_use = "the clock goes on when this is dropped"]
#[derive(Debug)]
pub struct ClockPause(CallClock);

impl CallClock {
    /// Restarts the clock from zero: the call is sent, or the tool has reported progress.
    pub fn restart(&self) {
        self.state().since = Some(Instant::now());
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

    /// Completes once the call has been inactive for `limit`, a limit of the backend's own. The run's limit no longer
    /// applies to the call then.
    pub async fn exceeds(&self, limit: Duration) {
        self.state().is_limited_by_backend = true;
        loop {
            // Progress may have moved the deadline during the sleep.
            let remaining = self.state().remaining(limit);
            if remaining.is_zero() {
                return;
            }
            tokio::time::sleep(remaining).await;
        }
    }

    /// The minimum time left until the run's `limit` can be exceeded; zero if it is exceeded.
    pub(crate) fn remaining(&self, limit: Duration) -> Duration {
        let state = self.state();
        if state.is_limited_by_backend {
            limit
        } else {
            state.remaining(limit)
        }
    }

    /// The start and end of each pause. A current pause ends now.
    pub(crate) fn pauses(&self) -> Vec<(Instant, Instant)> {
        let state = self.state();
        let current = state.paused_at.map(|at| (at, Instant::now()));
        state.pauses.iter().copied().chain(current).collect()
    }

    // A blocking mutex is fine: it is held for a few assignments, never across an await.
    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClockState {
    /// The minimum time left. A paused clock restarts from zero, so the whole `limit` is left.
    fn remaining(&self, limit: Duration) -> Duration {
        match (self.paused_at, self.since) {
            (None, Some(since)) => limit.saturating_sub(since.elapsed()),
            _ => limit,
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
        assert_eq!(clock.remaining(10 * SECOND), 10 * SECOND);
        clock.restart();
        tokio::time::advance(4 * SECOND).await;
        assert_eq!(clock.remaining(10 * SECOND), 6 * SECOND);
        clock.restart();
        assert_eq!(clock.remaining(10 * SECOND), 10 * SECOND);
        let (one, other) = (clock.pause(), clock.pause());
        tokio::time::advance(30 * SECOND).await;
        drop(one);
        tokio::time::advance(30 * SECOND).await;
        assert_eq!(clock.remaining(10 * SECOND), 10 * SECOND);
        assert_eq!(total_pause(&clock), 60 * SECOND);
        drop(other);
        tokio::time::advance(3 * SECOND).await;
        assert_eq!(clock.remaining(10 * SECOND), 7 * SECOND);
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
            assert_eq!(clock.remaining(10 * SECOND), 10 * SECOND);
            clock.restart();
        };
        tokio::join!(exceeded, progress);
        assert_eq!(begun.elapsed(), 160 * SECOND);
    }
}
