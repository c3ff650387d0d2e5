//! A run has one id, one plan and one journal.

use std::sync::Arc;

use planwright::engine::journal::Journal;
use planwright::engine::{History, MemoryJournal, RunStatus, SpawnRequest};
use planwright::store::{LeaseHolder, NewRun, Store};
use planwright::{Error, Function, Functions, Planwright, Value, parse};
use tokio::sync::Notify;

use super::bank::{Bank, PAY};

/// Looks, then pays Eve: its step `look` has the id of another plan's.
const OTHER: &str = r#"{"steps": [
    {"id": "look", "value": 7},
    {"id": "pay", "tool": "pay", "args": {"to": "eve"}, "after": ["look"]}
]}"#;

async fn bank() -> (Bank, Planwright) {
    let bank = Bank::default();
    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    (bank, planwright)
}

/// A run of `PAY` whose journal is in memory.
async fn ran(planwright: &Planwright, id: &str) -> MemoryJournal {
    let journal = MemoryJournal::new();
    let plan = planwright.check(parse(PAY)).unwrap();
    let run = planwright
        .run(plan)
        .id(id.parse().unwrap())
        .journal(journal.clone(), Value::Null);
    assert_eq!(run.await.unwrap().status, RunStatus::Succeeded);
    journal
}

#[tokio::test]
async fn the_history_of_another_plan_is_refused() {
    let (bank, planwright) = bank().await;
    let journal = ran(&planwright, "r1").await;
    let history = History::new(&journal.entries());
    let other = planwright.check(parse(OTHER)).unwrap();
    let run = planwright
        .run(other)
        .id("r1".parse().unwrap())
        .after(history.clone());
    let error = run.await.unwrap_err();
    assert!(matches!(error, Error::OtherPlan), "{error}");
    // The plan itself is resumed, under the id that it has.
    let plan = planwright.check(parse(PAY)).unwrap();
    let run = planwright.run(plan).after(history).start().unwrap();
    assert_eq!(*run.id(), "r1");
    assert_eq!(run.await.status, RunStatus::Succeeded);
    assert_eq!((bank.looks(), bank.paid()), (1, vec!["ada".to_owned()]));
}

#[tokio::test]
async fn an_extended_plan_is_resumed_as_a_whole() {
    let (bank, planwright) = bank().await;
    let first = r#"{"steps": [{"id": "look", "tool": "look"}]}"#;
    let more = r#"{"steps": [{"id": "pay", "tool": "pay", "args": {"to": "ada"}}]}"#;
    let plan = planwright.check(parse(first)).unwrap();
    let journal = MemoryJournal::new();
    let run = planwright
        .run(plan.clone())
        .id("r".parse().unwrap())
        .growing();
    let mut run = run.journal(journal.clone(), Value::Null).start().unwrap();
    run.extend(more).unwrap();
    let whole = run.plan().clone();
    run.finish().await;
    let history = History::new(&journal.entries());
    let error = planwright
        .run(plan)
        .after(history.clone())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::OtherPlan), "{error}");
    planwright.run(whole).after(history).await.unwrap();
    assert_eq!((bank.looks(), bank.paid().len()), (1, 1));
}

/// Returns the error of a run of `PAY`.
async fn refusal(
    planwright: &Planwright,
    id: &str,
    journal: impl Journal,
    history: Option<History>,
) -> String {
    let plan = planwright.check(parse(PAY)).unwrap();
    let mut run = planwright
        .run(plan)
        .id(id.parse().unwrap())
        .journal(journal, Value::Null);
    if let Some(history) = history {
        run = run.after(history);
    }
    run.await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_journal_holds_one_run() {
    let (bank, planwright) = bank().await;
    let journal = ran(&planwright, "r1").await;
    let history = History::new(&journal.entries());
    let of_another = "the journal belongs to the run `r1`, not to `zzz`";
    assert_eq!(
        refusal(&planwright, "zzz", journal.clone(), None).await,
        of_another
    );
    let again = "the journal holds a run already, and the run was started without its history";
    assert_eq!(
        refusal(&planwright, "r1", journal.clone(), None).await,
        again
    );
    let other_history = "the history is that of the run `r1`, not of `zzz`";
    let found = refusal(&planwright, "zzz", journal.clone(), Some(history.clone())).await;
    assert_eq!(found, other_history);
    let new = refusal(
        &planwright,
        "zzz",
        MemoryJournal::new(),
        Some(history.clone()),
    )
    .await;
    assert_eq!(new, other_history);
    let entries = journal.entries();
    let stale = History::new(&entries[..entries.len() - 1]);
    let found = refusal(&planwright, "r1", journal.clone(), Some(stale)).await;
    let count = entries.len();
    assert_eq!(
        found,
        format!(
            "the journal has {count} entries, and the history was read from {}",
            count - 1
        )
    );
    assert_eq!((bank.looks(), bank.paid().len()), (1, 1));
}

fn new_run(id: &str) -> NewRun {
    NewRun {
        id: id.parse().unwrap(),
        plan: None,
        digest: "d".into(),
        dialect: None,
        steps: 2,
        created: std::time::SystemTime::UNIX_EPOCH,
        header: Value::Null,
    }
}

#[tokio::test]
async fn a_stored_journal_holds_one_run() {
    let (bank, planwright) = bank().await;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.db")).unwrap();
    let me = LeaseHolder::this_process("here", std::time::SystemTime::UNIX_EPOCH);
    let held = |id: &str| store.create_run(new_run(id), &me).unwrap();
    let of_another = "the journal belongs to the run `r1`, not to `zzz`";
    assert_eq!(
        refusal(&planwright, "zzz", held("r1"), None).await,
        of_another
    );
    let plan = planwright.check(parse(PAY)).unwrap();
    let run = planwright.run(plan.clone()).id("r1".parse().unwrap());
    run.journal(store.lease_run("r1", &me).unwrap(), Value::Null)
        .await
        .unwrap();
    let again = "the journal holds a run already, and the run was started without its history";
    let journal = store.lease_run("r1", &me).unwrap();
    assert_eq!(refusal(&planwright, "r1", journal, None).await, again);
    // Two runs of one plan have as many entries each.
    let run = planwright.run(plan).id("r2".parse().unwrap());
    run.journal(held("r2"), Value::Null).await.unwrap();
    let entries: Vec<_> = store.entries("r1").unwrap().map(Result::unwrap).collect();
    let journal = store.lease_run("r2", &me).unwrap();
    let found = refusal(&planwright, "r2", journal, Some(History::new(&entries))).await;
    assert_eq!(found, "the history is that of the run `r1`, not of `r2`");
    assert_eq!((bank.looks(), bank.paid().len()), (2, 2));
}

#[tokio::test]
async fn what_must_not_start_calls_nothing_on_the_engine_either() {
    let (bank, planwright) = bank().await;
    let journal = ran(&planwright, "r1").await;
    let plan = planwright.check(parse(PAY)).unwrap();
    let used: Arc<dyn Journal> = Arc::new(journal);
    let starts = [
        SpawnRequest::new("zzz".parse().unwrap(), plan.clone())
            .with_journal(Arc::clone(&used), Value::Null),
        SpawnRequest::new("r1".parse().unwrap(), plan).with_journal(used, Value::Null),
    ];
    for start in starts {
        let reason = start.check().unwrap_err().to_string();
        let (handle, _events) = planwright.engine().spawn(start);
        let summary = handle.await;
        assert_eq!(summary.status, RunStatus::Failed);
        assert_eq!(summary.journal_error.unwrap().to_string(), reason);
    }
    assert_eq!((bank.looks(), bank.paid().len()), (1, 1));
}

#[tokio::test]
async fn no_two_runs_in_progress_have_one_id() {
    let begun = Arc::new(Notify::new());
    let go_on = Arc::new(Notify::new());
    let (tell, hear) = (Arc::clone(&begun), Arc::clone(&go_on));
    let gate = Function::new("gate", move |(): ()| {
        let (tell, hear) = (Arc::clone(&tell), Arc::clone(&hear));
        async move {
            tell.notify_one();
            hear.notified().await;
            Ok::<_, planwright::ToolError>(())
        }
    });
    let functions = Functions::new().with(gate);
    let planwright = Planwright::builder()
        .functions(functions)
        .open()
        .await
        .unwrap();
    let plan = planwright
        .check(parse(r#"{"steps": [{"id": "a", "tool": "gate"}]}"#))
        .unwrap();
    let first = planwright
        .run(plan.clone())
        .id("r".parse().unwrap())
        .start()
        .unwrap();
    begun.notified().await;
    // A clone is the same.
    let second = planwright
        .clone()
        .run(plan.clone())
        .id("r".parse().unwrap());
    let error = second.await.unwrap_err();
    assert!(
        matches!(&error, Error::InProgress(id) if *id == "r"),
        "{error}"
    );
    go_on.notify_one();
    assert_eq!(first.await.status, RunStatus::Succeeded);
    go_on.notify_one();
    let again = planwright.run(plan).id("r".parse().unwrap()).await.unwrap();
    assert_eq!(again.status, RunStatus::Succeeded);
}
