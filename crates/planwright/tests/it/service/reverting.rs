//! Runs that undo what other runs did: in reverse order, never twice, whatever is killed.

use std::sync::{Arc, Mutex};

use planwright::engine::RunStatus;
use planwright::schemars::{self, JsonSchema};
use planwright::service::PlannedUndo;
use planwright::store::Store;
use planwright::stored::{StoredRunError, reverts_of};
use planwright::{Error, Function, Functions, Planwright, ToolError, parse};
use serde::Deserialize;
use tokio::sync::Notify;

use super::stored::Disk;

/// Four events, each with an undo: one, two in a loop, one in an inner plan.
const PLAN: &str = r#"{"steps": [
    {"id": "one", "tool": "create", "args": {"name": "a"}, "undo": UNDO},
    {"id": "each", "for_each": ["b", "c"], "max_parallel": 1, "tool": "create", "args": {"name": "${item}"}, "after": ["one"], "undo": UNDO},
    {"id": "inner", "plan": {"steps": [{"id": "deep", "tool": "create", "args": {"name": "d"}, "undo": UNDO}]}, "after": ["each"]}]}"#;

const UNDO: &str =
    r#"{"tool": "delete", "arguments": {"id": "${output}", "name": "${arguments.name}"}}"#;

#[derive(Deserialize, JsonSchema)]
struct New {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Old {
    id: String,
    name: String,
}

/// The moment at which a process dies: in a call that deletes, before or after its effect.
#[derive(Clone, Copy, Debug)]
struct Death {
    delete: usize,
    has_effect: bool,
}

#[derive(Default)]
struct Events {
    created: Vec<String>,
    deleted: Vec<String>,
    deletes: usize,
    death: Option<Death>,
}

/// A calendar whose effects are recorded, and in which a call may never return.
#[derive(Clone, Default)]
struct Calendar {
    events: Arc<Mutex<Events>>,
    has_died: Arc<Notify>,
}

impl Calendar {
    async fn open(&self, store: &Store) -> Planwright {
        let calendar = self.clone();
        let create = Function::new("create", move |new: New| {
            let calendar = calendar.clone();
            async move {
                let mut events = calendar.events.lock().unwrap();
                events.created.push(new.name.clone());
                Ok::<_, ToolError>(format!("id of {}", new.name))
            }
        });
        let calendar = self.clone();
        let delete = Function::new("delete", move |old: Old| {
            let calendar = calendar.clone();
            async move {
                assert_eq!(old.id, format!("id of {}", old.name));
                let is_death = {
                    let mut events = calendar.events.lock().unwrap();
                    let number = events.deletes;
                    events.deletes += 1;
                    let death = events.death.filter(|death| death.delete == number);
                    if death.is_none_or(|death| death.has_effect) {
                        events.deleted.push(old.name);
                    }
                    death.is_some()
                };
                if is_death {
                    calendar.has_died.notify_one();
                    std::future::pending::<()>().await;
                }
                Ok::<_, ToolError>("deleted")
            }
        });
        let note = Function::new("note", |(): ()| async { Ok::<_, ToolError>("noted") });
        let fail = Function::new("fail", |(): ()| async {
            Err::<(), _>(ToolError::tool("no", planwright::Value::Null))
        });
        let functions = Functions::named("calendar")
            .with(create)
            .with(delete)
            .with(note)
            .with(fail);
        let builder = Planwright::builder().functions(functions);
        builder.open().await.unwrap().with_store(store)
    }

    fn deleted(&self) -> String {
        self.events.lock().unwrap().deleted.join(" ")
    }
}

/// Runs `plan`, with undos for `UNDO`, under the id `order`.
async fn run(planwright: &Planwright, store: &Store, plan: &str) -> planwright::RunSummary {
    let plan = planwright.check(parse(plan.replace("UNDO", UNDO))).unwrap();
    let run = planwright.run(plan);
    run.stored_in(store, "order".parse().unwrap())
        .await
        .unwrap()
}

/// Reverts the run `order` as far as possible. Returns what is undone and what is in doubt.
async fn revert(planwright: &Planwright) -> (Vec<PlannedUndo>, Vec<String>) {
    let prepared = planwright.prepare_revert("order", None).await.unwrap();
    let undos = prepared.revert.undos.clone();
    let in_doubt = prepared.revert.in_doubt.iter();
    let in_doubt = in_doubt.map(|call| call.at.to_string()).collect();
    if let Some(run) = prepared.start().unwrap() {
        assert_eq!(run.finish().await.status, RunStatus::Succeeded);
    }
    (undos, in_doubt)
}

#[tokio::test]
async fn a_run_is_undone_in_reverse_order() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open(&store).await;
    assert_eq!(
        run(&planwright, &store, PLAN).await.status,
        RunStatus::Succeeded
    );
    let (undos, in_doubt) = revert(&planwright).await;
    let calls: Vec<String> = undos.iter().map(|undo| undo.at.to_string()).collect();
    assert_eq!(calls, ["inner/deep", "each[1]", "each[0]", "one"]);
    assert!(in_doubt.is_empty());
    assert_eq!(calendar.deleted(), "d c b a");
    // Undone calls are not undone again.
    let prepared = planwright.prepare_revert("order", None).await.unwrap();
    assert!(prepared.revert.undos.is_empty() && prepared.revert.is_complete());
    assert_eq!(prepared.revert.undone_before, 4);
    drop(prepared);
    // A run whose results are gone is not continued.
    let resumed = planwright.resume(&store, "order".parse().unwrap()).await;
    assert!(
        matches!(resumed, Err(Error::StoredRun(StoredRunError::Reverted(_)))),
        "{resumed:?}"
    );
}

#[tokio::test]
async fn a_part_of_a_run_is_undone_and_then_the_rest() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open(&store).await;
    run(&planwright, &store, PLAN).await;
    let prepared = planwright.prepare_revert("order", Some("each[1]")).await;
    let run = prepared.unwrap().start().unwrap().unwrap();
    run.finish().await;
    assert_eq!(calendar.deleted(), "d c");
    revert(&planwright).await;
    assert_eq!(calendar.deleted(), "d c b a");
    let missing = planwright.prepare_revert("order", Some("two")).await;
    assert!(matches!(
        missing,
        Err(Error::StoredRun(StoredRunError::NoCall(step))) if step == "two"
    ));
}

#[tokio::test]
async fn a_revert_that_is_killed_at_any_call_undoes_nothing_twice_and_loses_nothing() {
    for delete in 0..4 {
        for has_effect in [false, true] {
            let death = Death { delete, has_effect };
            let (disk, calendar) = (Disk::new(), Calendar::default());
            let store = disk.open();
            let planwright = calendar.open(&store).await;
            run(&planwright, &store, PLAN).await;
            calendar.events.lock().unwrap().death = Some(death);
            let prepared = planwright.prepare_revert("order", None).await.unwrap();
            let killed = prepared.revert.id.clone();
            let run = prepared.start().unwrap().unwrap();
            calendar.has_died.notified().await;
            run.abandon().await;
            drop(planwright);

            let planwright = calendar.open(&store).await;
            let doubtful = ["inner/deep", "each[1]", "each[0]", "one"][delete];
            let (undos, in_doubt) = revert(&planwright).await;
            assert_eq!(in_doubt, [doubtful], "{death:?}");
            assert_eq!(undos.len(), 3 - delete, "{death:?}");
            let lost = if has_effect {
                ""
            } else {
                ["d", "c", "b", "a"][delete]
            };
            let all = ["d", "c", "b", "a"].into_iter();
            let expected: Vec<&str> = all.filter(|name| *name != lost).collect();
            assert_eq!(calendar.deleted(), expected.join(" "), "{death:?}");
            // The call in doubt stays in doubt, and nothing else is left.
            let (undos, in_doubt) = revert(&planwright).await;
            assert!(undos.is_empty(), "{death:?}");
            assert_eq!(in_doubt, [doubtful], "{death:?}");
            // The revert that was killed has no calls of its own any more, unless no other followed it.
            let resumed = planwright.resume(&store, killed).await;
            if delete < 3 {
                assert!(
                    matches!(
                        resumed,
                        Err(Error::StoredRun(StoredRunError::Superseded(_)))
                    ),
                    "{resumed:?}"
                );
            } else {
                assert_eq!(resumed.unwrap().status, RunStatus::Waiting);
            }
            assert_eq!(calendar.deleted(), expected.join(" "), "{death:?}");
        }
    }
}

#[tokio::test]
async fn a_revert_that_is_killed_is_resumed() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open(&store).await;
    run(&planwright, &store, PLAN).await;
    calendar.events.lock().unwrap().death = Some(Death {
        delete: 1,
        has_effect: true,
    });
    let prepared = planwright.prepare_revert("order", None).await.unwrap();
    let killed = prepared.revert.id.clone();
    let run = prepared.start().unwrap().unwrap();
    calendar.has_died.notified().await;
    // Two reverts of one run never go on at the same time.
    let other = planwright.prepare_revert("order", None).await;
    assert!(matches!(
        other,
        Err(Error::StoredRun(StoredRunError::Store(_)))
    ));
    run.abandon().await;
    let resumed = planwright.resume(&store, killed.clone());
    let resumed = resumed.skip("undo_each_1").await.unwrap();
    assert_eq!(resumed.run, killed);
    assert_eq!(calendar.deleted(), "d c b a");
}

#[tokio::test]
async fn a_failed_run_is_undone_if_its_plan_wants_that() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open(&store).await;
    let plan = r#"{"on_failure": "revert", "steps": [
        {"id": "one", "tool": "create", "args": {"name": "a"}, "undo": UNDO},
        {"id": "note", "tool": "note", "after": ["one"]},
        {"id": "fail", "tool": "fail", "after": ["note"]},
        {"id": "never", "tool": "create", "args": {"name": "b"}, "after": ["fail"], "undo": UNDO}]}"#;
    let checked = planwright.check(parse(plan.replace("UNDO", UNDO))).unwrap();
    let unstored = planwright.run(checked).await;
    assert!(matches!(
        unstored,
        Err(Error::StoredRun(StoredRunError::NotStored))
    ));
    assert_eq!(calendar.deleted(), "");
    let summary = run(&planwright, &store, plan).await;
    assert_eq!(summary.status, RunStatus::Failed);
    let revert = summary.revert.unwrap();
    assert_eq!(revert.status, Some(RunStatus::Succeeded));
    assert_eq!(revert.error, None);
    let unreverted: Vec<&str> = revert.unreverted.iter().map(|at| &**at).collect();
    assert_eq!(unreverted, ["note"]);
    assert_eq!(calendar.deleted(), "a");
    let (reverts, _) = reverts_of(&store, &summary.run).unwrap();
    let runs: Vec<_> = reverts.into_iter().map(|(run, _)| Some(run)).collect();
    assert_eq!(runs, [revert.run]);
}
