//! The events of a run, one JSON object a line, `planwright.event/1`.

use std::sync::Arc;

use planwright_core::{PlanDigest, Value};
use planwright_engine::RunId;
use planwright_engine::event::Address;
use planwright_engine::{RunEvent, StampedEvent};
use serde::Serialize;

use super::summary::{ErrorV1, ReasonV1, milliseconds};

/// The schema's name and version.
pub const EVENT_SCHEMA: &str = "planwright.event/1";

/// The kind of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum EventKindV1 {
    /// The run started.
    #[default]
    RunStarted,
    /// Steps were added to the plan.
    PlanExtended,
    /// A step started.
    StepStarted,
    /// A call is sent.
    AttemptStarted,
    /// A tool reports the progress of a call.
    CallProgress,
    /// A call was answered, or failed.
    AttemptEnded,
    /// A call will be made again after a pause.
    RetryScheduled,
    /// A call waits for a decision.
    ApprovalAsked,
    /// A call was decided.
    ApprovalDecided,
    /// A call was sent and not answered: it may or may not have happened.
    OutcomeUnknown,
    /// A step ended.
    StepEnded,
    /// The run drains: nothing new starts from here on.
    RunDraining,
    /// The run ended.
    RunEnded,
}

/// An event of a run.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, Serialize)]
pub struct EventV1 {
    /// [`EVENT_SCHEMA`].
    pub schema: &'static str,
    /// The time, in milliseconds from the start of the run.
    pub at_ms: f64,
    /// The kind of event.
    pub event: EventKindV1,
    /// The step, item or round: `outer/inner@instance[item]#round`, with `%`, `/`, `@`, `[`, `]` and `#` of a name percent-encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The step's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Arc<str>>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Arc<str>>,
    /// The number of items of a step that runs for each of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// The number of the attempt, from 1; at a step's end, the number of attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub args: Option<Value>,
    /// The status: of a step as in the report, of the run `succeeded`, `failed`, `waiting` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// The output of a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub output: Option<Value>,
    /// The reason of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorV1>,
    /// The reason why it did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<crate::reference::ReasonShape>"))]
    pub reason: Option<ReasonV1>,
    /// The amount of work that a call has done, in a unit of its tool's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// The total amount of work of the call, in the same unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// The message that the tool reports with its progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<str>>,
    /// The pause before the next attempt, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_ms: Option<f64>,
    /// True if a call may be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// The run's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub run: Option<RunId>,
    /// The plan's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Arc<str>>,
    /// The plan's digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub digest: Option<PlanDigest>,
    /// The number of steps of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
}

impl EventV1 {
    fn named(event: EventKindV1) -> Self {
        Self {
            schema: EVENT_SCHEMA,
            event,
            ..Self::default()
        }
    }

    fn at(event: EventKindV1, at: &Address) -> Self {
        Self {
            address: Some(at.to_string()),
            step: Some(Arc::clone(at.step.text())),
            ..Self::named(event)
        }
    }
}

impl From<&StampedEvent> for EventV1 {
    fn from(stamped: &StampedEvent) -> Self {
        let event = match &stamped.event {
            RunEvent::RunStarted {
                run,
                plan,
                digest,
                steps,
            } => Self {
                run: Some(run.clone()),
                plan: plan.clone(),
                digest: Some(digest.clone()),
                steps: Some(*steps),
                ..Self::named(EventKindV1::RunStarted)
            },
            RunEvent::PlanExtended { steps } => Self {
                steps: Some(*steps),
                ..Self::named(EventKindV1::PlanExtended)
            },
            RunEvent::StepStarted { at, tool, items } => Self {
                tool: tool.clone(),
                items: *items,
                ..Self::at(EventKindV1::StepStarted, at)
            },
            RunEvent::AttemptStarted {
                at,
                tool,
                attempt,
                args,
            } => Self {
                tool: Some(Arc::clone(tool)),
                attempt: Some(*attempt),
                args: Some(args.clone()),
                ..Self::at(EventKindV1::AttemptStarted, at)
            },
            RunEvent::CallProgress { at, tool, progress } => Self {
                tool: Some(Arc::clone(tool)),
                progress: Some(progress.done),
                total: progress.total,
                message: progress.message.clone(),
                ..Self::at(EventKindV1::CallProgress, at)
            },
            RunEvent::AttemptEnded {
                at,
                tool,
                attempt,
                error,
            } => Self {
                tool: Some(Arc::clone(tool)),
                attempt: Some(*attempt),
                error: error.as_ref().map(ErrorV1::from),
                ..Self::at(EventKindV1::AttemptEnded, at)
            },
            RunEvent::RetryScheduled { at, attempt, pause } => Self {
                attempt: Some(*attempt),
                pause_ms: Some(milliseconds(*pause)),
                ..Self::at(EventKindV1::RetryScheduled, at)
            },
            RunEvent::ApprovalAsked { at, tool, args } => Self {
                tool: Some(Arc::clone(tool)),
                args: Some(args.clone()),
                ..Self::at(EventKindV1::ApprovalAsked, at)
            },
            RunEvent::ApprovalDecided {
                at,
                approved,
                changed_args,
            } => Self {
                approved: Some(*approved),
                args: changed_args.clone(),
                ..Self::at(EventKindV1::ApprovalDecided, at)
            },
            RunEvent::OutcomeUnknown { at, tool, args } => Self {
                tool: Some(Arc::clone(tool)),
                args: Some(args.clone()),
                ..Self::at(EventKindV1::OutcomeUnknown, at)
            },
            RunEvent::StepEnded {
                at,
                tool,
                status,
                output,
                error,
                reason,
                attempts,
            } => Self {
                tool: tool.clone(),
                status: Some(status.as_str()),
                output: output.clone(),
                error: error.as_ref().map(ErrorV1::from),
                reason: reason.clone().map(ReasonV1),
                attempt: Some(*attempts),
                ..Self::at(EventKindV1::StepEnded, at)
            },
            RunEvent::RunDraining => Self::named(EventKindV1::RunDraining),
            RunEvent::RunEnded { status } => Self {
                status: Some(status.as_str()),
                ..Self::named(EventKindV1::RunEnded)
            },
        };
        Self {
            at_ms: milliseconds(stamped.at),
            ..event
        }
    }
}
