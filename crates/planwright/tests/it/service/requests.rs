//! Requests of other processes to a run: cancelling it, and approvals of its whole plan.

use std::time::SystemTime;

use futures::future::{BoxFuture, pending};
use planwright::core::PlanConsent;
use planwright::engine::approval::ApprovalRequest;
use planwright::engine::journal::{Entry, Record};
use planwright::engine::{Approver, Decision, RunStatus, StepStatus};
use planwright::store::{LeaseHolder, StoreError};
use planwright::stored::{Decider, Passphrase, StoredRun, StoredRunError, open_questions};
use planwright::{Error, Planwright, RunEvent, parse};

use super::bank::Bank;
use super::stored::Disk;
use super::support::planwright;

const FOREVER: &str = r#"{"steps": [{"id": "a", "tool": "never"}]}"#;

/// Pays Ada, then Bob, then Eve.
const THREE: &str = r#"{"steps": [
    {"id": "ada", "tool": "pay", "args": {"to": "ada"}},
    {"id": "bob", "tool": "pay", "args": {"to": "bob"}, "after": ["ada"]},
    {"id": "eve", "tool": "pay", "args": {"to": "eve"}, "after": ["bob"]}
]}"#;

fn ada() -> Decider {
    Decider::new(Some("ada".to_owned()))
}

/// The digest of the plan that a run has in its store.
fn consent(disk: &Disk, run: &str) -> PlanConsent {
    let stored = StoredRun::read(&disk.open(), run).unwrap();
    stored.plan_consent().unwrap().clone()
}

/// Approves the whole plan of a run with its calls that wait for a decision.
fn approve(
    (service, disk): (&Planwright, &Disk),
    run: &str,
    consent: &PlanConsent,
) -> Result<(), planwright::Error> {
    let store = disk.open();
    let waiting = open_questions(&store, run).unwrap();
    let decided = store.decisions(run).unwrap();
    let waiting: Vec<_> = waiting
        .iter()
        .filter(|question| decided.iter().all(|one| one.digest != question.digest()))
        .collect();
    let service = service.with_store(&store);
    service.approve_plan(run, consent, &waiting, &ada())
}

/// Waits until the store has a question of a run.
async fn asked(service: &Planwright, run: &str) {
    let mut watch = service.watch(run).unwrap();
    while service.questions(run).unwrap().is_empty() {
        watch.next().await.unwrap();
    }
}

/// Runs a plan to its end, stored as `id`.
async fn run(planwright: &Planwright, disk: &Disk, plan: &str, id: &str) -> RunStatus {
    let plan = planwright.check(parse(plan)).unwrap();
    let run = planwright.run(plan);
    let run = run.stored_in(&disk.open(), id.parse().unwrap());
    run.await.unwrap().status
}

#[tokio::test]
async fn another_process_cancels_a_run() {
    let disk = Disk::new();
    let planwright = planwright().await;
    let plan = planwright.check(parse(FOREVER)).unwrap();
    let run = planwright
        .run(plan)
        .stored_in(&disk.open(), "r".parse().unwrap());
    let mut run = run.start().unwrap();
    while !matches!(
        run.next_event().await.unwrap().event,
        RunEvent::AttemptStarted { .. }
    ) {}
    let other = planwright.with_store(&disk.open());
    let holder = other.cancel_stored("r", Some("ada".to_owned())).unwrap();
    assert_eq!(holder.pid, std::process::id());
    let summary = run.await;
    assert_eq!(summary.status, RunStatus::Cancelled);
    assert_eq!(summary.steps[0].status, StepStatus::Cancelled);
    // Nothing is left to cancel.
    let error = other.cancel_stored("r", None).unwrap_err();
    assert!(
        matches!(
            error,
            Error::StoredRun(StoredRunError::Store(StoreError::Idle { .. }))
        ),
        "{error}"
    );
}

#[tokio::test]
async fn a_request_is_for_the_process_that_drove_the_run_then() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    assert_eq!(
        run(&planwright, &disk, THREE, "r").await,
        RunStatus::Waiting
    );
    // An earlier process is asked, and dies before it notices.
    let store = disk.open();
    let dead = LeaseHolder::this_process("", SystemTime::UNIX_EPOCH);
    let leased = store.lease_run("r", &dead).unwrap();
    store
        .request_cancel("r", None, SystemTime::UNIX_EPOCH)
        .unwrap();
    assert!(store.is_cancel_requested(leased.id(), &dead).unwrap());
    drop(leased);
    let resumed = planwright
        .resume(&disk.open(), "r".parse().unwrap())
        .wait_for_decisions()
        .start()
        .unwrap();
    let others = planwright.with_store(&disk.open());
    approve((&others, &disk), "r", &consent(&disk, "r")).unwrap();
    assert_eq!(resumed.await.status, RunStatus::Succeeded);
}

#[tokio::test]
async fn a_run_that_waits_goes_on_once_its_plan_is_approved() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    let plan = planwright.check(parse(THREE)).unwrap();
    let run = planwright
        .run(plan)
        .stored_in(&disk.open(), "r".parse().unwrap());
    let mut run = run.wait_for_decisions().start().unwrap();
    while !matches!(
        run.next_event().await.unwrap().event,
        RunEvent::ApprovalAsked { .. }
    ) {}
    let other = planwright.with_store(&disk.open());
    asked(&other, "r").await;
    let consent = consent(&disk, "r");
    approve((&other, &disk), "r", &consent).unwrap();
    assert_eq!(run.await.status, RunStatus::Succeeded);
    assert_eq!(bank.paid(), ["ada", "bob", "eve"]);
    let error = approve((&other, &disk), "r", &consent).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the plan of the run `r` was approved before, by ada"
    );
}

#[tokio::test]
async fn an_approval_is_of_one_plan_of_one_run() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    for id in ["r1", "r2"] {
        assert_eq!(run(&planwright, &disk, THREE, id).await, RunStatus::Waiting);
    }
    let service = planwright.with_store(&disk.open());
    let consent = consent(&disk, "r1");
    approve((&service, &disk), "r1", &consent).unwrap();
    for wrong in [PlanConsent::from("0"), PlanConsent::from("")] {
        let error = approve((&service, &disk), "r2", &wrong).unwrap_err();
        assert_eq!(error.to_string(), "the plan is not that of the run");
    }
    let resumed = planwright.resume(&disk.open(), "r2".parse().unwrap());
    assert_eq!(resumed.await.unwrap().status, RunStatus::Waiting);
    // A plan that pays another person asks again.
    let plan = THREE.replace("\"to\": \"eve\"", "\"to\": \"mallory\"");
    let plan = planwright.check(parse(plan)).unwrap();
    let resumed = planwright.resume(&disk.open(), "r1".parse().unwrap());
    let summary = resumed.plan(plan).await.unwrap();
    assert_eq!(summary.status, RunStatus::Waiting);
    // The call that waited was approved as it was, and the others were not.
    assert_eq!(bank.paid(), ["ada"]);
}

#[tokio::test]
async fn a_decision_about_one_call_comes_before_that_about_the_plan() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    assert_eq!(
        run(&planwright, &disk, THREE, "r").await,
        RunStatus::Waiting
    );
    disk.decide("r", Decision::Reject { because: None });
    let service = planwright.with_store(&disk.open());
    approve((&service, &disk), "r", &consent(&disk, "r")).unwrap();
    let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
    assert_eq!(resumed.await.unwrap().status, RunStatus::Failed);
    assert!(bank.paid().is_empty());
}

/// A person who has not answered yet, and does not see what others decide.
struct Silent;

impl Approver for Silent {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(pending())
    }
}

#[tokio::test]
async fn a_call_that_was_rejected_while_a_person_is_asked_is_not_made_once_the_plan_is_approved() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    let plan = planwright.check(parse(THREE)).unwrap();
    let run = planwright
        .run(plan)
        .stored_in(&disk.open(), "r".parse().unwrap());
    let run = run.approver(Silent).start().unwrap();
    let other = planwright.with_store(&disk.open());
    asked(&other, "r").await;
    let because = Some("too much".to_owned());
    disk.decide("r", Decision::Reject { because });
    approve((&other, &disk), "r", &consent(&disk, "r")).unwrap();
    let summary = run.await;
    assert_eq!(summary.status, RunStatus::Failed);
    let error = summary.steps[0].error.as_ref().unwrap().to_string();
    assert!(error.contains("too much"), "{error}");
    assert_eq!(bank.paid(), [""; 0]);
}

#[tokio::test]
async fn steps_that_are_added_later_were_not_approved() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    let first = r#"{"steps": [{"id": "ada", "tool": "pay", "args": {"to": "ada"}}]}"#;
    let plan = planwright.check(parse(first)).unwrap();
    let run = planwright
        .run(plan)
        .stored_in(&disk.open(), "r".parse().unwrap());
    let mut run = run.wait_for_decisions().growing().start().unwrap();
    while !matches!(
        run.next_event().await.unwrap().event,
        RunEvent::ApprovalAsked { .. }
    ) {}
    let service = planwright.with_store(&disk.open());
    asked(&service, "r").await;
    approve((&service, &disk), "r", &consent(&disk, "r")).unwrap();
    while !matches!(
        run.next_event().await.unwrap().event,
        RunEvent::StepEnded { .. }
    ) {}
    run.extend(r#"{"steps": [{"id": "eve", "tool": "pay", "args": {"to": "eve"}}]}"#)
        .unwrap();
    while !matches!(
        run.next_event().await.unwrap().event,
        RunEvent::ApprovalAsked { .. }
    ) {}
    // Events come before their entries are stored.
    let mut entries = disk.open().watch_entries("r").unwrap();
    let is_extended = |entry: &Entry| matches!(entry.record, Record::Extended { .. });
    while !entries.next().await.unwrap().iter().any(is_extended) {}
    let stored = StoredRun::read(&disk.open(), "r").unwrap();
    assert_eq!(stored.plan_consent(), None);
    disk.decide("r", Decision::Reject { because: None });
    assert_eq!(run.await.status, RunStatus::Failed);
    assert_eq!(bank.paid(), ["ada"]);
}

#[tokio::test]
async fn a_plan_is_approved_with_the_passphrase_if_one_is_set() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    assert_eq!(
        run(&planwright, &disk, THREE, "r").await,
        RunStatus::Waiting
    );
    let store = disk.open();
    Passphrase::set(&store, Some("correct horse")).unwrap();
    let service = planwright.with_store(&store);
    let error = approve((&service, &disk), "r", &consent(&disk, "r")).unwrap_err();
    assert!(
        matches!(error, Error::StoredRun(StoredRunError::Passphrase(_))),
        "{error}"
    );
}
