//! The entries of a run's journal, `planwright.entry/1`.

use std::sync::Arc;
use std::time::SystemTime;

use planwright_core::{PlanDigest, ServerName, Value};
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::schedule::Timer;
use serde::Serialize;

use crate::ChoiceV1;
use crate::{ErrorV1, ReasonV1, milliseconds};
use crate::{ProcessV1, time};

/// The schema's name and version.
pub const ENTRY_SCHEMA: &str = "planwright.entry/1";

/// An entry of the journal of a run.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct EntryV1 {
    /// [`ENTRY_SCHEMA`].
    pub schema: &'static str,
    /// The time, in milliseconds from the start of the run, without the time between two processes.
    pub at_ms: f64,
    /// The time in UTC.
    pub time: String,
    /// The turn of the driver, from 0.
    pub turn: u64,
    /// True if the entry is an input of the run, false if it is a decision of the run.
    #[serde(rename = "told")]
    pub is_input: bool,
    /// The record.
    pub record: RecordV1,
}

/// An input or a decision of a run.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecordV1 {
    /// The kind: `opened`, `sent`, `answered`, `given_up`, `asked`, `decided`, `chosen`, `timer_fired`, `extended`, `closed`, `draining`, `cancelled`,
    /// `out_of_time`, `paused`, `went_on`, `settled` or `ended`. Records between `paused` and `went_on` arrived while the run was
    /// computing.
    pub what: &'static str,
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
    /// The output.
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
    /// True if the call may be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// The reason of a rejection, in the person's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<Arc<str>>,
    /// The person's choice about the step: `retry`, `skip` or `set`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
    /// The timer: `attempt` and `step` are time limits, `pause` is the wait for the next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<&'static str>,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// True if the plan handles the failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub handled: bool,
    /// The reason why it did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<crate::reference::ReasonShape>"))]
    pub reason: Option<ReasonV1>,
    /// The time of its start, in milliseconds from the start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<f64>,
    /// The plan's digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub digest: Option<PlanDigest>,
    /// The number of steps that the plan has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// The amount of work since the last input after which the run paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The version of the program that has begun to drive the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The id of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

/// The clock of a run: the times at which the entries of its journal were made.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    began: SystemTime,
    at: std::time::Duration,
}

impl RunClock {
    /// Creates a clock for a run that was created at `created`.
    pub fn new(created: SystemTime) -> Self {
        Self {
            began: created,
            at: std::time::Duration::ZERO,
        }
    }

    /// Returns the time of `entry`. An opening sets the clock.
    pub fn time(&mut self, entry: &Entry) -> SystemTime {
        if let Record::Opened { header, .. } = &entry.record
            && let Ok(process) = ProcessV1::from_value(header)
        {
            self.began = time::from_unix_ms(process.began_unix_ms);
            self.at = entry.at;
        }
        let since = entry.at.saturating_sub(self.at);
        self.began.checked_add(since).unwrap_or(self.began)
    }
}

impl EntryV1 {
    /// Returns the entries of a run that was created at `created`; if a step is named, only those about it and its parts.
    pub fn of(entries: &[Entry], created: SystemTime, step: Option<&str>) -> Vec<Self> {
        let mut clock = RunClock::new(created);
        let entries = entries.iter();
        entries
            .filter_map(|entry| Self::next(entry, &mut clock, step))
            .collect()
    }

    /// Returns the next entry of a run with this clock; `None` if a step is named and the entry is not about it or its parts.
    pub fn next(entry: &Entry, clock: &mut RunClock, step: Option<&str>) -> Option<Self> {
        let time = clock.time(entry);
        is_about(&entry.record, step).then(|| Self {
            schema: ENTRY_SCHEMA,
            at_ms: milliseconds(entry.at),
            time: time::timestamp(time),
            turn: entry.turn,
            is_input: entry.record.is_input(),
            record: RecordV1::from(&entry.record),
        })
    }
}

/// Returns true if a record is about `step` or a part of it, or if no step is named.
pub(super) fn is_about(record: &Record, step: Option<&str>) -> bool {
    let Some(step) = step else {
        return true;
    };
    let Some(at) = record.address().map(ToString::to_string) else {
        return false;
    };
    at.strip_prefix(step)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '@', '[', '#']))
}

impl RecordV1 {
    fn named(what: &'static str) -> Self {
        Self {
            what,
            ..Self::default()
        }
    }

    fn at(what: &'static str, at: &Address) -> Self {
        Self {
            address: Some(at.to_string()),
            ..Self::named(what)
        }
    }
}

impl From<&Record> for RecordV1 {
    fn from(record: &Record) -> Self {
        match record {
            Record::Opened { digest, header, .. } => {
                let process = ProcessV1::from_value(header).ok();
                Self {
                    digest: Some(digest.clone()),
                    pid: process.as_ref().map(|process| process.pid),
                    version: process.map(|process| process.version),
                    ..Self::named("opened")
                }
            }
            Record::Sent {
                at,
                server,
                tool,
                attempt,
                args,
                ..
            } => Self {
                server: Some(server.clone()),
                tool: Some(Arc::clone(tool)),
                attempt: Some(*attempt),
                args: Some(args.clone()),
                ..Self::at("sent", at)
            },
            Record::Answered {
                at,
                attempt,
                result,
            } => Self {
                attempt: Some(*attempt),
                output: result.as_ref().ok().map(|output| output.value.clone()),
                content: result
                    .as_ref()
                    .map(|output| output.content.clone())
                    .unwrap_or_default(),
                error: result.as_ref().err().map(ErrorV1::from),
                ..Self::at("answered", at)
            },
            Record::Aborted { at, attempt } => Self {
                attempt: Some(*attempt),
                ..Self::at("given_up", at)
            },
            Record::Asked { at, subject, .. } => Self {
                server: Some(subject.server.clone()),
                tool: Some(Arc::clone(&subject.tool)),
                args: Some(subject.args.clone()),
                ..Self::at("asked", at)
            },
            Record::Decided {
                at,
                approved,
                changed_args,
                because,
            } => Self {
                approved: Some(*approved),
                args: changed_args.clone(),
                because: because.clone(),
                ..Self::at("decided", at)
            },
            Record::Chosen { at, choice } => {
                let choice = ChoiceV1::new("", choice);
                Self {
                    choice: Some(choice.choice),
                    output: choice.value,
                    ..Self::at("chosen", at)
                }
            }
            Record::TimerFired { at, timer } => {
                let (timer, attempt) = match timer {
                    Timer::Attempt(attempt) => ("attempt", Some(*attempt)),
                    Timer::Pause(attempt) => ("pause", Some(*attempt)),
                    Timer::Step => ("step", None),
                    Timer::Run => ("run", None),
                };
                Self {
                    timer: Some(timer),
                    attempt,
                    ..Self::at("timer_fired", at)
                }
            }
            Record::Extended { digest, steps } => Self {
                digest: Some(digest.clone()),
                steps: Some(*steps),
                ..Self::named("extended")
            },
            Record::Closed => Self::named("closed"),
            Record::Draining => Self::named("draining"),
            Record::Cancelled => Self::named("cancelled"),
            Record::OutOfTime => Self::named("out_of_time"),
            Record::Paused { after } => Self {
                after: Some(*after),
                ..Self::named("paused")
            },
            Record::Resumed => Self::named("went_on"),
            Record::Settled {
                at,
                status,
                output,
                error,
                handled,
                reason,
                started,
            } => Self {
                status: Some(status.as_str()),
                output: output.clone(),
                error: error.as_ref().map(ErrorV1::from),
                handled: *handled,
                reason: reason.clone().map(ReasonV1),
                started_ms: started.map(milliseconds),
                ..Self::at("settled", at)
            },
            Record::Ended { status } => Self {
                status: Some(status.as_str()),
                ..Self::named("ended")
            },
        }
    }
}
