//! Stored runs, compared with plain SQLite commits.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use std::fmt::Display;

use planwright_core::Value;
use planwright_core::check::CheckedPlan;
use planwright_engine::RunId;
use planwright_engine::journal::Entry;
use planwright_engine::run::History;
use planwright_engine::{Engine, RunStatus, RunSummary, SpawnRequest};
use planwright_store::{LeaseHolder, NewRun, Store};
use rusqlite::Connection;
use serde_json::json;

use crate::{engine, plans};

/// Creates a table in `file`, with the settings of the store.
///
/// # Panics
///
/// If the file cannot be written to.
pub fn bare(file: &Path) -> Connection {
    let connection = Connection::open(file).expect("a file");
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, body TEXT) STRICT;",
        )
        .expect("a table");
    connection
}

/// Commits `count` rows to the table that [`bare`] has created, one at a time.
///
/// # Panics
///
/// If the file cannot be written to.
pub fn bare_commits(connection: &mut Connection, count: u32) {
    let body = "x".repeat(300);
    for _ in 0..count {
        let change = connection.transaction().expect("a transaction");
        change
            .prepare_cached("INSERT INTO entries (body) VALUES (?1)")
            .and_then(|mut insert| insert.execute([&body]))
            .expect("a row");
        change.commit().expect("a commit");
    }
}

/// Returns the id of the run `number`.
///
/// # Panics
///
/// Never: the text is an id.
pub fn run_id(number: impl Display) -> RunId {
    format!("run-{number}").parse().expect("an id")
}

/// Runs a plan to its end, and stores the run in `store`.
///
/// # Panics
///
/// If it does not succeed, or cannot be stored.
pub async fn run(engine: &Engine, store: &Store, id: &RunId, plan: CheckedPlan) -> RunSummary {
    let leased = store.create_run(new(id, &plan), &holder()).expect("a run");
    let start = SpawnRequest::new(id.clone(), plan).with_journal(Arc::new(leased), Value::Null);
    let (handle, events) = engine.spawn(start);
    drop(events);
    let summary = handle.await;
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert!(summary.journal_error.is_none());
    summary
}

/// Reads the journal of a run that has ended, and resumes it. No call remains to be made.
///
/// # Panics
///
/// If a call remains.
pub async fn resume(engine: &Engine, store: &Store, id: &RunId, plan: CheckedPlan) -> RunSummary {
    let leased = store.lease_run(id.as_str(), &holder()).expect("the run");
    let entries = store.entries(id.as_str()).expect("its entries");
    let entries: Vec<Entry> = entries.collect::<Result<_, _>>().expect("its entries");
    let history = History::new(&entries);
    let start = SpawnRequest::new(id.clone(), plan)
        .after(history)
        .with_journal(Arc::new(leased), Value::Null);
    let (handle, events) = engine.spawn(start);
    drop(events);
    let summary = handle.await;
    assert_eq!(summary.status, RunStatus::Succeeded);
    summary
}

/// Returns a plan of one step that calls `noop` for each of `items` items.
pub fn for_each(items: usize) -> CheckedPlan {
    let items: Vec<usize> = (0..items).collect();
    let text = json!({"steps": [
        {"id": "all", "tool": "noop", "for_each": items, "args": {"n": "${item}"}}
    ], "output": []});
    plans::checked(&text.to_string(), &engine::catalog())
}

fn new(id: &RunId, plan: &CheckedPlan) -> NewRun {
    NewRun {
        id: id.clone(),
        plan: None,
        digest: plan.digest().clone(),
        dialect: None,
        steps: plan.steps().len(),
        created: SystemTime::UNIX_EPOCH,
        header: Value::Null,
    }
}

fn holder() -> LeaseHolder {
    LeaseHolder::this_process("bench", SystemTime::UNIX_EPOCH)
}
