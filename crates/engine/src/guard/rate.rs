//! Rate limits of servers.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

/// A sliding-window rate: a number of calls in any period of the given length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The maximum number of calls.
    pub calls: NonZeroU32,
    /// The length of the period.
    pub per: Duration,
}

/// A rate limiter for the calls of one server.
#[derive(Clone, Debug)]
pub(super) struct RateLimiter {
    rate: Rate,
    /// The times of the latest sent calls, as many as the rate allows.
    sent: VecDeque<Duration>,
    /// The times at which calls were sent or are to retry.
    planned: VecDeque<Duration>,
}

impl RateLimiter {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            sent: VecDeque::new(),
            planned: VecDeque::new(),
        }
    }

    /// Counts a call that an earlier process sent.
    pub(super) fn restore(&mut self, sent: Duration) {
        let most = self.rate.calls.get() as usize;
        push(&mut self.sent, sent, most);
        push(&mut self.planned, sent, most);
    }

    /// The time that a call has to wait; `None` if it may be sent `now`, which counts it as sent. A call that was
    /// postponed before passes `has_waited`, and goes before new ones.
    pub(super) fn acquire(&mut self, now: Duration, has_waited: bool) -> Option<Duration> {
        let free_at = self.next_free_time(&self.sent);
        // New calls must not overtake those that were postponed to a time.
        let start_at = if has_waited {
            free_at
        } else {
            free_at.max(self.next_free_time(&self.planned))
        };
        if start_at <= now {
            let most = self.rate.calls.get() as usize;
            push(&mut self.sent, now, most);
            // A postponed call has planned its slot already.
            if !has_waited {
                push(&mut self.planned, now, most);
            }
            return None;
        }
        // Each postponed call plans a slot of its own, so they do not all come back at once.
        let retry_at = free_at.max(self.next_free_time(&self.planned)).max(now);
        push(&mut self.planned, retry_at, self.rate.calls.get() as usize);
        Some(retry_at.saturating_sub(now))
    }

    /// The time at which one more call is allowed after `times`.
    fn next_free_time(&self, times: &VecDeque<Duration>) -> Duration {
        if times.len() < self.rate.calls.get() as usize {
            return Duration::ZERO;
        }
        times
            .front()
            .map_or(Duration::ZERO, |first| first.saturating_add(self.rate.per))
    }
}

fn push(times: &mut VecDeque<Duration>, time: Duration, most: usize) {
    if times.len() >= most {
        times.pop_front();
    }
    times.push_back(time);
}
