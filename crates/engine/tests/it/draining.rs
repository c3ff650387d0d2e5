//! Drained runs: calls in flight end, nothing new starts, and a resumed run gives the same outcome.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_core::check::CheckedPlan;
use planwright_core::expression::parse_form;
use planwright_core::plan::{
    Action, Field, ForEach, Node, OnError, OnFailure, PlanCall, PlanTarget, Reference, Repeat,
    Retry,
};
use planwright_core::{Place, Plan, PlanDigest, Step};
use planwright_engine::backend::{
    Backends, CallProgress, ErrorKind, Function, Functions, ToolCall, ToolError, ToolOutput,
};
use planwright_engine::journal::{Entry, Record};
use planwright_engine::run::{
    Effect, History, ReplayHeader, RunInput, RunMachine, StepSummary, replay,
};
use planwright_engine::schedule::{TaskId, Timer};
use planwright_engine::{
    Engine, RunEvent, RunOptions, RunStatus, RunSummary, StepStatus, ToolBackend,
};
use tokio::sync::Notify;

use crate::drive::sound;

fn written(text: &str) -> Node {
    let form = parse_form(text).unwrap_or_else(|error| panic!("{error:?}"));
    Node::reference(Reference {
        text: Arc::from(text),
        place: Place::NOWHERE,
        form,
    })
}

fn call(id: &str, of: &str) -> Step {
    let field = Field {
        key: Arc::from("of"),
        value: written(of),
    };
    Step::call(id, "t", Node::object(vec![field], Place::NOWHERE))
}

fn plan(steps: Vec<Step>) -> Plan {
    Plan {
        steps,
        on_failure: OnFailure::KeepGoing,
        ..Plan::default()
    }
}

/// A chain, a loop whose second item fails, rounds, and an inner plan. Each call of `flaky` fails once.
pub(crate) fn mixed() -> CheckedPlan {
    let mut each = call("each", "item");
    each.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: Node::literal(Value::list((0_i64..4).map(Value::from)), Place::NOWHERE),
        max_parallel: NonZeroU32::new(2),
    });
    each.on_error = OnError::Continue;
    let mut rounds = call("rounds", "index");
    rounds.repeat = Some(Repeat {
        until: written("index == 2"),
        max: NonZeroU32::new(5).unwrap(),
    });
    let mut flaky = call("flaky", "1");
    let attempts = NonZeroU32::new(3).unwrap();
    flaky.retry = Some(Retry::new(attempts).with_delay(Duration::from_secs(1)));
    flaky.on_error = OnError::Continue;
    let mut inner = call("inner", "1");
    inner.action = Action::Plan(PlanCall {
        target: PlanTarget::Inline(Box::new(plan(vec![call("x", "1"), call("y", "x")]))),
        scopes: Vec::new(),
    });
    inner.args = Node::object(Vec::new(), Place::NOWHERE);
    sound(plan(vec![
        call("a", "1"),
        call("b", "a"),
        each,
        call("after", "each"),
        rounds,
        flaky,
        call("after_flaky", "flaky"),
        inner,
        call("last", "inner"),
    ]))
}

pub(crate) fn answer(call: &ToolCall) -> Result<ToolOutput, ToolError> {
    let step = call.context.step.as_str();
    match (step, call.args.get("of").and_then(Value::as_f64)) {
        ("flaky", _) if call.context.attempt == 1 => Err(ToolError::unavailable("not there")),
        ("each", Some(1.0)) => Err(ToolError::tool("no", Value::Null)),
        _ => Ok(ToolOutput::value(call.args.clone())),
    }
}

/// The state of one process.
struct Process {
    summary: RunSummary,
    /// The steps of the calls that succeeded, in order.
    answered: Vec<String>,
}

/// Drives a run by hand, and drains it before its answer of this number. Appends its journal to `entries`.
fn process(plan: &CheckedPlan, entries: &mut Vec<Entry>, drain_before: usize) -> Process {
    let mut turn = entries.last().map_or(0, |entry| entry.turn + 1);
    let mut run = RunMachine::new("run".parse().unwrap(), plan.clone(), RunOptions::default())
        .journaled()
        .after(Arc::new(History::new(&*entries)));
    let mut clock = run.now();
    let opened = Record::Opened {
        run: None,
        digest: plan.digest().clone(),
        header: Value::Null,
    };
    entries.push(Entry {
        at: clock,
        turn,
        record: opened,
    });
    let mut effects = Vec::new();
    let mut calls: VecDeque<(TaskId, u32, ToolCall)> = VecDeque::new();
    let mut pauses = VecDeque::new();
    let (mut answers, mut is_drained) = (0, false);
    let mut answered = Vec::new();
    run.start(&mut effects);
    loop {
        run.proceed(&mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Call {
                    task,
                    attempt,
                    call,
                } => {
                    assert!(!is_drained, "`{}` was called", call.context.step);
                    calls.push_back((task, attempt, *call));
                }
                Effect::SetTimer {
                    task,
                    timer: timer @ Timer::Pause(_),
                    ..
                } => {
                    assert!(!is_drained, "a retry is scheduled");
                    pauses.push_back(RunInput::TimerFired(task, timer));
                }
                Effect::Abort(task) => {
                    assert!(!calls.iter().any(|(other, ..)| *other == task), "aborted");
                }
                Effect::AppendRecord { at, record } => entries.push(Entry {
                    at,
                    turn,
                    record: *record,
                }),
                _ => {}
            }
        }
        turn += 1;
        clock += Duration::from_millis(1);
        if answers == drain_before && !is_drained {
            is_drained = true;
            // A second request changes nothing.
            for _ in 0..2 {
                run.handle(RunInput::Drain, clock, &mut effects);
            }
            pauses.clear();
            continue;
        }
        if let Some((task, attempt, call)) = calls.pop_front() {
            answers += 1;
            let result = answer(&call);
            if result.is_ok() {
                answered.push(format!(
                    "{} {}",
                    call.context.idempotency_key(),
                    call.args.to_json()
                ));
            }
            let ended = RunInput::AttemptEnded {
                task,
                attempt,
                result,
            };
            run.handle(ended, clock, &mut effects);
        } else if let Some(fired) = pauses.pop_front() {
            run.handle(fired, clock, &mut effects);
        } else {
            break;
        }
    }
    assert!(run.is_done(), "{:#?}", outcomes(&run.summary().steps));
    let status = run.summary().status;
    entries.push(Entry {
        at: run.now(),
        turn,
        record: Record::Ended { status },
    });
    Process {
        summary: run.summary(),
        answered,
    }
}

/// The settings with which each process of the run began.
pub(crate) fn header(plan: &CheckedPlan) -> ReplayHeader {
    ReplayHeader {
        plan: plan.clone(),
        options: RunOptions::default(),
        choices: Vec::new(),
        forgotten: Vec::new(),
        idle: Some(Duration::ZERO),
        revokes_consent: false,
        extensions: VecDeque::new(),
    }
}

/// The outcome of each step and part, one line each.
pub(crate) fn outcomes(steps: &[StepSummary]) -> Vec<String> {
    let mut lines = Vec::new();
    for step in steps {
        let error = step.error.as_ref().map(|error| error.message.as_str());
        let output = step.output.as_ref().map(Value::to_json);
        lines.push(format!("{} {} {error:?} {output:?}", step.at, step.status));
        lines.extend(outcomes(&step.parts));
    }
    lines
}

#[test]
fn a_drained_run_leaves_nothing_unknown_and_gives_the_same_outcome_once_resumed() {
    let plan = mixed();
    let whole = process(&plan, &mut Vec::new(), usize::MAX);
    assert_eq!(whole.summary.status, RunStatus::Succeeded);
    let mut drained_runs = 0;
    for drain_before in 0.. {
        let mut entries = Vec::new();
        let first = process(&plan, &mut entries, drain_before);
        if first.summary.status == RunStatus::Succeeded {
            // Only the last call was left.
            assert_eq!(drain_before + 1, whole.summary.calls.len());
            break;
        }
        drained_runs += 1;
        assert_eq!(first.summary.status, RunStatus::Cancelled);
        for step in &first.summary.steps {
            assert_ne!(step.status, StepStatus::Unknown, "{}", step.at);
            let began = step.started.is_some();
            let is_left = step.status == StepStatus::NotRun;
            assert!(!(began && is_left), "`{}` began", step.at);
        }
        let second = process(&plan, &mut entries, usize::MAX);
        assert_eq!(
            outcomes(&second.summary.steps),
            outcomes(&whole.summary.steps),
            "drained before answer {drain_before}"
        );
        let mut answered = first.answered;
        answered.extend(second.answered);
        answered.sort();
        let mut expected = whole.answered.clone();
        expected.sort();
        assert_eq!(answered, expected, "each call happens once");
        let opened = |_: &PlanDigest, _: &Value| Ok::<_, Infallible>(header(&plan));
        let replayed = replay(&"run".parse().unwrap(), &entries, opened);
        let replayed = replayed.unwrap_or_else(|error| panic!("{error:#?}\n{entries:#?}"));
        assert_eq!(replayed.processes, 2);
        let drains = |entry: &&Entry| entry.record == Record::Draining;
        assert_eq!(entries.iter().filter(drains).count(), 1);
    }
    assert!(drained_runs > 10, "{drained_runs}");
}

/// A server whose tool `t` takes this long.
fn slow(takes: Duration) -> Backends {
    let slow = move |_| async move {
        tokio::time::sleep(takes).await;
        Ok(ToolOutput::text("done"))
    };
    Backends::new().with("s", Functions::named("s").with(Function::raw("t", slow)))
}

/// Drains a run of two steps with this limit, twice if there is a second one, and returns the statuses and the time it took.
async fn drained(limits: &[u64]) -> (RunStatus, Vec<StepStatus>, Duration) {
    let plan = sound(plan(vec![call("a", "1"), call("b", "a")]));
    let engine = Engine::new(slow(Duration::from_secs(50)));
    let (handle, mut events) = engine.start("r".parse().unwrap(), plan);
    while !matches!(
        events.recv().await.unwrap().event,
        RunEvent::AttemptStarted { .. }
    ) {}
    for seconds in limits {
        handle.drain(Duration::from_secs(*seconds));
    }
    let mut announced = 0;
    while let Some(event) = events.recv().await {
        announced += usize::from(matches!(event.event, RunEvent::RunDraining));
    }
    assert_eq!(announced, 1);
    let summary = handle.await;
    let statuses = summary.steps.iter().map(|step| step.status).collect();
    (summary.status, statuses, summary.duration)
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_have_the_time_of_the_limit() {
    let (status, steps, took) = drained(&[100]).await;
    assert_eq!(status, RunStatus::Cancelled);
    assert_eq!(steps, [StepStatus::Succeeded, StepStatus::NotRun]);
    assert_eq!(took.as_secs(), 50);
    let cancelled = [StepStatus::Cancelled, StepStatus::NotRun];
    // A second request can only shorten the time.
    for limits in [&[10][..], &[100, 10], &[10, 100]] {
        let (status, steps, took) = drained(limits).await;
        assert_eq!((status, took.as_secs()), (RunStatus::Cancelled, 10));
        assert_eq!(steps, cancelled);
    }
    let (_, steps, _) = drained(&[u64::MAX]).await;
    assert_eq!(steps, [StepStatus::Succeeded, StepStatus::NotRun]);
}

/// A tool that reports progress a thousand times in a second, then once more, and waits until it may end.
struct Reporting(Arc<Notify>);

impl ToolBackend for Reporting {
    fn call(
        &self,
        call: ToolCall,
    ) -> futures::future::BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            for done in 1..=1000 {
                tokio::time::sleep(Duration::from_millis(1)).await;
                call.clock.report(CallProgress {
                    done: f64::from(done),
                    total: Some(1000.0),
                    message: Some(format!("the key {}", "is secret-7".repeat(100)).into()),
                });
            }
            self.0.notified().await;
            Err(ToolError::new(ErrorKind::Tool, "enough"))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn listeners_get_the_progress_of_calls_in_flight() {
    let may_end = Arc::new(Notify::new());
    let backend = Backends::new().with("s", Reporting(Arc::clone(&may_end)));
    let plan = sound(plan(vec![call("a", "1")]));
    let options = RunOptions {
        secrets: [Arc::from("secret-7")].into(),
        ..RunOptions::default()
    };
    let engine = Engine::new(backend).with_options(options);
    let (handle, mut events) = engine.start("r".parse().unwrap(), plan);
    let mut reports = Vec::new();
    loop {
        let stamped = events.recv().await.unwrap();
        if let RunEvent::CallProgress { at, tool, progress } = stamped.event {
            assert_eq!((at.to_string().as_str(), &*tool), ("a", "t"));
            let message = progress.message.as_deref().unwrap();
            assert!(!message.contains("secret-7"), "{message}");
            assert!(message.len() < 400, "{message}");
            let is_last = progress.fraction() == Some(1.0);
            reports.push((stamped.at, progress.done));
            if is_last {
                break;
            }
        }
    }
    may_end.notify_one();
    assert_eq!(handle.await.status, RunStatus::Failed);
    assert!(reports.is_sorted_by(|one, next| one.1 < next.1));
    // The listeners hear of it every tenth of a second.
    assert!((8..=14).contains(&reports.len()), "{reports:?}");
}
