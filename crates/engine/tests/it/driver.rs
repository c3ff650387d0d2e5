//! The tokio driver: timers, retries, cancellation, decisions, extension. Time is virtual.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::check::CheckContext;
use planwright_core::plan::{
    Action, Alternative, Approval, Field, ForEach, Form, Node, PlanCall, PlanTarget, Read,
    Reference, Repeat, RetryPolicy, Source,
};
use planwright_core::{Place, Plan, Step, StepId, Value};
use planwright_engine::approval::{ApprovalRequest, Approver};
use planwright_engine::backend::{Backends, ErrorKind, Function, Functions, ToolError, ToolOutput};
use planwright_engine::options::PlanState;
use planwright_engine::{
    Decision, Engine, Guards, RunEvent, RunOptions, RunStatus, SpawnRequest, StepStatus,
};

use crate::drive::{catalog, sound};

fn args(fields: &[(&str, Node)]) -> Node {
    let fields = fields
        .iter()
        .map(|(key, value)| Field {
            key: Arc::from(*key),
            value: value.clone(),
        })
        .collect();
    Node::object(fields, Place::NOWHERE)
}

fn from_step(id: &str) -> Node {
    Node::reference(Reference {
        text: Arc::from(id),
        place: Place::NOWHERE,
        form: Form::First(vec![Alternative::Read(Read::whole(Source::Step(
            StepId::new(id),
        )))]),
    })
}

fn call(id: &str, on: &[&str]) -> Step {
    let fields: Vec<(&str, Node)> = on.iter().map(|on| (*on, from_step(on))).collect();
    Step::call(id, "t", args(&fields))
}

fn plan(steps: Vec<Step>) -> Plan {
    Plan {
        steps,
        ..Plan::default()
    }
}

/// A server `s` with a tool `t` that runs `function`.
fn server<F, R>(function: F) -> Backends
where
    F: Fn(Value) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    Backends::new().with(
        "s",
        Functions::named("s").with(Function::raw("t", function)),
    )
}

fn answer(value: &str) -> ToolOutput {
    ToolOutput::value(Value::from(value))
}

/// Counts the calls that were dropped before they ended.
#[derive(Clone, Default)]
struct Dropped(Arc<AtomicUsize>);

struct Guard(Option<Dropped>);

impl Dropped {
    fn guard(&self) -> Guard {
        Guard(Some(self.clone()))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Guard {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(dropped) = &self.0 {
            dropped.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_longer_each_time() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let start = tokio::time::Instant::now();
    let backend = server(move |_| {
        let seen = Arc::clone(&seen);
        async move {
            let mut seen = seen.lock().unwrap();
            seen.push(start.elapsed());
            if seen.len() < 4 {
                Err(ToolError::unavailable("gone"))
            } else {
                Ok(answer("back"))
            }
        }
    });
    let options = RunOptions {
        retry: RetryPolicy {
            delay: Duration::from_millis(100),
            ..attempts(4)
        },
        ..RunOptions::default()
    };
    let summary = Engine::new(backend)
        .with_options(options)
        .run("r".parse().unwrap(), sound(plan(vec![call("a", &[])])))
        .await;
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(summary.steps[0].attempts, 4);
    assert_eq!(summary.calls.len(), 4);
    let times = times.lock().unwrap();
    for (pair, base) in times.windows(2).zip([100, 200, 400]) {
        let pause = pair[1].saturating_sub(pair[0]).as_millis();
        assert!(
            (base * 8 / 10..=base * 12 / 10 + 2).contains(&pause),
            "{times:?}"
        );
    }
}

/// Checks that a long timer fires after its whole duration, not after a part.
async fn check_longest_time(options: RunOptions, timeout: Option<Duration>, expected: Duration) {
    let mut step = call("a", &[]);
    step.timeout = timeout;
    let start = tokio::time::Instant::now();
    let backend = server(|_| std::future::pending());
    let options = RunOptions {
        attempt_timeout: None,
        ..options
    };
    let summary = Engine::new(backend)
        .with_options(options)
        .run("r".parse().unwrap(), sound(plan(vec![step])))
        .await;
    assert_eq!(summary.steps[0].status, StepStatus::Failed);
    assert_eq!(start.elapsed().as_secs(), expected.as_secs());
}

#[tokio::test(start_paused = true)]
async fn times_of_several_years_are_kept() {
    let years = Duration::from_hours(5 * 365 * 24);
    check_longest_time(RunOptions::default(), Some(years), years).await;
    let guards = Guards::new().wall_time(years);
    let options = RunOptions {
        guards,
        ..RunOptions::default()
    };
    check_longest_time(options, Some(Duration::MAX), years).await;
}

#[tokio::test(start_paused = true)]
async fn a_time_without_end_harms_no_run() {
    let mut step = call("a", &[]);
    step.timeout = Some(Duration::MAX);
    let guards = Guards::new().wall_time(Duration::MAX);
    let options = RunOptions {
        attempt_timeout: Some(Duration::MAX),
        guards,
        ..RunOptions::default()
    };
    let backend = server(|_| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(answer("done"))
    });
    let summary = Engine::new(backend)
        .with_options(options)
        .run("r".parse().unwrap(), sound(plan(vec![step])))
        .await;
    assert_eq!(summary.status, RunStatus::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn what_a_retry_cannot_mend_is_not_tried_again() {
    let options = RunOptions {
        retry: attempts(4),
        ..RunOptions::default()
    };
    let backend = server(|_| async { Err(ToolError::tool("no", Value::Null)) });
    let summary = Engine::new(backend)
        .with_options(options)
        .run("r".parse().unwrap(), sound(plan(vec![call("a", &[])])))
        .await;
    assert_eq!(summary.calls.len(), 1);
    assert_eq!(
        summary.steps[0].error.as_ref().unwrap().kind,
        ErrorKind::Tool
    );
}

#[tokio::test(start_paused = true)]
async fn timeouts_cancel_the_call() {
    let attempt = RunOptions {
        attempt_timeout: Some(Duration::from_secs(1)),
        retry: attempts(2),
        ..RunOptions::default()
    };
    let step = RunOptions {
        step_timeout: Some(Duration::from_secs(1)),
        retry: attempts(2),
        ..RunOptions::default()
    };
    for (options, calls) in [(attempt, 2), (step, 1)] {
        let dropped = Dropped::default();
        let watched = dropped.clone();
        let backend = server(move |_| {
            let guard = watched.guard();
            async move {
                tokio::time::sleep(Duration::from_hours(1)).await;
                guard.disarm();
                Ok(answer("late"))
            }
        });
        let start = tokio::time::Instant::now();
        let summary = Engine::new(backend)
            .with_options(options)
            .run(
                "r".parse().unwrap(),
                sound(plan(vec![call("a", &[]), call("b", &["a"])])),
            )
            .await;
        assert_eq!(summary.status, RunStatus::Failed);
        assert_eq!(
            summary.steps[0].error.as_ref().unwrap().kind,
            ErrorKind::Timeout
        );
        assert_eq!(summary.steps[1].status, StepStatus::Skipped);
        assert_eq!(summary.calls.len(), calls);
        assert_eq!(dropped.count(), calls);
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "nothing waits on a timer after the last step"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_before_it_begins_calls_nothing() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let backend = server(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move { Ok(answer("late")) }
    });
    let plan = sound(plan(vec![call("a", &[]), call("b", &["a"])]));
    let (handle, _events) =
        Engine::new(backend).spawn(SpawnRequest::new("r".parse().unwrap(), plan).cancelled());
    assert_eq!(handle.await.status, RunStatus::Cancelled);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_abandoned_does_nothing_more() {
    let dropped = Dropped::default();
    let watched = dropped.clone();
    let backend = server(move |_| {
        let guard = watched.guard();
        async move {
            tokio::time::sleep(Duration::from_hours(1)).await;
            guard.disarm();
            Ok(answer("late"))
        }
    });
    let plan = sound(plan(vec![call("a", &[])]));
    let (handle, mut events) = Engine::new(backend).start("r".parse().unwrap(), plan);
    while !matches!(
        events.recv().await.unwrap().event,
        RunEvent::AttemptStarted { .. }
    ) {}
    handle.abandon().await;
    while dropped.count() == 0 {
        tokio::task::yield_now().await;
    }
    // No end is reported either.
    while let Ok(event) = events.try_recv() {
        assert!(
            !matches!(event.event, RunEvent::RunEnded { .. }),
            "{event:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_calls_and_starts_nothing() {
    let dropped = Dropped::default();
    let watched = dropped.clone();
    let backend = server(move |_| {
        let guard = watched.guard();
        async move {
            tokio::time::sleep(Duration::from_hours(1)).await;
            guard.disarm();
            Ok(answer("late"))
        }
    });
    let plan = sound(plan(vec![
        call("a", &[]),
        call("b", &[]),
        call("c", &["a"]),
    ]));
    let (handle, mut events) = Engine::new(backend).start("r".parse().unwrap(), plan);
    let mut begun = 0;
    while begun < 2 {
        if let RunEvent::AttemptStarted { .. } = events.recv().await.unwrap().event {
            begun += 1;
        }
    }
    handle.cancel();
    let summary = handle.await;
    let statuses: Vec<StepStatus> = summary.steps.iter().map(|step| step.status).collect();
    assert_eq!(
        statuses,
        [
            StepStatus::Cancelled,
            StepStatus::Cancelled,
            StepStatus::NotRun
        ]
    );
    assert_eq!(summary.status, RunStatus::Cancelled);
    assert_eq!(dropped.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_handle_gives_the_run_up() {
    let dropped = Dropped::default();
    let watched = dropped.clone();
    let begun = Arc::new(tokio::sync::Notify::new());
    let began = Arc::clone(&begun);
    let backend = server(move |_| {
        let guard = watched.guard();
        let began = Arc::clone(&began);
        async move {
            began.notify_one();
            std::future::pending::<()>().await;
            guard.disarm();
            Ok(answer("never"))
        }
    });
    let (handle, mut events) =
        Engine::new(backend).start("r".parse().unwrap(), sound(plan(vec![call("a", &[])])));
    begun.notified().await;
    drop(handle);
    while events.recv().await.is_some() {}
    tokio::task::yield_now().await;
    assert_eq!(dropped.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_panics_fails_its_step_alone() {
    let backend = server(|args| async move {
        assert!(args.get("x").is_none(), "this one panics");
        Ok(answer("fine"))
    });
    let bad = Step::call(
        "bad",
        "t",
        args(&[("x", Node::literal(Value::Null, Place::NOWHERE))]),
    );
    let summary = Engine::new(backend)
        .run(
            "r".parse().unwrap(),
            sound(plan(vec![bad, call("good", &[])])),
        )
        .await;
    let error = summary.steps[0].error.as_ref().unwrap();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert!(error.message.contains("this one panics"), "{error}");
    assert_eq!(summary.steps[1].status, StepStatus::Succeeded);
}

/// Decides by step.
struct ByStep(HashMap<&'static str, Decision>);

impl Approver for ByStep {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        let decision = self.0[request.at.step.as_str()].clone();
        Box::pin(async move { decision })
    }
}

#[tokio::test(start_paused = true)]
async fn approvals() {
    let backend = server(|args| async move { Ok(ToolOutput::value(args)) });
    let changed = Value::object([("changed", Value::from(true))]);
    let approver = ByStep(HashMap::from([
        ("yes", Decision::Approve { args: None }),
        (
            "changed",
            Decision::Approve {
                args: Some(changed.clone()),
            },
        ),
        (
            "no",
            Decision::Reject {
                because: Some("too dear".to_owned()),
            },
        ),
        ("later", Decision::Later),
    ]));
    let steps = ["yes", "changed", "no", "later"].map(|id| {
        let mut step = call(id, &[]);
        step.approval = Approval::Ask;
        step
    });
    let mut steps = steps.to_vec();
    steps.push(call("after_no", &["no"]));
    steps.push(call("after_later", &["later"]));
    steps.push(call("free", &[]));
    let summary = Engine::new(backend)
        .with_approver(Arc::new(approver))
        .run("r".parse().unwrap(), sound(plan(steps)))
        .await;
    let seen: Vec<(&str, StepStatus)> = summary
        .steps
        .iter()
        .map(|step| (step.at.step.as_str(), step.status))
        .collect();
    assert_eq!(
        seen,
        [
            ("yes", StepStatus::Succeeded),
            ("changed", StepStatus::Succeeded),
            ("no", StepStatus::Failed),
            ("later", StepStatus::Waiting),
            ("after_no", StepStatus::Skipped),
            ("after_later", StepStatus::NotRun),
            ("free", StepStatus::Succeeded),
        ]
    );
    assert_eq!(summary.status, RunStatus::Waiting);
    assert_eq!(summary.steps[1].args.as_ref(), Some(&changed));
    let error = summary.steps[2].error.as_ref().unwrap();
    assert_eq!(error.kind, ErrorKind::Approval);
    assert_eq!(error.message, "the call was rejected: too dear");
}

#[tokio::test(start_paused = true)]
async fn a_running_plan_takes_further_steps() {
    let backend = server(|args| async move { Ok(ToolOutput::value(args)) });
    let options = RunOptions {
        plan_state: PlanState::Open,
        ..RunOptions::default()
    };
    let first = sound(plan(vec![call("a", &[])]));
    let (handle, mut events) = Engine::new(backend)
        .with_options(options)
        .start("r".parse().unwrap(), first.clone());
    // The first step has ended before the second is known.
    loop {
        if let RunEvent::StepEnded { .. } = events.recv().await.unwrap().event {
            break;
        }
    }
    let catalog = catalog();
    let (longer, diagnostics) = first.extend(
        plan(vec![call("b", &["a"]), call("c", &["b"])]),
        &CheckContext::new(&catalog),
    );
    handle
        .extend(longer.unwrap_or_else(|| panic!("{diagnostics:#?}")))
        .unwrap();
    handle.close();
    let summary = handle.await;
    assert_eq!(summary.status, RunStatus::Succeeded);
    let output = summary.output.get("c").unwrap().to_json();
    assert_eq!(output, r#"{"b":{"a":{}}}"#);
}

#[tokio::test(start_paused = true)]
async fn independent_steps_run_at_once_and_nothing_waits_for_a_wave() {
    let backend = server(|args| async move {
        let fast = args.get("fast").is_some();
        tokio::time::sleep(Duration::from_millis(if fast { 10 } else { 300 })).await;
        Ok(answer("done"))
    });
    let fast = Step::call(
        "fast",
        "t",
        args(&[("fast", Node::literal(Value::Null, Place::NOWHERE))]),
    );
    let plan = sound(plan(vec![call("slow", &[]), fast, call("next", &["fast"])]));
    let summary = Engine::new(backend).run("r".parse().unwrap(), plan).await;
    let took = summary.duration;
    assert!(took < Duration::from_millis(330), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn listeners_do_not_change_a_run() {
    let engine = Engine::new(server(|_| async { Ok(answer("x")) }));
    for (listens_to, heard) in [(0, 0), (2, 2), (usize::MAX, 10)] {
        let steps = vec![call("a", &[]), call("b", &["a"])];
        let (handle, mut events) = engine.start("run".parse().unwrap(), sound(plan(steps)));
        let mut count = 0;
        while count < listens_to && events.recv().await.is_some() {
            count += 1;
        }
        drop(events);
        let summary = handle.await;
        assert_eq!(summary.status, RunStatus::Succeeded, "{listens_to}");
        assert_eq!((summary.steps.len(), summary.calls.len()), (2, 2));
        assert_eq!(count, heard, "of {listens_to}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_output_that_nests_too_deeply_fails() {
    let backend = server(|args| async move { Ok(ToolOutput::value(args)) });
    let mut steps = vec![call("s0", &[])];
    for index in 1..600 {
        let before = format!("s{}", index - 1);
        steps.push(call(&format!("s{index}"), &[&before]));
    }
    let summary = Engine::new(backend)
        .run("r".parse().unwrap(), sound(plan(steps)))
        .await;
    let failed: Vec<&str> = summary
        .steps
        .iter()
        .filter(|step| step.status == StepStatus::Failed)
        .map(|step| step.at.step.as_str())
        .collect();
    assert_eq!(failed, ["s512"]);
    let error = summary.steps[512].error.as_ref().unwrap();
    assert_eq!(error.kind, ErrorKind::Budget);
}

/// Items, rounds and steps of inner plans all count; a group that would exceed the maximum fails before any part of
/// it begins.
#[tokio::test]
async fn a_run_has_no_more_tasks_than_are_allowed() {
    let items = |count: u64| {
        let items = Value::list((0..count).map(Value::from));
        let mut step = call("loop", &[]);
        step.for_each = Some(ForEach {
            item_name: None,
            with_item: false,
            over: Node::literal(items, Place::NOWHERE),
            max_parallel: None,
        });
        step
    };
    let rounds = |max: u32| {
        let mut step = call("loop", &[]);
        step.repeat = Some(Repeat {
            until: Node::literal(false.into(), Place::NOWHERE),
            max: NonZeroU32::new(max).unwrap(),
        });
        step
    };
    let inner = |count: usize| {
        let steps = (0..count).map(|number| call(&format!("s{number}"), &[]));
        Step {
            action: Action::Plan(PlanCall {
                target: PlanTarget::Inline(Box::new(plan(steps.collect()))),
                scopes: Vec::new(),
            }),
            ..call("loop", &[])
        }
    };
    let over = |count: usize| {
        format!(
            "the run has {count} tasks (steps, items, rounds), more than the 4 that are allowed"
        )
    };
    for (step, calls, error) in [
        (items(3), 3, None),
        (items(4), 0, Some(over(5))),
        (rounds(4), 3, Some(over(5))),
        (inner(3), 3, None),
        (inner(4), 0, Some(over(5))),
    ] {
        let options = RunOptions {
            max_tasks: 4,
            ..RunOptions::default()
        };
        let backend = server(|_| async { Ok(answer("yes")) });
        let summary = Engine::new(backend)
            .with_options(options)
            .run("r".parse().unwrap(), sound(plan(vec![step])))
            .await;
        assert_eq!(summary.calls.len(), calls);
        let failure = summary.steps[0].error.as_ref();
        assert_eq!(failure.map(|failure| failure.message.clone()), error);
        assert!(failure.is_none_or(|failure| failure.kind == ErrorKind::Budget));
    }
}

/// The default policy with so many attempts.
fn attempts(attempts: u32) -> RetryPolicy {
    RetryPolicy {
        attempts: NonZeroU32::new(attempts).unwrap(),
        ..RetryPolicy::default()
    }
}
