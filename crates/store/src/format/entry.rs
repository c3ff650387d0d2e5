//! Entries as rows, and back.

use std::time::Duration;

use planwright_engine::approval::CallSubject;
use planwright_engine::journal::{Entry, Record};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::address::AddressV1;
use super::held::{Blob, HeldV1};
use super::json::parse;
use super::record::{
    AnswerV1, AnsweredV1, CallV1, ChoiceV1, ChosenV1, DecidedV1, EmptyV1, EndedV1, ErrorV1,
    ExtendedV1, Find, GivenUpV1, OpenedV1, OutputV1, PausedV1, ReasonV1, SettledV1, TimerFiredV1,
    nanos,
};
use super::tally::Tally;
use super::words;

/// An entry, written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) at_ns: i64,
    pub(crate) turn: i64,
    pub(crate) kind: String,
    pub(crate) body: String,
}

impl Row {
    /// The checksum of the row as the entry `number` of the run with the key `run`: the first eight bytes of the SHA-256 over all columns.
    /// It tells whether the row is what was written; a program that writes into the store can write checksums as well.
    pub(crate) fn checksum(&self, run: i64, number: i64) -> i64 {
        let mut hash = Sha256::new();
        for number in [run, number, self.at_ns, self.turn] {
            hash.update(number.to_le_bytes());
        }
        hash.update(self.kind.as_bytes());
        // No kind has a zero byte, so no two rows have the same bytes.
        hash.update([0]);
        hash.update(self.body.as_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        i64::from_le_bytes(digest.first_chunk().copied().unwrap_or_default())
    }
}

/// Entries that are kept together, with the values that were set apart.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) rows: Vec<Row>,
    pub(crate) blobs: Vec<Blob>,
    pub(crate) tally: Tally,
}

/// Writes entries down.
pub(crate) fn encode(entries: &[Entry]) -> Result<Batch, String> {
    let mut batch = Batch {
        rows: Vec::with_capacity(entries.len()),
        ..Batch::default()
    };
    for entry in entries {
        batch.tally.count(entry);
        let (kind, body) = write(&entry.record, &mut batch.blobs)?;
        batch.rows.push(Row {
            at_ns: whole(nanos(entry.at)),
            turn: whole(entry.turn),
            kind: kind.to_owned(),
            body,
        });
    }
    Ok(batch)
}

/// Reads an entry.
pub(crate) fn decode(row: &Row, find: Find<'_>) -> Result<Entry, String> {
    let record = read(&row.kind, &row.body, find)?;
    Ok(Entry {
        at: Duration::from_nanos(row.at_ns.unsigned_abs()),
        turn: row.turn.unsigned_abs(),
        record,
    })
}

fn write(record: &Record, blobs: &mut Vec<Blob>) -> Result<(&'static str, String), String> {
    match record {
        Record::Opened { digest, header, .. } => body(
            "opened",
            &OpenedV1 {
                digest: digest.clone(),
                header: HeldV1::hold(header, blobs)?,
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
            &CallV1 {
                at: AddressV1::of(at),
                server: server.clone(),
                tool: tool.clone(),
                attempt: Some(*attempt),
                args: HeldV1::hold(args, blobs)?,
                consent: consent.clone(),
                origin: None,
                definition: None,
                seal: None,
                reason: None,
            },
        ),
        Record::Answered {
            at,
            attempt,
            result,
        } => body(
            "answered",
            &AnsweredV1 {
                at: AddressV1::of(at),
                attempt: *attempt,
                result: match result {
                    Ok(output) => AnswerV1::Output(OutputV1::of(output, blobs)?),
                    Err(error) => AnswerV1::Error(ErrorV1::of(error, blobs)?),
                },
            },
        ),
        Record::GivenUp { at, attempt } => body(
            "given_up",
            &GivenUpV1 {
                at: AddressV1::of(at),
                attempt: *attempt,
            },
        ),
        Record::Asked {
            at,
            subject,
            reason,
        } => body(
            "asked",
            &CallV1 {
                at: AddressV1::of(at),
                server: subject.server.clone(),
                tool: subject.tool.clone(),
                attempt: None,
                args: HeldV1::hold(&subject.args, blobs)?,
                consent: None,
                origin: subject.origin.clone(),
                definition: subject.definition.clone(),
                seal: subject.seal.clone(),
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
            &DecidedV1 {
                at: AddressV1::of(at),
                approved: *approved,
                changed_args: hold_some(changed_args.as_ref(), blobs)?,
                because: because.clone(),
            },
        ),
        Record::Chosen { at, choice } => body(
            "chosen",
            &ChosenV1 {
                at: AddressV1::of(at),
                choice: ChoiceV1::of(choice, blobs)?,
            },
        ),
        Record::TimerFired { at, timer } => body(
            "timer_fired",
            &TimerFiredV1 {
                at: AddressV1::of(at),
                timer: (*timer).into(),
            },
        ),
        Record::Extended { digest, steps } => body(
            "extended",
            &ExtendedV1 {
                digest: digest.clone(),
                steps: *steps,
            },
        ),
        Record::Closed => body("closed", &EmptyV1 {}),
        Record::Cancelled => body("cancelled", &EmptyV1 {}),
        Record::OutOfTime => body("out_of_time", &EmptyV1 {}),
        Record::Paused { after } => body("paused", &PausedV1 { after: *after }),
        Record::WentOn => body("went_on", &EmptyV1 {}),
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
            &SettledV1 {
                at: AddressV1::of(at),
                status: status.as_str().into(),
                output: hold_some(output.as_ref(), blobs)?,
                error: error
                    .as_ref()
                    .map(|error| ErrorV1::of(error, blobs))
                    .transpose()?,
                handled: *handled,
                reason: reason.as_ref().map(ReasonV1::of).transpose()?,
                started_ns: started.map(nanos),
            },
        ),
        Record::Ended { status } => body(
            "ended",
            &EndedV1 {
                status: status.as_str().into(),
            },
        ),
    }
}

fn read(kind: &str, body: &str, find: Find<'_>) -> Result<Record, String> {
    Ok(match kind {
        "opened" => {
            let OpenedV1 { digest, header } = parse(body)?;
            Record::Opened {
                // The store knows it, see `Entries`.
                run: None,
                digest,
                header: header.whole(find)?,
            }
        }
        "sent" => {
            let call: CallV1 = parse(body)?;
            Record::Sent {
                at: call.at.read()?,
                server: call.server,
                tool: call.tool,
                attempt: call.attempt.ok_or("a call has no attempt")?,
                args: call.args.whole(find)?,
                consent: call.consent,
            }
        }
        "answered" => {
            let answered: AnsweredV1 = parse(body)?;
            Record::Answered {
                at: answered.at.read()?,
                attempt: answered.attempt,
                result: match answered.result {
                    AnswerV1::Output(output) => Ok(output.read(find)?),
                    AnswerV1::Error(error) => Err(error.read(find)?),
                },
            }
        }
        "given_up" => {
            let GivenUpV1 { at, attempt } = parse(body)?;
            Record::GivenUp {
                at: at.read()?,
                attempt,
            }
        }
        "asked" => {
            let call: CallV1 = parse(body)?;
            Record::Asked {
                at: call.at.read()?,
                subject: Box::new(CallSubject {
                    server: call.server,
                    tool: call.tool,
                    origin: call.origin,
                    definition: call.definition,
                    args: call.args.whole(find)?,
                    seal: call.seal,
                }),
                reason: call.reason,
            }
        }
        "decided" => {
            let decided: DecidedV1 = parse(body)?;
            Record::Decided {
                at: decided.at.read()?,
                approved: decided.approved,
                changed_args: decided
                    .changed_args
                    .map(|args| args.whole(find))
                    .transpose()?,
                because: decided.because,
            }
        }
        "chosen" => {
            let ChosenV1 { at, choice } = parse(body)?;
            Record::Chosen {
                at: at.read()?,
                choice: choice.read(find)?,
            }
        }
        "timer_fired" => {
            let TimerFiredV1 { at, timer } = parse(body)?;
            Record::TimerFired {
                at: at.read()?,
                timer: timer.into(),
            }
        }
        "extended" => {
            let ExtendedV1 { digest, steps } = parse(body)?;
            Record::Extended { digest, steps }
        }
        "closed" => parse(body).map(|EmptyV1 {}| Record::Closed)?,
        "cancelled" => parse(body).map(|EmptyV1 {}| Record::Cancelled)?,
        "out_of_time" => parse(body).map(|EmptyV1 {}| Record::OutOfTime)?,
        "paused" => parse(body).map(|PausedV1 { after }| Record::Paused { after })?,
        "went_on" => parse(body).map(|EmptyV1 {}| Record::WentOn)?,
        "settled" => {
            let settled: SettledV1 = parse(body)?;
            Record::Settled {
                at: settled.at.read()?,
                status: words::step_status(&settled.status)?,
                output: settled
                    .output
                    .map(|output| output.whole(find))
                    .transpose()?,
                error: settled.error.map(|error| error.read(find)).transpose()?,
                handled: settled.handled,
                reason: settled.reason.map(ReasonV1::read).transpose()?,
                started: settled.started_ns.map(Duration::from_nanos),
            }
        }
        "ended" => {
            let EndedV1 { status } = parse(body)?;
            Record::Ended {
                status: words::run_status(&status)?,
            }
        }
        other => return Err(format!("`{other}` is no kind of entry that is known here")),
    })
}

fn hold_some(
    value: Option<&planwright_core::Value>,
    blobs: &mut Vec<Blob>,
) -> Result<Option<HeldV1>, String> {
    value.map(|value| HeldV1::hold(value, blobs)).transpose()
}

fn body(kind: &'static str, body: &impl Serialize) -> Result<(&'static str, String), String> {
    let json = serde_json::to_string(body).map_err(|error| error.to_string())?;
    Ok((kind, json))
}

/// As SQLite counts.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
