//! The calls of a trace that a plan has to make: failed calls are left out.

use super::finding::{Finding, FindingKind};
use crate::trace::{Trace, TraceAnswer, TracedCall};

/// Returns the calls that succeeded, and reports the others, also those that the trace does not have.
pub(super) fn clean(trace: &Trace, findings: &mut Vec<Finding>) -> Vec<TracedCall> {
    for reason in &trace.left_out {
        let message = format!("in `{}`, {reason}", trace.name);
        findings.push(Finding::new(FindingKind::LeftOutCall, message));
    }
    let mut calls = Vec::with_capacity(trace.calls.len());
    for (index, call) in trace.calls.iter().enumerate() {
        let (tool, name) = (&call.tool, &trace.name);
        match &call.answer {
            TraceAnswer::Output(_) => calls.push(call.clone()),
            TraceAnswer::Missing => {
                let message = format!(
                    "`{name}` has no answer to the call {} of `{tool}`",
                    index + 1
                );
                findings.push(Finding::new(FindingKind::MissingAnswer, message));
                calls.push(call.clone());
            }
            TraceAnswer::Failed(_) => {
                // A call with other arguments may be another attempt or other work, and what follows may depend on the failure.
                let mut later = trace.calls.iter().skip(index + 1);
                let is_repeated = later.any(|later| {
                    later.tool == *tool
                        && later.args == call.args
                        && later.answer.output().is_some()
                });
                let kind = if is_repeated {
                    FindingKind::RetriedCall
                } else {
                    FindingKind::FailedCall
                };
                let message = if is_repeated {
                    format!(
                        "the call {} of `{tool}` in `{name}` failed and was repeated with success, so it is left out",
                        index + 1
                    )
                } else {
                    format!(
                        "the call {} of `{tool}` in `{name}` failed, so it is left out",
                        index + 1
                    )
                };
                findings.push(Finding::new(kind, message));
            }
        }
    }
    calls
}
