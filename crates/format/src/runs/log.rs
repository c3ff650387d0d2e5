//! The calls of a run in order, `planwright.log/1`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use planwright_core::{ServerName, Value};
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use serde::Serialize;

use super::RunListingV1;
use super::record::{RunClock, is_about};
use crate::ChoiceV1;
use crate::{ErrorV1, milliseconds};
use crate::{ProcessV1, RetainedStepV1, RevisionV1, time};

/// The schema's name and version.
pub const LOG_SCHEMA: &str = "planwright.log/1";

/// The calls of a run in order.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct LogV1 {
    /// [`LOG_SCHEMA`].
    pub schema: &'static str,
    /// The run.
    pub run: RunListingV1,
    /// The lines in order; a call has the place at which it was sent.
    pub lines: Vec<LogLineV1>,
}

/// An event of a run.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, Serialize)]
pub struct LogLineV1 {
    /// The kind of line: `began` and `ended` are about a process, `call` about a call; `asked`, `decided` and `chosen` are about people,
    /// `extended`, `draining` (nothing new starts from here on), `cancelled` and `out_of_time` about the run.
    pub what: &'static str,
    /// The time, in milliseconds from the start of the run, without the time between two processes.
    pub at_ms: f64,
    /// The time in UTC.
    pub time: String,
    /// The step, item or round: `outer/inner@instance[item]#round`, with `%`, `/`, `@`, `[`, `]` and `#` of a name percent-encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The tool's server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub server: Option<ServerName>,
    /// The tool's name at its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Arc<str>>,
    /// The number of the attempt, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The arguments, or those that a person replaced them by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub args: Option<Value>,
    /// The status. Of a call: `succeeded`, `failed`, `given_up`, `running`, or `unknown` if its process ended first. Of a process:
    /// the status of the run at its end, or `interrupted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// The output of the call, or the value that a person set in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub output: Option<Value>,
    /// Content that is not text, as MCP writes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<serde_json::Value>"))]
    pub content: Vec<Value>,
    /// The reason of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorV1>,
    /// The duration, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<f64>,
    /// True if the call may be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// The reason of a rejection, in the person's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<Arc<str>>,
    /// The person's choice about the step: `retry`, `skip` or `set`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
    /// The number of steps that the plan has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// The reason for another plan, if a model wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionV1>,
    /// The results that stay in this process although its plan changes what they were computed from.
    #[serde(rename = "kept", skip_serializing_if = "Vec::is_empty")]
    pub retained: Vec<RetainedStepV1>,
    /// The version of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The id of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

impl LogV1 {
    /// Creates the log of a run that was created at `created`; only of `step` and its parts, if a step is named.
    pub fn new(
        run: RunListingV1,
        created: SystemTime,
        entries: &[Entry],
        step: Option<&str>,
    ) -> Self {
        let mut log = Log::new(created);
        for entry in entries {
            log.add(entry, step);
        }
        let is_running = run.status == "running";
        if let Some(last) = entries.last()
            && !is_running
        {
            log.close(last, step);
        }
        let fate = if is_running { "running" } else { "unknown" };
        log.leave_open(fate);
        Self {
            schema: LOG_SCHEMA,
            run,
            lines: log.lines,
        }
    }
}

/// The log of a run that is being followed. It returns each line as soon as it is complete. The line of a call is complete once the
/// call has ended.
#[derive(Debug)]
pub struct LogStream {
    log: Log,
    /// For each line, whether it was returned.
    returned: Vec<bool>,
    /// The first line that was not returned.
    first: usize,
}

impl LogStream {
    /// Creates the log of a run that was created at `created`, before its first entry.
    pub fn new(created: SystemTime) -> Self {
        Self {
            log: Log::new(created),
            returned: Vec::new(),
            first: 0,
        }
    }

    /// Applies an entry, and returns the lines that it completes; only those of `step` and its parts, if a step is named.
    pub fn add(&mut self, entry: &Entry, step: Option<&str>) -> Vec<LogLineV1> {
        self.log.add(entry, step);
        self.complete()
    }

    /// Returns the remaining lines after the last entry of a run that no process drives any more.
    pub fn end(mut self, last: &Entry, step: Option<&str>) -> Vec<LogLineV1> {
        self.log.close(last, step);
        self.complete()
    }

    fn complete(&mut self) -> Vec<LogLineV1> {
        self.returned.resize(self.log.lines.len(), false);
        let open: HashSet<usize> = self.log.calls.values().map(|(line, _)| *line).collect();
        let lines = self.log.lines.iter_mut().zip(&mut self.returned);
        let mut complete = Vec::new();
        for (index, (line, is_returned)) in lines.enumerate().skip(self.first) {
            if !*is_returned && !open.contains(&index) {
                *is_returned = true;
                // The values of a returned line are not needed any more.
                let rest = LogLineV1 {
                    time: line.time.clone(),
                    ..LogLineV1::default()
                };
                complete.push(std::mem::replace(line, rest));
            }
        }
        let rest = self.returned.iter().skip(self.first);
        self.first += rest.take_while(|is_returned| **is_returned).count();
        complete
    }
}

/// A log under construction.
#[derive(Debug)]
struct Log {
    clock: RunClock,
    lines: Vec<LogLineV1>,
    /// The calls that were not answered yet, each with the index of its line and the time when it was sent.
    calls: HashMap<(Arc<Address>, u32), (usize, Duration)>,
    /// True if the latest process ended by itself.
    has_ended: bool,
}

impl Log {
    fn new(created: SystemTime) -> Self {
        Self {
            clock: RunClock::new(created),
            lines: Vec::new(),
            calls: HashMap::new(),
            has_ended: true,
        }
    }

    fn add(&mut self, entry: &Entry, step: Option<&str>) {
        if matches!(entry.record, Record::Opened { .. }) {
            self.close(entry, step);
        }
        let time = self.clock.time(entry);
        match &entry.record {
            Record::Opened { .. } => self.has_ended = false,
            Record::Ended { .. } => self.has_ended = true,
            Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Asked { .. }
            | Record::Decided { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. } => {}
        }
        if !is_about(&entry.record, step) {
            return;
        }
        match &entry.record {
            Record::Answered {
                at,
                attempt,
                result,
            } => {
                if let Some(line) = self.call(at, *attempt, entry.at) {
                    match result {
                        Ok(output) => {
                            line.status = Some("succeeded");
                            line.output = Some(output.value.clone());
                            line.content.clone_from(&output.content);
                        }
                        Err(error) => {
                            line.status = Some("failed");
                            line.error = Some(ErrorV1::from(error));
                        }
                    }
                }
            }
            Record::Aborted { at, attempt } => {
                if let Some(line) = self.call(at, *attempt, entry.at) {
                    line.status = Some("given_up");
                }
            }
            record @ (Record::Opened { .. }
            | Record::Sent { .. }
            | Record::Asked { .. }
            | Record::Decided { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. }) => {
                if let Some(line) = record_line(record) {
                    if let Record::Sent { at, attempt, .. } = record {
                        let call = (Arc::clone(at), *attempt);
                        self.calls.insert(call, (self.lines.len(), entry.at));
                    }
                    self.lines.push(LogLineV1 {
                        at_ms: milliseconds(entry.at),
                        time: time::timestamp(time),
                        ..line
                    });
                }
            }
        }
    }

    /// Returns the line of a call that ends at `now`.
    fn call(&mut self, at: &Arc<Address>, attempt: u32, now: Duration) -> Option<&mut LogLineV1> {
        let (line, sent) = self.calls.remove(&(Arc::clone(at), attempt))?;
        let line = self.lines.get_mut(line)?;
        line.took_ms = Some(milliseconds(now.saturating_sub(sent)));
        Some(line)
    }

    /// Ends a process that has no final entry. Its end is unknown.
    fn close(&mut self, entry: &Entry, step: Option<&str>) {
        if !self.has_ended && step.is_none() {
            let last = self.lines.last();
            self.lines.push(LogLineV1 {
                what: "ended",
                at_ms: milliseconds(entry.at),
                time: last.map(|line| line.time.clone()).unwrap_or_default(),
                status: Some("interrupted"),
                ..LogLineV1::default()
            });
        }
        self.has_ended = true;
        self.leave_open("unknown");
    }

    /// Sets the outcome of unanswered calls.
    fn leave_open(&mut self, fate: &'static str) {
        for (_, (line, _)) in self.calls.drain() {
            if let Some(line) = self.lines.get_mut(line) {
                line.status = Some(fate);
            }
        }
    }
}

/// Returns the line for a record that has a separate line.
fn record_line(record: &Record) -> Option<LogLineV1> {
    let named = |what| LogLineV1 {
        what,
        ..LogLineV1::default()
    };
    let at = |what, at: &Address| LogLineV1 {
        address: Some(at.to_string()),
        ..named(what)
    };
    Some(match record {
        Record::Opened { header, .. } => {
            let process = ProcessV1::from_value(header).ok();
            LogLineV1 {
                pid: process.as_ref().map(|process| process.pid),
                version: process.as_ref().map(|process| process.version.clone()),
                revision: process
                    .as_ref()
                    .and_then(|process| process.revision.clone()),
                retained: process.map(|process| process.retained).unwrap_or_default(),
                ..named("began")
            }
        }
        Record::Sent {
            at: address,
            server,
            tool,
            attempt,
            args,
            ..
        } => LogLineV1 {
            server: Some(server.clone()),
            tool: Some(Arc::clone(tool)),
            attempt: Some(*attempt),
            args: Some(args.clone()),
            ..at("call", address)
        },
        Record::Asked {
            at: address,
            subject,
            ..
        } => LogLineV1 {
            server: Some(subject.server.clone()),
            tool: Some(Arc::clone(&subject.tool)),
            args: Some(subject.args.clone()),
            ..at("asked", address)
        },
        Record::Decided {
            at: address,
            approved,
            changed_args,
            because,
        } => LogLineV1 {
            approved: Some(*approved),
            args: changed_args.clone(),
            because: because.clone(),
            ..at("decided", address)
        },
        Record::Chosen {
            at: address,
            choice,
        } => {
            let choice = ChoiceV1::new("", choice);
            LogLineV1 {
                choice: Some(choice.choice),
                output: choice.value,
                ..at("chosen", address)
            }
        }
        Record::Extended { steps, .. } => LogLineV1 {
            steps: Some(*steps),
            ..named("extended")
        },
        Record::Draining => named("draining"),
        Record::Cancelled => named("cancelled"),
        Record::OutOfTime => named("out_of_time"),
        Record::Ended { status } => LogLineV1 {
            status: Some(status.as_str()),
            ..named("ended")
        },
        Record::Answered { .. }
        | Record::Aborted { .. }
        | Record::TimerFired { .. }
        | Record::Closed
        | Record::Paused { .. }
        | Record::Resumed
        | Record::Settled { .. } => return None,
    })
}
