//! The bounds of a run, each with the place of its setting, the rate limiter of a server, and the budget of written
//! values: all that steps compute, store, report and send, in bytes of JSON.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use planwright_core::{ServerName, ToolPattern, Value};

use crate::backend::{ErrorKind, ToolError, ToolOutput};

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
        let limit = self.rate.calls.get() as usize;
        push(&mut self.sent, sent, limit);
        push(&mut self.planned, sent, limit);
    }

    /// The time that a call has to wait; `None` if it may be sent `now`, which counts it as sent. A call that was
    /// postponed before passes `has_waited`, and goes before new ones.
    pub(super) fn acquire(&mut self, now: Duration, has_waited: bool) -> Option<Duration> {
        let free_at = self.next_free_time(&self.sent);
        // New calls must not overtake postponed ones.
        let start_at = if has_waited {
            free_at
        } else {
            free_at.max(self.next_free_time(&self.planned))
        };
        if start_at <= now {
            let limit = self.rate.calls.get() as usize;
            push(&mut self.sent, now, limit);
            // A postponed call has planned its slot already.
            if !has_waited {
                push(&mut self.planned, now, limit);
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

/// An upper bound and the place of its setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound<T = u64> {
    /// The maximum.
    pub limit: T,
    /// The place of the setting, such as `planwright.toml:12` or `--max-calls`, for error messages.
    pub set_in: Arc<str>,
}

impl<T> Bound<T> {
    /// Creates a bound that the program itself sets.
    pub fn new(limit: T) -> Self {
        Self::set_in(limit, "RunOptions")
    }

    /// Creates a bound that is set in `place`.
    pub fn set_in(limit: T, place: impl Into<Arc<str>>) -> Self {
        Self {
            limit,
            set_in: place.into(),
        }
    }
}

impl<T> From<T> for Bound<T> {
    fn from(limit: T) -> Self {
        Self::new(limit)
    }
}

/// The bounds of a run. By default only the written bytes are bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// The maximum number of calls; every attempt counts.
    pub calls: Option<Bound>,
    /// The maximum number of calls of all tools together that match a pattern.
    pub tools: Vec<(ToolPattern, Bound)>,
    /// The maximum number of calls of one server.
    pub servers: Vec<(ServerName, Bound)>,
    /// The maximum total size of all outputs, in bytes of JSON.
    pub output_bytes: Option<Bound>,
    /// The maximum total size of all written values, in bytes of JSON: computed values, arguments with their step and
    /// with each attempt, slots, the run's output. If unset, 64 MiB plus four times the size of inputs and tool
    /// responses.
    pub written_bytes: Option<Bound>,
    /// The number of consecutive failed calls after which nothing new is called.
    pub failures_in_a_row: Option<Bound>,
    /// The time limit of the run, at which calls in flight are aborted.
    pub wall_time: Option<Bound<Duration>>,
    /// The maximum number of calls of one tool with the same arguments. Retries of a call do not count.
    pub same_call: Option<Bound>,
    /// The maximum number of consecutive `repeat` rounds with the same output.
    pub same_rounds: Option<Bound>,
    /// Rate limits by server name.
    pub rates: Vec<(ServerName, Bound<Rate>)>,
}

impl Guards {
    /// The default bound of written bytes, beside four times those of inputs and responses.
    pub const WRITTEN_BYTES: u64 = 64 * 1024 * 1024;

    /// Creates an empty set of bounds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if nothing is bounded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Bounds the number of calls.
    #[must_use]
    pub fn calls(mut self, limit: impl Into<Bound>) -> Self {
        self.calls = Some(limit.into());
        self
    }

    /// Bounds the number of calls of all tools together that match `pattern`.
    #[must_use]
    pub fn calls_of(mut self, pattern: impl Into<ToolPattern>, limit: impl Into<Bound>) -> Self {
        self.tools.push((pattern.into(), limit.into()));
        self
    }

    /// Bounds the number of calls of the server `name`.
    #[must_use]
    pub fn calls_of_server(mut self, name: impl Into<ServerName>, limit: impl Into<Bound>) -> Self {
        self.servers.push((name.into(), limit.into()));
        self
    }

    /// Bounds the bytes of all outputs.
    #[must_use]
    pub fn output_bytes(mut self, limit: impl Into<Bound>) -> Self {
        self.output_bytes = Some(limit.into());
        self
    }

    /// Bounds the bytes of all written values.
    #[must_use]
    pub fn written_bytes(mut self, limit: impl Into<Bound>) -> Self {
        self.written_bytes = Some(limit.into());
        self
    }

    /// Stops new calls after this many consecutive failures.
    #[must_use]
    pub fn failures_in_a_row(mut self, limit: impl Into<Bound>) -> Self {
        self.failures_in_a_row = Some(limit.into());
        self
    }

    /// Sets a time limit for the run.
    #[must_use]
    pub fn wall_time(mut self, limit: impl Into<Bound<Duration>>) -> Self {
        self.wall_time = Some(limit.into());
        self
    }

    /// Bounds the number of calls of a tool with the same arguments.
    #[must_use]
    pub fn same_call(mut self, limit: impl Into<Bound>) -> Self {
        self.same_call = Some(limit.into());
        self
    }

    /// Bounds the number of consecutive rounds of a `repeat` with the same output.
    #[must_use]
    pub fn same_rounds(mut self, limit: impl Into<Bound>) -> Self {
        self.same_rounds = Some(limit.into());
        self
    }

    /// Sets a rate limit for the server `name`.
    #[must_use]
    pub fn rate(mut self, name: impl Into<ServerName>, rate: impl Into<Bound<Rate>>) -> Self {
        self.rates.push((name.into(), rate.into()));
        self
    }
}

/// The guards, by their names in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardKind {
    Calls,
    ToolCalls,
    ServerCalls,
    OutputBytes,
    WrittenBytes,
    FailuresInARow,
    WallTime,
    SameCall,
    SameRounds,
}

impl GuardKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::ToolCalls => "tools",
            Self::ServerCalls => "servers",
            Self::OutputBytes => "output_bytes",
            Self::WrittenBytes => "written_bytes",
            Self::FailuresInARow => "failures_in_a_row",
            Self::WallTime => "wall_time",
            Self::SameCall => "same_call",
            Self::SameRounds => "same_rounds",
        }
    }
}

/// Creates the error of a step that a guard stopped. It is not retried.
pub(crate) fn guard_error(kind: GuardKind, limit: u64, set_in: &str, message: String) -> ToolError {
    ToolError::new(ErrorKind::Budget, message).with_data(Value::object([
        ("guard", Value::from(kind.as_str())),
        ("limit", Value::from(limit)),
        ("set_in", Value::from(set_in)),
    ]))
}

impl Bound {
    /// Creates the error of a step that this bound stopped.
    pub(crate) fn error(&self, kind: GuardKind, message: String) -> ToolError {
        guard_error(kind, self.limit, &self.set_in, message)
    }
}

/// The number of times that received data may be written beside the fixed budget, for example as an argument of two
/// calls, each stored with its step and with its call.
const WRITTEN_PER_RECEIVED: u64 = 4;

/// The maximum nesting of a value, so recursive walks cannot overflow the stack. Plans in which each step wraps the
/// output of the one before would otherwise nest without bound.
pub(crate) const MAX_LEVELS: usize = 512;

/// The size of a value as JSON; [`u64::MAX`] if it is nested too deeply.
pub(crate) fn written_bytes(value: &Value) -> u64 {
    value
        .json_size(MAX_LEVELS)
        .map_or(u64::MAX, |size| size.bytes)
}

/// A counter of written bytes for readers outside of the run. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct WrittenMeter(Arc<AtomicU64>);

impl WrittenMeter {
    /// The bytes that all runs with this meter have written so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The bytes that one run has written and may write. Values share parts in memory, but every place is written out in a
/// journal, a report or a message.
#[derive(Clone, Debug)]
pub(crate) struct WrittenBudget {
    bound: Option<Bound>,
    written: u64,
    received: u64,
    meter: WrittenMeter,
}

impl WrittenBudget {
    pub(crate) fn new(bound: Option<Bound>, meter: WrittenMeter) -> Self {
        Self {
            bound,
            meter,
            written: 0,
            received: 0,
        }
    }

    /// The bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Counts received bytes: inputs, and responses of tools.
    pub(crate) fn receive(&mut self, bytes: u64) {
        self.received = self.received.saturating_add(bytes);
    }

    /// Counts bytes that an earlier process wrote.
    pub(crate) fn restore(&mut self, bytes: u64) {
        self.meter.add(bytes);
        self.written = self.written.saturating_add(bytes);
    }

    /// Counts bytes about to be written.
    ///
    /// # Errors
    ///
    /// The error of the step that would write them, if the budget is exceeded.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), ToolError> {
        self.check(bytes)?;
        self.restore(bytes);
        Ok(())
    }

    /// Checks that `bytes` more fit into the budget.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), ToolError> {
        let limit = match &self.bound {
            Some(bound) => bound.limit,
            None => Guards::WRITTEN_BYTES
                .saturating_add(self.received.saturating_mul(WRITTEN_PER_RECEIVED)),
        };
        if self.written.saturating_add(bytes) <= limit {
            return Ok(());
        }
        let (place, set_in): (String, Arc<str>) = match &self.bound {
            Some(bound) => (
                format!("`{}` for `written_bytes`", bound.set_in),
                Arc::clone(&bound.set_in),
            ),
            None => (
                "`budgets.written_bytes` by default".to_owned(),
                Arc::from("default"),
            ),
        };
        let message =
            format!("the values of the run exceed {limit} bytes as written, the limit of {place}");
        Err(guard_error(
            GuardKind::WrittenBytes,
            limit,
            &set_in,
            message,
        ))
    }
}

/// The size of an output as JSON, or of its text if it arrived as one.
pub(super) fn output_size(output: &ToolOutput) -> u64 {
    // The serializer recurses, so a value that is nested too deeply must not reach it.
    if output.value.exceeds(MAX_LEVELS, usize::MAX) {
        return u64::MAX;
    }
    let mut counter = ByteCounter(0);
    // The value was parsed from the text, so it would count twice.
    if let Some(text) = &output.text {
        counter.add(text.len());
    } else {
        // It cannot fail: the writer only counts.
        let _ = serde_json::to_writer(&mut counter, &output.value);
    }
    for block in &output.content {
        let _ = serde_json::to_writer(&mut counter, block);
    }
    counter.0
}

/// A writer that only counts bytes.
struct ByteCounter(u64);

impl ByteCounter {
    fn add(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes as u64);
    }
}

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn push(times: &mut VecDeque<Duration>, time: Duration, limit: usize) {
    // Older calls no longer matter: the next one is free once the oldest of the last `limit` has left the window.
    if times.len() >= limit {
        times.pop_front();
    }
    times.push_back(time);
}
