//! How fast a server may be called.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

/// So many calls in any stretch of time of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The most calls.
    pub calls: NonZeroU32,
    /// In how long.
    pub per: Duration,
}

/// Lets calls of one server through.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    rate: Rate,
    /// When the latest calls were sent, as many as the rate allows.
    sent: VecDeque<Duration>,
    /// For when calls were told to come, or sent.
    planned: VecDeque<Duration>,
}

impl Gate {
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

    /// How long a call has to wait; nothing where it may be sent `now`, which counts as sent then. One that comes again
    /// when it was told to `has_waited`, and goes before those that never have.
    pub(super) fn pass(&mut self, now: Duration, has_waited: bool) -> Option<Duration> {
        let open = self.opens(&self.sent);
        // Nobody overtakes those that were told when to come.
        let turn = if has_waited {
            open
        } else {
            open.max(self.opens(&self.planned))
        };
        if turn <= now {
            let most = self.rate.calls.get() as usize;
            push(&mut self.sent, now, most);
            if !has_waited {
                push(&mut self.planned, now, most);
            }
            return None;
        }
        let come = open.max(self.opens(&self.planned)).max(now);
        push(&mut self.planned, come, self.rate.calls.get() as usize);
        Some(come.saturating_sub(now))
    }

    /// When one more call may come after `times`, the latest there were.
    fn opens(&self, times: &VecDeque<Duration>) -> Duration {
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
