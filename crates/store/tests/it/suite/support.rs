//! Fixtures: runs and entries.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_executor::block_on;
use planwright_core::{StepId, Value};
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Journal, JournalError, Record};
use planwright_engine::{RunStatus, StepStatus, ToolOutput};
use planwright_store::{LeaseHolder, LeasedRun, NewRun, Store};

pub(crate) fn time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

pub(crate) fn me() -> LeaseHolder {
    LeaseHolder::this_process("here", time(1))
}

pub(crate) fn new_run(id: &str) -> NewRun {
    NewRun {
        id: id.parse().unwrap(),
        plan: Some("weather".to_owned()),
        digest: "d1".into(),
        dialect: Some("native".to_owned()),
        steps: 3,
        created: time(1000),
        header: Value::object([("schema", Value::from("test/1"))]),
    }
}

pub(crate) fn create(store: &Store, id: &str) -> LeasedRun {
    store.create_run(new_run(id), &me()).unwrap()
}

pub(crate) fn append(run: &LeasedRun, entries: Vec<Entry>) -> Result<(), JournalError> {
    block_on(run.append(entries))
}

pub(crate) fn read(store: &Store, id: &str) -> Vec<Entry> {
    store.entries(id).unwrap().map(Result::unwrap).collect()
}

pub(crate) fn entry(turn: u64, record: Record) -> Entry {
    Entry {
        at: Duration::from_millis(turn),
        turn,
        record,
    }
}

pub(crate) fn at(step: &str) -> Arc<Address> {
    Arc::new(Address {
        inside: None,
        instance: None,
        step: StepId::from(step),
        item: None,
        round: None,
    })
}

pub(crate) fn opened() -> Record {
    Record::Opened {
        run: None,
        digest: "d1".into(),
        header: Value::Null,
    }
}

pub(crate) fn ended(status: RunStatus) -> Record {
    Record::Ended { status }
}

/// Returns the records of a step with one call: sent, answered, settled.
pub(crate) fn step(id: &str, output: &Value) -> [Record; 3] {
    [
        Record::Sent {
            at: at(id),
            server: "s".into(),
            tool: "t".into(),
            attempt: 1,
            args: Value::object([("city", Value::from("Oslo"))]),
            consent: None,
        },
        Record::Answered {
            at: at(id),
            attempt: 1,
            result: Ok(ToolOutput::value(output.clone())),
        },
        Record::Settled {
            at: at(id),
            status: StepStatus::Succeeded,
            output: None,
            error: None,
            handled: false,
            reason: None,
            started: Some(Duration::from_millis(1)),
        },
    ]
}

/// Returns `records` as entries of consecutive turns.
pub(crate) fn entries(records: impl IntoIterator<Item = Record>) -> Vec<Entry> {
    (0..)
        .zip(records)
        .map(|(turn, record)| entry(turn, record))
        .collect()
}
