//! Runs that are stored: resumed by another process, with the decisions that others stored.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use planwright::core::plan::{Node, Step};
use planwright::dialects::{Dialect as _, ReadOptions, parse_as};
use planwright::engine::approval::{Always, ApprovalRequest};
use planwright::engine::backend::BoxFuture;
use planwright::engine::journal::Entry;
use planwright::engine::{Approver, Decision, History, RunOptions, RunStatus};
use planwright::format::ToolSourcesV1;
use planwright::loaded_plan::LoadedPlan;
use planwright::store::{LeaseHolder, NewRun, Store, StoreError};
use planwright::stored::{
    Decider, ResumeRequest, StoreApprover, StoredRun, StoredRunError, open_questions,
};
use planwright::{
    CallContext, Error, Function, Functions, Plan, Planwright, ToolError, Value, parse,
};
use tempfile::TempDir;
use tokio::sync::Notify;

use super::bank::{Bank, PAY};

/// A file for a store, which every process opens by itself.
pub(super) struct Disk(TempDir);

impl Disk {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("runs.db")
    }

    pub(super) fn open(&self) -> Store {
        Store::open(self.path()).unwrap()
    }

    /// Decides about the only call of the run that waits, as another process does.
    pub(super) fn decide(&self, run: &str, decision: Decision) {
        let store = self.open();
        let questions = open_questions(&store, run).unwrap();
        let [question] = questions.as_slice() else {
            panic!("{questions:?}");
        };
        let by = Decider::new(Some("ada".to_owned()));
        question
            .decide(&store, decision, &by, SystemTime::UNIX_EPOCH)
            .unwrap();
    }

    fn approve(&self, run: &str) {
        self.decide(run, Decision::Approve { args: None });
    }
}

#[tokio::test]
async fn a_program_with_functions_alone_resumes_its_run() {
    let disk = Disk::new();
    let bank = Bank::failing(1);
    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    let plan = planwright.check(parse(PAY)).unwrap();
    let run = planwright
        .run(plan)
        .stored_in(&disk.open(), "order-1".parse().unwrap());
    assert_eq!(run.await.unwrap().status, RunStatus::Failed);
    drop(planwright);

    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    let summary = planwright
        .resume(&disk.open(), "order-1".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(summary.run, "order-1");
    assert_eq!(summary.output.to_string(), r#"{"look":1,"pay":"paid ada"}"#);
    assert_eq!((bank.looks(), bank.paid().len()), (1, 2));
    // Resuming a run that succeeded makes no calls.
    let again = planwright
        .resume(&disk.open(), "order-1".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(again.status, RunStatus::Succeeded);
    assert_eq!((bank.looks(), bank.paid().len()), (1, 2));
}

#[tokio::test]
async fn a_run_that_is_resumed_has_the_time_of_its_beginning() {
    let disk = Disk::new();
    let bank = Bank::failing(1);
    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    let plan = r#"{"steps": [{"id": "before", "value": "${now()}"},
        {"id": "pay", "tool": "pay", "args": {"to": "ada"}, "after": ["before"]},
        {"id": "late", "value": "${now()}", "after": ["pay"]}]}"#;
    let plan = planwright.check(parse(plan)).unwrap();
    let run = planwright
        .run(plan)
        .stored_in(&disk.open(), "r".parse().unwrap());
    assert_eq!(run.await.unwrap().status, RunStatus::Failed);
    drop(planwright);

    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    let summary = planwright
        .resume(&disk.open(), "r".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(summary.status, RunStatus::Succeeded);
    let output = &summary.output;
    assert!(output.get("before").and_then(Value::as_text).is_some());
    assert_eq!(output.get("before"), output.get("late"));
}

#[tokio::test]
async fn a_run_that_is_resumed_has_the_data_of_its_caller() {
    let who = Function::with_context("who", async |(): (), context: CallContext| {
        let tenant = context.data.get::<String>().cloned();
        tenant.ok_or_else(|| ToolError::tool("there is no data", Value::Null))
    });
    let planwright = Planwright::builder()
        .functions(Functions::new().with(who))
        .open()
        .await
        .unwrap();
    let plan = parse(r#"{"steps": [{"id": "a", "tool": "who"}], "output": "${a}"}"#);
    let run = planwright.run(planwright.check(plan).unwrap());
    let disk = Disk::new();
    let store = disk.open();
    let failed = run.stored_in(&store, "r".parse().unwrap()).await.unwrap();
    assert_eq!(failed.status, RunStatus::Failed);

    let resume = planwright.resume(&store, "r".parse().unwrap());
    let summary = resume.data("acme".to_owned()).await.unwrap();
    assert_eq!(summary.output.to_string(), r#""acme""#);
}

#[tokio::test]
async fn a_decision_of_another_process_is_honoured_once() {
    let disk = Disk::new();
    let bank = Bank::failing(1);
    let planwright = bank.asking().await;
    let plan = planwright.check(parse(PAY)).unwrap();
    let run = planwright
        .run(plan)
        .stored_in(&disk.open(), "r".parse().unwrap());
    assert_eq!(run.await.unwrap().status, RunStatus::Waiting);
    assert_eq!(bank.paid(), [""; 0]);
    disk.approve("r");

    let resume = || async {
        planwright
            .resume(&disk.open(), "r".parse().unwrap())
            .await
            .unwrap()
            .status
    };
    // The payment is made, and fails: that decision is used up.
    assert_eq!(resume().await, RunStatus::Failed);
    assert_eq!(bank.paid().len(), 1);
    for _ in 0..2 {
        assert_eq!(resume().await, RunStatus::Waiting);
        assert_eq!(bank.paid().len(), 1);
    }
    // Another decision about the same call counts again.
    disk.approve("r");
    assert_eq!(resume().await, RunStatus::Succeeded);
    assert_eq!((bank.looks(), bank.paid().len()), (1, 2));
}

#[tokio::test]
async fn a_rejection_and_other_arguments_count_as_well() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    let plan = planwright.check(parse(PAY)).unwrap();
    let no = Decision::Reject {
        because: Some("too much".to_owned()),
    };
    let bob = Value::object([("to", Value::from("bob"))]);
    let changed = Decision::Approve { args: Some(bob) };
    for (id, decision, status) in [
        ("no", no, RunStatus::Failed),
        ("bob", changed, RunStatus::Succeeded),
    ] {
        let run = planwright
            .run(plan.clone())
            .stored_in(&disk.open(), id.parse().unwrap());
        assert_eq!(run.await.unwrap().status, RunStatus::Waiting);
        disk.decide(id, decision);
        let summary = planwright
            .resume(&disk.open(), id.parse().unwrap())
            .await
            .unwrap();
        assert_eq!(summary.status, status);
    }
    assert_eq!(bank.paid(), ["bob"]);
}

/// Puts every call off, and says that it was asked.
struct Asked(Arc<Notify>);

impl Approver for Asked {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<'_, Decision> {
        self.0.notify_one();
        Box::pin(std::future::ready(Decision::Later))
    }
}

#[tokio::test]
async fn a_run_waits_for_a_decision_on_request() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    let plan = planwright.check(parse(PAY)).unwrap();
    let asked = Arc::new(Notify::new());
    let run = planwright
        .run(plan)
        .stored_in(&disk.open(), "r".parse().unwrap());
    let run = run.approver(Asked(Arc::clone(&asked)));
    let run = run.wait_for_decisions().start().unwrap();
    asked.notified().await;
    disk.approve("r");
    assert_eq!(run.await.status, RunStatus::Succeeded);
    assert_eq!(bank.paid(), ["ada"]);
}

#[tokio::test]
async fn a_decision_is_about_one_call_of_one_run() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    let eve = PAY.replace("ada", "eve");
    for (id, text) in [("r1", PAY), ("r2", PAY), ("r3", &*eve)] {
        let plan = planwright.check(parse(text)).unwrap();
        planwright
            .run(plan)
            .stored_in(&disk.open(), id.parse().unwrap())
            .await
            .unwrap();
    }
    disk.approve("r1");
    for id in ["r2", "r3"] {
        let summary = planwright
            .resume(&disk.open(), id.parse().unwrap())
            .await
            .unwrap();
        assert_eq!(summary.status, RunStatus::Waiting);
    }
    // A plan that pays another person asks again.
    let plan = planwright.check(parse(&eve)).unwrap();
    let changed = planwright
        .resume(&disk.open(), "r1".parse().unwrap())
        .plan(plan)
        .await
        .unwrap();
    assert_eq!(changed.status, RunStatus::Waiting);
    assert_eq!(bank.paid(), [""; 0]);
}

#[tokio::test]
async fn an_imported_run_brings_no_consent() {
    let (here, there) = (Disk::new(), Disk::new());
    let bank = Bank::default();
    let planwright = bank.asking().await;
    let plan = planwright.check(parse(PAY)).unwrap();
    planwright
        .run(plan)
        .stored_in(&here.open(), "r".parse().unwrap())
        .await
        .unwrap();
    here.approve("r");
    let text = here.open().export("r").unwrap();
    there.open().import(&text).unwrap();
    assert!(open_questions(&there.open(), "r").unwrap().is_empty());
    let resume = || async {
        planwright
            .resume(&there.open(), "r".parse().unwrap())
            .await
            .unwrap()
            .status
    };
    assert_eq!(resume().await, RunStatus::Waiting);
    assert_eq!(bank.paid(), [""; 0]);
    there.approve("r");
    assert_eq!(resume().await, RunStatus::Succeeded);
    assert_eq!((bank.looks(), bank.paid().len()), (1, 1));
}

/// A run by the parts of the store, without its plan.
async fn by_hand(planwright: &Planwright, disk: &Disk, approver: impl Approver) -> RunStatus {
    let store = disk.open();
    let me = LeaseHolder::this_process("here", SystemTime::UNIX_EPOCH);
    let plan = planwright.check(parse(PAY)).unwrap();
    let (held, history) = if store.run("r").is_ok() {
        let held = store.lease_run("r", &me).unwrap();
        let entries: Vec<Entry> = store.entries("r").unwrap().map(Result::unwrap).collect();
        (held, History::new(&entries))
    } else {
        let new = NewRun {
            id: "r".parse().unwrap(),
            plan: None,
            digest: plan.digest().to_owned(),
            dialect: None,
            steps: plan.steps().len(),
            created: SystemTime::UNIX_EPOCH,
            header: Value::Null,
        };
        (store.create_run(new, &me).unwrap(), History::default())
    };
    let run = planwright
        .run(plan)
        .id("r".parse().unwrap())
        .journal(held, Value::Null);
    let run = run.after(history).approver(approver);
    run.await.unwrap().status
}

#[tokio::test]
async fn the_parts_of_the_store_use_a_decision_once() {
    let disk = Disk::new();
    let bank = Bank::failing(1);
    let planwright = bank.asking().await;
    let run = || by_hand(&planwright, &disk, StoreApprover::new(disk.open()));
    assert_eq!(run().await, RunStatus::Waiting);
    disk.approve("r");
    assert_eq!(run().await, RunStatus::Failed);
    assert_eq!(run().await, RunStatus::Waiting);
    assert_eq!(bank.paid().len(), 1);
    // A decision in the store takes precedence over another approver.
    disk.approve("r");
    let no = Always(Decision::Reject { because: None });
    let approver = StoreApprover::new(disk.open()).or(Arc::new(no));
    assert_eq!(
        by_hand(&planwright, &disk, approver).await,
        RunStatus::Succeeded
    );
    assert_eq!((bank.looks(), bank.paid().len()), (1, 2));
}

/// A dialect of a program: a list of tools.
struct Names;

impl planwright::dialects::Dialect for Names {
    fn name(&self) -> &'static str {
        "names"
    }

    fn shape(&self) -> &'static str {
        "`[TOOL]`"
    }

    fn recognise(
        &self,
        _: &planwright::dialects::document::Document,
    ) -> planwright::dialects::MatchConfidence {
        planwright::dialects::MatchConfidence::No
    }

    fn parse(
        &self,
        document: planwright::dialects::document::Document,
    ) -> (Option<Plan>, planwright::core::Diagnostics) {
        let names = document.root.as_list().unwrap_or(&[]);
        let steps = names.iter().enumerate().map(|(index, name)| {
            let tool = name.as_text().cloned().unwrap_or_default();
            Step::call(format!("s{index}").as_str(), &*tool, Node::default())
        });
        let plan = Plan {
            steps: steps.collect(),
            ..Plan::default()
        };
        (Some(plan), planwright::core::Diagnostics::new())
    }
}

#[tokio::test]
async fn plans_of_any_origin_are_resumed() {
    let disk = Disk::new();
    let bank = Bank::failing(1);
    let inner = parse(r#"{"steps": [{"id": "pay", "tool": "pay", "args": {"to": "ada"}}]}"#);
    let builder = bank
        .builder(bank.pay())
        .library_plan("pays", inner.plan.unwrap());
    let planwright = builder.open().await.unwrap();
    let own = parse_as(&Names, br#"["look", "look"]"#, &ReadOptions::new("plan"));
    let built = Plan {
        steps: vec![Step::call("a", "look", Node::default())],
        ..Plan::default()
    };
    for (id, plan, looks) in [
        ("own", planwright.check(own).unwrap(), 2),
        ("built", planwright.check(built).unwrap(), 3),
    ] {
        let run = planwright
            .run(plan)
            .stored_in(&disk.open(), id.parse().unwrap());
        assert_eq!(run.await.unwrap().status, RunStatus::Succeeded);
        let resumed = planwright
            .resume(&disk.open(), id.parse().unwrap())
            .await
            .unwrap();
        assert_eq!(resumed.status, RunStatus::Succeeded);
        assert_eq!(bank.looks(), looks);
    }
    let by_name = planwright.check(parse(
        r#"{"steps": [{"id": "a", "plan": "pays", "args": {}}]}"#,
    ));
    let run = planwright
        .run(by_name.unwrap())
        .stored_in(&disk.open(), "name".parse().unwrap());
    assert_eq!(run.await.unwrap().status, RunStatus::Failed);
    // The plan inside is stored with the run.
    let without = bank.builder(bank.pay()).open().await.unwrap();
    let resumed = without
        .resume(&disk.open(), "name".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(resumed.status, RunStatus::Succeeded);
    assert_eq!(bank.paid().len(), 2);
}

#[tokio::test]
async fn a_plan_that_cannot_be_read_again_is_not_stored() {
    let disk = Disk::new();
    let (store, bank) = (disk.open(), Bank::default());
    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    let read = || parse_as(&Names, br#"["look"]"#, &ReadOptions::new("plan"));
    let plan = planwright.check(read()).unwrap();
    let loaded = LoadedPlan::new("plan", read());
    let new = loaded.new_run(ToolSourcesV1::default(), SystemTime::UNIX_EPOCH);
    let me = LeaseHolder::this_process("here", SystemTime::UNIX_EPOCH);
    let run = (&"r".parse().unwrap(), &plan, &RunOptions::default());
    let error = new.create(&store, &me, run).unwrap_err();
    assert!(
        matches!(&error, StoredRunError::UnknownDialect(name) if name == Names.name()),
        "{error}"
    );
    assert!(matches!(store.run("r"), Err(StoreError::Missing { .. })));
}

#[tokio::test]
async fn secrets_are_given_again() {
    let disk = Disk::new();
    let bank = Bank::failing(1);
    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    let text = r#"{"inputs": {"to": {"type": "string", "writeOnly": true}},
        "steps": [{"id": "pay", "tool": "pay", "args": {"to": "${inputs.to}"}}]}"#;
    let plan = planwright
        .check_with(parse(text), [("to", "adas-account")])
        .unwrap();
    let store = disk.open();
    planwright
        .run(plan)
        .stored_in(&store, "r".parse().unwrap())
        .await
        .unwrap();
    let error = planwright
        .resume(&store, "r".parse().unwrap())
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::StoredRun(StoredRunError::Hidden(_))),
        "{error}"
    );
    let resumed = planwright
        .resume(&store, "r".parse().unwrap())
        .input("to", "adas-account")
        .await;
    assert_eq!(resumed.unwrap().status, RunStatus::Succeeded);
    assert_eq!(bank.paid().len(), 2);
}

#[tokio::test]
async fn consent_to_a_secret_outlives_the_process() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    let text = r#"{"inputs": {"to": {"type": "string", "writeOnly": true}},
        "steps": [{"id": "pay", "tool": "pay", "args": {"to": "${inputs.to}"}}]}"#;
    let plan = planwright
        .check_with(parse(text), [("to", "adas-account")])
        .unwrap();
    planwright
        .run(plan)
        .stored_in(&disk.open(), "r".parse().unwrap())
        .await
        .unwrap();
    disk.approve("r");
    let store = disk.open();
    let other = planwright
        .resume(&store, "r".parse().unwrap())
        .input("to", "eves-account")
        .await
        .unwrap();
    assert_eq!(other.status, RunStatus::Waiting);
    assert_eq!(bank.paid(), [""; 0]);
    drop(store);
    // The question that is open now is about the other secret.
    let store = disk.open();
    let same = planwright
        .resume(&store, "r".parse().unwrap())
        .input("to", "adas-account")
        .await
        .unwrap();
    assert_eq!(same.status, RunStatus::Succeeded);
    assert_eq!(bank.paid(), ["adas-account"]);
}

#[tokio::test]
async fn a_decision_cannot_replace_a_secret() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.asking().await;
    let text = r#"{"inputs": {"to": {"type": "string", "writeOnly": true}},
        "steps": [{"id": "pay", "tool": "pay", "args": {"to": "${inputs.to}"}}]}"#;
    let plan = planwright
        .check_with(parse(text), [("to", "adas-account")])
        .unwrap();
    let store = disk.open();
    planwright
        .run(plan)
        .stored_in(&store, "r".parse().unwrap())
        .await
        .unwrap();
    let open = open_questions(&store, "r").unwrap();
    let decide = |to: &str| {
        let args = Some(Value::object([("to", Value::from(to))]));
        let now = SystemTime::UNIX_EPOCH;
        open[0].decide(&store, Decision::Approve { args }, &Decider::default(), now)
    };
    let refused = decide("eves-account").unwrap_err();
    assert!(
        matches!(
            refused,
            StoredRunError::Store(StoreError::ChangedSecret { .. })
        ),
        "{refused}"
    );
    decide("[redacted]").unwrap();
    let resumed = planwright
        .resume(&store, "r".parse().unwrap())
        .input("to", "adas-account");
    assert_eq!(resumed.await.unwrap().status, RunStatus::Succeeded);
    assert_eq!(bank.paid(), ["adas-account"]);
}

#[tokio::test]
async fn a_new_plan_keeps_what_it_does_not_change() {
    let disk = Disk::new();
    let bank = Bank::failing(1);
    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    let store = disk.open();
    let plan = planwright.check(parse(PAY)).unwrap();
    planwright
        .run(plan)
        .stored_in(&store, "r".parse().unwrap())
        .await
        .unwrap();
    let plan = planwright.check(parse(PAY.replace("ada", "bob"))).unwrap();
    let summary = planwright
        .resume(&store, "r".parse().unwrap())
        .plan(plan)
        .await
        .unwrap();
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(
        (bank.looks(), bank.paid()),
        (1, vec!["ada".to_owned(), "bob".to_owned()])
    );
    // It is the stored plan from now on.
    let summary = planwright
        .resume(&store, "r".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(summary.output.to_string(), r#"{"look":1,"pay":"paid bob"}"#);
    assert_eq!(bank.paid().len(), 2);
}

#[tokio::test]
async fn choices_are_about_steps_that_exist() {
    let disk = Disk::new();
    let bank = Bank::failing(2);
    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    let store = disk.open();
    let plan = planwright.check(parse(PAY)).unwrap();
    planwright
        .run(plan)
        .stored_in(&store, "r".parse().unwrap())
        .await
        .unwrap();
    let resume = || planwright.resume(&store, "r".parse().unwrap());
    let error = resume().retry("play").await.unwrap_err();
    assert!(
        matches!(error, Error::StoredRun(StoredRunError::UnknownStep { .. })),
        "{error}"
    );
    let error = resume().set("look", 3).await.unwrap_err();
    assert!(
        matches!(error, Error::StoredRun(StoredRunError::Done(_))),
        "{error}"
    );
    assert_eq!(bank.paid().len(), 1);
    let summary = resume().set("pay", "by hand").await.unwrap();
    assert_eq!(summary.output.to_string(), r#"{"look":1,"pay":"by hand"}"#);
    assert_eq!(bank.paid().len(), 1);
}

#[tokio::test]
async fn a_stored_run_is_begun_once_and_resumed_by_its_whole_id() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    let store = disk.open();
    let plan = planwright.check(parse(PAY)).unwrap();
    planwright
        .run(plan.clone())
        .stored_in(&store, "order-10".parse().unwrap())
        .await
        .unwrap();
    let error = planwright
        .run(plan.clone())
        .stored_in(&store, "order-10".parse().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "the run `order-10` already exists");
    let entries: Vec<Entry> = store
        .entries("order-10")
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let run = planwright.run(plan.clone()).after(History::new(&entries));
    let error = run
        .stored_in(&store, "order-10".parse().unwrap())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Start(_)), "{error}");
    let error = planwright
        .resume(&store, "order-1".parse().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "there is no run `order-1`");
    let run = planwright.run(plan.clone());
    let error = run
        .stored_in(&store, "-rf".parse().unwrap())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("no `.` or `-` in front"),
        "{error}"
    );
    let me = LeaseHolder::this_process("here", SystemTime::UNIX_EPOCH);
    let held = store.lease_run("order-10", &me).unwrap();
    let error = planwright
        .resume(&store, "order-10".parse().unwrap())
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::StoredRun(StoredRunError::Store(StoreError::Leased { .. }))
        ),
        "{error}"
    );
    drop(held);
    planwright
        .resume(&store, "order-10".parse().unwrap())
        .await
        .unwrap();
    assert_eq!((bank.looks(), bank.paid().len()), (1, 1));
}

#[tokio::test]
async fn a_stored_plan_is_not_another_one() {
    let disk = Disk::new();
    let bank = Bank::default();
    let planwright = bank.builder(bank.pay()).open().await.unwrap();
    let store = disk.open();
    let plan = planwright.check(parse(PAY)).unwrap();
    planwright
        .run(plan)
        .stored_in(&store, "r".parse().unwrap())
        .await
        .unwrap();
    let other = planwright.check(parse(PAY.replace("ada", "eve"))).unwrap();
    let go_on = ResumeRequest {
        id: &"r".parse().unwrap(),
        plan: &other,
        new_plan: None,
        options: planwright.options(),
        retained: Vec::new(),
        set: Vec::new(),
        choices: Vec::new(),
        now: SystemTime::UNIX_EPOCH,
    };
    let stored = StoredRun::read(&store, "r").unwrap();
    let error = go_on.prepare(&stored, &store).unwrap_err();
    assert!(matches!(error, StoredRunError::OtherPlan), "{error}");
}

#[tokio::test]
async fn a_tool_that_asks_now_is_asked_about_on_resume() {
    let disk = Disk::new();
    let bank = Bank::failing(1);
    let lenient = bank.builder(bank.pay()).open().await.unwrap();
    let plan = lenient.check(parse(PAY)).unwrap();
    let store = disk.open();
    lenient
        .run(plan)
        .stored_in(&store, "r".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(bank.paid().len(), 1);
    let strict = bank.asking().await;
    let summary = strict.resume(&store, "r".parse().unwrap()).await.unwrap();
    assert_eq!(summary.status, RunStatus::Waiting);
    assert_eq!(bank.paid().len(), 1);
    // A tool that is gone rejects the stored plan.
    let functions =
        Functions::named("bank").with(Function::new("other", async |()| Ok::<_, String>(1)));
    let without = Planwright::builder()
        .functions(functions)
        .open()
        .await
        .unwrap();
    let error = without
        .resume(&store, "r".parse().unwrap())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Rejected(_)), "{error}");
}
