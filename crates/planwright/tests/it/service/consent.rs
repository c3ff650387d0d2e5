//! The reach of consent to a whole plan: it ends with every change that a resumption makes, and never covers a rejected call.

use planwright::core::PlanConsent;
use planwright::core::check::Policy;
use planwright::core::plan::ExternalValue;
use planwright::engine::{Decision, RunStatus};
use planwright::stored::{Decider, StoredRun, open_questions};
use planwright::{Function, Functions, Planwright, ToolError, Value, parse};

use super::bank::Bank;
use super::stored::Disk;

/// Finds a payee, which fails, and pays it.
const FOUND: &str = r#"{"steps": [
    {"id": "a", "tool": "find", "args": {}},
    {"id": "b", "tool": "pay", "args": {"to": "${a}"}}
]}"#;

/// Pays Ada and Bob at once.
const TWO: &str = r#"{"steps": [
    {"id": "b", "tool": "pay", "args": {"to": "bob"}},
    {"id": "c", "tool": "pay", "args": {"to": "ada"}}
]}"#;

fn ada() -> Decider {
    Decider::new(Some("ada".to_owned()))
}

fn approve() -> Decision {
    Decision::Approve { args: None }
}

fn reject() -> Decision {
    Decision::Reject { because: None }
}

/// A bank whose transfers need consent and may read `env`, and a search that fails.
async fn open(bank: &Bank) -> Planwright {
    let find = Function::new("find", async |(): ()| {
        Err::<String, _>(ToolError::tool("there is no such payee", Value::Null))
    });
    let functions = Functions::named("bank")
        .with(find.read_only())
        .with(bank.pay().needs_approval());
    Planwright::builder()
        .functions(functions)
        .policy(Policy::new().allow_all_releases())
        .open()
        .await
        .unwrap()
}

/// Runs a plan to its end, stored as `r`.
async fn run(planwright: &Planwright, disk: &Disk, plan: &str) -> RunStatus {
    let plan = planwright.check(parse(plan)).unwrap();
    let run = planwright.run(plan);
    let run = run.stored_in(&disk.open(), "r".parse().unwrap());
    run.await.unwrap().status
}

/// The digest that consent to the plan of the run is bound to now.
fn consent(disk: &Disk) -> PlanConsent {
    let stored = StoredRun::read(&disk.open(), "r").unwrap();
    stored.plan_consent().unwrap().clone()
}

/// Approves the whole plan as it is now, with the calls that wait.
fn approve_plan(planwright: &Planwright, disk: &Disk) {
    let store = disk.open();
    let waiting = open_questions(&store, "r").unwrap();
    let decided = store.decisions("r").unwrap();
    let service = planwright.with_store(&store);
    let waiting: Vec<_> = waiting
        .iter()
        .filter(|question| decided.iter().all(|one| one.digest != question.digest()))
        .collect();
    service
        .approve_plan("r", &consent(disk), &waiting, &ada())
        .unwrap();
}

/// Decides about the call of `step`, which waits.
fn decide(disk: &Disk, step: &str, decision: Decision) {
    let store = disk.open();
    let questions = open_questions(&store, "r").unwrap();
    let question = questions
        .iter()
        .find(|question| question.at.to_string() == step);
    let now = std::time::SystemTime::UNIX_EPOCH;
    question
        .unwrap()
        .decide(&store, decision, &ada(), now)
        .unwrap();
}

/// Resumes the run as it is.
async fn resume(planwright: &Planwright, disk: &Disk) -> RunStatus {
    let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
    resumed.await.unwrap().status
}

#[tokio::test]
async fn a_value_that_takes_the_place_of_a_result_was_not_approved() {
    let (disk, bank) = (Disk::new(), Bank::default());
    let planwright = open(&bank).await;
    assert_eq!(run(&planwright, &disk, FOUND).await, RunStatus::Failed);
    approve_plan(&planwright, &disk);
    let approved = consent(&disk);
    let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
    let summary = resumed.set("a", "mallory").await.unwrap();
    assert_eq!(summary.status, RunStatus::Waiting);
    assert!(bank.paid().is_empty());
    // The value stays in the run, so a resumption without a change does not restore the consent.
    assert_eq!(resume(&planwright, &disk).await, RunStatus::Waiting);
    assert_ne!(consent(&disk), approved);
    // A person may approve the plan again, with the value in it.
    approve_plan(&planwright, &disk);
    assert_eq!(resume(&planwright, &disk).await, RunStatus::Succeeded);
    assert_eq!(bank.paid(), ["mallory"]);
}

#[tokio::test]
async fn a_skipped_step_ends_the_consent() {
    let (disk, bank) = (Disk::new(), Bank::default());
    let planwright = open(&bank).await;
    let plan = r#"{"steps": [{"id": "a", "tool": "find", "args": {}},
        {"id": "b", "tool": "pay", "args": {"to": "bob"}, "after": ["a"]}]}"#;
    assert_eq!(run(&planwright, &disk, plan).await, RunStatus::Failed);
    approve_plan(&planwright, &disk);
    let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
    let summary = resumed.skip("a").await.unwrap();
    assert_eq!(summary.status, RunStatus::Waiting);
    assert!(bank.paid().is_empty());
}

#[tokio::test]
async fn consent_survives_a_resumption_without_changes() {
    let (disk, bank) = (Disk::new(), Bank::failing(1));
    let planwright = open(&bank).await;
    assert_eq!(run(&planwright, &disk, TWO).await, RunStatus::Waiting);
    approve_plan(&planwright, &disk);
    assert_eq!(resume(&planwright, &disk).await, RunStatus::Failed);
    let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
    let summary = resumed.await.unwrap();
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(bank.paid().len(), 3);
}

#[tokio::test]
async fn consent_does_not_come_back_with_the_plan() {
    let (disk, bank) = (Disk::new(), Bank::default());
    let planwright = open(&bank).await;
    assert_eq!(run(&planwright, &disk, FOUND).await, RunStatus::Failed);
    approve_plan(&planwright, &disk);
    // Another plan computes the value, and the first one keeps it.
    let other = FOUND.replace(r#""tool": "find", "args": {}"#, r#""value": "mallory""#);
    for plan in [other.as_str(), FOUND] {
        let plan = planwright.check(parse(plan)).unwrap();
        let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
        drop(resumed.plan(plan).await.unwrap());
    }
    let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
    let summary = resumed.set("a", "mallory").await.unwrap();
    assert_eq!(summary.status, RunStatus::Waiting);
    assert!(bank.paid().is_empty());
}

#[tokio::test]
async fn inputs_that_come_back_do_not_bring_consent_back() {
    let (disk, bank) = (Disk::new(), Bank::failing(1));
    let planwright = open(&bank).await;
    let plan = r#"{"inputs": {"to": {"default": "ada"}}, "steps": [
        {"id": "b", "tool": "pay", "args": {"to": "${inputs.to}"}}]}"#;
    assert_eq!(run(&planwright, &disk, plan).await, RunStatus::Waiting);
    approve_plan(&planwright, &disk);
    let approved = consent(&disk);
    assert_eq!(resume(&planwright, &disk).await, RunStatus::Failed);
    for to in ["mallory", "ada"] {
        let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
        let summary = resumed.input("to", to).await.unwrap();
        assert_eq!(summary.status, RunStatus::Waiting);
        assert_ne!(consent(&disk), approved);
    }
    assert_eq!(bank.paid(), ["ada"]);
}

#[tokio::test]
async fn a_rejected_call_is_never_covered_by_consent_to_the_plan() {
    let (disk, bank) = (Disk::new(), Bank::default());
    let planwright = open(&bank).await;
    assert_eq!(run(&planwright, &disk, TWO).await, RunStatus::Waiting);
    decide(&disk, "b", reject());
    approve_plan(&planwright, &disk);
    assert_eq!(resume(&planwright, &disk).await, RunStatus::Failed);
    assert_eq!(bank.paid(), ["ada"]);
    // The second resumption finds an open question instead of the rejection.
    for _ in 0..2 {
        let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
        let summary = resumed.retry("b").await.unwrap();
        assert_eq!(summary.status, RunStatus::Waiting);
    }
    assert_eq!(resume(&planwright, &disk).await, RunStatus::Waiting);
    assert_eq!(bank.paid(), ["ada"]);
    // A decision about just this call is one.
    decide(&disk, "b", approve());
    assert_eq!(resume(&planwright, &disk).await, RunStatus::Succeeded);
    assert_eq!(bank.paid(), ["ada", "bob"]);
}

#[tokio::test]
async fn another_value_from_outside_was_not_approved() {
    let (disk, bank) = (Disk::new(), Bank::failing(1));
    let planwright = open(&bank).await;
    let text = r#"{"steps": [{"id": "b", "tool": "pay", "args": {"to": "${env.PAYEE}"}}]}"#;
    let plan = planwright.check(parse(text)).unwrap();
    let run = planwright
        .run(plan)
        .outside(ExternalValue::Environment, "PAYEE", "ada-lovelace");
    let run = run.stored_in(&disk.open(), "r".parse().unwrap());
    assert_eq!(run.await.unwrap().status, RunStatus::Waiting);
    approve_plan(&planwright, &disk);
    for (payee, status) in [
        ("ada-lovelace", RunStatus::Failed),
        ("mallory-malone", RunStatus::Waiting),
    ] {
        let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
        let resumed = resumed.outside(ExternalValue::Environment, "PAYEE", payee);
        assert_eq!(resumed.await.unwrap().status, status);
    }
    assert_eq!(bank.paid(), ["ada-lovelace"]);
}

#[tokio::test]
async fn the_plan_is_approved_with_its_waiting_calls_or_not_at_all() {
    let (disk, bank) = (Disk::new(), Bank::default());
    let planwright = open(&bank).await;
    assert_eq!(run(&planwright, &disk, TWO).await, RunStatus::Waiting);
    let store = disk.open();
    let questions = open_questions(&store, "r").unwrap();
    let service = planwright.with_store(&store);
    let all: Vec<_> = questions.iter().collect();
    // A call that waits and was not shown.
    let error = service
        .approve_plan("r", &consent(&disk), &all[..1], &ada())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the call of `c` waits as well, and was not shown"
    );
    assert!(store.decisions("r").unwrap().is_empty());
    service
        .approve_plan("r", &consent(&disk), &all, &ada())
        .unwrap();
    assert_eq!(store.decisions("r").unwrap().len(), 2);
}

#[tokio::test]
async fn a_call_that_was_decided_meanwhile_leaves_the_plan_unapproved() {
    let (disk, bank) = (Disk::new(), Bank::default());
    let planwright = open(&bank).await;
    assert_eq!(run(&planwright, &disk, TWO).await, RunStatus::Waiting);
    let store = disk.open();
    let questions = open_questions(&store, "r").unwrap();
    decide(&disk, "c", reject());
    let service = planwright.with_store(&store);
    let all: Vec<_> = questions.iter().collect();
    let error = service
        .approve_plan("r", &consent(&disk), &all, &ada())
        .unwrap_err();
    assert!(error.to_string().contains("ada"), "{error}");
    assert_eq!(store.decisions("r").unwrap().len(), 1);
    let run = "r".parse().unwrap();
    assert!(!store.is_plan_approved(&run, &consent(&disk)).unwrap());
}

#[tokio::test]
async fn a_plan_that_is_approved_already_leaves_its_calls_undecided() {
    let (disk, bank) = (Disk::new(), Bank::default());
    let planwright = open(&bank).await;
    assert_eq!(run(&planwright, &disk, TWO).await, RunStatus::Waiting);
    decide(&disk, "b", reject());
    approve_plan(&planwright, &disk);
    assert_eq!(resume(&planwright, &disk).await, RunStatus::Failed);
    let resumed = planwright.resume(&disk.open(), "r".parse().unwrap());
    assert_eq!(resumed.retry("b").await.unwrap().status, RunStatus::Waiting);
    let store = disk.open();
    let questions = open_questions(&store, "r").unwrap();
    let waiting: Vec<_> = questions.iter().collect();
    let service = planwright.with_store(&store);
    let error = service
        .approve_plan("r", &consent(&disk), &waiting, &ada())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the plan of the run `r` was approved before, by ada"
    );
    assert!(store.decisions("r").unwrap().is_empty());
}
