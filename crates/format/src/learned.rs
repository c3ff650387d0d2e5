//! Learned plans, work that recurs, and the sessions that plans are learned from.

use std::time::SystemTime;

use planwright_core::{Diagnostic, Value};
use serde::Serialize;

use crate::time;

/// The schema's name and version.
pub const LEARN_SCHEMA: &str = "planwright.learn/1";

/// A plan that was learned from traces.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct LearnV1 {
    /// [`LEARN_SCHEMA`].
    pub schema: &'static str,
    /// The text of the plan.
    pub plan: String,
    /// The dialect of the text: `native` or `lines`.
    pub dialect: &'static str,
    /// True if the plan is sound over the tools.
    pub sound: bool,
    /// True if the traces leave nothing open that changes the meaning of the plan.
    pub complete: bool,
    /// True if the plan makes the calls of each trace over its answers.
    pub same_calls: bool,
    /// True if the tools were known, so that schemas and effects were checked.
    pub has_tools: bool,
    /// The inputs of the plan.
    pub inputs: Vec<LearnInputV1>,
    /// The traces, in the order in which they were named.
    pub traces: Vec<LearnTraceV1>,
    /// The findings: what the traces leave open, and what was decided in spite of alternatives.
    pub findings: Vec<LearnFindingV1>,
    /// The diagnostics of the check of the plan.
    #[cfg_attr(test, schemars(with = "Vec<crate::reference::DiagnosticShape>"))]
    pub diagnostics: Vec<Diagnostic>,
    /// The name and the version that the plan was saved as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
}

/// An input of a learned plan.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct LearnInputV1 {
    /// The name.
    pub name: String,
    /// The schema of its values.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub schema: Value,
    /// The value in each trace, `null` if the trace does not use it.
    #[cfg_attr(test, schemars(with = "Vec<serde_json::Value>"))]
    pub values: Vec<Value>,
}

/// A trace, and the run of the plan over its answers.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct LearnTraceV1 {
    /// The name: the file, the run or the session.
    pub name: String,
    /// The number of calls that the plan has to make.
    pub calls: usize,
    /// The comparison of the plan with the trace; none if the plan is not sound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<LearnReplayV1>,
}

/// The comparison of a plan, over recorded answers, with its trace.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct LearnReplayV1 {
    /// The number of calls that the plan and the trace make.
    pub same: usize,
    /// The calls of the trace that the plan does not make.
    pub missing: Vec<LearnCallV1>,
    /// The calls of the plan that the trace does not have.
    pub additional: Vec<LearnCallV1>,
    /// The calls that change something and came before an earlier one of the trace.
    pub reordered: Vec<LearnCallV1>,
}

/// A call that only a trace or only the plan makes.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct LearnCallV1 {
    /// The tool.
    pub tool: String,
    /// The arguments.
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub args: Value,
}

/// A finding about a learned plan.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct LearnFindingV1 {
    /// The kind, such as `single_trace` or `optional_call`.
    pub kind: &'static str,
    /// True if the meaning of the plan depends on it.
    pub undecided: bool,
    /// The step, if the plan has one for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The fact, as one clause.
    pub message: String,
}

/// The schema's name and version.
pub const RECURRING_SCHEMA: &str = "planwright.recurring/1";

/// Work that recurs.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct RecurringV1 {
    /// [`RECURRING_SCHEMA`].
    pub schema: &'static str,
    /// The work, the most frequent first.
    pub recurring: Vec<RecurringWorkV1>,
}

impl RecurringV1 {
    /// Creates the document of this work.
    pub fn new(recurring: Vec<RecurringWorkV1>) -> Self {
        Self {
            schema: RECURRING_SCHEMA,
            recurring,
        }
    }
}

/// Work that several traces have in common: the same tools and the same flow of data.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct RecurringWorkV1 {
    /// The tools, in order; a loop is one entry.
    pub tools: Vec<String>,
    /// The number of traces.
    pub count: usize,
    /// The time of the last call, in UTC, if it is known.
    pub last: Option<String>,
    /// The names of the traces: files, runs and sessions.
    pub traces: Vec<String>,
    /// The command that learns a plan from some of them.
    pub command: String,
}

/// The schema's name and version.
pub const SESSIONS_SCHEMA: &str = "planwright.sessions/1";

/// The sessions of clients that called tools without a plan.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct SessionsV1 {
    /// [`SESSIONS_SCHEMA`].
    pub schema: &'static str,
    /// The sessions, the newest first.
    pub sessions: Vec<SessionV1>,
}

impl SessionsV1 {
    /// Creates the document of these sessions.
    pub fn new(sessions: Vec<SessionV1>) -> Self {
        Self {
            schema: SESSIONS_SCHEMA,
            sessions,
        }
    }
}

/// A session of a client.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct SessionV1 {
    /// The id.
    pub id: String,
    /// The client.
    pub client: String,
    /// The time of the first call, in UTC.
    pub began: String,
    /// The time of the last answer, in UTC.
    pub ended: String,
    /// The number of calls.
    pub calls: usize,
}

impl SessionV1 {
    /// Creates a session of `client` between two times.
    pub fn new(
        id: String,
        client: String,
        (began, ended): (SystemTime, SystemTime),
        calls: usize,
    ) -> Self {
        Self {
            id,
            client,
            began: time::timestamp(began),
            ended: time::timestamp(ended),
            calls,
        }
    }
}
