//! Runs of Planwright: the calls in the entries of a journal.

use std::collections::HashMap;

use planwright_engine::journal::{Entry, Record};

use crate::trace::{Trace, TraceAnswer, TracedCall};

/// Returns the trace of a run with the journal `entries`.
pub fn trace_of_run(name: &str, entries: &[Entry]) -> Trace {
    let mut trace = Trace {
        name: name.to_owned(),
        ..Trace::default()
    };
    let mut open = HashMap::new();
    let mut round = 0;
    let mut has_answers = false;
    for entry in entries {
        match &entry.record {
            Record::Sent {
                at,
                server,
                tool,
                attempt,
                args,
                ..
            } => {
                if std::mem::take(&mut has_answers) {
                    round += 1;
                }
                open.insert((at.clone(), *attempt), trace.calls.len());
                trace.calls.push(TracedCall {
                    tool: format!("{server}.{tool}").into(),
                    args: args.clone(),
                    answer: TraceAnswer::Missing,
                    round,
                });
            }
            Record::Answered {
                at,
                attempt,
                result,
            } => {
                let call = open.remove(&(at.clone(), *attempt));
                if let Some(call) = call.and_then(|index| trace.calls.get_mut(index)) {
                    call.answer = match result {
                        Ok(output) => TraceAnswer::Output(output.value.clone()),
                        Err(error) => TraceAnswer::Failed(error.message.clone()),
                    };
                    has_answers = true;
                }
            }
            Record::Opened { .. }
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
            | Record::Settled { .. }
            | Record::Ended { .. } => {}
        }
    }
    trace
}
