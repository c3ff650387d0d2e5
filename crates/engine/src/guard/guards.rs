//! The bounds of a run, and where each was set.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::ToolPattern;

use super::rate::Rate;

/// The most of something, and where that was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound<T = u64> {
    /// The most.
    pub most: T,
    /// Where it was set, such as `planwright.toml:12` or `--max-calls`, for whoever meets it.
    pub set_in: Arc<str>,
}

impl<T> Bound<T> {
    /// A bound that a program set by itself.
    pub fn new(most: T) -> Self {
        Self::set_in(most, "RunOptions")
    }

    /// A bound that was set in `place`.
    pub fn set_in(most: T, place: impl Into<Arc<str>>) -> Self {
        Self {
            most,
            set_in: place.into(),
        }
    }
}

impl<T> From<T> for Bound<T> {
    fn from(most: T) -> Self {
        Self::new(most)
    }
}

/// The bounds of a run. If none is set, only what it writes is bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guards {
    /// The most calls, each attempt and each failed one included.
    pub calls: Option<Bound>,
    /// The most calls of all tools together that a pattern covers.
    pub tools: Vec<(ToolPattern, Bound)>,
    /// The most calls of one server.
    pub servers: Vec<(Arc<str>, Bound)>,
    /// The most bytes that all outputs may come to, as JSON.
    pub output_bytes: Option<Bound>,
    /// The most bytes of JSON that the values of a run may come to, wherever they are written: what steps compute, arguments with
    /// their step and with each attempt, slots, the run's output. If unset, 64 MiB and four times what inputs and answers of tools
    /// come to.
    pub written_bytes: Option<Bound>,
    /// How many calls in a row may fail before nothing new is called.
    pub failures_in_a_row: Option<Bound>,
    /// How long the run may take. What is under way then is given up.
    pub wall_time: Option<Bound<Duration>>,
    /// How often one tool may be called with the same arguments. Attempts at one call count once.
    pub same_call: Option<Bound>,
    /// How many rounds of a `repeat` in a row may give the same.
    pub same_rounds: Option<Bound>,
    /// How fast servers may be called, by their names.
    pub rates: Vec<(Arc<str>, Bound<Rate>)>,
}

impl Guards {
    /// The bytes that the values of a run may come to as written if no bound is set, beside four times those of inputs and answers.
    pub const WRITTEN_BYTES: u64 = 64 * 1024 * 1024;

    /// No bounds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is bounded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// With at most this many calls.
    #[must_use]
    pub fn calls(mut self, most: impl Into<Bound>) -> Self {
        self.calls = Some(most.into());
        self
    }

    /// With at most this many calls of all tools together that `pattern` covers.
    #[must_use]
    pub fn calls_of(mut self, pattern: impl Into<ToolPattern>, most: impl Into<Bound>) -> Self {
        self.tools.push((pattern.into(), most.into()));
        self
    }

    /// With at most this many calls of the server `name`.
    #[must_use]
    pub fn calls_of_server(mut self, name: impl Into<Arc<str>>, most: impl Into<Bound>) -> Self {
        self.servers.push((name.into(), most.into()));
        self
    }

    /// With outputs that come to at most this many bytes.
    #[must_use]
    pub fn output_bytes(mut self, most: impl Into<Bound>) -> Self {
        self.output_bytes = Some(most.into());
        self
    }

    /// With values that come to at most this many bytes wherever they are written.
    #[must_use]
    pub fn written_bytes(mut self, most: impl Into<Bound>) -> Self {
        self.written_bytes = Some(most.into());
        self
    }

    /// With nothing new being called once this many calls in a row have failed.
    #[must_use]
    pub fn failures_in_a_row(mut self, most: impl Into<Bound>) -> Self {
        self.failures_in_a_row = Some(most.into());
        self
    }

    /// With an end after this time.
    #[must_use]
    pub fn wall_time(mut self, most: impl Into<Bound<Duration>>) -> Self {
        self.wall_time = Some(most.into());
        self
    }

    /// With no tool called with the same arguments more often than this.
    #[must_use]
    pub fn same_call(mut self, most: impl Into<Bound>) -> Self {
        self.same_call = Some(most.into());
        self
    }

    /// With no `repeat` going on whose last rounds, this many, gave the same.
    #[must_use]
    pub fn same_rounds(mut self, most: impl Into<Bound>) -> Self {
        self.same_rounds = Some(most.into());
        self
    }

    /// With the server `name` being called no faster than this.
    #[must_use]
    pub fn rate(mut self, name: impl Into<Arc<str>>, rate: impl Into<Bound<Rate>>) -> Self {
        self.rates.push((name.into(), rate.into()));
        self
    }
}
