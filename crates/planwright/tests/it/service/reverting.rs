//! Runs that undo what other runs did: in reverse order, never twice, whatever is killed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use planwright::engine::{Decision, RunStatus};
use planwright::schemars::{self, JsonSchema};
use planwright::service::PlannedUndo;
use planwright::store::{Store, StoreError};
use planwright::stored::{
    Decider, OpenQuestion, StoredRunError, export, open_questions, reverts_of,
};
use planwright::{Error, Function, Functions, Planwright, ToolError, Value, parse};
use serde::Deserialize;
use tokio::sync::Notify;

use super::stored::Disk;

/// Four events, each with an undo: one, two in a loop, one in an inner plan.
const PLAN: &str = r#"{"steps": [
    {"id": "one", "tool": "create", "args": {"name": "a"}, "undo": UNDO},
    {"id": "each", "for_each": ["b", "c"], "max_parallel": 1, "tool": "create", "args": {"name": "${item}"}, "after": ["one"], "undo": UNDO},
    {"id": "inner", "plan": {"steps": [{"id": "deep", "tool": "create", "args": {"name": "d"}, "undo": UNDO}]}, "after": ["each"]}]}"#;

/// A plan that is undone when it fails.
const FAILING: &str = r#"{"on_failure": "revert", "steps": [
    {"id": "one", "tool": "create", "args": {"name": "a"}, "undo": UNDO},
    {"id": "note", "tool": "note", "after": ["one"]},
    {"id": "fail", "tool": "fail", "after": ["note"]},
    {"id": "never", "tool": "create", "args": {"name": "b"}, "after": ["fail"], "undo": UNDO}]}"#;

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

/// The moment at which a process dies: in a call of a tool, before or after its effect.
#[derive(Clone, Copy, Debug)]
struct Death {
    tool: &'static str,
    call: usize,
    has_effect: bool,
}

impl Death {
    fn in_delete(call: usize, has_effect: bool) -> Self {
        Self {
            tool: "delete",
            call,
            has_effect,
        }
    }
}

#[derive(Default)]
struct Events {
    created: Vec<String>,
    deleted: Vec<String>,
    /// The number of calls so far, by tool.
    calls: BTreeMap<&'static str, usize>,
    death: Option<Death>,
    /// True if no event can be deleted.
    refuses: bool,
}

/// A calendar whose effects are recorded, and in which a call may never return.
#[derive(Clone, Default)]
struct Calendar {
    events: Arc<Mutex<Events>>,
    has_died: Arc<Notify>,
}

impl Calendar {
    /// Makes a call with this effect, unless the process dies in it.
    async fn call(&self, tool: &'static str, effect: impl FnOnce(&mut Events)) {
        let is_death = {
            let mut events = self.events.lock().unwrap();
            let calls = events.calls.entry(tool).or_default();
            let number = *calls;
            *calls += 1;
            let is_it = |death: &Death| death.tool == tool && death.call == number;
            let death = events.death.filter(is_it);
            if death.is_none_or(|death| death.has_effect) {
                effect(&mut events);
            }
            death.is_some()
        };
        if is_death {
            self.has_died.notify_one();
            std::future::pending::<()>().await;
        }
    }

    fn dies(&self, death: Death) {
        self.events.lock().unwrap().death = Some(death);
    }

    fn refuses(&self, refuses: bool) {
        self.events.lock().unwrap().refuses = refuses;
    }

    async fn open(&self, store: &Store) -> Planwright {
        self.open_asking(store, false).await
    }

    /// Opens the tools; with `asks`, a person has to approve each call that deletes.
    async fn open_asking(&self, store: &Store, asks: bool) -> Planwright {
        let calendar = self.clone();
        let create = Function::new("create", move |new: New| {
            let calendar = calendar.clone();
            async move {
                let id = format!("id of {}", new.name);
                let create = |events: &mut Events| events.created.push(new.name);
                calendar.call("create", create).await;
                Ok::<_, ToolError>(id)
            }
        });
        let calendar = self.clone();
        let delete = Function::new("delete", move |old: Old| {
            let calendar = calendar.clone();
            async move {
                assert_eq!(old.id, format!("id of {}", old.name));
                if calendar.events.lock().unwrap().refuses {
                    return Err(ToolError::tool("the calendar is closed", Value::Null));
                }
                let delete = |events: &mut Events| events.deleted.push(old.name);
                calendar.call("delete", delete).await;
                Ok("deleted")
            }
        });
        let delete = if asks {
            delete.needs_approval()
        } else {
            delete
        };
        let note = Function::new("note", |(): ()| async { Ok::<_, ToolError>("noted") });
        let fail = Function::new("fail", |(): ()| async {
            Err::<(), _>(ToolError::tool("no", Value::Null))
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
            let death = Death::in_delete(delete, has_effect);
            let (disk, calendar) = (Disk::new(), Calendar::default());
            let store = disk.open();
            let planwright = calendar.open(&store).await;
            run(&planwright, &store, PLAN).await;
            calendar.dies(death);
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
async fn of_reverts_that_are_killed_twice_nothing_is_undone_twice_or_lost() {
    const CALLS: [&str; 4] = ["inner/deep", "each[1]", "each[0]", "one"];
    const STEPS: [&str; 4] = ["undo_inner_deep", "undo_each_1", "undo_each_0", "undo_one"];
    const NAMES: [&str; 4] = ["d", "c", "b", "a"];
    for (first, undo) in STEPS.into_iter().enumerate() {
        for second in first + 1..=4 {
            for choice in 0..8 {
                let [happened, happens_later, is_settled] = [1, 2, 4].map(|bit| choice & bit != 0);
                let case = (first, second, happened, happens_later, is_settled);
                let (disk, calendar) = (Disk::new(), Calendar::default());
                let store = disk.open();
                let planwright = calendar.open(&store).await;
                run(&planwright, &store, PLAN).await;
                calendar.dies(Death::in_delete(first, happened));
                let prepared = planwright.prepare_revert("order", None).await.unwrap();
                let killed = prepared.revert.id.clone();
                let undoing = prepared.start().unwrap().unwrap();
                calendar.has_died.notified().await;
                undoing.abandon().await;

                // A person says what became of the call, or another run undoes the rest. It is killed as well.
                calendar.dies(Death::in_delete(second, happens_later));
                let rest = if is_settled {
                    let resume = planwright.resume(&store, killed);
                    let resume = if happened {
                        resume.set(undo, "deleted")
                    } else {
                        resume.retry(undo)
                    };
                    Some(resume.start().unwrap())
                } else {
                    let prepared = planwright.prepare_revert("order", None).await.unwrap();
                    prepared.start().unwrap()
                };
                let calls = 3 - first + usize::from(is_settled && !happened);
                match rest {
                    Some(rest) if second <= first + calls => {
                        calendar.has_died.notified().await;
                        rest.abandon().await;
                    }
                    Some(rest) => assert_eq!(rest.finish().await.status, RunStatus::Succeeded),
                    None => assert_eq!(calls, 0, "{case:?}"),
                }
                let (_, in_doubt) = revert(&planwright).await;
                let deleted = calendar.deleted();
                for (name, call) in NAMES.iter().zip(CALLS) {
                    let times = deleted.split(' ').filter(|one| one == name).count();
                    let is_doubtful = in_doubt.iter().any(|doubt| doubt == call);
                    assert!(times <= 1 && (times == 1 || is_doubtful), "{case:?} {name}");
                }
                let unsettled = usize::from(!is_settled) + usize::from(second <= first + calls);
                assert_eq!(in_doubt.len(), unsettled, "{case:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_revert_that_is_killed_is_resumed() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open(&store).await;
    run(&planwright, &store, PLAN).await;
    calendar.dies(Death::in_delete(1, true));
    let prepared = planwright.prepare_revert("order", None).await.unwrap();
    let killed = prepared.revert.id.clone();
    let run = prepared.start().unwrap().unwrap();
    calendar.has_died.notified().await;
    // Two reverts of one run never go on at the same time.
    let elsewhere = calendar.open(&disk.open()).await;
    for process in [&planwright, &elsewhere] {
        let other = process.prepare_revert("order", None).await;
        assert!(matches!(
            other,
            Err(Error::StoredRun(StoredRunError::Store(
                StoreError::Leased { .. }
            )))
        ));
    }
    run.abandon().await;
    let resumed = planwright.resume(&store, killed.clone());
    let resumed = resumed.skip("undo_each_1").await.unwrap();
    assert_eq!(resumed.run, killed);
    assert_eq!(calendar.deleted(), "d c b a");
}

#[tokio::test]
async fn an_undo_that_a_person_settles_counts_as_undone() {
    // Its outcome is unknown, or it failed.
    for is_killed in [true, false] {
        let (disk, calendar) = (Disk::new(), Calendar::default());
        let store = disk.open();
        let planwright = calendar.open(&store).await;
        run(&planwright, &store, PLAN).await;
        calendar.dies(Death::in_delete(0, false));
        calendar.refuses(!is_killed);
        let prepared = planwright.prepare_revert("order", None).await.unwrap();
        let first = prepared.revert.id.clone();
        let run = prepared.start().unwrap().unwrap();
        if is_killed {
            calendar.has_died.notified().await;
            run.abandon().await;
        } else {
            assert_eq!(run.finish().await.status, RunStatus::Failed);
            calendar.refuses(false);
        }
        // The person has undone the first call, and will undo the last one. The process dies before it comes to that.
        calendar.dies(Death::in_delete(usize::from(is_killed) + 1, true));
        let resumed = planwright.resume(&store, first);
        let resumed = resumed.set("undo_inner_deep", "deleted");
        let resumed = resumed.set("undo_one", "deleted").start().unwrap();
        calendar.has_died.notified().await;
        resumed.abandon().await;
        let prepared = planwright.prepare_revert("order", None).await.unwrap();
        assert!(prepared.revert.undos.is_empty(), "{prepared:?}");
        assert_eq!(prepared.revert.undone_before, 3);
        let in_doubt: Vec<String> = prepared
            .revert
            .in_doubt
            .iter()
            .map(|call| call.at.to_string())
            .collect();
        assert_eq!(in_doubt, ["each[0]"]);
        assert_eq!(calendar.deleted(), "c b");
    }
}

#[tokio::test]
async fn a_call_that_a_person_settles_is_undone_if_it_happened() {
    for happened in [true, false] {
        let (disk, calendar) = (Disk::new(), Calendar::default());
        let store = disk.open();
        let planwright = calendar.open(&store).await;
        calendar.dies(Death {
            tool: "create",
            call: 0,
            has_effect: happened,
        });
        let plan = planwright.check(parse(PLAN.replace("UNDO", UNDO))).unwrap();
        let order = planwright
            .run(plan)
            .stored_in(&store, "order".parse().unwrap());
        let order = order.start().unwrap();
        calendar.has_died.notified().await;
        order.abandon().await;
        let prepared = planwright.prepare_revert("order", None).await.unwrap();
        assert_eq!(prepared.revert.in_doubt.len(), 1);
        drop(prepared);
        let resumed = planwright.resume(&store, "order".parse().unwrap());
        let resumed = if happened {
            resumed.set("one", "id of a")
        } else {
            resumed.retry("one")
        };
        assert_eq!(resumed.await.unwrap().status, RunStatus::Succeeded);
        let (_, in_doubt) = revert(&planwright).await;
        assert!(in_doubt.is_empty(), "{in_doubt:?}");
        assert_eq!(calendar.deleted(), "d c b a");
    }
}

#[tokio::test]
async fn a_run_is_exported_with_its_reverts() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open(&store).await;
    run(&planwright, &store, PLAN).await;
    let part = planwright.prepare_revert("order", Some("each[1]")).await;
    let first = part.unwrap().start().unwrap().unwrap().finish().await.run;
    let text = export(&store, "order").unwrap().text;
    let text_of_revert = export(&store, first.as_str()).unwrap().text;
    for text in [text, text_of_revert] {
        let there = Disk::new();
        let store = there.open();
        store.import(&text).unwrap();
        let there = planwright.with_store(&store);
        let prepared = there.prepare_revert("order", None).await.unwrap();
        assert_eq!(prepared.revert.undone_before, 2);
        let undos = prepared.revert.undos.iter().map(|undo| undo.at.to_string());
        assert_eq!(undos.collect::<Vec<_>>(), ["each[0]", "one"]);
        drop(prepared);
        let resumed = there.resume(&store, "order".parse().unwrap()).await;
        assert!(
            matches!(resumed, Err(Error::StoredRun(StoredRunError::Reverted(_)))),
            "{resumed:?}"
        );
    }
    assert_eq!(calendar.deleted(), "d c");
}

#[tokio::test]
async fn a_failed_run_is_undone_if_its_plan_wants_that() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open(&store).await;
    let checked = FAILING.replace("UNDO", UNDO);
    let checked = planwright.check(parse(checked)).unwrap();
    let unstored = planwright.run(checked).await;
    assert!(matches!(
        unstored,
        Err(Error::StoredRun(StoredRunError::NotStored))
    ));
    assert_eq!(calendar.deleted(), "");
    let summary = run(&planwright, &store, FAILING).await;
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

/// Waits until a call of the run that reverts `order` waits for a decision.
async fn asked(store: &Store) -> OpenQuestion {
    let mut changes = store.watch_changes().unwrap();
    loop {
        changes.next().await.unwrap();
        let (reverts, _) = reverts_of(store, &"order".parse().unwrap()).unwrap();
        let Some((revert, _)) = reverts.first() else {
            continue;
        };
        let open = open_questions(store, revert.as_str()).unwrap();
        if let Some(question) = open.into_iter().next() {
            return question;
        }
    }
}

#[tokio::test]
async fn an_undo_after_a_failure_is_decided_in_the_store() {
    let decisions = [
        (Some(Decision::Approve { args: None }), RunStatus::Succeeded),
        (Some(Decision::Reject { because: None }), RunStatus::Failed),
        // The run has failed, and a request to cancel it ends its revert.
        (None, RunStatus::Cancelled),
    ];
    for (decision, status) in decisions {
        let (disk, calendar) = (Disk::new(), Calendar::default());
        let store = disk.open();
        let planwright = calendar.open_asking(&store, true).await;
        let plan = planwright
            .check(parse(FAILING.replace("UNDO", UNDO)))
            .unwrap();
        let run = planwright
            .run(plan)
            .stored_in(&store, "order".parse().unwrap())
            .wait_for_decisions()
            .start()
            .unwrap();
        let canceller = run.canceller();
        let ended = tokio::spawn(run.finish());
        let question = asked(&store).await;
        match decision {
            Some(decision) => {
                let by = Decider::new(Some("ada".to_owned()));
                let now = SystemTime::UNIX_EPOCH;
                question.decide(&store, decision, &by, now).unwrap();
            }
            None => canceller.cancel(),
        }
        let summary = ended.await.unwrap();
        assert_eq!(summary.status, RunStatus::Failed);
        let revert = summary.revert.unwrap();
        assert_eq!(
            (revert.run, revert.status),
            (Some(question.run), Some(status))
        );
        let is_undone = status == RunStatus::Succeeded;
        assert_eq!(calendar.deleted(), if is_undone { "a" } else { "" });
    }
}

#[tokio::test]
async fn a_run_has_one_revert_that_asks() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open_asking(&store, true).await;
    run(&planwright, &store, PLAN).await;
    // Of two processes, one begins the revert.
    let prepared = planwright.prepare_revert("order", None).await.unwrap();
    let elsewhere = calendar.open_asking(&disk.open(), true).await;
    assert!(elsewhere.prepare_revert("order", None).await.is_err());
    let first = prepared.start().unwrap().unwrap().finish().await;
    assert_eq!(first.status, RunStatus::Waiting);
    let second = elsewhere.prepare_revert("order", None).await;
    assert!(
        matches!(&second, Err(Error::StoredRun(StoredRunError::RevertWaits(run))) if *run == first.run),
        "{second:?}"
    );
    // Once its call is rejected, another one may follow.
    disk.decide(first.run.as_str(), Decision::Reject { because: None });
    let rejected = elsewhere.resume(&store, first.run).await.unwrap();
    assert_eq!(rejected.status, RunStatus::Failed);
    let again = planwright.prepare_revert("order", None).await.unwrap();
    assert_eq!(again.revert.undos.len(), 4);
    assert_eq!(calendar.deleted(), "");
}

#[tokio::test]
async fn a_rejected_revert_makes_room_for_another_before_it_is_resumed() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open_asking(&store, true).await;
    run(&planwright, &store, PLAN).await;
    let first = planwright.prepare_revert("order", None).await.unwrap();
    let first = first.start().unwrap().unwrap().finish().await;
    assert_eq!(first.status, RunStatus::Waiting);
    let refused = planwright.prepare_revert("order", None).await;
    assert!(matches!(
        refused,
        Err(Error::StoredRun(StoredRunError::RevertWaits(_)))
    ));
    // Its tools may be gone, so that it can never be resumed.
    disk.decide(first.run.as_str(), Decision::Reject { because: None });
    let prepared = planwright.prepare_revert("order", None).await.unwrap();
    assert_eq!(prepared.revert.undos.len(), 4);
    let second = prepared.start().unwrap().unwrap().finish().await;
    assert_eq!(second.status, RunStatus::Waiting);
    let resumed = planwright.resume(&store, first.run).await;
    assert!(
        matches!(&resumed, Err(Error::StoredRun(StoredRunError::Superseded(by))) if *by == second.run),
        "{resumed:?}"
    );
}

#[tokio::test]
async fn a_doubt_is_settled_after_a_later_revert() {
    for happened in [true, false] {
        let (disk, calendar) = (Disk::new(), Calendar::default());
        let store = disk.open();
        let planwright = calendar.open(&store).await;
        run(&planwright, &store, PLAN).await;
        calendar.dies(Death::in_delete(1, happened));
        let prepared = planwright.prepare_revert("order", None).await.unwrap();
        let killed = prepared.revert.id.clone();
        let undoing = prepared.start().unwrap().unwrap();
        calendar.has_died.notified().await;
        undoing.abandon().await;
        let (_, in_doubt) = revert(&planwright).await;
        assert_eq!(in_doubt, ["each[1]"]);
        // The rest is that of the later revert.
        let other = planwright.resume(&store, killed.clone());
        let other = other.set("undo_one", "deleted").await;
        assert!(
            matches!(other, Err(Error::StoredRun(StoredRunError::Superseded(_)))),
            "{other:?}"
        );
        let before = calendar.deleted();
        let settled = planwright.resume(&store, killed);
        let settled = if happened {
            settled.set("undo_each_1", "deleted")
        } else {
            settled.retry("undo_each_1")
        };
        assert_eq!(settled.await.unwrap().status, RunStatus::Cancelled);
        assert_eq!(calendar.deleted(), before);
        let (undos, in_doubt) = revert(&planwright).await;
        assert_eq!((undos.len(), in_doubt.len()), (usize::from(!happened), 0));
        let expected = if happened { "d c b a" } else { "d b a c" };
        assert_eq!(calendar.deleted(), expected);
        let (undos, in_doubt) = revert(&planwright).await;
        assert_eq!((undos.len(), in_doubt.len()), (0, 0));
    }
}

#[tokio::test]
async fn a_doubt_about_a_call_is_settled_after_a_revert() {
    for happened in [true, false] {
        let (disk, calendar) = (Disk::new(), Calendar::default());
        let store = disk.open();
        let planwright = calendar.open(&store).await;
        calendar.dies(Death {
            tool: "create",
            call: 1,
            has_effect: happened,
        });
        let plan = planwright.check(parse(PLAN.replace("UNDO", UNDO)));
        let order = planwright.run(plan.unwrap());
        let order = order.stored_in(&store, "order".parse().unwrap()).start();
        let order = order.unwrap();
        calendar.has_died.notified().await;
        order.abandon().await;
        let (undos, in_doubt) = revert(&planwright).await;
        assert_eq!((undos.len(), in_doubt), (1, vec!["each[0]".to_owned()]));
        let resume = || planwright.resume(&store, "order".parse().unwrap());
        // Its results are gone, so nothing of it continues.
        for resumed in [resume(), resume().skip("inner")] {
            let resumed = resumed.await;
            assert!(
                matches!(resumed, Err(Error::StoredRun(StoredRunError::Reverted(_)))),
                "{resumed:?}"
            );
        }
        let settled = if happened {
            resume().set("each[0]", "id of b")
        } else {
            resume().retry("each[0]")
        };
        assert_eq!(settled.await.unwrap().status, RunStatus::Cancelled);
        assert_eq!(calendar.deleted(), "a");
        let (undos, in_doubt) = revert(&planwright).await;
        assert_eq!((undos.len(), in_doubt.len()), (usize::from(happened), 0));
        assert_eq!(calendar.deleted(), if happened { "a b" } else { "a" });
    }
}

#[tokio::test]
async fn a_revert_is_not_reverted() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open(&store).await;
    run(&planwright, &store, PLAN).await;
    let prepared = planwright.prepare_revert("order", None).await.unwrap();
    let first = prepared.start().unwrap().unwrap().finish().await.run;
    let refused = planwright.prepare_revert(first.as_str(), None).await;
    assert!(
        matches!(&refused, Err(Error::StoredRun(StoredRunError::IsRevert(of))) if of.as_str() == "order"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_file_does_not_say_what_a_run_of_the_store_undid() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open(&store).await;
    run(&planwright, &store, PLAN).await;
    // The run is reverted where it is imported, or someone pretends so.
    let there = Disk::new();
    let elsewhere = there.open();
    elsewhere
        .import(&export(&store, "order").unwrap().text)
        .unwrap();
    let far = planwright.with_store(&elsewhere);
    let first = far.prepare_revert("order", None).await.unwrap();
    let first = first.start().unwrap().unwrap().finish().await.run;
    let text = export(&elsewhere, "order").unwrap().text;
    let refused = store.import(&text);
    assert!(
        matches!(&refused, Err(StoreError::Format(reason)) if reason.contains("began in this store")),
        "{refused:?}"
    );
    assert!(store.run(first.as_str()).is_err());
    // The same file is good where the run is imported as well.
    let third_disk = Disk::new();
    let third = third_disk.open();
    third.import(&text).unwrap();
    assert_eq!(
        reverts_of(&third, &"order".parse().unwrap())
            .unwrap()
            .0
            .len(),
        1
    );
    // An imported revert alone says nothing about a run that begins later.
    let alone = Disk::new();
    let alone = alone.open();
    alone
        .import(&elsewhere.export(first.as_str()).unwrap())
        .unwrap();
    let planwright = calendar.open(&alone).await;
    run(&planwright, &alone, PLAN).await;
    let prepared = planwright.prepare_revert("order", None).await.unwrap();
    assert_eq!(prepared.revert.undos.len(), 4);
}

#[tokio::test]
async fn a_run_that_is_abandoned_while_it_is_undone_holds_nothing() {
    let (disk, calendar) = (Disk::new(), Calendar::default());
    let store = disk.open();
    let planwright = calendar.open(&store).await;
    calendar.dies(Death::in_delete(0, true));
    let plan = planwright.check(parse(FAILING.replace("UNDO", UNDO)));
    let run = planwright.run(plan.unwrap());
    let run = run.stored_in(&store, "order".parse().unwrap()).start();
    let stopped = run
        .unwrap()
        .finish_unless(calendar.has_died.notified(), &mut |_| ())
        .await;
    assert!(stopped.is_err(), "{stopped:?}");
    // The leases of both runs have ended, and so have their calls.
    let prepared = planwright.prepare_revert("order", None).await.unwrap();
    let in_doubt = prepared.revert.in_doubt.iter();
    let in_doubt: Vec<String> = in_doubt.map(|call| call.at.to_string()).collect();
    assert_eq!(in_doubt, ["one"]);
    assert!(prepared.revert.undos.is_empty());
}
