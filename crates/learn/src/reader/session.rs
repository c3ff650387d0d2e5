//! Sessions of a gateway's client: calls that were made without a plan.

use std::sync::Arc;
use std::time::SystemTime;

use planwright_core::Value;

use crate::trace::{Trace, TraceAnswer, TracedCall};

/// A call of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionCall {
    /// The name of the tool, with its server.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: Value,
    /// The answer.
    pub answer: TraceAnswer,
    /// The time at which the call was sent.
    pub began: SystemTime,
    /// The time of the answer.
    pub ended: SystemTime,
    /// True if the client had read untrusted data before.
    pub is_exposed: bool,
}

/// Returns the trace of a session with `calls`, in the order of sending. A call may depend on those that were answered before it was sent, so
/// such an answer begins a new round.
pub fn trace_of_session(name: &str, calls: impl IntoIterator<Item = SessionCall>) -> Trace {
    let mut trace = Trace {
        name: name.to_owned(),
        ..Trace::default()
    };
    let mut round = 0;
    let mut last = None;
    // The time of the first answer to a call of the round.
    let mut answered: Option<SystemTime> = None;
    for call in calls {
        if answered.is_some_and(|answered| answered <= call.began) {
            round += 1;
            answered = None;
        }
        answered = Some(answered.map_or(call.ended, |earlier| earlier.min(call.ended)));
        last = last.max(Some(call.ended));
        trace.is_exposed |= call.is_exposed;
        trace.calls.push(TracedCall {
            tool: call.tool,
            args: call.args,
            answer: call.answer,
            round,
        });
    }
    trace.ended_unix_ms = last
        .and_then(|last| last.duration_since(SystemTime::UNIX_EPOCH).ok())
        .and_then(|last| u64::try_from(last.as_millis()).ok());
    trace
}
