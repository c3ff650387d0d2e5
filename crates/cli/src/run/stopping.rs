//! The reactions to the signals that arrive during a run.

use std::time::Duration;

use crate::system::signals::SignalKind;

/// The time in which calls in flight may end after a SIGTERM, whose sender often kills the process soon afterwards.
const TERMINATION_LIMIT: Duration = Duration::from_secs(5);

/// The message at the signal that cancels the calls in flight.
pub(crate) const CANCELLING: &str =
    "cancelling the calls in flight, press Ctrl-C again to leave at once";

/// The reaction to one signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// Start nothing new, and cancel the calls that are still in flight after this time.
    Drain(Duration),
    /// Cancel the calls in flight.
    Cancel,
    /// Leave the process at once.
    Leave,
}

/// The signals that have arrived during a run: the first one drains it, the second one cancels it, the third one leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopping {
    limit: Duration,
    next: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Drain,
    Cancel,
    Leave,
}

impl Stopping {
    /// Creates the state before the first signal. `limit` is the time in which calls in flight may end. If it is zero, the first signal
    /// cancels them.
    pub(crate) fn new(limit: Duration) -> Self {
        let next = if limit.is_zero() {
            Stage::Cancel
        } else {
            Stage::Drain
        };
        Self { limit, next }
    }

    /// The reaction to the next signal.
    pub(crate) fn on_signal(&mut self, signal: SignalKind) -> Reaction {
        let (reaction, next) = match (self.next, signal) {
            (Stage::Drain, SignalKind::Interrupt) => (Reaction::Drain(self.limit), Stage::Cancel),
            (Stage::Drain, SignalKind::Terminate) => {
                let limit = self.limit.min(TERMINATION_LIMIT);
                (Reaction::Drain(limit), Stage::Cancel)
            }
            (Stage::Cancel, _) => (Reaction::Cancel, Stage::Leave),
            (Stage::Leave, _) => (Reaction::Leave, Stage::Leave),
        };
        self.next = next;
        reaction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reactions(limit: u64, first: SignalKind) -> Vec<Reaction> {
        let mut stopping = Stopping::new(Duration::from_secs(limit));
        let others = [SignalKind::Interrupt; 3];
        let signals = [first].into_iter().chain(others);
        signals.map(|signal| stopping.on_signal(signal)).collect()
    }

    #[test]
    fn each_signal_is_more_urgent_than_the_one_before() {
        use Reaction::{Cancel, Drain, Leave};
        let seconds = Duration::from_secs;
        for (limit, signal, first) in [
            (30, SignalKind::Interrupt, Drain(seconds(30))),
            (30, SignalKind::Terminate, Drain(seconds(5))),
            (2, SignalKind::Terminate, Drain(seconds(2))),
        ] {
            let expected = [first, Cancel, Leave, Leave];
            assert_eq!(reactions(limit, signal), expected);
        }
        assert_eq!(
            reactions(0, SignalKind::Interrupt),
            [Cancel, Leave, Leave, Leave]
        );
    }
}
