//! The guard of one run: what was taken of each bound.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Hashing, Tool, Value};

use super::fingerprint::{Fingerprint, Fingerprints};
use super::guards::{Bound, Guards};
use super::rate::Gate;
use super::refusal::{Kind, refusal};
use super::size::bytes_of;
use crate::backend::{ToolError, ToolOutput};

/// What a run has taken of its bounds, without clock and without IO.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    guards: Guards,
    calls: u64,
    /// In the order of the bounds.
    tools: Vec<u64>,
    servers: Vec<u64>,
    bytes: u64,
    failures: u64,
    fingerprints: Fingerprints,
    same: HashMap<Fingerprint, u64, Hashing>,
    gates: HashMap<Arc<str>, Gate, Hashing>,
    /// How far the clock of the gates is ahead of the run's, which stands still while no process drives the run.
    paused: Duration,
    /// Why nothing new is called any more.
    closed: Option<ToolError>,
    is_idle: bool,
}

impl Guard {
    pub(crate) fn new(guards: Guards) -> Self {
        let rates = guards.rates.iter();
        Self {
            calls: 0,
            tools: vec![0; guards.tools.len()],
            servers: vec![0; guards.servers.len()],
            bytes: 0,
            failures: 0,
            fingerprints: Fingerprints::default(),
            same: HashMap::default(),
            gates: rates
                .map(|(server, rate)| (Arc::clone(server), Gate::new(rate.most)))
                .collect(),
            paused: Duration::ZERO,
            closed: None,
            is_idle: guards.is_empty(),
            guards,
        }
    }

    /// Whether nothing is bounded, so that it lets every call through.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Whether a call of `tool` would be refused now, whatever its arguments are.
    pub(crate) fn look(&self, tool: &Tool) -> Result<(), ToolError> {
        if let Some(error) = &self.closed {
            return Err(error.clone());
        }
        if let Some(bound) = &self.guards.calls
            && self.calls >= bound.most
        {
            let (calls, place) = (calls(bound.most), &bound.set_in);
            let message = format!("the run has made {calls}, the most that `{place}` allows");
            return Err(bound.refuses(Kind::Calls, message));
        }
        for ((pattern, bound), taken) in self.guards.tools.iter().zip(&self.tools) {
            if *taken >= bound.most && pattern.covers(tool) {
                let (calls, place) = (calls(bound.most), &bound.set_in);
                let message = format!(
                    "the run has made {calls} of `{pattern}`, the most that `{place}` allows"
                );
                return Err(bound.refuses(Kind::ToolCalls, message));
            }
        }
        for ((server, bound), taken) in self.guards.servers.iter().zip(&self.servers) {
            if *taken >= bound.most && *server == tool.server {
                let (calls, place) = (calls(bound.most), &bound.set_in);
                let message = format!(
                    "the run has made {calls} of the server `{server}`, the most that `{place}` allows"
                );
                return Err(bound.refuses(Kind::ServerCalls, message));
            }
        }
        Ok(())
    }

    /// Whether a call that would have to wait for its server's rate would be refused as the same call again: it takes no turn of
    /// the others then.
    pub(crate) fn look_at_same(
        &self,
        tool: &Tool,
        args: &Value,
        attempt: u32,
    ) -> Result<(), ToolError> {
        let Some(bound) = &self.guards.same_call else {
            return Ok(());
        };
        if attempt > 1 || !self.gates.contains_key(&tool.server) {
            return Ok(());
        }
        match self.same.get(&self.fingerprints.of(tool, args)) {
            Some(seen) if *seen >= bound.most => Err(too_often(tool, bound)),
            _ => Ok(()),
        }
    }

    /// How long a call of `tool` has to wait for its server's rate; nothing where it may be sent now, which counts.
    pub(crate) fn wait(
        &mut self,
        tool: &Tool,
        now: Duration,
        has_waited: bool,
    ) -> Option<Duration> {
        let gate = self.gates.get_mut(&tool.server)?;
        gate.pass(now.saturating_add(self.paused), has_waited)
    }

    /// Counts calls of earlier processes for the rates of their servers. The times are those of a clock that is `paused` ahead of the run's.
    pub(crate) fn restore_rates<'a>(
        &mut self,
        paused: Duration,
        calls: impl IntoIterator<Item = (Duration, &'a Arc<str>)>,
    ) {
        self.paused = paused;
        for (sent, server) in calls {
            if let Some(gate) = self.gates.get_mut(server) {
                gate.restore(sent);
            }
        }
    }

    /// Whether some server's rate is bounded.
    pub(crate) fn has_rates(&self) -> bool {
        !self.gates.is_empty()
    }

    /// Takes one call out of every budget that it counts for; none of them where one is used up. Only the first attempt at
    /// a call may be the same call again.
    pub(crate) fn reserve(
        &mut self,
        tool: &Tool,
        args: &Value,
        attempt: u32,
    ) -> Result<(), ToolError> {
        self.look(tool)?;
        if attempt <= 1 {
            self.note_same(tool, args)?;
        }
        self.count(tool);
        Ok(())
    }

    /// Counts a call of an earlier process, and what it gave. What comes to too much ends it, as it did then.
    pub(crate) fn recall(
        &mut self,
        tool: &Tool,
        args: &Value,
        attempt: u32,
        output: Option<&ToolOutput>,
    ) {
        if attempt <= 1 && self.guards.same_call.is_some() {
            let fingerprint = self.fingerprints.of(tool, args);
            *self.same.entry(fingerprint).or_default() += 1;
        }
        self.count(tool);
        if let Some(output) = output.filter(|_| self.guards.output_bytes.is_some()) {
            self.bytes = self.bytes.saturating_add(bytes_of(output));
        }
        if let Err(error) = self.bears_recalled() {
            self.close(error);
        }
    }

    /// Whether all that earlier processes were given is within the bound. Of this process nothing is counted that is not.
    pub(crate) fn bears_recalled(&self) -> Result<(), ToolError> {
        match &self.guards.output_bytes {
            Some(bound) if self.bytes > bound.most => Err(too_much(bound)),
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

    fn note_same(&mut self, tool: &Tool, args: &Value) -> Result<(), ToolError> {
        let Some(bound) = &self.guards.same_call else {
            return Ok(());
        };
        let fingerprint = self.fingerprints.of(tool, args);
        let seen = self.same.entry(fingerprint).or_default();
        if *seen >= bound.most {
            return Err(too_often(tool, bound));
        }
        *seen += 1;
        Ok(())
    }

    /// Notes how an attempt has ended.
    pub(crate) fn ended(&mut self, failed: bool) {
        self.failures = if failed { self.failures + 1 } else { 0 };
        if let Some(bound) = &self.guards.failures_in_a_row
            && failed
            && self.failures >= bound.most
        {
            let message = format!(
                "{} failed in a row, the most that `{}` allows",
                calls(self.failures),
                bound.set_in
            );
            let error = bound.refuses(Kind::FailuresInARow, message);
            self.close(error);
        }
    }

    /// Counts the bytes of an output. One that does not fit any more fails, and nothing new is called then.
    pub(crate) fn take_in(&mut self, output: &ToolOutput) -> Result<(), ToolError> {
        let Some(bound) = &self.guards.output_bytes else {
            return Ok(());
        };
        let bytes = self.bytes.saturating_add(bytes_of(output));
        if bytes > bound.most {
            let error = too_much(bound);
            self.close(error.clone());
            return Err(error);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Whether one more round is right after so many in a row that gave the same.
    pub(crate) fn goes_on(&self, same: u64) -> Result<(), ToolError> {
        match &self.guards.same_rounds {
            Some(bound) if same >= bound.most => {
                let place = &bound.set_in;
                let message =
                    format!("the last {same} rounds gave the same, the most that `{place}` allows");
                Err(bound.refuses(Kind::SameRounds, message))
            }
            _ => Ok(()),
        }
    }

    /// How long the run may take.
    pub(crate) fn wall_time(&self) -> Option<Duration> {
        self.guards.wall_time.as_ref().map(|bound| bound.most)
    }

    /// Ends the run's time, and tells why.
    pub(crate) fn end_time(&mut self) -> Option<ToolError> {
        let Bound { most, set_in } = self.guards.wall_time.as_ref()?;
        let message = format!("the run has taken {most:?}, the longest that `{set_in}` allows");
        let limit = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        let error = refusal(Kind::WallTime, limit, set_in, message);
        self.close(error.clone());
        Some(error)
    }

    fn close(&mut self, error: ToolError) {
        self.closed.get_or_insert(error);
    }
}

fn too_often(tool: &Tool, bound: &Bound) -> ToolError {
    let message = format!(
        "`{}` was called {} with these arguments, the most that `{}` allows",
        tool.qualified_name(),
        times(bound.most),
        bound.set_in
    );
    bound.refuses(Kind::SameCall, message)
}

fn too_much(bound: &Bound) -> ToolError {
    let message = format!(
        "the outputs of the run come to more than the {} bytes that `{}` allows",
        bound.most, bound.set_in
    );
    bound.refuses(Kind::OutputBytes, message)
}

fn calls(count: u64) -> String {
    let what = if count == 1 { "call" } else { "calls" };
    format!("{count} {what}")
}

fn times(count: u64) -> String {
    let what = if count == 1 { "time" } else { "times" };
    format!("{count} {what}")
}
