//! Questions about calls: a question whose answer has no effect any more is neither asked nor awaited.

use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::check::CheckedPlan;
use planwright_core::plan::{Approval, ForEach, Node, OnFailure};
use planwright_core::{Place, Plan, Step, Value};
use planwright_engine::approval::{ApprovalRequest, Approver};
use planwright_engine::backend::{
    Backends, ErrorKind, Function, Functions, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use planwright_engine::journal::{Entry, Journal, JournalError};
use planwright_engine::{Decision, Engine, RunOptions, RunStatus, SpawnRequest, StepStatus};

use crate::calls::Slow;
use crate::drive::sound;

/// Leaves step `later` undecided, and never answers about any other.
#[derive(Clone, Default)]
struct Person {
    asked: Arc<Mutex<Vec<String>>>,
    /// The number of open questions.
    open: Arc<AtomicUsize>,
}

struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Approver for Person {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        self.asked.lock().unwrap().push(request.at.to_string());
        if request.at.step.as_str() == "later" {
            return Box::pin(std::future::ready(Decision::Later));
        }
        self.open.fetch_add(1, Ordering::SeqCst);
        let open = Open(Arc::clone(&self.open));
        Box::pin(async move {
            let _open = open;
            std::future::pending().await
        })
    }
}

fn asking(id: &str) -> Step {
    let args = Node::literal(Value::empty_object(), Place::NOWHERE);
    let mut step = Step::call(id, "t", args);
    step.approval = Approval::Ask;
    step
}

/// Cancels a run with an undecided step beside a loop whose items are never decided. Open questions do not count towards
/// the time limit of the loop.
async fn check(journal: Option<Slow>, asked: &[&str], (run, each_ends): (RunStatus, StepStatus)) {
    let mut each = asking("each");
    each.timeout = Some(Duration::from_secs(1));
    each.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: Node::literal(Value::list([1_u64, 2].map(Value::from)), Place::NOWHERE),
        max_parallel: None,
    });
    let plan = Plan {
        steps: vec![asking("later"), each],
        ..Plan::default()
    };
    let person = Person::default();
    let engine = Engine::new(Backends::new().with("s", Functions::named("s")))
        .with_approver(Arc::new(person.clone()));
    let mut start = SpawnRequest::new("r".parse().unwrap(), sound(plan));
    if let Some(journal) = journal {
        start = start.with_journal(Arc::new(journal), Value::Null);
    }
    let (handle, _events) = engine.spawn(start);
    tokio::time::sleep(Duration::from_mins(1)).await;
    handle.cancel();
    let summary = tokio::time::timeout(Duration::from_hours(24), handle).await;
    let summary = summary.expect("the run waits for an unnecessary answer");
    assert_eq!(summary.status, run);
    assert_eq!(summary.steps[1].status, each_ends);
    assert_eq!(*person.asked.lock().unwrap(), asked);
    assert_eq!(person.open.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_its_step() {
    let cancelled = (RunStatus::Cancelled, StepStatus::Cancelled);
    let all = ["later", "each[0]", "each[1]"];
    check(None, &all, cancelled).await;
    let quick = Slow(Duration::from_millis(1));
    check(Some(quick), &all, cancelled).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_held_back_is_never_asked_where_its_step_has_ended() {
    let slow = Slow(Duration::from_secs(10));
    let failed = (RunStatus::Waiting, StepStatus::Failed);
    check(Some(slow), &["later"], failed).await;
}

/// Approves after an hour.
struct SlowApprover;

impl Approver for SlowApprover {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_hours(1)).await;
            Decision::Approve { args: None }
        })
    }
}

/// A tool that waits two hours for the answer of a person, and then works for `work`.
#[derive(Clone, Copy)]
struct AskingBackend {
    work: Duration,
}

impl ToolBackend for AskingBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let work = self.work;
        Box::pin(async move {
            let pause = call.clock.pause();
            tokio::time::sleep(Duration::from_hours(2)).await;
            drop(pause);
            tokio::time::sleep(work).await;
            Ok(ToolOutput::value(Value::Null))
        })
    }
}

/// Runs a loop over three items with a limit of ten seconds.
async fn check_loop(work: Duration, max_parallel: Option<u32>, expected: StepStatus) {
    let mut each = asking("each");
    each.timeout = Some(Duration::from_secs(10));
    let items = Value::list([1_u64, 2, 3].map(Value::from));
    each.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: Node::literal(items, Place::NOWHERE),
        max_parallel: max_parallel.and_then(NonZeroU32::new),
    });
    let plan = Plan {
        steps: vec![each],
        ..Plan::default()
    };
    let engine = Engine::new(Backends::new().with("s", AskingBackend { work }))
        .with_approver(Arc::new(SlowApprover));
    let summary = engine.run("r".parse().unwrap(), sound(plan)).await;
    assert_eq!(
        summary.steps[0].status, expected,
        "{work:?} {max_parallel:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_a_loop_does_not_count_open_questions() {
    let second = Duration::from_secs(1);
    check_loop(2 * second, Some(1), StepStatus::Succeeded).await;
    check_loop(5 * second, Some(1), StepStatus::Failed).await;
    check_loop(5 * second, None, StepStatus::Succeeded).await;
    check_loop(20 * second, None, StepStatus::Failed).await;
}

/// A question that is open for hours wakes the runtime only a few times: no limit is polled meanwhile.
#[tokio::test(start_paused = true)]
async fn limits_wait_for_the_end_of_a_question_without_polling() {
    let second = Duration::from_secs(1);
    let mut plan = Plan {
        steps: vec![asking("a"), asking("b")],
        ..Plan::default()
    };
    for step in &mut plan.steps {
        step.timeout = Some(10 * second);
    }
    let engine = Engine::new(Backends::new().with("s", AskingBackend { work: second }))
        .with_options(RunOptions {
            attempt_timeout: Some(5 * second),
            ..RunOptions::default()
        })
        .with_approver(Arc::new(SlowApprover));
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.worker_park_count(0);
    let summary = engine.run("r".parse().unwrap(), sound(plan)).await;
    let parks = metrics.worker_park_count(0) - before;
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert!(parks < 100, "{parks}");
}

/// Never answers, and explains why if it can.
struct SilentBackend(Option<&'static str>);

impl ToolBackend for SilentBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let reason = self.0;
        call.clock
            .explain_silence(move || reason.map(str::to_owned));
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_backend_explains_why_a_call_got_no_answer() {
    let second = Duration::from_secs(1);
    let cases = [
        (None, "no answer within 5s"),
        (Some("it sent `x`"), "no answer within 5s: it sent `x`"),
    ];
    for (reason, expected) in cases {
        let mut step = asking("a");
        step.approval = Approval::AsTool;
        let plan = Plan {
            steps: vec![step],
            ..Plan::default()
        };
        let engine = Engine::new(Backends::new().with("s", SilentBackend(reason))).with_options(
            RunOptions {
                attempt_timeout: Some(5 * second),
                ..RunOptions::default()
            },
        );
        let summary = engine.run("r".parse().unwrap(), sound(plan)).await;
        let error = summary.steps[0].error.as_ref().unwrap();
        assert_eq!(
            (error.kind, &*error.message),
            (ErrorKind::Timeout, expected)
        );
        assert!(error.leaves_outcome_unknown());
    }
}

/// Panics when it is asked, or as it is about to decide.
#[derive(Clone, Copy)]
enum Panics {
    AtOnce,
    Later,
}

impl Approver for Panics {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        match self {
            Self::AtOnce => panic!("`{}` is unknown", request.at),
            Self::Later => Box::pin(async move { panic!("`{}` is unknown", request.at) }),
        }
    }
}

impl Journal for Panics {
    fn append(&self, _: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        match self {
            Self::AtOnce => panic!("no pen"),
            Self::Later => Box::pin(async { panic!("no pen") }),
        }
    }
}

/// A step that asks beside one that does not, with the number of calls.
fn beside() -> (Engine, CheckedPlan, Arc<AtomicUsize>) {
    let mut free = asking("free");
    free.approval = Approval::AsTool;
    let plan = Plan {
        steps: vec![asking("asks"), free],
        on_failure: OnFailure::KeepGoing,
        ..Plan::default()
    };
    let called = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&called);
    let tool = Function::raw("t", move |_: Value| {
        counts.fetch_add(1, Ordering::SeqCst);
        async { Ok(ToolOutput::default()) }
    });
    let functions = Functions::named("s").with(tool);
    let engine = Engine::new(Backends::new().with("s", functions));
    (engine, sound(plan), called)
}

#[tokio::test(start_paused = true)]
async fn an_approver_that_panics_has_not_agreed() {
    for panics in [Panics::AtOnce, Panics::Later] {
        let (engine, plan, called) = beside();
        let engine = engine.with_approver(Arc::new(panics));
        let summary = engine.run("r".parse().unwrap(), plan).await;
        let errors = summary.steps.iter().filter_map(|step| step.error.as_ref());
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        assert_eq!(
            errors,
            ["the call was rejected: the approver panicked: `asks` is unknown"]
        );
        assert_eq!(called.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_journal_that_panics_was_to_keep_does_not_happen() {
    for panics in [Panics::AtOnce, Panics::Later] {
        let (engine, plan, called) = beside();
        let start = SpawnRequest::new("r".parse().unwrap(), plan)
            .with_journal(Arc::new(panics), Value::Null);
        let (handle, _events) = engine.spawn(start);
        let summary = handle.await;
        let journal_error = summary.journal_error.map(|error| error.to_string());
        assert_eq!(
            journal_error.as_deref(),
            Some("the journal panicked: no pen")
        );
        assert_eq!(called.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn a_run_whose_runtime_is_gone_says_so() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
    };
    let gone = runtime();
    let plan = Plan {
        steps: vec![asking("asks")],
        ..Plan::default()
    };
    let engine = Engine::new(Backends::new().with("s", Functions::named("s")))
        .with_approver(Arc::new(Person::default()));
    let handle = {
        let _entered = gone.enter();
        engine.start("r".parse().unwrap(), sound(plan)).0
    };
    drop(gone);
    let waits = AssertUnwindSafe(|| runtime().block_on(handle));
    let panic = catch_unwind(waits).unwrap_err();
    assert_eq!(
        panic.downcast_ref::<&str>(),
        Some(&"the tokio runtime that drove the run is gone")
    );
}
