//! Calls of immediate tools, which are polled inline without any visible difference, and calls that wait for a slow
//! journal: they begin when they are sent, not when they are decided.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright_core::plan::{ForEach, Name, Node};
use planwright_core::{Object, Place, Plan, Step, Value};
use planwright_engine::backend::{Backends, ErrorKind, Function, Functions, ToolOutput};
use planwright_engine::journal::{Entry, Journal};
use planwright_engine::{
    Engine, Guards, JournalError, MemoryJournal, RunOptions, RunStatus, RunSummary, SpawnRequest,
    StepStatus,
};
use tokio::task::Id;

use crate::drive::sound;

/// The behaviour of the tool at one call.
#[derive(Clone, Copy)]
enum Does {
    Answer,
    Sleep,
    Panic,
}

/// A journal that takes its time.
pub(crate) struct Slow(pub(crate) Duration);

impl Journal for Slow {
    fn append(&self, _: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        let takes = self.0;
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            Ok(())
        })
    }
}

/// A journal of a process that was stopped: another one may drive the run.
struct Doubtful {
    is_exclusive: Arc<AtomicBool>,
    is_lost: bool,
}

impl Journal for Doubtful {
    fn append(&self, _: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        Box::pin(async { Ok(()) })
    }

    fn is_exclusive(&self) -> bool {
        self.is_exclusive.load(Ordering::SeqCst)
    }

    fn confirm_exclusive(&self) -> BoxFuture<'static, Result<(), JournalError>> {
        let (is_exclusive, is_lost) = (Arc::clone(&self.is_exclusive), self.is_lost);
        Box::pin(async move {
            if is_lost {
                return Err(JournalError::new("another process has the run"));
            }
            is_exclusive.store(true, Ordering::SeqCst);
            Ok(())
        })
    }
}

/// Runs a plan with one call over a doubtful journal. Returns the outcome, and whether the call was sent.
async fn check_doubtful(is_lost: bool) -> (RunSummary, bool) {
    let is_exclusive = Arc::<AtomicBool>::default();
    let (seen, sent) = (Arc::clone(&is_exclusive), Arc::<AtomicBool>::default());
    let sends = Arc::clone(&sent);
    let tool = Function::raw("t", move |_: Value| {
        assert!(seen.load(Ordering::SeqCst), "it is sent in doubt");
        sends.store(true, Ordering::SeqCst);
        std::future::ready(Ok(ToolOutput::value(Value::Null)))
    });
    let args = Node::literal(Value::from(Object::default()), Place::NOWHERE);
    let plan = Plan {
        steps: vec![Step::call("s", "t", args)],
        ..Plan::default()
    };
    let backends = Backends::new().with("s", Functions::named("s").with(tool));
    let journal = Doubtful {
        is_exclusive,
        is_lost,
    };
    let spawn = SpawnRequest::new("r".parse().unwrap(), sound(plan))
        .with_journal(Arc::new(journal), Value::Null);
    let summary = Engine::new(backends).try_spawn(spawn).unwrap().0.await;
    let is_sent = sent.load(Ordering::SeqCst);
    (summary, is_sent)
}

#[tokio::test(start_paused = true)]
async fn no_call_is_sent_while_another_process_may_drive_the_run() {
    let (summary, is_sent) = check_doubtful(false).await;
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert!(is_sent);
    let (summary, is_sent) = check_doubtful(true).await;
    assert_eq!(summary.status, RunStatus::Failed);
    let error = summary.journal_error.unwrap();
    assert_eq!(&*error.message, "another process has the run");
    assert!(!is_sent);
}

/// Calls the tool once for each of `does`, one after the other. Returns the outcome of the run and the tasks that
/// began the calls.
async fn check(does: &'static [Does]) -> (RunSummary, Vec<Id>) {
    let began = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&began);
    let tool = Function::raw("t", move |_: Value| {
        let seen = Arc::clone(&seen);
        async move {
            let number = {
                let mut seen = seen.lock().unwrap();
                seen.push(tokio::task::id());
                seen.len()
            };
            match does[number - 1] {
                Does::Answer => {}
                Does::Sleep => tokio::time::sleep(Duration::from_hours(1)).await,
                Does::Panic => panic!("it breaks"),
            }
            Ok(ToolOutput::value(Value::Null))
        }
    });
    let steps = (0..does.len()).map(|number| {
        let args = Node::literal(Value::from(Object::default()), Place::NOWHERE);
        let mut step = Step::call(format!("s{number}"), "t", args);
        step.after = (0..number)
            .map(|before| Name {
                text: format!("s{before}").into(),
                place: Place::NOWHERE,
            })
            .collect();
        step
    });
    let plan = Plan {
        steps: steps.collect(),
        ..Plan::default()
    };
    let options = RunOptions {
        attempt_timeout: Some(Duration::from_secs(1)),
        ..RunOptions::default()
    };
    let backends = Backends::new().with("s", Functions::named("s").with(tool));
    let summary = Engine::new(backends)
        .with_options(options)
        .run("r".parse().unwrap(), sound(plan))
        .await;
    let began = began.lock().unwrap().clone();
    (summary, began)
}

#[tokio::test(start_paused = true)]
async fn a_quick_tool_is_asked_where_the_run_is_driven() {
    let (summary, began) = check(&[Does::Answer; 4]).await;
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(summary.calls.len(), 4);
    assert_ne!(began[0], began[1], "the first call shows what it is like");
    assert_eq!(began[1..3], began[2..4]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_waits_has_tasks_of_its_own() {
    let (summary, began) = check(&[Does::Answer, Does::Answer, Does::Sleep]).await;
    let step = &summary.steps[2];
    assert_eq!(step.status, StepStatus::Failed);
    assert_eq!(step.error.as_ref().unwrap().kind, ErrorKind::Timeout);
    assert_eq!(began.len(), 3, "it is not begun anew as a task");
}

#[tokio::test(start_paused = true)]
async fn a_quick_tool_that_panics_fails_its_step_alone() {
    let (summary, _) = check(&[Does::Answer, Does::Answer, Does::Panic]).await;
    let step = &summary.steps[2];
    assert_eq!(step.error.as_ref().unwrap().kind, ErrorKind::Internal);
    assert_eq!(summary.steps[1].status, StepStatus::Succeeded);
}

/// Calls an immediate tool for each of many items, in a run with or without a journal. Returns the reason for its
/// end.
async fn check_many(options: &RunOptions, is_stored: bool) -> ErrorKind {
    let items = Value::list((0..20_000_u64).map(Value::from));
    let tool = Function::raw("t", |_: Value| {
        // The maximum time of an immediate call.
        let _ = tokio::time::advance(Duration::from_micros(40)).now_or_never();
        std::future::ready(Ok(ToolOutput::value(Value::Null)))
    });
    let args = Node::literal(Value::from(Object::default()), Place::NOWHERE);
    let mut step = Step::call("each", "t", args);
    step.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: Node::literal(items, Place::NOWHERE),
        max_parallel: None,
    });
    let plan = Plan {
        steps: vec![step],
        ..Plan::default()
    };
    let backends = Backends::new().with("s", Functions::named("s").with(tool));
    let mut start = SpawnRequest::new("r".parse().unwrap(), sound(plan));
    if is_stored {
        start = start.with_journal(Arc::new(MemoryJournal::new()), Value::Null);
    }
    let engine = Engine::new(backends).with_options(options.clone());
    let (handle, events) = engine.spawn(start);
    drop(events);
    let summary = handle.await;
    assert!(summary.calls.len() < 10_000, "{}", summary.calls.len());
    summary.steps[0].error.as_ref().unwrap().kind
}

#[tokio::test(start_paused = true)]
async fn however_many_calls_are_done_at_once_timers_have_their_turn() {
    let limit = Duration::from_millis(10);
    let of_step = RunOptions {
        step_timeout: Some(limit),
        ..RunOptions::default()
    };
    let of_run = RunOptions {
        guards: Guards::new().wall_time(limit),
        ..RunOptions::default()
    };
    for is_stored in [false, true] {
        assert_eq!(check_many(&of_step, is_stored).await, ErrorKind::Timeout);
        assert_eq!(check_many(&of_run, is_stored).await, ErrorKind::Budget);
    }
}

/// Runs three steps with a tool that takes this long and has a limit of one second.
async fn run(keeping: Duration, call: Duration) -> (RunSummary, Engine) {
    let tool = Function::raw("t", move |_: Value| async move {
        tokio::time::sleep(call).await;
        Ok(ToolOutput::default())
    });
    let args = Node::literal(Value::empty_object(), Place::NOWHERE);
    let plan = Plan {
        steps: ["a", "b", "c"]
            .map(|id| Step::call(id, "t", args.clone()))
            .into(),
        ..Plan::default()
    };
    let mut options = RunOptions {
        attempt_timeout: Some(Duration::from_secs(1)),
        ..RunOptions::default()
    };
    options.limits.total = std::num::NonZeroUsize::MIN;
    let engine = Engine::new(Backends::new().with("s", Functions::named("s").with(tool)))
        .with_options(options);
    let start = SpawnRequest::new("r".parse().unwrap(), sound(plan))
        .with_journal(Arc::new(Slow(keeping)), Value::Null);
    let (handle, _events) = engine.spawn(start);
    (handle.await, engine)
}

async fn check_durations(keeping: Duration, call: Duration, expected: Option<ErrorKind>) {
    let (summary, engine) = run(keeping, call).await;
    for step in &summary.steps {
        let kind = step.error.as_ref().map(|error| error.kind);
        assert_eq!(kind, expected, "{}", step.at);
    }
    assert_eq!(engine.durations(), summary.durations);
    match summary.durations.of("s", "t") {
        Some(learned) => {
            assert_eq!((learned.calls, expected), (3, None));
            let off = learned.mean.abs_diff(call);
            assert!(off < Duration::from_millis(10), "{learned:?}");
        }
        None => assert!(expected.is_some()),
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_journal_takes_is_no_time_of_the_call() {
    let (quick, slow) = (Duration::from_millis(100), Duration::from_secs(10));
    check_durations(slow, quick, None).await;
    check_durations(quick, slow, Some(ErrorKind::Timeout)).await;
    check_durations(slow, slow, Some(ErrorKind::Timeout)).await;
}
