//! Encoding and decoding of records.

use std::time::Duration;

use planwright_engine::approval::CallSubject;
use planwright_engine::journal::Record;
use serde::Serialize;

use super::blob::{Blob, StoredValueV1, parse};
use super::record;
use super::record::{
    AbandonedEntryV1, AddressV1, AnsweredEntryV1, BlobLoader, CallEntryV1, CallResultV1,
    ChosenEntryV1, DecidedEntryV1, EmptyEntryV1, EndedEntryV1, ExtendedEntryV1, OpenedEntryV1,
    PausedEntryV1, SettledEntryV1, SkipReasonV1, StepChoiceV1, TimerFiredEntryV1, ToolErrorV1,
    ToolOutputV1,
};
use crate::time::duration_nanos;

/// The format of the journal of a run.
pub const JOURNAL_FORMAT: &str = "planwright.journal/1";

/// Encodes a record as its kind and its body. Large values are added to `blobs`, which the body refers to.
///
/// # Errors
///
/// The reason why a value cannot be stored.
pub fn encode_record(
    record: &Record,
    blobs: &mut Vec<Blob>,
) -> Result<(&'static str, String), String> {
    match record {
        Record::Opened { digest, header, .. } => body(
            "opened",
            &OpenedEntryV1 {
                digest: digest.clone(),
                header: StoredValueV1::encode(header, blobs)?,
            },
        ),
        Record::Sent {
            at,
            server,
            tool,
            attempt,
            args,
            consent,
        } => body(
            "sent",
            &CallEntryV1 {
                at: AddressV1::encode(at),
                server: server.clone(),
                tool: tool.clone(),
                attempt: Some(*attempt),
                args: StoredValueV1::encode(args, blobs)?,
                consent: consent.clone(),
                origin: None,
                definition: None,
                seal: None,
                flow: None,
                reason: None,
            },
        ),
        Record::Answered {
            at,
            attempt,
            result,
        } => body(
            "answered",
            &AnsweredEntryV1 {
                at: AddressV1::encode(at),
                attempt: *attempt,
                result: match result {
                    Ok(output) => CallResultV1::Output(ToolOutputV1::encode(output, blobs)?),
                    Err(error) => CallResultV1::Error(ToolErrorV1::encode(error, blobs)?),
                },
            },
        ),
        Record::Aborted { at, attempt } => body(
            "given_up",
            &AbandonedEntryV1 {
                at: AddressV1::encode(at),
                attempt: *attempt,
            },
        ),
        Record::Asked {
            at,
            subject,
            reason,
        } => body(
            "asked",
            &CallEntryV1 {
                at: AddressV1::encode(at),
                server: subject.server.clone(),
                tool: subject.tool.clone(),
                attempt: None,
                args: StoredValueV1::encode(&subject.args, blobs)?,
                consent: None,
                origin: subject.origin.clone(),
                definition: subject.definition.clone(),
                seal: subject.seal.clone(),
                flow: subject.flow.clone(),
                reason: reason.clone(),
            },
        ),
        Record::Decided {
            at,
            approved,
            changed_args,
            because,
        } => body(
            "decided",
            &DecidedEntryV1 {
                at: AddressV1::encode(at),
                approved: *approved,
                changed_args: encode_some(changed_args.as_ref(), blobs)?,
                because: because.clone(),
            },
        ),
        Record::Chosen { at, choice } => body(
            "chosen",
            &ChosenEntryV1 {
                at: AddressV1::encode(at),
                choice: StepChoiceV1::encode(choice, blobs)?,
            },
        ),
        Record::TimerFired { at, timer } => body(
            "timer_fired",
            &TimerFiredEntryV1 {
                at: AddressV1::encode(at),
                timer: (*timer).into(),
            },
        ),
        Record::Extended { digest, steps } => body(
            "extended",
            &ExtendedEntryV1 {
                digest: digest.clone(),
                steps: *steps,
            },
        ),
        Record::Closed => body("closed", &EmptyEntryV1 {}),
        Record::Draining => body("draining", &EmptyEntryV1 {}),
        Record::Cancelled => body("cancelled", &EmptyEntryV1 {}),
        Record::OutOfTime => body("out_of_time", &EmptyEntryV1 {}),
        Record::Paused { after } => body("paused", &PausedEntryV1 { after: *after }),
        Record::Resumed => body("went_on", &EmptyEntryV1 {}),
        Record::Settled {
            at,
            status,
            output,
            error,
            handled,
            reason,
            started,
        } => body(
            "settled",
            &SettledEntryV1 {
                at: AddressV1::encode(at),
                status: status.as_str().into(),
                output: encode_some(output.as_ref(), blobs)?,
                error: error
                    .as_ref()
                    .map(|error| ToolErrorV1::encode(error, blobs))
                    .transpose()?,
                handled: *handled,
                reason: reason.as_ref().map(SkipReasonV1::encode).transpose()?,
                started_ns: started.map(duration_nanos),
            },
        ),
        Record::Ended { status } => body(
            "ended",
            &EndedEntryV1 {
                status: status.as_str().into(),
            },
        ),
    }
}

/// Decodes the record of an entry of the kind `kind`; `load` provides its large values.
///
/// # Errors
///
/// The reason why the entry is invalid.
pub fn decode_record(kind: &str, body: &str, load: BlobLoader<'_>) -> Result<Record, String> {
    Ok(match kind {
        "opened" => {
            let OpenedEntryV1 { digest, header } = parse(body)?;
            Record::Opened {
                // It has a separate column: `JournalEntries` adds it.
                run: None,
                digest,
                header: header.decode(load)?,
            }
        }
        "sent" => {
            let call: CallEntryV1 = parse(body)?;
            Record::Sent {
                at: call.at.decode()?,
                server: call.server,
                tool: call.tool,
                attempt: call.attempt.ok_or("a call has no attempt")?,
                args: call.args.decode(load)?,
                consent: call.consent,
            }
        }
        "answered" => {
            let answered: AnsweredEntryV1 = parse(body)?;
            Record::Answered {
                at: answered.at.decode()?,
                attempt: answered.attempt,
                result: match answered.result {
                    CallResultV1::Output(output) => Ok(output.decode(load)?),
                    CallResultV1::Error(error) => Err(error.decode(load)?),
                },
            }
        }
        "given_up" => {
            let AbandonedEntryV1 { at, attempt } = parse(body)?;
            Record::Aborted {
                at: at.decode()?,
                attempt,
            }
        }
        "asked" => {
            let call: CallEntryV1 = parse(body)?;
            Record::Asked {
                at: call.at.decode()?,
                subject: Box::new(CallSubject {
                    server: call.server,
                    tool: call.tool,
                    origin: call.origin,
                    definition: call.definition,
                    args: call.args.decode(load)?,
                    seal: call.seal,
                    flow: call.flow,
                }),
                reason: call.reason,
            }
        }
        "decided" => {
            let decided: DecidedEntryV1 = parse(body)?;
            Record::Decided {
                at: decided.at.decode()?,
                approved: decided.approved,
                changed_args: decided
                    .changed_args
                    .map(|args| args.decode(load))
                    .transpose()?,
                because: decided.because,
            }
        }
        "chosen" => {
            let ChosenEntryV1 { at, choice } = parse(body)?;
            Record::Chosen {
                at: at.decode()?,
                choice: choice.decode(load)?,
            }
        }
        "timer_fired" => {
            let TimerFiredEntryV1 { at, timer } = parse(body)?;
            Record::TimerFired {
                at: at.decode()?,
                timer: timer.into(),
            }
        }
        "extended" => {
            let ExtendedEntryV1 { digest, steps } = parse(body)?;
            Record::Extended { digest, steps }
        }
        "closed" => parse(body).map(|EmptyEntryV1 {}| Record::Closed)?,
        "draining" => parse(body).map(|EmptyEntryV1 {}| Record::Draining)?,
        "cancelled" => parse(body).map(|EmptyEntryV1 {}| Record::Cancelled)?,
        "out_of_time" => parse(body).map(|EmptyEntryV1 {}| Record::OutOfTime)?,
        "paused" => parse(body).map(|PausedEntryV1 { after }| Record::Paused { after })?,
        "went_on" => parse(body).map(|EmptyEntryV1 {}| Record::Resumed)?,
        "settled" => {
            let settled: SettledEntryV1 = parse(body)?;
            Record::Settled {
                at: settled.at.decode()?,
                status: record::step_status(&settled.status)?,
                output: settled
                    .output
                    .map(|output| output.decode(load))
                    .transpose()?,
                error: settled.error.map(|error| error.decode(load)).transpose()?,
                handled: settled.handled,
                reason: settled.reason.map(SkipReasonV1::decode).transpose()?,
                started: settled.started_ns.map(Duration::from_nanos),
            }
        }
        "ended" => {
            let EndedEntryV1 { status } = parse(body)?;
            Record::Ended {
                status: record::run_status(&status)?,
            }
        }
        other => return Err(format!("unknown kind of entry `{other}`")),
    })
}

fn encode_some(
    value: Option<&planwright_core::Value>,
    blobs: &mut Vec<Blob>,
) -> Result<Option<StoredValueV1>, String> {
    value
        .map(|value| StoredValueV1::encode(value, blobs))
        .transpose()
}

fn body(kind: &'static str, body: &impl Serialize) -> Result<(&'static str, String), String> {
    let json = serde_json::to_string(body).map_err(|error| error.to_string())?;
    Ok((kind, json))
}
