//! Runs with long computations: they accept input meanwhile, and a replay decides the same.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::CheckedPlan;
use planwright_core::expression::parse_form;
use planwright_core::plan::{Action, ForEach, Name, Node, OnFailure, Reference};
use planwright_core::{Object, Place, Plan, Step, StepId, Value};
use planwright_engine::backend::{Backends, ToolOutput};
use planwright_engine::journal::{Entry, MemoryJournal, Record};
use planwright_engine::run::{Effect, ReplayHeader, RunInput, RunMachine, StepStatus, replay};
use planwright_engine::schedule::{TaskId, Timer};
use planwright_engine::{Engine, Guards, RunOptions, RunStatus, RunSummary, SpawnRequest};

use crate::drive::sound;

/// A plan whose items each take a while, and far too long together.
const LONG: &str =
    "l.map(a, l.map(b, l.map(c, l.map(d, l.map(e, a + b + c + d + e)))))[0][0][0][0][0]";

fn written(text: &str) -> Node {
    let form = parse_form(text).unwrap_or_else(|error| panic!("{error:?}"));
    Node::reference(Reference {
        text: Arc::from(text),
        place: Place::NOWHERE,
        form,
    })
}

fn numbers(count: u64) -> Node {
    let numbers = Value::list((1..=count).map(Value::from));
    Node::literal(numbers, Place::NOWHERE)
}

fn value(id: &str, value: Node) -> Step {
    Step::new(StepId::new(id), Action::Value(value), Node::default())
}

fn each(id: &str, count: u64, text: &str) -> Step {
    let mut step = value(id, written(text));
    step.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: numbers(count),
        max_parallel: None,
    });
    step
}

fn plan(steps: Vec<Step>) -> CheckedPlan {
    sound(Plan {
        steps,
        on_failure: OnFailure::KeepGoing,
        ..Plan::default()
    })
}

/// Computes before its calls, beside them and after them.
fn short() -> CheckedPlan {
    let call = |id: &str, after: &str| {
        let nothing = Node::literal(Value::from(Object::default()), Place::NOWHERE);
        let mut step = Step::call(id, "t", nothing);
        step.after = vec![Name {
            text: Arc::from(after),
            place: Place::NOWHERE,
        }];
        step
    };
    let mut bounded = each("bounded", 20, "l[0] + index");
    bounded.timeout = Some(Duration::from_secs(1));
    plan(vec![
        value("l", numbers(3)),
        value("sum", written("l[0] + l[1]")),
        bounded,
        call("early", "sum"),
        call("other", "sum"),
        each("later", 12, "sum + index"),
        value("after_early", written("early != null && sum > 0")),
        call("last", "later"),
    ])
}

fn options() -> RunOptions {
    RunOptions {
        guards: Guards::new().wall_time(Duration::from_mins(1)),
        ..RunOptions::default()
    }
}

fn outcomes(summary: &RunSummary) -> Vec<String> {
    let steps = summary.steps.iter();
    steps
        .map(|step| format!("{} {}", step.at, step.status.as_str()))
        .collect()
}

/// The state of calls when an input arrives.
#[derive(Default)]
struct InFlightInputs {
    calls: Vec<(TaskId, u32)>,
    step_timer: Option<TaskId>,
}

impl InFlightInputs {
    fn answer(&mut self) -> Option<RunInput> {
        let (task, attempt) = (!self.calls.is_empty()).then(|| self.calls.remove(0))?;
        Some(RunInput::AttemptEnded {
            task,
            attempt,
            result: Ok(ToolOutput::text("yes")),
        })
    }
}

/// Drives a run by hand that receives an input at its `pause`th pause, and replays its journal. Returns `None` if it
/// does not pause that often.
fn check(
    pause: usize,
    happens: impl Fn(&mut InFlightInputs) -> Option<RunInput>,
) -> Option<RunSummary> {
    let plan = short();
    let opened = Record::Opened {
        run: None,
        digest: plan.digest().clone(),
        header: Value::Null,
    };
    let mut run = RunMachine::new("run".parse().unwrap(), plan.clone(), options())
        .journaled()
        .with_time_slices();
    let mut entries = vec![Entry {
        at: Duration::ZERO,
        turn: 0,
        record: opened,
    }];
    let mut clock = Duration::ZERO;
    let mut effects = Vec::new();
    let mut in_flight = InFlightInputs::default();
    let mut pauses = 0;
    let mut turn = 0;
    run.start(&mut effects);
    loop {
        run.proceed(&mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Call { task, attempt, .. } => in_flight.calls.push((task, attempt)),
                Effect::Abort(task) => in_flight.calls.retain(|(other, _)| *other != task),
                Effect::SetTimer {
                    task,
                    timer: Timer::Step,
                    ..
                } => in_flight.step_timer = Some(task),
                Effect::ClearTimer(_, Timer::Step) => in_flight.step_timer = None,
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
        if run.is_busy() {
            pauses += 1;
            if pauses == pause {
                run.pause(&mut effects);
                while let Some(input) = happens(&mut in_flight) {
                    run.handle(input, clock, &mut effects);
                }
                run.resume_work(&mut effects);
            }
            continue;
        }
        match in_flight.answer() {
            Some(input) => run.handle(input, clock, &mut effects),
            None => break,
        }
    }
    assert!(run.is_done(), "{:#?}", outcomes(&run.summary()));
    let replayed = replay(&"run".parse().unwrap(), &entries, |_, _| {
        Ok::<_, Infallible>(ReplayHeader {
            plan: plan.clone(),
            options: options(),
            choices: Vec::new(),
            forgotten: Vec::new(),
            idle: Some(Duration::ZERO),
            revokes_consent: false,
            extensions: VecDeque::new(),
        })
    });
    let replayed =
        replayed.unwrap_or_else(|error| panic!("pause {pause}: {error:#?}\n{entries:#?}"));
    assert_eq!(
        outcomes(&replayed.summary),
        outcomes(&run.summary()),
        "{entries:#?}"
    );
    (pauses >= pause).then(|| run.summary())
}

/// Sends an input at any time and compares the outcome of the run.
fn check_everywhere(
    happens: impl Fn(&mut InFlightInputs) -> Option<RunInput>,
    may_end: &[RunStatus],
) -> usize {
    let ends = (1..).map_while(|pause| check(pause, &happens));
    ends.map(|summary| assert!(may_end.contains(&summary.status), "{}", summary.status))
        .count()
}

#[test]
fn whatever_happens_while_it_computes_is_decided_the_same_again() {
    let nothing = check_everywhere(|_| None, &[RunStatus::Succeeded]);
    assert!(nothing > 10, "it paused {nothing} times");
    check_everywhere(InFlightInputs::answer, &[RunStatus::Succeeded]);
    let once = |input: fn() -> RunInput| {
        move |in_flight: &mut InFlightInputs| {
            // The end of a run leaves no call that could still be answered.
            let is_first = in_flight.step_timer != Some(TaskId(u32::MAX));
            in_flight.step_timer = Some(TaskId(u32::MAX));
            is_first.then(input)
        }
    };
    check_everywhere(once(|| RunInput::Cancel), &[RunStatus::Cancelled]);
    // At the last pauses, all calls have ended.
    let drained = [RunStatus::Cancelled, RunStatus::Succeeded];
    check_everywhere(once(|| RunInput::Drain), &drained);
    let end_by_time_limit = || RunInput::TimerFired(TaskId(u32::MAX), Timer::Run);
    check_everywhere(once(end_by_time_limit), &[RunStatus::Failed]);
    let step_is_late = |in_flight: &mut InFlightInputs| {
        Some(RunInput::TimerFired(
            in_flight.step_timer.take()?,
            Timer::Step,
        ))
    };
    check_everywhere(step_is_late, &[RunStatus::Succeeded, RunStatus::Failed]);
}

/// The run would take minutes if it were not stopped.
fn long() -> CheckedPlan {
    plan(vec![value("l", numbers(9)), each("x", 20_000, LONG)])
}

fn engine(options: RunOptions) -> Engine {
    Engine::new(Backends::new()).with_options(options)
}

#[tokio::test]
async fn what_computes_ends_when_its_time_is_up() {
    let options = RunOptions {
        guards: Guards::new().wall_time(Duration::from_millis(50)),
        ..RunOptions::default()
    };
    let summary = engine(options).run("run".parse().unwrap(), long()).await;
    assert_eq!(summary.status, RunStatus::Failed);
    let reason = summary.steps.iter().find_map(|step| step.error.as_ref());
    let message = reason
        .map(|error| error.message.clone())
        .unwrap_or_default();
    assert!(message.contains("50ms"), "{message}");

    let mut plan = plan(vec![value("l", numbers(9)), each("x", 20_000, LONG)])
        .plan()
        .clone();
    plan.steps[1].timeout = Some(Duration::from_millis(50));
    let summary = engine(RunOptions::default())
        .run("run".parse().unwrap(), sound(plan))
        .await;
    let of_step = summary
        .steps
        .iter()
        .find(|step| step.at.step.as_str() == "x");
    let error = of_step.and_then(|step| step.error.clone()).unwrap();
    assert_eq!(error.message, "the step took longer than 50ms");
}

#[tokio::test]
async fn what_computes_can_be_cancelled_and_lets_others_go_on() {
    let engine = engine(RunOptions::default());
    let journal = Arc::new(MemoryJournal::default());
    let start = SpawnRequest::new("run".parse().unwrap(), long())
        .with_journal(Arc::clone(&journal) as _, Value::Null);
    let (handle, events) = engine.spawn(start);
    drop(events);
    let canceller = handle.canceller();
    // The question would never be asked if the run did not pause.
    let asks = tokio::spawn(async move { canceller.cancel() });
    let summary = handle.await;
    asks.await.unwrap();
    assert_eq!(summary.status, RunStatus::Cancelled);
    let is_settled =
        |step: &planwright_engine::run::StepSummary| step.status == StepStatus::Cancelled;
    assert!(summary.steps.iter().any(is_settled));

    let (handle, events) = engine.start("run".parse().unwrap(), long());
    drop(events);
    let waited = tokio::time::timeout(Duration::from_millis(50), handle).await;
    waited.unwrap_err();
}
