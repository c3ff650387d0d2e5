//! The guard of one run: usage counted against each bound.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::time::Duration;

use planwright_core::{Hashing, ServerName, Tool, Value};

use super::guards::{Bound, GuardKind, Guards, RateLimiter, guard_error, output_size};
use crate::backend::{ToolError, ToolOutput};

/// The usage of a run, counted against its bounds. It reads no clock and does no IO.
#[derive(Clone, Debug)]
pub(crate) struct BudgetGuard {
    guards: Guards,
    calls: u64,
    /// The number of calls for each bound in `guards.tools`.
    tools: Vec<u64>,
    servers: Vec<u64>,
    bytes: u64,
    failures: u64,
    fingerprints: CallHasher,
    repeated_calls: HashMap<CallDigest, u64, Hashing>,
    rate_limiters: HashMap<ServerName, RateLimiter, Hashing>,
    /// The time by which the clock of the rate limits is ahead of the run's clock, which stands still while no process
    /// drives the run.
    paused: Duration,
    /// The error that ended all further calls.
    closed: Option<ToolError>,
    is_idle: bool,
}

impl BudgetGuard {
    pub(crate) fn new(guards: Guards) -> Self {
        let rates = guards.rates.iter();
        Self {
            calls: 0,
            tools: vec![0; guards.tools.len()],
            servers: vec![0; guards.servers.len()],
            bytes: 0,
            failures: 0,
            fingerprints: CallHasher::default(),
            repeated_calls: HashMap::default(),
            rate_limiters: rates
                .map(|(server, rate)| (server.clone(), RateLimiter::new(rate.limit)))
                .collect(),
            paused: Duration::ZERO,
            closed: None,
            is_idle: guards.is_empty(),
            guards,
        }
    }

    /// Returns true if nothing is bounded, so every call is admitted.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Checks the budgets that do not depend on arguments.
    pub(crate) fn check(&self, tool: &Tool) -> Result<(), ToolError> {
        // A closed guard refuses everything, whatever the budgets say.
        if let Some(error) = &self.closed {
            return Err(error.clone());
        }
        if let Some(bound) = &self.guards.calls
            && self.calls >= bound.limit
        {
            let (calls, place) = (calls(bound.limit), &bound.set_in);
            let message = format!("the run has made {calls}, the limit of `{place}`");
            return Err(bound.error(GuardKind::Calls, message));
        }
        for ((pattern, bound), taken) in self.guards.tools.iter().zip(&self.tools) {
            if *taken >= bound.limit && pattern.covers(tool) {
                let (calls, place) = (calls(bound.limit), &bound.set_in);
                let message =
                    format!("the run has made {calls} of `{pattern}`, the limit of `{place}`");
                return Err(bound.error(GuardKind::ToolCalls, message));
            }
        }
        for ((server, bound), taken) in self.guards.servers.iter().zip(&self.servers) {
            if *taken >= bound.limit && *server == tool.server {
                let (calls, place) = (calls(bound.limit), &bound.set_in);
                let message = format!(
                    "the run has made {calls} of the server `{server}`, the limit of `{place}`"
                );
                return Err(bound.error(GuardKind::ServerCalls, message));
            }
        }
        Ok(())
    }

    /// Refuses a call that repeats an earlier one too often before it waits for its server's rate limit, so it takes
    /// no slot from others.
    pub(crate) fn check_repetition(
        &self,
        tool: &Tool,
        args: &Value,
        attempt: u32,
    ) -> Result<(), ToolError> {
        let Some(bound) = &self.guards.same_call else {
            return Ok(());
        };
        // Retries are not repetitions, and without a rate limit there is no wait to save.
        if attempt > 1 || !self.rate_limiters.contains_key(&tool.server) {
            return Ok(());
        }
        match self.repeated_calls.get(&self.fingerprints.of(tool, args)) {
            Some(seen) if *seen >= bound.limit => Err(repetition_error(tool, bound)),
            _ => Ok(()),
        }
    }

    /// The time that a call of `tool` has to wait for its server's rate limit; `None` if it may be sent now, which
    /// counts it as sent.
    pub(crate) fn rate_delay(
        &mut self,
        tool: &Tool,
        now: Duration,
        has_waited: bool,
    ) -> Option<Duration> {
        let limiter = self.rate_limiters.get_mut(&tool.server)?;
        // Servers count real time, including that between two processes of the run.
        limiter.acquire(now.saturating_add(self.paused), has_waited)
    }

    /// Counts calls of earlier processes for the rate limits. The times are of a clock that is `paused` ahead of the
    /// run's.
    pub(crate) fn restore_rates<'a>(
        &mut self,
        paused: Duration,
        calls: impl IntoIterator<Item = (Duration, &'a ServerName)>,
    ) {
        self.paused = paused;
        for (sent, server) in calls {
            if let Some(limiter) = self.rate_limiters.get_mut(server) {
                limiter.restore(sent);
            }
        }
    }

    /// Returns true if a server has a rate limit.
    pub(crate) fn has_rates(&self) -> bool {
        !self.rate_limiters.is_empty()
    }

    /// Takes one call from every budget that it counts for, or from none if one is exhausted. Only a first attempt can
    /// count as a repeated call.
    pub(crate) fn reserve(
        &mut self,
        tool: &Tool,
        args: &Value,
        attempt: u32,
    ) -> Result<(), ToolError> {
        // All checks come before any count, so a refused call takes nothing.
        self.check(tool)?;
        // A retry repeats a call on purpose, so it is not a sign of a loop.
        if attempt <= 1 {
            self.count_repetition(tool, args)?;
        }
        self.count(tool);
        Ok(())
    }

    /// Counts a call of an earlier process and its output. An exceeded budget ends further calls, as it did then.
    pub(crate) fn restore_call(
        &mut self,
        tool: &Tool,
        args: &Value,
        attempt: u32,
        output: Option<&ToolOutput>,
    ) {
        if attempt <= 1 && self.guards.same_call.is_some() {
            let fingerprint = self.fingerprints.of(tool, args);
            *self.repeated_calls.entry(fingerprint).or_default() += 1;
        }
        self.count(tool);
        if let Some(output) = output.filter(|_| self.guards.output_bytes.is_some()) {
            self.bytes = self.bytes.saturating_add(output_size(output));
        }
        if let Err(error) = self.check_restored_outputs() {
            self.close(error);
        }
    }

    /// Checks that the outputs restored from earlier processes are within the bound. Outputs of this process that
    /// exceed it are never counted.
    pub(crate) fn check_restored_outputs(&self) -> Result<(), ToolError> {
        match &self.guards.output_bytes {
            Some(bound) if self.bytes > bound.limit => Err(output_error(bound)),
            _ => Ok(()),
        }
    }

    fn count(&mut self, tool: &Tool) {
        self.calls += 1;
        for ((pattern, _), taken) in self.guards.tools.iter().zip(&mut self.tools) {
            *taken += u64::from(pattern.covers(tool));
        }
        for ((server, _), taken) in self.guards.servers.iter().zip(&mut self.servers) {
            *taken += u64::from(*server == tool.server);
        }
    }

    fn count_repetition(&mut self, tool: &Tool, args: &Value) -> Result<(), ToolError> {
        let Some(bound) = &self.guards.same_call else {
            return Ok(());
        };
        let fingerprint = self.fingerprints.of(tool, args);
        let seen = self.repeated_calls.entry(fingerprint).or_default();
        if *seen >= bound.limit {
            return Err(repetition_error(tool, bound));
        }
        *seen += 1;
        Ok(())
    }

    /// Counts the result of an attempt.
    pub(crate) fn ended(&mut self, failed: bool) {
        self.failures = if failed { self.failures + 1 } else { 0 };
        if let Some(bound) = &self.guards.failures_in_a_row
            && failed
            && self.failures >= bound.limit
        {
            let message = format!(
                "{} failed in a row, the limit of `{}`",
                calls(self.failures),
                bound.set_in
            );
            let error = bound.error(GuardKind::FailuresInARow, message);
            self.close(error);
        }
    }

    /// Counts the bytes of an output. If they exceed the bound, the step fails and nothing new is called.
    pub(crate) fn count_output(&mut self, output: &ToolOutput) -> Result<(), ToolError> {
        let Some(bound) = &self.guards.output_bytes else {
            return Ok(());
        };
        let bytes = self.bytes.saturating_add(output_size(output));
        if bytes > bound.limit {
            let error = output_error(bound);
            // The output is discarded and not counted, so a resumed run comes to the same sum.
            self.close(error.clone());
            return Err(error);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Checks that another round is allowed after `same` rounds with the same output.
    pub(crate) fn check_rounds(&self, same: u64) -> Result<(), ToolError> {
        match &self.guards.same_rounds {
            Some(bound) if same >= bound.limit => {
                let place = &bound.set_in;
                let message =
                    format!("the last {same} rounds had the same output, the limit of `{place}`");
                Err(bound.error(GuardKind::SameRounds, message))
            }
            _ => Ok(()),
        }
    }

    /// The time limit of the run.
    pub(crate) fn wall_time(&self) -> Option<Duration> {
        self.guards.wall_time.as_ref().map(|bound| bound.limit)
    }

    /// Ends the run's time and returns the error for that.
    pub(crate) fn expire(&mut self) -> Option<ToolError> {
        let Bound { limit, set_in } = self.guards.wall_time.as_ref()?;
        let message = format!("the run has taken {limit:?}, the limit of `{set_in}`");
        let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let error = guard_error(GuardKind::WallTime, limit, set_in, message);
        self.close(error.clone());
        Some(error)
    }

    fn close(&mut self, error: ToolError) {
        // The first reason counts; later ones only follow from it.
        self.closed.get_or_insert(error);
    }
}

fn repetition_error(tool: &Tool, bound: &Bound) -> ToolError {
    let message = format!(
        "`{}` was called {} with these arguments, the limit of `{}`",
        tool.qualified_name(),
        times(bound.limit),
        bound.set_in
    );
    bound.error(GuardKind::SameCall, message)
}

fn output_error(bound: &Bound) -> ToolError {
    let message = format!(
        "the outputs of the run exceed the {} bytes that `{}` allows",
        bound.limit, bound.set_in
    );
    bound.error(GuardKind::OutputBytes, message)
}

fn calls(count: u64) -> String {
    let what = if count == 1 { "call" } else { "calls" };
    format!("{count} {what}")
}

fn times(count: u64) -> String {
    let what = if count == 1 { "time" } else { "times" };
    format!("{count} {what}")
}

/// Computes digests with random keys, so an outsider cannot construct collisions.
#[derive(Clone, Debug, Default)]
struct CallHasher {
    first: Hashing,
    second: Hashing,
}

/// The digest of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CallDigest(u64, u64);

impl CallHasher {
    /// The digest of a call of `tool` with `args`, independent of the order of fields.
    pub(super) fn of(&self, tool: &Tool, args: &Value) -> CallDigest {
        let half = |hashing: &Hashing| {
            let mut hasher = hashing.build_hasher();
            tool.server.hash(&mut hasher);
            tool.name.hash(&mut hasher);
            hasher.write_u64(hash_value(hashing, args));
            hasher.finish()
        };
        // Two independent halves make an accidental collision negligible.
        CallDigest(half(&self.first), half(&self.second))
    }
}

fn hash_value(hashing: &Hashing, value: &Value) -> u64 {
    let mut hasher = hashing.build_hasher();
    std::mem::discriminant(value).hash(&mut hasher);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(&mut hasher),
        Value::Number(number) => number.hash(&mut hasher),
        Value::Text(text) => text.hash(&mut hasher),
        Value::List(items) => {
            for item in items.iter() {
                hasher.write_u64(hash_value(hashing, item));
            }
        }
        Value::Object(fields) => {
            // A sum does not depend on the order of the fields.
            let sum = fields.iter().fold(0_u64, |sum, (key, value)| {
                let mut field = hashing.build_hasher();
                key.hash(&mut field);
                field.write_u64(hash_value(hashing, value));
                sum.wrapping_add(field.finish())
            });
            hasher.write_u64(sum);
        }
    }
    hasher.finish()
}
