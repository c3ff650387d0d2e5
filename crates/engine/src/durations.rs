//! Call durations, learned from earlier calls.
//!
//! Each tool has a decaying mean: recent observations weigh most, and after [`HALF_LIFE`](crate::durations::HALF_LIFE)
//! further calls an observation counts half. An observation is the time from sending a call to its successful
//! response. The wait for a free slot, for a person or for a retry does not count. Failed, timed-out and aborted calls
//! are not counted: the duration of a failure does not help in planning a success. If a call succeeds at its third
//! attempt, only the third counts.
//!
//! Design: [Durations are decaying means of successful calls](https://github.com/planwright/planwright/blob/main/docs/design/scheduling.md#durations-are-decaying-means-of-successful-calls).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planwright_core::{Hashing, ServerName};

/// The number of further calls after which an observation counts half.
pub const HALF_LIFE: u32 = 8;

/// The weight of a new observation is `1/SHARE`: `(1 - 1/12)^8` is a half. The first observations weigh alike.
const SHARE: u32 = 12;

/// Call durations by tool. Reads and updates take constant time.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    /// The indices of the tools by server and name.
    servers: HashMap<ServerName, HashMap<Arc<str>, usize, Hashing>, Hashing>,
    tools: Vec<KnownTool>,
    /// The index of the tool that was observed last: calls of one tool often follow each other.
    latest: usize,
    /// The sum of all means, for a typical value in constant time.
    sum: u128,
}

#[derive(Clone, Debug)]
struct KnownTool {
    server: ServerName,
    name: Arc<str>,
    learned: LearnedDuration,
}

impl PartialEq for Durations {
    /// The order in which tools became known does not matter.
    fn eq(&self, other: &Self) -> bool {
        let is_same = |tool: &KnownTool| other.of(&tool.server, &tool.name) == Some(tool.learned);
        self.tools.len() == other.tools.len() && self.tools.iter().all(is_same)
    }
}

impl Eq for Durations {}

/// The learned durations of one tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LearnedDuration {
    /// The decaying mean.
    pub mean: Duration,
    /// The decaying mean of the distance from the mean.
    pub spread: Duration,
    /// The number of observed calls.
    pub calls: u64,
}

impl Durations {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that a call of `tool` at `server` succeeded after `took`.
    pub fn observe(&mut self, server: &ServerName, tool: &Arc<str>, took: Duration) {
        // Every call gets here, and hashing two names costs more than the comparison with the latest ones.
        let latest = self.tools.get(self.latest);
        let is_latest =
            latest.is_some_and(|latest| latest.name == *tool && latest.server == *server);
        if !is_latest {
            self.latest = self.index_of(server, tool).unwrap_or(self.tools.len());
        }
        let Some(known) = self.tools.get_mut(self.latest) else {
            let mut learned = LearnedDuration::default();
            learned.observe(took);
            return self.insert(server, tool, learned);
        };
        let old = known.learned.mean.as_nanos();
        known.learned.observe(took);
        self.sum = self.sum.saturating_sub(old) + known.learned.mean.as_nanos();
    }

    /// Sets what is known about a tool.
    pub fn insert(&mut self, server: &ServerName, tool: &Arc<str>, learned: LearnedDuration) {
        let tools = self.servers.entry(server.clone()).or_default();
        let index = *tools.entry(Arc::clone(tool)).or_insert(self.tools.len());
        match self.tools.get_mut(index) {
            Some(known) => {
                let old = std::mem::replace(&mut known.learned, learned);
                self.sum = self.sum.saturating_sub(old.mean.as_nanos());
            }
            None => self.tools.push(KnownTool {
                server: server.clone(),
                name: Arc::clone(tool),
                learned,
            }),
        }
        self.sum = self.sum.saturating_add(learned.mean.as_nanos());
    }

    fn index_of(&self, server: &str, tool: &str) -> Option<usize> {
        self.servers.get(server)?.get(tool).copied()
    }

    /// The learned durations of a tool.
    pub fn of(&self, server: &str, tool: &str) -> Option<LearnedDuration> {
        let known = self.tools.get(self.index_of(server, tool)?)?;
        Some(known.learned)
    }

    /// The expected duration of a call, if the tool is known.
    pub fn expected(&self, server: &str, tool: &str) -> Option<Duration> {
        self.of(server, tool).map(|learned| learned.mean)
    }

    /// The mean of all known tools, as an estimate for unknown ones.
    pub fn typical(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(self.tools.len() as u128)?;
        Some(nanos(mean))
    }

    /// Returns true if no tool is known.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// All known tools, sorted by server and tool.
    pub fn tools(&self) -> Vec<(&ServerName, &Arc<str>, LearnedDuration)> {
        let tools = self.tools.iter();
        let mut all: Vec<_> = tools
            .map(|tool| (&tool.server, &tool.name, tool.learned))
            .collect();
        all.sort_by_key(|(server, tool, _)| (*server, *tool));
        all
    }
}

impl LearnedDuration {
    /// Creates an entry with a fixed duration.
    pub fn exactly(mean: Duration) -> Self {
        Self {
            mean,
            spread: Duration::ZERO,
            calls: 1,
        }
    }

    /// Only whole nanoseconds are used, so the result is the same on every machine and survives serialization.
    fn observe(&mut self, took: Duration) {
        self.calls = self.calls.saturating_add(1);
        if self.calls == 1 {
            *self = Self::exactly(took);
            return;
        }
        // The first observations weigh alike, or the very first one would dominate.
        let share = self.calls.min(u64::from(SHARE));
        let off = self.mean.abs_diff(took);
        self.mean = towards(self.mean, took, share);
        self.spread = towards(self.spread, off, share);
    }
}

/// Moves from `old` one part in `share` of the way to `new`.
fn towards(old: Duration, new: Duration, share: u64) -> Duration {
    let distance = old.abs_diff(new).as_nanos();
    // Numbers of 64 bits, which are divided far faster, suffice for five centuries.
    let step = match u64::try_from(distance) {
        Ok(distance) => Duration::from_nanos(distance / share.max(1)),
        Err(_) => nanos(distance / u128::from(share.max(1))),
    };
    if new < old {
        old.saturating_sub(step)
    } else {
        old.saturating_add(step)
    }
}

fn nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Durations learned in all runs of an engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedDurations(Arc<Mutex<Durations>>);

impl SharedDurations {
    pub(crate) fn new(durations: Durations) -> Self {
        Self(Arc::new(Mutex::new(durations)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Durations> {
        // Nothing panics while the lock is held, so a poisoned one is still consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn learn(seconds: &[u64]) -> LearnedDuration {
        let (server, tool) = ("s".into(), Arc::from("t"));
        let mut durations = Durations::new();
        for took in seconds {
            durations.observe(&server, &tool, Duration::from_secs(*took));
        }
        durations.of("s", "t").unwrap_or_default()
    }

    #[test]
    fn the_first_calls_count_alike() {
        assert_eq!(
            learn(&[4]),
            LearnedDuration::exactly(Duration::from_secs(4))
        );
        assert_eq!(learn(&[4, 6]).mean, Duration::from_secs(5));
        assert_eq!(learn(&[4, 6, 8]).mean, Duration::from_secs(6));
        assert_eq!(learn(&[4, 6, 8]).calls, 3);
    }

    #[test]
    fn an_observation_counts_half_after_its_half_life() {
        let mut calls = vec![1_000; 50];
        calls.extend([2_000; HALF_LIFE as usize]);
        let mean = learn(&calls).mean;
        assert!(mean.abs_diff(Duration::from_mins(25)) < Duration::from_secs(3));
    }

    #[test]
    fn the_spread_tells_steady_tools_from_others() {
        assert_eq!(learn(&[5; 40]).spread, Duration::ZERO);
        let wavering: Vec<u64> = [4, 6].repeat(20);
        let spread = learn(&wavering).spread;
        assert!(spread.abs_diff(Duration::from_secs(1)) < Duration::from_millis(200));
    }

    #[test]
    fn a_typical_call_is_the_mean_of_the_known_tools() {
        let mut durations = Durations::new();
        assert_eq!(durations.typical(), None);
        let server = ServerName::from("s");
        durations.observe(&server, &Arc::from("a"), Duration::from_secs(1));
        durations.observe(&server, &Arc::from("b"), Duration::from_secs(5));
        assert_eq!(durations.typical(), Some(Duration::from_secs(3)));
        durations.insert(&server, &Arc::from("b"), LearnedDuration::default());
        assert_eq!(durations.typical(), Some(Duration::from_millis(500)));
        let names: Vec<&str> = durations
            .tools()
            .iter()
            .map(|(_, tool, _)| &***tool)
            .collect();
        assert_eq!(names, ["a", "b"]);
    }

    proptest! {
        #[test]
        fn a_mean_lies_between_what_was_seen(calls in prop::collection::vec(0_u64..100_000, 1..60)) {
            let learned = learn(&calls);
            let least = calls.iter().min().copied().unwrap_or_default();
            let maximum = calls.iter().max().copied().unwrap_or_default();
            prop_assert!(learned.mean >= Duration::from_secs(least));
            prop_assert!(learned.mean <= Duration::from_secs(maximum));
            prop_assert!(learned.spread <= Duration::from_secs(maximum - least));
        }
    }
}
